/* SPDX-License-Identifier: MIT */
#include "formats/nsight/nsight.h"

#include <stdio.h>

#include "formats/kit/print.h"

/*
 * The GPU's side: kernels, copies, settings of memory and synchronisations. Each has the call path of the API call
 * of its correlation id; its own context stands below that of the call.
 */

const enum nsight_table nsight_activities[NSIGHT_ACTIVITIES] = {NSIGHT_KERNEL, NSIGHT_MEMCPY, NSIGHT_MEMSET,
                                                                NSIGHT_SYNC};

/* What one activity adds to a context in a stream, sorted by these. */
enum { STREAM, CONTEXT, ROW, TIME, BYTES, RECORD_WORDS };

enum { ROWS_PER_STEP = 16384 };

struct reading {
    struct nsight_model *model;
    struct pf_sorter *sorter;
    struct nsight_window window;
    uint64_t rows;
};

/* ---- words --------------------------------------------------------------------------------------- */

#define WORDS(array, number)                                                                                 \
    ((number) >= 0 && (size_t)(number) < sizeof(array) / sizeof *(array) ? pf_string((array)[number])        \
                                                                         : pf_absent())

struct pf_cell nsight_copy_kind(int64_t kind)
{
    static const char *const words[] = {"UNKNOWN",
                                        "HOST_TO_DEVICE",
                                        "DEVICE_TO_HOST",
                                        "HOST_TO_DEVICE_ARRAY",
                                        "DEVICE_ARRAY_TO_HOST",
                                        "DEVICE_ARRAY_TO_DEVICE_ARRAY",
                                        "DEVICE_ARRAY_TO_DEVICE",
                                        "DEVICE_TO_DEVICE_ARRAY",
                                        "DEVICE_TO_DEVICE",
                                        "HOST_TO_HOST",
                                        "PEER_TO_PEER",
                                        "UMA_HOST_TO_DEVICE",
                                        "UMA_DEVICE_TO_HOST"};
    return WORDS(words, kind);
}

struct pf_cell nsight_sync_type(int64_t type)
{
    static const char *const words[] = {"UNKNOWN", "EVENT_SYNCHRONIZE", "STREAM_WAIT_EVENT",
                                        "STREAM_SYNCHRONIZE", "CONTEXT_SYNCHRONIZE"};
    return WORDS(words, type);
}

/* ---- what a row refers to ------------------------------------------------------------------------ */

int64_t nsight_kernel_id(const struct nsight_scan *scan)
{
    if (nsight_is_set(scan, ACTIVITY_WHAT))
        return nsight_int(scan, ACTIVITY_WHAT);
    return nsight_int(scan, nsight_is_set(scan, ACTIVITY_MORE) ? ACTIVITY_MORE : ACTIVITY_MANGLED);
}

int nsight_find_call(const struct nsight_lookup *calls, struct nsight_window *window,
                     const struct nsight_partitions *partitions, const struct nsight_scan *scan,
                     struct nsight_found *found, struct pf_error *error)
{
    *found = (struct nsight_found){PF_NO_CONTEXT, PF_NO_CONTEXT};
    if (!nsight_is_set(scan, ACTIVITY_CORRELATION))
        return 0;
    uint64_t process = nsight_correlation_process(partitions, nsight_int(scan, ACTIVITY_PID));
    return nsight_lookup_find(calls, window, process, nsight_int(scan, ACTIVITY_CORRELATION), found, error);
}

/* ---- rows ---------------------------------------------------------------------------------------- */

/* What the row is called in the sums: *name is PF_NO_STRING for what has no name. */
static int name_of(struct reading *reading, const struct nsight_scan *scan, uint32_t *name,
                   struct pf_error *error)
{
    struct nsight_model *model = reading->model;
    int64_t what = nsight_int(scan, ACTIVITY_WHAT);
    *name = PF_NO_STRING;
    if (scan->table == NSIGHT_MEMSET)
        return 0;
    if (scan->table == NSIGHT_KERNEL) {
        *name = nsight_name(&model->names, model->db, nsight_kernel_id(scan), error);
    } else {
        char number[PF_NUMBER_MAX];
        struct pf_cell word = scan->table == NSIGHT_MEMCPY ? nsight_copy_kind(what) : nsight_sync_type(what);
        if (word.type != PF_TEXT)
            word = pf_text(number, (size_t)(pf_print_int(number, what) - number));
        *name = pf_intern(model->tree->strings, word.text, word.size, error);
    }
    return *name == PF_NO_STRING ? -1 : 0;
}

/* The name of its context: `memcpy HOST_TO_DEVICE`, `memset`, or that of the kernel. */
static uint32_t context_name(struct reading *reading, enum nsight_table table, uint32_t name,
                             struct pf_error *error)
{
    struct pf_strings *strings = reading->model->tree->strings;
    char text[64];
    if (table == NSIGHT_KERNEL)
        return name;
    if (table == NSIGHT_MEMSET)
        return pf_intern(strings, "memset", 6, error);
    struct pf_cell kind = pf_interned(strings, name);
    int size = snprintf(text, sizeof text, "memcpy %.*s", (int)kind.size, kind.text);
    return pf_intern(strings, text, (size_t)size, error);
}

/* Adds the row's time and bytes to its context in its stream. */
static int add_values(struct reading *reading, const struct nsight_scan *scan, struct nsight_found found,
                      uint32_t name, int64_t duration, struct pf_error *error)
{
    static const enum nsight_kind kinds[NSIGHT_TABLES] = {[NSIGHT_KERNEL] = NSIGHT_A_KERNEL,
                                                          [NSIGHT_MEMCPY] = NSIGHT_A_MEMCPY,
                                                          [NSIGHT_MEMSET] = NSIGHT_A_MEMSET};
    struct nsight_model *model = reading->model;
    uint32_t stream = nsight_stream_of(&nsight_state(model->profile)->partitions, scan);
    uint32_t string = context_name(reading, scan->table, name, error);
    if (string == PF_NO_STRING)
        return -1;
    uint32_t context = nsight_child(model->tree, found.call, kinds[scan->table], string, error);
    if (context == PF_NO_CONTEXT)
        return -1;
    uint64_t record[RECORD_WORDS] = {
        stream, context, reading->rows++, (uint64_t)duration,
        scan->table == NSIGHT_KERNEL ? 0 : (uint64_t)nsight_int(scan, ACTIVITY_MORE)};
    return stream == NSIGHT_NONE ? 0 : pf_sorter_add(reading->sorter, record, error);
}

static int take_row(void *arg, const struct nsight_scan *scan, struct pf_error *error)
{
    struct reading *reading = arg;
    static const enum nsight_sum sums[NSIGHT_TABLES] = {[NSIGHT_KERNEL] = NSIGHT_SUM_KERNELS,
                                                        [NSIGHT_MEMCPY] = NSIGHT_SUM_MEMCPY,
                                                        [NSIGHT_MEMSET] = NSIGHT_SUM_MEMSET,
                                                        [NSIGHT_SYNC] = NSIGHT_SUM_SYNC};
    struct nsight_model *model = reading->model;
    struct nsight_found found;
    uint32_t name;
    bool bad = false, moves = scan->table == NSIGHT_MEMCPY || scan->table == NSIGHT_MEMSET;
    int64_t duration = nsight_duration(scan, ACTIVITY_START, ACTIVITY_END, &bad);
    model->bad_times += bad;
    if (nsight_find_call(&model->calls, &reading->window, &nsight_state(model->profile)->partitions, scan,
                         &found, error) ||
        name_of(reading, scan, &name, error))
        return -1;
    if (nsight_sums_add(&model->sums, sums[scan->table], found.path, name, duration,
                        moves ? nsight_int(scan, ACTIVITY_MORE) : 0, error))
        return -1;
    /* Synchronisations are the CPU's waiting, whose time is that of their calls. */
    return scan->table == NSIGHT_SYNC ? 0 : add_values(reading, scan, found, name, duration, error);
}

/* ---- folding ------------------------------------------------------------------------------------- */

static int fold_record(struct reading *reading, const uint64_t *record, struct pf_error *error)
{
    union pf_measure *measures = pf_fold_at(reading->model->fold, (uint32_t)record[CONTEXT], error);
    if (!measures)
        return -1;
    measures[NSIGHT_GPU_CALLS].i++;
    measures[NSIGHT_GPU_TIME].i = nsight_plus(measures[NSIGHT_GPU_TIME].i, (int64_t)record[TIME]);
    measures[NSIGHT_BYTES].i = nsight_plus(measures[NSIGHT_BYTES].i, (int64_t)record[BYTES]);
    return 0;
}

static int fold_streams(struct reading *reading, struct pf_error *error)
{
    const struct nsight_partitions *partitions = &nsight_state(reading->model->profile)->partitions;
    uint32_t stream = partitions->threads,
             end = partitions->keys.count - (partitions->homeless != NSIGHT_NONE);
    const uint64_t *record;
    uint64_t rows = 0;
    int more;
    while ((more = pf_sorter_next(reading->sorter, &record, error)) > 0) {
        if (++rows % ROWS_PER_STEP == 0 && nsight_db_step(reading->model->db, error))
            return -1;
        for (; stream < record[STREAM]; stream++)
            if (pf_fold_end_partition(reading->model->fold, error))
                return -1;
        if (fold_record(reading, record, error))
            return -1;
    }
    for (; more == 0 && stream < end; stream++)
        if (pf_fold_end_partition(reading->model->fold, error))
            return -1;
    return more;
}

static int read_all(struct reading *reading, struct pf_error *error)
{
    for (size_t i = 0; i < NSIGHT_ACTIVITIES; i++)
        if (nsight_each(reading->model->db, nsight_activities[i], NSIGHT_ALL_COLUMNS, reading->model->damage,
                        take_row, reading, error))
            return -1;
    return pf_sorter_finish(reading->sorter, error) || fold_streams(reading, error) ? -1 : 0;
}

int nsight_read_activities(struct nsight_model *model, struct pf_error *error)
{
    struct reading reading = {.model = model, .sorter = pf_sorter_new(RECORD_WORDS, ROW + 1, model->limit)};
    int failed = reading.sorter ? read_all(&reading, error) : pf_fail_memory(error);
    pf_sorter_free(reading.sorter);
    nsight_window_free(&reading.window);
    return failed;
}
