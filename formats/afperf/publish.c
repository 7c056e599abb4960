/* SPDX-License-Identifier: MIT */
#include "formats/afperf/publish.h"

#include "formats/kit/print.h"

/* ---- runs --------------------------------------------------------------------------------------- */

static struct pf_cell text_cell(const struct afperf_model *model, uint32_t string)
{
    struct pf_cell cell = pf_interned(model->strings, string);
    return cell.size ? cell : pf_absent();
}

static struct pf_cell id_cell(const struct afperf_id *id, char *text)
{
    return id->given ? afperf_id_cell(id->id, text) : pf_absent();
}

static int add_run(const struct afperf_model *model, uint32_t number, struct pf_rows *items,
                   struct pf_rows *fields, struct pf_error *error)
{
    const struct afperf_run *run = &model->runs[number];
    char name[PF_NUMBER_MAX], id[AFPERF_HEX];
    struct pf_cell item[] = {pf_uint(number), pf_text(name, (size_t)(pf_print_uint(name, number) - name))};
    struct pf_cell cells[AFPERF_RUN_COLUMNS] = {
        [AFPERF_RUN_RUN] = pf_uint(number),
        [AFPERF_RUN_LINE] = pf_uint(run->line),
        [AFPERF_RUN_ID] = id_cell(&run->id, id),
        [AFPERF_RUN_START] = run->implicit ? pf_absent() : pf_uint(run->start),
        [AFPERF_RUN_END] = pf_uint(run->end),
        [AFPERF_RUN_IMPLICIT] = pf_uint(run->implicit),
        [AFPERF_RUN_NESTING] = pf_string(run->geometry ? "geometry" : "replay"),
        [AFPERF_RUN_UNITS] = text_cell(model, run->units),
        [AFPERF_RUN_WALLCLOCK] = text_cell(model, run->wallclock),
        [AFPERF_RUN_VERSION] = text_cell(model, run->version),
        [AFPERF_RUN_APPLICATION] = text_cell(model, run->application),
        [AFPERF_RUN_APPLICATION_VERSION] = text_cell(model, run->application_version),
        [AFPERF_RUN_TAGS] = text_cell(model, run->tags),
    };
    return pf_rows_add(items, item, error) < 0 ? -1 : pf_rows_add(fields, cells, error);
}

static int add_runs(const struct afperf_model *model, struct pf_rows *items, struct pf_rows *fields,
                    struct pf_error *error)
{
    for (uint32_t i = 0; i < model->n_runs; i++)
        if (add_run(model, i, items, fields, error) < 0)
            return -1;
    return 0;
}

/* ---- types, sections, pauses -------------------------------------------------------------------- */

static int add_type(const struct afperf_model *model, const struct afperf_measure *measure,
                    struct pf_rows *types, struct pf_error *error)
{
    char id[AFPERF_HEX];
    struct pf_cell cells[AFPERF_TYPE_COLUMNS] = {
        [AFPERF_TYPE_RUN] = pf_int(measure->run),
        [AFPERF_TYPE_ID] = afperf_id_cell(measure->id, id),
        [AFPERF_TYPE_LINE] = pf_uint(measure->line),
        [AFPERF_TYPE_DEFINITIONS] = pf_uint(measure->definitions),
        [AFPERF_TYPE_DATATYPE] = text_cell(model, measure->fields[AFPERF_DATATYPE].text),
        [AFPERF_TYPE_UNITS] = text_cell(model, measure->fields[AFPERF_UNITS].text),
        [AFPERF_TYPE_NAME] = text_cell(model, measure->fields[AFPERF_NAME].text),
        [AFPERF_TYPE_SUMMARY] = text_cell(model, measure->fields[AFPERF_SUMMARY].text),
        [AFPERF_TYPE_DESCRIPTION] = text_cell(model, measure->fields[AFPERF_DESCRIPTION].text),
    };
    return pf_rows_add(types, cells, error);
}

static int add_types(const struct afperf_model *model, struct pf_rows *types, struct pf_error *error)
{
    for (size_t i = 0; i < model->n_measures; i++)
        if (add_type(model, &model->measures[i], types, error) < 0)
            return -1;
    return 0;
}

static int add_section(const struct afperf_model *model, uint32_t number, struct pf_rows *sections,
                       struct pf_error *error)
{
    const struct afperf_section *section = &model->sections[number];
    char id[AFPERF_HEX];
    pf_int128 total, total_net;
    struct pf_cell cells[AFPERF_SECTION_COLUMNS] = {
        [AFPERF_SECTION_SECTION] = pf_uint(number),
        [AFPERF_SECTION_RUN] = pf_int(section->run),
        [AFPERF_SECTION_CONTEXT] = pf_int(section->context),
        [AFPERF_SECTION_ID] = id_cell(&section->id, id),
        [AFPERF_SECTION_INTERVALS] = pf_uint(section->count),
        [AFPERF_SECTION_TOTAL] = afperf_ticks_cell(section->total, &total),
        [AFPERF_SECTION_TOTAL_NET] = afperf_ticks_cell(section->total_net, &total_net),
        [AFPERF_SECTION_COVERED] = pf_uint(section->covered),
        [AFPERF_SECTION_COVERED_NET] = pf_uint(section->covered_net),
        [AFPERF_SECTION_IMPLICIT] = pf_uint(section->implicit),
        [AFPERF_SECTION_LINE] = pf_uint(section->line),
        [AFPERF_SECTION_TAGS] = text_cell(model, section->tags),
        [AFPERF_SECTION_LABEL] = text_cell(model, section->label),
    };
    return pf_rows_add(sections, cells, error);
}

static int add_sections(const struct afperf_model *model, struct pf_rows *sections, struct pf_error *error)
{
    for (uint32_t i = 0; i < model->n_sections; i++)
        if (add_section(model, i, sections, error) < 0)
            return -1;
    return 0;
}

static int add_pauses(const struct afperf_model *model, struct pf_rows *pauses, struct pf_error *error)
{
    for (uint32_t run = 0; run < model->n_runs; run++) {
        for (uint32_t i = 0; i < model->runs[run].n_pauses; i++) {
            const struct afperf_pause *pause = &model->pauses[model->runs[run].pauses + i];
            struct pf_cell cells[AFPERF_PAUSE_COLUMNS] = {
                [AFPERF_PAUSE_RUN] = pf_int(run),
                [AFPERF_PAUSE_START] = pf_uint(pause->start),
                [AFPERF_PAUSE_STOP] = pf_uint(pause->stop),
            };
            if (pf_rows_add(pauses, cells, error) < 0)
                return -1;
        }
    }
    return 0;
}

/* ---- all of it ---------------------------------------------------------------------------------- */

struct lists {
    struct pf_rows *items, *fields, *types, *sections, *pauses;
};

static int make_lists(const struct afperf_model *model, struct lists *lists, struct pf_error *error)
{
    *lists = (struct lists){.items = pf_rows_new(2),
                            .fields = pf_rows_new(AFPERF_RUN_COLUMNS),
                            .types = pf_rows_new(AFPERF_TYPE_COLUMNS),
                            .sections = pf_rows_new(AFPERF_SECTION_COLUMNS),
                            .pauses = pf_rows_new(AFPERF_PAUSE_COLUMNS)};
    if (!lists->items || !lists->fields || !lists->types || !lists->sections || !lists->pauses)
        return pf_fail_memory(error);
    if (add_runs(model, lists->items, lists->fields, error) < 0 ||
        add_types(model, lists->types, error) < 0 || add_sections(model, lists->sections, error) < 0)
        return -1;
    return add_pauses(model, lists->pauses, error);
}

static void free_lists(struct lists *lists)
{
    pf_rows_free(lists->items);
    pf_rows_free(lists->fields);
    pf_rows_free(lists->types);
    pf_rows_free(lists->sections);
    pf_rows_free(lists->pauses);
}

int afperf_publish(struct afperf_model *model, struct pf_profile *profile, struct pf_error *error)
{
    struct afperf_state *state = profile->state;
    struct lists lists;
    if (make_lists(model, &lists, error) < 0 || afperf_notes_tell(&model->notes, profile, error) < 0) {
        free_lists(&lists);
        return -1;
    }
    profile->partitions.items = lists.items;
    profile->partitions.fields = lists.fields;
    profile->contexts = model->tree;
    state->types = lists.types;
    state->sections = lists.sections;
    state->pauses = lists.pauses;
    model->published = true;
    return 0;
}
