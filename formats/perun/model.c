/* SPDX-License-Identifier: MIT */
#include "formats/perun/model.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "formats/perun/metrics.h"
#include "formats/perun/read.h"
#include "formats/perun/walk.h"

struct pf_cell perun_property(const struct pf_rows *properties, const char *key)
{
    size_t size = strlen(key);
    for (size_t i = pf_rows_count(properties); i-- > 0;) {
        const struct pf_cell *row = pf_rows_at(properties, i);
        if (row[0].size == size && !memcmp(row[0].text, key, size))
            return row[1];
    }
    return pf_absent();
}

/* ---- the pass over the JSON --------------------------------------------------------------------- */

struct body {
    struct pf_input *input;
    uint64_t start;
};

static ssize_t read_body(void *arg, void *buffer, size_t size, uint64_t offset, struct pf_error *error)
{
    const struct body *body = arg;
    return pf_input_read(body->input, buffer, size, body->start + offset, error);
}

static void close_reading(struct perun_reading *reading)
{
    pf_json_free(reading->json);
    perun_paths_free(reading->paths);
    free(reading->values);
    free(reading->shapes);
    free(reading->forms);
    pf_json_free(reading->part);
    perun_text_free(&reading->texts);
    perun_text_free(&reading->trace_text);
    perun_text_free(&reading->uid_text);
    perun_text_free(&reading->command_text);
}

static int read_data(struct perun *perun, struct perun_data *data, struct pf_pass *pass,
                     struct pf_error *error)
{
    struct body body = {perun->input, perun->body};
    struct perun_reading reading = {.data = data,
                                    .input = perun->input,
                                    .body = perun->body,
                                    .pass = pass,
                                    .last_uid.word = PF_NO_STRING,
                                    .last_type.word = PF_NO_STRING,
                                    .last_subtype.word = PF_NO_STRING,
                                    .paths = perun_paths_new(data->tree),
                                    .json = pf_json_new_reading(read_body, &body, PF_JSON_STRICT_UTF8, 0),
                                    .values = malloc(PERUN_VALUES_MAX * sizeof *reading.values),
                                    .shapes = calloc(PERUN_SHAPES, sizeof *reading.shapes),
                                    .forms = calloc(PERUN_FORMS, sizeof *reading.forms),
                                    .part = pf_json_new(NULL, 0, 0)};
    bool made =
        reading.paths && reading.json && reading.values && reading.shapes && reading.forms && reading.part;
    int failed = made ? 0 : pf_fail_memory(error);
    if (!failed)
        failed = perun_read(&reading, error);
    if (!failed) {
        perun_paths_finish(reading.paths);
        failed = pf_tree_finish(data->tree, error);
    }
    close_reading(&reading);
    return failed ? -1 : 0;
}

/* The characters of the text, as Python counts them: bytes that do not go on with one. */
static int count_characters(struct perun *perun, struct pf_pass *pass, uint64_t *count,
                            struct pf_error *error)
{
    unsigned char bytes[64 * 1024];
    uint64_t at = perun->body, size = pf_input_size(perun->input);
    ssize_t got;
    *count = 0;
    while ((got = pf_input_read(perun->input, bytes, sizeof bytes, at, error)) > 0) {
        for (ssize_t i = 0; i < got; i++)
            *count += (bytes[i] & 0xc0) != 0x80;
        at += (uint64_t)got;
        if (pass && pf_pass_step(pass, at, size, error))
            return -1;
    }
    return got < 0 ? -1 : 0;
}

/* What the header of a stored object says must be what it holds: mostly it has as many characters as bytes. */
static int check_length(struct perun *perun, struct perun_data *data, struct pf_pass *pass,
                        struct pf_error *error)
{
    uint64_t size = pf_input_size(perun->input), characters;
    struct pf_error damage;
    if (!perun->stored || pf_input_damage(perun->input, &damage) || size == UINT64_MAX ||
        size < perun->body || size - perun->body == perun->length)
        return 0;
    if (count_characters(perun, pass, &characters, error))
        return -1;
    if (characters != perun->length)
        perun_note(&data->notes, 0, 0, "error", "bad-length",
                   "the object's header says %llu characters, but there are %llu",
                   (unsigned long long)perun->length, (unsigned long long)characters);
    return 0;
}

/* ---- snapshots ---------------------------------------------------------------------------------- */

static int by_number(const void *a, const void *b)
{
    const struct perun_snapshot *const *x = a, *const *y = b;
    return ((*x)->number > (*y)->number) - ((*x)->number < (*y)->number);
}

static int add_partition(struct pf_profile *profile, struct pf_cell id, const char *name, struct pf_cell time,
                         struct pf_error *error)
{
    struct pf_cell item[] = {id, pf_string(name)};
    return pf_rows_add(profile->partitions.items, item, error) ||
                   pf_rows_add(profile->partitions.fields, &time, error)
               ? -1
               : 0;
}

/* Snapshots by number, and at last `all`, for what belongs to none. */
static int list_snapshots(struct pf_profile *profile, const struct perun_data *data, uint32_t *order,
                          struct perun_snapshot **sorted, struct pf_error *error)
{
    char name[24];
    for (uint32_t i = 0; i < data->n_snapshots; i++)
        sorted[i] = &data->snapshots[i];
    qsort(sorted, data->n_snapshots, sizeof *sorted, by_number);
    for (uint32_t i = 0; i < data->n_snapshots; i++) {
        order[sorted[i] - data->snapshots] = i;
        snprintf(name, sizeof name, "%lld", (long long)sorted[i]->number);
        if (add_partition(profile, pf_int(sorted[i]->number), name, perun_data_time(data, sorted[i]->group),
                          error))
            return -1;
    }
    if (!data->without_snapshot)
        return 0;
    return add_partition(profile, pf_absent(), "all", perun_data_time(data, data->none_group), error);
}

static int make_partitions(struct pf_profile *profile, struct perun_data *data, struct pf_error *error)
{
    struct perun *perun = profile->state;
    struct pf_partitions *partitions = &profile->partitions;
    pf_rows_free(partitions->items);
    pf_rows_free(partitions->fields);
    partitions->items = pf_rows_new(2);
    partitions->fields = pf_rows_new(1);
    free(perun->order);
    perun->order = calloc((size_t)data->n_snapshots + 1, sizeof *perun->order);
    struct perun_snapshot **sorted = calloc((size_t)data->n_snapshots + 1, sizeof *sorted);
    if (!partitions->items || !partitions->fields || !perun->order || !sorted) {
        free(sorted);
        return pf_fail_memory(error);
    }
    int failed = list_snapshots(profile, data, perun->order, sorted, error);
    perun->all = data->without_snapshot ? (int64_t)data->n_snapshots : -1;
    free(sorted);
    return failed ? -1 : 0;
}

/* ---- resources.csv ---------------------------------------------------------------------------- */

/* Gives a field the next column; what it is called lives as long as the profile. */
static int add_column(struct perun *perun, const struct perun_data *data, struct perun_field *field,
                      unsigned column, struct pf_error *error)
{
    struct pf_cell name = pf_interned(data->tree->strings, field->name);
    char *copy = strndup(name.text, name.size);
    uint32_t kept = copy ? pf_intern(perun->names, copy, strlen(copy) + 1, error) : PF_NO_STRING;
    free(copy);
    if (kept == PF_NO_STRING)
        return pf_fail_memory(error);
    field->column = (int)column;
    perun->resource_columns[column] = (struct pf_column){.name = pf_interned(perun->names, kept).text};
    return 0;
}

/* Fields have their columns in resources.csv in order of appearance, those that hold texts after the others. */
static int make_columns(struct perun *perun, struct perun_data *data, struct pf_error *error)
{
    static const char *const last[] = {"type", "subtype", "uid", "other"};
    struct perun_fields *fields = &data->fields;
    unsigned next = PERUN_R_FIELDS;
    perun->others = false;
    for (uint32_t i = 0; i < fields->count; i++)
        fields->list[i].column = -1;
    for (int texts = 0; texts < 2; texts++)
        for (uint32_t i = 0; i < fields->count; i++) {
            struct perun_field *field = &fields->list[i];
            if (!field->seen || field->texts != texts || i == PERUN_TIME)
                continue;
            if (field->reserved || next == PERUN_R_FIELDS + PERUN_OWN_COLUMNS)
                perun->others |= i != PERUN_THREAD;
            else if (add_column(perun, data, field, next++, error))
                return -1;
        }
    perun->last_columns = next;
    for (unsigned i = 0; i < PERUN_R_OTHER + (perun->others ? 1u : 0u); i++)
        perun->resource_columns[next++] = (struct pf_column){.name = last[i]};
    perun->tables[PERUN_RESOURCES].n_columns = next;
    return 0;
}

/* Of a file without header, the type stands at the top. */
static int find_header_type(struct perun *perun, struct perun_data *data, struct pf_error *error)
{
    const struct pf_rows *properties = data->properties;
    struct pf_cell type = perun_property(properties, "header.type");
    if (type.type != PF_TEXT)
        type = perun_property(properties, "type");
    perun->header_type = PERUN_NONE;
    if (type.type != PF_TEXT)
        return 0;
    perun->header_type = pf_intern(data->tree->strings, type.text, type.size, error);
    return perun->header_type == PERUN_NONE ? -1 : 0;
}

int perun_load_data(struct pf_profile *profile, struct pf_pass *pass, struct pf_error *error)
{
    struct perun *perun = profile->state;
    struct perun_data *data = perun_data_new(profile->options->cache, error);
    if (!data)
        return -1;
    if (read_data(perun, data, pass, error) || check_length(perun, data, pass, error) ||
        make_partitions(profile, data, error) || make_columns(perun, data, error) ||
        find_header_type(perun, data, error)) {
        perun_data_free(data);
        return -1;
    }
    perun->data = data;
    perun->models = data->models;
    perun->properties = data->properties;
    profile->keys.items = data->model_names;
    return 0;
}

/* ---- sums and metrics --------------------------------------------------------------------------- */

/* The metric of each field, as long as type and subtype stay the same. */
struct summing {
    struct perun *perun;
    struct perun_sums *sums;
    struct perun_metrics metrics;
    struct known_metric {
        uint32_t type, subtype, metric;
        bool known;
    } * of_field; /* one a field */
};

/* The metric of a field in this row; PERUN_NONE: it is none, or there are too many. */
static int metric_of(struct summing *summing, const struct perun_walk *walk, uint32_t field, uint32_t *metric,
                     struct pf_error *error)
{
    const struct perun_field *about = &summing->perun->data->fields.list[field];
    *metric = PERUN_NONE;
    if (about->identity || about->reserved)
        return 0;
    struct known_metric *known = &summing->of_field[field];
    uint32_t type = perun_type_of(summing->perun, walk->type);
    if (!known->known || known->type != type || known->subtype != walk->subtype) {
        if (perun_metric_of(&summing->metrics, type, walk->subtype, field, metric, error))
            return -1;
        *known = (struct known_metric){type, walk->subtype, *metric, true};
    }
    if (field == PERUN_AMOUNT && walk->unit != PERUN_NONE && known->metric != PERUN_NONE &&
        summing->metrics.list[known->metric].unit == PERUN_NONE)
        summing->metrics.list[known->metric].unit = walk->unit;
    *metric = known->metric;
    return 0;
}

static int add_cell(struct summing *summing, const struct perun_walk *walk, const struct perun_row_cell *cell,
                    uint32_t partition, struct pf_error *error)
{
    uint32_t metric;
    if (cell->cell.type == PF_ABSENT || cell->cell.type == PF_TEXT)
        return 0;
    if (metric_of(summing, walk, cell->field, &metric, error))
        return -1;
    return metric == PERUN_NONE
               ? 0
               : perun_sums_add(summing->sums, partition, walk->context, metric, &cell->cell, error);
}

/* Whether all rows of the type are told by its columns' sums, and by what they share in its first row. */
static bool is_summed(const struct summing *summing, const struct perun_walk *walk)
{
    const struct perun_field *fields = summing->perun->data->fields.list;
    for (size_t i = 0; i < walk->n_cells; i++) {
        const struct perun_field *field = &fields[walk->cells[i].field];
        bool metric = !field->identity && !field->reserved && walk->cells[i].cell.type != PF_TEXT;
        if (i < walk->n_columns ? !walk->columns[i].summed : metric)
            return false;
    }
    return true;
}

/* A type of many rows, at its first. */
static int add_type(struct summing *summing, struct perun_walk *walk, uint32_t partition,
                    struct pf_error *error)
{
    for (size_t i = 0; i < walk->n_columns; i++) {
        const struct perun_column *column = &walk->columns[i];
        uint32_t metric;
        if (metric_of(summing, walk, column->field, &metric, error))
            return -1;
        if (metric != PERUN_NONE &&
            perun_sums_add_total(summing->sums, partition, walk->context, metric, &column->total, error))
            return -1;
    }
    for (size_t i = walk->n_columns; i < walk->n_cells; i++)
        if (add_cell(summing, walk, &walk->cells[i], partition, error))
            return -1;
    perun_walk_leave(walk);
    return 0;
}

static int add_row(struct summing *summing, struct perun_walk *walk, struct pf_error *error)
{
    const struct perun *perun = summing->perun;
    uint32_t partition = walk->snapshot == PERUN_NONE ? (uint32_t)perun->all : perun->order[walk->snapshot];
    if (walk->row == 1 && walk->rows > 1 && is_summed(summing, walk))
        return add_type(summing, walk, partition, error);
    for (size_t i = 0; i < walk->n_cells; i++)
        if (add_cell(summing, walk, &walk->cells[i], partition, error))
            return -1;
    return 0;
}

static int add_rows(struct summing *summing, struct perun_walk *walk, struct pf_pass *pass,
                    struct pf_error *error)
{
    int more;
    for (uint64_t steps = 1; (more = perun_walk_next(walk, error)) > 0; steps++) {
        if (add_row(summing, walk, error))
            return -1;
        if (pass && steps % 8192 == 0 &&
            pf_pass_step(pass, (uint64_t)(perun_walk_progress(walk) * 1e6), 1000000, error))
            return -1;
    }
    return more;
}

static int sum_up(struct pf_profile *profile, struct summing *summing, struct pf_pass *pass,
                  struct pf_error *error)
{
    struct perun *perun = profile->state;
    struct perun_walk walk;
    perun_walk_open(&walk, perun->data, false);
    int failed = add_rows(summing, &walk, pass, error);
    perun_walk_close(&walk);
    if (failed)
        return -1;
    if (perun_sums_finish(summing->sums, (uint32_t)pf_rows_count(profile->partitions.items),
                          perun->data->tree->count, error) ||
        perun_describe_metrics(perun, &summing->metrics, error))
        return -1;
    if (summing->metrics.full)
        perun_note(&perun->data->notes, 0, -1, "warning", "many-metrics",
                   "values of further kinds are in resources.csv alone: there are too many");
    return 0;
}

static void drop_model(struct perun *perun)
{
    perun_sums_free(perun->sums);
    free(perun->metrics);
    free(perun->metric_keys);
    perun->sums = NULL;
    perun->metrics = NULL;
    perun->metric_keys = NULL;
    perun->n_metrics = 0;
}

int perun_load_model(struct pf_profile *profile, struct pf_pass *pass, struct pf_error *error)
{
    struct perun *perun = profile->state;
    struct summing summing = {.perun = perun};
    int failed = 0;
    summing.sums = perun->sums = perun_sums_new(profile->options->cache);
    summing.of_field = calloc(perun->data->fields.count + 1, sizeof *summing.of_field);
    if (!summing.sums || !summing.of_field)
        failed = pf_fail_memory(error);
    if (!failed)
        failed = sum_up(profile, &summing, pass, error) ||
                 perun_notes_publish(&perun->data->notes, profile, error);
    perun_metrics_free(&summing.metrics);
    free(summing.of_field);
    if (failed) {
        drop_model(perun);
        return -1;
    }
    profile->contexts = perun->data->tree;
    profile->metrics = perun->metrics;
    profile->n_metrics = perun->n_metrics;
    return 0;
}
