/* SPDX-License-Identifier: MIT */
#include "formats/nsight/nsight.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* A path is a text. It has either names with ARROW between them, or pointers with UNIT_SEPARATOR before each. */
#define ARROW "->"
enum { ARROW_SIZE = 2, UNIT_SEPARATOR = 0x1f };

/* Maximum depth of a path. The innermost parts of deeper paths are left out. */
enum { PARTS_MAX = 4096 };

enum { TEXT_SPARE = 1 << 20 };

uint32_t nsight_child(struct nsight_pass *pass, uint32_t parent, enum nsight_kind kind, uint32_t name)
{
    struct pf_run *run = pass->build->run;
    if (name > (UINT32_MAX - NSIGHT_KINDS) / NSIGHT_KINDS)
        pf_run_check(run, pf_fail(run->error, EFBIG, "too many names"));
    return pf_build_child(pass->build, parent, name * NSIGHT_KINDS + kind, name, kind);
}

/* ---- symbols ------------------------------------------------------------------------------------- */

/* Returns a function's name as a string of the tree. In the name, "->" is replaced by "- >", because "->" separates the parts of a path. */
static uint32_t add_path_name(struct nsight_pass *pass, struct pf_slice name)
{
    if (!memmem(name.at, pf_size(name), ARROW, ARROW_SIZE))
        return pf_build_slice(pass->build, name);
    char *spaced = PF_OWN(pass->build->run, malloc(2 * pf_size(name)), free);
    size_t at = 0;
    for (const char *c = name.at; c < name.end; c++) {
        spaced[at++] = *c;
        if (*c == '-' && c + 1 < name.end && c[1] == '>')
            spaced[at++] = ' ';
    }
    uint32_t number = pf_build_name(pass->build, spaced, at);
    free(pf_disown(pass->build->run, spaced));
    return number;
}

/* Adds a symbol from a string `EP<US>pointer<US>name`, where <US> is UNIT_SEPARATOR. Ignores other strings. */
static void add_symbol(struct nsight_pass *pass, struct pf_slice text)
{
    static const char mark[] = {'E', 'P', UNIT_SEPARATOR, '\0'};
    struct nsight_paths *paths = &pass->paths;
    size_t size = pf_size(text);
    if (!pf_take(&text, mark))
        return;
    const char *name = memchr(text.at, UNIT_SEPARATOR, pf_size(text));
    if (!name || size > paths->text_left)
        return;
    paths->text_left -= size;
    uint32_t number = pf_build_intern(pass->build, paths->pointers, text.at, (size_t)(name - text.at));
    uint32_t symbol = add_path_name(pass, (struct pf_slice){name + 1, text.end});
    *PF_ITEM(pass->build->run, paths->symbols, number) = symbol;
}

/* Takes a string of StringIds. The strings between EXTRA_PROF_SYMBOLS and EXTRA_PROF_SYMBOLS_END are symbols. */
static void take_string(void *arg, struct pf_sql_row *row)
{
    struct nsight_pass *pass = arg;
    struct nsight_paths *paths = &pass->paths;
    struct pf_slice text = pf_sql_text(row, STRINGS_VALUE);
    if (!text.at)
        return;
    if (!paths->in_symbols)
        paths->in_symbols = pf_is(text, "EXTRA_PROF_SYMBOLS");
    else if (pf_is(text, "EXTRA_PROF_SYMBOLS_END"))
        row->last = true;
    else
        add_symbol(pass, text);
}

/* Returns the name of the function at a pointer, as a string of the tree; the pointer's text if it has no symbol. */
static uint32_t symbol_of(struct nsight_pass *pass, const char *pointer, size_t size)
{
    uint32_t number = pf_string_of(pass->paths.pointers, pointer, size);
    return number == PF_NO_STRING ? pf_build_name(pass->build, pointer, size)
                                  : pass->paths.symbols.at[number];
}

/* ---- texts --------------------------------------------------------------------------------------- */

/* Returns the end of the part of a path that starts at `part`. */
static const char *end_of_part(const char *part, const char *end, bool pointers)
{
    const char *mark = pointers ? memchr(part, UNIT_SEPARATOR, (size_t)(end - part))
                                : memmem(part, (size_t)(end - part), ARROW, ARROW_SIZE);
    return mark ? mark : end;
}

static uint32_t walk_path_text(struct nsight_pass *pass, const char *text, size_t size)
{
    const char *end = text + size;
    bool pointers = *text == UNIT_SEPARATOR;
    bool first = pointers && !pass->paths.symbols_read;
    pass->paths.symbols_read |= first;
    if (first)
        pf_sql_each(pass->build->run, pass->sql, NSIGHT_STRINGS, take_string, pass);
    const char *part = pointers ? text + 1 : text;
    uint32_t context = PF_NO_CONTEXT;
    for (unsigned parts = 0; parts < PARTS_MAX; parts++) {
        const char *over = end_of_part(part, end, pointers);
        size_t length = (size_t)(over - part);
        uint32_t name = pointers ? symbol_of(pass, part, length) : pf_build_name(pass->build, part, length);
        context = nsight_child(pass, context, NSIGHT_KIND_FUNCTION, name);
        if (over == end)
            break;
        part = over + (pointers ? 1 : ARROW_SIZE);
    }
    return context;
}

/* Returns the context of the path with this text. Each distinct text is parsed once. */
static uint32_t path_context_of(struct nsight_pass *pass, struct pf_slice text)
{
    struct nsight_paths *paths = &pass->paths;
    size_t size = pf_size(text);
    if (!size)
        return PF_NO_CONTEXT;
    if (size > paths->text_left) {
        paths->out_of_text = true;
        return PF_NO_CONTEXT;
    }
    uint32_t known = pf_strings_count(paths->texts),
             number = pf_build_intern(pass->build, paths->texts, text.at, size);
    if (number < known)
        return paths->contexts.at[number];
    paths->text_left -= size;
    uint32_t context = walk_path_text(pass, pf_interned(paths->texts, number).text, size);
    *PF_ITEM(pass->build->run, paths->contexts, number) = context;
    return context;
}

uint32_t nsight_path_of_range(struct nsight_pass *pass, const struct pf_sql_row *row)
{
    return path_context_of(pass, nsight_nvtx_text(pass, row));
}

/* ---- call chains --------------------------------------------------------------------------------- */

/* The words of a frame, a record of the sorter. Frames are sorted by chain, then from the outermost to the innermost. */
enum { CHAIN, DEPTH, ROW, NAME, FRAME_WORDS };

struct frames {
    struct nsight_pass *pass;
    struct pf_sorter *sorter;
};

static void take_frame(void *arg, struct pf_sql_row *row)
{
    struct frames *frames = arg;
    struct pf_run *run = frames->pass->build->run;
    if (pf_sql_is_set(row, CHAINS_UNRESOLVED))
        return;
    uint64_t record[FRAME_WORDS] = {pf_ordered(pf_sql_int(row, CHAINS_ID)),
                                    ~pf_ordered(pf_sql_int(row, CHAINS_DEPTH)), pf_ordered(row->number),
                                    nsight_name(frames->pass, pf_sql_int(row, CHAINS_SYMBOL))};
    pf_run_check(run, pf_sorter_add(frames->sorter, record, run->error));
}

static void add_path(struct nsight_pass *pass, int64_t number, uint32_t context)
{
    struct nsight_found found = {context, PF_NO_CONTEXT};
    if (context != PF_NO_CONTEXT)
        nsight_lookup_add(pass->build->run, &pass->paths.known, 0, number, found);
}

static void join_frames(const struct frames *frames)
{
    struct nsight_pass *pass = frames->pass;
    struct pf_run *run = pass->build->run;
    const uint64_t *record;
    uint64_t chain = 0;
    uint32_t context = PF_NO_CONTEXT;
    unsigned depth = 0;
    while (pf_run_check(run, pf_sorter_next(frames->sorter, &record, run->error))) {
        if (record[CHAIN] != chain) {
            add_path(pass, pf_signed(chain), context);
            context = PF_NO_CONTEXT;
            depth = 0;
        }
        chain = record[CHAIN];
        if (depth++ < PARTS_MAX)
            context = nsight_child(pass, context, NSIGHT_KIND_FUNCTION, (uint32_t)record[NAME]);
    }
    add_path(pass, pf_signed(chain), context);
}

static void read_chains(struct nsight_pass *pass)
{
    struct pf_run *run = pass->build->run;
    struct frames frames = {
        pass, PF_OWN(run, pf_sorter_new(FRAME_WORDS, ROW + 1, pass->limit / 2), pf_sorter_free)};
    pf_sql_each(run, pass->sql, NSIGHT_CHAINS, take_frame, &frames);
    pf_run_check(run, pf_sorter_finish(frames.sorter, run->error));
    join_frames(&frames);
    pf_sorter_free(pf_disown(run, frames.sorter));
}

/* ---- imported paths ------------------------------------------------------------------------------ */

/* Returns a path without its last part, which is the API call itself. */
static struct pf_slice without_last(struct pf_slice text)
{
    const char *last = text.at;
    for (const char *at = text.at; (at = memmem(at, (size_t)(text.end - at), ARROW, ARROW_SIZE));
         at += ARROW_SIZE)
        last = at;
    return (struct pf_slice){text.at, last};
}

uint32_t nsight_imported_path(struct nsight_pass *pass, const struct pf_sql_row *row, bool *call)
{
    struct pf_slice text = pf_sql_text(row, RESOLVED_PATH);
    *call = pf_sql_is_set(row, RESOLVED_CORRELATION);
    if (!text.at || (*call && !pf_sql_int(row, RESOLVED_CORRELATION)))
        return PF_NO_CONTEXT;
    return path_context_of(pass, *call ? without_last(text) : text);
}

/* Adds the path of an imported call to paths->known, by correlation. */
static void take_imported(void *arg, struct pf_sql_row *row)
{
    bool call;
    uint32_t path = nsight_imported_path(arg, row, &call);
    if (call)
        add_path(arg, pf_sql_int(row, RESOLVED_CORRELATION), path);
}

/* ---- the whole ----------------------------------------------------------------------------------- */

uint32_t nsight_path_of_call(struct nsight_pass *pass, const struct pf_sql_row *row)
{
    enum nsight_origin origin = pass->partitions.origin;
    unsigned column = origin == NSIGHT_SAMPLED ? RUNTIME_CHAIN : RUNTIME_CORRELATION;
    int64_t number = pf_sql_int(row, column);
    if ((origin != NSIGHT_SAMPLED && origin != NSIGHT_IMPORTED) || !pf_sql_is_set(row, column) ||
        number == INT64_MAX)
        return PF_NO_CONTEXT;
    /* The table CUDA_CALLCHAINS numbers chains from 1, but calls refer to them by numbers from 0. */
    number += origin == NSIGHT_SAMPLED;
    return nsight_lookup_find(pass->build->run, &pass->paths.known, 0, number).path;
}

void nsight_begin_paths(struct nsight_pass *pass)
{
    struct pf_run *run = pass->build->run;
    pass->paths.texts = PF_OWN(run, pf_strings_new(), pf_strings_free);
    pass->paths.pointers = PF_OWN(run, pf_strings_new(), pf_strings_free);
    /* All texts together are not longer than the export, unless rows of a hostile export share their pages. */
    pass->paths.text_left = pass->sql->have + TEXT_SPARE;
    nsight_lookup_begin(run, &pass->paths.known, pass->limit / 2);
}

void nsight_read_paths(struct nsight_pass *pass)
{
    struct pf_run *run = pass->build->run;
    if (pass->partitions.origin == NSIGHT_SAMPLED)
        read_chains(pass);
    if (pass->partitions.origin == NSIGHT_IMPORTED)
        pf_sql_each(run, pass->sql, NSIGHT_RESOLVED, take_imported, pass);
    nsight_lookup_finish(run, &pass->paths.known);
}
