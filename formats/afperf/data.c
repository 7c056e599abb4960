/* SPDX-License-Identifier: MIT */
#include "formats/afperf/data.h"

#include <string.h>

int afperf_walk_open(struct afperf_walk *walk, const struct afperf_model *model, struct pf_error *error)
{
    memset(walk, 0, sizeof *walk);
    walk->model = model;
    walk->reader = afperf_reader_new(model->input);
    walk->next = (struct afperf_place){.line = 1, .run = AFPERF_NONE};
    return walk->reader ? 0 : pf_fail_memory(error);
}

void afperf_walk_close(struct afperf_walk *walk)
{
    afperf_reader_free(walk->reader);
}

void afperf_walk_go(struct afperf_walk *walk, const struct afperf_place *place)
{
    walk->next = *place;
    memset(walk->recent, 0, sizeof walk->recent);
    afperf_reader_seek(walk->reader, place->offset, place->line);
}

/* ---- records ------------------------------------------------------------------------------------ */

static uint32_t *recent(struct afperf_walk *walk, uint64_t id)
{
    return &walk->recent[id % AFPERF_WALK_RECENT];
}

/* Data will speak of this region: it is the newest of its id. */
static void take_region(struct afperf_walk *walk, uint32_t number)
{
    const struct afperf_span *region = &walk->model->regions.items[number];
    walk->next.run = afperf_region_run(walk->model, region);
    if (!(region->flags & AFPERF_ANONYMOUS))
        *recent(walk, region->id) = number + 1;
}

/* A record that the log tells of: what it names is the current run from here on. */
static void take_mark(struct afperf_walk *walk)
{
    const struct afperf_model *model = walk->model;
    uint32_t event = model->log[walk->next.events++], number = afperf_event_number(event);
    if (afperf_event_kind(event) == AFPERF_EVENT_SECTION) {
        walk->next.run = model->sections[model->section_refs[number].section].run;
        return;
    }
    if (afperf_event_kind(event) == AFPERF_EVENT_RUN)
        walk->next.run = model->refs[number].run;
    else if (afperf_event_kind(event) == AFPERF_EVENT_REGION_START)
        take_region(walk, number);
    walk->next.block = walk->next.events;
}

int afperf_walk_next(struct afperf_walk *walk, struct pf_error *error)
{
    const struct afperf_model *model = walk->model;
    int got;
    while (walk->next.offset < model->end &&
           (got = afperf_next_decoded(walk->reader, &walk->record, &walk->decoded, error)) != 0) {
        if (got < 0)
            return -1;
        if (walk->record.offset >= model->end)
            break;
        walk->place = walk->next;
        walk->place.offset = walk->record.offset;
        walk->place.line = walk->record.line;
        walk->next.offset = afperf_reader_tell(walk->reader, &walk->next.line);
        if (walk->record.kind == AFPERF_HEADER)
            walk->next.segment = afperf_segment_at(model, walk->record.offset);
        if (walk->record.kind != AFPERF_FIELDS || walk->decoded.error)
            continue;
        if (afperf_is_data(walk->decoded.type))
            return 1;
        if (afperf_is_mark(walk->decoded.type) && walk->next.events < model->n_log)
            take_mark(walk);
    }
    return 0;
}

/* ---- targets ------------------------------------------------------------------------------------ */

static uint32_t current_run(const struct afperf_walk *walk)
{
    return walk->place.run != AFPERF_NONE ? walk->place.run : walk->model->refs[0].run;
}

/* Data of the current run that belong to no region or section of it that is known. */
static void set_current(const struct afperf_walk *walk, struct afperf_target *target, enum afperf_scope scope)
{
    target->scope = scope;
    target->run = current_run(walk);
    target->current = true;
}

/* An aggregate's id may be a run's; else nothing has it. */
static void set_run_or_orphan(const struct afperf_walk *walk, struct afperf_target *target,
                              enum afperf_scope scope, enum afperf_problem problem)
{
    const struct afperf_model *model = walk->model;
    const struct afperf_decoded *decoded = &walk->decoded;
    struct afperf_segment segment = afperf_segment(model, walk->place.segment);
    bool aggregate = decoded->type == AFPERF_REGION_AGGREGATE || decoded->type == AFPERF_SECTION_AGGREGATE;
    uint32_t run = aggregate ? afperf_find_named(model->runs_by_id, model->n_runs_by_id, decoded->object.id,
                                                 walk->place.offset, &segment)
                             : AFPERF_NONE;
    if (run == AFPERF_NONE) {
        set_current(walk, target, AFPERF_SCOPE_ORPHAN);
        target->problem = problem;
        return;
    }
    target->scope = scope;
    target->run = run;
}

/* The event that data without id belong to. */
static uint32_t block_of(const struct afperf_walk *walk)
{
    return walk->place.block ? walk->model->log[walk->place.block - 1] : afperf_event(AFPERF_EVENT_RUN, 0);
}

/* The region that an id means. Most data speak of one that has just started. */
static uint32_t find_region(const struct afperf_walk *walk, uint64_t id)
{
    const struct afperf_spans *regions = &walk->model->regions;
    struct afperf_segment segment = afperf_segment(walk->model, walk->place.segment);
    uint32_t number = walk->recent[id % AFPERF_WALK_RECENT];
    if (number && regions->items[number - 1].id == id && regions->items[number - 1].offset >= segment.start)
        return number - 1;
    return afperf_spans_find(regions, 0, id, walk->place.offset, &segment);
}

static void target_region(const struct afperf_walk *walk, struct afperf_target *target)
{
    const struct afperf_model *model = walk->model;
    const struct afperf_decoded *decoded = &walk->decoded;
    uint32_t block = block_of(walk);
    if (decoded->object.given) {
        target->object = find_region(walk, decoded->object.id);
    } else if (decoded->aggregation.size) {
        set_current(walk, target, AFPERF_SCOPE_RUN_REGIONS);
        return;
    } else if (afperf_event_is_region(block) && afperf_event_number(block) != AFPERF_NO_NUMBER) {
        target->object = afperf_event_number(block);
    }
    if (target->object != AFPERF_NONE) {
        target->scope = AFPERF_SCOPE_REGION;
        target->run = afperf_region_run(model, &model->regions.items[target->object]);
    } else if (decoded->object.given) {
        set_run_or_orphan(walk, target, AFPERF_SCOPE_RUN_REGIONS, AFPERF_UNRESOLVED_REGION);
    } else {
        set_current(walk, target, AFPERF_SCOPE_ORPHAN);
        target->problem = AFPERF_UNRESOLVED_REGION;
    }
}

/* The section that an event is of, or AFPERF_NONE. */
static uint32_t section_of(const struct afperf_model *model, uint32_t event)
{
    uint32_t number = afperf_event_number(event);
    if (afperf_event_is_interval(event))
        return model->intervals.items[number].owner;
    bool known = afperf_event_kind(event) == AFPERF_EVENT_LOST_STOP && model->section_refs[number].known;
    return known ? model->section_refs[number].section : AFPERF_NONE;
}

/* The interval of the section that the data name, else (unless they are processed) that of the block. */
static void target_interval(const struct afperf_walk *walk, struct afperf_target *target, uint32_t block)
{
    const struct afperf_model *model = walk->model;
    const struct afperf_decoded *decoded = &walk->decoded;
    struct afperf_segment segment = afperf_segment(model, walk->place.segment);
    uint32_t interval = AFPERF_NONE;
    if (decoded->interval.given) {
        interval = afperf_spans_find(&model->intervals, target->object, decoded->interval.id,
                                     walk->place.offset, &segment);
        if (interval == AFPERF_NONE)
            target->problem = AFPERF_UNRESOLVED_INTERVAL;
    } else if (!decoded->aggregation.size && afperf_event_is_interval(block)) {
        interval = afperf_event_number(block);
        if (model->intervals.items[interval].owner != target->object)
            interval = AFPERF_NONE;
    }
    if (interval != AFPERF_NONE)
        target->interval = model->intervals.items[interval].parent;
}

static void target_section(const struct afperf_walk *walk, struct afperf_target *target)
{
    const struct afperf_model *model = walk->model;
    const struct afperf_decoded *decoded = &walk->decoded;
    struct afperf_segment segment = afperf_segment(model, walk->place.segment);
    uint32_t block = block_of(walk);
    if (decoded->object.given) {
        target->object = afperf_find_named(model->sections_by_id, model->n_sections_by_id, decoded->object.id,
                                           walk->place.offset, &segment);
    } else if (decoded->aggregation.size) {
        set_current(walk, target, AFPERF_SCOPE_RUN_SECTIONS);
        return;
    } else {
        target->object = section_of(model, block);
    }
    if (target->object != AFPERF_NONE) {
        target->scope = AFPERF_SCOPE_SECTION;
        target->run = model->sections[target->object].run;
        target_interval(walk, target, block);
    } else if (decoded->object.given) {
        set_run_or_orphan(walk, target, AFPERF_SCOPE_RUN_SECTIONS, AFPERF_UNRESOLVED_SECTION);
    } else {
        set_current(walk, target, AFPERF_SCOPE_ORPHAN);
        target->problem = AFPERF_UNRESOLVED_SECTION;
    }
}

static void target_run(const struct afperf_walk *walk, struct afperf_target *target)
{
    const struct afperf_model *model = walk->model;
    struct afperf_segment segment = afperf_segment(model, walk->place.segment);
    set_current(walk, target, AFPERF_SCOPE_RUN);
    if (!walk->decoded.run.given)
        return;
    target->current = false;
    target->run = afperf_find_named(model->runs_by_id, model->n_runs_by_id, walk->decoded.run.id,
                                    walk->place.offset, &segment);
}

bool afperf_walk_target(const struct afperf_walk *walk, struct afperf_target *target)
{
    *target =
        (struct afperf_target){.object = AFPERF_NONE, .interval = AFPERF_NONE, .problem = AFPERF_PROBLEMS};
    if (walk->decoded.type == AFPERF_REGION_POINT || walk->decoded.type == AFPERF_REGION_AGGREGATE)
        target_region(walk, target);
    else if (walk->decoded.type == AFPERF_SECTION_POINT || walk->decoded.type == AFPERF_SECTION_AGGREGATE)
        target_section(walk, target);
    else
        target_run(walk, target);
    return target->run != AFPERF_NONE;
}

/* ---- types -------------------------------------------------------------------------------------- */

/* The first type of this id that a run from this one on defines, or NULL. */
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

/* ---- looking again ------------------------------------------------------------------------------ */

/* What is wrong with the values of the current record. */
static void check_values(struct afperf_model *model, const struct afperf_walk *walk, uint32_t run)
{
    struct afperf_pair pair;
    for (size_t at = walk->decoded.values; afperf_next_pair(&walk->record, &walk->decoded, &at, &pair);) {
        bool own;
        const struct afperf_measure *measure = afperf_find_measure(model, pair.type_id, run, &own);
        struct pf_cell cell;
        if (!own)
            afperf_note(model, AFPERF_UNDEFINED_TYPE, walk->place.offset, walk->place.line);
        if (!afperf_value(measure ? measure->datatype : AFPERF_ANY, pair.value, &cell))
            afperf_note(model, AFPERF_BAD_VALUE, walk->place.offset, walk->place.line);
    }
}

/* Notes where data stand that could not be told while reading. */
static void locate(struct afperf_model *model, const struct afperf_walk *walk,
                   const struct afperf_target *target)
{
    struct afperf_extent here = afperf_extent_at(walk->place.offset);
    afperf_extend(&model->runs[target->run].data, here);
    if (target->scope == AFPERF_SCOPE_SECTION)
        afperf_extend(&model->sections[target->object].data, here);
    if (target->scope != AFPERF_SCOPE_REGION)
        return;
    struct afperf_span *region = &model->regions.items[target->object];
    if (here.end > region->data_end)
        region->data_end = here.end;
    if (walk->place.offset < region->offset)
        region->flags |= AFPERF_EARLY_DATA;
}

static void check(struct afperf_model *model, const struct afperf_walk *walk)
{
    struct afperf_target target;
    if (!afperf_walk_target(walk, &target))
        return;
    model->initial_used |= target.current && walk->place.run == AFPERF_NONE;
    locate(model, walk, &target);
    struct afperf_run *run = &model->runs[target.run];
    if (walk->decoded.end > run->end)
        run->end = walk->decoded.end;
    if (target.problem != AFPERF_PROBLEMS)
        afperf_note(model, target.problem, walk->place.offset, walk->place.line);
    check_values(model, walk, target.run);
}

/* How often to say how far a pass is: records. */
enum { RECORDS_A_STEP = 4096 };

static int check_all(struct afperf_model *model, struct afperf_walk *walk, struct pf_pass *pass,
                     struct pf_error *error)
{
    int more;
    for (uint64_t i = 0; (more = afperf_walk_next(walk, error)) > 0; i++) {
        if (i % RECORDS_A_STEP == 0 && pf_pass_step(pass, walk->place.offset, model->end, error) < 0)
            return -1;
        check(model, walk);
    }
    return more;
}

static int check_doubtful(struct afperf_model *model, struct afperf_walk *walk, struct pf_pass *pass,
                          struct pf_error *error)
{
    uint64_t size = pf_store_size(model->doubtful), i = 0;
    struct afperf_place place;
    for (uint64_t at = 0; at < size; at += sizeof place, i++) {
        if (pf_store_read(model->doubtful, at, &place, sizeof place, error) < 0)
            return -1;
        if (i % RECORDS_A_STEP == 0 && pf_pass_step(pass, at, size, error) < 0)
            return -1;
        place.run = place.run ? model->refs[place.run].run : AFPERF_NONE;
        afperf_walk_go(walk, &place);
        int got = afperf_walk_next(walk, error);
        if (got < 0)
            return -1;
        if (got)
            check(model, walk);
    }
    return 0;
}

int afperf_look_again(struct afperf_model *model, struct pf_pass *pass, struct pf_error *error)
{
    struct afperf_walk walk;
    if (!model->doubt_all && !pf_store_size(model->doubtful))
        return 0;
    int result = afperf_walk_open(&walk, model, error);
    if (!result)
        result = (model->doubt_all ? check_all : check_doubtful)(model, &walk, pass, error);
    afperf_walk_close(&walk);
    return result;
}
