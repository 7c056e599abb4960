/* SPDX-License-Identifier: MIT */
#include "formats/kit/samples.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "formats/kit/array.h"

/* Bytes of a line; a stack of a million frames takes some. */
#define WHOLE_LINE ((size_t)64 << 20)

/* A frame that has been asked for, and its number: mostly a name has one. */
enum { MET = 4096 }; /* a power of two */
struct pf_met_frame {
    struct pf_frame frame;
    uint32_t number;
    bool met;
};

static const char *const function_kind[] = {"function"};

static const struct pf_column value_columns[PF_SUMS_COLUMNS] = {
    [PF_SUMS_PARTITION] = {"thread", PF_PARTITION, 0}, [PF_SUMS_CONTEXT] = {"context", PF_CONTEXT, 0},
    [PF_SUMS_METRIC] = {"metric", PF_METRIC, 0},       [PF_SUMS_VALUE] = {"value", PF_PLAIN, 0},
    [PF_SUMS_NAME] = {"name", PF_CONTEXT_NAME, 0},
};

/* ---- opening ------------------------------------------------------------------------------------ */

static int list_tables(struct pf_profile *profile, struct pf_samples *samples, struct pf_error *error)
{
    const struct pf_samples_format *format = samples->format;
    samples->tables = calloc(1 + format->n_tables, sizeof *samples->tables);
    if (!samples->tables)
        return pf_fail_memory(error);
    memcpy(samples->values, value_columns, sizeof value_columns);
    if (format->singular)
        samples->values[PF_SUMS_PARTITION].name = format->singular;
    samples->tables[0] = (struct pf_table){.name = "values",
                                           .columns = samples->values,
                                           .n_columns = PF_SUMS_COLUMNS,
                                           .stage = PF_MODELLED,
                                           .flags = PF_SUMS_FLAGS,
                                           .ops = &pf_sums_cursor};
    for (size_t i = 0; i < format->n_tables; i++) {
        samples->tables[1 + i] = format->tables[i];
        if (!format->tables[i].ops)
            samples->tables[1 + i].rows = &samples->rows[i];
    }
    profile->tables = profile->cells = samples->tables;
    profile->n_tables = 1 + format->n_tables;
    profile->cells_value = PF_SUMS_VALUE;
    return 0;
}

int pf_samples_open(struct pf_profile *profile, struct pf_error *error)
{
    const struct pf_samples_format *format = profile->driver->kit;
    struct pf_samples *samples = profile->state =
        calloc(1, format->state ? format->state : sizeof(struct pf_samples));
    if (!samples)
        return pf_fail_memory(error);
    samples->format = format;
    if (format->partitioned)
        profile->partitions =
            (struct pf_partitions){.singular = format->singular ? format->singular : "thread",
                                   .plural = format->plural ? format->plural : "threads",
                                   .field_columns = format->fields,
                                   .n_fields = format->n_fields,
                                   .fields_stage = PF_PARTITIONED};
    profile->metrics = format->metrics;
    profile->n_metrics = format->n_metrics;
    profile->metrics_stage = format->metrics ? PF_OPENED : PF_MODELLED;
    profile->time_unit = format->time_unit;
    if (list_tables(profile, samples, error) ||
        pf_source_open_plain(profile->source, NULL, &samples->input, error))
        return -1;
    return format->open ? format->open(profile, error) : 0;
}

/* ---- reading ------------------------------------------------------------------------------------ */

static int make_partitions(struct pf_profile *profile, struct pf_error *error)
{
    size_t n_fields = profile->partitions.n_fields;
    profile->partitions.items = pf_rows_new(2);
    profile->partitions.fields = n_fields ? pf_rows_new(n_fields) : NULL;
    bool made = profile->partitions.items && (profile->partitions.fields || !n_fields);
    return made ? 0 : pf_fail_memory(error);
}

static int make_all(struct pf_profile *profile, struct pf_samples *samples, struct pf_error *error)
{
    samples->partitions = pf_strings_new();
    samples->frames = pf_strings_new();
    samples->met = calloc(MET, sizeof *samples->met);
    samples->sums.sums = pf_sums_new(profile->options->cache, samples->format->zeros);
    profile->contexts = pf_tree_new(samples->format->kinds ? samples->format->kinds : function_kind);
    bool made =
        samples->partitions && samples->frames && samples->met && samples->sums.sums && profile->contexts;
    for (size_t i = 0; i < samples->format->n_tables && made; i++)
        if (!samples->format->tables[i].ops)
            made = (samples->rows[i] = pf_rows_new(samples->format->tables[i].n_columns)) != NULL;
    if (!made)
        return pf_fail_memory(error);
    return samples->format->partitioned ? make_partitions(profile, error) : 0;
}

static void drop_partitions(struct pf_profile *profile)
{
    pf_rows_free(profile->partitions.items);
    pf_rows_free(profile->partitions.fields);
    profile->partitions.items = profile->partitions.fields = NULL;
}

/* What only reading needs. */
static void drop_names(struct pf_samples *samples)
{
    pf_strings_free(samples->partitions);
    pf_strings_free(samples->frames);
    free(samples->met);
    samples->partitions = samples->frames = NULL;
    samples->met = NULL;
}

/* All that reading has made, but for what the core frees. */
static void drop_all(struct pf_profile *profile, struct pf_samples *samples)
{
    if (samples->format->clear) {
        samples->format->clear(profile);
        memset(samples + 1, 0, samples->format->state - sizeof *samples);
    }
    drop_names(samples);
    pf_sums_free(samples->sums.sums);
    free(samples->metrics);
    samples->sums.sums = NULL;
    samples->metrics = NULL;
    samples->n_metrics = samples->metrics_room = 0;
    for (size_t i = 0; i < samples->format->n_tables && i < PF_SAMPLES_TABLES; i++) {
        pf_rows_free(samples->rows[i]);
        samples->rows[i] = NULL;
    }
}

static struct pf_frame frame_at(const struct pf_samples *samples, uint32_t number)
{
    struct pf_frame frame;
    memcpy(&frame, pf_interned(samples->frames, number).text, sizeof frame);
    return frame;
}

/* Files, modules and lines of contexts: columns that are there if any frame has them. */
static int fill_columns(struct pf_tree *tree, const struct pf_samples *samples, struct pf_error *error)
{
    bool file = false, module = false, line = false;
    for (uint32_t i = 0; i < pf_strings_count(samples->frames); i++) {
        struct pf_frame frame = frame_at(samples, i);
        file |= frame.file != PF_NO_STRING;
        module |= frame.module != PF_NO_STRING;
        line |= frame.line != 0;
    }
    if ((file && pf_array_resize(&tree->file, tree->count, sizeof *tree->file, error)) ||
        (module && pf_array_resize(&tree->module, tree->count, sizeof *tree->module, error)) ||
        (line && pf_array_resize(&tree->line, tree->count, sizeof *tree->line, error)))
        return -1;
    for (uint32_t c = 0; c < tree->count && (file || module || line); c++) {
        struct pf_frame frame = frame_at(samples, tree->key[c]);
        if (file)
            tree->file[c] = frame.file;
        if (module)
            tree->module[c] = frame.module;
        if (line)
            tree->line[c] = frame.line;
    }
    return 0;
}

static int add_partition(struct pf_profile *profile, struct pf_cell name, const struct pf_cell *fields,
                         struct pf_error *error)
{
    static const struct pf_cell none[PF_SAMPLES_FIELDS];
    struct pf_cell cells[] = {pf_int((int64_t)pf_rows_count(profile->partitions.items)), name};
    if (pf_rows_add(profile->partitions.items, cells, error))
        return -1;
    struct pf_rows *rows = profile->partitions.fields;
    return rows ? pf_rows_add(rows, fields ? fields : none, error) : 0;
}

static int finish(struct pf_profile *profile, struct pf_samples *samples, struct pf_error *error)
{
    struct pf_error damage;
    if (pf_input_damage(samples->input, &damage) &&
        pf_warn(profile, 0, damage.offset, "fatal", "damaged-gzip", error, "%s", damage.what))
        return -1;
    if (!pf_rows_count(profile->partitions.items) && add_partition(profile, pf_string("all"), NULL, error))
        return -1;
    if (fill_columns(profile->contexts, samples, error) || pf_tree_finish(profile->contexts, error) ||
        pf_sums_finish(samples->sums.sums, (uint32_t)pf_rows_count(profile->partitions.items),
                       profile->contexts->count, error))
        return -1;
    if (!samples->format->metrics) {
        profile->metrics = samples->metrics;
        profile->n_metrics = samples->n_metrics;
    }
    drop_names(samples);
    return 0;
}

static int read_file(struct pf_profile *profile, struct pf_pass *pass, struct pf_error *error)
{
    struct pf_samples *samples = profile->state;
    size_t warnings = pf_rows_count(profile->warnings);
    if (!make_all(profile, samples, error) && !samples->format->read(profile, pass, error) &&
        !finish(profile, samples, error))
        return 0;
    /* As it was before this load. */
    drop_all(profile, samples);
    if (samples->format->partitioned)
        drop_partitions(profile);
    pf_tree_free(profile->contexts);
    profile->contexts = NULL;
    pf_rows_cut(profile->warnings, warnings);
    return -1;
}

/* To know the partitions takes the same pass as all else. */
int pf_samples_load(struct pf_profile *profile, enum pf_stage stage, struct pf_pass *pass,
                    struct pf_error *error)
{
    const struct pf_samples *samples = profile->state;
    enum pf_stage reading = samples->format->partitioned ? PF_PARTITIONED : PF_MODELLED;
    return stage == reading ? read_file(profile, pass, error) : 0;
}

void pf_samples_close(struct pf_profile *profile)
{
    struct pf_samples *samples = profile->state;
    if (!samples)
        return;
    drop_all(profile, samples);
    free(samples->tables);
    free(samples);
}

const unsigned char *pf_samples_head(struct pf_probe *probe, size_t want, size_t *have)
{
    const unsigned char *head = pf_probe_head(probe, want, have);
    bool packed = *have >= 2 && head[0] == 0x1f && head[1] == 0x8b;
    return packed ? pf_probe_plain_head(probe, want, have) : head;
}

/* ---- what a format adds ------------------------------------------------------------------------- */

int pf_samples_step(struct pf_profile *profile, struct pf_pass *pass, uint64_t offset, struct pf_error *error)
{
    const struct pf_samples *samples = profile->state;
    uint64_t done, total;
    pf_input_progress(samples->input, offset, &done, &total);
    return pf_pass_step(pass, done, total, error);
}

int pf_samples_lines(struct pf_profile *profile, struct pf_pass *pass,
                     int (*take)(struct pf_profile *profile, const struct pf_line *line,
                                 struct pf_error *error),
                     struct pf_error *error)
{
    const struct pf_samples *samples = profile->state;
    struct pf_linereader *reader = pf_linereader_new(samples->input);
    struct pf_line line;
    int more = reader ? 1 : pf_fail_memory(error);
    while (more > 0 && (more = pf_linereader_whole(reader, WHOLE_LINE, &line, error)) > 0) {
        if (line.offset == 0 && line.size >= 3 && !memcmp(line.text, "\xef\xbb\xbf", 3)) {
            line.text += 3;
            line.size -= 3;
        }
        if ((line.number % 1024 == 0 && pf_samples_step(profile, pass, line.offset, error)) ||
            take(profile, &line, error))
            more = -1;
    }
    pf_linereader_free(reader);
    return more;
}

uint32_t pf_samples_string(struct pf_profile *profile, const char *text, size_t size, struct pf_error *error)
{
    return pf_intern(profile->contexts->strings, text, size, error);
}

uint32_t pf_samples_partition(struct pf_profile *profile, const char *name, size_t size,
                              const struct pf_cell *fields, struct pf_error *error)
{
    struct pf_samples *samples = profile->state;
    uint32_t number = pf_intern(samples->partitions, name, size, error);
    if (number != PF_NO_STRING && number == pf_rows_count(profile->partitions.items) &&
        add_partition(profile, pf_text(name, size), fields, error))
        return PF_NO_PARTITION;
    return number;
}

uint32_t pf_samples_own_partition(struct pf_profile *profile, const char *name, size_t size,
                                  const struct pf_cell *fields, struct pf_error *error)
{
    const struct pf_samples *samples = profile->state;
    uint32_t number = pf_strings_count(samples->partitions);
    if (pf_string_of(samples->partitions, name, size) == PF_NO_STRING)
        return pf_samples_partition(profile, name, size, fields, error);
    char *longer = malloc(size + sizeof "~4294967295");
    if (!longer) {
        pf_fail_memory(error);
        return PF_NO_PARTITION;
    }
    memcpy(longer, name, size);
    size += (size_t)sprintf(longer + size, "~%" PRIu32, number);
    number = pf_samples_own_partition(profile, longer, size, fields, error);
    free(longer);
    return number;
}

int pf_samples_metric(struct pf_profile *profile, const char *name, size_t size, const char *unit,
                      struct pf_error *error)
{
    struct pf_samples *samples = profile->state;
    uint32_t number = pf_samples_string(profile, name, strnlen(name, size), error);
    if (number == PF_NO_STRING)
        return -1;
    const char *kept = pf_interned(profile->contexts->strings, number).text; /* a NUL stands behind it */
    for (size_t i = 0; i < samples->n_metrics; i++)
        if (samples->metrics[i].name == kept)
            return (int)i;
    if (pf_array_room(&samples->metrics, &samples->metrics_room, samples->n_metrics, sizeof *samples->metrics,
                      error))
        return -1;
    samples->metrics[samples->n_metrics] = (struct pf_metric){.id = (int64_t)samples->n_metrics,
                                                              .name = kept,
                                                              .unit = unit,
                                                              .scope = "exclusive",
                                                              .type = "int",
                                                              .description = "",
                                                              .over_contexts = PF_OVER_ALL,
                                                              .over_partitions = PF_SUM,
                                                              .partner = PF_NO_PARTNER};
    return (int)samples->n_metrics++;
}

static uint32_t child(struct pf_tree *tree, uint32_t parent, uint32_t key, uint32_t name, uint32_t kind,
                      struct pf_error *error)
{
    uint8_t flags = parent == PF_NO_CONTEXT ? PF_FRAME | PF_ROOT : PF_FRAME;
    return pf_tree_child(tree, parent, key, name, (uint8_t)kind, flags, error);
}

uint32_t pf_samples_call(struct pf_profile *profile, uint32_t parent, const char *name, size_t size,
                         struct pf_error *error)
{
    uint32_t number = pf_samples_string(profile, name, size, error);
    return number == PF_NO_STRING ? PF_NO_CONTEXT
                                  : child(profile->contexts, parent, number, number, 0, error);
}

uint32_t pf_samples_frame(struct pf_profile *profile, const struct pf_frame *frame, struct pf_error *error)
{
    struct pf_samples *samples = profile->state;
    struct pf_met_frame *met = &samples->met[frame->name & (MET - 1)];
    if (met->met && !memcmp(&met->frame, frame, sizeof *frame))
        return met->number;
    uint32_t number = pf_intern(samples->frames, (const char *)frame, sizeof *frame, error);
    *met = (struct pf_met_frame){*frame, number, number != PF_NO_STRING};
    return number;
}

uint32_t pf_samples_named_frame(struct pf_profile *profile, const char *name, size_t size,
                                struct pf_error *error)
{
    struct pf_frame frame = {
        .name = pf_samples_string(profile, name, size, error), .file = PF_NO_STRING, .module = PF_NO_STRING};
    return frame.name == PF_NO_STRING ? PF_NO_STRING : pf_samples_frame(profile, &frame, error);
}

uint32_t pf_samples_enter(struct pf_profile *profile, uint32_t parent, uint32_t frame, struct pf_error *error)
{
    struct pf_frame what = frame_at(profile->state, frame);
    return child(profile->contexts, parent, frame, what.name, what.kind, error);
}

int pf_samples_add(struct pf_profile *profile, uint32_t partition, uint32_t context, uint32_t metric,
                   struct pf_cell value, struct pf_error *error)
{
    const struct pf_samples *samples = profile->state;
    return pf_sums_add(samples->sums.sums, partition, context, metric, &value, error);
}
