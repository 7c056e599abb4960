/* SPDX-License-Identifier: MIT */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "formats/nsight/nsight.h"

/* NVTX: a domain being made, and a range that is pushed and popped. */
enum { EVENT_DOMAIN = 75, EVENT_RANGE = 59 };

/* Streams that an activity may name instead of one: it concerns the whole context. */
#define NO_STREAM UINT32_MAX

/* The first word of a partition's key; they sort by it. */
enum { THREAD, STREAM, HOMELESS };

/* ---- keys ---------------------------------------------------------------------------------------- */

static struct nsight_key thread_key(int64_t global_tid)
{
    return (struct nsight_key){{THREAD, pf_ordered(global_tid)}};
}

static struct nsight_key stream_key(const struct nsight_scan *scan)
{
    uint64_t device = (uint32_t)nsight_int(scan, ACTIVITY_DEVICE);
    return (struct nsight_key){{STREAM, nsight_process_of(nsight_int(scan, ACTIVITY_PID)),
                                device << 32 | (uint32_t)nsight_int(scan, ACTIVITY_CONTEXT),
                                (uint64_t)nsight_int(scan, ACTIVITY_STREAM)}};
}

uint32_t nsight_thread_of(const struct nsight_partitions *partitions, int64_t global_tid)
{
    struct nsight_key key = thread_key(global_tid);
    return nsight_keys_find(&partitions->keys, &key);
}

uint32_t nsight_stream_of(const struct nsight_partitions *partitions, const struct nsight_scan *scan)
{
    struct nsight_key key = stream_key(scan);
    return nsight_keys_find(&partitions->keys, &key);
}

static struct nsight_key domain_key(const struct nsight_scan *scan)
{
    return (struct nsight_key){
        {nsight_process_of(nsight_int(scan, NVTX_TID)), (uint64_t)nsight_int(scan, NVTX_DOMAIN)}};
}

bool nsight_is_visit(const struct nsight_partitions *partitions, const struct nsight_scan *scan)
{
    if (nsight_int(scan, NVTX_TYPE) != EVENT_RANGE)
        return false;
    struct nsight_key key = domain_key(scan);
    return nsight_keys_find(&partitions->domains, &key) != NSIGHT_NONE;
}

void nsight_partitions_free(struct nsight_partitions *partitions)
{
    nsight_keys_free(&partitions->keys);
    nsight_keys_free(&partitions->domains);
    *partitions = (struct nsight_partitions){0};
}

/* ---- scanning ------------------------------------------------------------------------------------ */

struct search {
    struct nsight_db *db;
    struct nsight_partitions partitions;
    uint64_t processes[2]; /* the first two that API calls are of */
    unsigned n_processes;  /* at most 2 */
    uint64_t visits;
    int64_t
        *names; /* that the program gave its threads: a string's number by that of the partition, 0: none */
};

static int add_key(struct nsight_keys *keys, const struct nsight_key *key, struct pf_error *error)
{
    return nsight_keys_add(keys, key, error) == NSIGHT_NONE ? -1 : 0;
}

/* The text stands in the row or, in newer exports, in StringIds. */
static int take_domain(void *arg, const struct nsight_scan *scan, struct pf_error *error)
{
    struct search *search = arg;
    static const char domain[] = "de.tu-darmstadt.parallel.extra_prof";
    size_t size;
    if (nsight_int(scan, NVTX_TYPE) != EVENT_DOMAIN)
        return 0;
    const char *text = nsight_text(scan, NVTX_TEXT, &size);
    if (!text && nsight_is_set(scan, NVTX_TEXT_ID) &&
        nsight_string(search->db, nsight_int(scan, NVTX_TEXT_ID), &text, &size, error))
        return -1;
    if (!text || size != sizeof domain - 1 || memcmp(text, domain, size) != 0)
        return 0;
    struct nsight_key key = domain_key(scan);
    return add_key(&search->partitions.domains, &key, error);
}

static int take_range(void *arg, const struct nsight_scan *scan, struct pf_error *error)
{
    struct search *search = arg;
    if (!nsight_is_visit(&search->partitions, scan))
        return 0;
    search->visits++;
    struct nsight_key key = thread_key(nsight_int(scan, NVTX_TID));
    return add_key(&search->partitions.keys, &key, error);
}

static int take_call(void *arg, const struct nsight_scan *scan, struct pf_error *error)
{
    struct search *search = arg;
    int64_t global_tid = nsight_int(scan, RUNTIME_TID);
    uint64_t process = nsight_process_of(global_tid);
    if (!search->n_processes || (search->n_processes == 1 && search->processes[0] != process))
        search->processes[search->n_processes++] = process;
    struct nsight_key key = thread_key(global_tid);
    return add_key(&search->partitions.keys, &key, error);
}

static int take_activity(void *arg, const struct nsight_scan *scan, struct pf_error *error)
{
    struct search *search = arg;
    struct nsight_key key = stream_key(scan);
    return add_key(&search->partitions.keys, &key, error);
}

static int scan_tables(struct search *search, struct pf_error *error)
{
    enum {
        DOMAINS = 1 << NVTX_TYPE | 1 << NVTX_TEXT | 1 << NVTX_TID | 1 << NVTX_DOMAIN | 1 << NVTX_TEXT_ID,
        RANGES = 1 << NVTX_TYPE | 1 << NVTX_TID | 1 << NVTX_DOMAIN,
        CALLS = 1 << RUNTIME_TID,
        ACTIVITIES = 1 << ACTIVITY_DEVICE | 1 << ACTIVITY_CONTEXT | 1 << ACTIVITY_STREAM | 1 << ACTIVITY_PID,
    };
    if (nsight_each(search->db, NSIGHT_NVTX, DOMAINS, NULL, take_domain, search, error))
        return -1;
    if (search->partitions.domains.count &&
        nsight_each(search->db, NSIGHT_NVTX, RANGES, NULL, take_range, search, error))
        return -1;
    if (nsight_each(search->db, NSIGHT_RUNTIME, CALLS, NULL, take_call, search, error))
        return -1;
    for (size_t i = 0; i < NSIGHT_ACTIVITIES; i++)
        if (nsight_each(search->db, nsight_activities[i], ACTIVITIES, NULL, take_activity, search, error))
            return -1;
    return 0;
}

/* ---- what is known then -------------------------------------------------------------------------- */

static enum nsight_origin origin_of(const struct search *search)
{
    const struct nsight_schema *schema = &search->db->schema;
    if (search->visits)
        return NSIGHT_RANGES;
    if (nsight_has_table(schema, NSIGHT_CHAINS) && nsight_has(schema, NSIGHT_RUNTIME, RUNTIME_CHAIN))
        return NSIGHT_SAMPLED;
    return nsight_has_table(schema, NSIGHT_RESOLVED) ? NSIGHT_IMPORTED : NSIGHT_PATHLESS;
}

/* Each process counts its correlations from 1, but not all exports tell an activity's process. */
static bool tells_processes(const struct nsight_schema *schema)
{
    for (size_t i = 0; i < NSIGHT_ACTIVITIES; i++)
        if (nsight_has_table(schema, nsight_activities[i]) &&
            !nsight_has(schema, nsight_activities[i], ACTIVITY_PID))
            return false;
    return true;
}

static int by_words(const void *left, const void *right)
{
    const struct nsight_key *a = left, *b = right;
    for (unsigned i = 0; i < NSIGHT_KEY_WORDS; i++)
        if (a->word[i] != b->word[i])
            return a->word[i] < b->word[i] ? -1 : 1;
    return 0;
}

/* Numbers the partitions in their order instead of that of their first rows. */
static int sort_keys(struct nsight_partitions *partitions, struct pf_error *error)
{
    struct nsight_keys sorted = {0};
    if (partitions->keys.count)
        qsort(partitions->keys.key, partitions->keys.count, sizeof *partitions->keys.key, by_words);
    for (uint32_t i = 0; i < partitions->keys.count; i++) {
        partitions->threads += partitions->keys.key[i].word[0] == THREAD;
        if (add_key(&sorted, &partitions->keys.key[i], error)) {
            nsight_keys_free(&sorted);
            return -1;
        }
    }
    nsight_keys_free(&partitions->keys);
    partitions->keys = sorted;
    return 0;
}

static int conclude(struct search *search, struct pf_error *error)
{
    struct nsight_partitions *partitions = &search->partitions;
    partitions->origin = origin_of(search);
    partitions->by_process = search->n_processes > 1 && tells_processes(&search->db->schema);
    partitions->homeless = NSIGHT_NONE;
    if (sort_keys(partitions, error))
        return -1;
    if (partitions->origin != NSIGHT_IMPORTED)
        return 0;
    partitions->homeless = nsight_keys_add(&partitions->keys, &(struct nsight_key){{HOMELESS}}, error);
    return partitions->homeless == NSIGHT_NONE ? -1 : 0;
}

/* ---- names --------------------------------------------------------------------------------------- */

/* What names must tell so that no two are the same. */
struct naming {
    bool machine, process, context;
};

static uint64_t process_of_key(const struct nsight_key *key)
{
    return key->word[0] == THREAD ? nsight_process_of(pf_signed(key->word[1])) : key->word[1];
}

/* Equal but for the context; streams of one process and device stand together. */
static bool differ_in_context(const struct nsight_key *a, const struct nsight_key *b)
{
    return a->word[0] == STREAM && b->word[0] == STREAM && a->word[1] == b->word[1] &&
           a->word[2] >> 32 == b->word[2] >> 32 && a->word[2] != b->word[2];
}

/* True if the processes of threads, or those of streams, are not all one: an unknown one (0) differs from a known one. */
static bool processes_differ(const struct nsight_keys *keys, uint64_t kind)
{
    const struct nsight_key *first = NULL;
    for (uint32_t i = 0; i < keys->count; i++) {
        if (keys->key[i].word[0] != kind)
            continue;
        if (!first)
            first = &keys->key[i];
        if (process_of_key(&keys->key[i]) != process_of_key(first))
            return true;
    }
    return false;
}

static struct naming naming_of(const struct nsight_keys *keys)
{
    struct naming naming = {0};
    uint64_t first = 0; /* process; exports may tell that of no stream, which alone is no reason to name it */
    for (uint32_t i = 0; i < keys->count && keys->key[i].word[0] != HOMELESS; i++) {
        uint64_t process = process_of_key(&keys->key[i]);
        first = first ? first : process;
        naming.process |= process && process != first;
        naming.machine |= process && process >> 24 != first >> 24;
        naming.context |= i && differ_in_context(&keys->key[i - 1], &keys->key[i]);
    }
    naming.process |= processes_differ(keys, THREAD) || processes_differ(keys, STREAM);
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

static int take_thread_name(void *arg, const struct nsight_scan *scan, struct pf_error *error)
{
    struct search *search = arg;
    uint32_t thread = nsight_thread_of(&search->partitions, nsight_int(scan, THREAD_NAMES_TID));
    (void)error;
    if (thread != NSIGHT_NONE && !search->names[thread])
        search->names[thread] = nsight_int(scan, THREAD_NAMES_NAME);
    return 0;
}

static int add_fields(struct pf_rows *fields, struct nsight_db *db, const struct nsight_key *key,
                      int64_t name, struct pf_error *error)
{
    uint64_t process = process_of_key(key);
    bool thread = key->word[0] == THREAD, stream = key->word[0] == STREAM;
    size_t size = 0;
    const char *text = NULL;
    if (name && nsight_string(db, name, &text, &size, error))
        return -1;
    struct pf_cell cells[NSIGHT_FIELDS] = {
        [NSIGHT_FIELD_KIND] = pf_string(stream ? "stream" : "thread"),
        [NSIGHT_FIELD_PID] = thread || process ? pf_uint(process & 0xffffff) : pf_absent(),
        [NSIGHT_FIELD_TID] = thread ? pf_uint((uint64_t)pf_signed(key->word[1]) & 0xffffff) : pf_absent(),
        [NSIGHT_FIELD_DEVICE] = stream ? pf_uint(key->word[2] >> 32) : pf_absent(),
        [NSIGHT_FIELD_CONTEXT] = stream ? pf_uint((uint32_t)key->word[2]) : pf_absent(),
        [NSIGHT_FIELD_STREAM] = stream ? pf_int((int64_t)key->word[3]) : pf_absent(),
        [NSIGHT_FIELD_THREAD_NAME] = text ? pf_text(text, size) : pf_absent(),
    };
    return pf_rows_add(fields, cells, error);
}

static int add_rows(struct search *search, struct pf_rows *items, struct pf_rows *fields,
                    struct pf_error *error)
{
    const struct nsight_keys *keys = &search->partitions.keys;
    struct naming naming = naming_of(keys);
    for (uint32_t i = 0; i < keys->count; i++) {
        char name[NAME_ROOM];
        struct pf_cell cells[] = {pf_uint(i), pf_absent()};
        cells[1] = pf_plain(name, (size_t)name_of(&keys->key[i], &naming, name));
        if (pf_rows_add(items, cells, error) ||
            add_fields(fields, search->db, &keys->key[i], search->names[i], error))
            return -1;
    }
    return 0;
}

static int make_table(struct search *search, struct pf_rows *items, struct pf_rows *fields,
                      struct pf_error *error)
{
    search->names = calloc((size_t)search->partitions.keys.count + 1, sizeof *search->names);
    if (!search->names)
        return pf_fail_memory(error);
    int failed = nsight_each(search->db, NSIGHT_THREAD_NAMES, NSIGHT_ALL_COLUMNS, NULL, take_thread_name,
                             search, error) ||
                 add_rows(search, items, fields, error);
    free(search->names);
    return failed ? -1 : 0;
}

int nsight_load_partitions(struct pf_profile *profile, struct nsight_db *db, struct pf_error *error)
{
    struct search search = {.db = db};
    struct pf_rows *items = pf_rows_new(2), *fields = pf_rows_new(NSIGHT_FIELDS);
    int failed = !items || !fields ? pf_fail_memory(error) : 0;
    if (failed || scan_tables(&search, error) || conclude(&search, error) ||
        make_table(&search, items, fields, error)) {
        nsight_partitions_free(&search.partitions);
        pf_rows_free(items);
        pf_rows_free(fields);
        return -1;
    }
    nsight_state(profile)->partitions = search.partitions;
    profile->partitions.items = items;
    profile->partitions.fields = fields;
    return 0;
}
