/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "formats/afperf/model.h"

/* ---- finding by id ------------------------------------------------------------------------------ */

static int by_id(const void *left, const void *right)
{
    const struct afperf_named *a = left, *b = right;
    if (a->id != b->id)
        return a->id < b->id ? -1 : 1;
    if (a->offset != b->offset)
        return a->offset < b->offset ? -1 : 1;
    return a->number < b->number ? -1 : a->number > b->number;
}

/*
 * Puts n items of this size (*items) into the order of the file, where they stand at order[i].offset (order[i].number is i): implicit
 * ones have been added at the end. The caller frees the list of their new places; NULL with *error filled.
 */
static uint32_t *put_in_order(void **items, size_t size, struct afperf_named *order, size_t n,
                              struct pf_error *error)
{
    char *ordered = calloc(n + 1, size);
    uint32_t *place = calloc(n + 1, sizeof *place);
    if (!ordered || !place) {
        free(ordered);
        free(place);
        pf_fail_memory(error);
        return NULL;
    }
    qsort(order, n, sizeof *order, by_id);
    for (size_t i = 0; i < n; i++) {
        memcpy(ordered + i * size, (const char *)*items + order[i].number * size, size);
        place[order[i].number] = (uint32_t)i;
    }
    free(*items);
    *items = ordered;
    return place;
}

/* ---- sections ----------------------------------------------------------------------------------- */

/* The sections that have ids, by these. */
static int list_sections(struct afperf_model *model, struct pf_error *error)
{
    free(model->sections_by_id);
    model->n_sections_by_id = 0;
    model->sections_by_id = calloc(model->n_sections + 1, sizeof *model->sections_by_id);
    if (!model->sections_by_id)
        return pf_fail_memory(error);
    for (size_t i = 0; i < model->n_sections; i++)
        if (model->sections[i].id.given)
            model->sections_by_id[model->n_sections_by_id++] =
                (struct afperf_named){model->sections[i].id.id, model->sections[i].offset, (uint32_t)i};
    qsort(model->sections_by_id, model->n_sections_by_id, sizeof *model->sections_by_id, by_id);
    return 0;
}

static int add_implicit_section(struct afperf_model *model, const struct afperf_section_ref *ref,
                                struct pf_error *error)
{
    if (AFPERF_GROW(model, sections, error) < 0)
        return -1;
    uint32_t empty = afperf_keep(model, (struct afperf_text){"", 0}, error);
    model->sections[model->n_sections++] = (struct afperf_section){.offset = ref->offset,
                                                                   .line = ref->line,
                                                                   .id = {ref->id, ref->by_id},
                                                                   .run = ref->run,
                                                                   .label = empty,
                                                                   .tags = empty,
                                                                   .implicit = true};
    struct afperf_ref *run = &model->refs[ref->run];
    model->initial_used |= ref->run == 0;
    if (!run->line) {
        run->line = ref->line;
        run->offset = ref->offset;
    }
    afperf_note(model, AFPERF_UNRESOLVED_SECTION, ref->offset, ref->line);
    return 0;
}

/* Sections that are started and have no SectionInfo: one an id, and one without. */
static int add_implicit_sections(struct afperf_model *model, struct afperf_named *all, size_t n,
                                 struct pf_error *error)
{
    qsort(all, n, sizeof *all, by_id);
    for (size_t i = 0; i < n; i++) {
        struct afperf_section_ref *ref = &model->section_refs[all[i].number];
        bool first = i == 0 || all[i].id != all[i - 1].id || !ref->by_id ||
                     !model->section_refs[all[i - 1].number].by_id;
        if (first && add_implicit_section(model, ref, error) < 0)
            return -1;
        ref->known = true;
        ref->section = (uint32_t)model->n_sections - 1;
    }
    return 0;
}

static int order_sections(struct afperf_model *model, struct pf_error *error)
{
    size_t n = model->n_sections;
    struct afperf_named *order = calloc(n + 1, sizeof *order);
    if (!order)
        return pf_fail_memory(error);
    for (size_t i = 0; i < n; i++)
        order[i] = (struct afperf_named){0, model->sections[i].offset, (uint32_t)i};
    void *sections = model->sections;
    uint32_t *place = put_in_order(&sections, sizeof *model->sections, order, n, error);
    free(order);
    if (!place)
        return -1;
    model->sections = sections;
    model->sections_room = n + 1;
    for (size_t i = 0; i < model->n_section_refs; i++)
        if (model->section_refs[i].known)
            model->section_refs[i].section = place[model->section_refs[i].section];
    free(place);
    return 0;
}

/* Which section each reference means. */
static int resolve_sections(struct afperf_model *model, struct pf_error *error)
{
    if (list_sections(model, error) < 0)
        return -1;
    struct afperf_named *unknown = calloc(model->n_section_refs + 1, sizeof *unknown);
    size_t n = 0;
    if (!unknown)
        return pf_fail_memory(error);
    for (size_t i = 0; i < model->n_section_refs; i++) {
        struct afperf_section_ref *ref = &model->section_refs[i];
        if (ref->known)
            continue;
        struct afperf_segment segment = afperf_segment(model, ref->segment);
        uint32_t found = ref->by_id ? afperf_find_named(model->sections_by_id, model->n_sections_by_id,
                                                        ref->id, segment.start, &segment)
                                    : AFPERF_NONE;
        ref->known = found != AFPERF_NONE;
        ref->section = found;
        if (!ref->known && ref->line)
            unknown[n++] = (struct afperf_named){ref->id, ref->offset, (uint32_t)i};
    }
    int result = add_implicit_sections(model, unknown, n, error);
    free(unknown);
    if (result < 0 || !n)
        return result;
    return order_sections(model, error) < 0 ? -1 : list_sections(model, error);
}

/* ---- runs --------------------------------------------------------------------------------------- */

/* The runs that have ids, by these. */
static int list_runs(struct afperf_model *model, struct pf_error *error)
{
    free(model->runs_by_id);
    model->n_runs_by_id = 0;
    model->runs_by_id = calloc(model->n_runs + 1, sizeof *model->runs_by_id);
    if (!model->runs_by_id)
        return pf_fail_memory(error);
    for (size_t i = 0; i < model->n_runs; i++)
        if (model->runs[i].id.given)
            model->runs_by_id[model->n_runs_by_id++] =
                (struct afperf_named){model->runs[i].id.id, model->runs[i].offset, (uint32_t)i};
    qsort(model->runs_by_id, model->n_runs_by_id, sizeof *model->runs_by_id, by_id);
    return 0;
}

static uint32_t find_run(const struct afperf_model *model, const struct afperf_ref *ref)
{
    struct afperf_segment segment = afperf_segment(model, ref->segment);
    return afperf_find_named(model->runs_by_id, model->n_runs_by_id, ref->id, segment.start, &segment);
}

/* The first field of a short SectionInfo that is no run's id: the current run is meant, and needed. */
static void settle_doubts(struct afperf_model *model)
{
    for (size_t i = model->n_refs; i-- > 0;) {
        struct afperf_ref *ref = &model->refs[i];
        if (ref->kind != AFPERF_REF_MAYBE || find_run(model, ref) != AFPERF_NONE)
            continue;
        struct afperf_ref *fallback = &model->refs[ref->fallback];
        model->initial_used |= ref->fallback == 0;
        if (!fallback->line || ref->line < fallback->line) {
            fallback->line = ref->line;
            fallback->offset = ref->offset;
        }
    }
}

static int add_implicit_run(struct afperf_model *model, const struct afperf_ref *ref, struct pf_error *error)
{
    if (AFPERF_GROW(model, runs, error) < 0)
        return -1;
    uint32_t empty = afperf_keep(model, (struct afperf_text){"", 0}, error);
    if (empty == PF_NO_STRING)
        return -1;
    model->runs[model->n_runs++] = (struct afperf_run){.offset = ref->offset,
                                                       .line = ref->line,
                                                       .id = {ref->id, ref->kind == AFPERF_REF_ID},
                                                       .units = empty,
                                                       .wallclock = empty,
                                                       .version = empty,
                                                       .application = empty,
                                                       .application_version = empty,
                                                       .tags = empty,
                                                       .segment = ref->segment,
                                                       .implicit = true,
                                                       .nanoseconds = 1};
    return 0;
}

/* Runs that are needed and have no RunInfo: one an id. */
static int add_implicit_runs(struct afperf_model *model, struct pf_error *error)
{
    struct afperf_named *unknown = calloc(model->n_refs, sizeof *unknown);
    size_t n = 0;
    if (!unknown)
        return pf_fail_memory(error);
    for (size_t i = 1; i < model->n_refs; i++)
        if (model->refs[i].kind == AFPERF_REF_ID && model->refs[i].run == AFPERF_NONE)
            unknown[n++] = (struct afperf_named){model->refs[i].id, model->refs[i].offset, (uint32_t)i};
    qsort(unknown, n, sizeof *unknown, by_id);
    int result = 0;
    for (size_t i = 0; i < n && !result; i++) {
        if (i == 0 || unknown[i].id != unknown[i - 1].id)
            result = add_implicit_run(model, &model->refs[unknown[i].number], error);
        model->refs[unknown[i].number].run = (uint32_t)model->n_runs - 1;
    }
    free(unknown);
    return result;
}

static int order_runs(struct afperf_model *model, struct pf_error *error)
{
    size_t n = model->n_runs;
    struct afperf_named *order = calloc(n + 1, sizeof *order);
    if (!order)
        return pf_fail_memory(error);
    for (size_t i = 0; i < n; i++)
        order[i] = (struct afperf_named){0, model->runs[i].offset, (uint32_t)i};
    void *runs = model->runs;
    uint32_t *place = put_in_order(&runs, sizeof *model->runs, order, n, error);
    free(order);
    if (!place)
        return -1;
    model->runs = runs;
    model->runs_room = n + 1;
    for (size_t i = 0; i < model->n_refs; i++)
        if (model->refs[i].run != AFPERF_NONE)
            model->refs[i].run = place[model->refs[i].run];
    free(place);
    return 0;
}

/* Which run each reference means. References that a MAYBE falls back to come before it. */
static int resolve_runs(struct afperf_model *model, struct pf_error *error)
{
    size_t explicit_runs = model->n_runs;
    if (list_runs(model, error) < 0)
        return -1;
    settle_doubts(model);
    for (size_t i = 1; i < model->n_refs; i++)
        if (model->refs[i].kind != AFPERF_REF_RUN)
            model->refs[i].run = find_run(model, &model->refs[i]);
    if (add_implicit_runs(model, error) < 0)
        return -1;
    struct afperf_ref *initial = &model->refs[0];
    if (explicit_runs == 1) {
        initial->run = 0;
    } else if (initial->line) {
        initial->run = (uint32_t)model->n_runs;
        if (add_implicit_run(model, initial, error) < 0)
            return -1;
    }
    for (size_t i = 1; i < model->n_refs; i++)
        if (model->refs[i].run == AFPERF_NONE)
            model->refs[i].run = model->refs[model->refs[i].fallback].run;
    return order_runs(model, error) < 0 ? -1 : list_runs(model, error);
}

/* What the references know of their runs. */
static void describe_runs(struct afperf_model *model)
{
    for (size_t i = 0; i < model->n_refs; i++) {
        const struct afperf_ref *ref = &model->refs[i];
        if (ref->run == AFPERF_NONE)
            continue;
        struct afperf_run *run = &model->runs[ref->run];
        if (ref->end > run->end)
            run->end = ref->end;
        afperf_extend(&run->data, ref->data);
    }
}

int afperf_drop_unused_run(struct afperf_model *model, struct pf_error *error)
{
    uint32_t unused = model->refs[0].run;
    if (unused != AFPERF_NONE && model->runs[unused].implicit && !model->initial_used) {
        memmove(model->runs + unused, model->runs + unused + 1,
                (--model->n_runs - unused) * sizeof *model->runs);
        model->refs[0].run = AFPERF_NONE;
        for (size_t i = 0; i < model->n_refs; i++)
            model->refs[i].run -= model->refs[i].run != AFPERF_NONE && model->refs[i].run > unused;
        for (size_t i = 0; i < model->n_sections; i++)
            model->sections[i].run -= model->sections[i].run > unused;
        for (size_t i = 0; i < model->n_measures; i++)
            model->measures[i].run -= model->measures[i].run > unused;
        if (list_runs(model, error) < 0)
            return -1;
    }
    for (size_t i = 0; i < model->n_runs; i++)
        if (model->runs[i].implicit)
            afperf_note(model, AFPERF_UNRESOLVED_RUN, model->runs[i].offset, model->runs[i].line);
    return 0;
}

/* ---- types -------------------------------------------------------------------------------------- */

static int by_id_and_run(const void *left, const void *right)
{
    const struct afperf_measure *a = left, *b = right;
    if (a->id != b->id)
        return a->id < b->id ? -1 : 1;
    if (a->run != b->run)
        return a->run < b->run ? -1 : 1;
    return a->line < b->line ? -1 : a->line > b->line;
}

/* Adds what another reference to the same run has defined. */
static void merge_measures(struct afperf_model *model, struct afperf_measure *into,
                           const struct afperf_measure *from)
{
    model->doubt_all |= into->datatype != from->datatype && (into->used || from->used);
    for (int field = 0; field < AFPERF_TYPE_FIELDS; field++) {
        if (from->fields[field].line < into->fields[field].line)
            continue;
        into->fields[field] = from->fields[field];
        if (field == AFPERF_DATATYPE && from->fields[field].line)
            into->datatype = from->datatype;
    }
    into->line = from->line > into->line ? from->line : into->line;
    into->definitions += from->definitions;
}

static void resolve_measures(struct afperf_model *model)
{
    struct afperf_measure *all = model->measures;
    size_t n = model->n_measures, kept = 0;
    if (!all)
        return;
    for (size_t i = 0; i < n; i++)
        all[i].run = model->refs[all[i].run].run;
    qsort(all, n, sizeof *all, by_id_and_run);
    for (size_t i = 0; i < n; i++) {
        struct afperf_measure *last = kept ? &all[kept - 1] : NULL;
        if (last && last->id == all[i].id && last->run == all[i].run)
            merge_measures(model, last, &all[i]);
        else
            all[kept++] = all[i];
    }
    model->n_measures = kept;
}

/* ---- pauses ------------------------------------------------------------------------------------- */

static int by_run_and_start(const void *left, const void *right)
{
    const struct afperf_pause *a = left, *b = right;
    if (a->before != b->before)
        return a->before < b->before ? -1 : 1;
    if (a->start != b->start)
        return a->start < b->start ? -1 : 1;
    return a->stop < b->stop ? -1 : a->stop > b->stop;
}

/* Sorts the pauses by run, and joins those that overlap or touch. */
static void merge_pauses(struct afperf_model *model)
{
    size_t kept = 0;
    uint32_t run = AFPERF_NONE;
    for (size_t i = 0; i < model->n_pauses; i++)
        model->pauses[i].before = model->refs[model->pauses[i].before].run;
    if (model->n_pauses)
        qsort(model->pauses, model->n_pauses, sizeof *model->pauses, by_run_and_start);
    for (size_t i = 0; i < model->n_pauses; i++) {
        struct afperf_pause pause = model->pauses[i];
        struct afperf_pause *last = kept ? &model->pauses[kept - 1] : NULL;
        bool same = last && pause.before == run;
        if (same && pause.start <= last->stop) {
            last->stop = pause.stop > last->stop ? pause.stop : last->stop;
            continue;
        }
        run = (uint32_t)pause.before;
        pause.before = same ? last->before + (last->stop - last->start) : 0;
        if (!same)
            model->runs[run].pauses = (uint32_t)kept;
        model->runs[run].n_pauses++;
        model->pauses[kept++] = pause;
    }
    model->n_pauses = kept;
}

int afperf_resolve_names(struct afperf_model *model, struct pf_error *error)
{
    if (resolve_sections(model, error) < 0 || resolve_runs(model, error) < 0)
        return -1;
    describe_runs(model);
    resolve_measures(model);
    merge_pauses(model);
    for (size_t i = 0; i < model->n_sections; i++)
        model->sections[i].run = model->refs[model->sections[i].run].run;
    for (uint32_t i = 0; i < model->intervals.count; i++) {
        struct afperf_span *interval = &model->intervals.items[i];
        interval->owner = model->section_refs[interval->owner].section;
    }
    return 0;
}
