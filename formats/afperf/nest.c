/* SPDX-License-Identifier: MIT */
#include "formats/afperf/nest.h"

#include <stdlib.h>

/* ---- contexts and nodes ------------------------------------------------------------------------- */

/* Makes room for a context in the lists of first and last nodes. */
static int know_context(struct afperf_model *model, uint32_t context, struct pf_error *error)
{
    while (model->n_first_node <= context) {
        if (afperf_grow(&model->first_node, model->n_first_node, &model->first_node_room,
                        sizeof *model->first_node, error) < 0 ||
            afperf_grow(&model->last_node, model->n_first_node, &model->last_node_room,
                        sizeof *model->last_node, error) < 0)
            return -1;
        model->first_node[model->n_first_node] = model->last_node[model->n_first_node] = AFPERF_NONE;
        model->n_first_node++;
    }
    return 0;
}

uint32_t afperf_node_of(struct afperf_model *model, uint32_t run, uint32_t context, struct pf_error *error)
{
    if (know_context(model, context, error) < 0)
        return AFPERF_NONE;
    uint32_t last = model->last_node[context];
    if (last != AFPERF_NONE && model->nodes[last].run == run)
        return last;
    if (AFPERF_GROW(model, nodes, error) < 0)
        return AFPERF_NONE;
    uint32_t node = (uint32_t)model->n_nodes++;
    model->nodes[node] =
        (struct afperf_node){.run = run, .context = context, .next = AFPERF_NONE, .times = AFPERF_NONE};
    if (last == AFPERF_NONE)
        model->first_node[context] = node;
    else
        model->nodes[last].next = node;
    model->last_node[context] = node;
    return node;
}

uint32_t afperf_first_node(const struct afperf_model *model, uint32_t context)
{
    return context < model->n_first_node ? model->first_node[context] : AFPERF_NONE;
}

/* What a region is called in its path: its label, else its id. */
static uint32_t name_of(struct afperf_model *model, const struct afperf_span *region, struct pf_error *error)
{
    char id[AFPERF_HEX];
    if (region->label != PF_NO_STRING)
        return region->label;
    if (region->flags & AFPERF_ANONYMOUS)
        return pf_intern(model->tree->strings, "(blank)", sizeof "(blank)" - 1, error);
    return pf_intern(model->tree->strings, id, afperf_hex(region->id, id), error);
}

int afperf_enter(struct afperf_model *model, uint32_t number, uint32_t run, struct pf_error *error)
{
    struct afperf_span *region = afperf_span(&model->regions, number);
    bool root = region->parent == AFPERF_NONE;
    uint32_t around =
        root ? PF_NO_CONTEXT : model->nodes[afperf_span(&model->regions, region->parent)->owner].context;
    uint32_t name = name_of(model, region, error);
    if (name == PF_NO_STRING)
        return -1;
    uint8_t flags = root ? PF_FRAME | PF_ROOT : PF_FRAME;
    uint32_t context = pf_tree_child(model->tree, around, name, name, AFPERF_KIND_REGION, flags, error);
    if (context == PF_NO_CONTEXT)
        return -1;
    region->owner = afperf_node_of(model, run, context, error);
    if (region->owner == AFPERF_NONE)
        return -1;
    struct afperf_node *node = &model->nodes[region->owner];
    if (region->data_end > node->data_end)
        node->data_end = region->data_end;
    region->covered = region->covered_net = 0;
    return 0;
}

/* Where data of a region may begin: with its start record, if they do not stand before it. */
static uint32_t first_data_of(const struct afperf_span *region)
{
    return region->flags & AFPERF_EARLY_DATA ? 0 : afperf_block_of(afperf_span_offset(region));
}

/* The times of a region that has been left. */
static struct afperf_times times_of(const struct afperf_model *model, uint32_t number,
                                    const struct afperf_run *run)
{
    const struct afperf_span *region = afperf_span(&model->regions, number);
    uint64_t inclusive = region->stop - region->start;
    uint64_t paused = afperf_paused(model, run, region->start, region->stop);
    return (struct afperf_times){.inclusive = inclusive,
                                 .exclusive = region->exclusive,
                                 .inclusive_net = inclusive - paused,
                                 .exclusive_net = region->exclusive_net,
                                 .first_region = number,
                                 .last_region = number,
                                 .data_first = first_data_of(region)};
}

/* True if the node is one region's. */
static bool is_single(const struct afperf_model *model, const struct afperf_node *node)
{
    return node->calls == 1 && model->tree->kind[node->context] == AFPERF_KIND_REGION;
}

struct afperf_times afperf_times_of(const struct afperf_model *model, const struct afperf_node *node)
{
    return is_single(model, node) ? times_of(model, node->times, &model->runs[node->run])
                                  : model->times[node->times];
}

struct afperf_extent afperf_data_of(const struct afperf_model *model, uint32_t context)
{
    struct afperf_extent data = {0};
    for (uint32_t n = afperf_first_node(model, context); n != AFPERF_NONE; n = model->nodes[n].next) {
        const struct afperf_node *node = &model->nodes[n];
        uint32_t first = is_single(model, node) ? first_data_of(afperf_span(&model->regions, node->times))
                                                : model->times[node->times].data_first;
        afperf_extend(&data, (struct afperf_extent){first, node->data_end});
    }
    return data;
}

void afperf_regions_of_node(const struct afperf_model *model, const struct afperf_node *node, uint32_t *first,
                            uint32_t *end)
{
    bool single = is_single(model, node);
    *first = single ? node->times : model->times[node->times].first_region;
    *end = 1 + (single ? node->times : model->times[node->times].last_region);
}

void afperf_regions_of(const struct afperf_model *model, uint32_t context, uint32_t *first, uint32_t *end)
{
    *first = *end = 0;
    if (model->tree->kind[context] != AFPERF_KIND_REGION)
        return;
    for (uint32_t n = afperf_first_node(model, context); n != AFPERF_NONE; n = model->nodes[n].next) {
        uint32_t low, high;
        afperf_regions_of_node(model, &model->nodes[n], &low, &high);
        *first = *end && *first < low ? *first : low;
        *end = high > *end ? high : *end;
    }
}

static void add_times(struct afperf_times *sum, const struct afperf_times *times)
{
    sum->inclusive += times->inclusive;
    sum->exclusive += times->exclusive;
    sum->inclusive_net += times->inclusive_net;
    sum->exclusive_net += times->exclusive_net;
    sum->first_region = times->first_region < sum->first_region ? times->first_region : sum->first_region;
    sum->last_region = times->last_region > sum->last_region ? times->last_region : sum->last_region;
    sum->data_first = times->data_first < sum->data_first ? times->data_first : sum->data_first;
}

int afperf_leave(struct afperf_model *model, uint32_t number, struct pf_error *error)
{
    struct afperf_span *region = afperf_span(&model->regions, number);
    struct afperf_node *node = &model->nodes[region->owner];
    const struct afperf_run *run = &model->runs[node->run];
    uint64_t inclusive = region->stop - region->start;
    uint64_t net = inclusive - afperf_paused(model, run, region->start, region->stop);
    region->exclusive = inclusive - region->covered;
    region->exclusive_net = net - region->covered_net;
    if (!node->calls) {
        node->calls = 1;
        node->times = number;
        return 0;
    }
    if (node->calls == 1) {
        if (AFPERF_GROW(model, times, error) < 0)
            return -1;
        model->times[model->n_times] = times_of(model, node->times, run);
        node->times = (uint32_t)model->n_times++;
    }
    struct afperf_times times = times_of(model, number, run);
    node->calls++;
    add_times(&model->times[node->times], &times);
    return 0;
}

/* ---- replay ------------------------------------------------------------------------------------- */

/* The events of a run one by one, with a stack of open regions: each one's parent is the one below it. */
struct replay {
    struct afperf_model *model;
    struct afperf_log_reader *timeline;
    uint32_t run;
    uint32_t top;
    bool trial; /* only sees whether every stop fits */
};

static int note_unclosed(struct afperf_model *model, const struct afperf_span *region, struct pf_error *error)
{
    return afperf_note(&model->notes, AFPERF_UNCLOSED_REGION, afperf_span_offset(region), 0, error);
}

static int push(struct replay *replay, uint32_t number, struct pf_error *error)
{
    afperf_span(&replay->model->regions, number)->parent = replay->top;
    replay->top = number;
    return replay->trial ? 0 : afperf_enter(replay->model, number, replay->run, error);
}

/* Takes off the innermost region; it covers its parent's time. */
static int pop(struct replay *replay, struct pf_error *error)
{
    struct afperf_model *model = replay->model;
    uint32_t number = replay->top;
    const struct afperf_span *region = afperf_span(&model->regions, number);
    replay->top = region->parent;
    if (replay->trial)
        return 0;
    if (afperf_leave(model, number, error) < 0)
        return -1;
    if (region->parent == AFPERF_NONE)
        return 0;
    struct afperf_span *parent = afperf_span(&model->regions, region->parent);
    parent->covered += region->stop - region->start;
    parent->covered_net += region->stop - region->start -
                           afperf_paused(model, &model->runs[replay->run], region->start, region->stop);
    return 0;
}

/* Closes the regions above `number` at this time. 1; 0: one of them has a stop, so that the run's regions overlap. */
static int close_above(struct replay *replay, uint32_t number, uint64_t time, struct pf_error *error)
{
    while (replay->top != number) {
        if (replay->top == AFPERF_NONE)
            return 0;
        struct afperf_span *region = afperf_span(&replay->model->regions, replay->top);
        if (region->flags & AFPERF_CLOSED)
            return 0;
        if (!replay->trial) {
            region->stop = time;
            if (note_unclosed(replay->model, region, error) < 0)
                return -1;
        }
        if (pop(replay, error) < 0)
            return -1;
    }
    return 1;
}

/* 1; 0: the run's regions do not nest; -1: *error filled. */
static int play(struct replay *replay, struct pf_error *error)
{
    const struct afperf_run *run = &replay->model->runs[replay->run];
    replay->top = AFPERF_NONE;
    for (uint64_t i = 0; i < run->n_events; i++) {
        uint64_t event;
        if (afperf_log_get(replay->timeline, run->events + i, &event, error) < 0)
            return -1;
        uint32_t number = afperf_event_number(event);
        if (afperf_event_kind(event) == AFPERF_EVENT_REGION_START) {
            if (push(replay, number, error) < 0)
                return -1;
        } else if (afperf_event_kind(event) == AFPERF_EVENT_REGION_STOP) {
            uint64_t time = afperf_span(&replay->model->regions, number)->stop;
            int fits = close_above(replay, number, time, error);
            if (fits <= 0)
                return fits;
            if (pop(replay, error) < 0)
                return -1;
        }
    }
    return close_above(replay, AFPERF_NONE, run->end, error);
}

/* ---- all runs ----------------------------------------------------------------------------------- */

/* Lets the processor fetch a region; it mostly lies on two of its cache lines. */
static void expect(const struct afperf_model *model, uint32_t region)
{
    const char *start = (const char *)afperf_span(&model->regions, region);
    __builtin_prefetch(start);
    __builtin_prefetch(start + sizeof(struct afperf_span) - 1);
}

/* Regions that come as they nest: parents are known, and a region is left when one comes that is not inside. */
static int nest_in_order(struct afperf_model *model, uint32_t number, struct pf_error *error)
{
    struct replay replay = {.model = model, .run = number, .top = AFPERF_NONE};
    uint32_t next = model->runs[number].first_region;
    while (next) {
        uint32_t region = next - 1;
        const struct afperf_span *span = afperf_span(&model->regions, region);
        next = span->next;
        if (next)
            expect(model, next - 1);
        while (replay.top != span->parent)
            if (pop(&replay, error) < 0)
                return -1;
        if (push(&replay, region, error) < 0)
            return -1;
    }
    while (replay.top != AFPERF_NONE)
        if (pop(&replay, error) < 0)
            return -1;
    return 0;
}

static int nest_run(struct afperf_model *model, struct afperf_log_reader *timeline, uint32_t number,
                    struct pf_error *error)
{
    if (!model->runs[number].tangled)
        return nest_in_order(model, number, error);
    struct replay replay = {.model = model, .timeline = timeline, .run = number, .trial = true};
    int fits = play(&replay, error);
    if (fits < 0)
        return -1;
    if (fits) {
        replay.trial = false;
        return play(&replay, error) < 0 ? -1 : 0;
    }
    model->runs[number].geometry = true;
    return afperf_nest_by_geometry(model, timeline, number, error);
}

/* The first section of each run; sections are linked in their order. NULL with *error filled. */
static uint32_t *list_sections(struct afperf_model *model, struct pf_error *error)
{
    uint32_t *first = calloc(model->n_runs + 1, sizeof *first);
    if (!first) {
        pf_fail_memory(error);
        return NULL;
    }
    for (size_t i = 0; i < model->n_runs; i++)
        first[i] = AFPERF_NONE;
    for (size_t i = model->n_sections; i-- > 0;) {
        struct afperf_section *section = &model->sections[i];
        section->next = first[section->run];
        first[section->run] = (uint32_t)i;
    }
    return first;
}

static int nest_all(struct afperf_model *model, struct afperf_log_reader *timeline, const uint32_t *sections,
                    struct pf_pass *pass, struct pf_error *error)
{
    for (uint32_t i = 0; i < model->n_runs; i++) {
        struct afperf_run *run = &model->runs[i];
        run->nodes = model->n_nodes;
        if (pf_pass_step(pass, i, model->n_runs, error) < 0 || nest_run(model, timeline, i, error) < 0 ||
            afperf_time_sections(model, sections[i], error) < 0)
            return -1;
        run->n_nodes = model->n_nodes - run->nodes;
    }
    return 0;
}

int afperf_nest(struct afperf_model *model, struct pf_pass *pass, struct pf_error *error)
{
    struct afperf_log_reader timeline = {0};
    uint32_t *sections = list_sections(model, error);
    int result = model->has_timeline ? afperf_log_reader_init(&timeline, model->timeline, error) : 0;
    if (!result)
        result = sections ? nest_all(model, &timeline, sections, pass, error) : -1;
    afperf_log_reader_free(&timeline);
    free(sections);
    model->nested = true;
    return result;
}
