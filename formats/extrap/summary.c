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

/* Adds a value to the sum of squared differences by Welford's algorithm, which does not subtract large squares. */
static void add_to_squares(struct pf_summary *summary, double value)
{
    double before = value - summary->running;
    summary->running += before / (double)(summary->count + 1);
    summary->squares += before * (value - summary->running);
}

int pf_summary_add(struct pf_summary *summary, double value, struct pf_error *error)
{
    if (summary->count < PF_SUMMARY_HELD) {
        if (pf_array_room(&summary->held, &summary->room, summary->count, sizeof *summary->held, error))
            return -1;
        summary->held[summary->count] = value;
    }
    pf_total_add_real(&summary->total, value);
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

/* Adds the compensation for rounding errors, unless the sum is infinite or NaN. */
double pf_summary_sum(const struct pf_summary *summary)
{
    return isfinite(summary->total.real) ? summary->total.real + summary->total.rest : summary->total.real;
}

struct pf_statistics pf_summary_get(struct pf_summary *summary)
{
    uint64_t n = summary->count;
    struct pf_statistics statistics = {.count = n, .has_median = n <= PF_SUMMARY_HELD};
    if (summary->nan) {
        statistics.mean = statistics.median = statistics.min = statistics.max = statistics.std = NAN;
        return statistics;
    }
    statistics.mean = pf_summary_sum(summary) / (double)n;
    statistics.std = sqrt(summary->squares / (double)n);
    statistics.min = summary->min;
    statistics.max = summary->max;
    if (statistics.has_median) {
        qsort(summary->held, (size_t)n, sizeof *summary->held, by_value);
        double upper = summary->held[n / 2];
        statistics.median = n % 2 ? upper : (summary->held[n / 2 - 1] + upper) / 2;
    }
    return statistics;
}
