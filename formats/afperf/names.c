/* SPDX-License-Identifier: MIT */
#include <stdlib.h>

#include "formats/afperf/afperf.h"

static int afperf_order_of(uint64_t a, uint64_t b)
{
    return a < b ? -1 : a > b;
}

static struct afperf_object *object_at(struct afperf_model *model, enum afperf_thing thing, uint32_t i)
{
    return thing == AFPERF_RUNS ? &model->runs[i].is : &model->sections[i].is;
}

/* ---- the meanings of ids ------------------------------------------------------------------------ */

static int by_id_and_offset(const void *left, const void *right)
{
    const struct afperf_meaning *a = left, *b = right;
    int order = afperf_order_of(a->id, b->id);
    order = order ? order : afperf_order_of(a->offset, b->offset);
    return order ? order : afperf_order_of(a->ref, b->ref);
}

/* Lists the definitions of the ids of runs or sections, in the order in which afperf_find needs them. */
static void list_meanings(struct afperf_model *model, enum afperf_thing thing)
{
    struct afperf_names *names = &model->names[thing];
    names->meanings = PF_OWN(model->run, calloc(names->n + 1, sizeof *names->meanings), free);
    names->n_meanings = 0;
    for (uint32_t i = 0; i < names->n; i++) {
        const struct afperf_ref *ref = &names->refs[i];
        const struct afperf_object *object =
            ref->object == AFPERF_NONE ? NULL : object_at(model, thing, ref->object);
        if (object && object->id.given && (object->implicit || ref->defined))
            names->meanings[names->n_meanings++] = (struct afperf_meaning){object->id.id, object->offset, i};
    }
    if (names->n_meanings)
        qsort(names->meanings, names->n_meanings, sizeof *names->meanings, by_id_and_offset);
}

size_t afperf_segment(const struct afperf_model *model, uint64_t offset, uint64_t event)
{
    size_t low = 0, high = model->n_segments;
    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;
        if (model->segments[middle].offset <= offset && model->segments[middle].events <= event)
            low = middle;
        else
            high = middle;
    }
    return low;
}

uint32_t afperf_find(const struct afperf_model *model, enum afperf_thing thing, uint64_t id, uint64_t offset)
{
    const struct afperf_names *names = &model->names[thing];
    const struct afperf_meaning *all = names->meanings;
    const struct afperf_meaning key = {id, offset, 0};
    size_t low = 0, high = names->n_meanings;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (by_id_and_offset(&all[middle], &key) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    const struct afperf_meaning *before = low && all[low - 1].id == id ? &all[low - 1] : NULL;
    const struct afperf_meaning *after = low < names->n_meanings && all[low].id == id ? &all[low] : NULL;
    if (!before || !after)
        return before ? before->ref : after ? after->ref : AFPERF_NONE;
    size_t here = afperf_segment(model, offset, UINT64_MAX);
    bool other = here + 1 < model->n_segments && after->offset >= model->segments[here + 1].offset;
    return other || before->offset >= model->segments[here].offset ? before->ref : after->ref;
}

/* ---- resolving references ----------------------------------------------------------------------- */

static void add_implicit(struct afperf_model *model, enum afperf_thing thing, const struct afperf_ref *ref)
{
    uint32_t empty = afperf_keep(model, (struct afperf_text){"", 0});
    const struct afperf_object is = {ref->offset, ref->line, ref->id, true, empty, 0};
    if (thing == AFPERF_RUNS) {
        AFPERF_GROW(model, runs);
        model->runs[model->n_runs++] = (struct afperf_run){.is = is,
                                                           .units = empty,
                                                           .wallclock = empty,
                                                           .version = empty,
                                                           .application = empty,
                                                           .application_version = empty,
                                                           .nanoseconds = 1};
        return;
    }
    AFPERF_GROW(model, sections);
    model->sections[model->n_sections++] =
        (struct afperf_section){.is = is, .ref = ref->current, .label = empty};
    afperf_need(&model->names[AFPERF_RUNS].refs[ref->current], ref->offset, ref->line);
    afperf_note(model, AFPERF_UNRESOLVED_SECTION, ref->offset, ref->line);
}

/*
 * Creates implicit objects for the references that records need but no record defines. References with equal ids share an object; each
 * reference without an id gets its own.
 */
static void add_all_implicit(struct afperf_model *model, enum afperf_thing thing)
{
    struct afperf_ref *refs = model->names[thing].refs;
    size_t n_refs = model->names[thing].n, n = 0;
    struct afperf_meaning *unknown = PF_OWN(model->run, calloc(n_refs + 1, sizeof *unknown), free);
    for (uint32_t i = thing == AFPERF_RUNS; i < n_refs; i++) /* reference 0 of runs is left to resolve_runs */
        if (refs[i].object == AFPERF_NONE && refs[i].line && !refs[i].maybe)
            unknown[n++] = (struct afperf_meaning){refs[i].id.id, refs[i].offset, i};
    if (n)
        qsort(unknown, n, sizeof *unknown, by_id_and_offset);
    for (size_t i = 0; i < n; i++) {
        struct afperf_ref *ref = &refs[unknown[i].ref];
        const struct afperf_ref *last = i ? &refs[unknown[i - 1].ref] : NULL;
        if (!last || !ref->id.given || !last->id.given || last->id.id != ref->id.id)
            add_implicit(model, thing, ref);
        ref->object = (uint32_t)(thing == AFPERF_RUNS ? model->n_runs : model->n_sections) - 1;
    }
}

static void resolve_refs(struct afperf_model *model, enum afperf_thing thing)
{
    struct afperf_names *names = &model->names[thing];
    list_meanings(model, thing);
    /* If `maybe` is set and no run has the id, the section belongs to the run that was current at its SectionInfo. */
    for (size_t i = names->n; i-- > 0;) {
        struct afperf_ref *ref = &names->refs[i];
        if (ref->object != AFPERF_NONE || !ref->id.given)
            continue;
        uint32_t found = afperf_find(model, thing, ref->id.id, model->segments[ref->segment].offset);
        if (found != AFPERF_NONE)
            ref->object = names->refs[found].object;
        else if (ref->maybe)
            afperf_need(&names->refs[ref->current], ref->offset, ref->line);
    }
    add_all_implicit(model, thing);
}

static int by_offset(const void *left, const void *right)
{
    const struct afperf_object *a = left, *b = right;
    int order = afperf_order_of(a->offset, b->offset);
    return order ? order : afperf_order_of(a->number, b->number);
}

/* Sorts runs or sections into file order, because implicit ones have been appended, and renumbers the references to them. */
static void put_in_file_order(struct afperf_model *model, enum afperf_thing thing)
{
    struct afperf_names *names = &model->names[thing];
    bool runs = thing == AFPERF_RUNS;
    uint32_t n = (uint32_t)(runs ? model->n_runs : model->n_sections);
    uint32_t *new_numbers = PF_OWN(model->run, calloc((size_t)n + 1, sizeof *new_numbers), free);
    for (uint32_t i = 0; i < n; i++)
        object_at(model, thing, i)->number = i;
    if (n && runs) /* struct afperf_object is the first member of both */
        qsort(model->runs, n, sizeof *model->runs, by_offset);
    else if (n)
        qsort(model->sections, n, sizeof *model->sections, by_offset);
    for (uint32_t i = 0; i < n; i++)
        new_numbers[object_at(model, thing, i)->number] = i;
    for (size_t i = 0; i < names->n; i++)
        if (names->refs[i].object != AFPERF_NONE)
            names->refs[i].object = new_numbers[names->refs[i].object];
}

/*
 * Resolves references to runs. Reference 0 is the run of all records before the first one that names a run. If the RunInfos define exactly
 * one run, reference 0 resolves to this run, otherwise to a provisional implicit run.
 */
static void resolve_runs(struct afperf_model *model)
{
    struct afperf_names *names = &model->names[AFPERF_RUNS];
    size_t defined = model->n_runs;
    resolve_refs(model, AFPERF_RUNS);
    names->refs[0].object = defined == 1 ? 0 : (uint32_t)model->n_runs;
    if (defined != 1)
        add_implicit(model, AFPERF_RUNS, &names->refs[0]);
    for (size_t i = 1; i < names->n; i++)
        if (names->refs[i].object == AFPERF_NONE)
            names->refs[i].object = names->refs[names->refs[i].current].object;
    list_meanings(model, AFPERF_RUNS);
}

void afperf_resolve_names(struct afperf_model *model)
{
    resolve_refs(model, AFPERF_SECTIONS);
    put_in_file_order(model, AFPERF_SECTIONS);
    list_meanings(model, AFPERF_SECTIONS);
    resolve_runs(model);
}

/* ---- types -------------------------------------------------------------------------------------- */

static int by_id_and_run(const void *left, const void *right)
{
    const struct afperf_measure *a = left, *b = right;
    int order = afperf_order_of(a->id, b->id);
    order = order ? order : afperf_order_of(a->run, b->run);
    return order ? order : afperf_order_of(a->line, b->line);
}

/* Merges `from` into `into`, which come from two references to the same run. The later definition of a field wins. */
static void merge_measures(struct afperf_measure *into, const struct afperf_measure *from)
{
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
    for (size_t i = 0; i < n; i++)
        all[i].run = afperf_run_of(model, all[i].run);
    if (n)
        qsort(all, n, sizeof *all, by_id_and_run);
    for (size_t i = 0; i < n; i++) {
        struct afperf_measure *last = kept ? &all[kept - 1] : NULL;
        if (last && last->id == all[i].id && last->run == all[i].run)
            merge_measures(last, &all[i]);
        else
            all[kept++] = all[i];
    }
    model->n_measures = kept;
}

/* ---- pauses ------------------------------------------------------------------------------------- */

static int by_run_and_start(const void *left, const void *right)
{
    const struct afperf_pause *a = left, *b = right;
    int order = afperf_order_of(a->run, b->run);
    order = order ? order : afperf_order_of(a->start, b->start);
    return order ? order : afperf_order_of(a->stop, b->stop);
}

/* Sorts the pauses by run, and merges those that overlap or touch. */
static void merge_pauses(struct afperf_model *model)
{
    struct afperf_pause *all = model->pauses;
    size_t kept = 0;
    for (size_t i = 0; i < model->n_pauses; i++)
        all[i].run = afperf_run_of(model, all[i].run);
    if (model->n_pauses)
        qsort(all, model->n_pauses, sizeof *all, by_run_and_start);
    for (size_t i = 0; i < model->n_pauses; i++) {
        struct afperf_pause *last = kept && all[kept - 1].run == all[i].run ? &all[kept - 1] : NULL;
        struct afperf_run *run = &model->runs[all[i].run];
        if (all[i].stop > run->end)
            run->end = all[i].stop;
        if (last && all[i].start <= last->stop) {
            last->stop = all[i].stop > last->stop ? all[i].stop : last->stop;
            continue;
        }
        all[i].before = last ? last->before + (last->stop - last->start) : 0;
        if (!last)
            run->pauses = kept;
        run->n_pauses++;
        all[kept++] = all[i];
    }
    model->n_pauses = kept;
}

/* ---- numbers of runs ---------------------------------------------------------------------------- */

/* Puts the runs in file order. Removes the provisional run, see resolve_runs, if no record needs it. */
static void order_runs(struct afperf_model *model)
{
    struct afperf_ref *initial = &model->names[AFPERF_RUNS].refs[0];
    struct afperf_object *run = &model->runs[initial->object].is;
    bool unneeded = run->implicit && !initial->line;
    if (run->implicit) {
        run->offset = unneeded ? UINT64_MAX : initial->offset;
        run->line = initial->line;
    }
    put_in_file_order(model, AFPERF_RUNS);
    if (unneeded)
        initial->object = AFPERF_NONE;
    model->n_runs -= unneeded;
}

void afperf_number_runs(struct afperf_model *model)
{
    order_runs(model);
    for (size_t i = 0; i < model->n_runs; i++) {
        model->runs[i].first_section = AFPERF_NONE;
        if (model->runs[i].is.implicit)
            afperf_note(model, AFPERF_UNRESOLVED_RUN, model->runs[i].is.offset, model->runs[i].is.line);
    }
    for (size_t i = model->n_sections; i-- > 0;) {
        struct afperf_run *run = &model->runs[afperf_run_of(model, model->sections[i].ref)];
        model->sections[i].next = run->first_section;
        run->first_section = (uint32_t)i;
    }
    resolve_measures(model);
    merge_pauses(model);
}
