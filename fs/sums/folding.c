/* SPDX-License-Identifier: MIT */
#include "formats/kit/print.h"
#include "fs/sums/aggregate_private.h"
#include "fs/sums/units.h"

/* Values as the integers of folded stacks. */

struct pf_folding pf_folding(const struct pf_model *model, unsigned m)
{
    const struct pf_metric *metric = &model->metrics[m];
    int exclusive = pf_partners_of(model, m).exclusive;
    bool real = !strcmp(model->metrics[exclusive < 0 ? (int)m : exclusive].type, "double");
    int64_t ns = pf_unit_ns(metric->unit);
    bool large =
        metric->most * (double)(ns ? ns : 1) >= 0x1p62; /* leaves room below 2^63 for rounding errors in sums */
    if (!pf_adds_up(metric))
        return (struct pf_folding){.factor = 1, .part = "", .unit = ""};
    if (ns)
        return (struct pf_folding){ns, "", "ns", real, real || large};
    return (struct pf_folding){real ? 1000000 : 1, real ? "1e-6" : "", metric->unit, real, real || large};
}

/* Converts a positive value to an integer: returns true with *folded, or false with the rounded *large if it does not
 * fit. */
static bool fold(const struct pf_folding *folding, const union pf_number *number, bool real,
                 pf_int128 *folded, double *large)
{
    if (!real && !__builtin_mul_overflow(number->i, folding->factor, folded))
        return true;
    *large = floor(pf_number_double(number, real) * (double)folding->factor + 0.5);
    if (fabs(*large) < 0x1p63)
        *folded = (int64_t)*large;
    else if (fabs(*large) < 0x1p100)
        *folded = (pf_int128)*large;
    else
        return false;
    return true;
}

bool pf_is_folded(const struct pf_folding *folding, const union pf_number *number, bool real)
{
    pf_int128 folded;
    double large;
    return fold(folding, number, real, &folded, &large) ? folded > 0 : large > 0 && isfinite(large);
}

uint32_t pf_folded_value(const struct pf_folding *folding, const union pf_number *number, bool real)
{
    pf_int128 folded;
    double large;
    return fold(folding, number, real, &folded, &large) && folded <= UINT32_MAX ? (uint32_t)folded : 0;
}

void pf_add_folded(const struct pf_folding *folding, const union pf_number *number, bool real, struct pf_buf *out)
{
    pf_int128 folded;
    double large;
    char *at = pf_buf_reserve(out, 400); /* upper bound of pf_print_double_plain's output */
    if (!at)
        return;
    char *end = fold(folding, number, real, &folded, &large) ? pf_print_wide(at, folded)
                                                             : pf_print_double_plain(at, large);
    out->size += (size_t)(end - at);
}
