/* SPDX-License-Identifier: MIT */
#include <stdlib.h>

#include "formats/afperf/afperf.h"

/* ---- owners of data ----------------------------------------------------------------------------- */

struct targeting {
    struct afperf_walk walk;
    struct afperf_event block; /* the last start or stop; data without an id belong to it */
    struct afperf_link block_link;
};

static void note_event(const struct targeting *targeting, enum afperf_problem problem)
{
    afperf_note(targeting->walk.model, problem, targeting->walk.event.offset, targeting->walk.event.line);
}

/*
 * Sets the target of data for which there is no region or section. If they are an aggregate with the id of a run, they belong to all
 * regions or all sections of this run, as `scope` says. Otherwise they are orphans.
 */
static void set_run_or_orphan(const struct targeting *targeting, struct afperf_target *target,
                              enum afperf_scope scope, enum afperf_problem problem)
{
    const struct afperf_event *data = &targeting->walk.event;
    uint32_t run = AFPERF_NONE;
    if (data->type == AFPERF_REGION_AGGREGATE || data->type == AFPERF_SECTION_AGGREGATE)
        run = afperf_find(targeting->walk.model, AFPERF_RUNS, data->id, data->offset);
    target->scope = run == AFPERF_NONE ? AFPERF_SCOPE_ORPHAN : scope;
    if (run == AFPERF_NONE)
        note_event(targeting, problem);
    else
        target->run = run;
}

/* Returns true if data without an id belong to the block: no RunInfo follows it, and its kind is `start`, or `stop` with a known start. */
static bool in_block(const struct targeting *targeting, enum afperf_event_kind start,
                     enum afperf_event_kind stop)
{
    uint8_t kind = targeting->block.kind;
    return !targeting->walk.event.apart &&
           (kind == start || (kind == stop && targeting->block_link.found == AFPERF_FOUND));
}

/* Sets the target to the region that the data name or, if they have no id, to the region of the block. */
static void set_region(const struct targeting *targeting, struct afperf_target *target)
{
    const struct afperf_link *link = &targeting->walk.link;
    if (targeting->walk.event.id_given && link->found == AFPERF_FOUND) {
        target->object = link->number;
        target->run = link->owner;
    } else if (!targeting->walk.event.id_given &&
               in_block(targeting, AFPERF_EVENT_REGION_START, AFPERF_EVENT_REGION_STOP)) {
        target->object = targeting->block_link.number;
        target->run = targeting->block_link.owner;
    }
}

/*
 * Returns the interval of `section` that the data belong to, or AFPERF_NONE. It is the interval that they name. If they name none and are
 * not processed, it is the interval of the block, if that belongs to this section.
 */
static uint32_t interval_of_data(const struct targeting *targeting, uint32_t section)
{
    const struct afperf_model *model = targeting->walk.model;
    const struct afperf_event *data = &targeting->walk.event;
    if (data->other_given && targeting->walk.link.found == AFPERF_FOUND)
        return targeting->walk.link.number;
    if (data->other_given)
        note_event(targeting, AFPERF_UNRESOLVED_INTERVAL);
    else if (!data->processed &&
             in_block(targeting, AFPERF_EVENT_INTERVAL_START, AFPERF_EVENT_INTERVAL_STOP) &&
             model->names[AFPERF_SECTIONS].refs[targeting->block.owner].object == section)
        return targeting->block_link.number;
    return AFPERF_NONE;
}

/* Sets the target of data about regions (if `region` is set) or sections: one of them, all of a run, or ORPHAN. */
static void target_object(const struct targeting *targeting, struct afperf_target *target, bool region)
{
    const struct afperf_model *model = targeting->walk.model;
    const struct afperf_event *data = &targeting->walk.event;
    enum afperf_scope whole = region ? AFPERF_SCOPE_RUN_REGIONS : AFPERF_SCOPE_RUN_SECTIONS;
    if (!data->id_given && data->processed) {
        target->scope = whole;
        return;
    }
    if (region)
        set_region(targeting, target);
    else
        target->object = afperf_section_of(model, data, &targeting->block);
    if (target->object == AFPERF_NONE) {
        set_run_or_orphan(targeting, target, whole,
                          region ? AFPERF_UNRESOLVED_REGION : AFPERF_UNRESOLVED_SECTION);
    } else if (region) {
        target->scope = AFPERF_SCOPE_REGION;
    } else {
        target->scope = AFPERF_SCOPE_SECTION;
        target->run = model->sections[target->object].ref;
        target->interval = interval_of_data(targeting, target->object);
    }
}

static struct afperf_target target_of(const struct targeting *targeting)
{
    const struct afperf_event *data = &targeting->walk.event;
    struct afperf_target target = {.offset = data->offset,
                                   .line = data->line,
                                   .scope = AFPERF_SCOPE_RUN,
                                   .run = data->owner,
                                   .object = AFPERF_NONE,
                                   .interval = AFPERF_NONE};
    if (data->type == AFPERF_REGION_POINT || data->type == AFPERF_REGION_AGGREGATE)
        target_object(targeting, &target, true);
    else if (data->type == AFPERF_SECTION_POINT || data->type == AFPERF_SECTION_AGGREGATE)
        target_object(targeting, &target, false);
    return target;
}

/* ---- runs --------------------------------------------------------------------------------------- */

static void extend_run(struct afperf_model *model, uint32_t run, uint64_t time)
{
    if (time > model->runs[run].end)
        model->runs[run].end = time;
}

/* ---- all events --------------------------------------------------------------------------------- */

static void target_data(struct targeting *targeting)
{
    struct afperf_model *model = targeting->walk.model;
    const struct afperf_target target = target_of(targeting);
    extend_run(model, afperf_run_of(model, target.run), targeting->walk.event.time);
    /* Data may be the only evidence that the unnamed first run exists. */
    afperf_need(&model->names[AFPERF_RUNS].refs[target.run], target.offset, target.line);
    afperf_append(model, model->stores[TARGETS], &target, sizeof target);
}

static void check_start(const struct targeting *targeting, uint32_t run)
{
    const struct afperf_event *event = &targeting->walk.event;
    const struct afperf_link *link = &targeting->walk.link;
    extend_run(targeting->walk.model, run, event->time);
    if (link->found != AFPERF_FOUND)
        return;
    extend_run(targeting->walk.model, run, link->time);
    if (link->time < event->time)
        note_event(targeting, AFPERF_NEGATIVE_DURATION);
}

static void check_stop(const struct targeting *targeting, bool resolved)
{
    if (!resolved)
        note_event(targeting, AFPERF_UNRESOLVED_SECTION);
    else if (targeting->walk.link.found == AFPERF_STOPPED_ALREADY)
        note_event(targeting, AFPERF_DUPLICATE_STOP);
    else if (targeting->walk.link.found == AFPERF_NOT_FOUND)
        note_event(targeting, AFPERF_STOP_WITHOUT_START);
}

static void target_event(struct targeting *targeting)
{
    struct afperf_model *model = targeting->walk.model;
    const struct afperf_event *event = &targeting->walk.event;
    const struct afperf_ref *sections = model->names[AFPERF_SECTIONS].refs;
    if (event->kind == AFPERF_EVENT_DATA) {
        target_data(targeting);
        return;
    }
    if (event->kind == AFPERF_EVENT_REGION_START)
        check_start(targeting, afperf_run_of(model, event->owner));
    else if (event->kind == AFPERF_EVENT_INTERVAL_START)
        check_start(targeting, afperf_run_of_section(model, sections[event->owner].object));
    else
        check_stop(targeting,
                   event->kind == AFPERF_EVENT_REGION_STOP || sections[event->owner].object != AFPERF_NONE);
    targeting->block = *event;
    targeting->block_link = targeting->walk.link;
}

void afperf_find_targets(struct afperf_model *model, struct pf_sorter *links)
{
    static const struct afperf_link none = {.number = AFPERF_NONE};
    struct targeting targeting = {.walk = {.model = model}};
    struct pf_store *store = afperf_new_store(model);
    struct afperf_walk *walk = &targeting.walk;
    const struct afperf_link_record *record = afperf_sorted(model, links);
    while (afperf_walk(walk)) {
        bool linked = record && record->index == walk->next - 1;
        walk->link = linked ? record->link : none;
        if (linked)
            record = afperf_sorted(model, links);
        afperf_append(model, store, &walk->link, sizeof walk->link);
        target_event(&targeting);
    }
    model->links = store;
}

/* ---- types -------------------------------------------------------------------------------------- */

/*
 * Returns the first measurement type with this id that `run` or a later run defines, by binary search; NULL if there is
 * none.
 */
static const struct afperf_measure *first_measure(const struct afperf_model *model, uint64_t id, uint32_t run)
{
    const struct afperf_measure *all = model->measures;
    size_t low = 0, high = model->n_measures;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (all[middle].id < id || (all[middle].id == id && all[middle].run < run))
            low = middle + 1;
        else
            high = middle;
    }
    return low < model->n_measures && all[low].id == id ? &all[low] : NULL;
}

const struct afperf_measure *afperf_find_measure(const struct afperf_model *model, uint64_t id, uint32_t run,
                                                 bool *own)
{
    const struct afperf_measure *measure = first_measure(model, id, run);
    *own = measure && measure->run == run;
    return *own ? measure : first_measure(model, id, 0);
}

/* ---- values ------------------------------------------------------------------------------------- */

int afperf_read_again(struct afperf_reader *reader, uint64_t offset, uint64_t line,
                      struct afperf_record *record, struct afperf_decoded *decoded, struct pf_error *error)
{
    afperf_reader_seek(reader, offset, line);
    int got = afperf_next_decoded(reader, record, decoded, error);
    return got > 0 && record->kind != AFPERF_FIELDS ? 0 : got;
}

/* Adds warnings about invalid values and undefined measurement types of a data record. */
static void check_values(struct afperf_model *model, const struct afperf_target *target,
                         struct afperf_reader *reader)
{
    struct afperf_record record;
    struct afperf_decoded decoded;
    struct afperf_pair pair;
    if (!pf_run_check(model->run, afperf_read_again(reader, target->offset, target->line, &record, &decoded,
                                                    model->run->error)))
        return;
    for (size_t at = decoded.values; afperf_next_pair(&record, &decoded, &at, &pair);) {
        bool own;
        const struct afperf_measure *measure =
            afperf_find_measure(model, pair.type_id, afperf_run_of(model, target->run), &own);
        struct pf_cell cell;
        if (!own)
            afperf_note(model, AFPERF_UNDEFINED_TYPE, target->offset, target->line);
        if (!afperf_value(measure ? measure->datatype : AFPERF_ANY, pair.value, &cell))
            afperf_note(model, AFPERF_BAD_VALUE, target->offset, target->line);
    }
}

void afperf_check_data(struct afperf_model *model)
{
    struct pf_run *run = model->run;
    struct afperf_reader *reader = PF_OWN(run, afperf_reader_new(model->input), afperf_reader_free);
    struct pf_store_window *targets = afperf_window(model, model->stores[TARGETS]);
    struct afperf_target target;
    uint64_t n = pf_store_size(model->stores[TARGETS]) / sizeof target;
    for (uint64_t i = 0; i < n; i++) {
        afperf_item(model, targets, i, &target, sizeof target);
        pf_run_check(run, pf_pass_step(i, n, run->error));
        check_values(model, &target, reader);
    }
}
