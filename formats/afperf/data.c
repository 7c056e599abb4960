/* SPDX-License-Identifier: MIT */
#include <stdlib.h>

#include "formats/afperf/model.h"

/* ---- targets ------------------------------------------------------------------------------------ */

/*
 * The id of the data is undefined. An aggregate may have the id of a run, and then covers all regions or sections of
 * the run; any other data are orphaned.
 */
static void set_run_or_orphan(struct afperf_model *model, const struct afperf_data *data,
                              struct afperf_target *target, enum afperf_scope scope,
                              enum afperf_problem problem)
{
    uint32_t run = AFPERF_NONE;
    if (data->type == AFPERF_REGION_AGGREGATE || data->type == AFPERF_SECTION_AGGREGATE)
        run = afperf_find(model, &model->names[AFPERF_RUNS].index, 0, data->object.id, data->offset);
    target->scope = run == AFPERF_NONE ? AFPERF_SCOPE_ORPHAN : scope;
    if (run == AFPERF_NONE)
        afperf_note(model, problem, data->offset, data->line);
    else
        target->run = run;
}

/* Returns the event that data without id belong to. */
static struct afperf_event block_of(const struct afperf_model *model, const struct afperf_data *data)
{
    return data->block ? model->log[data->block - 1] : (struct afperf_event){AFPERF_EVENT_RUN, 0};
}

/* Returns the region that the data name, else the region of the block; AFPERF_NONE if there is none. */
static uint32_t region_of(const struct afperf_model *model, const struct afperf_data *data)
{
    if (data->object.given)
        return afperf_find(model, &model->regions.index, 0, data->object.id, data->offset);
    const struct afperf_event block = block_of(model, data);
    return afperf_event_is_region(block) && block.number != AFPERF_NO_NUMBER ? block.number : AFPERF_NONE;
}

static uint32_t section_of(const struct afperf_model *model, const struct afperf_data *data)
{
    const struct afperf_names *names = &model->names[AFPERF_SECTIONS];
    const struct afperf_event block = block_of(model, data);
    uint32_t ref = AFPERF_NONE;
    if (data->object.given)
        ref = afperf_find(model, &names->index, 0, data->object.id, data->offset);
    else if (afperf_event_is_interval(block))
        return model->intervals.items[block.number].owner;
    else if (block.kind == AFPERF_EVENT_LOST_STOP)
        ref = block.number;
    return ref == AFPERF_NONE ? AFPERF_NONE : names->refs[ref].object;
}

/*
 * Returns the interval of `section` that the data name. Unprocessed data without interval id belong to the block's
 * interval, if it is one of this section. AFPERF_NONE if there is none.
 */
static uint32_t interval_of(struct afperf_model *model, const struct afperf_data *data, uint32_t section)
{
    const struct afperf_span *intervals = model->intervals.items;
    const struct afperf_event block = block_of(model, data);
    if (data->interval.given) {
        uint32_t interval =
            afperf_find(model, &model->intervals.index, section, data->interval.id, data->offset);
        if (interval != AFPERF_NONE)
            return intervals[interval].number;
        afperf_note(model, AFPERF_UNRESOLVED_INTERVAL, data->offset, data->line);
    } else if (!data->processed && afperf_event_is_interval(block) &&
               intervals[block.number].owner == section) {
        return intervals[block.number].number;
    }
    return AFPERF_NONE;
}

/* Sets the target of data of a region or section, or of all regions or sections of a run. */
static void target_object(struct afperf_model *model, const struct afperf_data *data,
                          struct afperf_target *target, bool region)
{
    enum afperf_scope whole = region ? AFPERF_SCOPE_RUN_REGIONS : AFPERF_SCOPE_RUN_SECTIONS;
    if (!data->object.given && data->processed) {
        target->scope = whole;
        return;
    }
    target->object = region ? region_of(model, data) : section_of(model, data);
    if (target->object == AFPERF_NONE) {
        set_run_or_orphan(model, data, target, whole,
                          region ? AFPERF_UNRESOLVED_REGION : AFPERF_UNRESOLVED_SECTION);
    } else if (region) {
        target->scope = AFPERF_SCOPE_REGION;
        target->run = model->regions.items[target->object].owner;
    } else {
        target->scope = AFPERF_SCOPE_SECTION;
        target->run = model->sections[target->object].ref;
        target->interval = interval_of(model, data, target->object);
    }
}

static struct afperf_target target_of(struct afperf_model *model, const struct afperf_data *data)
{
    struct afperf_target target = {.offset = data->offset,
                                   .line = data->line,
                                   .scope = AFPERF_SCOPE_RUN,
                                   .run = data->run,
                                   .object = AFPERF_NONE,
                                   .interval = AFPERF_NONE};
    if (data->type == AFPERF_REGION_POINT || data->type == AFPERF_REGION_AGGREGATE)
        target_object(model, data, &target, true);
    else if (data->type == AFPERF_SECTION_POINT || data->type == AFPERF_SECTION_AGGREGATE)
        target_object(model, data, &target, false);
    return target;
}

/*
 * Extends the run to the end of its data, and marks its reference as needed. Data may be the only evidence of the
 * unnamed first run.
 */
static void tell_run(struct afperf_model *model, const struct afperf_data *data, uint32_t ref)
{
    struct afperf_ref *needed = &model->names[AFPERF_RUNS].refs[ref];
    struct afperf_run *run = &model->runs[needed->object];
    if (data->end > run->end)
        run->end = data->end;
    if (needed->line && needed->line <= data->line)
        return;
    needed->line = data->line;
    needed->offset = data->offset;
}

static int add_target(struct afperf_model *model, struct pf_store_window *from, uint64_t at,
                      struct pf_error *error)
{
    const struct afperf_data *data = pf_store_at(from, at, sizeof *data, error);
    if (!data)
        return -1;
    const struct afperf_target target = target_of(model, data);
    tell_run(model, data, target.run);
    return pf_store_append(model->targets, &target, sizeof target, error);
}

int afperf_find_targets(struct afperf_model *model, struct pf_error *error)
{
    struct pf_store_window from = {.store = model->data};
    uint64_t size = pf_store_size(model->data);
    int result = 0;
    for (uint64_t at = 0; at < size && !result; at += sizeof(struct afperf_data))
        result = pf_pass_step(at, size, error) ? -1 : add_target(model, &from, at, error);
    pf_store_window_free(&from);
    return result;
}

/* ---- types -------------------------------------------------------------------------------------- */

/* Binary search: returns the first type with this id that a run from `run` on defines, or NULL. */
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

/* Notes the invalid values of a data record. */
static int check_values(struct afperf_model *model, const struct afperf_target *target,
                        struct afperf_reader *reader, struct pf_error *error)
{
    struct afperf_record record;
    struct afperf_decoded decoded;
    struct afperf_pair pair;
    int got = afperf_read_again(reader, target->offset, target->line, &record, &decoded, error);
    if (got <= 0)
        return got;
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
    return 0;
}

int afperf_check_data(struct afperf_model *model, struct pf_error *error)
{
    struct pf_store_window from = {.store = model->targets};
    struct afperf_reader *reader = afperf_reader_new(model->input);
    uint64_t size = pf_store_size(model->targets);
    int result = reader ? 0 : pf_fail_memory(error);
    for (uint64_t at = 0; at < size && !result; at += sizeof(struct afperf_target)) {
        const struct afperf_target *target = pf_store_at(&from, at, sizeof *target, error);
        result = !target || pf_pass_step(at, size, error) ? -1 : check_values(model, target, reader, error);
    }
    pf_store_window_free(&from);
    afperf_reader_free(reader);
    return result;
}
