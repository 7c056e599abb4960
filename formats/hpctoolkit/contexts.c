/* SPDX-License-Identifier: MIT */

#include <stdlib.h>

#include "formats/hpctoolkit/meta.h"
#include "formats/hpctoolkit/read.h"

/* Blocks whose (context, number) pairs take no more than this, all together, are all looked through. */
#define LOOK_THROUGH ((uint64_t)16 << 20)

enum { PAIRS_A_STEP = 1 << 16, BLOCKS_A_STEP = 8192 };

/* "end!" */
#define END_MARK UINT32_C(0x656e6421)

const struct pf_column hpc_context_columns[HPC_CONTEXT_COLUMNS] = {
    [HPC_CONTEXT_RELATION] = {"relation", PF_PLAIN, 0},
    [HPC_CONTEXT_OFFSET] = {"offset", PF_PLAIN, 0},
};

void hpc_context_cells(const struct pf_profile *profile, uint32_t context, struct pf_cell *cells)
{
    static const char *const relations[HPC_RELATIONS] = {[HPC_NO_RELATION] = NULL,
                                                         [HPC_LEXICAL] = "lexical",
                                                         [HPC_BY_CALL] = "call",
                                                         [HPC_BY_INLINED_CALL] = "inlined_call"};
    const struct hpc_model *model = &hpc_state(profile)->model;
    uint64_t offset = model->offset[context];
    unsigned relation = model->relation[context];
    cells[HPC_CONTEXT_RELATION] =
        relation < HPC_RELATIONS ? pf_string(relations[relation]) : pf_uint(relation - HPC_LEXICAL);
    cells[HPC_CONTEXT_OFFSET] = offset == HPC_NO_OFFSET ? pf_absent() : pf_uint(offset);
}

/* ---- what has values without being described --------------------------------------------------------- */

struct search {
    struct hpc_state *state;
    struct hpc_model *model;
    struct pf_notes *notes;
    struct pf_pass *pass;
    uint8_t *small; /* a bit for each id below SMALL: it needs no second look */
    struct hpc_idmap found;
    uint64_t done, total; /* pairs */
    bool only_doubtful;   /* blocks whose end looks as it should are not looked through */
};

/* Ids mostly are small numbers, and each comes up in many threads. */
enum { SMALL = 1 << 23 };

static bool looked_at(struct search *search, uint32_t id)
{
    if (id >= SMALL)
        return false;
    uint8_t *byte = &search->small[id / 8], bit = (uint8_t)(1 << id % 8);
    bool before = *byte & bit;
    *byte |= bit;
    return before;
}

static int add_id(void *arg, uint32_t id, struct pf_error *error)
{
    struct search *search = arg;
    if (looked_at(search, id) || hpc_idmap_find(&search->model->ids, id) != HPC_NO_NUMBER)
        return 0;
    return hpc_idmap_add(&search->found, id, 0, error) < 0 ? -1 : 0;
}

/* A pair that cannot be ends the block, for good, even if this pass is stopped: what every walk sees of it is the same. */
static int cut_block(struct search *search, struct hpc_block *block, uint32_t profile,
                     const struct hpc_block_walk *walk, uint64_t values)
{
    uint64_t at = block->indices + (uint64_t)walk->entry * HPC_INDEX;
    if (walk->entry == block->n_contexts)
        return 0;
    block->n_contexts = walk->entry;
    block->n_values = values;
    return hpc_note(
        &search->state->broken, HPC_NOTE_ERROR_BROKEN_BLOCK, 0, (int64_t)at,
        "profile.db: the values of profile %u are broken from context number %u on; these are left "
        "out",
        profile, walk->entry);
}

/* experiment.xml's time: behind the pairs stand "end!" and the number of values. */
static int check_end(struct search *search, struct hpc_block *block, uint32_t profile, struct pf_error *error)
{
    unsigned char bytes[HPC_INDEX];
    uint64_t at = block->indices + (uint64_t)block->n_contexts * HPC_INDEX;
    if (search->state->layout != HPC_XML4 || !block->indices)
        return 0;
    ssize_t got = pf_input_read(search->state->profile_db, bytes, sizeof bytes, at, error);
    if (got < 0)
        return -1;
    if (got == sizeof bytes && pf_u32(bytes, true) == END_MARK && pf_u64(bytes + 4, true) == block->n_values)
        return 0;
    *block = (struct hpc_block){0};
    return hpc_note(&search->state->broken, HPC_NOTE_ERROR_BROKEN_BLOCK, 0, (int64_t)at,
                    "profile.db: the values of profile %u do not end as they should; they are left out",
                    profile);
}

/*
 * Looks at a block's end alone: at the last pair, and what experiment.xml's time has behind it. Contexts ascend from 0, so
 * that of n the last one is no less than n - 1; where a block was cut off or overwritten it hardly is. 1; 0; -1.
 */
static int ends_well(const struct search *search, const struct hpc_block *block, struct pf_error *error)
{
    unsigned char bytes[2 * HPC_INDEX];
    bool big_endian = search->state->big_endian, marked = search->state->layout == HPC_XML4;
    size_t size = marked ? 2 * HPC_INDEX : HPC_INDEX;
    if (!block->n_contexts)
        return !block->n_values;
    ssize_t got = pf_input_read(search->state->profile_db, bytes, size,
                                block->indices + (uint64_t)(block->n_contexts - 1) * HPC_INDEX, error);
    if (got < (ssize_t)size)
        return got < 0 ? -1 : 0;
    return pf_u32(bytes, big_endian) >= block->n_contexts - 1 &&
           pf_u64(bytes + 4, big_endian) < block->n_values &&
           (!marked || (pf_u32(bytes + HPC_INDEX, true) == END_MARK &&
                        pf_u64(bytes + HPC_INDEX + 4, true) == block->n_values));
}

static int search_block(struct search *search, struct hpc_block *block, uint32_t profile,
                        struct hpc_block_walk *walk, struct pf_error *error)
{
    uint32_t id;
    uint64_t first, end = 0, values = 0;
    int more;
    int sound = search->only_doubtful ? ends_well(search, block, error) : 0;
    if (sound)
        return sound < 0 ? -1 : 0;
    if (check_end(search, block, profile, error))
        return -1;
    hpc_block_enter(walk, search->state, block, 0);
    while ((more = hpc_block_next(walk, &id, &first, &end, error)) > 0) {
        values = end;
        if ((search->done++ % PAIRS_A_STEP == 0 &&
             pf_pass_step(search->pass, search->done, search->total, error)) ||
            add_id(search, id, error))
            return -1;
    }
    return more ? -1 : cut_block(search, block, profile, walk, values);
}

static int search_blocks(struct search *search, struct pf_error *error)
{
    struct hpc_state *state = search->state;
    struct hpc_block_walk walk = {0};
    int failed =
        state->has_summary ? search_block(search, &state->summary, state->summary_profile, &walk, error) : 0;
    for (uint32_t i = 0; i < state->threads.count && !failed; i++)
        failed = (i % BLOCKS_A_STEP == 0 && pf_pass_step(search->pass, search->done, search->total, error)) ||
                 search_block(search, &state->threads.items[i].block, state->threads.items[i].profile, &walk,
                              error);
    hpc_block_leave(&walk);
    return failed ? -1 : 0;
}

static int by_id(const void *left, const void *right)
{
    const struct hpc_numbered *a = left, *b = right;
    return (a->id > b->id) - (a->id < b->id);
}

static int add_unlisted(struct search *search, struct pf_error *error)
{
    struct hpc_numbered *items = search->found.items;
    size_t count = search->found.table.count;
    if (!count)
        return 0;
    qsort(items, count, sizeof *items, by_id); /* nothing is looked up in the table any more */
    for (size_t i = 0; i < count; i++)
        if (hpc_model_add_unlisted(search->model, items[i].id, error))
            return -1;
    return hpc_note(search->notes, HPC_NOTE_WARNING_UNLISTED_CONTEXTS, 0, -1,
                    "%u contexts have values but no place in the calling-context tree: their writer leaves "
                    "instructions out that stand under a source line",
                    search->model->unlisted);
}

static int find_unlisted(struct search *search, struct pf_error *error)
{
    struct hpc_state *state = search->state;
    search->total = state->summary.n_contexts;
    for (uint32_t i = 0; i < state->threads.count; i++)
        search->total += state->threads.items[i].block.n_contexts;
    search->small = calloc(SMALL / 8, 1);
    int failed =
        !search->small ? pf_fail_memory(error) : hpc_cct_load(state, search->notes, search->pass, error);
    if (!failed && state->cct_complete)
        failed = hpc_cct_ids(state, search->pass, add_id, search, error);
    search->only_doubtful = state->cct_complete && search->total > LOOK_THROUGH / HPC_INDEX;
    failed = failed || search_blocks(search, error);
    failed = failed || add_unlisted(search, error);
    free(search->small);
    hpc_idmap_free(&search->found);
    return failed ? -1 : 0;
}

/* ---- all ---------------------------------------------------------------------------------------------- */

int hpc_contexts_load(struct pf_profile *profile, struct pf_notes *notes, struct pf_pass *pass,
                      struct pf_error *error)
{
    struct hpc_state *state = hpc_state(profile);
    struct hpc_model model;
    struct search search = {.state = state, .model = &model, .notes = notes, .pass = pass};
    bool xml = state->layout == HPC_XML4 || state->layout == HPC_OLD;
    int failed =
        hpc_model_init(&model, error) || (xml ? hpc_experiment_contexts(state, &model, notes, pass, error)
                                              : hpc_meta_contexts(state, &model, notes, pass, error));
    if (!failed && state->profile_db)
        failed = find_unlisted(&search, error);
    if (failed || pf_tree_finish(model.tree, error) || hpc_idmap_pack(&model.ids, error)) {
        hpc_model_free(&model);
        return -1;
    }
    if (pf_notes_publish(&state->broken, profile, error)) {
        hpc_model_free(&model);
        return -1;
    }
    profile->contexts = model.tree;
    model.contexts = model.tree->count;
    model.tree = NULL; /* the profile's from now on */
    state->model = model;
    return 0;
}
