/* SPDX-License-Identifier: MIT */
#include <stdlib.h>

#include "formats/hpctoolkit/hpctoolkit.h"
#include "formats/hpctoolkit/read.h"
#include "formats/kit/array.h"

/* ---- contexts that have values but no description ----------------------------------------------- */

enum { PAIRS_A_STEP = 1 << 16, BLOCKS_A_STEP = 8192 };

struct hpc_search {
    struct hpc_state *state;
    struct hpc_model *model;
    struct pf_notes *notes;
    struct pf_ids found;
    uint32_t *ids; /* in order of discovery */
    size_t n_ids, room;
    uint64_t done, total; /* numbers of pairs, for the progress of the pass */
};

static int hpc_search_add(struct hpc_search *search, uint32_t id, struct pf_error *error)
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

/*
 * Collects the contexts of a block that are not described. Truncates a damaged block permanently, even if the pass is
 * cancelled later, so that every reader sees the same contents.
 */
static int search_block(struct hpc_search *search, struct hpc_block *block, uint32_t profile,
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
            hpc_search_add(search, id, error))
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

static int search_blocks(struct hpc_search *search, struct pf_error *error)
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

static int add_unlisted(struct hpc_search *search, struct pf_error *error)
{
    if (!search->n_ids)
        return 0;
    qsort(search->ids, search->n_ids, sizeof *search->ids, by_id);
    for (size_t i = 0; i < search->n_ids; i++)
        if (hpc_model_add_bare(search->model, search->ids[i], "unlisted instruction", HPC_INSTRUCTION, 0,
                               error) == PF_NO_CONTEXT)
            return -1;
    return hpc_note(search->notes, "warning", "unlisted-contexts", 0, -1,
                    "%zu contexts have values but no place in the calling-context tree: their writer leaves "
                    "instructions out that stand under a source line",
                    search->n_ids);
}

static int find_unlisted(struct hpc_search *search, struct pf_error *error)
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

/* ---- the whole load ----------------------------------------------------------------------------- */

int hpc_model_load(struct pf_model *profile, struct pf_notes *notes, struct pf_error *error)
{
    struct hpc_state *state = hpc_state(profile);
    struct hpc_model model;
    struct hpc_search search = {.state = state, .model = &model, .notes = notes};
    bool xml = state->layout == HPC_XML4 || state->layout == HPC_OLD;
    if (!hpc_model_begin(&model))
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
    model.tree = NULL; /* the profile has taken ownership */
    state->model = model;
    return 0;
}
