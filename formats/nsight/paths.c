/* SPDX-License-Identifier: MIT */
#include "formats/nsight/nsight.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "formats/kit/array.h"

/* ARROW separates the names of a path; UNIT_SEPARATOR precedes each pointer in a path of pointers. */
#define ARROW "->"
enum { ARROW_SIZE = 2, UNIT_SEPARATOR = 0x1f };

/* Maximum depth of a path; deeper paths are cut. */
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

/* Interns a function's name as a part of a path: "->" becomes "- >". */
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

/* Adds a symbol from a string `EP<US>pointer<US>name`, US = UNIT_SEPARATOR; ignores other strings. */
static int add_symbol(struct nsight_model *model, const char *text, size_t size, struct pf_error *error)
{
    static const char mark[] = {'E', 'P', UNIT_SEPARATOR};
    struct nsight_paths *paths = &model->paths;
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
    paths->symbols[number] = intern_name(model->tree->strings, name, (size_t)(end - name), error);
    return paths->symbols[number] == PF_NO_STRING ? -1 : 0;
}

/* Adds the symbols from the strings between EXTRA_PROF_SYMBOLS and EXTRA_PROF_SYMBOLS_END. */
static int take_string(void *arg, const struct pf_sql_row *row, struct pf_error *error)
{
    struct nsight_model *model = arg;
    struct nsight_paths *paths = &model->paths;
    size_t size;
    const char *text = pf_sql_text(row, STRINGS_VALUE, &size);
    if (!text)
        return 0;
    if (paths->in_symbols && is_text(text, size, "EXTRA_PROF_SYMBOLS_END"))
        return 1;
    if (paths->in_symbols)
        return add_symbol(model, text, size, error);
    paths->in_symbols = is_text(text, size, "EXTRA_PROF_SYMBOLS");
    return 0;
}

/* Returns the name of a pointer; the pointer's text if it has no symbol. */
static uint32_t symbol_of(struct nsight_model *model, const char *pointer, size_t size,
                          struct pf_error *error)
{
    uint32_t number = pf_string_of(model->paths.pointers, pointer, size);
    return number == PF_NO_STRING ? pf_intern(model->tree->strings, pointer, size, error)
                                  : model->paths.symbols[number];
}

/* ---- texts --------------------------------------------------------------------------------------- */

/* Returns the end of the path's part that starts at `part`. */
static const char *end_of_part(const char *part, const char *end, bool pointers)
{
    const char *mark = pointers ? memchr(part, UNIT_SEPARATOR, (size_t)(end - part))
                                : memmem(part, (size_t)(end - part), ARROW, ARROW_SIZE);
    return mark ? mark : end;
}

static int walk_text(struct nsight_model *model, const char *text, size_t size, uint32_t *context,
                     struct pf_error *error)
{
    const char *end = text + size;
    bool pointers = *text == UNIT_SEPARATOR;
    bool first = pointers && !model->paths.symbols_read;
    model->paths.symbols_read |= first;
    if (first && pf_sql_each(model->sql, NSIGHT_STRINGS, take_string, model, error))
        return -1;
    const char *part = pointers ? text + 1 : text;
    for (unsigned parts = 0; parts < PARTS_MAX; parts++) {
        const char *over = end_of_part(part, end, pointers);
        size_t length = (size_t)(over - part);
        uint32_t name = pointers ? symbol_of(model, part, length, error)
                                 : pf_intern(model->tree->strings, part, length, error);
        if (name == PF_NO_STRING)
            return -1;
        *context = nsight_child(model->tree, *context, NSIGHT_FUNCTION, name, error);
        if (*context == PF_NO_CONTEXT)
            return -1;
        if (over == end)
            break;
        part = over + (pointers ? 1 : ARROW_SIZE);
    }
    return 0;
}

/* Finds the context of a path's text; each distinct text is parsed once. */
static int context_of(struct nsight_model *model, const char *text, size_t size, uint32_t *context,
                      struct pf_error *error)
{
    struct nsight_paths *paths = &model->paths;
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
        walk_text(model, pf_interned(paths->texts, number).text, size, context, error))
        return -1;
    paths->contexts[number] = *context;
    return 0;
}

int nsight_path_of_range(struct nsight_model *model, const struct pf_sql_row *row, uint32_t *context,
                         struct pf_error *error)
{
    size_t size;
    const char *text;
    return nsight_nvtx_text(model->sql, row, &text, &size, error) ||
                   context_of(model, text, size, context, error)
               ? -1
               : 0;
}

/* ---- call chains --------------------------------------------------------------------------------- */

/* A frame; sorted by chain, then from the outermost to the innermost. */
enum { CHAIN, DEPTH, ROW, NAME, FRAME_WORDS };

struct frames {
    struct nsight_model *model;
    struct pf_sorter *sorter;
};

static int take_frame(void *arg, const struct pf_sql_row *row, struct pf_error *error)
{
    struct frames *frames = arg;
    if (pf_sql_is_set(row, CHAINS_UNRESOLVED))
        return 0;
    uint32_t name = nsight_name(frames->model, pf_sql_int(row, CHAINS_SYMBOL), error);
    uint64_t record[FRAME_WORDS] = {pf_ordered(pf_sql_int(row, CHAINS_ID)),
                                    ~pf_ordered(pf_sql_int(row, CHAINS_DEPTH)), pf_ordered(row->number),
                                    name};
    return name == PF_NO_STRING ? -1 : pf_sorter_add(frames->sorter, record, error);
}

static int add_chain(struct nsight_model *model, uint64_t chain, uint32_t context, struct pf_error *error)
{
    struct nsight_found found = {context, PF_NO_CONTEXT};
    return context == PF_NO_CONTEXT
               ? 0
               : nsight_lookup_add(&model->paths.known, 0, pf_signed(chain), found, error);
}

static int join_frames(const struct frames *frames, struct pf_error *error)
{
    const uint64_t *record;
    uint64_t chain = 0;
    uint32_t context = PF_NO_CONTEXT;
    unsigned depth = 0;
    int more;
    while ((more = pf_sorter_next(frames->sorter, &record, error)) > 0) {
        if (record[CHAIN] != chain) {
            if (add_chain(frames->model, chain, context, error))
                return -1;
            context = PF_NO_CONTEXT;
            depth = 0;
        }
        chain = record[CHAIN];
        if (depth++ >= PARTS_MAX)
            continue;
        context = nsight_child(frames->model->tree, context, NSIGHT_FUNCTION, (uint32_t)record[NAME], error);
        if (context == PF_NO_CONTEXT)
            return -1;
    }
    return more < 0 ? -1 : add_chain(frames->model, chain, context, error);
}

static int read_chains(struct nsight_model *model, struct pf_error *error)
{
    struct frames frames = {model, pf_sorter_new(FRAME_WORDS, ROW + 1, model->limit / 2)};
    if (!frames.sorter)
        return pf_fail_memory(error);
    int failed = pf_sql_each(model->sql, NSIGHT_CHAINS, take_frame, &frames, error) ||
                 pf_sorter_finish(frames.sorter, error) || join_frames(&frames, error);
    pf_sorter_free(frames.sorter);
    return failed ? -1 : 0;
}

/* ---- imported paths ------------------------------------------------------------------------------ */

/* Returns the size of a path without its last part, which is the API call itself. */
static size_t size_without_last(const char *text, size_t size)
{
    const char *last = NULL, *end = text + size;
    for (const char *at = text; (at = memmem(at, (size_t)(end - at), ARROW, ARROW_SIZE)); at += ARROW_SIZE)
        last = at;
    return last ? (size_t)(last - text) : 0;
}

int nsight_imported_path(struct nsight_model *model, const struct pf_sql_row *row, bool *call,
                         uint32_t *context, struct pf_error *error)
{
    size_t size;
    const char *text = pf_sql_text(row, RESOLVED_PATH, &size);
    *call = pf_sql_is_set(row, RESOLVED_CORRELATION);
    *context = PF_NO_CONTEXT;
    if (!text || (*call && !pf_sql_int(row, RESOLVED_CORRELATION)))
        return 0;
    return context_of(model, text, *call ? size_without_last(text, size) : size, context, error);
}

/* Adds the path of an imported call to paths->known, by correlation. */
static int take_imported(void *arg, const struct pf_sql_row *row, struct pf_error *error)
{
    struct nsight_model *model = arg;
    struct nsight_found found = {PF_NO_CONTEXT, PF_NO_CONTEXT};
    bool call;
    if (nsight_imported_path(model, row, &call, &found.path, error))
        return -1;
    return call && found.path != PF_NO_CONTEXT
               ? nsight_lookup_add(&model->paths.known, 0, pf_sql_int(row, RESOLVED_CORRELATION), found,
                                   error)
               : 0;
}

/* ---- the whole ----------------------------------------------------------------------------------- */

int nsight_path_of_call(struct nsight_model *model, const struct pf_sql_row *row, uint32_t *context,
                        struct pf_error *error)
{
    struct nsight_found found = {PF_NO_CONTEXT, PF_NO_CONTEXT};
    enum nsight_origin origin = model->partitions->origin;
    unsigned column = origin == NSIGHT_SAMPLED ? RUNTIME_CHAIN : RUNTIME_CORRELATION;
    int64_t number = pf_sql_int(row, column);
    *context = PF_NO_CONTEXT;
    if ((origin != NSIGHT_SAMPLED && origin != NSIGHT_IMPORTED) || !pf_sql_is_set(row, column) ||
        number == INT64_MAX)
        return 0;
    /* CUDA_CALLCHAINS numbers chains from 1, the calls refer to them from 0. */
    number += origin == NSIGHT_SAMPLED;
    if (nsight_lookup_find(&model->paths.known, 0, number, &found, error))
        return -1;
    *context = found.path;
    return 0;
}

int nsight_paths_init(struct nsight_model *model, struct pf_error *error)
{
    struct nsight_paths *paths = &model->paths;
    paths->texts = pf_strings_new();
    paths->pointers = pf_strings_new();
    /* All texts together are not longer than the export, unless rows of a hostile export share their pages. */
    paths->text_left = model->sql->have + TEXT_SPARE;
    if (!paths->texts || !paths->pointers)
        return pf_fail_memory(error);
    return nsight_lookup_init(&paths->known, model->limit / 2, error);
}

int nsight_read_paths(struct nsight_model *model, struct pf_error *error)
{
    if (model->partitions->origin == NSIGHT_SAMPLED && read_chains(model, error))
        return -1;
    if (model->partitions->origin == NSIGHT_IMPORTED &&
        pf_sql_each(model->sql, NSIGHT_RESOLVED, take_imported, model, error))
        return -1;
    return nsight_lookup_finish(&model->paths.known, error);
}

void nsight_paths_free(struct nsight_paths *paths)
{
    pf_strings_free(paths->texts);
    pf_strings_free(paths->pointers);
    free(paths->contexts);
    free(paths->symbols);
    nsight_lookup_free(&paths->known);
}
