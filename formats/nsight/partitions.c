/* SPDX-License-Identifier: MIT */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "formats/nsight/nsight.h"

/* Types of NVTX events: the creation of a domain, and a range that was pushed and popped. */
enum { EVENT_DOMAIN = 75, EVENT_RANGE = 59 };

/* The stream of an activity that concerns the whole GPU context. */
#define NO_STREAM UINT32_MAX

/*
 * The first word of a partition's key is its kind; UNKNOWN_THREAD is the partition of function visits whose threads are
 * unknown. In the key of a thread, the second word is pf_ordered of the global id. In that of a stream, the other words
 * are the process, the device and GPU context, and the stream's number.
 */
enum { THREAD, STREAM, UNKNOWN_THREAD };

/* ---- keys ---------------------------------------------------------------------------------------- */

static int by_key_words(const void *left, const void *right)
{
    const struct nsight_key *a = left, *b = right;
    for (unsigned i = 0; i < sizeof a->word / sizeof *a->word; i++)
        if (a->word[i] != b->word[i])
            return a->word[i] < b->word[i] ? -1 : 1;
    return 0;
}

static struct nsight_key domain_key(const struct pf_sql_row *row)
{
    return (struct nsight_key){
        {nsight_process_of(pf_sql_int(row, NVTX_TID)), (uint64_t)pf_sql_int(row, NVTX_DOMAIN)}};
}

static uint32_t add_key(struct nsight_pass *pass, struct pf_strings *keys, const struct nsight_key *key)
{
    return pf_build_intern(pass->build, keys, key, sizeof *key);
}

uint32_t nsight_stream_of(struct nsight_pass *pass, const struct pf_sql_row *row)
{
    uint64_t device = (uint32_t)pf_sql_int(row, ACTIVITY_DEVICE);
    struct nsight_key key = {{STREAM, nsight_process_of(pf_sql_int(row, ACTIVITY_PID)),
                              device << 32 | (uint32_t)pf_sql_int(row, ACTIVITY_CONTEXT),
                              (uint64_t)pf_sql_int(row, ACTIVITY_STREAM)}};
    return add_key(pass, pass->partitions.streams, &key);
}

bool nsight_is_visit(const struct nsight_partitions *partitions, const struct pf_sql_row *row)
{
    struct nsight_key key = domain_key(row);
    return pf_sql_int(row, NVTX_TYPE) == EVENT_RANGE &&
           pf_string_of(partitions->domains, (const char *)&key, sizeof key) != PF_NO_STRING;
}

/* ---- domains, threads and streams ---------------------------------------------------------------- */

static void take_domain(void *arg, struct pf_sql_row *row)
{
    struct nsight_pass *pass = arg;
    if (pf_sql_int(row, NVTX_TYPE) != EVENT_DOMAIN)
        return;
    struct pf_slice text = nsight_nvtx_text(pass, row);
    struct nsight_key key = domain_key(row);
    if (pf_is(text, "de.tu-darmstadt.parallel.extra_prof"))
        add_key(pass, pass->partitions.domains, &key);
}

void nsight_begin_partitions(struct nsight_pass *pass)
{
    struct pf_run *run = pass->build->run;
    pass->partitions.domains = PF_OWN(run, pf_strings_new(), pf_strings_free);
    pass->partitions.streams = PF_OWN(run, pf_strings_new(), pf_strings_free);
    pf_sql_each(run, pass->sql, NSIGHT_NVTX, take_domain, pass);
}

static void partitions_append(struct nsight_pass *pass, struct nsight_key key)
{
    *PF_PUSH(pass->build->run, pass->partitions.keys) = key;
}

void nsight_add_thread(struct nsight_pass *pass, uint64_t thread)
{
    partitions_append(pass, (struct nsight_key){{THREAD, thread}});
}

static uint32_t nsight_partition_of(const struct nsight_partitions *partitions, const struct nsight_key *key)
{
    const struct nsight_key *keys = partitions->keys.at,
                            *found = keys ? bsearch(key, keys, partitions->keys.n, sizeof *key, by_key_words)
                                          : NULL;
    return found ? (uint32_t)(found - keys) : NSIGHT_NONE;
}

static struct nsight_key stream_key(const struct nsight_partitions *partitions, uint32_t stream)
{
    struct nsight_key key;
    memcpy(&key, pf_interned(partitions->streams, stream).text, sizeof key);
    return key;
}

void nsight_add_streams(struct nsight_pass *pass)
{
    struct nsight_partitions *partitions = &pass->partitions;
    uint32_t streams = pf_strings_count(partitions->streams);
    pass->state->stream_at = pf_run_memory(pass->build->run, calloc((size_t)streams + 1, sizeof(uint32_t)));
    for (uint32_t i = 0; i < streams; i++)
        partitions_append(pass, stream_key(partitions, i));
    if (partitions->origin == NSIGHT_IMPORTED)
        partitions_append(pass, (struct nsight_key){{UNKNOWN_THREAD}});
    if (partitions->keys.n)
        qsort(partitions->keys.at, partitions->keys.n, sizeof *partitions->keys.at, by_key_words);
    for (uint32_t i = 0; i < streams; i++) {
        struct nsight_key key = stream_key(partitions, i);
        pass->state->stream_at[i] = nsight_partition_of(partitions, &key);
    }
}

/* ---- names --------------------------------------------------------------------------------------- */

/* Optional parts of the partitions' names, used if an export has several machines, processes, or GPU contexts. */
struct naming {
    bool machine, process, context;
};

static uint64_t process_of_key(const struct nsight_key *key)
{
    return key->word[0] == THREAD ? nsight_process_of(pf_signed(key->word[1])) : key->word[1];
}

/* Returns true if two streams have the same process and device but different GPU contexts. Sorting makes such streams adjacent. */
static bool differ_in_context(const struct nsight_key *a, const struct nsight_key *b)
{
    return a->word[0] == STREAM && b->word[0] == STREAM && a->word[1] == b->word[1] &&
           a->word[2] >> 32 == b->word[2] >> 32 && a->word[2] != b->word[2];
}

static struct naming naming_of(const struct nsight_partitions *partitions)
{
    struct naming naming = {0};
    /*
     * `known` is the first process other than 0. `first` has the first process of the threads and that of the streams.
     * Some exports lack the processes of streams: all are 0. That alone does not make the process part of names.
     */
    uint64_t known = 0, first[UNKNOWN_THREAD] = {0};
    bool seen[UNKNOWN_THREAD] = {0};
    const struct nsight_key *keys = partitions->keys.at;
    for (size_t i = 0; i < partitions->keys.n && keys[i].word[0] != UNKNOWN_THREAD; i++) {
        uint64_t process = process_of_key(&keys[i]), kind = keys[i].word[0];
        known = known ? known : process;
        first[kind] = seen[kind] ? first[kind] : process;
        seen[kind] = true;
        naming.process |= (process && process != known) || process != first[kind];
        naming.machine |= process && process >> 24 != known >> 24;
        naming.context |= i && differ_in_context(&keys[i - 1], &keys[i]);
    }
    return naming;
}

enum { NAME_ROOM = 160 };

/* Writes the name of a partition to `name`. Returns the size of the name. */
static int partition_name_of(const struct nsight_key *key, const struct naming *naming, char name[NAME_ROOM])
{
    uint64_t process = process_of_key(key);
    int at = 0;
    if (key->word[0] == UNKNOWN_THREAD)
        return snprintf(name, NAME_ROOM, "unknown-thread");
    if (naming->machine && process)
        at += snprintf(name + at, NAME_ROOM - (size_t)at, "vm-%" PRIx64 ".", process >> 24);
    if (naming->process && process)
        at += snprintf(name + at, NAME_ROOM - (size_t)at, "process-%" PRIu64 ".", process & 0xffffff);
    if (key->word[0] == THREAD)
        return at + snprintf(name + at, NAME_ROOM - (size_t)at, "thread-%" PRIu64,
                             (uint64_t)pf_signed(key->word[1]) & 0xffffff);
    at += snprintf(name + at, NAME_ROOM - (size_t)at, "gpu-%" PRIu64 ".", key->word[2] >> 32);
    if (naming->context)
        at += snprintf(name + at, NAME_ROOM - (size_t)at, "context-%" PRIu32 ".", (uint32_t)key->word[2]);
    if (key->word[3] == NO_STREAM)
        return at + snprintf(name + at, NAME_ROOM - (size_t)at, "no-stream");
    return at + snprintf(name + at, NAME_ROOM - (size_t)at, "stream-%" PRId64, (int64_t)key->word[3]);
}

/* ---- the table ----------------------------------------------------------------------------------- */

const struct pf_column nsight_fields[NSIGHT_FIELDS] = {
    {.name = "kind"},        {"pid", PF_GROUP, 0},    {.name = "tid"},        {"device", PF_GROUP, 0},
    {.name = "gpu_context"}, {"stream", PF_GROUP, 0}, {.name = "thread_name"}};

/* The names that the program gave its threads. */
struct thread_names {
    const struct nsight_partitions *partitions;
    int64_t *of; /* ids in StringIds, by partition; 0 if the program gave no name */
};

static void take_thread_name(void *arg, struct pf_sql_row *row)
{
    const struct thread_names *names = arg;
    struct nsight_key key = {{THREAD, pf_ordered(pf_sql_int(row, THREAD_NAMES_TID))}};
    uint32_t thread = nsight_partition_of(names->partitions, &key);
    if (thread != NSIGHT_NONE && !names->of[thread])
        names->of[thread] = pf_sql_int(row, THREAD_NAMES_NAME);
}

/* Adds a partition to the model. `thread_name` is the id in StringIds of the name that the program gave the thread, or 0. */
static void add_nsight_partition(struct nsight_pass *pass, const struct nsight_key *key,
                                 const struct naming *naming, int64_t thread_name)
{
    uint64_t process = process_of_key(key);
    bool thread = key->word[0] == THREAD, stream = key->word[0] == STREAM;
    char name[NAME_ROOM];
    struct pf_slice text = {NULL, NULL};
    if (thread_name)
        text = pf_sql_find(pass->build->run, pass->sql, NSIGHT_STRINGS, thread_name);
    struct pf_cell fields[NSIGHT_FIELDS] = {
        pf_string(stream ? "stream" : "thread"),
        thread || process ? pf_uint(process & 0xffffff) : pf_absent(),
        thread ? pf_uint((uint64_t)pf_signed(key->word[1]) & 0xffffff) : pf_absent(),
        stream ? pf_uint(key->word[2] >> 32) : pf_absent(),
        stream ? pf_uint((uint32_t)key->word[2]) : pf_absent(),
        stream ? pf_int((int64_t)key->word[3]) : pf_absent(),
        text.at ? pf_text(text.at, pf_size(text)) : pf_absent(),
    };
    pf_build_own_partition(pass->build, name, (size_t)partition_name_of(key, naming, name), fields);
}

void nsight_publish_partitions(struct nsight_pass *pass)
{
    struct pf_run *run = pass->build->run;
    const struct nsight_partitions *partitions = &pass->partitions;
    struct naming naming = naming_of(partitions);
    struct thread_names names = {partitions,
                                 PF_OWN(run, calloc(partitions->keys.n + 1, sizeof *names.of), free)};
    pf_sql_each(run, pass->sql, NSIGHT_THREAD_NAMES, take_thread_name, &names);
    for (size_t i = 0; i < partitions->keys.n; i++)
        add_nsight_partition(pass, &partitions->keys.at[i], &naming, names.of[i]);
}
