/* SPDX-License-Identifier: MIT */
#include "formats/chrome_trace/threads.h"

#include <stdlib.h>
#include <string.h>

#include "formats/json/walk.h"
#include "formats/kit/array.h"
#include "formats/kit/samples.h"

int trace_threads_begin(struct trace_threads *threads, struct pf_error *error)
{
    *threads = (struct trace_threads){.strings = pf_strings_new()};
    return threads->strings ? 0 : pf_fail_memory(error);
}

void trace_threads_free(struct trace_threads *threads)
{
    pf_strings_free(threads->strings);
    free(threads->all);
    free(threads->listed);
    pf_map_free(&threads->by_ids);
    pf_map_free(&threads->by_process);
    *threads = (struct trace_threads){0};
}

/* Without a pid it is 0; without a tid that is the pid, as Perfetto has it. */
struct ids {
    const char *pid, *tid;
    size_t pid_size, tid_size;
};

static struct ids ids_of(const struct trace_event *event)
{
    const struct trace_text *pid = &event->texts[TRACE_PID], *tid = &event->texts[TRACE_TID];
    struct ids ids = {"0", "0", 1, 1};
    if (pid->there) {
        ids.pid = ids.tid = pid->size ? pid->text : "";
        ids.pid_size = ids.tid_size = pid->size;
    }
    if (tid->there) {
        ids.tid = tid->size ? tid->text : "";
        ids.tid_size = tid->size;
    }
    return ids;
}

static bool is_text(const struct pf_strings *strings, uint32_t string, const char *text, size_t size)
{
    struct pf_cell cell = pf_interned(strings, string);
    return cell.size == size && !memcmp(cell.text, text, size);
}

/* Most events are of the thread that the one before is of. */
static bool is_thread(const struct trace_threads *threads, size_t i, const struct ids *ids)
{
    return i < threads->count && is_text(threads->strings, threads->all[i].tid, ids->tid, ids->tid_size) &&
           is_text(threads->strings, threads->all[i].pid, ids->pid, ids->pid_size);
}

static uint64_t key_of(uint32_t pid, uint32_t tid)
{
    return (uint64_t)pid << 32 | tid;
}

static int add(struct trace_threads *threads, uint32_t pid, uint32_t tid, size_t *index,
               struct pf_error *error)
{
    if (threads->count >= TRACE_UNLISTED ||
        pf_array_room(&threads->all, &threads->room, threads->count, sizeof *threads->all, error))
        return -1;
    *index = threads->count;
    threads->all[*index] = (struct trace_thread){pid, tid, PF_NO_STRING, TRACE_UNLISTED};
    if (!pf_map_put(&threads->by_ids, key_of(pid, tid), (void *)(uintptr_t)(*index + 1)))
        return pf_fail_memory(error);
    threads->count++;
    return 0;
}

int trace_threads_of(struct trace_threads *threads, const struct trace_event *event, size_t *index,
                     struct pf_error *error)
{
    struct ids ids = ids_of(event);
    if (is_thread(threads, threads->last, &ids)) {
        *index = threads->last;
        return 0;
    }
    uint32_t pid = pf_intern(threads->strings, ids.pid, ids.pid_size, error);
    uint32_t tid = pid == PF_NO_STRING ? pid : pf_intern(threads->strings, ids.tid, ids.tid_size, error);
    if (tid == PF_NO_STRING)
        return -1;
    uintptr_t known = (uintptr_t)pf_map_get(&threads->by_ids, key_of(pid, tid));
    *index = known - 1;
    if (!known && add(threads, pid, tid, index, error))
        return -1;
    threads->last = *index;
    return 0;
}

int trace_threads_listed(struct trace_threads *threads, const struct trace_event *event, uint32_t *number,
                         struct pf_error *error)
{
    size_t index;
    if (trace_threads_of(threads, event, &index, error))
        return -1;
    struct trace_thread *thread = &threads->all[index];
    if (thread->number == TRACE_UNLISTED) {
        if (pf_array_room(&threads->listed, &threads->listed_room, threads->n_listed, sizeof *threads->listed,
                          error))
            return -1;
        threads->listed[threads->n_listed] = (uint32_t)index;
        thread->number = (uint32_t)threads->n_listed++;
    }
    *number = thread->number;
    return 0;
}

uint32_t trace_threads_find(const struct trace_threads *threads, const struct trace_event *event)
{
    struct ids ids = ids_of(event);
    uint32_t pid = pf_string_of(threads->strings, ids.pid, ids.pid_size);
    uint32_t tid = pf_string_of(threads->strings, ids.tid, ids.tid_size);
    if (pid == PF_NO_STRING || tid == PF_NO_STRING)
        return TRACE_UNLISTED;
    uintptr_t known = (uintptr_t)pf_map_get(&threads->by_ids, key_of(pid, tid));
    return known ? threads->all[known - 1].number : TRACE_UNLISTED;
}

/* ---- names -------------------------------------------------------------------------------------- */

static bool is_named(const struct trace_event *event, const char *name)
{
    const struct trace_text *text = &event->texts[TRACE_NAME];
    return text->there && text->size == strlen(name) && !memcmp(text->text, name, text->size);
}

static int take_token(const struct pf_json_walk *walk)
{
    *(struct pf_json_token *)walk->into = *walk->token;
    return 1;
}

static const struct pf_json_member args_members[] = {
    PF_MEMBER_OF_ALL("name", PF_JSON_STRING, take_token),
    PF_MEMBERS_END,
};

/* The member `name` of args. False if there is none that is a text. */
static bool find_name(const struct trace_event *event, struct pf_json *json, struct pf_json_token *name)
{
    struct pf_json_token token;
    struct pf_error ignored;
    struct pf_json_walk walk = {.json = json, .error = &ignored};
    if (!event->args.there)
        return false;
    pf_json_text(json, event->args.text, event->args.size);
    return pf_json_next(json, &token, &ignored) == PF_JSON_OBJECT &&
           pf_json_object(&walk, name, args_members) == 1;
}

int trace_threads_name(struct trace_threads *threads, const struct trace_event *event,
                       struct pf_json *args_reader, struct pf_error *error)
{
    struct pf_json_token token;
    size_t index;
    bool process = is_named(event, "process_name");
    if ((!process && !is_named(event, "thread_name")) || !find_name(event, args_reader, &token))
        return 0;
    uint32_t name = pf_intern(threads->strings, token.text, token.size, error);
    if (name == PF_NO_STRING || trace_threads_of(threads, event, &index, error))
        return -1;
    struct trace_thread *thread = &threads->all[index];
    if (!process)
        thread->name = name;
    else if (!pf_map_put(&threads->by_process, thread->pid, (void *)((uintptr_t)name + 1)))
        return pf_fail_memory(error);
    return 0;
}

/* ---- the partitions ----------------------------------------------------------------------------- */

const struct pf_column trace_thread_fields[TRACE_THREAD_FIELDS] = {
    {"pid", PF_PLAIN, 0}, {"tid", PF_PLAIN, 0}, {"process", PF_PLAIN, 0}};

/* `pid/tid`, or `pid/tid name`; as text that is freed by the caller. NULL: out of memory. */
static char *make_name(const struct trace_threads *threads, const struct trace_thread *thread, size_t *size)
{
    struct pf_cell pid = pf_interned(threads->strings, thread->pid);
    struct pf_cell tid = pf_interned(threads->strings, thread->tid);
    struct pf_cell name = pf_interned(threads->strings, thread->name);
    bool named = name.type == PF_TEXT && name.size;
    char *text = malloc((size_t)pid.size + tid.size + (named ? name.size : 0) + 2);
    if (!text)
        return NULL;
    char *at = text;
    memcpy(at, pid.text, pid.size);
    at += pid.size;
    *at++ = '/';
    memcpy(at, tid.text, tid.size);
    at += tid.size;
    if (named) {
        *at++ = ' ';
        memcpy(at, name.text, name.size);
        at += name.size;
    }
    *size = (size_t)(at - text);
    return text;
}

static int add_thread(const struct trace_threads *threads, size_t number, struct pf_profile *profile,
                      struct pf_error *error)
{
    const struct trace_thread *thread = &threads->all[threads->listed[number]];
    uintptr_t process = (uintptr_t)pf_map_get(&threads->by_process, thread->pid);
    struct pf_cell fields[TRACE_THREAD_FIELDS] = {
        pf_interned(threads->strings, thread->pid), pf_interned(threads->strings, thread->tid),
        process ? pf_interned(threads->strings, (uint32_t)(process - 1)) : pf_absent()};
    size_t size;
    char *name = make_name(threads, thread, &size);
    if (!name)
        return pf_fail_memory(error);
    uint32_t partition = pf_samples_own_partition(profile, name, size, fields, error);
    free(name);
    return partition == PF_NO_PARTITION ? -1 : 0;
}

int trace_threads_publish(const struct trace_threads *threads, struct pf_profile *profile,
                          struct pf_error *error)
{
    for (size_t i = 0; i < threads->n_listed; i++)
        if (add_thread(threads, i, profile, error))
            return -1;
    return 0;
}
