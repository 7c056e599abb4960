/* SPDX-License-Identifier: MIT */
#include "formats/xray/names.h"

#include <inttypes.h>
#include <libiberty/demangle.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "formats/kit/array.h"

void xray_names_free(struct xray_names *names)
{
    pf_strings_free(names->strings);
    free(names->items);
    free(names->map);
    *names = (struct xray_names){0};
}

void xray_names_problem(struct xray_names *names, int64_t line, const char *format, ...)
{
    if (*names->problem)
        return;
    va_list args;
    va_start(args, format);
    vsnprintf(names->problem, sizeof names->problem, format, args);
    va_end(args);
    names->problem_line = line;
}

/* ---- demangling ------------------------------------------------------------------------------ */

/*
 * The output of demangling by libiberty. A symbol of a hundred bytes can demangle to gigabytes, because its parts may refer
 * to other parts. A callback cannot stop libiberty, so it leaves libiberty by longjmp. This is safe, since libiberty's
 * callback API allocates on the stack only: about 100 KB per kilobyte of symbol. (The C++ runtime's demangler allocates
 * its result, and would add that runtime as a dependency.)
 */
struct output {
    char *text;
    size_t size, room;
    jmp_buf enough;
};

static void take_demangled(const char *part, size_t size, void *opaque)
{
    struct output *output = opaque;
    if (size > output->room - output->size)
        longjmp(output->enough, 1);
    memcpy(output->text + output->size, part, size);
    output->size += size;
}

size_t xray_demangle(const char *symbol, size_t size, char *out, size_t room)
{
    /* libiberty has the same limit, unless DMGL_NO_RECURSE_LIMIT is set. */
    enum { MANGLED_MAX = 1024 };
    char mangled[MANGLED_MAX + 1];
    if (size < 3 || size > MANGLED_MAX || memcmp(symbol, "_Z", 2) != 0 || memchr(symbol, 0, size))
        return 0;
    memcpy(mangled, symbol, size);
    mangled[size] = 0;
    struct output output = {.text = out, .room = room};
    if (setjmp(output.enough))
        return 0;
    return cplus_demangle_v3_callback(mangled, DMGL_PARAMS | DMGL_ANSI, take_demangled, &output) ? output.size
                                                                                                 : 0;
}

/* ---- adding ------------------------------------------------------------------------------------- */

/* Interns the demangled symbol. Leaves *string unchanged if the memory limit of names is reached. */
static int intern_symbol(struct xray_names *names, const char *symbol, size_t size, uint32_t *string,
                         struct pf_error *error)
{
    enum { DEMANGLED_MAX = 16 * 1024 };
    char demangled[DEMANGLED_MAX];
    if (!names->strings && !(names->strings = pf_strings_new()))
        return pf_fail_memory(error);
    if (pf_strings_bytes(names->strings) >= XRAY_NAMES_BYTES_MAX) {
        xray_names_problem(names, 0, "its names have more than %zu MB; the rest is left out",
                           XRAY_NAMES_BYTES_MAX >> 20);
        return 0;
    }
    size = size < XRAY_SYMBOL_MAX ? size : XRAY_SYMBOL_MAX;
    size_t readable = xray_demangle(symbol, size, demangled, sizeof demangled);
    *string = pf_intern(names->strings, readable ? demangled : symbol, readable ? readable : size, error);
    return *string == PF_NO_STRING ? -1 : 0;
}

int xray_names_add(struct xray_names *names, uint32_t id, uint64_t address, const char *symbol, size_t size,
                   struct pf_error *error)
{
    /* The entries of a function are consecutive in every map, and the first symbol names it. */
    if (!names->count || names->items[names->count - 1].id != id) {
        if (names->count == XRAY_NAMES_MAX) {
            xray_names_problem(names, 0, "it has more than %zu functions; the rest is left out",
                               XRAY_NAMES_MAX);
            return 0;
        }
        if (pf_array_room(&names->items, &names->room, names->count, sizeof *names->items, error))
            return -1;
        names->items[names->count++] =
            (struct xray_named){.id = id, .string = PF_NO_STRING, .address = address};
    }
    uint32_t *string = &names->items[names->count - 1].string;
    return !symbol || !size || *string != PF_NO_STRING ? 0
                                                       : intern_symbol(names, symbol, size, string, error);
}

/* For qsort: by id. If ids are equal, an item with a string comes before an item without one. */
static int by_named_id(const void *left, const void *right)
{
    const struct xray_named *a = left, *b = right;
    if (a->id != b->id)
        return a->id < b->id ? -1 : 1;
    return a->string < b->string ? -1 : a->string > b->string;
}

void xray_names_finish(struct xray_names *names)
{
    size_t kept = 0;
    if (names->count)
        qsort(names->items, names->count, sizeof *names->items, by_named_id);
    for (size_t i = 0; i < names->count; i++)
        if (!kept || names->items[kept - 1].id != names->items[i].id)
            names->items[kept++] = names->items[i];
    names->count = kept;
    names->named = 0;
    for (size_t i = 0; i < kept; i++)
        names->named += names->items[i].string != PF_NO_STRING;
}

/* ---- looking up --------------------------------------------------------------------------------- */

static int compare_id_to_named(const void *id, const void *named)
{
    uint32_t wanted = *(const uint32_t *)id, is = ((const struct xray_named *)named)->id;
    return wanted < is ? -1 : wanted > is;
}

struct pf_cell xray_name(const struct xray_names *names, uint32_t id, char buffer[XRAY_NAME_MAX])
{
    const struct xray_named *named =
        names->count ? bsearch(&id, names->items, names->count, sizeof *names->items, compare_id_to_named)
                     : NULL;
    if (named && named->string != PF_NO_STRING)
        return pf_interned(names->strings, named->string);
    int size = named && named->address != XRAY_NO_ADDRESS
                   ? snprintf(buffer, XRAY_NAME_MAX, "@(%" PRIx64 ")", named->address)
                   : snprintf(buffer, XRAY_NAME_MAX, "#%" PRIu32, id);
    return pf_plain(buffer, (size_t)size);
}

/* Returns the highest of the log's function ids that are less than `limit`; 0 if there is none. */
static uint64_t highest_id(const struct pf_tree *contexts, uint64_t limit)
{
    uint64_t highest = 0;
    for (uint32_t i = 0; i < contexts->count; i++)
        if (contexts->key[i] > highest && contexts->key[i] < limit)
            highest = contexts->key[i];
    return highest;
}

void xray_names_warn(struct pf_run *run, const struct xray_names *names, const struct pf_tree *contexts)
{
    if (!names->map)
        return;
    if (*names->problem) {
        pf_run_warn(run, "warning", "bad-map", names->problem_line, -1, "the instrumentation map %s: %s",
                    names->map, names->problem);
        return;
    }
    uint64_t last = names->count ? names->items[names->count - 1].id : 0;
    uint64_t highest = highest_id(contexts, UINT64_MAX), objects = UINT64_C(1) << XRAY_OBJECT_SHIFT;
    if (highest >= objects &&
        last < objects) { /* the program's map does not contain functions of shared objects */
        pf_run_warn(run, "warning", "shared-objects", 0, -1,
                    "the log has functions of shared objects, up to #%" PRIu64 " (object %" PRIu64
                    ", function %" PRIu64 "); the instrumentation map %s knows those of the program only",
                    highest, highest >> XRAY_OBJECT_SHIFT, highest % objects, names->map);
        highest = highest_id(contexts, objects);
    }
    if (highest > last)
        pf_run_warn(run, "warning", "short-map", 0, -1,
                    "the log has a function #%" PRIu64 ", but the instrumentation map %s ends with #%" PRIu64
                    ": it may be that of another program",
                    highest, names->map, last);
}
