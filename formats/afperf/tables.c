/* SPDX-License-Identifier: MIT */
#include "formats/afperf/tables.h"
#include "formats/kit/print.h"

/* ---- cells -------------------------------------------------------------------------------------- */

struct pf_cell afperf_text_cell(const struct afperf_model *model, uint32_t string)
{
    struct pf_cell cell = pf_interned(model->strings, string);
    return cell.size ? cell : pf_absent();
}

struct pf_cell afperf_id_cell(bool given, uint64_t id, char *text)
{
    return given ? pf_plain(text, afperf_hex(id, text)) : pf_absent();
}

/* ---- runs --------------------------------------------------------------------------------------- */

const struct pf_column afperf_run_columns[] = {
    {.name = "run"},       {.name = "line"},     {.name = "run_id"},      {.name = "start"},
    {.name = "end"},       {.name = "implicit"}, {.name = "nesting"},     {.name = "units"},
    {.name = "wallclock"}, {.name = "version"},  {.name = "application"}, {.name = "application_version"},
    {.name = "tags"}};
const size_t afperf_n_run_columns = sizeof afperf_run_columns / sizeof *afperf_run_columns;

static int add_run(const struct afperf_model *model, uint32_t number, struct pf_rows *items,
                   struct pf_rows *fields, struct pf_error *error)
{
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
    return pf_rows_add(items, item, error) ? -1 : pf_rows_add(fields, cells, error);
}

/* ---- types, sections, pauses -------------------------------------------------------------------- */

static const struct pf_column type_columns[] = {
    {"run", PF_PARTITION, 0}, {.name = "type_id"},  {.name = "line"},
    {.name = "definitions"},  {.name = "datatype"}, {.name = "units"},
    {.name = "summary"},      {.name = "name"},     {.name = "description"}};

static int add_type(const struct afperf_model *model, const struct afperf_measure *measure,
                    struct pf_rows *types, struct pf_error *error)
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
    return pf_rows_add(types, cells, error);
}

static const struct pf_column section_columns[] = {
    {.name = "section"},     {"run", PF_PARTITION, 0}, {"context", PF_CONTEXT, 0}, {.name = "section_id"},
    {.name = "intervals"},   {.name = "total"},        {.name = "total_net"},      {.name = "covered"},
    {.name = "covered_net"}, {.name = "implicit"},     {.name = "line"},           {.name = "tags"},
    {.name = "label"}};

static int add_section(const struct afperf_model *model, uint32_t number, struct pf_rows *sections,
                       struct pf_error *error)
{
    const struct afperf_section *section = &model->sections[number];
    char id[AFPERF_HEX];
    struct pf_cell cells[] = {
        pf_uint(number),
        pf_int(afperf_run_of(model, section->ref)),
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
    return pf_rows_add(sections, cells, error);
}

static const struct pf_column pause_columns[] = {
    {"run", PF_PARTITION, 0}, {.name = "start"}, {.name = "stop"}};

static int add_pause(const struct afperf_pause *pause, struct pf_rows *pauses, struct pf_error *error)
{
    struct pf_cell cells[] = {pf_int(pause->run), pf_uint(pause->start), pf_uint(pause->stop)};
    return pf_rows_add(pauses, cells, error);
}

const struct pf_table afperf_short_tables[TABLES - WALKED] = {
    [TYPES - WALKED] = {.name = "types", AFPERF_COLUMNS(type_columns)},
    [SECTIONS - WALKED] = {.name = "sections", AFPERF_COLUMNS(section_columns)},
    [PAUSES - WALKED] = {.name = "pauses", AFPERF_COLUMNS(pause_columns)},
};

/* ---- all of it ---------------------------------------------------------------------------------- */

struct lists {
    struct pf_rows *items, *fields, *rows[TABLES - WALKED];
};

static int fill_lists(const struct afperf_model *model, struct lists *lists, struct pf_error *error)
{
    lists->items = pf_rows_new(2);
    lists->fields = pf_rows_new(afperf_n_run_columns);
    for (size_t i = 0; i < TABLES - WALKED; i++)
        if (!(lists->rows[i] = pf_rows_new(afperf_short_tables[i].n_columns)))
            return pf_fail_memory(error);
    if (!lists->items || !lists->fields)
        return pf_fail_memory(error);
    int failed = 0;
    for (uint32_t i = 0; i < model->n_runs && !failed; i++)
        failed = add_run(model, i, lists->items, lists->fields, error);
    for (size_t i = 0; i < model->n_pauses && !failed; i++)
        failed = add_pause(&model->pauses[i], lists->rows[PAUSES - WALKED], error);
    for (size_t i = 0; i < model->n_measures && !failed; i++)
        failed = add_type(model, &model->measures[i], lists->rows[TYPES - WALKED], error);
    for (uint32_t i = 0; i < model->n_sections && !failed; i++)
        failed = add_section(model, i, lists->rows[SECTIONS - WALKED], error);
    return failed;
}

int afperf_publish(struct afperf_model *model, struct pf_model *profile, struct pf_error *error)
{
    struct afperf_state *state = profile->state;
    struct lists lists = {0};
    if (fill_lists(model, &lists, error) || pf_notes_publish(&model->notes, profile, error)) {
        pf_rows_free(lists.items);
        pf_rows_free(lists.fields);
        for (size_t i = 0; i < TABLES - WALKED; i++)
            pf_rows_free(lists.rows[i]);
        return -1;
    }
    profile->partitions.items = lists.items;
    profile->partitions.fields = lists.fields;
    profile->contexts = model->tree;
    memcpy(state->rows, lists.rows, sizeof lists.rows);
    model->published = true;
    return 0;
}
