/* SPDX-License-Identifier: MIT */
#include "formats/pprof/labels.h"

#include <stdlib.h>

#include "formats/kit/hash.h"
#include "formats/kit/print.h"
#include "formats/kit/sorter.h"
#include "formats/kit/store.h"
#include "formats/kit/strings.h"

/* A row. */
struct sum {
    struct of {
        uint32_t thread, metric;
        struct pprof_label label;
    } of;
    bool used;
    pf_int128 sum;
};

/* The sums that are added to at the moment: most profiles have a few labels, and need no others. */
enum { AT_HAND = 4096 };

/* A sum on its way through the sorter; the last key tells equal ones apart. */
enum { THREAD_KEY, UNIT_TEXT, NUMBER, METRIC, RUN, SUM, WORDS = SUM + 2, KEYS = SUM };

struct pprof_labels {
    struct sum *at_hand;
    struct pf_sorter *sorter;
    uint64_t run;
    struct pf_store *rows; /* of struct sum */
};

struct pprof_labels *pprof_labels_new(uint64_t limit)
{
    struct pprof_labels *labels = calloc(1, sizeof *labels);
    if (!labels)
        return NULL;
    labels->at_hand = calloc(AT_HAND, sizeof *labels->at_hand);
    labels->sorter = pf_sorter_new(WORDS, KEYS, limit / 2);
    labels->rows = pf_store_new(limit / 2);
    if (labels->at_hand && labels->sorter && labels->rows)
        return labels;
    pprof_labels_free(labels);
    return NULL;
}

void pprof_labels_free(struct pprof_labels *labels)
{
    if (!labels)
        return;
    free(labels->at_hand);
    pf_sorter_free(labels->sorter);
    pf_store_free(labels->rows);
    free(labels);
}

static bool same(const struct of *a, const struct of *b)
{
    return a->thread == b->thread && a->metric == b->metric && a->label.key == b->label.key &&
           a->label.text == b->label.text && a->label.unit == b->label.unit &&
           a->label.number == b->label.number;
}

/* Hands a sum over to the sorter. */
static int put_away(struct pprof_labels *labels, struct sum *sum, struct pf_error *error)
{
    const struct pprof_label *label = &sum->of.label;
    uint64_t record[WORDS] = {[THREAD_KEY] = (uint64_t)sum->of.thread << 32 | label->key,
                              [UNIT_TEXT] = (uint64_t)label->unit << 32 | label->text,
                              [NUMBER] = pf_ordered(label->number),
                              [METRIC] = sum->of.metric,
                              [RUN] = labels->run++};
    memcpy(&record[SUM], &sum->sum, sizeof sum->sum);
    sum->used = false;
    return pf_sorter_add(labels->sorter, record, error);
}

int pprof_labels_add(struct pprof_labels *labels, const struct pprof_label *label, uint32_t thread,
                     uint32_t metric, int64_t value, struct pf_error *error)
{
    struct of of = {thread, metric, *label};
    uint64_t hash = ((uint64_t)label->key << 32 | label->text) ^ (uint64_t)label->number;
    hash = pf_hash(hash, &of, offsetof(struct of, label));
    struct sum *sum = &labels->at_hand[hash % AT_HAND];
    if (sum->used && !same(&sum->of, &of) && put_away(labels, sum, error))
        return -1;
    if (!sum->used)
        *sum = (struct sum){.of = of, .used = true};
    sum->sum += value;
    return 0;
}

int pprof_labels_finish(struct pprof_labels *labels, struct pf_error *error)
{
    struct sum sum = {.used = false};
    const uint64_t *record;
    int more = 1;
    for (size_t i = 0; i < AT_HAND; i++)
        if (labels->at_hand[i].used && put_away(labels, &labels->at_hand[i], error))
            return -1;
    if (pf_sorter_finish(labels->sorter, error))
        return -1;
    while (more > 0 && (more = pf_sorter_next(labels->sorter, &record, error)) >= 0) {
        struct sum next = {.used = more > 0};
        if (more) {
            next.of = (struct of){(uint32_t)(record[THREAD_KEY] >> 32),
                                  (uint32_t)record[METRIC],
                                  {(uint32_t)record[THREAD_KEY], (uint32_t)record[UNIT_TEXT],
                                   (uint32_t)(record[UNIT_TEXT] >> 32), pf_signed(record[NUMBER])}};
            memcpy(&next.sum, &record[SUM], sizeof next.sum);
        }
        if (more && sum.used && same(&sum.of, &next.of)) {
            sum.sum += next.sum;
            continue;
        }
        if (sum.used && sum.sum && pf_store_append(labels->rows, &sum, sizeof sum, error))
            return -1;
        sum = next;
    }
    free(labels->at_hand);
    pf_sorter_free(labels->sorter);
    labels->at_hand = NULL;
    labels->sorter = NULL;
    return more;
}

/* ---- the table ---------------------------------------------------------------------------------- */

enum { THREAD, OF_METRIC, TOTAL, UNIT, VALUE, LABEL };

const struct pf_column pprof_label_columns[PPROF_LABEL_COLUMNS] = {
    [THREAD] = {"thread", PF_PARTITION, 0}, [OF_METRIC] = {"metric", PF_METRIC, 0},
    [TOTAL] = {"sum", PF_PLAIN, 0},         [UNIT] = {"unit", PF_PLAIN, 0},
    [VALUE] = {"value", PF_PLAIN, 0},       [LABEL] = {"label", PF_PLAIN, 0},
};

/* What a row borrows. */
struct row {
    struct pf_store_window window;
    struct sum sum;
    char digits[PF_NUMBER_MAX];
};

struct pf_cell pprof_label_value(const struct pf_profile *profile, const struct pprof_label *label,
                                 char *digits)
{
    if (label->text != PF_NO_STRING)
        return pf_interned(profile->contexts->strings, label->text);
    return pf_plain(digits, (size_t)(pf_print_int(digits, label->number) - digits));
}

static const struct pf_store *rows_of(const struct pf_cursor *cursor)
{
    const char *state = cursor->profile->state;
    return (*(struct pprof_labels *const *)(const void *)(state + cursor->table->user))->rows;
}

static int begin(const struct pf_cursor *cursor, struct pf_numbers *numbers, struct pf_error *error)
{
    struct row *row = numbers->own = calloc(1, sizeof *row);
    if (!row)
        return pf_fail_memory(error);
    row->window.store = rows_of(cursor);
    numbers->end = pf_store_size(row->window.store) / sizeof row->sum;
    return 0;
}

static void free_row(void *own)
{
    struct row *row = own;
    if (row)
        pf_store_window_free(&row->window);
    free(row);
}

static int fill(const struct pf_cursor *cursor, void *own, uint64_t number, struct pf_cell *cells,
                struct pf_error *error)
{
    struct row *row = own;
    const struct of *of = &row->sum.of;
    const struct pf_strings *strings = cursor->profile->contexts->strings;
    const void *kept = pf_store_at(&row->window, number * sizeof row->sum, sizeof row->sum, error);
    if (!kept)
        return -1;
    memcpy(&row->sum, kept, sizeof row->sum);
    if (!pf_wanted(cursor->only.partition, of->thread) || !pf_wanted(cursor->only.metric, of->metric))
        return 0;
    pf_int128 sum = row->sum.sum;
    cells[THREAD] = pf_int(of->thread);
    cells[OF_METRIC] = pf_int(of->metric);
    cells[TOTAL] = sum == (int64_t)sum ? pf_int((int64_t)sum) : pf_wide(&row->sum.sum);
    cells[UNIT] = pf_interned(strings, of->label.unit);
    cells[VALUE] = pprof_label_value(cursor->profile, &of->label, row->digits);
    cells[LABEL] = pf_interned(strings, of->label.key);
    return 1;
}

const struct pf_numbered pprof_label_cursor = {PF_NUMBERED, .begin = begin, .row = fill, .free = free_row};
