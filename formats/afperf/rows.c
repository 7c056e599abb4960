/* SPDX-License-Identifier: MIT */
#include <stdlib.h>

#include "formats/afperf/afperf.h"
#include "formats/kit/print.h"

static void add_table_row(struct afperf_model *model, enum afperf_table table, const struct pf_cell *cells)
{
    struct pf_error *error = model->run->error;
    pf_run_check(model->run, model->stored[table] ? pf_stored_add(model->stored[table], cells, error)
                                                  : pf_rows_add(model->rows[table], cells, error));
}

/* ---- tags --------------------------------------------------------------------------------------- */

static const struct pf_column tag_columns[] = {
    {.name = "object"}, {.name = "id"}, {.name = "value"}, {.name = "name"}};

/* Adds a row for each tag of an object, whose tags have the form `a=b;c=d`. */
static void add_tag_rows(struct afperf_model *model, const char *object, uint32_t id, struct pf_cell tags)
{
    const char *next = tags.text, *end = tags.size ? next + tags.size : next;
    while (next < end) {
        const char *at = next, *semicolon = memchr(at, ';', (size_t)(end - at));
        const char *tag_end = semicolon ? semicolon : end;
        const char *equals = memchr(at, '=', (size_t)(tag_end - at)), *name_end = equals ? equals : tag_end;
        struct pf_cell cells[] = {
            pf_string(object),
            pf_uint(id),
            equals ? pf_text(equals + 1, (size_t)(tag_end - equals - 1)) : pf_absent(),
            pf_text(at, (size_t)(name_end - at)),
        };
        next = semicolon ? semicolon + 1 : end;
        if (tag_end > at)
            add_table_row(model, TAGS, cells);
    }
}

/* ---- runs --------------------------------------------------------------------------------------- */

const struct pf_column afperf_run_columns[] = {
    {.name = "run"},       {.name = "line"},     {.name = "run_id"},      {.name = "start"},
    {.name = "end"},       {.name = "implicit"}, {.name = "nesting"},     {.name = "units"},
    {.name = "wallclock"}, {.name = "version"},  {.name = "application"}, {.name = "application_version"},
    {.name = "tags"}};
const size_t afperf_n_run_columns = sizeof afperf_run_columns / sizeof *afperf_run_columns;

static void add_run_row(struct afperf_model *model, uint32_t number)
{
    const struct pf_partitions *partitions = &model->profile->partitions;
    const struct afperf_run *run = &model->runs[number];
    char name[PF_NUMBER_MAX], id[AFPERF_HEX];
    struct pf_cell item[] = {pf_uint(number), pf_text(name, (size_t)(pf_print_uint(name, number) - name))};
    struct pf_cell cells[] = {
        pf_uint(number),
        pf_uint(run->is.line),
        afperf_id_cell(run->is.id.given, run->is.id.id, id),
        run->is.implicit ? pf_absent() : pf_uint(run->start),
        pf_uint(run->end),
        pf_uint(run->is.implicit),
        pf_string(run->geometry ? "geometry" : "replay"),
        afperf_text_cell(model, run->units),
        afperf_text_cell(model, run->wallclock),
        afperf_text_cell(model, run->version),
        afperf_text_cell(model, run->application),
        afperf_text_cell(model, run->application_version),
        afperf_text_cell(model, run->is.tags),
    };
    pf_run_check(model->run, pf_rows_add(partitions->items, item, model->run->error));
    pf_run_check(model->run, pf_rows_add(partitions->fields, cells, model->run->error));
    add_tag_rows(model, "run", number, afperf_text_cell(model, run->is.tags));
}

/* ---- types, sections, pauses -------------------------------------------------------------------- */

static const struct pf_column type_columns[] = {
    {"run", PF_PARTITION, 0}, {.name = "type_id"},  {.name = "line"},
    {.name = "definitions"},  {.name = "datatype"}, {.name = "units"},
    {.name = "summary"},      {.name = "name"},     {.name = "description"}};

static void add_type_row(struct afperf_model *model, const struct afperf_measure *measure)
{
    char id[AFPERF_HEX];
    struct pf_cell cells[] = {
        pf_int(measure->run),
        afperf_id_cell(true, measure->id, id),
        pf_uint(measure->line),
        pf_uint(measure->definitions),
        afperf_text_cell(model, measure->fields[AFPERF_DATATYPE].text),
        afperf_text_cell(model, measure->fields[AFPERF_UNITS].text),
        afperf_text_cell(model, measure->fields[AFPERF_SUMMARY].text),
        afperf_text_cell(model, measure->fields[AFPERF_NAME].text),
        afperf_text_cell(model, measure->fields[AFPERF_DESCRIPTION].text),
    };
    add_table_row(model, TYPES, cells);
}

static const struct pf_column section_columns[] = {
    {.name = "section"},     {"run", PF_PARTITION, 0}, {"context", PF_CONTEXT, 0}, {.name = "section_id"},
    {.name = "intervals"},   {.name = "total"},        {.name = "total_net"},      {.name = "covered"},
    {.name = "covered_net"}, {.name = "implicit"},     {.name = "line"},           {.name = "tags"},
    {.name = "label"}};

static void add_section_row(struct afperf_model *model, uint32_t number)
{
    const struct afperf_section *section = &model->sections[number];
    char id[AFPERF_HEX];
    struct pf_cell cells[] = {
        pf_uint(number),
        pf_int(afperf_run_of_section(model, number)),
        pf_int(section->context),
        afperf_id_cell(section->is.id.given, section->is.id.id, id),
        pf_uint(section->count),
        afperf_wide_cell(&section->total),
        afperf_wide_cell(&section->total_net),
        pf_uint(section->covered),
        pf_uint(section->covered_net),
        pf_uint(section->is.implicit),
        pf_uint(section->is.line),
        afperf_text_cell(model, section->is.tags),
        afperf_text_cell(model, section->label),
    };
    add_table_row(model, SECTIONS, cells);
    add_tag_rows(model, "section", number, afperf_text_cell(model, section->is.tags));
}

static const struct pf_column pause_columns[] = {
    {"run", PF_PARTITION, 0}, {.name = "start"}, {.name = "stop"}};

static void add_pause_row(struct afperf_model *model, const struct afperf_pause *pause)
{
    struct pf_cell cells[] = {pf_int(pause->run), pf_uint(pause->start), pf_uint(pause->stop)};
    add_table_row(model, PAUSES, cells);
}

/* ---- regions ------------------------------------------------------------------------------------ */

static const struct pf_column region_columns[] = {
    {.name = "region"},    {"run", PF_PARTITION, 0}, {"context", PF_CONTEXT, 0}, {.name = "region_id"},
    {.name = "parent"},    {.name = "depth"},        {.name = "start"},          {.name = "stop"},
    {.name = "inclusive"}, {.name = "exclusive"},    {.name = "inclusive_net"},  {.name = "exclusive_net"},
    {.name = "state"},     {.name = "line"},         {.name = "tags"},           {.name = "label"}};

static struct pf_cell state_of(bool closed)
{
    return closed ? pf_plain("closed", 6) : pf_plain("unclosed", 8);
}

/* Adds the row, tags, context and warnings of the region that starts at the walk's event. `nested` is the region's. */
static void add_region_row(struct afperf_model *model, const struct afperf_walk *walk,
                           struct pf_store_window *tags, const struct afperf_nested *nested)
{
    const struct afperf_event *start = &walk->event;
    uint32_t run = afperf_run_of(model, start->owner);
    uint64_t inclusive = nested->stop - start->time;
    bool closed = walk->link.found == AFPERF_FOUND;
    struct pf_cell text;
    char id[AFPERF_HEX];
    pf_run_check(model->run, afperf_tags(tags, start->other, &text, model->run->error));
    const struct pf_cell cells[] = {
        pf_uint(walk->link.number),
        pf_int(run),
        pf_int(nested->context),
        afperf_id_cell(start->id_given, start->id, id),
        nested->parent == AFPERF_NONE ? pf_absent() : pf_uint(nested->parent),
        pf_uint(model->tree->depth[nested->context]),
        pf_uint(start->time),
        pf_uint(nested->stop),
        pf_uint(inclusive),
        pf_uint(nested->exclusive),
        pf_uint(inclusive - afperf_paused(model, run, start->time, nested->stop)),
        pf_uint(nested->exclusive_net),
        state_of(closed),
        pf_uint(start->line),
        text,
        start->label == PF_NO_STRING ? pf_absent() : pf_name(start->label),
    };
    add_table_row(model, REGIONS, cells);
    add_tag_rows(model, "region", walk->link.number, text);
    afperf_append(model, model->stores[CONTEXTS], &nested->context, sizeof nested->context);
    for (uint64_t i = 0; i < nested->overlaps; i++)
        afperf_note(model, AFPERF_OVERLAPPING_REGIONS, start->offset, start->line);
    if (!closed)
        afperf_note(model, AFPERF_UNCLOSED_REGION, start->offset, start->line);
}

static void add_region_rows(struct afperf_model *model)
{
    struct afperf_walk walk = {.model = model};
    struct pf_store_window *tags = afperf_window(model, model->stores[TAG_TEXTS]);
    while (afperf_walk(&walk))
        if (walk.event.kind == AFPERF_EVENT_REGION_START)
            add_region_row(model, &walk, tags, afperf_sorted(model, model->nested));
}

/* ---- intervals ---------------------------------------------------------------------------------- */

static const struct pf_column interval_columns[] = {
    {.name = "interval"},     {.name = "section"}, {"run", PF_PARTITION, 0}, {"context", PF_CONTEXT, 0},
    {.name = "interval_id"},  {.name = "start"},   {.name = "stop"},         {.name = "duration"},
    {.name = "duration_net"}, {.name = "state"},   {.name = "line"}};

static void add_interval_row(struct afperf_model *model, const struct afperf_interval *interval)
{
    uint32_t run = afperf_run_of_section(model, interval->section);
    uint64_t start = interval->start, stop = interval->stop;
    char id[AFPERF_HEX];
    const struct pf_cell cells[] = {
        pf_uint(interval->row),
        pf_uint(interval->section),
        pf_int(run),
        pf_int(model->sections[interval->section].context),
        afperf_id_cell(interval->id_given, interval->id, id),
        pf_uint(start),
        pf_uint(stop),
        pf_uint(stop - start),
        pf_uint(stop - start - afperf_paused(model, run, start, stop)),
        state_of(interval->closed),
        pf_uint(interval->line),
    };
    add_table_row(model, INTERVALS, cells);
}

/* ---- all of it ---------------------------------------------------------------------------------- */

const struct pf_table afperf_row_tables[TABLES] = {
    [REGIONS] = {.name = "regions", AFPERF_COLUMNS(region_columns), .ops = &pf_stored_cursor.ops},
    [INTERVALS] = {.name = "intervals", AFPERF_COLUMNS(interval_columns), .ops = &pf_stored_cursor.ops},
    [TAGS] = {.name = "tags", AFPERF_COLUMNS(tag_columns), .ops = &pf_stored_cursor.ops},
    [TYPES] = {.name = "types", AFPERF_COLUMNS(type_columns)},
    [SECTIONS] = {.name = "sections", AFPERF_COLUMNS(section_columns)},
    [PAUSES] = {.name = "pauses", AFPERF_COLUMNS(pause_columns)},
};

void afperf_fill_rows(struct afperf_model *model)
{
    for (uint32_t i = 0; i < model->n_runs; i++)
        add_run_row(model, i);
    add_region_rows(model);
    for (uint32_t i = 0; i < model->n_sections; i++)
        add_section_row(model, i);
    for (const struct afperf_interval *interval; (interval = afperf_sorted(model, model->intervals));)
        add_interval_row(model, interval);
    for (size_t i = 0; i < model->n_pauses; i++)
        add_pause_row(model, &model->pauses[i]);
    for (size_t i = 0; i < model->n_measures; i++)
        add_type_row(model, &model->measures[i]);
}
