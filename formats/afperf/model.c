/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "formats/afperf/afperf.h"
#include "formats/kit/array.h"

/* ---- memory ------------------------------------------------------------------------------------- */

void afperf_grow(struct afperf_model *model, void *items, size_t count, size_t *room, size_t size)
{
    struct pf_error *error = model->run->error;
    if (count >= AFPERF_NUMBERS_MAX)
        pf_run_check(model->run, pf_fail(error, EFBIG, "too many records of a kind"));
    pf_run_check(model->run, pf_array_room(items, room, count, size, error));
}

static uint32_t intern_checked(struct afperf_model *model, struct pf_strings *strings, const char *text,
                               size_t size)
{
    uint32_t number = pf_intern(strings, text, size, model->run->error);
    if (number == PF_NO_STRING)
        pf_run_fail(model->run);
    return number;
}

uint32_t afperf_keep(struct afperf_model *model, struct afperf_text text)
{
    return intern_checked(model, model->strings, text.size ? text.text : "", text.size);
}

uint32_t afperf_name(struct afperf_model *model, const char *text, size_t size)
{
    return intern_checked(model, model->tree->strings, text, size);
}

struct pf_store *afperf_new_store(struct afperf_model *model)
{
    return PF_OWN(model->run, pf_store_new(model->limit), pf_store_free);
}

struct pf_sorter *afperf_new_sorter(struct afperf_model *model, size_t size, unsigned keys)
{
    return PF_OWN(model->run, pf_sorter_new((unsigned)(size / sizeof(uint64_t)), keys, model->limit),
                  pf_sorter_free);
}

void afperf_sort(struct afperf_model *model, struct pf_sorter *sorter, const void *record)
{
    pf_run_check(model->run, pf_sorter_add(sorter, record, model->run->error));
}

void afperf_append(struct afperf_model *model, struct pf_store *store, const void *item, size_t size)
{
    pf_run_check(model->run, pf_store_append(store, item, size, model->run->error));
}

struct pf_store_window *afperf_window(struct afperf_model *model, const struct pf_store *store)
{
    struct pf_store_window *window = PF_OWN(model->run, calloc(1, sizeof *window), free);
    window->store = store;
    return PF_OWN(model->run, window, pf_store_window_free);
}

void afperf_item(struct afperf_model *model, struct pf_store_window *window, uint64_t index, void *item,
                 size_t size)
{
    struct pf_error *error = model->run->error;
    const void *at = pf_pass_check(error) ? NULL : pf_store_at(window, index * size, size, error);
    if (!at)
        pf_run_fail(model->run);
    memcpy(item, at, size);
}

const void *afperf_sorted(struct afperf_model *model, struct pf_sorter *sorter)
{
    struct pf_error *error = model->run->error;
    const uint64_t *record;
    int got = pf_pass_check(error) ? -1 : pf_sorter_next(sorter, &record, error);
    return pf_run_check(model->run, got) ? record : NULL;
}

/* ---- warnings ----------------------------------------------------------------------------------- */

void afperf_note(struct afperf_model *model, enum afperf_problem problem, uint64_t offset, uint64_t line)
{
    static const struct pf_note_kind kinds[AFPERF_PROBLEMS] = {
#define X(name, severity, code, text) [AFPERF_##name] = {severity, code, text},
        AFPERF_PROBLEM_LIST(X)
#undef X
    };
    pf_run_note(model->run, &kinds[problem], line, offset, NULL);
}

/* ---- cells -------------------------------------------------------------------------------------- */

size_t afperf_hex(uint64_t id, char *text)
{
    return (size_t)snprintf(text, AFPERF_HEX, "0x%" PRIx64, id);
}

struct pf_cell afperf_id_cell(bool given, uint64_t id, char *text)
{
    return given ? pf_plain(text, afperf_hex(id, text)) : pf_absent();
}

struct pf_cell afperf_text_cell(const struct afperf_model *model, uint32_t string)
{
    struct pf_cell cell = pf_interned(model->strings, string);
    return cell.size ? cell : pf_absent();
}

int afperf_tags(struct pf_store_window *window, uint64_t tags, struct pf_cell *cell, struct pf_error *error)
{
    *cell = pf_absent();
    if (!tags)
        return 0;
    size_t size = tags & ((1U << AFPERF_TAGS_BITS) - 1);
    const char *text = pf_store_at(window, tags >> AFPERF_TAGS_BITS, size, error);
    if (!text)
        return -1;
    *cell = pf_text(text, size);
    return 0;
}

/* ---- pauses ------------------------------------------------------------------------------------- */

/* Returns the ticks paused before `time`, by binary search. */
static uint64_t paused_before(const struct afperf_pause *pauses, size_t n, uint64_t time)
{
    size_t low = 0;
    while (low < n) {
        size_t middle = low + (n - low) / 2;
        if (pauses[middle].start < time)
            low = middle + 1;
        else
            n = middle;
    }
    if (!low)
        return 0;
    const struct afperf_pause *last = &pauses[low - 1];
    return last->before + (time < last->stop ? time : last->stop) - last->start;
}

uint64_t afperf_paused(const struct afperf_model *model, uint32_t run, uint64_t start, uint64_t stop)
{
    size_t n = model->runs[run].n_pauses;
    if (!n)
        return 0;
    const struct afperf_pause *pauses = model->pauses + model->runs[run].pauses;
    return paused_before(pauses, n, stop) - paused_before(pauses, n, start);
}
