/* SPDX-License-Identifier: MIT */
#include "formats/xray/xray.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "formats/kit/numbered.h"

extern const struct pf_driver pf_xray_driver;

/* ---- tables ------------------------------------------------------------------------------------- */

static const struct pf_column thread_fields[XRAY_FIELDS] = {
    [XRAY_FIELD_PID] = {"pid", PF_PLAIN, 0},
    [XRAY_FIELD_TID] = {"tid", PF_PLAIN, 0},
    [XRAY_FIELD_BUFFERS] = {"buffers", PF_PLAIN, 0},
    [XRAY_FIELD_EVENTS] = {"events", PF_PLAIN, 0},
    [XRAY_FIELD_UNMATCHED_EXITS] = {"unmatched_exits", PF_PLAIN, 0},
    [XRAY_FIELD_IMPLICIT_EXITS] = {"implicit_exits", PF_PLAIN, 0},
    [XRAY_FIELD_OPEN_AT_END] = {"open_at_end", PF_PLAIN, 0},
    [XRAY_FIELD_MAX_DEPTH] = {"max_depth", PF_PLAIN, 0},
    [XRAY_FIELD_FIRST_TSC] = {"first_tsc", PF_PLAIN, 0},
    [XRAY_FIELD_LAST_TSC] = {"last_tsc", PF_PLAIN, 0},
};

static const struct pf_column context_columns[] = {{"function", PF_PLAIN, 0}};

static const struct pf_column trace_columns[XRAY_TRACE_COLUMNS] = {
    [XRAY_TRACE_THREAD] = {"thread", PF_PARTITION, 0},
    [XRAY_TRACE_TIME] = {"time", PF_PLAIN, 0},
    [XRAY_TRACE_TSC] = {"tsc", PF_PLAIN, 0},
    [XRAY_TRACE_CPU] = {"cpu", PF_PLAIN, 0},
    [XRAY_TRACE_EVENT] = {"event", PF_PLAIN, 0},
    [XRAY_TRACE_FUNCTION] = {"function", PF_PLAIN, 0},
    [XRAY_TRACE_DEPTH] = {"depth", PF_PLAIN, 0},
    [XRAY_TRACE_ARGS] = {"args", PF_PLAIN, 0},
    [XRAY_TRACE_EVENT_TYPE] = {"event_type", PF_PLAIN, 0},
    [XRAY_TRACE_DATA] = {"data", PF_PLAIN, 0},
    [XRAY_TRACE_NAME] = {"name", PF_PLAIN, 0},
};

/* Of each thread; those of the whole log are the same without the first. */
static const struct pf_column duration_columns[] = {
    {"thread", PF_PARTITION, 0}, {"function", PF_PLAIN, 0}, {"count", PF_PLAIN, 0}, {"min", PF_PLAIN, 0},
    {"median", PF_PLAIN, 0},     {"p90", PF_PLAIN, 0},      {"p99", PF_PLAIN, 0},   {"max", PF_PLAIN, 0},
    {"sum", PF_PLAIN, 0},        {"name", PF_PLAIN, 0},
};
enum { DURATION_COLUMNS = sizeof duration_columns / sizeof *duration_columns };

static const struct pf_table tables[] = {
    {.name = "values",
     .columns = pf_fold_thread_columns,
     .n_columns = PF_FOLD_COLUMNS,
     .stage = PF_MODELLED,
     .flags = PF_BY_PARTITION | PF_SEEKS_PARTITION | PF_SEEKS_CONTEXT,
     .ops = &pf_fold_cursor},
    {.name = "trace",
     .columns = trace_columns,
     .n_columns = XRAY_TRACE_COLUMNS,
     .stage = PF_PARTITIONED,
     .flags = PF_BY_PARTITION | PF_SEEKS_PARTITION,
     .ops = &xray_trace_cursor},
    {.name = "durations",
     .columns = duration_columns + 1,
     .n_columns = DURATION_COLUMNS - 1,
     .stage = PF_DERIVED,
     .ops = &xray_durations.ops},
    {.name = "durations",
     .columns = duration_columns,
     .n_columns = DURATION_COLUMNS,
     .stage = PF_DERIVED,
     .flags = PF_BY_PARTITION | PF_SEEKS_PARTITION | PF_ONLY_IN_PARTITIONS,
     .ops = &xray_thread_durations.ops},
};

/* ---- metrics ------------------------------------------------------------------------------------ */

static const struct pf_metric metrics[] = {
    {0, "calls", "", "exclusive", "int", "completed calls", PF_OVER_ALL, PF_SUM, .partner = PF_NO_PARTNER},
    {1, "time", "ns", "exclusive", "double", "time in completed calls, without what they called", PF_OVER_ALL,
     PF_SUM, .partner = 2},
    {2, "time (inc)", "ns", "inclusive", "double",
     "time in completed calls, with what they called; of calls still open what they called", PF_OVER_ROOTS,
     PF_SUM, .partner = 1},
    {3, "ticks", "ticks", "exclusive", "int", "ticks in completed calls, without what they called",
     PF_OVER_ALL, PF_SUM, .partner = 4},
    {4, "ticks (inc)", "ticks", "inclusive", "int",
     "ticks in completed calls, with what they called; of calls still open what they called", PF_OVER_ROOTS,
     PF_SUM, .partner = 3},
    {5, "open", "", "exclusive", "int", "calls that had not ended when the trace ended", PF_OVER_ALL, PF_SUM,
     .partner = PF_NO_PARTNER},
};

static const struct pf_metric metrics_in_ticks[] = {
    {0, "calls", "", "exclusive", "int", "completed calls", PF_OVER_ALL, PF_SUM, .partner = PF_NO_PARTNER},
    {1, "ticks", "ticks", "exclusive", "int", "ticks in completed calls, without what they called",
     PF_OVER_ALL, PF_SUM, .partner = 2},
    {2, "ticks (inc)", "ticks", "inclusive", "int",
     "ticks in completed calls, with what they called; of calls still open what they called", PF_OVER_ROOTS,
     PF_SUM, .partner = 1},
    {3, "open", "", "exclusive", "int", "calls that had not ended when the trace ended", PF_OVER_ALL, PF_SUM,
     .partner = PF_NO_PARTNER},
};

/* The metrics and, in the same order, how each comes from a context's measures. */
static void set_metrics(struct pf_profile *profile, struct xray_state *state)
{
    double frequency = (double)state->header.frequency;
    struct pf_derivation *how = state->derivations;
    *how++ = (struct pf_derivation){.measure = XRAY_CALLS, .present = XRAY_CALLS};
    if (state->header.frequency) {
        *how++ = (struct pf_derivation){
            .measure = XRAY_TICKS, .present = XRAY_CALLS, .scale = 1e9, .divisor = frequency};
        *how++ = (struct pf_derivation){
            .measure = XRAY_TICKS_INC, .present = XRAY_CALLS, .scale = 1e9, .divisor = frequency};
    }
    *how++ = (struct pf_derivation){.measure = XRAY_TICKS, .present = XRAY_CALLS};
    *how++ = (struct pf_derivation){.measure = XRAY_TICKS_INC, .present = XRAY_CALLS};
    *how++ = (struct pf_derivation){.measure = XRAY_OPEN, .present = XRAY_OPEN};
    profile->metrics = state->header.frequency ? metrics : metrics_in_ticks;
    profile->n_metrics = (size_t)(how - state->derivations);
}

/* ---- probing and opening ------------------------------------------------------------------------ */

static void probe(struct pf_probe *probe, struct pf_verdict *verdict)
{
    size_t have;
    const unsigned char *bytes = pf_probe_head(probe, XRAY_PROBE_SIZE, &have);
    struct xray_header header;
    if (!xray_header_read(&header, bytes, have))
        return;
    verdict->confidence = xray_confidence(&header, bytes, have);
    if (header.type == XRAY_FDR && verdict->confidence && verdict->confidence < 32)
        snprintf(verdict->message, sizeof verdict->message, "no buffer follows the header");
    if (verdict->confidence)
        xray_header_version(&header, verdict->version, sizeof verdict->version);
}

static int add_info(struct pf_profile *profile, const char *key, struct pf_cell value, struct pf_error *error)
{
    struct pf_cell cells[] = {pf_string(key), value};
    return pf_rows_add(profile->info, cells, error);
}

static struct pf_cell yes_or_no(bool value)
{
    return pf_string(value ? "yes" : "no");
}

/* Facts about a log's clock and buffers. */
static int set_log_info(struct pf_profile *profile, const struct xray_header *header, struct pf_error *error)
{
    struct pf_cell frequency = header->frequency ? pf_uint(header->frequency) : pf_string("unknown");
    if (add_info(profile, "Cycle frequency (Hz)", frequency, error) ||
        add_info(profile, "Constant TSC", yes_or_no(header->constant_tsc), error) ||
        add_info(profile, "Nonstop TSC", yes_or_no(header->nonstop_tsc), error))
        return -1;
    if (header->type == XRAY_BASIC)
        return 0;
    return add_info(profile, "Buffer size (bytes)", pf_uint(header->buffer_size), error);
}

static int set_profiling_info(struct pf_profile *profile, const struct xray_header *header,
                              struct pf_error *error)
{
    if (add_info(profile, "Created (ns since 1970)", pf_uint(header->created), error))
        return -1;
    return add_info(profile, "Process", pf_uint(header->pid), error);
}

static int set_info(struct pf_profile *profile, const struct xray_header *header, struct pf_error *error)
{
    static const char *const types[] = {
        [XRAY_BASIC] = "basic log",
        [XRAY_FDR] = "flight data recorder (FDR)",
        [XRAY_PROFILING] = "profiling mode",
    };
    xray_header_version(header, profile->version, sizeof profile->version);
    struct pf_cell order = pf_string(header->big_endian ? "big-endian" : "little-endian");
    if (add_info(profile, "Type", pf_string(types[header->type]), error) ||
        add_info(profile, "Byte order", order, error))
        return -1;
    return header->type == XRAY_PROFILING ? set_profiling_info(profile, header, error)
                                          : set_log_info(profile, header, error);
}

static void context_cells(const struct pf_profile *profile, uint32_t context, struct pf_cell *cells)
{
    cells[0] = pf_uint(profile->contexts->key[context]);
}

/* The files that may be the map, before it is known which of them names more. */
static int set_map_info(struct pf_profile *profile, const struct xray_maps *maps, struct pf_error *error)
{
    char *text = NULL;
    size_t size;
    FILE *stream = open_memstream(&text, &size);
    if (!stream)
        return pf_fail_memory(error);
    for (size_t i = 0; i < maps->count; i++)
        fprintf(stream, "%s%s", i ? " or " : "", maps->files[i]);
    if (!maps->count)
        fputs("none found", stream);
    int failed = fclose(stream) ? pf_fail_memory(error)
                                : add_info(profile, "Instrumentation map", pf_string(text), error);
    free(text);
    return failed;
}

/* What all kinds of files have. */
static void set_tables(struct pf_profile *profile)
{
    profile->partitions.singular = "thread";
    profile->partitions.plural = "threads";
    profile->partitions.fields_stage = PF_MODELLED;
    profile->context_columns = context_columns;
    profile->n_context_columns = sizeof context_columns / sizeof *context_columns;
    profile->context_cells = context_cells;
    profile->metrics_stage = PF_OPENED;
    profile->tables = tables;
    profile->n_tables = 1; /* the values */
    profile->cells = &tables[0];
    profile->cells_value = PF_FOLD_VALUE;
}

/* What logs have: events. */
static void set_log(struct pf_profile *profile, struct xray_state *state)
{
    state->clock = xray_clock_new(state->header.frequency);
    profile->time_unit = state->header.frequency ? "ns" : "ticks";
    profile->partitions.field_columns = thread_fields;
    profile->partitions.n_fields = XRAY_FIELDS;
    profile->n_tables = sizeof tables / sizeof *tables;
    set_metrics(profile, state);
}

static int open_file(struct pf_profile *profile, struct pf_error *error)
{
    struct xray_state *state = calloc(1, sizeof *state);
    if (!state)
        return pf_fail_memory(error);
    profile->state = state;
    if (pf_source_open(profile->source, NULL, &state->input, error))
        return -1;
    unsigned char bytes[XRAY_HEADER_SIZE];
    ssize_t have = pf_input_read(state->input, bytes, sizeof bytes, 0, error);
    if (have < 0)
        return -1;
    if (!xray_header_read(&state->header, bytes, (size_t)have))
        return pf_fail_at(error, EINVAL, 0, "no header of an XRay file");
    set_tables(profile);
    if (state->header.type == XRAY_PROFILING)
        xray_profiling_set(profile);
    else
        set_log(profile, state);
    if (set_info(profile, &state->header, error) || xray_maps_find(&state->maps, profile, error))
        return -1;
    return set_map_info(profile, &state->maps, error);
}

/* Names once read stay, even if what follows them fails: they are part of no table. */
static int load_names(struct pf_profile *profile, struct pf_pass *pass, struct pf_error *error)
{
    struct xray_names names = {0};
    if (xray_state(profile)->names.map)
        return 0;
    if (xray_names_load(&names, &xray_state(profile)->maps, profile, pass, error)) {
        xray_names_free(&names);
        return -1;
    }
    xray_state(profile)->names = names;
    return 0;
}

static int load(struct pf_profile *profile, enum pf_stage stage, struct pf_pass *pass, struct pf_error *error)
{
    bool profiling = xray_state(profile)->header.type == XRAY_PROFILING;
    switch (stage) {
    case PF_PARTITIONED:
        if (load_names(profile, pass, error))
            return -1;
        return xray_load_threads(profile, pass, error);
    case PF_MODELLED:
        return profiling ? xray_profiling_contexts(profile, pass, error)
                         : xray_load_calls(profile, pass, error);
    case PF_DERIVED:
        return profiling ? 0 : xray_load_ranks(profile, pass, error);
    default:
        return 0;
    }
}

static void close_file(struct pf_profile *profile)
{
    struct xray_state *state = profile->state;
    if (!state)
        return;
    pf_fold_free(state->fold.fold);
    pf_store_free(state->index.ranges);
    free(state->index.threads);
    xray_names_free(&state->names);
    xray_maps_free(&state->maps);
    pf_store_free(state->of_threads);
    free(state->first_of_thread);
    free(state->functions);
    free(state);
    profile->state = NULL;
}

/* The trace's first event, which the light pass can only guess and a pass over all events corrects. */
static size_t facts(const struct pf_profile *profile, void *blob, size_t room)
{
    uint64_t start = atomic_load(&xray_state(profile)->start);
    if (room >= sizeof start)
        memcpy(blob, &start, sizeof start);
    return sizeof start;
}

static int recall(struct pf_profile *profile, const void *blob, size_t size, struct pf_error *error)
{
    uint64_t start;
    if (size != sizeof start)
        return pf_fail(error, EINVAL, "not the facts of an XRay file");
    memcpy(&start, blob, sizeof start);
    atomic_store(&xray_state(profile)->start, start);
    return 0;
}

const struct pf_driver pf_xray_driver = {
    .name = "xray",
    .title = "LLVM XRay log (flight data recorder, basic) or profiling-mode file",
    .version = 6,
    .matters = xray_name_matters,
    .probe = probe,
    .open = open_file,
    .load = load,
    .close = close_file,
    .facts = facts,
    .recall = recall,
};
