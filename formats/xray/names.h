/* SPDX-License-Identifier: MIT */
#ifndef PF_XRAY_NAMES_H
#define PF_XRAY_NAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "formats/driver.h"
#include "formats/kit/strings.h"
#include "formats/runtime/run.h"

/*
 * Names of functions. A log identifies functions by number (id). The program's instrumentation map has the addresses of
 * functions, and the program's symbols have their names. A map in YAML has both. A map is read once and is immutable
 * afterwards.
 */

/* Highest id in a map. FDR logs have 28 bits for an id. */
#define XRAY_MAPPED_MAX ((UINT32_C(1) << 28) - 1)

/*
 * Buffer size for the name of an unnamed function, which is "#" and 10 digits, or "@(", 16 hexadecimal digits and ")",
 * with a NUL.
 */
#define XRAY_NAME_MAX 20

/* Limits of a map: maximum number of functions, bytes of a symbol, and bytes of all names. */
#define XRAY_NAMES_MAX       ((size_t)1 << 22)
#define XRAY_SYMBOL_MAX      ((size_t)64 * 1024)
#define XRAY_NAMES_BYTES_MAX ((size_t)256 * 1024 * 1024)

/*
 * Since LLVM 20, an id in a program with instrumented shared objects has two parts. The low XRAY_OBJECT_SHIFT bits number
 * the function in its object, the bits above them the object (0: the program). (Source: compiler-rt/lib/xray, packed ids.)
 */
#define XRAY_OBJECT_SHIFT 24

/* The address is not known. */
#define XRAY_NO_ADDRESS UINT64_MAX

struct xray_named {
    uint32_t id;
    uint32_t string; /* string of the xray_names' `strings`, or PF_NO_STRING */
    uint64_t address;
};

/* The functions of a map, with their names. If it is zeroed, there is no map. */
struct xray_names {
    struct pf_strings *strings;
    struct xray_named *items; /* sorted by id after xray_names_finish */
    size_t count, room;
    size_t named; /* items with a string */
    char *map;    /* file name of the map; NULL: no map found */
    /* The first problem of the map, empty if there is none; its line, 0 if not known. */
    char problem[160];
    int64_t problem_line;
};

void xray_names_free(struct xray_names *names);

/*
 * Adds a function. Its symbol is cut to XRAY_SYMBOL_MAX bytes and demangled, or is NULL if unknown. The first symbol of an
 * id counts. Beyond a limit, does not add the function or its name, and records the problem. Returns 0, or -1 with ENOMEM
 * in *error.
 */
int xray_names_add(struct xray_names *names, uint32_t id, uint64_t address, const char *symbol, size_t size,
                   struct pf_error *error);

/* Sorts the added functions and keeps one per id. */
void xray_names_finish(struct xray_names *names);

/* Records a problem of the map, unless one is recorded already. */
void xray_names_problem(struct xray_names *names, int64_t line, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/*
 * Returns the name of a function, which is its demangled symbol. If the map has only its address, the name is
 * "@(ADDRESS)". If it has neither, the name is "#ID". The text is borrowed from `names` or from `buffer`.
 */
struct pf_cell xray_name(const struct xray_names *names, uint32_t id, char buffer[XRAY_NAME_MAX]);

enum { XRAY_MAPS_MAX = 5 };

/*
 * The files that may be a log's map. If there is the option instr_map, its value is the only file. Otherwise, they are the
 * files next to the log that are named like its program. If there are none, they are the maps next to the log, unless two
 * of these are of the same kind. A zeroed struct xray_maps has no files.
 */
struct xray_maps {
    char *files[XRAY_MAPS_MAX]; /* owned */
    size_t count;
    bool only; /* the files are the only maps next to the log; if two, they must have equal functions */
};

/* Searches for maps. Returns 0, or -1 with a transient error in *error. The caller must free *maps in either case. */
int xray_maps_find(struct xray_maps *maps, struct pf_model *model, struct pf_error *error);
void xray_maps_free(struct xray_maps *maps);

/*
 * Reads the maps and keeps the one that names the most functions. A missing or damaged map is not an error. Returns 0, or
 * -1 with a transient error in *error and with no names.
 */
int xray_names_load(struct xray_names *names, const struct xray_maps *maps, struct pf_model *model,
                    struct pf_error *error);

/*
 * Warns of the map's problems, and of functions of the log that the map lacks. The log's function ids are the keys of
 * `contexts`.
 */
void xray_names_warn(struct pf_run *run, const struct xray_names *names, const struct pf_tree *contexts);

/*
 * Readers of maps in programs (elf_map.c) and in YAML (yaml_map.c). xray_elf_has_map and xray_yaml_is_map set a flag to
 * whether the file contains a map. The others add the functions of the map to *names, and record damage as a problem of
 * the map. Return 0, or -1 with *error filled if the file cannot be read.
 */
int xray_elf_has_map(struct pf_input *input, bool *has, struct pf_error *error);
int xray_elf_map_read(struct xray_names *names, struct pf_input *input, struct pf_error *error);
int xray_yaml_is_map(struct pf_input *input, bool *is, struct pf_error *error);
int xray_yaml_map_read(struct xray_names *names, struct pf_input *input, struct pf_error *error);

/*
 * Demangles a C++ symbol. Returns the size of the name in `out`; 0 if `symbol` is not a mangled name, is malformed, or
 * demangles to more than `room` bytes. The caller then uses the symbol itself.
 */
size_t xray_demangle(const char *symbol, size_t size, char *out, size_t room);

/* Returns true if a file of this name next to a log may be its program or map. Logs and other profiles are neither. */
bool xray_name_matters(const char *name);

#endif
