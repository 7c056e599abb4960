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
 * Names of functions. A log identifies functions by number. The program's instrumentation map gives their addresses,
 * and the program's symbols (or the map itself, if in YAML) their names. A map is read once and immutable afterwards.
 */

/* Highest id in a map: FDR logs have 28 bits for it. */
#define XRAY_MAPPED_MAX ((UINT32_C(1) << 28) - 1)

/* Buffer size for a name made of numbers: "#" and 10 digits, or "@(", 16 hexadecimal digits and ")"; plus a NUL. */
#define XRAY_NAME_MAX 20

/* Limits of a map: number of functions, bytes of a symbol, and memory for all names. */
#define XRAY_NAMES_MAX       ((size_t)1 << 22)
#define XRAY_SYMBOL_MAX      ((size_t)64 * 1024)
#define XRAY_NAMES_BYTES_MAX ((size_t)256 * 1024 * 1024)

/*
 * Since LLVM 20, ids in programs with instrumented shared objects have two parts: the number of the object (0: the
 * program) above XRAY_OBJECT_SHIFT bits for the function in it. (Source: compiler-rt/lib/xray, packed ids.)
 */
#define XRAY_OBJECT_SHIFT 24

/* The address is not known. */
#define XRAY_NO_ADDRESS UINT64_MAX

struct xray_named {
    uint32_t id;
    uint32_t string; /* in the strings, or PF_NO_STRING */
    uint64_t address;
};

/* The names of a map. Zeroed: no map. */
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
 * Adds a function. The first function of an id that has a symbol wins. symbol: NULL if unknown; otherwise it is cut to
 * XRAY_SYMBOL_MAX bytes and demangled. At a limit, the function or its name is not added and the problem is recorded.
 * Returns 0, or -1 with ENOMEM in *error.
 */
int xray_names_add(struct xray_names *names, uint32_t id, uint64_t address, const char *symbol, size_t size,
                   struct pf_error *error);

/* Sorts the added functions and keeps one per id. */
void xray_names_finish(struct xray_names *names);

/* Records a problem of the map, unless one is recorded already. */
void xray_names_problem(struct xray_names *names, int64_t line, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/*
 * Returns the name of a function: the demangled symbol; "@(ADDRESS)" if it has no symbol; "#ID" if the map does not
 * have it. The text is borrowed from `names` or from `buffer`.
 */
struct pf_cell xray_name(const struct xray_names *names, uint32_t id, char buffer[XRAY_NAME_MAX]);

/*
 * Candidates for a log's map: the file given by the option; else files next to the log that are named like its program;
 * else all maps next to it if no kind has two. Zeroed: none.
 */
enum { XRAY_MAPS_MAX = 5 };

struct xray_maps {
    char *files[XRAY_MAPS_MAX]; /* owned */
    size_t count;
    bool only; /* the files are the only maps next to the log; if two, they must be forms of one map */
};

/* Searches for maps. Returns 0, or -1 with a transient error in *error. The caller must free *maps in either case. */
int xray_maps_find(struct xray_maps *maps, struct pf_model *model, struct pf_error *error);
void xray_maps_free(struct xray_maps *maps);

/*
 * Reads the candidate maps and keeps the one that names the most functions. A missing or damaged map is not an error.
 * Returns 0; or -1 with a transient error in *error, and no names.
 */
int xray_names_load(struct xray_names *names, const struct xray_maps *maps, struct pf_model *model,
                    struct pf_error *error);

/* Warns of the map's problems. contexts: their keys are the functions of the log. */
void xray_names_warn(struct pf_run *run, const struct xray_names *names, const struct pf_tree *contexts);

/*
 * Readers of maps in programs (elf_map.c) and in YAML as `llvm-xray extract` prints it (yaml_map.c). *has: whether the
 * file contains a map. The readers add its functions to *names, and record a damaged map as its problem. Return 0, or
 * -1 with *error filled if the file cannot be read.
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

/*
 * Returns true if a file next to a log may be its program or map, judged by its name. Logs and other profiles, which
 * may be many, are excluded.
 */
bool xray_name_matters(const char *name);

#endif
