/* SPDX-License-Identifier: MIT */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "formats/kit/array.h"
#include "formats/nsight/nsight.h"

/* NVTX event types: creation of a domain, push/pop range. */
enum { EVENT_DOMAIN = 75, EVENT_RANGE = 59 };

/* Stream number of an activity that concerns the whole GPU context. */
#define NO_STREAM UINT32_MAX

/* The first word of a partition's key, and so the first sort criterion. */
enum { THREAD, STREAM, HOMELESS };

/* ---- keys ---------------------------------------------------------------------------------------- */

static int by_words(const void *left, const void *right)
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

/* Returns the number of a key, which is added if new; PF_NO_STRING with *error filled. */
static uint32_t add_key(struct pf_strings *keys, const struct nsight_key *key, struct pf_error *error)
{
    return pf_intern(keys, (const char *)key, sizeof *key, error);
}

uint32_t nsight_stream_of(struct nsight_partitions *partitions, const struct pf_sql_row *row,
                          struct pf_error *error)
{
    uint64_t device = (uint32_t)pf_sql_int(row, ACTIVITY_DEVICE);
    struct nsight_key key = {{STREAM, nsight_process_of(pf_sql_int(row, ACTIVITY_PID)),
                              device << 32 | (uint32_t)pf_sql_int(row, ACTIVITY_CONTEXT),
                              (uint64_t)pf_sql_int(row, ACTIVITY_STREAM)}};
    return add_key(partitions->streams, &key, error);
}

bool nsight_is_visit(const struct nsight_partitions *partitions, const struct pf_sql_row *row)
{
    struct nsight_key key = domain_key(row);
    return pf_sql_int(row, NVTX_TYPE) == EVENT_RANGE &&
           pf_string_of(partitions->domains, (const char *)&key, sizeof key) != PF_NO_STRING;
}

/* ---- domains, threads and streams ---------------------------------------------------------------- */

static int take_domain(void *arg, const struct pf_sql_row *row, struct pf_error *error)
{
    struct nsight_model *model = arg;
    static const char domain[] = "de.tu-darmstadt.parallel.extra_prof";
    size_t size;
    const char *text;
    if (pf_sql_int(row, NVTX_TYPE) != EVENT_DOMAIN)
        return 0;
    if (nsight_nvtx_text(model->sql, row, &text, &size, error))
        return -1;
    if (!text || size != sizeof domain - 1 || memcmp(text, domain, size) != 0)
        return 0;
    struct nsight_key key = domain_key(row);
    return add_key(model->partitions->domains, &key, error) == PF_NO_STRING ? -1 : 0;
}

int nsight_partitions_init(struct nsight_model *model, struct pf_error *error)
{
    struct nsight_partitions *partitions = model->partitions;
    partitions->domains = pf_strings_new();
    partitions->streams = pf_strings_new();
    return !partitions->domains || !partitions->streams
               ? pf_fail_memory(error)
               : pf_sql_each(model->sql, NSIGHT_NVTX, take_domain, model, error);
}

void nsight_partitions_free(struct nsight_partitions *partitions)
{
    free(partitions->keys);
    free(partitions->stream_at);
    pf_strings_free(partitions->domains);
    pf_strings_free(partitions->streams);
    *partitions = (struct nsight_partitions){0};
}

static int append(struct nsight_partitions *partitions, struct nsight_key key, struct pf_error *error)
{
    if (pf_array_room(&partitions->keys, &partitions->room, partitions->count, sizeof key, error))
        return -1;
    partitions->keys[partitions->count++] = key;
    return 0;
}

int nsight_add_thread(struct nsight_partitions *partitions, uint64_t thread, struct pf_error *error)
{
    return append(partitions, (struct nsight_key){{THREAD, thread}}, error);
}

static uint32_t find(const struct nsight_partitions *partitions, const struct nsight_key *key)
{
    const struct nsight_key *found =
        partitions->count ? bsearch(key, partitions->keys, partitions->count, sizeof *key, by_words) : NULL;
    return found ? (uint32_t)(found - partitions->keys) : NSIGHT_NONE;
}

int nsight_add_streams(struct nsight_partitions *partitions, struct pf_error *error)
{
    uint32_t streams = pf_strings_count(partitions->streams);
    struct nsight_key key;
    partitions->stream_at = calloc((size_t)streams + 1, sizeof *partitions->stream_at);
    if (!partitions->stream_at)
        return pf_fail_memory(error);
    for (uint32_t i = 0; i < streams; i++) {
        memcpy(&key, pf_interned(partitions->streams, i).text, sizeof key);
        if (append(partitions, key, error))
            return -1;
    }
    if (partitions->origin == NSIGHT_IMPORTED && append(partitions, (struct nsight_key){{HOMELESS}}, error))
        return -1;
    if (partitions->count)
        qsort(partitions->keys, partitions->count, sizeof *partitions->keys, by_words);
    for (uint32_t i = 0; i < streams; i++) {
        memcpy(&key, pf_interned(partitions->streams, i).text, sizeof key);
        partitions->stream_at[i] = find(partitions, &key);
    }
    return 0;
}

/* ---- names --------------------------------------------------------------------------------------- */

/* The parts that names need to be unique. */
struct naming {
    bool machine, process, context;
};

static uint64_t process_of_key(const struct nsight_key *key)
{
    return key->word[0] == THREAD ? nsight_process_of(pf_signed(key->word[1])) : key->word[1];
}

/* Returns true if two streams differ only in context and number. Streams of one process and device are adjacent. */
static bool differ_in_context(const struct nsight_key *a, const struct nsight_key *b)
{
    return a->word[0] == STREAM && b->word[0] == STREAM && a->word[1] == b->word[1] &&
           a->word[2] >> 32 == b->word[2] >> 32 && a->word[2] != b->word[2];
}

static struct naming naming_of(const struct nsight_partitions *partitions)
{
    struct naming naming = {0};
    /* known: the first nonzero process; first: the first process of threads, and of streams. Some exports have no process for any
     * stream (0); that alone does not require the process in names. */
    uint64_t known = 0, first[HOMELESS] = {0};
    bool met[HOMELESS] = {0};
    const struct nsight_key *keys = partitions->keys;
    for (uint32_t i = 0; i < partitions->count && keys[i].word[0] != HOMELESS; i++) {
        uint64_t process = process_of_key(&keys[i]), kind = keys[i].word[0];
        known = known ? known : process;
        first[kind] = met[kind] ? first[kind] : process;
        met[kind] = true;
        naming.process |= (process && process != known) || process != first[kind];
        naming.machine |= process && process >> 24 != known >> 24;
        naming.context |= i && differ_in_context(&keys[i - 1], &keys[i]);
    }
    return naming;
}

enum { NAME_ROOM = 160 };

/* Writes the name; returns its size. */
static int name_of(const struct nsight_key *key, const struct naming *naming, char name[NAME_ROOM])
{
    uint64_t process = process_of_key(key);
    int at = 0;
    if (key->word[0] == HOMELESS)
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

/* Names that the program gave its threads; of: partition -> id in StringIds, 0: no name. */
struct thread_names {
    const struct nsight_partitions *partitions;
    int64_t *of;
};

static int take_thread_name(void *arg, const struct pf_sql_row *row, struct pf_error *error)
{
    const struct thread_names *names = arg;
    struct nsight_key key = {{THREAD, pf_ordered(pf_sql_int(row, THREAD_NAMES_TID))}};
    uint32_t thread = find(names->partitions, &key);
    (void)error;
    if (thread != NSIGHT_NONE && !names->of[thread])
        names->of[thread] = pf_sql_int(row, THREAD_NAMES_NAME);
    return 0;
}

static int add_fields(struct pf_rows *fields, struct pf_sql *sql, const struct nsight_key *key, int64_t name,
                      struct pf_error *error)
{
    uint64_t process = process_of_key(key);
    bool thread = key->word[0] == THREAD, stream = key->word[0] == STREAM;
    size_t size = 0;
    const char *text = NULL;
    if (name && pf_sql_find(sql, NSIGHT_STRINGS, name, &text, &size, error))
        return -1;
    struct pf_cell cells[NSIGHT_FIELDS] = {
        pf_string(stream ? "stream" : "thread"),
        thread || process ? pf_uint(process & 0xffffff) : pf_absent(),
        thread ? pf_uint((uint64_t)pf_signed(key->word[1]) & 0xffffff) : pf_absent(),
        stream ? pf_uint(key->word[2] >> 32) : pf_absent(),
        stream ? pf_uint((uint32_t)key->word[2]) : pf_absent(),
        stream ? pf_int((int64_t)key->word[3]) : pf_absent(),
        text ? pf_text(text, size) : pf_absent(),
    };
    return pf_rows_add(fields, cells, error);
}

int nsight_publish_partitions(struct nsight_model *model, struct pf_rows *items, struct pf_rows *fields,
                              struct pf_error *error)
{
    const struct nsight_partitions *partitions = model->partitions;
    struct naming naming = naming_of(partitions);
    struct thread_names names = {partitions, calloc((size_t)partitions->count + 1, sizeof *names.of)};
    if (!names.of)
        return pf_fail_memory(error);
    int failed = pf_sql_each(model->sql, NSIGHT_THREAD_NAMES, take_thread_name, &names, error);
    for (uint32_t i = 0; i < partitions->count && !failed; i++) {
        char name[NAME_ROOM];
        struct pf_cell cells[] = {pf_uint(i), pf_absent()};
        cells[1] = pf_plain(name, (size_t)name_of(&partitions->keys[i], &naming, name));
        failed = pf_rows_add(items, cells, error) ||
                 add_fields(fields, model->sql, &partitions->keys[i], names.of[i], error);
    }
    free(names.of);
    return failed ? -1 : 0;
}
