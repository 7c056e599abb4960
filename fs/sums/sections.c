/* SPDX-License-Identifier: MIT */
#include "fs/sums/sections.h"

#include <math.h>
#include <stdlib.h>

#include "formats/kit/array.h"
#include "fs/sums/groups.h"
#include "fs/sums/readable.h"
#include "fs/text/csv.h"

enum { FUNCTIONS = 10, CALLED = 3, CALLERS = 2, PATH_ENDS = 8, BALANCES = 4 };

/* A row of the table of functions. */
struct hot {
    struct pf_function function;
    uint32_t line; /* the only line of the function's contexts; 0: none, or several */
    bool has_lines;
};

/* A context on the hot path. */
struct hot_step {
    uint32_t context;
    union pf_number inclusive;
};

/* Load balance over the partitions, or over groups of them. */
struct balance {
    const char *what;
    struct pf_cell most; /* name of the partition or group with the largest sum */
    union pf_number value;
    double mean;
    size_t n;
    struct pf_groups groups; /* owns the text that `most` may point to */
};

struct pf_sections {
    struct hot hot[FUNCTIONS];
    struct hot_step first[PATH_ENDS];
    struct hot_step last[PATH_ENDS]; /* ring buffer of the last steps: step i is last[i % PATH_ENDS] */
    struct balance balances[BALANCES];
    size_t n_hot, n_path, n_balances;
    struct pf_aggregate *aggregate;
    const struct pf_model *model;
    struct pf_order *functions, *edges; /* NULL: the metric does not add up */
    unsigned metric;
    bool path_real;
};

/* ---- code spans --------------------------------------------------------------------------------- */

static size_t longest_fence(const char *text, size_t size)
{
    size_t longest = 0, run = 0;
    for (size_t i = 0; i < size; i++) {
        run = text[i] == '`' ? run + 1 : 0;
        longest = run > longest ? run : longest;
    }
    return longest;
}

static bool is_blank_text(const char *text, size_t size)
{
    for (size_t i = 0; i < size; i++)
        if (text[i] != ' ')
            return false;
    return true;
}

void pf_add_code(struct pf_buf *out, const char *text, size_t size, bool in_table)
{
    static const char unnamed[] = "[unnamed]";
    if (!size) {
        text = unnamed;
        size = sizeof unnamed - 1;
    }
    size_t fence = longest_fence(text, size) + 1;
    bool blanks = text[0] == ' ' && text[size - 1] == ' ' && !is_blank_text(text, size);
    bool pad = text[0] == '`' || text[size - 1] == '`' || blanks;
    for (size_t i = 0; i < fence; i++)
        pf_buf_char(out, '`');
    if (pad)
        pf_buf_char(out, ' ');
    for (size_t i = 0; i < size; i++) {
        if (text[i] == '|' && in_table)
            pf_buf_char(out, '\\');
        pf_buf_char(out, text[i]);
    }
    if (pad)
        pf_buf_char(out, ' ');
    for (size_t i = 0; i < fence; i++)
        pf_buf_char(out, '`');
}

void pf_add_cut(struct pf_buf *out, const char *text, size_t most)
{
    size_t from = out->size;
    pf_escape(out, text, strlen(text));
    pf_cut_end(out, from, most);
}

void pf_add_code_cell(struct pf_buf *out, const struct pf_cell *cell, size_t most, bool in_table)
{
    struct pf_buf line = {0};
    if (cell->type == PF_TEXT)
        pf_add_name(&line, cell);
    else
        pf_csv_cell(&line, cell);
    size_t size = pf_cut_end(&line, 0, most);
    pf_add_code(out, line.data, size, in_table);
    out->failed |= line.failed;
    pf_buf_free(&line);
}

/* ---- collecting --------------------------------------------------------------------------------- */

static bool is_positive(const union pf_number *number, bool real)
{
    return pf_number_double(number, real) > 0;
}

/* Records the line of a context in the hot function that has the context's kind, name and file. */
static void note_line(struct pf_sections *sections, uint32_t context)
{
    const struct pf_tree *tree = sections->model->contexts;
    for (size_t i = 0; i < sections->n_hot; i++) {
        struct hot *hot = &sections->hot[i];
        uint32_t file = tree->file ? pf_string_or_none(tree->strings, tree->file[context]) : PF_NO_STRING;
        if (hot->function.name != tree->name[context] || hot->function.kind != tree->kind[context] ||
            hot->function.file != file)
            continue;
        hot->line = !hot->has_lines || hot->line == tree->line[context] ? tree->line[context] : 0;
        hot->has_lines = true;
    }
}

static void find_hot(struct pf_sections *sections, const struct pf_values *values)
{
    const struct pf_order *functions = sections->functions;
    const struct pf_tree *tree = sections->model->contexts;
    while (sections->n_hot < FUNCTIONS && sections->n_hot < functions->n_functions &&
           is_positive(&functions->functions[sections->n_hot].exclusive, functions->exclusive_real)) {
        sections->hot[sections->n_hot].function = functions->functions[sections->n_hot];
        sections->n_hot++;
    }
    for (uint32_t i = 0; i < values->n && tree->line; i++)
        if (values->present[i] && tree->line[i])
            note_line(sections, i);
}

/* Returns the sibling with the largest inclusive value, or PF_NO_CONTEXT if no sibling has a positive value. */
static uint32_t heaviest_of(const struct pf_values *values, const uint32_t *siblings, uint32_t n)
{
    uint32_t heaviest = PF_NO_CONTEXT;
    for (uint32_t i = 0; i < n; i++) {
        uint32_t context = siblings[i];
        if (!values->present[context] || !is_positive(&values->inclusive[context], values->inclusive_real))
            continue;
        if (heaviest == PF_NO_CONTEXT ||
            pf_number_compare(&values->inclusive[context], &values->inclusive[heaviest],
                              values->inclusive_real) > 0)
            heaviest = context;
    }
    return heaviest;
}

/* True if a context has at least half of its caller's inclusive value. */
static bool holds_half(const struct pf_values *values, uint32_t context, uint32_t caller)
{
    bool real = values->inclusive_real;
    union pf_number rest = values->inclusive[caller];
    if (real)
        return pf_number_double(&values->inclusive[context], true) * 2 >= pf_number_double(&rest, true);
    pf_number_subtract(&rest, &values->inclusive[context], false);
    return pf_number_compare(&values->inclusive[context], &rest, false) >= 0;
}

static void find_hot_path(struct pf_sections *sections, const struct pf_values *values)
{
    const struct pf_tree *tree = values->tree;
    uint32_t context = values->n ? heaviest_of(values, tree->root, tree->roots) : PF_NO_CONTEXT;
    sections->path_real = values->inclusive_real;
    while (context != PF_NO_CONTEXT && !values->unknown) {
        struct hot_step step = {context, values->inclusive[context]};
        if (sections->n_path < PATH_ENDS)
            sections->first[sections->n_path] = step;
        sections->last[sections->n_path++ % PATH_ENDS] = step;
        uint32_t first = tree->first[context];
        uint32_t next = heaviest_of(values, tree->child + first, tree->first[context + 1] - first);
        context = next != PF_NO_CONTEXT && holds_half(values, next, context) ? next : PF_NO_CONTEXT;
    }
}

/* ---- balance ------------------------------------------------------------------------------------ */

/* The maximum and the sum of a series of sums. */
struct spread {
    union pf_number most, total;
    size_t at, n; /* index of the largest sum; number of sums */
};

static void add_to_spread(struct spread *spread, const union pf_number *sum, bool real, size_t at)
{
    if (!spread->n || pf_number_compare(sum, &spread->most, real) > 0) {
        spread->most = *sum;
        spread->at = at;
    }
    pf_number_add(&spread->total, sum, real);
    spread->n++;
}

static struct balance *add_balance(struct pf_sections *sections, const char *what,
                                   const struct spread *spread)
{
    bool real = sections->aggregate->metrics[sections->metric].real;
    struct balance *balance = &sections->balances[sections->n_balances++];
    *balance = (struct balance){.what = what, .value = spread->most, .n = spread->n};
    balance->mean = pf_number_double(&spread->total, real) / (double)spread->n;
    return balance;
}

/* Adds the balance over the groups of a column, if at least two groups have values and one of these has two partitions or
 * more. Returns 0, or -1 with *error filled. */
static int balance_groups(struct pf_sections *sections, size_t column, struct pf_error *error)
{
    struct pf_groups groups;
    struct spread spread = {0};
    bool shared = false;
    if (pf_groups_find(&groups, sections->aggregate, sections->metric, column, error))
        return -1;
    for (size_t g = 0; g < groups.n; g++) {
        if (!groups.all[g].with_values || !pf_interned(groups.values, (uint32_t)g).size)
            continue;
        shared |= groups.all[g].partitions >= 2;
        add_to_spread(&spread, &groups.all[g].sum, sections->aggregate->metrics[sections->metric].real, g);
    }
    if (!shared || spread.n < 2) {
        pf_groups_free(&groups);
        return 0;
    }
    struct balance *balance =
        add_balance(sections, sections->model->partitions.field_columns[column].name, &spread);
    balance->groups = groups;
    balance->most = pf_interned(groups.values, (uint32_t)spread.at);
    return 0;
}

static int find_balances(struct pf_sections *sections, struct pf_error *error)
{
    const struct pf_partitions *partitions = &sections->model->partitions;
    const struct pf_metric_sums *sums = &sections->aggregate->metrics[sections->metric];
    struct spread spread = {0};
    if (strcmp(partitions->plural, "threads") != 0 ||
        sections->model->metrics[sections->metric].over_partitions != PF_SUM)
        return 0;
    for (size_t p = 0; p < sections->aggregate->n_partitions; p++) {
        const struct pf_partition_sum *sum = pf_sparse_find(&sums->partitions, sizeof *sum, p);
        if (sum && sum->contexts)
            add_to_spread(&spread, &sum->sum, sums->real, p);
    }
    double total = pf_number_double(&spread.total, sums->real);
    if (spread.n < 2 || !isfinite(total) || total <= 0)
        return 0;
    add_balance(sections, "threads", &spread)->most = pf_rows_at(partitions->items, spread.at)[1];
    for (size_t c = 0; partitions->fields && c < partitions->n_fields && sections->n_balances < BALANCES; c++)
        if (partitions->field_columns[c].role == PF_GROUP && balance_groups(sections, c, error))
            return -1;
    return 0;
}

/* ---- life --------------------------------------------------------------------------------------- */

static int gather(struct pf_sections *sections, struct pf_error *error)
{
    struct pf_values values;
    if (!pf_adds_up(&sections->model->metrics[sections->metric]))
        return 0;
    sections->functions = pf_order_get(sections->aggregate, sections->metric, PF_BY_FUNCTION, error);
    sections->edges =
        sections->functions ? pf_order_get(sections->aggregate, sections->metric, PF_BY_EDGE, error) : NULL;
    if (!sections->edges || pf_values_new(&values, sections->aggregate, sections->metric, false, error))
        return -1;
    pf_values_fill(&values);
    find_hot(sections, &values);
    find_hot_path(sections, &values);
    pf_values_free(&values);
    return find_balances(sections, error);
}

struct pf_sections *pf_sections_new(struct pf_aggregate *aggregate, unsigned metric, struct pf_error *error)
{
    struct pf_sections *sections = calloc(1, sizeof *sections);
    if (!sections) {
        pf_fail_memory(error);
        return NULL;
    }
    sections->aggregate = aggregate;
    sections->model = aggregate->model;
    sections->metric = metric;
    if (!gather(sections, error))
        return sections;
    pf_sections_free(sections);
    return NULL;
}

void pf_sections_free(struct pf_sections *sections)
{
    if (!sections)
        return;
    if (sections->functions)
        pf_order_release(sections->aggregate, sections->functions);
    if (sections->edges)
        pf_order_release(sections->aggregate, sections->edges);
    for (size_t i = 0; i < sections->n_balances; i++)
        pf_groups_free(&sections->balances[i].groups);
    free(sections);
}

/* ---- text --------------------------------------------------------------------------------------- */

static const char *section_unit(const struct pf_sections *sections)
{
    return sections->model->metrics[sections->metric].unit;
}

/* Appends a value of the metric, followed by the value in a readable unit. */
static void add_section_value(const struct pf_sections *sections, const union pf_number *number, bool real,
                              struct pf_buf *out)
{
    pf_add_number(out, number, real, 0);
    pf_add_readable(out, pf_number_double(number, real), section_unit(sections));
}

void pf_sections_add_total(const struct pf_sections *sections, struct pf_buf *out)
{
    const struct pf_metric_sums *sums = &sections->aggregate->metrics[sections->metric];
    struct pf_buf missing = {0};
    if (pf_add_sums_missing(&missing, sections->model, sections->metric)) {
        pf_buf_char(out, '\n');
        pf_buf_add(out, missing.data, missing.size);
    } else {
        pf_buf_str(out, "- Total: ");
        pf_add_with_unit(out, &sections->model->metrics[sections->metric], &sums->total, sums->real);
        pf_add_readable(out, pf_number_double(&sums->total, sums->real), section_unit(sections));
        pf_buf_char(out, '\n');
    }
    out->failed |= missing.failed;
    pf_buf_free(&missing);
}

static void add_where(const struct pf_sections *sections, const struct hot *hot, size_t most,
                      struct pf_buf *out)
{
    struct pf_cell file = pf_interned(sections->model->contexts->strings, hot->function.file);
    struct pf_buf where = {0};
    if (!file.size)
        return;
    pf_add_name(&where, &file);
    if (hot->line)
        pf_buf_printf(&where, ":%u", hot->line);
    size_t from = pf_cut_front(&where, most);
    pf_add_code(out, where.data + from, where.failed ? 0 : where.size - from, true);
    pf_buf_char(out, ' ');
    out->failed |= where.failed;
    pf_buf_free(&where);
}

static void add_hottest_functions(const struct pf_sections *sections, const struct pf_section_limits *limits,
                                  struct pf_buf *out)
{
    const struct pf_order *functions = sections->functions;
    pf_buf_str(out, "\n## Hottest functions\n\n| exclusive | inclusive | value | function | where "
                    "|\n|---:|---:|---:|---|---|\n");
    for (size_t i = 0; i < sections->n_hot; i++) {
        const struct pf_function *it = &sections->hot[i].function;
        struct pf_cell name = pf_interned(sections->model->contexts->strings, it->name);
        pf_buf_str(out, "| ");
        pf_add_percent(out, pf_number_double(&it->exclusive, functions->exclusive_real),
                       functions->totals.exclusive, 0);
        pf_buf_str(out, " | ");
        if (it->unknown)
            pf_buf_char(out, '-');
        else
            pf_add_percent(out, pf_number_double(&it->inclusive, functions->inclusive_real),
                           functions->totals.inclusive, 0);
        pf_buf_str(out, " | ");
        add_section_value(sections, &it->exclusive, functions->exclusive_real, out);
        pf_buf_str(out, " | ");
        pf_add_code_cell(out, &name, limits->name, true);
        pf_buf_str(out, " | ");
        add_where(sections, &sections->hot[i], limits->where, out);
        pf_buf_str(out, "|\n");
    }
}

static void add_hot_step(const struct pf_sections *sections, const struct hot_step *step,
                         const struct pf_section_limits *limits, struct pf_buf *out)
{
    const struct pf_tree *tree = sections->model->contexts;
    struct pf_cell name = pf_interned(tree->strings, tree->name[step->context]);
    pf_buf_str(out, "- ");
    pf_add_percent(out, pf_number_double(&step->inclusive, sections->path_real),
                   sections->functions->totals.inclusive, 0);
    pf_buf_char(out, ' ');
    pf_add_code_cell(out, &name, limits->name, false);
    pf_buf_char(out, '\n');
}

static void add_hot_path(const struct pf_sections *sections, const struct pf_section_limits *limits,
                         struct pf_buf *out)
{
    size_t n = sections->n_path, first = n < PATH_ENDS ? n : PATH_ENDS,
           last = n - first < PATH_ENDS ? n - first : PATH_ENDS;
    pf_buf_str(out, "\n## Hot path\n\n");
    for (size_t i = 0; i < first; i++)
        add_hot_step(sections, &sections->first[i], limits, out);
    if (n > first + last)
        pf_buf_printf(out, "- ... (%zu more) ...\n", n - first - last);
    for (size_t i = n - last; i < n; i++)
        add_hot_step(sections, &sections->last[i % PATH_ENDS], limits, out);
}

static bool is_same(const struct pf_cell *a, const struct pf_cell *b)
{
    return a->size == b->size && (!a->size || !memcmp(a->text, b->text, a->size));
}

/* Appends the main callers of the functions with this name. Edges are sorted by inclusive value, so the first ones are the main
 * ones. */
static void add_callers_of(const struct pf_sections *sections, const struct pf_cell *name,
                           const struct pf_section_limits *limits, struct pf_buf *out)
{
    const struct pf_order *edges = sections->edges;
    const struct pf_strings *strings = edges->strings ? edges->strings : sections->model->contexts->strings;
    size_t shown = 0;
    pf_buf_str(out, "- ");
    pf_add_code_cell(out, name, limits->name, false);
    pf_buf_str(out, ": ");
    for (size_t i = 0; i < edges->n_functions && shown < CALLERS; i++) {
        const struct pf_function *it = &edges->functions[i];
        struct pf_cell callee = pf_interned(strings, it->name), caller = pf_interned(strings, it->file);
        if (!is_same(&callee, name))
            continue;
        pf_buf_str(out, shown++ ? ", " : "");
        pf_add_code_cell(out, &caller, limits->name, false);
        pf_buf_char(out, ' ');
        pf_add_percent(out, pf_number_double(&it->inclusive, edges->inclusive_real),
                       sections->functions->totals.inclusive, 0);
    }
    pf_buf_str(out, shown ? "\n" : "no callers\n");
}

static void add_all_callers(const struct pf_sections *sections, const struct pf_section_limits *limits,
                            struct pf_buf *out)
{
    struct pf_cell names[CALLED];
    size_t n = sections->n_hot < CALLED ? sections->n_hot : CALLED;
    pf_buf_str(out, "\n## Callers\n\n");
    for (size_t i = 0; i < n; i++) {
        bool again = false;
        names[i] = pf_interned(sections->model->contexts->strings, sections->hot[i].function.name);
        for (size_t before = 0; before < i; before++)
            again |= is_same(&names[before], &names[i]);
        if (!again)
            add_callers_of(sections, &names[i], limits, out);
    }
}

static void add_balances(const struct pf_sections *sections, const struct pf_section_limits *limits,
                         struct pf_buf *out)
{
    bool real = sections->aggregate->metrics[sections->metric].real;
    pf_buf_str(out, "\n## Balance\n\n");
    for (size_t i = 0; i < sections->n_balances; i++) {
        const struct balance *balance = &sections->balances[i];
        union pf_number mean = {.d = {balance->mean, 0}};
        pf_buf_printf(out, "- %s: ", balance->what);
        pf_add_code_cell(out, &balance->most, limits->text, false);
        pf_buf_str(out, " has ");
        add_section_value(sections, &balance->value, real, out);
        pf_buf_printf(out, ", %.2f times the mean of %zu (",
                      pf_number_double(&balance->value, real) / balance->mean, balance->n);
        add_section_value(sections, &mean, true, out);
        pf_buf_str(out, ")\n");
    }
}

void pf_sections_add(const struct pf_sections *sections, const struct pf_section_limits *limits,
                     struct pf_buf *out)
{
    if (sections->n_hot)
        add_hottest_functions(sections, limits, out);
    if (sections->n_path)
        add_hot_path(sections, limits, out);
    if (sections->n_hot)
        add_all_callers(sections, limits, out);
    if (sections->n_balances)
        add_balances(sections, limits, out);
}
