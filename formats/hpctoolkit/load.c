/* SPDX-License-Identifier: MIT */
#include <stdlib.h>

#include "formats/hpctoolkit/hpctoolkit.h"
#include "formats/hpctoolkit/read.h"

/* ---- contexts that have values but no description ----------------------------------------------- */

static const struct pf_note_kind broken_block = {"error", "broken-block", NULL};

enum { PAIRS_A_STEP = 1 << 16, BLOCKS_A_STEP = 8192, CONTEXTS_A_STEP = 8192 };

struct hpc_search {
    struct pf_run *run;
    struct hpc_state *state;
    struct hpc_model *model;
    struct hpc_block_reader *reader;
    struct pf_ids found;
    PF_LIST(uint32_t) ids; /* in order of discovery */
    uint64_t done, total;  /* number of pairs read so far, and of all pairs, to report progress */
    uint64_t left;         /* bytes of pairs and values that blocks may still refer to */
};

static void search_add_context(struct hpc_search *search, uint32_t id)
{
    if (pf_ids_find(&search->model->ids, id) == PF_NO_ID &&
        pf_run_check(search->run, pf_ids_add(&search->found, id, 0, search->run->error)))
        *PF_PUSH(search->run, search->ids) = id;
}

/* Subtracts the size of a pair and its values from search->left. Returns false if search->left is too small. */
static bool search_use_bytes(struct hpc_search *search, uint64_t values)
{
    uint64_t size = HPC_PAIR + values * HPC_VALUE;
    bool fits = size <= search->left;
    search->left -= fits ? size : 0;
    return fits;
}

/*
 * Collects the ids of a block's contexts that have no description. Cuts off the block from the first damaged pair on,
 * or the whole block if its terminating pair is wrong, so that all readers see the same contents. The note is kept in
 * struct hpc_state: if this pass is cancelled, the block stays cut, so the next pass does not find the damage again.
 */
static void search_block(struct hpc_search *search, struct hpc_block *block, uint32_t profile)
{
    struct pf_run *run = search->run;
    uint32_t id, entry = 0;
    uint64_t first, end, values = 0;
    bool sound = pf_run_check(run, hpc_block_is_whole(search->reader, block, run->error));
    for (int64_t before = -1; sound && entry < block->n_contexts; entry++, before = id, values = end) {
        sound =
            pf_run_check(run, hpc_block_pair(search->reader, block, entry, &id, &first, &end, run->error));
        sound = sound && id > before && search_use_bytes(search, end - first);
        if (!sound)
            break;
        if (search->done++ % PAIRS_A_STEP == 0)
            pf_run_step(run, search->done, search->total);
        search_add_context(search, id);
    }
    if (sound && entry == block->n_contexts)
        return;
    block->n_contexts = entry;
    block->n_values = values;
    block->is_cut = true;
    pf_note(&search->state->broken, &broken_block, 0, (int64_t)(block->indices + (uint64_t)entry * HPC_PAIR),
            "profile.db: profile %u: damaged values from context number %u on: skipped", profile, entry);
}

static void search_blocks(struct hpc_search *search)
{
    struct hpc_state *state = search->state;
    /* Blocks of an undamaged file do not overlap. Twice the file's size leaves room for overlapping damaged ones. */
    search->left = 2 * pf_input_size(state->profile_db);
    search->total = state->summary.n_contexts;
    for (uint32_t i = 0; i < state->threads.count; i++)
        search->total += state->threads.items[i].block.n_contexts;
    if (state->has_summary)
        search_block(search, &state->summary, state->summary_profile);
    for (uint32_t i = 0; i < state->threads.count; i++) {
        if (i % BLOCKS_A_STEP == 0)
            pf_run_step(search->run, search->done, search->total);
        search_block(search, &state->threads.items[i].block, state->threads.items[i].profile);
    }
}

static int by_context_id(const void *left, const void *right)
{
    const uint32_t *a = left, *b = right;
    return (*a > *b) - (*a < *b);
}

static void free_search(struct hpc_search *search)
{
    pf_ids_free(&search->found);
    free(search);
}

/* Adds the contexts that have values but no description, by ascending id. */
static void add_unlisted(struct pf_run *run, struct hpc_model *model)
{
    struct hpc_search *search = PF_OWN(run, calloc(1, sizeof *search), free_search);
    search->run = run;
    search->state = hpc_state(run->model);
    search->model = model;
    search->reader = hpc_block_reader_new(run, 64 * 1024);
    search_blocks(search);
    if (!search->ids.n)
        return;
    qsort(search->ids.at, search->ids.n, sizeof *search->ids.at, by_context_id);
    for (size_t i = 0; i < search->ids.n; i++) {
        if (i % CONTEXTS_A_STEP == 0)
            pf_run_step(run, i, search->ids.n);
        (void)hpc_model_add_bare(run, model, search->ids.at[i], "unlisted instruction", HPC_INSTRUCTION, 0);
    }
    pf_run_warn(run, "warning", "unlisted-contexts", 0, -1,
                "%zu contexts with values are missing in the calling-context tree: added without a parent "
                "(hpcprof omits instructions below source lines)",
                search->ids.n);
}

/* ---- loading ------------------------------------------------------------------------------------ */

void hpc_model_load(struct pf_run *run)
{
    struct hpc_state *state = hpc_state(run->model);
    struct hpc_model *model = &state->model;
    hpc_model_free(model); /* the model of an earlier attempt that failed */
    pf_tree_free(run->model->contexts);
    run->model->contexts = NULL;
    PF_OWN(run, model, hpc_model_free);
    hpc_model_begin(run, model);
    if (state->layout == HPC_XML4 || state->layout == HPC_OLD)
        hpc_experiment_contexts(run, model);
    else
        hpc_meta_contexts(run, model);
    if (state->profile_db)
        add_unlisted(run, model);
    pf_run_check(run, pf_tree_finish(model->tree, run->error));
    pf_run_check(run, pf_notes_publish(&state->broken, run->model, run->error));
    hpc_number_rows(&state->threads);
    run->model->contexts = model->tree;
    model->contexts = model->tree->count;
    model->tree = NULL; /* the profile has taken ownership */
    pf_disown(run, model);
}
