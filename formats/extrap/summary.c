/* SPDX-License-Identifier: MIT */
#include "formats/extrap/summary.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "formats/kit/array.h"

void pf_summary_reset(struct pf_summary *summary)
{
    *summary = (struct pf_summary){.held = summary->held, .room = summary->room};
}

void pf_summary_free(struct pf_summary *summary)
{
    free(summary->held);
}

static int hold(struct pf_summary *summary, double value, struct pf_error *error)
{
    if (summary->count >= PF_SUMMARY_HELD)
        return 0;
    if (pf_array_room(&summary->held, &summary->room, summary->count, sizeof *summary->held, error))
        return -1;
    summary->held[summary->count] = value;
    return 0;
}

/* Neumaier's sum: what an addition rounds off is added up apart. */
static void add_to_sum(struct pf_summary *summary, double value)
{
    double sum = summary->sum + value;
    summary->correction +=
        fabs(summary->sum) >= fabs(value) ? (summary->sum - sum) + value : (value - sum) + summary->sum;
    summary->sum = sum;
}

/* Welford's sum of squares: one pass, and no difference of large squares. */
static void add_to_squares(struct pf_summary *summary, double value)
{
    double before = value - summary->running;
    summary->running += before / (double)(summary->count + 1);
    summary->squares += before * (value - summary->running);
}

int pf_summary_add(struct pf_summary *summary, double value, struct pf_error *error)
{
    if (hold(summary, value, error) < 0)
        return -1;
    add_to_sum(summary, value);
    add_to_squares(summary, value);
    if (!summary->count || value < summary->min)
        summary->min = value;
    if (!summary->count || value > summary->max)
        summary->max = value;
    summary->nan |= isnan(value);
    summary->count++;
    return 0;
}

static int by_value(const void *a, const void *b)
{
    double x, y;
    memcpy(&x, a, sizeof x);
    memcpy(&y, b, sizeof y);
    return (x > y) - (x < y);
}

/* A handful of repetitions is the rule. */
static void sort(double *values, size_t count)
{
    if (count > 32) {
        qsort(values, count, sizeof *values, by_value);
        return;
    }
    for (size_t i = 1; i < count; i++) {
        double value = values[i];
        size_t at = i;
        for (; at && values[at - 1] > value; at--)
            values[at] = values[at - 1];
        values[at] = value;
    }
}

struct pf_statistics pf_summary_get(struct pf_summary *summary)
{
    uint64_t n = summary->count;
    struct pf_statistics statistics = {.count = n, .has_median = n <= PF_SUMMARY_HELD};
    if (summary->nan) {
        statistics.mean = statistics.median = statistics.min = statistics.max = statistics.std = NAN;
        return statistics;
    }
    double sum = isfinite(summary->sum) ? summary->sum + summary->correction : summary->sum;
    statistics.mean = sum / (double)n;
    statistics.std = sqrt(summary->squares / (double)n);
    statistics.min = summary->min;
    statistics.max = summary->max;
    if (statistics.has_median) {
        sort(summary->held, (size_t)n);
        double upper = summary->held[n / 2];
        statistics.median = n % 2 ? upper : (summary->held[n / 2 - 1] + upper) / 2;
    }
    return statistics;
}
