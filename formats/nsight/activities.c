/* SPDX-License-Identifier: MIT */
#include "formats/nsight/nsight.h"

#include <stdio.h>
#include <stdlib.h>

#include "formats/kit/print.h"
#include "formats/runtime/numbered.h"

/*
 * GPU activities are kernels, copies, memory sets and synchronisations. Their correlation ids identify the API calls that caused them. An
 * activity has the call path of its API call, and its own context is a child of that call's context. The table "events" has a row
 * for each activity, in the order of the export's tables, kernels first.
 */

enum { EVENT_START, EVENT_END, EVENT_DEVICE, EVENT_STREAM, EVENT_CORRELATION, EVENT_BYTES, EVENT_NUMBERS };

struct event {
    int64_t number[EVENT_NUMBERS];
    uint32_t stream; /* index in partitions->streams */
    uint32_t path;   /* a context, or PF_NO_CONTEXT */
    uint32_t name;   /* in the tree's strings, or PF_NO_STRING */
    uint16_t kind;   /* the activity's table, counted from NSIGHT_KERNEL */
    uint16_t set;    /* bit n is set if number[n] is present */
};

/* Returns the id of a kernel's short name or, if that is missing, of its demangled or else its mangled name. */
static int64_t kernel_id(const struct pf_sql_row *row)
{
    if (pf_sql_is_set(row, ACTIVITY_WHAT))
        return pf_sql_int(row, ACTIVITY_WHAT);
    return pf_sql_int(row, pf_sql_is_set(row, ACTIVITY_MORE) ? ACTIVITY_MORE : ACTIVITY_MANGLED);
}

static const char *const copy_kinds[] = {"UNKNOWN",
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
static const char *const sync_types[] = {"UNKNOWN", "EVENT_SYNCHRONIZE", "STREAM_WAIT_EVENT",
                                         "STREAM_SYNCHRONIZE", "CONTEXT_SYNCHRONIZE"};

/* Returns words[number] as a string of the tree; the number in digits if there is no such word. */
static uint32_t add_word(struct nsight_pass *pass, const char *const *words, size_t n, int64_t number)
{
    char digits[PF_NUMBER_MAX];
    struct pf_cell word = number >= 0 && (uint64_t)number < n
                              ? pf_string(words[number])
                              : pf_text(digits, (size_t)(pf_print_int(digits, number) - digits));
    return pf_build_name(pass->build, word.text, word.size);
}

/* Returns the name of an activity as a string of the tree; PF_NO_STRING for memory sets, which have no name. */
static uint32_t activity_name_of(struct nsight_pass *pass, const struct pf_sql_row *row)
{
    int64_t what = pf_sql_int(row, ACTIVITY_WHAT);
    if (row->table == NSIGHT_MEMSET)
        return PF_NO_STRING;
    if (row->table == NSIGHT_KERNEL)
        return nsight_name(pass, kernel_id(row));
    return row->table == NSIGHT_MEMCPY
               ? add_word(pass, copy_kinds, sizeof copy_kinds / sizeof *copy_kinds, what)
               : add_word(pass, sync_types, sizeof sync_types / sizeof *sync_types, what);
}

/* Returns the context of a tally: a child of the API call's context. Its name is that of the kernel, `memset`, or
 * `memcpy` and the kind of copy (`memcpy HOST_TO_DEVICE`). */
static uint32_t activity_context_of(struct nsight_pass *pass, const struct nsight_tally_key *key)
{
    enum nsight_kind kind = NSIGHT_KIND_KERNEL + (enum nsight_kind)(key->sum - NSIGHT_SUM_KERNELS);
    uint32_t name = key->name;
    if (kind != NSIGHT_KIND_KERNEL) {
        struct pf_cell what = pf_build_named(pass->build, name);
        char text[64];
        int size = kind == NSIGHT_KIND_MEMSET
                       ? snprintf(text, sizeof text, "memset")
                       : snprintf(text, sizeof text, "memcpy %.*s", (int)what.size, what.text);
        name = pf_build_name(pass->build, text, (size_t)size);
    }
    return nsight_child(pass, key->call, kind, name);
}

/* ---- reading ------------------------------------------------------------------------------------- */

/* Returns the path and the context of the API call that has the activity's correlation id. */
static struct nsight_found find_call(struct nsight_pass *pass, const struct pf_sql_row *row)
{
    const struct nsight_found none = {PF_NO_CONTEXT, PF_NO_CONTEXT};
    if (!pf_sql_is_set(row, ACTIVITY_CORRELATION))
        return none;
    uint64_t process = nsight_correlation_process(&pass->partitions, pf_sql_int(row, ACTIVITY_PID));
    return nsight_lookup_find(pass->build->run, &pass->calls, process, pf_sql_int(row, ACTIVITY_CORRELATION));
}

static bool has_time(const struct event *event)
{
    return event->set >> EVENT_START & event->set >> EVENT_END & 1;
}

static void take_activity_row(void *arg, struct pf_sql_row *row)
{
    static const unsigned columns[] = {ACTIVITY_START,  ACTIVITY_END,         ACTIVITY_DEVICE,
                                       ACTIVITY_STREAM, ACTIVITY_CORRELATION, ACTIVITY_MORE};
    struct nsight_pass *pass = arg;
    struct pf_run *run = pass->build->run;
    bool moves = row->table == NSIGHT_MEMCPY || row->table == NSIGHT_MEMSET;
    struct event event = {.stream = nsight_stream_of(pass, row),
                          .kind = (uint16_t)(row->table - NSIGHT_KERNEL)};
    struct nsight_found found = find_call(pass, row);
    event.path = found.path;
    event.name = activity_name_of(pass, row);
    for (unsigned i = 0; i < EVENT_NUMBERS; i++) {
        bool set = pf_sql_is_set(row, columns[i]) && (i != EVENT_BYTES || moves);
        event.number[i] = set ? pf_sql_int(row, columns[i]) : 0;
        event.set |= (uint16_t)(set << i);
    }
    pf_run_check(run, pf_store_append(pass->state->events, &event, sizeof event, run->error));
    if (has_time(&event) && !nsight_is_timed(pass, event.number[EVENT_START], event.number[EVENT_END]))
        return;
    struct nsight_tally_key key = {NSIGHT_SUM_KERNELS + event.kind, found.path, event.name, found.call,
                                   event.stream};
    struct nsight_tally *tally =
        nsight_tally(pass, &key, nsight_duration(pass, row), event.number[EVENT_BYTES]);
    /* A synchronisation is a wait of the CPU. It has no context, because the time of its API call includes the wait. */
    if (tally->count == 1 && row->table != NSIGHT_SYNC)
        tally->context = activity_context_of(pass, &key);
}

static void add_activity_values(struct nsight_pass *pass, const struct nsight_tally *tally)
{
    uint32_t context = tally->context;
    if (context == PF_NO_CONTEXT)
        return;
    uint32_t stream = pass->state->stream_at[tally->key.stream];
    nsight_add(pass, stream, context, NSIGHT_GPU_ACTIVITIES, (int64_t)tally->count);
    nsight_add(pass, stream, context, NSIGHT_GPU_TIME, tally->total);
    if (tally->bytes)
        nsight_add(pass, stream, context, NSIGHT_BYTES, tally->bytes);
}

void nsight_read_activities(struct nsight_pass *pass)
{
    for (unsigned table = NSIGHT_KERNEL; table <= NSIGHT_SYNC; table++)
        pf_sql_each(pass->build->run, pass->sql, table, take_activity_row, pass);
    nsight_add_streams(pass);
    for (size_t i = 0; i < pass->tallies.items.n; i++)
        add_activity_values(pass, &pass->tallies.items.at[i]);
}

/* ---- the table "events" -------------------------------------------------------------------------- */

const struct pf_column nsight_event_columns[NSIGHT_EVENT_COLUMNS] = {
    {"thread", PF_PARTITION, 0}, {.name = "kind"},   {.name = "start"},          {.name = "end"},
    {.name = "device"},          {.name = "stream"}, {.name = "correlation_id"}, {"context", PF_CONTEXT, 0},
    {.name = "bytes"},           {.name = "name"}};

static int begin_events(const struct pf_cursor *cursor, struct pf_numbers *numbers, struct pf_error *error)
{
    const struct nsight_state *state = pf_build_state(cursor->model);
    struct pf_store_window *window = calloc(1, sizeof *window);
    if (!window)
        return pf_fail_memory(error);
    window->store = state->events;
    *numbers = (struct pf_numbers){.end = pf_store_size(state->events) / sizeof(struct event), .own = window};
    return 0;
}

static struct pf_cell number_cell(const struct event *event, unsigned number)
{
    return event->set >> number & 1 ? pf_int(event->number[number]) : pf_absent();
}

static int event_row(const struct pf_cursor *cursor, void *own, uint64_t number, struct pf_cell *cells,
                     struct pf_error *error)
{
    static const char *const kinds[] = {"kernel", "memcpy", "memset", "sync"};
    const struct event *event = pf_store_at(own, number * sizeof *event, sizeof *event, error);
    if (!event)
        return -1;
    const struct nsight_state *state = pf_build_state(cursor->model);
    uint32_t thread = state->stream_at[event->stream];
    if (!pf_wanted(cursor->only.partition, thread) || !pf_wanted(cursor->only.context, event->path))
        return 0;
    *cells++ = pf_int(thread);
    *cells++ = pf_string(kinds[event->kind]);
    *cells++ = number_cell(event, EVENT_START);
    *cells++ = number_cell(event, EVENT_END);
    *cells++ = number_cell(event, EVENT_DEVICE);
    *cells++ = number_cell(event, EVENT_STREAM);
    *cells++ = number_cell(event, EVENT_CORRELATION);
    *cells++ = event->path == PF_NO_CONTEXT ? pf_absent() : pf_int(event->path);
    *cells++ = number_cell(event, EVENT_BYTES);
    *cells++ = pf_interned(cursor->model->contexts->strings, event->name);
    return 1;
}

static void end_events(void *own)
{
    if (own)
        pf_store_window_free(own);
    free(own);
}

const struct pf_numbered nsight_events = {PF_NUMBERED, .begin = begin_events, .row = event_row,
                                          .free = end_events};
