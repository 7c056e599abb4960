/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "formats/driver_extra.h"
#include "formats/probe.h"
#include "formats/runtime/numbered.h"
#include "formats/xray/records.h"

extern const struct pf_driver pf_xray_driver;

/* ---- the header --------------------------------------------------------------------------------- */

/* Parses the header of a profiling file, which is u64 magic, u64 version, u64 nanoseconds since 1970, u64 process. */
static bool read_profiling(struct xray_header *header, const unsigned char *bytes, bool big_endian)
{
    static const uint64_t magic = UINT64_C(0x7872617970726f66), version = 0x20180424; /* "xrayprof" */
    if (pf_u64(bytes, big_endian) != magic)
        return false;
    *header = (struct xray_header){
        .type = XRAY_PROFILING,
        .big_endian = big_endian,
        .version = pf_u64(bytes + 8, big_endian),
        .created = pf_u64(bytes + 16, big_endian),
        .pid = pf_u64(bytes + 24, big_endian),
    };
    return header->version == version;
}

/*
 * Parses the header of a log, which is u16 version, u16 type, 4 bytes of flags, u64 ticks per second, u64 size of a
 * buffer, 8 bytes of any content. The flags constant_tsc and nonstop_tsc are the lowest two bits of byte 4, or the
 * highest two on big-endian machines.
 */
static bool read_log(struct xray_header *header, const unsigned char *bytes, bool big_endian)
{
    enum { BASIC_VERSIONS = 3, FDR_VERSIONS = 5 };
    unsigned flags = big_endian ? bytes[4] >> 7 | (bytes[4] >> 5 & 2) : bytes[4] & 3;
    uint16_t type = pf_u16(bytes + 2, big_endian);
    *header = (struct xray_header){
        .type = type == XRAY_FDR ? XRAY_FDR : XRAY_BASIC,
        .big_endian = big_endian,
        .version = pf_u16(bytes, big_endian),
        .constant_tsc = flags & 1,
        .nonstop_tsc = flags & 2,
        .frequency = pf_u64(bytes + 8, big_endian),
        .buffer_size = pf_u64(bytes + 16, big_endian),
    };
    unsigned versions = type == XRAY_FDR ? FDR_VERSIONS : BASIC_VERSIONS;
    return type <= XRAY_FDR && header->version >= 1 && header->version <= versions;
}

static bool read_xray_header(struct xray_header *header, const unsigned char *bytes, size_t size)
{
    /* At most one byte order is valid, since versions and types are small and no version is 0. */
    return size >= XRAY_HEADER_SIZE &&
           (read_profiling(header, bytes, false) || read_profiling(header, bytes, true) ||
            read_log(header, bytes, false) || read_log(header, bytes, true));
}

/*
 * Returns the confidence that a file is an FDR log. A log has no magic number. It is recognised by its first 4 bytes, which
 * have five possible values, and by the kind of the first record. If the first record is damaged, the flags that every
 * runtime sets are sufficient.
 */
static unsigned fdr_confidence(const struct xray_header *header, const unsigned char *bytes, size_t size)
{
    enum xray_metadata first = header->version == 1 ? XRAY_NEW_BUFFER : XRAY_BUFFER_EXTENTS;
    if (size == XRAY_HEADER_SIZE || bytes[XRAY_HEADER_SIZE] == xray_metadata_byte(first, header->big_endian))
        return 32;
    uint32_t flags = pf_u32(bytes + 4, false), usual = header->big_endian ? 0xc0 : 3;
    return flags == usual ? 16 : 0;
}

/*
 * Returns the confidence that a file is a basic log. Other formats begin like basic logs. A TrueType font looks like a
 * big-endian log of version 1, and many formats begin with 1, 2 or 3. So the frequency, if it is not 0, must be
 * plausible for a clock, and the first record must be one that a runtime can have written.
 */
static unsigned basic_confidence(const struct xray_header *header, const unsigned char *bytes, size_t size)
{
    const uint64_t slowest = 1000, fastest = UINT64_C(1000000000000); /* Hz */
    bool plausible = header->frequency >= slowest && header->frequency <= fastest;
    if (size == XRAY_HEADER_SIZE)
        return plausible ? 8 : 0;
    if ((header->frequency && !plausible) || size < XRAY_HEADER_SIZE + XRAY_BASIC_SIZE)
        return 0;
    const unsigned char *record = bytes + XRAY_HEADER_SIZE;
    bool big_endian = header->big_endian;
    bool sound = pf_u16(record, big_endian) == XRAY_BASIC_FUNCTION && record[3] <= XRAY_ENTER_ARG &&
                 pf_u32(record + 4, big_endian) && pf_u64(record + 8, big_endian) &&
                 pf_u32(record + 16, big_endian);
    return sound ? 24 : 0;
}

/* Formats the version for info.txt, for example "5", "basic 3", "profiling 0x20180424". */
static void set_version(const struct xray_header *header, char *text, size_t room)
{
    if (header->type == XRAY_PROFILING)
        snprintf(text, room, "profiling 0x%" PRIx64, header->version);
    else
        snprintf(text, room, "%s%" PRIu64, header->type == XRAY_BASIC ? "basic " : "", header->version);
}

/* ---- tables ------------------------------------------------------------------------------------- */

static const struct pf_column context_columns[] = {{"function", PF_PLAIN, 0}};

/* Columns of the table "durations" per thread. The table "durations" of the totals lacks the first one. */
static const struct pf_column duration_columns[] = {
    {"thread", PF_PARTITION, 0}, {"function", PF_PLAIN, 0}, {"count", PF_PLAIN, 0}, {"min", PF_PLAIN, 0},
    {"median", PF_PLAIN, 0},     {"p90", PF_PLAIN, 0},      {"p99", PF_PLAIN, 0},   {"max", PF_PLAIN, 0},
    {"sum", PF_PLAIN, 0},        {"name", PF_PLAIN, 0},
};
enum { DURATION_COLUMNS = sizeof duration_columns / sizeof *duration_columns };

static const struct pf_table tables[] = {
    {.name = "values",
     .columns = xray_fold_thread_columns,
     .n_columns = XRAY_FOLD_COLUMNS,
     .stage = PF_MODELLED,
     .flags = PF_BY_PARTITION | PF_SEEKS_PARTITION | PF_SEEKS_CONTEXT | PF_SEEKS_METRIC | PF_SEEKS_PARTNER,
     .ops = &xray_fold_cursor.ops},
    {.name = "trace",
     .columns = xray_trace_columns,
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
     .ops = &xray_durations.ops},
};

/* ---- metrics ------------------------------------------------------------------------------------ */

static const struct pf_metric metrics[XRAY_METRICS] = {
    {.id = 0,
     .name = "calls",
     .unit = "",
     .scope = "exclusive",
     .type = "int",
     .description = "completed calls",
     .partner = PF_NO_PARTNER},
    {.id = 1,
     .name = "time",
     .unit = "ns",
     .scope = "exclusive",
     .type = "double",
     .description = "time in completed calls, without what they called",
     .partner = 2},
    {.id = 2,
     .name = "time (inc)",
     .unit = "ns",
     .scope = "inclusive",
     .type = "double",
     .description = "time in completed calls, with what they called; of calls still open what they called",
     .over_contexts = PF_OVER_ROOTS,
     .partner = 1},
    {.id = 3,
     .name = "ticks",
     .unit = "ticks",
     .scope = "exclusive",
     .type = "int",
     .description = "ticks in completed calls, without what they called",
     .partner = 4},
    {.id = 4,
     .name = "ticks (inc)",
     .unit = "ticks",
     .scope = "inclusive",
     .type = "int",
     .description = "ticks in completed calls, with what they called; of calls still open what they called",
     .over_contexts = PF_OVER_ROOTS,
     .partner = 3},
    {.id = 5,
     .name = "open",
     .unit = "",
     .scope = "exclusive",
     .type = "int",
     .description = "calls that had not ended when the trace ended",
     .partner = PF_NO_PARTNER},
};

/* How each metric is computed from a context's measures. set_metrics sets the divisor, which is the frequency. */
static const struct pf_derivation derivations[XRAY_METRICS] = {
    {.measure = XRAY_CALLS, .present = XRAY_CALLS},
    {.measure = XRAY_TICKS, .present = XRAY_CALLS, .scale = 1e9},
    {.measure = XRAY_TICKS_INC, .present = XRAY_CALLS, .scale = 1e9},
    {.measure = XRAY_TICKS, .present = XRAY_CALLS},
    {.measure = XRAY_TICKS_INC, .present = XRAY_CALLS},
    {.measure = XRAY_OPEN, .present = XRAY_OPEN},
};

/* Sets the metrics. Leaves out the times if the frequency is unknown. */
static void set_metrics(struct pf_model *model, struct xray_state *state)
{
    int left_out = 0;
    for (size_t i = 0; i < XRAY_METRICS; i++) {
        if (derivations[i].scale != 0 && !state->header.frequency) {
            left_out++;
            continue;
        }
        struct pf_metric *metric = &state->metrics[model->n_metrics];
        struct pf_derivation *how = &state->derivations[model->n_metrics++];
        *metric = metrics[i];
        metric->id -= (uint64_t)left_out;
        metric->partner -= metric->partner == PF_NO_PARTNER ? 0 : left_out;
        *how = derivations[i];
        how->divisor = (double)state->header.frequency;
    }
    model->metrics = state->metrics;
}

/* ---- probing and opening ------------------------------------------------------------------------ */

static void probe_xray(struct pf_probe *probe, struct pf_probe_result *result)
{
    size_t have;
    const unsigned char *bytes = pf_probe_head(probe, XRAY_HEADER_SIZE + XRAY_BASIC_SIZE, &have);
    struct xray_header header;
    if (!read_xray_header(&header, bytes, have))
        return;
    result->confidence = header.type == XRAY_FDR     ? fdr_confidence(&header, bytes, have)
                         : header.type == XRAY_BASIC ? basic_confidence(&header, bytes, have)
                                                     : 64;
    if (header.type == XRAY_FDR && result->confidence && result->confidence < 32)
        snprintf(result->message, sizeof result->message, "no buffer follows the header");
    if (result->confidence)
        set_version(&header, result->version, sizeof result->version);
}

static void add_xray_info(struct pf_run *run, const char *key, struct pf_cell value)
{
    struct pf_cell cells[] = {pf_string(key), value};
    pf_run_check(run, pf_rows_add(run->model->info, cells, run->error));
}

static void set_xray_info(struct pf_run *run, const struct xray_header *header)
{
    static const char *const types[] = {
        [XRAY_BASIC] = "basic log",
        [XRAY_FDR] = "flight data recorder (FDR)",
        [XRAY_PROFILING] = "profiling mode",
    };
    set_version(header, run->model->version, sizeof run->model->version);
    add_xray_info(run, "Type", pf_string(types[header->type]));
    add_xray_info(run, "Byte order", pf_string(header->big_endian ? "big-endian" : "little-endian"));
    if (header->type == XRAY_PROFILING) {
        add_xray_info(run, "Created (ns since 1970)", pf_uint(header->created));
        add_xray_info(run, "Process", pf_uint(header->pid));
        return;
    }
    add_xray_info(run, "Cycle frequency (Hz)",
                  header->frequency ? pf_uint(header->frequency) : pf_string("unknown"));
    add_xray_info(run, "Constant TSC", pf_string(header->constant_tsc ? "yes" : "no"));
    add_xray_info(run, "Nonstop TSC", pf_string(header->nonstop_tsc ? "yes" : "no"));
    if (header->type == XRAY_FDR)
        add_xray_info(run, "Buffer size (bytes)", pf_uint(header->buffer_size));
}

static void xray_context_cells(const struct pf_model *model, uint32_t context, struct pf_cell *cells)
{
    cells[0] = pf_uint(model->contexts->key[context]);
}

/* Lists in info.txt the files that may be the log's map. It is not known yet which of these files will be used. */
static void set_map_info(struct pf_run *run, const struct xray_maps *maps)
{
    size_t size = 1;
    for (size_t i = 0; i < maps->count; i++)
        size += strlen(maps->files[i]) + strlen(" or ");
    char *text = PF_OWN(run, malloc(size), free), *end = text;
    for (size_t i = 0; i < maps->count; i++)
        end = stpcpy(stpcpy(end, i ? " or " : ""), maps->files[i]);
    add_xray_info(run, "Instrumentation map", maps->count ? pf_string(text) : pf_string("none found"));
}

/* Sets the tables and names that all file types have. */
static void set_xray_tables(struct pf_model *model)
{
    model->partitions.singular = "thread";
    model->partitions.plural = "threads";
    model->partitions.fields_late = true;
    model->context_columns = context_columns;
    model->n_context_columns = sizeof context_columns / sizeof *context_columns;
    model->context_cells = xray_context_cells;
    model->tables = tables;
    model->n_tables = 1; /* only the values */
    model->values = &tables[0];
    model->value_column = XRAY_FOLD_VALUE;
}

/* Sets the tables, metrics and fields of threads that only logs have. */
static void set_log(struct pf_model *model, struct xray_state *state)
{
    model->time_unit = state->header.frequency ? "ns" : "ticks";
    model->partitions.field_columns = xray_thread_fields;
    model->partitions.n_fields = XRAY_FIELDS;
    model->n_tables = sizeof tables / sizeof *tables;
    set_metrics(model, state);
}

static void open_in_run(struct pf_run *run, void *arg)
{
    struct xray_state *state = arg;
    struct pf_model *model = run->model;
    unsigned char bytes[XRAY_HEADER_SIZE];
    pf_run_check(run, pf_source_open(model->source, NULL, PF_UNPACK | PF_SIZED, &state->input, run->error));
    size_t have = pf_run_read(run, state->input, bytes, sizeof bytes, 0);
    if (!read_xray_header(&state->header, bytes, have))
        pf_run_check(run, pf_fail_at(run->error, EINVAL, 0, "no header of an XRay file"));
    set_xray_tables(model);
    if (state->header.type == XRAY_PROFILING)
        xray_profiling_set(model);
    else
        set_log(model, state);
    set_xray_info(run, &state->header);
    pf_run_check(run, xray_maps_find(&state->maps, model, run->error));
    set_map_info(run, &state->maps);
}

static int open_xray(struct pf_model *model, struct pf_error *error)
{
    model->state = calloc(1, sizeof(struct xray_state));
    return model->state ? pf_run(model, open_in_run, model->state, error) : pf_fail_memory(error);
}

static int load_xray(struct pf_model *model, enum pf_stage stage, struct pf_error *error)
{
    struct xray_state *state = xray_state(model);
    bool profiling = state->header.type == XRAY_PROFILING;
    switch (stage) {
    case PF_PARTITIONED:
        /* If loading the threads fails, the names are kept for the next attempt. */
        if (!state->names.map && xray_names_load(&state->names, &state->maps, model, error))
            return -1;
        return xray_load_threads(model, error);
    case PF_MODELLED:
        return profiling ? xray_profiling_contexts(model, error) : xray_load_calls(model, error);
    case PF_DERIVED:
        return profiling ? 0 : xray_load_durations(model, error);
    default:
        return 0;
    }
}

static void close_xray(struct pf_model *model)
{
    struct xray_state *state = model->state;
    if (!state)
        return;
    xray_fold_free(state->fold.fold);
    xray_index_free(&state->index);
    xray_names_free(&state->names);
    xray_maps_free(&state->maps);
    xray_durations_free(&state->durations);
    free(state);
    model->state = NULL;
}

/* Saves T0 (struct xray_state), which a pass over the trace may have lowered. */
static size_t facts(const struct pf_model *model, void *saved, size_t room)
{
    uint64_t start = atomic_load(&xray_state(model)->start);
    if (room >= sizeof start)
        memcpy(saved, &start, sizeof start);
    return sizeof start;
}

static int xray_restore(struct pf_model *model, const void *saved, size_t size, struct pf_error *error)
{
    uint64_t start;
    if (size != sizeof start)
        return pf_fail(error, EINVAL, "not the facts of an XRay file");
    memcpy(&start, saved, sizeof start);
    atomic_store(&xray_state(model)->start, start);
    return 0;
}

const struct pf_driver pf_xray_driver = {
    .name = "xray",
    .title = "LLVM XRay log (flight data recorder, basic) or profiling-mode file",
    .version = 10,
    .matters = xray_name_matters,
    .probe = probe_xray,
    .open = open_xray,
    .load = load_xray,
    .close = close_xray,
    .extra = &(const struct pf_driver_extra){.facts = facts, .restore = xray_restore},
};
