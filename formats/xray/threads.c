/* SPDX-License-Identifier: MIT */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "formats/xray/basic.h"
#include "formats/xray/buffers.h"
#include "formats/xray/xray.h"

static int by_tid(const void *left, const void *right)
{
    const struct xray_thread *const *a = left, *const *b = right;
    return (*a)->tid < (*b)->tid ? -1 : (*a)->tid > (*b)->tid;
}

/* ambiguous[t]: another process has a thread of the same id. */
static int find_ambiguous(const struct xray_index *index, bool *ambiguous, struct pf_error *error)
{
    const struct xray_thread **sorted = malloc((index->n_threads + 1) * sizeof *sorted);
    if (!sorted)
        return pf_fail_memory(error);
    for (size_t i = 0; i < index->n_threads; i++)
        sorted[i] = &index->threads[i];
    qsort(sorted, index->n_threads, sizeof *sorted, by_tid);
    for (size_t i = 1; i < index->n_threads; i++)
        if (sorted[i]->tid == sorted[i - 1]->tid)
            ambiguous[sorted[i] - index->threads] = ambiguous[sorted[i - 1] - index->threads] = true;
    free(sorted);
    return 0;
}

static int add_thread(struct pf_rows *items, size_t id, const struct xray_thread *thread, bool ambiguous,
                      struct pf_error *error)
{
    char name[64];
    int size =
        ambiguous && thread->has_pid
            ? snprintf(name, sizeof name, "process-%" PRId32 ".thread-%" PRId64, thread->pid, thread->tid)
            : snprintf(name, sizeof name, "thread-%" PRId64, thread->tid);
    struct pf_cell cells[] = {pf_uint(id), pf_plain(name, (size_t)size)};
    return pf_rows_add(items, cells, error);
}

static int add_threads(struct pf_rows *items, const struct xray_index *index, struct pf_error *error)
{
    bool *ambiguous = calloc(index->n_threads + 1, sizeof *ambiguous);
    if (!ambiguous)
        return pf_fail_memory(error);
    int failed = find_ambiguous(index, ambiguous, error);
    for (size_t i = 0; i < index->n_threads && !failed; i++)
        failed = add_thread(items, i, &index->threads[i], ambiguous[i], error);
    free(ambiguous);
    return failed;
}

int xray_load_threads(struct pf_profile *profile, struct pf_pass *pass, struct pf_error *error)
{
    struct xray_state *state = xray_state(profile);
    struct xray_index index;
    struct pf_rows *items = pf_rows_new(2);
    if (!items)
        return pf_fail_memory(error);
    bool basic = state->header.type == XRAY_BASIC;
    int failed = basic ? xray_basic_index(&index, &state->header, state->input, pass, error)
                       : xray_buffers_index(&index, &state->header, state->input, pass, error);
    if (failed || add_threads(items, &index, error)) {
        pf_rows_free(items);
        xray_index_free(&index);
        return -1;
    }
    state->index = index;
    atomic_store(&state->start, index.start);
    profile->partitions.items = items;
    return 0;
}
