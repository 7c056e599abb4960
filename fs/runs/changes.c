/* SPDX-License-Identifier: MIT */
#include "fs/runs/changes.h"

#include <stdlib.h>

#include "formats/kit/print.h"
#include "fs/sums/readable.h"
#include "fs/text/csv.h"

/* ---- keeping ------------------------------------------------------------------------------------ */

static bool is_larger(const struct pf_change *change, const struct pf_large_change *than)
{
    return fabs(pf_optional_double(&change->change)) > fabs(pf_optional_double(&than->change));
}

static char *escape_name(struct pf_cell name)
{
    struct pf_buf text = {0};
    if (name.size)
        pf_escape(&text, name.text, name.size);
    pf_buf_char(&text, '\0');
    if (!text.failed)
        return text.data;
    pf_buf_free(&text);
    return NULL;
}

/* Inserts the change into a sorted list, unless it is smaller than all items of a full list. A full list loses its last item. */
static int insert_change(struct pf_large_change *list, size_t *n, const struct pf_change *change,
                         struct pf_error *error)
{
    size_t at = *n;
    while (at && is_larger(change, &list[at - 1]))
        at--;
    if (at == PF_CHANGES_MOST)
        return 0;
    char *name = escape_name(change->name);
    if (!name)
        return pf_fail_memory(error);
    if (*n == PF_CHANGES_MOST)
        free(list[--*n].name);
    memmove(list + at + 1, list + at, (*n - at) * sizeof *list);
    list[at] = (struct pf_large_change){name,           change->first,   change->last,
                                        change->change, change->percent, change->since};
    ++*n;
    return 0;
}

int pf_changes_add(struct pf_changes *changes, const struct pf_change *change, struct pf_error *error)
{
    double x = pf_optional_double(&change->change);
    if (x > 0)
        return insert_change(changes->grew, &changes->n_grew, change, error);
    return x < 0 ? insert_change(changes->shrank, &changes->n_shrank, change, error) : 0;
}

void pf_changes_add_total(struct pf_changes *changes, unsigned run, const struct pf_aggregate *aggregate,
                          unsigned metric)
{
    pf_int128 wide;
    struct pf_cell cell = pf_aggregate_total(aggregate, metric, &wide);
    double total = cell.type == PF_ABSENT ? 0 : (double)pf_cell_number(&cell);
    total *= (double)pf_series_factor(&pf_aggregate_model(aggregate)->metrics[metric]);
    if (!run)
        changes->totals[0] = total;
    changes->totals[1] = total;
    changes->has_total |= cell.type != PF_ABSENT;
}

void pf_changes_free(struct pf_changes *changes)
{
    for (size_t i = 0; i < changes->n_grew; i++)
        free(changes->grew[i].name);
    for (size_t i = 0; i < changes->n_shrank; i++)
        free(changes->shrank[i].name);
    *changes = (struct pf_changes){0};
}

/* ---- printing ----------------------------------------------------------------------------------- */

enum { WIDTH = 14, PERCENT_WIDTH = 10 };

/* Appends text, right-aligned in a column of `width` bytes and after at least one blank. */
static void add_padded(struct pf_buf *out, const char *text, size_t width)
{
    pf_buf_char(out, ' ');
    for (size_t n = strlen(text) + 1; n < width; n++)
        pf_buf_char(out, ' ');
    pf_buf_str(out, text);
}

static void add_optional_number(struct pf_buf *out, const struct pf_optional_number *number, bool sign)
{
    char text[PF_NUMBER_MAX + 1] = "-", *at = text;
    if (number->present) {
        if (sign && pf_optional_double(number) > 0)
            *at++ = '+';
        *pf_print_rounded(at, &number->value, number->real) = '\0';
    }
    add_padded(out, text, WIDTH);
}

static void add_percent(struct pf_buf *out, const struct pf_large_change *it)
{
    struct pf_buf text = {0};
    if (it->percent.present)
        pf_buf_printf(&text, "%+.2f%%", pf_optional_double(&it->percent));
    else
        pf_buf_str(&text, "new");
    pf_buf_char(&text, '\0');
    if (!text.failed)
        add_padded(out, text.data, PERCENT_WIDTH);
    pf_buf_free(&text);
}

static void add_run_name(struct pf_buf *out, const char *run, size_t width)
{
    struct pf_buf text = {0};
    pf_escape(&text, run, strlen(run));
    pf_buf_char(&text, '\0');
    if (!text.failed)
        add_padded(out, text.data, width);
    pf_buf_free(&text);
}

static size_t since_width(const struct pf_large_change *list, size_t n, const char *const *runs)
{
    size_t width = strlen("since");
    for (size_t i = 0; i < n; i++)
        if (list[i].since >= 0 && strlen(runs[list[i].since]) > width)
            width = strlen(runs[list[i].since]);
    return width;
}

static void add_list(struct pf_buf *out, const char *what, const struct pf_large_change *list, size_t n,
                     const char *const *runs)
{
    size_t width = since_width(list, n, runs);
    pf_buf_str(out, n ? "" : "nothing ");
    pf_buf_str(out, what);
    pf_buf_char(out, '\n');
    if (!n)
        return;
    add_padded(out, "change", WIDTH);
    add_padded(out, "change%", PERCENT_WIDTH);
    add_padded(out, "first", WIDTH);
    add_padded(out, "last", WIDTH);
    pf_buf_char(out, ' ');
    add_padded(out, "since", width + 1);
    pf_buf_str(out, "  name\n");
    for (size_t i = 0; i < n; i++) {
        add_optional_number(out, &list[i].change, true);
        add_percent(out, &list[i]);
        add_optional_number(out, &list[i].first, false);
        add_optional_number(out, &list[i].last, false);
        pf_buf_char(out, ' ');
        add_run_name(out, list[i].since < 0 ? "-" : runs[list[i].since], width + 1);
        pf_buf_str(out, "  ");
        pf_buf_str(out, list[i].name);
        pf_buf_char(out, '\n');
    }
}

static void add_change_number(struct pf_buf *out, double value)
{
    char text[PF_NUMBER_MAX + 1];
    union pf_number number = {.d = {value, 0}};
    *pf_print_rounded(text, &number, true) = '\0';
    pf_buf_str(out, text);
}

static void add_totals_line(struct pf_buf *out, const double totals[2])
{
    double change = totals[1] - totals[0];
    pf_buf_str(out, "\ntotal: ");
    add_change_number(out, totals[0]);
    pf_buf_str(out, " to ");
    add_change_number(out, totals[1]);
    pf_buf_str(out, change > 0 ? ", +" : ", ");
    add_change_number(out, change);
    if (totals[0] != 0)
        pf_buf_printf(out, " (%+.2f%%)", 100 * change / fabs(totals[0]));
    pf_buf_char(out, '\n');
}

void pf_changes_print(const struct pf_changes *changes, const char *const *runs, struct pf_buf *out)
{
    add_list(out, "grew", changes->grew, changes->n_grew, runs);
    pf_buf_char(out, '\n');
    add_list(out, "shrank", changes->shrank, changes->n_shrank, runs);
    if (changes->has_total)
        add_totals_line(out, changes->totals);
}
