/* SPDX-License-Identifier: MIT */
/* The stages of a profile: the pass over the JSON, snapshots, columns; sums. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "formats/kit/sorter.h"
#include "formats/perun/perun.h"

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
    pf_json_trees_free(reading->trees);
    perun_paths_free(reading->paths);
    pf_sorter_free(reading->keys);
    perun_text_free(&reading->texts);
    free(reading->values);
    free(reading->trace.text);
    free(reading->uid.text);
    free(reading->command.text);
}

static int read_data(struct perun *perun, struct perun_data *data, struct pf_pass *pass,
                     struct pf_error *error)
{
    struct body body = {perun->input, perun->body};
    struct perun_reading reading = {.data = data,
                                    .input = perun->input,
                                    .body = perun->body,
                                    .pass = pass,
                                    .paths = perun_paths_new(data->tree),
                                    .json = pf_json_new_reading(read_body, &body, PF_JSON_STRICT_UTF8, 0),
                                    .trees = pf_json_trees_new(PERUN_WHOLE_MAX, true),
                                    .values = malloc(PERUN_VALUES_MAX * sizeof *reading.values)};
    bool made = reading.paths && reading.json && reading.trees && reading.values;
    int failed = made ? perun_read(&reading, error) : pf_fail_memory(error);
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
        pf_note(&data->notes, &perun_problems[PERUN_BAD_LENGTH], 0, 0,
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

static struct pf_cell time_of(const struct perun_data *data, uint32_t time)
{
    return time == PERUN_NONE ? pf_absent() : data->times[time];
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
        if (add_partition(profile, pf_int(sorted[i]->number), name, time_of(data, sorted[i]->time), error))
            return -1;
    }
    if (!data->without_snapshot)
        return 0;
    return add_partition(profile, pf_absent(), "all", time_of(data, data->none_time), error);
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

/* Fields have their columns in resources.csv in order of appearance, those that hold texts after the others. */
static int make_columns(struct perun *perun, struct perun_data *data, struct pf_error *error)
{
    static const char *const last[] = {"type", "subtype", "uid", "other"};
    uint32_t fields = pf_strings_count(data->fields);
    unsigned next = PERUN_R_FIELDS;
    perun->others = false;
    for (uint32_t i = 0; i < fields; i++)
        data->field_list[i].column = -1;
    for (int texts = 0; texts < 2; texts++)
        for (uint32_t i = 0; i < fields; i++) {
            struct perun_field *field = &data->field_list[i];
            struct pf_cell name = pf_interned(data->fields, i);
            if (!field->seen || field->texts != texts || i == PERUN_TIME)
                continue;
            if (field->reserved || next == PERUN_R_FIELDS + PERUN_OWN_COLUMNS) {
                perun->others |= i != PERUN_THREAD;
                continue;
            }
            struct pf_column column = {.name = perun_name(perun, name.text, name.size, error)};
            if (!column.name)
                return -1;
            field->column = (int)next;
            perun->resource_columns[next++] = column;
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
    struct pf_cell type = perun_property(data, "header.type");
    if (type.type != PF_TEXT)
        type = perun_property(data, "type");
    perun->header_type = PERUN_NONE;
    if (type.type != PF_TEXT)
        return 0;
    perun->header_type = perun_string(data, type.text, type.size, error);
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
    struct known_metric {
        uint32_t type, subtype, metric;
        bool known;
    } * of_field; /* one a field */
};

/* The metric of a field in this row; PERUN_NONE: it is none, or there are too many. */
static int metric_of(struct summing *summing, const struct perun_item *item, uint32_t field, uint32_t *metric,
                     struct pf_error *error)
{
    const struct perun_field *about = &summing->perun->data->field_list[field];
    struct known_metric *known = &summing->of_field[field];
    uint32_t type = perun_type_of(summing->perun, item->kind);
    *metric = PERUN_NONE;
    if (about->identity || about->reserved)
        return 0;
    if (!known->known || known->type != type || known->subtype != item->subtype) {
        if (perun_metric_of(&summing->perun->keys, type, item->subtype, field, metric, error))
            return -1;
        *known = (struct known_metric){type, item->subtype, *metric, true};
    }
    *metric = known->metric;
    if (field == PERUN_AMOUNT && item->unit != PERUN_NONE && *metric != PERUN_NONE &&
        summing->perun->keys.list[*metric].unit == PERUN_NONE)
        summing->perun->keys.list[*metric].unit = item->unit;
    return 0;
}

static int add_row(struct summing *summing, const struct perun_walk *walk, struct pf_error *error)
{
    struct perun *perun = summing->perun;
    uint32_t snapshot = walk->item.snapshot, metric,
             partition = snapshot == PERUN_NONE ? (uint32_t)perun->all : perun->order[snapshot];
    for (size_t i = 0; i < walk->n_cells; i++) {
        const struct pf_cell *cell = &walk->cells[i].cell;
        if (cell->type == PF_ABSENT || cell->type == PF_TEXT)
            continue;
        if (metric_of(summing, &walk->item, walk->cells[i].field, &metric, error) ||
            (metric != PERUN_NONE &&
             pf_sums_add(perun->sums.sums, partition, walk->item.context, metric, cell, error)))
            return -1;
    }
    return 0;
}

static int add_rows(struct summing *summing, struct perun_walk *walk, struct pf_pass *pass,
                    struct pf_error *error)
{
    int more;
    for (uint64_t steps = 1; (more = perun_walk_next(walk, error)) > 0; steps++)
        if (add_row(summing, walk, error) ||
            (pass && steps % 8192 == 0 &&
             pf_pass_step(pass, (uint64_t)(perun_walk_progress(walk) * 1e6), 1000000, error)))
            return -1;
    return more;
}

static int sum_up(struct pf_profile *profile, struct summing *summing, struct pf_pass *pass,
                  struct pf_error *error)
{
    struct perun *perun = profile->state;
    struct perun_walk walk;
    perun_walk_open(&walk, perun->data);
    int failed = add_rows(summing, &walk, pass, error);
    perun_walk_close(&walk);
    if (failed ||
        pf_sums_finish(perun->sums.sums, (uint32_t)pf_rows_count(profile->partitions.items),
                       perun->data->tree->count, error) ||
        perun_describe_metrics(perun, error))
        return -1;
    if (perun->keys.full)
        pf_note(&perun->data->notes, &perun_problems[PERUN_MANY_METRICS], 0, -1, NULL);
    return pf_notes_publish(&perun->data->notes, profile, error);
}

void perun_drop_model(struct perun *perun)
{
    pf_sums_free(perun->sums.sums);
    free(perun->metrics);
    free(perun->keys.list);
    pf_hash_free(&perun->keys.table);
    perun->sums.sums = NULL;
    perun->metrics = NULL;
    perun->keys = (struct perun_metrics){0};
}

int perun_load_model(struct pf_profile *profile, struct pf_pass *pass, struct pf_error *error)
{
    struct perun *perun = profile->state;
    struct summing summing = {.perun = perun};
    perun->sums.sums = pf_sums_new(profile->options->cache, true);
    summing.of_field = calloc((size_t)pf_strings_count(perun->data->fields) + 1, sizeof *summing.of_field);
    int failed =
        perun->sums.sums && summing.of_field ? sum_up(profile, &summing, pass, error) : pf_fail_memory(error);
    free(summing.of_field);
    if (failed) {
        perun_drop_model(perun);
        return -1;
    }
    profile->contexts = perun->data->tree;
    profile->metrics = perun->metrics;
    profile->n_metrics = perun->keys.count;
    return 0;
}
