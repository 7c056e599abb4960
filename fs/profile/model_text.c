/* SPDX-License-Identifier: MIT */
#include "fs/profile/views.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "formats/driver_extra.h"
#include "fs/profile/names.h"
#include "fs/sums/export.h"
#include "fs/sums/order.h"
#include "fs/text/csv.h"

/* Appends the value of a "Key: value" line: escaped as in CSV, but never quoted. */
static void add_value(struct pf_buf *out, struct pf_cell value)
{
    if (value.type == PF_TEXT)
        pf_escape(out, value.text, value.size);
    else
        pf_csv_cell(out, &value);
}

static void add_line(struct pf_buf *out, const char *key, struct pf_cell value)
{
    if (value.type == PF_ABSENT || (value.type == PF_TEXT && value.size == 0))
        return;
    pf_buf_str(out, key);
    pf_buf_str(out, ": ");
    add_value(out, value);
    pf_buf_char(out, '\n');
}

/* The primary metric, or -1 if there are no metrics. The metrics must be loaded. */
static int primary_of(const struct pf_model *model)
{
    return pf_primary_metric(model->metrics, model->n_metrics, model->options->metric);
}

struct pf_walk *pf_link_walk(struct pf_profile *profile, struct pf_node node, struct pf_error *error)
{
    const struct pf_model *model = pf_profile_model(profile);
    struct pf_buf out = {0};
    char name[PF_NAME_MAX + 1] = "";
    const char *hidden = pf_hidden_target(node.kind);
    if (hidden) {
        pf_buf_str(&out, hidden);
    } else if (node.kind == PF_PRIMARY_LINK) {
        pf_dirname(pf_profile_names(profile, PF_NAMED_METRICS), (uint32_t)primary_of(model), name);
        pf_buf_str(&out, "../metrics/");
        pf_buf_str(&out, name);
    } else {
        /* The stored target is relative to the folder that contains the profile; the link is one level deeper. */
        pf_buf_str(&out, "../");
        pf_buf_str(&out, pf_extra_of(model)->links[node.item].target);
    }
    return pf_walk_of_text(&out, error);
}

static void add_metrics(struct pf_profile *profile, struct pf_buf *out)
{
    const struct pf_model *model = pf_profile_model(profile);
    char name[PF_NAME_MAX + 1];
    int primary = model->metrics_late ? -1 : primary_of(model);
    if (primary < 0)
        return;
    pf_buf_str(out, "Metrics: ");
    for (size_t m = 0; m < model->n_metrics; m++) {
        if (m)
            pf_buf_str(out, ", ");
        add_value(out, pf_string(model->metrics[m].name));
    }
    pf_buf_char(out, '\n');
    pf_dirname(pf_profile_names(profile, PF_NAMED_METRICS), (uint32_t)primary, name);
    add_line(out, "Primary", pf_string(name));
}

/* Lists the columns of the partitions table for which groups.csv has rows. */
static void add_groups(const struct pf_partitions *partitions, struct pf_buf *out)
{
    const char *before = "Groups: ";
    for (size_t c = 0; c < partitions->n_fields; c++) {
        if (partitions->field_columns[c].role != PF_GROUP)
            continue;
        pf_buf_str(out, before);
        pf_buf_str(out, partitions->field_columns[c].name);
        before = ", ";
    }
    if (*before == ',')
        pf_buf_char(out, '\n');
}

static bool has_own_title(const struct pf_model *model)
{
    for (size_t i = 0; i < pf_rows_count(model->info); i++) {
        const struct pf_cell *key = pf_rows_at(model->info, i);
        if (key->size == strlen("Title") && !memcmp(key->text, "Title", key->size))
            return true;
    }
    return false;
}

struct pf_walk *pf_info_walk(struct pf_profile *profile, struct pf_node node, struct pf_error *error)
{
    (void)node;
    const struct pf_model *model = pf_profile_model(profile);
    struct pf_buf out = {0};
    add_line(&out, "Format", pf_string(model->driver->name));
    add_line(&out, "Version", pf_string(model->version));
    if (!has_own_title(model))
        add_line(&out, "Title", pf_string(model->driver->title));
    for (size_t i = 0; i < pf_rows_count(model->info); i++) {
        const struct pf_cell *row = pf_rows_at(model->info, i);
        add_value(&out, row[0]);
        pf_buf_str(&out, ": ");
        add_value(&out, row[1]);
        pf_buf_char(&out, '\n');
    }
    add_line(&out, "Partition", pf_string(model->partitions.singular));
    add_groups(&model->partitions, &out);
    add_line(&out, "Time unit", pf_string(model->time_unit));
    add_metrics(profile, &out);
    return pf_walk_of_text(&out, error);
}

struct pf_walk *pf_partition_info_walk(struct pf_profile *profile, struct pf_node node,
                                       struct pf_error *error)
{
    const uint32_t partition = node.item;
    const struct pf_partitions *partitions = &pf_profile_model(profile)->partitions;
    const struct pf_cell *item = pf_rows_at(partitions->items, partition);
    struct pf_buf out = {0};
    add_line(&out, "Name", item[1]);
    add_line(&out, "Id", item[0]);
    for (size_t f = 0; f < partitions->n_fields; f++)
        add_line(&out, partitions->field_columns[f].name, pf_rows_at(partitions->fields, partition)[f]);
    return pf_walk_of_text(&out, error);
}

enum { OWN_COLUMNS_MAX = 16 };

/* Copies the format-specific columns of a context into cells; returns their number. */
static size_t own_cells(const struct pf_model *model, uint32_t context, struct pf_cell cells[OWN_COLUMNS_MAX])
{
    size_t n = model->n_context_columns;
    if (n > OWN_COLUMNS_MAX)
        n = OWN_COLUMNS_MAX;
    if (n)
        model->context_cells(model, context, cells);
    return n;
}

struct pf_walk *pf_context_info_walk(struct pf_profile *profile, struct pf_node node, struct pf_error *error)
{
    const uint32_t context = node.item;
    const struct pf_model *model = pf_profile_model(profile);
    const struct pf_tree *tree = model->contexts;
    struct pf_buf out = {0};
    struct pf_cell own[OWN_COLUMNS_MAX];
    uint32_t parent = tree->parent[context];
    add_line(&out, "Name", pf_interned(tree->strings, tree->name[context]));
    add_line(&out, "Id", pf_uint(pf_tree_id(tree, context)));
    add_line(&out, "Kind", pf_string(tree->kinds[tree->kind[context]]));
    add_line(&out, "Depth", pf_uint(tree->depth[context]));
    if (parent != PF_NO_CONTEXT)
        add_line(&out, "Parent", pf_interned(tree->strings, tree->name[parent]));
    if (tree->file)
        add_line(&out, "File", pf_interned(tree->strings, tree->file[context]));
    if (tree->line && tree->line[context])
        add_line(&out, "Line", pf_uint(tree->line[context]));
    if (tree->module)
        add_line(&out, "Module", pf_interned(tree->strings, tree->module[context]));
    for (size_t c = 0, n = own_cells(model, context, own); c < n; c++)
        add_line(&out, model->context_columns[c].name, own[c]);
    return pf_walk_of_text(&out, error);
}

static const char *const over_contexts[] = {"all", "frames", "roots", "none"};

/*
 * The value of the column over_partitions. If the aggregates of the metric are the values of one partition, it is "at ID",
 * printed into `text`.
 */
enum { OVER_PARTITIONS_MAX = 64 };
static struct pf_cell over_partitions(const struct pf_model *model, const struct pf_metric *metric,
                                      char text[OVER_PARTITIONS_MAX])
{
    static const char *const words[] = {"sum", "min", "max", "none"};
    if (metric->over_partitions != PF_AT)
        return pf_string(words[metric->over_partitions]);
    struct pf_buf id = {0};
    pf_csv_cell(&id, &pf_rows_at(model->partitions.items, metric->at)[0]);
    snprintf(text, OVER_PARTITIONS_MAX, "at %.*s", (int)id.size, id.data);
    pf_buf_free(&id);
    return pf_string(text);
}

/* Copies the format-specific columns of a metric into cells; returns their number. */
static size_t own_metric_cells(const struct pf_model *model, uint32_t metric,
                               struct pf_cell cells[OWN_COLUMNS_MAX])
{
    size_t n = model->n_metric_columns;
    if (n > OWN_COLUMNS_MAX)
        n = OWN_COLUMNS_MAX;
    if (n)
        model->metric_cells(model, metric, cells);
    return n;
}

/* Adds the unit of stacks.folded, the number of stacks that it omits, and the number of values that export/profile.pb clamps. */
static int add_folded_info(struct pf_profile *profile, uint32_t m, struct pf_buf *out, struct pf_error *error)
{
    const struct pf_model *model = pf_profile_model(profile);
    const struct pf_folded_unit unit = pf_folded_unit_of(model, m);
    uint64_t left_out = 0;
    if (*unit.prefix || *unit.name) {
        pf_buf_str(out, "Folded: ");
        pf_buf_str(out, unit.prefix);
        if (*unit.prefix && *unit.name)
            pf_buf_char(out, ' ');
        add_value(out, pf_string(unit.name));
        pf_buf_char(out, '\n');
    }
    if (unit.may_drop && pf_folded_left_out(pf_profile_aggregate_now(profile, (int)m), m, &left_out, error))
        return -1;
    if (left_out)
        add_line(out, "Folded left out", pf_uint(left_out));
    uint64_t saturated =
        unit.may_saturate ? pf_pprof_saturated(pf_profile_aggregate_now(profile, (int)m), m) : 0;
    if (saturated)
        add_line(out, "Saturated", pf_uint(saturated));
    return 0;
}

struct pf_walk *pf_metric_info_walk(struct pf_profile *profile, struct pf_node node, struct pf_error *error)
{
    const uint32_t m = node.item;
    const struct pf_model *model = pf_profile_model(profile);
    const struct pf_metric *metric = &model->metrics[m];
    struct pf_buf out = {0};
    char over[OVER_PARTITIONS_MAX];
    add_line(&out, "Name", pf_string(metric->name));
    add_line(&out, "Id", pf_int(metric->id));
    add_line(&out, "Unit", pf_string(metric->unit));
    add_line(&out, "Scope", pf_string(metric->scope));
    add_line(&out, "Type", pf_string(metric->type));
    add_line(&out, "Over contexts", pf_string(over_contexts[metric->over_contexts]));
    add_line(&out, "Over partitions", over_partitions(model, metric, over));
    if (metric->partner >= 0)
        add_line(&out, "Partner", pf_string(model->metrics[metric->partner].name));
    add_line(&out, "Description", pf_string(metric->description));
    add_line(&out, "Expression", pf_string(metric->expression));
    if (primary_of(model) == (int)m)
        add_line(&out, "Primary", pf_string("yes"));
    if (add_folded_info(profile, m, &out, error)) {
        pf_buf_free(&out);
        return NULL;
    }
    struct pf_cell own[OWN_COLUMNS_MAX];
    for (size_t c = 0, n = own_metric_cells(model, m, own); c < n; c++)
        add_line(&out, model->metric_columns[c].name, own[c]);
    return pf_walk_of_text(&out, error);
}

/* info.txt of a key: its name and its row in the table with index keys->about. */
struct pf_walk *pf_key_info_walk(struct pf_profile *profile, struct pf_node node, struct pf_error *error)
{
    const uint32_t item = node.item;
    const struct pf_model *model = pf_profile_model(profile);
    const struct pf_keys *keys = &pf_extra_of(model)->keys;
    const struct pf_table *about = &model->tables[keys->about];
    struct pf_buf out = {0};
    const struct pf_rows *rows = pf_table_rows(about);
    const struct pf_cell *row = item < pf_rows_count(rows) ? pf_rows_at(rows, item) : NULL;
    add_line(&out, "Name", pf_rows_at(keys->items, item)[1]);
    for (size_t c = 0; row && c < about->n_columns; c++)
        if (about->columns[c].role == PF_PLAIN)
            add_line(&out, about->columns[c].name, row[c]);
    return pf_walk_of_text(&out, error);
}

/* ---- tables of the axes: a record is a row, and a position its number (0: the header) ----------- */

struct rows_walk {
    struct pf_walk base;
    struct pf_profile *profile;
    uint64_t rows;
    void (*header)(struct pf_profile *profile, struct pf_buf *out);
    void (*print)(struct pf_profile *profile, uint32_t i, struct pf_buf *out);
};

static int model_rows_next(struct pf_walk *base, struct pf_buf *out, struct pf_error *error)
{
    struct rows_walk *view = (struct rows_walk *)base;
    (void)error;
    if (base->position > view->rows)
        return 0;
    if (base->position == 0)
        view->header(view->profile, out);
    else
        view->print(view->profile, (uint32_t)(base->position - 1), out);
    base->position++;
    return 1;
}

static void model_rows_close(struct pf_walk *base)
{
    free(base);
}

static double rows_progress(const struct pf_walk *base)
{
    const struct rows_walk *view = (const struct rows_walk *)base;
    return (double)base->position / ((double)view->rows + 1);
}

static const struct pf_walk_ops rows_ops = {
    .next = model_rows_next, .close = model_rows_close, .progress = rows_progress};

static struct pf_walk *rows_walk(struct pf_profile *profile, uint64_t rows,
                                 void (*header)(struct pf_profile *, struct pf_buf *),
                                 void (*print)(struct pf_profile *, uint32_t, struct pf_buf *),
                                 struct pf_error *error)
{
    struct rows_walk *view = calloc(1, sizeof *view);
    if (!view) {
        pf_fail_memory(error);
        return NULL;
    }
    *view = (struct rows_walk){
        .base.ops = &rows_ops, .profile = profile, .rows = rows, .header = header, .print = print};
    return &view->base;
}

static void add_columns(struct pf_buf *out, const struct pf_column *columns, size_t n)
{
    for (size_t c = 0; c < n; c++) {
        struct pf_cell name = pf_string(columns[c].name);
        pf_buf_char(out, ',');
        pf_csv_cell(out, &name);
    }
}

static void metrics_header(struct pf_profile *profile, struct pf_buf *out)
{
    const struct pf_model *model = pf_profile_model(profile);
    pf_buf_str(out, "id,name,unit,scope,type,over_contexts,over_partitions,partner,description,dir");
    add_columns(out, model->metric_columns, model->n_metric_columns);
    pf_buf_char(out, '\n');
}

static void metrics_row(struct pf_profile *profile, uint32_t m, struct pf_buf *out)
{
    const struct pf_model *model = pf_profile_model(profile);
    const struct pf_metric *metric = &model->metrics[m];
    char name[PF_NAME_MAX + 1], over[OVER_PARTITIONS_MAX];
    struct pf_cell own[OWN_COLUMNS_MAX];
    size_t n = own_metric_cells(model, m, own);
    pf_dirname(pf_profile_names(profile, PF_NAMED_METRICS), m, name);
    struct pf_cell cells[] = {pf_int(metric->id),
                              pf_string(metric->name),
                              pf_string(metric->unit),
                              pf_string(metric->scope),
                              pf_string(metric->type),
                              pf_string(over_contexts[metric->over_contexts]),
                              over_partitions(model, metric, over),
                              metric->partner >= 0 ? pf_int(model->metrics[metric->partner].id) : pf_absent(),
                              pf_string(metric->description)};
    pf_csv_row(out, cells, sizeof cells / sizeof *cells, ',');
    pf_csv_dir(out, name, strlen(name));
    pf_buf_char(out, n ? ',' : '\n');
    pf_csv_row(out, own, n, '\n');
}

struct pf_walk *pf_metrics_csv_walk(struct pf_profile *profile, struct pf_node node, struct pf_error *error)
{
    (void)node;
    return rows_walk(profile, pf_profile_model(profile)->n_metrics, metrics_header, metrics_row, error);
}

static void partitions_header(struct pf_profile *profile, struct pf_buf *out)
{
    const struct pf_partitions *partitions = &pf_profile_model(profile)->partitions;
    pf_buf_str(out, "id,name");
    add_columns(out, partitions->field_columns, partitions->n_fields);
    pf_buf_str(out, ",dir\n");
}

static void partitions_row(struct pf_profile *profile, uint32_t i, struct pf_buf *out)
{
    const struct pf_partitions *partitions = &pf_profile_model(profile)->partitions;
    char name[PF_NAME_MAX + 1];
    pf_csv_row(out, pf_rows_at(partitions->items, i), 2, ',');
    if (partitions->n_fields)
        pf_csv_row(out, pf_rows_at(partitions->fields, i), partitions->n_fields, ',');
    pf_dirname(pf_profile_names(profile, PF_NAMED_PARTITIONS), i, name);
    pf_csv_dir(out, name, strlen(name));
    pf_buf_char(out, '\n');
}

struct pf_walk *pf_partitions_csv_walk(struct pf_profile *profile, struct pf_node node,
                                       struct pf_error *error)
{
    (void)node;
    uint64_t n = pf_rows_count(pf_profile_model(profile)->partitions.items);
    return rows_walk(profile, n, partitions_header, partitions_row, error);
}

static void contexts_header(struct pf_profile *profile, struct pf_buf *out)
{
    const struct pf_model *model = pf_profile_model(profile);
    pf_buf_str(out, "id,parent,depth,kind,line,name,file,module,dir");
    add_columns(out, model->context_columns, model->n_context_columns);
    pf_buf_char(out, '\n');
}

static void contexts_row(struct pf_profile *profile, uint32_t i, struct pf_buf *out)
{
    const struct pf_model *model = pf_profile_model(profile);
    const struct pf_tree *tree = model->contexts;
    struct pf_cell own[OWN_COLUMNS_MAX];
    char path[PF_CONTEXT_DIR_MAX + 1];
    size_t n = own_cells(model, i, own);
    struct pf_cell cells[] = {
        pf_uint(pf_tree_id(tree, i)),
        tree->parent[i] != PF_NO_CONTEXT ? pf_uint(pf_tree_id(tree, tree->parent[i])) : pf_absent(),
        pf_uint(tree->depth[i]),
        pf_string(tree->kinds[tree->kind[i]]),
        tree->line && tree->line[i] ? pf_uint(tree->line[i]) : pf_absent(),
        pf_interned(tree->strings, tree->name[i]),
        tree->file ? pf_interned(tree->strings, tree->file[i]) : pf_absent(),
        tree->module ? pf_interned(tree->strings, tree->module[i]) : pf_absent(),
    };
    pf_csv_row(out, cells, sizeof cells / sizeof *cells, ',');
    pf_csv_dir(out, path, pf_profile_context_dir(profile, i, path));
    pf_buf_char(out, n ? ',' : '\n');
    pf_csv_row(out, own, n, '\n');
}

struct pf_walk *pf_contexts_csv_walk(struct pf_profile *profile, struct pf_node node, struct pf_error *error)
{
    (void)node;
    return rows_walk(profile, pf_profile_model(profile)->contexts->count, contexts_header, contexts_row,
                     error);
}

static void warnings_header(struct pf_profile *profile, struct pf_buf *out)
{
    (void)profile;
    pf_buf_str(out, "line,offset,severity,code,text\n");
}

/* The metric of the n-th warning about shares above 100 %. These warnings come after those of the driver. */
static uint32_t metric_beyond(struct pf_profile *profile, uint64_t n)
{
    uint32_t m = 0;
    for (; m < pf_profile_model(profile)->n_metrics; m++)
        if (pf_aggregate_exceeds_total(pf_profile_aggregate_now(profile, -1), m) && n-- == 0)
            break;
    return m;
}

void pf_warning_cells(struct pf_profile *profile, uint64_t i, struct pf_cell cells[PF_WARNING_COLUMNS],
                      struct pf_buf *scratch)
{
    const struct pf_model *model = pf_profile_model(profile);
    size_t reported = pf_rows_count(model->warnings);
    if (i < reported) {
        memcpy(cells, pf_rows_at(model->warnings, (size_t)i), PF_WARNING_COLUMNS * sizeof *cells);
        return;
    }
    scratch->size = 0;
    pf_buf_str(scratch, model->metrics[metric_beyond(profile, i - reported)].name);
    pf_buf_str(scratch, pf_extra_of(model)->edges
                            ? ": some shares exceed 100 % because of mutual recursion"
                            : ": some shares exceed 100 %: values are negative, have wrapped around or "
                              "decrease");
    cells[0] = cells[1] = pf_absent();
    cells[2] = pf_string("warning");
    cells[3] = pf_string("above-100-percent");
    cells[4] = pf_text(scratch->data, scratch->size);
}

uint64_t pf_warning_count(struct pf_profile *profile)
{
    const struct pf_model *model = pf_profile_model(profile);
    uint64_t rows = pf_rows_count(model->warnings);
    const struct pf_aggregate *aggregate = pf_profile_aggregate_now(profile, -1);
    for (uint32_t m = 0; aggregate && m < model->n_metrics; m++)
        rows += pf_aggregate_exceeds_total(aggregate, m);
    return rows;
}

static void warnings_row(struct pf_profile *profile, uint32_t i, struct pf_buf *out)
{
    struct pf_buf scratch = {0};
    struct pf_cell cells[PF_WARNING_COLUMNS];
    pf_warning_cells(profile, i, cells, &scratch);
    pf_csv_row(out, cells, PF_WARNING_COLUMNS, '\n');
    out->failed |= scratch.failed;
    pf_buf_free(&scratch);
}

struct pf_walk *pf_warnings_csv_walk(struct pf_profile *profile, struct pf_node node, struct pf_error *error)
{
    (void)node;
    return rows_walk(profile, pf_warning_count(profile), warnings_header, warnings_row, error);
}
