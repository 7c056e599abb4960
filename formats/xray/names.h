/* SPDX-License-Identifier: MIT */
#ifndef PF_XRAY_NAMES_H
#define PF_XRAY_NAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "formats/driver.h"
#include "formats/kit/strings.h"

/*
 * Names of functions. A log knows functions by number; the program's instrumentation map says where each
 * starts, and its symbols (or the map, if it is one in YAML) what it is called. A map is read once and
 * immutable afterwards.
 */

/* Ids that a map can tell: in flight data recorder logs they have 28 bits. */
#define XRAY_MAPPED_MAX ((UINT32_C(1) << 28) - 1)

/* Room for a name that is made of numbers: "#" and 10 digits, or "@(", 16 hexadecimal digits and ")"; and a NUL. */
#define XRAY_NAME_MAX 20

/* Bounds of what is kept of a map: functions, bytes of a name, memory for all names. */
#define XRAY_NAMES_MAX       ((size_t)1 << 22)
#define XRAY_SYMBOL_MAX      ((size_t)64 * 1024)
#define XRAY_NAMES_BYTES_MAX ((size_t)256 * 1024 * 1024)

/*
 * Since LLVM 20 the ids of a program with instrumented shared objects have two parts: the object, 0 for the
 * program itself, and the function's number in it, which has so many bits. (compiler-rt/lib/xray, packed ids)
 */
#define XRAY_OBJECT_SHIFT 24

/* No address is known. */
#define XRAY_NO_ADDRESS UINT64_MAX

struct xray_named {
    uint32_t id;
    uint32_t string; /* in the strings, or PF_NO_STRING */
    uint64_t address;
};

/* Zero-initialised: no map. */
struct xray_names {
    struct pf_strings *strings;
    struct xray_named *items; /* by id, once finished */
    size_t count, room;
    size_t named; /* items with a string */
    char *map;    /* the file's name; NULL: none was found */
    /* The first thing that is wrong with the map, empty if nothing is known to be; its line, 0 if unknown. */
    char problem[160];
    int64_t problem_line;
};

void xray_names_free(struct xray_names *names);

/*
 * Adds a function; of several with one id the first that has a symbol counts. symbol NULL: it has none;
 * otherwise it is cut to XRAY_SYMBOL_MAX bytes, and demangled. Beyond the bounds nothing is added and the
 * problem is noted. 0, or -1 with ENOMEM in *error.
 */
int xray_names_add(struct xray_names *names, uint32_t id, uint64_t address, const char *symbol, size_t size,
                   struct pf_error *error);

/* Sorts what has been added, one item an id. */
void xray_names_finish(struct xray_names *names);

/* Notes what is wrong with the map, unless something has been noted before. */
void xray_names_problem(struct xray_names *names, int64_t line, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/*
 * The name of a function: the demangled symbol, or "@(ADDRESS)" if it has none, or
 * "#ID" if the map does not know it. Lives as long as the names, or stands in the buffer.
 */
struct pf_cell xray_name(const struct xray_names *names, uint32_t id, char buffer[XRAY_NAME_MAX]);

/*
 * What may be the map that belongs to a log: the file that the option names; else those beside it that are
 * called after its program; else the only ones beside it. Zero-initialised: nothing.
 */
enum { XRAY_MAPS_MAX = 5 };

struct xray_maps {
    char *files[XRAY_MAPS_MAX]; /* owned */
    size_t count;
    bool only; /* the only ones beside the log: to be one map, in two forms if there are two */
};

/* Looks for maps. 0, or -1 with a transient error in *error; either way *maps is to be freed. */
int xray_maps_find(struct xray_maps *maps, struct pf_model *model, struct pf_error *error);
void xray_maps_free(struct xray_maps *maps);

/*
 * Reads the maps that were found and keeps the one that names more functions. No map, or a damaged one, is no
 * failure. 0; or -1 with a transient error in *error, and no names.
 */
int xray_names_load(struct xray_names *names, const struct xray_maps *maps, struct pf_model *model,
                    struct pf_error *error);

/* Adds what is wrong with the map to the profile's warnings. contexts: whose keys are the log's functions. */
int xray_names_tell(const struct xray_names *names, const struct pf_tree *contexts, struct pf_model *model,
                    struct pf_error *error);

/*
 * Maps in programs (elf_map.c) and in YAML, as `llvm-xray extract` prints them (yaml_map.c). Whether a file has one: *has; and
 * what it has, added to *names. What is wrong with a map is noted as its problem. 0, or -1 with *error filled if the file
 * cannot be read.
 */
int xray_elf_has_map(struct pf_input *input, bool *has, struct pf_error *error);
int xray_elf_map_read(struct xray_names *names, struct pf_input *input, struct pf_error *error);
int xray_yaml_is_map(struct pf_input *input, bool *is, struct pf_error *error);
int xray_yaml_map_read(struct xray_names *names, struct pf_input *input, struct pf_error *error);

/*
 * Demangles a C++ symbol. Returns the size of the name in out, or 0 if it is no mangled name, one that is
 * wrong, or one whose meaning would not fit: then the symbol is its own name.
 */
size_t xray_demangle(const char *symbol, size_t size, char *out, size_t room);

/* Whether something of this name beside a log may be its program or map. Logs and other profiles are many, and known by their names. */
bool xray_name_matters(const char *name);

#endif
