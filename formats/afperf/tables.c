/* SPDX-License-Identifier: MIT */
#include "formats/afperf/tables.h"
#include "formats/kit/print.h"

/* ---- cells -------------------------------------------------------------------------------------- */

static struct pf_cell text_cell(const struct afperf_model *model, uint32_t string)
{
    struct pf_cell cell = pf_interned(model->strings, string);
    return cell.size ? cell : pf_absent();
}

static struct pf_cell id_cell(const struct afperf_id *id, char *text)
{
    return id->given ? afperf_id_cell(id->id, text) : pf_absent();
}

struct pf_cell afperf_ticks_cell(afperf_uint128 ticks, pf_int128 *wide)
{
    if (ticks <= UINT64_MAX)
        return pf_uint((uint64_t)ticks);
    *wide = (pf_int128)ticks;
    return pf_wide(wide);
}

/* ---- runs --------------------------------------------------------------------------------------- */

const struct pf_column afperf_run_columns[] = {
    AFPERF_PLAIN("run"),     AFPERF_PLAIN("line"),        AFPERF_PLAIN("run_id"),
    AFPERF_PLAIN("start"),   AFPERF_PLAIN("end"),         AFPERF_PLAIN("implicit"),
    AFPERF_PLAIN("nesting"), AFPERF_PLAIN("units"),       AFPERF_PLAIN("wallclock"),
    AFPERF_PLAIN("version"), AFPERF_PLAIN("application"), AFPERF_PLAIN("application_version"),
    AFPERF_PLAIN("tags"),
};
const size_t afperf_n_run_columns = sizeof afperf_run_columns / sizeof *afperf_run_columns;

static int add_run(const struct afperf_model *model, uint32_t number, struct pf_rows *items,
                   struct pf_rows *fields, struct pf_error *error)
{
    const struct afperf_run *run = &model->runs[number];
    char name[PF_NUMBER_MAX], id[AFPERF_HEX];
    struct pf_cell item[] = {pf_uint(number), pf_text(name, (size_t)(pf_print_uint(name, number) - name))};
    struct pf_cell cells[] = {
        pf_uint(number),
        pf_uint(run->line),
        id_cell(&run->id, id),
        run->implicit ? pf_absent() : pf_uint(run->start),
        pf_uint(run->end),
        pf_uint(run->implicit),
        pf_string(run->geometry ? "geometry" : "replay"),
        text_cell(model, run->units),
        text_cell(model, run->wallclock),
        text_cell(model, run->version),
        text_cell(model, run->application),
        text_cell(model, run->application_version),
        text_cell(model, run->tags),
    };
    return pf_rows_add(items, item, error) < 0 ? -1 : pf_rows_add(fields, cells, error);
}

/* ---- types, sections, pauses -------------------------------------------------------------------- */

static const struct pf_column type_columns[] = {
    AFPERF_RUN,
    AFPERF_PLAIN("type_id"),
    AFPERF_PLAIN("line"),
    AFPERF_PLAIN("definitions"),
    AFPERF_PLAIN("datatype"),
    AFPERF_PLAIN("units"),
    AFPERF_PLAIN("summary"),
    AFPERF_PLAIN("name"),
    AFPERF_PLAIN("description"),
};

static int add_type(const struct afperf_model *model, const struct afperf_measure *measure,
                    struct pf_rows *types, struct pf_error *error)
{
    char id[AFPERF_HEX];
    struct pf_cell cells[] = {
        pf_int(measure->run),
        afperf_id_cell(measure->id, id),
        pf_uint(measure->line),
        pf_uint(measure->definitions),
        text_cell(model, measure->fields[AFPERF_DATATYPE].text),
        text_cell(model, measure->fields[AFPERF_UNITS].text),
        text_cell(model, measure->fields[AFPERF_SUMMARY].text),
        text_cell(model, measure->fields[AFPERF_NAME].text),
        text_cell(model, measure->fields[AFPERF_DESCRIPTION].text),
    };
    return pf_rows_add(types, cells, error);
}

static const struct pf_column section_columns[] = {
    AFPERF_PLAIN("section"),
    AFPERF_RUN,
    AFPERF_CONTEXT,
    AFPERF_PLAIN("section_id"),
    AFPERF_PLAIN("intervals"),
    AFPERF_PLAIN("total"),
    AFPERF_PLAIN("total_net"),
    AFPERF_PLAIN("covered"),
    AFPERF_PLAIN("covered_net"),
    AFPERF_PLAIN("implicit"),
    AFPERF_PLAIN("line"),
    AFPERF_PLAIN("tags"),
    AFPERF_PLAIN("label"),
};

static int add_section(const struct afperf_model *model, uint32_t number, struct pf_rows *sections,
                       struct pf_error *error)
{
    const struct afperf_section *section = &model->sections[number];
    char id[AFPERF_HEX];
    pf_int128 total, total_net;
    struct pf_cell cells[] = {
        pf_uint(number),
        pf_int(section->run),
        pf_int(section->context),
        id_cell(&section->id, id),
        pf_uint(section->count),
        afperf_ticks_cell(section->total, &total),
        afperf_ticks_cell(section->total_net, &total_net),
        pf_uint(section->covered),
        pf_uint(section->covered_net),
        pf_uint(section->implicit),
        pf_uint(section->line),
        text_cell(model, section->tags),
        text_cell(model, section->label),
    };
    return pf_rows_add(sections, cells, error);
}

static const struct pf_column pause_columns[] = {AFPERF_RUN, AFPERF_PLAIN("start"), AFPERF_PLAIN("stop")};

static int add_pauses(const struct afperf_model *model, uint32_t run, struct pf_rows *pauses,
                      struct pf_error *error)
{
    for (uint32_t i = 0; i < model->runs[run].n_pauses; i++) {
        const struct afperf_pause *pause = &model->pauses[model->runs[run].pauses + i];
        struct pf_cell cells[] = {pf_int(run), pf_uint(pause->start), pf_uint(pause->stop)};
        if (pf_rows_add(pauses, cells, error) < 0)
            return -1;
    }
    return 0;
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
        failed = add_run(model, i, lists->items, lists->fields, error) < 0 ||
                 add_pauses(model, i, lists->rows[PAUSES - WALKED], error) < 0;
    for (size_t i = 0; i < model->n_measures && !failed; i++)
        failed = add_type(model, &model->measures[i], lists->rows[TYPES - WALKED], error);
    for (uint32_t i = 0; i < model->n_sections && !failed; i++)
        failed = add_section(model, i, lists->rows[SECTIONS - WALKED], error);
    return failed ? -1 : 0;
}

int afperf_publish(struct afperf_model *model, struct pf_profile *profile, struct pf_error *error)
{
    struct afperf_state *state = profile->state;
    struct lists lists = {0};
    if (fill_lists(model, &lists, error) < 0 || pf_notes_publish(&model->notes, profile, error) < 0) {
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
