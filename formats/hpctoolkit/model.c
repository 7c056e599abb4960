/* SPDX-License-Identifier: MIT */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "formats/hpctoolkit/hpctoolkit.h"
#include "formats/hpctoolkit/read.h"
#include "formats/kit/array.h"

/* ---- contexts ----------------------------------------------------------------------------------- */

static const char *const kinds[] = {
    [HPC_ROOT] = "root",         [HPC_ENTRY] = "entry",
    [HPC_FUNCTION] = "function", [HPC_INLINED] = "inlined",
    [HPC_CALL] = "call",         [HPC_LOOP] = "loop",
    [HPC_LINE] = "line",         [HPC_INSTRUCTION] = "instruction",
    [HPC_OTHER] = "other",
};

void hpc_model_free(struct hpc_model *model)
{
    pf_tree_free(model->tree);
    pf_ids_free(&model->ids);
    pf_ids_free(&model->traced);
    pf_store_free(model->summary);
    free(model->offset);
    free(model->relation);
    for (int i = 0; i < HPC_LISTS; i++)
        free(model->lists[i].items);
    *model = (struct hpc_model){0};
}

/* Gives the columns of contexts that the tree does not make itself the room that it has. 0, or -1 with *error filled. */
static int make_room(struct hpc_model *model, struct pf_error *error)
{
    struct pf_tree *tree = model->tree;
    model->room = tree->room;
    return pf_array_resize(&tree->id, tree->room, sizeof *tree->id, error) ||
                   pf_array_resize(&tree->line, tree->room, sizeof *tree->line, error) ||
                   pf_array_resize(&tree->file, tree->room, sizeof *tree->file, error) ||
                   pf_array_resize(&tree->module, tree->room, sizeof *tree->module, error) ||
                   pf_array_resize(&model->offset, tree->room, sizeof *model->offset, error) ||
                   pf_array_resize(&model->relation, tree->room, sizeof *model->relation, error)
               ? -1
               : 0;
}

uint32_t hpc_model_add(struct hpc_model *model, uint32_t parent, const struct hpc_context *context,
                       struct pf_error *error)
{
    struct pf_tree *tree = model->tree;
    error->code = 0;
    if (pf_ids_add(&model->ids, context->id, tree->count, error) <= 0)
        return PF_NO_CONTEXT;
    uint32_t i = pf_tree_add(tree, parent, 0, context->name, (uint8_t)context->kind, context->flags, error);
    if (i == PF_NO_CONTEXT || (model->room < tree->room && make_room(model, error)))
        return PF_NO_CONTEXT;
    hpc_model_set(model, i, context);
    tree->id[i] = context->id;
    return i;
}

void hpc_model_set(struct hpc_model *model, uint32_t i, const struct hpc_context *context)
{
    struct pf_tree *tree = model->tree;
    tree->kind[i] = (uint8_t)context->kind;
    tree->name[i] = context->name;
    tree->flags[i] |= context->flags;
    tree->line[i] = context->line;
    tree->file[i] = context->file;
    tree->module[i] = context->module;
    model->offset[i] = context->offset;
    model->relation[i] = context->relation;
}

/* Adds a context that has no parent and of which no more is known than this. As hpc_model_add. */
static uint32_t add_bare(struct hpc_model *model, uint64_t id, const char *name, enum hpc_kind kind,
                         uint8_t flags, struct pf_error *error)
{
    struct hpc_context context = {
        .id = id,
        .offset = HPC_NO_OFFSET,
        .name = pf_intern(model->tree->strings, name, strlen(name), error),
        .file = PF_NO_STRING,
        .module = PF_NO_STRING,
        .kind = kind,
        .flags = flags,
    };
    return context.name == PF_NO_STRING ? PF_NO_CONTEXT
                                        : hpc_model_add(model, PF_NO_CONTEXT, &context, error);
}

uint32_t hpc_model_add_root(struct hpc_model *model, uint64_t id, struct pf_error *error)
{
    return add_bare(model, id, "root", HPC_ROOT, PF_ROOT | PF_FRAME, error);
}

const struct pf_column hpc_context_columns[HPC_CONTEXT_COLUMNS] = {
    [HPC_RELATION] = {"relation", PF_PLAIN, 0}, [HPC_OFFSET] = {"offset", PF_PLAIN, 0}};

void hpc_context_cells(const struct pf_model *profile, uint32_t context, struct pf_cell *cells)
{
    static const char *const relations[HPC_RELATIONS] = {
        [HPC_LEXICAL] = "lexical", [HPC_BY_CALL] = "call", [HPC_BY_INLINED_CALL] = "inlined_call"};
    const struct hpc_model *model = &hpc_state(profile)->model;
    uint64_t offset = model->offset[context];
    unsigned relation = model->relation[context];
    cells[HPC_RELATION] =
        relation < HPC_RELATIONS ? pf_string(relations[relation]) : pf_uint(relation - HPC_LEXICAL);
    cells[HPC_OFFSET] = offset == HPC_NO_OFFSET ? pf_absent() : pf_uint(offset);
}

/* ---- names -------------------------------------------------------------------------------------- */

/* Longer names of files are cut in the names of contexts; they stand in full in the columns file and module. */
enum { PART_MAX = 400 };

/* The last part of a path: what stands behind the last slash, unless that is nothing, cut between characters. */
static struct pf_cell last_part(const struct hpc_model *model, uint32_t path)
{
    struct pf_cell cell = pf_interned(model->tree->strings, path);
    if (cell.type != PF_TEXT || !cell.size)
        return pf_string("");
    const char *slash = memrchr(cell.text, '/', cell.size - 1);
    const char *part = slash ? slash + 1 : cell.text;
    size_t size = cell.size - (size_t)(part - cell.text);
    if (size > PART_MAX)
        for (size = PART_MAX; size && (part[size] & 0xc0) == 0x80;)
            size--;
    return pf_text(part, size);
}

int hpc_name_context(struct hpc_model *model, struct hpc_context *context, struct pf_error *error)
{
    char name[PART_MAX + 64];
    bool loop = context->kind == HPC_LOOP, call = context->kind == HPC_CALL && context->line;
    bool place = loop || call || context->kind == HPC_LINE, offset = context->offset != HPC_NO_OFFSET;
    struct pf_cell part = last_part(model, place ? context->file : context->module);
    int size = snprintf(name, sizeof name, "%s%.*s", loop ? "loop at " : "", (int)part.size, part.text);
    if (place && !part.size)
        size += snprintf(name + size, sizeof name - (size_t)size, "<unknown file>");
    else if (place && context->line)
        size += snprintf(name + size, sizeof name - (size_t)size, ":%u", context->line);
    else if (!place && offset)
        size += snprintf(name + size, sizeof name - (size_t)size, "+0x%" PRIx64, context->offset);
    else if (!place && !part.size)
        size = snprintf(name, sizeof name, "<unknown %s>", kinds[context->kind]);
    context->name = pf_intern(model->tree->strings, name, (size_t)size, error);
    return context->name == PF_NO_STRING ? -1 : 0;
}

/* ---- lists, and the summary of 2.x ------------------------------------------------------------------ */

int hpc_model_add_item(struct hpc_model *model, enum hpc_list list, const struct hpc_item *item,
                       struct pf_error *error)
{
    struct hpc_items *items = &model->lists[list];
    if (items->count == UINT32_MAX ||
        pf_array_room(&items->items, &items->room, items->count, sizeof *item, error))
        return pf_fail_memory(error);
    items->items[items->count++] = *item;
    return 0;
}

int hpc_model_add_value(struct hpc_model *model, const struct hpc_old_value *value, struct pf_error *error)
{
    enum { HELD = 8 << 20 }; /* bytes of values in memory */
    if (!model->summary && !(model->summary = pf_store_new(HELD)))
        return pf_fail_memory(error);
    if (value->context < model->last_with_summary)
        return 0;
    model->last_with_summary = value->context;
    return pf_store_append(model->summary, value, sizeof *value, error) ? -1 : 1;
}

/* ---- what has values without being described --------------------------------------------------------- */

enum { PAIRS_A_STEP = 1 << 16, BLOCKS_A_STEP = 8192 };

struct search {
    struct hpc_state *state;
    struct hpc_model *model;
    struct pf_notes *notes;
    struct pf_ids found;
    uint32_t *ids; /* those found */
    size_t n_ids, room;
    uint64_t done, total; /* pairs */
};

static int add_id(struct search *search, uint32_t id, struct pf_error *error)
{
    if (pf_ids_find(&search->model->ids, id) != PF_NO_ID)
        return 0;
    int added = pf_ids_add(&search->found, id, 0, error);
    if (added <= 0)
        return added;
    if (pf_array_room(&search->ids, &search->room, search->n_ids, sizeof *search->ids, error))
        return -1;
    search->ids[search->n_ids++] = id;
    return 0;
}

/* A block that can't be is cut, for good, even if this pass is stopped: what every walk sees of it is the same. */
static int search_block(struct search *search, struct hpc_block *block, uint32_t profile,
                        struct hpc_block_reader *reader, struct pf_error *error)
{
    uint32_t id, entry = 0;
    uint64_t first, end, values = 0;
    int sound = hpc_block_is_whole(reader, block, error);
    for (int64_t before = -1; sound > 0 && entry < block->n_contexts; entry++, before = id, values = end) {
        sound = hpc_block_pair(reader, block, entry, &id, &first, &end, error);
        if (sound <= 0 || id <= before)
            break;
        if ((search->done++ % PAIRS_A_STEP == 0 && pf_pass_step(search->done, search->total, error)) ||
            add_id(search, id, error))
            return -1;
    }
    if (sound < 0 || (sound && entry == block->n_contexts))
        return sound < 0 ? -1 : 0;
    block->n_contexts = entry;
    block->n_values = values;
    block->is_cut = true;
    return hpc_note(
        &search->state->broken, "error", "broken-block", 0,
        (int64_t)(block->indices + (uint64_t)entry * HPC_PAIR),
        "profile.db: the values of profile %u are broken from context number %u on; these are left out",
        profile, entry);
}

static int search_blocks(struct search *search, struct pf_error *error)
{
    struct hpc_state *state = search->state;
    struct hpc_block_reader reader = {state, .pairs = {.input = state->profile_db, .room = 64 * 1024}};
    int failed = state->has_summary
                     ? search_block(search, &state->summary, state->summary_profile, &reader, error)
                     : 0;
    for (uint32_t i = 0; i < state->threads.count && !failed; i++)
        failed = (i % BLOCKS_A_STEP == 0 && pf_pass_step(search->done, search->total, error)) ||
                 search_block(search, &state->threads.items[i].block, state->threads.items[i].profile,
                              &reader, error);
    hpc_block_reader_close(&reader);
    return failed ? -1 : 0;
}

static int by_id(const void *left, const void *right)
{
    const uint32_t *a = left, *b = right;
    return (*a > *b) - (*a < *b);
}

static int add_unlisted(struct search *search, struct pf_error *error)
{
    if (!search->n_ids)
        return 0;
    qsort(search->ids, search->n_ids, sizeof *search->ids, by_id);
    for (size_t i = 0; i < search->n_ids; i++)
        if (add_bare(search->model, search->ids[i], "unlisted instruction", HPC_INSTRUCTION, 0, error) ==
            PF_NO_CONTEXT)
            return -1;
    return hpc_note(search->notes, "warning", "unlisted-contexts", 0, -1,
                    "%zu contexts have values but no place in the calling-context tree: their writer leaves "
                    "instructions out that stand under a source line",
                    search->n_ids);
}

static int find_unlisted(struct search *search, struct pf_error *error)
{
    struct hpc_state *state = search->state;
    search->total = state->summary.n_contexts;
    for (uint32_t i = 0; i < state->threads.count; i++)
        search->total += state->threads.items[i].block.n_contexts;
    int failed = search_blocks(search, error) || add_unlisted(search, error);
    free(search->ids);
    pf_ids_free(&search->found);
    return failed ? -1 : 0;
}

/* ---- all ---------------------------------------------------------------------------------------------- */

int hpc_model_load(struct pf_model *profile, struct pf_notes *notes, struct pf_error *error)
{
    struct hpc_state *state = hpc_state(profile);
    struct hpc_model model = {.tree = pf_tree_new(kinds)};
    struct search search = {.state = state, .model = &model, .notes = notes};
    bool xml = state->layout == HPC_XML4 || state->layout == HPC_OLD;
    if (!model.tree)
        return pf_fail_memory(error);
    int failed = xml ? hpc_experiment_contexts(state, &model, notes, error)
                     : hpc_meta_contexts(state, &model, notes, error);
    if (!failed && state->profile_db)
        failed = find_unlisted(&search, error);
    if (failed || pf_tree_finish(model.tree, error) || pf_notes_publish(&state->broken, profile, error)) {
        hpc_model_free(&model);
        return -1;
    }
    hpc_number_rows(&state->threads);
    profile->contexts = model.tree;
    model.contexts = model.tree->count;
    model.tree = NULL; /* the profile's from now on */
    state->model = model;
    return 0;
}
