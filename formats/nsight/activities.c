/* SPDX-License-Identifier: MIT */
#include "formats/nsight/nsight.h"

#include <stdio.h>
#include <stdlib.h>

#include "formats/kit/array.h"
#include "formats/kit/print.h"
#include "formats/runtime/numbered.h"

/*
 * GPU activities: kernels, copies, memory sets and synchronisations. Each has the call path of the API call with its correlation
 * id; its own context is a child of that call's context. Each is also an event; events are ordered by table (kernels first), then
 * by row.
 */

enum { EVENT_START, EVENT_END, EVENT_DEVICE, EVENT_STREAM, EVENT_CORRELATION, EVENT_BYTES, EVENT_NUMBERS };

struct event {
    int64_t number[EVENT_NUMBERS];
    uint32_t stream; /* index in partitions->streams */
    uint32_t path;   /* a context, or PF_NO_CONTEXT */
    uint32_t name;   /* in the tree's strings, or PF_NO_STRING */
    uint16_t kind;   /* table - NSIGHT_KERNEL */
    uint16_t set;    /* bit n: number[n] is present */
};

/* Returns the id of a kernel's name: the short name if present, else the demangled name, else the mangled name. */
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

/* Returns the string of words[number], or of the number in digits if it is out of range; PF_NO_STRING with *error filled. */
static uint32_t intern_word(struct pf_strings *strings, const char *const *words, size_t n, int64_t number,
                            struct pf_error *error)
{
    char digits[PF_NUMBER_MAX];
    struct pf_cell word = number >= 0 && (uint64_t)number < n
                              ? pf_string(words[number])
                              : pf_text(digits, (size_t)(pf_print_int(digits, number) - digits));
    return pf_intern(strings, word.text, word.size, error);
}

/* Finds the name of a row; *name is PF_NO_STRING for memory sets, which have no name. Returns 0, or -1 with *error filled. */
static int name_of(struct nsight_model *model, const struct pf_sql_row *row, uint32_t *name,
                   struct pf_error *error)
{
    struct pf_strings *strings = model->tree->strings;
    int64_t what = pf_sql_int(row, ACTIVITY_WHAT);
    *name = PF_NO_STRING;
    if (row->table == NSIGHT_MEMSET)
        return 0;
    if (row->table == NSIGHT_KERNEL)
        *name = nsight_name(model, kernel_id(row), error);
    else if (row->table == NSIGHT_MEMCPY)
        *name = intern_word(strings, copy_kinds, sizeof copy_kinds / sizeof *copy_kinds, what, error);
    else
        *name = intern_word(strings, sync_types, sizeof sync_types / sizeof *sync_types, what, error);
    return *name == PF_NO_STRING ? -1 : 0;
}

/* Returns the context of a tally: `memcpy HOST_TO_DEVICE`, `memset`, or the name of the kernel. */
static uint32_t context_of(struct pf_tree *tree, const struct nsight_tally_key *key, struct pf_error *error)
{
    enum nsight_kind kind = NSIGHT_A_KERNEL + (enum nsight_kind)(key->sum - NSIGHT_SUM_KERNELS);
    uint32_t name = key->name;
    if (kind != NSIGHT_A_KERNEL) {
        struct pf_cell what = pf_interned(tree->strings, name);
        char text[64];
        int size = kind == NSIGHT_A_MEMSET
                       ? snprintf(text, sizeof text, "memset")
                       : snprintf(text, sizeof text, "memcpy %.*s", (int)what.size, what.text);
        name = pf_intern(tree->strings, text, (size_t)size, error);
    }
    return name == PF_NO_STRING ? PF_NO_CONTEXT : nsight_child(tree, key->call, kind, name, error);
}

static int find_call(struct nsight_model *model, const struct pf_sql_row *row, struct nsight_found *found,
                     struct pf_error *error)
{
    *found = (struct nsight_found){PF_NO_CONTEXT, PF_NO_CONTEXT};
    if (!pf_sql_is_set(row, ACTIVITY_CORRELATION))
        return 0;
    uint64_t process = nsight_correlation_process(model->partitions, pf_sql_int(row, ACTIVITY_PID));
    return nsight_lookup_find(&model->calls, process, pf_sql_int(row, ACTIVITY_CORRELATION), found, error);
}

static int take_row(void *arg, const struct pf_sql_row *row, struct pf_error *error)
{
    static const unsigned columns[] = {ACTIVITY_START,  ACTIVITY_END,         ACTIVITY_DEVICE,
                                       ACTIVITY_STREAM, ACTIVITY_CORRELATION, ACTIVITY_MORE};
    struct nsight_model *model = arg;
    bool moves = row->table == NSIGHT_MEMCPY || row->table == NSIGHT_MEMSET;
    struct nsight_found found;
    struct event event = {.stream = nsight_stream_of(model->partitions, row, error),
                          .kind = (uint16_t)(row->table - NSIGHT_KERNEL)};
    if (event.stream == PF_NO_STRING || find_call(model, row, &found, error) ||
        name_of(model, row, &event.name, error))
        return -1;
    event.path = found.path;
    for (unsigned i = 0; i < EVENT_NUMBERS; i++) {
        bool set = pf_sql_is_set(row, columns[i]) && (i != EVENT_BYTES || moves);
        event.number[i] = set ? pf_sql_int(row, columns[i]) : 0;
        event.set |= (uint16_t)(set << i);
    }
    if (event.set >> EVENT_START & event.set >> EVENT_END & 1 &&
        !nsight_is_timed(model, event.number[EVENT_START], event.number[EVENT_END]))
        return pf_store_append(model->events, &event, sizeof event, error);
    struct nsight_tally_key key = {NSIGHT_SUM_KERNELS + event.kind, found.path, event.name, found.call,
                                   event.stream};
    struct nsight_tally *tally =
        nsight_tally(&model->tallies, &key, nsight_duration(model, row), event.number[EVENT_BYTES], error);
    if (!tally)
        return -1;
    /* A synchronisation has no context: it is the CPU waiting, and the time of its API call covers it. */
    if (tally->count == 1 && row->table != NSIGHT_SYNC &&
        (tally->context = context_of(model->tree, &key, error)) == PF_NO_CONTEXT)
        return -1;
    return pf_store_append(model->events, &event, sizeof event, error);
}

static int add_values(struct nsight_model *model, const struct nsight_tally *tally, struct pf_error *error)
{
    uint32_t context = tally->context;
    if (context == PF_NO_CONTEXT)
        return 0;
    uint32_t stream = model->partitions->stream_at[tally->key.stream];
    return nsight_add(model, stream, context, NSIGHT_GPU_ACTIVITIES, (int64_t)tally->count, error) ||
                   nsight_add(model, stream, context, NSIGHT_GPU_TIME, tally->total, error) ||
                   (tally->bytes && nsight_add(model, stream, context, NSIGHT_BYTES, tally->bytes, error))
               ? -1
               : 0;
}

int nsight_read_activities(struct nsight_model *model, struct pf_error *error)
{
    for (unsigned table = NSIGHT_KERNEL; table <= NSIGHT_SYNC; table++)
        if (pf_sql_each(model->sql, table, take_row, model, error))
            return -1;
    if (nsight_add_streams(model->partitions, error))
        return -1;
    for (uint32_t i = 0; i < model->tallies.count; i++)
        if (add_values(model, &model->tallies.items[i], error))
            return -1;
    return 0;
}

/* ---- the table "events" -------------------------------------------------------------------------- */

const struct pf_column nsight_event_columns[NSIGHT_EVENT_COLUMNS] = {
    {"thread", PF_PARTITION, 0}, {.name = "kind"},   {.name = "start"},          {.name = "end"},
    {.name = "device"},          {.name = "stream"}, {.name = "correlation_id"}, {"context", PF_CONTEXT, 0},
    {.name = "bytes"},           {.name = "name"}};

static int begin_events(const struct pf_cursor *cursor, struct pf_numbers *numbers, struct pf_error *error)
{
    const struct nsight_state *state = nsight_state(cursor->model);
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
    uint32_t thread = nsight_state(cursor->model)->partitions.stream_at[event->stream];
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
