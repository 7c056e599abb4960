/* SPDX-License-Identifier: MIT */
#include "formats/nsight/nsight.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "formats/kit/array.h"

/* Between the parts of a path, and before each pointer of one that is written in pointers. */
#define ARROW "->"
enum { ARROW_SIZE = 2, UNIT_SEPARATOR = 0x1f };

/* Deeper paths are cut. */
enum { PARTS_MAX = 4096 };

enum { TEXT_SPARE = 1 << 20 };

uint32_t nsight_child(struct pf_tree *tree, uint32_t parent, enum nsight_kind kind, uint32_t name,
                      struct pf_error *error)
{
    if (name > (UINT32_MAX - NSIGHT_KINDS) / NSIGHT_KINDS) {
        pf_fail(error, EFBIG, "too many names");
        return PF_NO_CONTEXT;
    }
    uint8_t flags = parent == PF_NO_CONTEXT ? PF_FRAME | PF_ROOT : PF_FRAME;
    return pf_tree_child(tree, parent, name * NSIGHT_KINDS + kind, name, (uint8_t)kind, flags, error);
}

/* ---- symbols ------------------------------------------------------------------------------------- */

static bool is_text(const char *text, size_t size, const char *word)
{
    return size == strlen(word) && !memcmp(text, word, size);
}

/* A name of a function as a part of a path: in it, "->" becomes "- >". */
static uint32_t intern_name(struct pf_strings *strings, const char *name, size_t size, struct pf_error *error)
{
    if (!memmem(name, size, ARROW, ARROW_SIZE))
        return pf_intern(strings, name, size, error);
    char *torn = malloc(2 * size);
    if (!torn) {
        pf_fail_memory(error);
        return PF_NO_STRING;
    }
    size_t at = 0;
    for (size_t i = 0; i < size; i++) {
        torn[at++] = name[i];
        if (name[i] == '-' && i + 1 < size && name[i + 1] == '>')
            torn[at++] = ' ';
    }
    uint32_t string = pf_intern(strings, torn, at, error);
    free(torn);
    return string;
}

/* `EP<US>pointer<US>name` */
static int add_symbol(struct nsight_paths *paths, const char *text, size_t size, struct pf_error *error)
{
    static const char mark[] = {'E', 'P', UNIT_SEPARATOR};
    if (size < sizeof mark || memcmp(text, mark, sizeof mark) != 0)
        return 0;
    const char *pointer = text + sizeof mark, *end = text + size;
    const char *name = memchr(pointer, UNIT_SEPARATOR, (size_t)(end - pointer));
    if (!name || size > paths->text_left)
        return 0;
    paths->text_left -= size;
    uint32_t number = pf_intern(paths->pointers, pointer, (size_t)(name - pointer), error);
    if (number == PF_NO_STRING ||
        pf_array_reach(&paths->symbols, &paths->symbols_room, number, sizeof *paths->symbols, error))
        return -1;
    name++;
    paths->symbols[number] = intern_name(paths->tree->strings, name, (size_t)(end - name), error);
    return paths->symbols[number] == PF_NO_STRING ? -1 : 0;
}

/* The strings between two marks, by their numbers. */
static int take_string(void *arg, const struct nsight_scan *scan, struct pf_error *error)
{
    struct nsight_paths *paths = arg;
    size_t size;
    const char *text = nsight_text(scan, STRINGS_VALUE, &size);
    if (!text)
        return 0;
    if (paths->in_symbols && is_text(text, size, "EXTRA_PROF_SYMBOLS_END"))
        return 1;
    if (paths->in_symbols)
        return add_symbol(paths, text, size, error);
    paths->in_symbols = is_text(text, size, "EXTRA_PROF_SYMBOLS");
    return 0;
}

/* The name of a pointer, or itself if it has none. */
static uint32_t symbol_of(struct nsight_paths *paths, const char *pointer, size_t size,
                          struct pf_error *error)
{
    uint32_t known = pf_strings_count(paths->pointers);
    uint32_t number = pf_intern(paths->pointers, pointer, size, error);
    if (number < known && number < paths->symbols_room)
        return paths->symbols[number];
    if (number == PF_NO_STRING ||
        pf_array_reach(&paths->symbols, &paths->symbols_room, number, sizeof *paths->symbols, error))
        return PF_NO_STRING;
    return paths->symbols[number] = pf_intern(paths->tree->strings, pointer, size, error);
}

/* ---- texts --------------------------------------------------------------------------------------- */

/* The end of the part that starts here. */
static const char *end_of_part(const char *part, const char *end, bool pointers)
{
    const char *mark = pointers ? memchr(part, UNIT_SEPARATOR, (size_t)(end - part))
                                : memmem(part, (size_t)(end - part), ARROW, ARROW_SIZE);
    return mark ? mark : end;
}

static int walk_text(struct nsight_paths *paths, const char *text, size_t size, uint32_t *context,
                     struct pf_error *error)
{
    const char *end = text + size;
    bool pointers = *text == UNIT_SEPARATOR;
    bool first = pointers && !paths->symbols_read;
    paths->symbols_read |= first;
    if (first && nsight_each(paths->db, NSIGHT_STRINGS, NSIGHT_ALL_COLUMNS, NULL, take_string, paths, error))
        return -1;
    const char *part = pointers ? text + 1 : text;
    for (unsigned parts = 0; parts < PARTS_MAX; parts++) {
        const char *over = end_of_part(part, end, pointers);
        size_t length = (size_t)(over - part);
        uint32_t name = pointers ? symbol_of(paths, part, length, error)
                                 : pf_intern(paths->tree->strings, part, length, error);
        if (name == PF_NO_STRING)
            return -1;
        *context = nsight_child(paths->tree, *context, NSIGHT_FUNCTION, name, error);
        if (*context == PF_NO_CONTEXT)
            return -1;
        if (over == end)
            break;
        part = over + (pointers ? 1 : ARROW_SIZE);
    }
    return 0;
}

/* Each text is taken apart once. */
static int context_of(struct nsight_paths *paths, const char *text, size_t size, uint32_t *context,
                      struct pf_error *error)
{
    *context = PF_NO_CONTEXT;
    if (!size)
        return 0;
    if (size > paths->text_left) {
        paths->out_of_text = true;
        return 0;
    }
    uint32_t known = pf_strings_count(paths->texts), number = pf_intern(paths->texts, text, size, error);
    if (number == PF_NO_STRING)
        return -1;
    if (number < known) {
        *context = paths->contexts[number];
        return 0;
    }
    paths->text_left -= size;
    if (pf_array_reach(&paths->contexts, &paths->contexts_room, number, sizeof *paths->contexts, error) ||
        walk_text(paths, pf_interned(paths->texts, number).text, size, context, error))
        return -1;
    paths->contexts[number] = *context;
    return 0;
}

int nsight_path_of_range(struct nsight_paths *paths, const struct nsight_scan *scan, uint32_t *context,
                         struct pf_error *error)
{
    size_t size;
    const char *text = nsight_text(scan, NVTX_TEXT, &size);
    if (!text && nsight_is_set(scan, NVTX_TEXT_ID) &&
        nsight_string(paths->db, nsight_int(scan, NVTX_TEXT_ID), &text, &size, error))
        return -1;
    return context_of(paths, text, size, context, error);
}

/* ---- call chains --------------------------------------------------------------------------------- */

/* A frame, sorted by the chain and from the outermost to the innermost. */
enum { CHAIN, DEPTH, ROW, NAME, FRAME_WORDS };

static int take_frame(void *arg, const struct nsight_scan *scan, struct pf_error *error)
{
    struct nsight_paths *paths = arg;
    if (nsight_is_set(scan, CHAINS_UNRESOLVED))
        return 0;
    uint32_t name = nsight_name(paths->names, paths->db, nsight_int(scan, CHAINS_SYMBOL), error);
    uint64_t record[FRAME_WORDS] = {pf_ordered(nsight_int(scan, CHAINS_ID)),
                                    ~pf_ordered(nsight_int(scan, CHAINS_DEPTH)), pf_ordered(scan->rowid),
                                    name};
    return name == PF_NO_STRING ? -1 : pf_sorter_add(paths->frames, record, error);
}

static int add_chain(struct nsight_paths *paths, uint64_t chain, uint32_t context, struct pf_error *error)
{
    struct nsight_found found = {context, PF_NO_CONTEXT};
    return nsight_lookup_add(&paths->known, 0, pf_signed(chain), found, error);
}

static int join_frames(struct nsight_paths *paths, struct pf_error *error)
{
    const uint64_t *record;
    uint64_t chain = 0;
    uint32_t context = PF_NO_CONTEXT;
    unsigned depth = 0;
    int more;
    while ((more = pf_sorter_next(paths->frames, &record, error)) > 0) {
        if (context != PF_NO_CONTEXT && record[CHAIN] != chain) {
            if (add_chain(paths, chain, context, error))
                return -1;
            context = PF_NO_CONTEXT;
            depth = 0;
        }
        chain = record[CHAIN];
        if (depth++ >= PARTS_MAX)
            continue;
        context = nsight_child(paths->tree, context, NSIGHT_FUNCTION, (uint32_t)record[NAME], error);
        if (context == PF_NO_CONTEXT)
            return -1;
    }
    if (more < 0)
        return -1;
    return context == PF_NO_CONTEXT ? 0 : add_chain(paths, chain, context, error);
}

static int read_chains(struct nsight_paths *paths, uint64_t limit, struct pf_error *error)
{
    paths->frames = pf_sorter_new(FRAME_WORDS, ROW + 1, limit);
    if (!paths->frames)
        return pf_fail_memory(error);
    int failed =
        nsight_each(paths->db, NSIGHT_CHAINS, NSIGHT_ALL_COLUMNS, paths->damage, take_frame, paths, error) ||
        pf_sorter_finish(paths->frames, error) || join_frames(paths, error);
    pf_sorter_free(paths->frames);
    return failed ? -1 : 0;
}

/* ---- imported paths ------------------------------------------------------------------------------ */

/* A function without a correlation: its duration is exclusive. */
static int add_own(struct nsight_paths *paths, const struct nsight_scan *scan, uint32_t context,
                   struct pf_error *error)
{
    if (pf_array_reach(&paths->own, &paths->own_room, context, sizeof *paths->own, error))
        return -1;
    paths->own[context].calls++;
    paths->own[context].time = nsight_plus(paths->own[context].time, nsight_int(scan, RESOLVED_DURATION));
    return 0;
}

/* The last part of an API call's path is the call itself. */
static size_t size_without_last(const char *text, size_t size)
{
    const char *last = NULL, *end = text + size;
    for (const char *at = text; (at = memmem(at, (size_t)(end - at), ARROW, ARROW_SIZE)); at += ARROW_SIZE)
        last = at;
    return last ? (size_t)(last - text) : 0;
}

/*
 * A row: an API call's context is added to `calls`. Functions' times are added up when that is the list that calls
 * find their own paths in; in any other, what a call's activities stand below is the path itself.
 */
static int take_imported(void *arg, const struct nsight_scan *scan, struct pf_error *error)
{
    struct nsight_paths *paths = arg;
    struct nsight_lookup *calls = paths->calls;
    size_t size;
    uint32_t context;
    const char *text = nsight_text(scan, RESOLVED_PATH, &size);
    bool call = nsight_is_set(scan, RESOLVED_CORRELATION);
    int64_t correlation = nsight_int(scan, RESOLVED_CORRELATION);
    if (!text || (call && !correlation) || (!call && calls != &paths->known)) /* 0: not correlated */
        return 0;
    if (context_of(paths, text, call ? size_without_last(text, size) : size, &context, error))
        return -1;
    if (context == PF_NO_CONTEXT)
        return 0;
    struct nsight_found found = {context, calls == &paths->known ? PF_NO_CONTEXT : context};
    return call ? nsight_lookup_add(calls, 0, correlation, found, error)
                : add_own(paths, scan, context, error);
}

static int read_imported(struct nsight_paths *paths, struct nsight_lookup *calls, struct pf_error *error)
{
    paths->calls = calls;
    return nsight_each(paths->db, NSIGHT_RESOLVED, NSIGHT_ALL_COLUMNS, paths->damage, take_imported, paths,
                       error);
}

int nsight_paths_add_calls(struct nsight_paths *paths, struct nsight_lookup *calls, struct pf_error *error)
{
    return paths->partitions->origin == NSIGHT_IMPORTED ? read_imported(paths, calls, error) : 0;
}

/* ---- the whole ----------------------------------------------------------------------------------- */

int nsight_path_of_call(struct nsight_paths *paths, const struct nsight_scan *scan, uint32_t *context,
                        struct pf_error *error)
{
    struct nsight_found found = {PF_NO_CONTEXT, PF_NO_CONTEXT};
    enum nsight_origin origin = paths->partitions->origin;
    unsigned column = origin == NSIGHT_SAMPLED ? RUNTIME_CHAIN : RUNTIME_CORRELATION;
    int64_t number = nsight_int(scan, column);
    *context = PF_NO_CONTEXT;
    if ((origin != NSIGHT_SAMPLED && origin != NSIGHT_IMPORTED) || !nsight_is_set(scan, column) ||
        number == INT64_MAX)
        return 0;
    /* Chains are numbered from 1, but calls refer to them from 0. */
    number += origin == NSIGHT_SAMPLED;
    if (nsight_lookup_find(&paths->known, &paths->window, 0, number, &found, error))
        return -1;
    *context = found.path;
    return 0;
}

int nsight_paths_init(struct nsight_paths *paths, uint64_t limit, struct pf_error *error)
{
    paths->texts = pf_strings_new();
    paths->pointers = pf_strings_new();
    /* Together they cannot be longer than the export, unless its rows share their pages. */
    paths->text_left = paths->db->vfs.have + TEXT_SPARE;
    if (!paths->texts || !paths->pointers)
        return pf_fail_memory(error);
    if (nsight_lookup_init(&paths->known, limit / 2, error))
        return -1;
    if (paths->partitions->origin == NSIGHT_SAMPLED && read_chains(paths, limit / 2, error))
        return -1;
    if (paths->partitions->origin == NSIGHT_IMPORTED && read_imported(paths, &paths->known, error))
        return -1;
    return nsight_lookup_finish(&paths->known, limit / 2, error);
}

void nsight_paths_free(struct nsight_paths *paths)
{
    pf_strings_free(paths->texts);
    pf_strings_free(paths->pointers);
    free(paths->contexts);
    free(paths->symbols);
    free(paths->own);
    nsight_lookup_free(&paths->known);
    nsight_window_free(&paths->window);
}
