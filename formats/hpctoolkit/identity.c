/* SPDX-License-Identifier: MIT */
#include "formats/hpctoolkit/hpctoolkit.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "formats/kit/array.h"
#include "formats/kit/utf8.h"

/* Columns of the threads' table after id and name. */
enum { NODE, RANK, TID, CORE, DEVICE, CONTEXT, STREAM, VALUES, CONTEXTS, FIELDS };

static const struct pf_column field_columns[FIELDS] = {
    [NODE] = {"node", PF_GROUP, 0},         [RANK] = {"rank", PF_GROUP, 0},
    [TID] = {"tid", PF_PLAIN, 0},           [CORE] = {"core", PF_PLAIN, 0},
    [DEVICE] = {"gpudevice", PF_GROUP, 0},  [CONTEXT] = {"gpucontext", PF_PLAIN, 0},
    [STREAM] = {"gpustream", PF_GROUP, 0},  [VALUES] = {"values", PF_PLAIN, 0},
    [CONTEXTS] = {"contexts", PF_PLAIN, 0},
};

/* The default name of each kind of identifier, and the column for the identifier's logical number; FIELDS: no column. */
static const struct {
    const char *name;
    int field;
} usual[HPC_IDENTIFIERS] = {
    [HPC_SUMMARY] = {"summary", FIELDS},  [HPC_NODE] = {"node", NODE},
    [HPC_RANK] = {"rank", RANK},          [HPC_THREAD] = {"thread", TID},
    [HPC_DEVICE] = {"gpudevice", DEVICE}, [HPC_CONTEXT] = {"gpucontext", CONTEXT},
    [HPC_STREAM] = {"gpustream", STREAM}, [HPC_CORE] = {"core", CORE},
};

/* ---- collecting ----------------------------------------------------------------------------------- */

void hpc_add_thread(struct pf_run *run, const struct hpc_thread *thread)
{
    struct hpc_threads *threads = &hpc_state(run->model)->threads;
    if (threads->count == UINT32_MAX)
        pf_run_check(run, pf_fail_memory(run->error));
    pf_run_check(run,
                 pf_array_room(&threads->items, &threads->room, threads->count, sizeof *thread, run->error));
    threads->items[threads->count] = *thread;
    threads->items[threads->count++].identity = threads->n_identities;
}

void hpc_add_identity(struct pf_run *run, const struct hpc_identity *element)
{
    struct hpc_threads *threads = &hpc_state(run->model)->threads;
    pf_run_check(run, pf_array_room(&threads->identities, &threads->identities_room, threads->n_identities,
                                    sizeof *element, run->error));
    threads->identities[threads->n_identities++] = *element;
    threads->items[threads->count - 1].elements++;
}

void hpc_number_rows(struct hpc_threads *threads)
{
    memset(threads->rows, 0, sizeof threads->rows);
    for (uint32_t i = 0; i < threads->count; i++) {
        struct hpc_thread *thread = &threads->items[i];
        memcpy(thread->before, threads->rows, sizeof thread->before);
        threads->rows[HPC_OF_VALUES] += thread->block.n_contexts;
        threads->rows[HPC_OF_TRACE] += thread->samples;
    }
}

static void forget_identities(struct hpc_threads *threads)
{
    free(threads->identities);
    threads->identities = NULL;
    threads->n_identities = threads->identities_room = 0;
}

void hpc_threads_free(struct hpc_threads *threads)
{
    forget_identities(threads);
    pf_ids_free(&threads->profiles);
    free(threads->items);
    *threads = (struct hpc_threads){0};
}

/* ---- names ---------------------------------------------------------------------------------------- */

enum { NAME_MAX_SIZE = 240, WORD_MAX = 24 };

/* Threads between two checks of the pass. */
enum { THREADS_A_STEP = 8192 };

/*
 * The elements of a thread's identity that the thread's name contains. INNERMOST: the rank and the last element.
 * WITHOUT_NODE: all except the node. PHYSICAL: all, with their physical numbers.
 */
enum detail { INNERMOST, WITHOUT_NODE, ALL, PHYSICAL };

static bool is_element_shown(const struct hpc_identity *element, bool last, enum detail detail)
{
    if (last || detail >= ALL)
        return true;
    return detail == INNERMOST ? element->kind == HPC_RANK : element->kind != HPC_NODE;
}

/* Prints up to WORD_MAX bytes of a kind's name in lower case, or `kind9-` if the kind has no name. Returns the size in bytes. */
static size_t print_kind(const struct hpc_state *state, unsigned kind, char *out, size_t room)
{
    const char *name = kind < state->n_identifiers ? state->identifiers[kind] : NULL;
    if (!name && kind < HPC_IDENTIFIERS)
        name = usual[kind].name;
    if (!name)
        return (size_t)snprintf(out, room, "kind%u-", kind);
    size_t size = pf_utf8_cut(name, strlen(name), WORD_MAX < room ? WORD_MAX : room - 1);
    for (size_t i = 0; i < size; i++)
        out[i] = (char)tolower((unsigned char)name[i]);
    out[size] = 0;
    return size;
}

/* Prints a name such as `rank3.thread0`. Omits the last elements if they do not fit. Returns the size in bytes. */
static size_t print_name(const struct hpc_state *state, const struct hpc_thread *thread, enum detail detail,
                         char name[NAME_MAX_SIZE])
{
    size_t size = 0;
    for (uint32_t i = 0; i < thread->elements && size + WORD_MAX + 60 < NAME_MAX_SIZE; i++) {
        const struct hpc_identity *element = &state->threads.identities[thread->identity + i];
        if (!is_element_shown(element, i + 1 == thread->elements, detail))
            continue;
        if (size)
            name[size++] = '.';
        size += print_kind(state, element->kind, name + size, NAME_MAX_SIZE - size);
        size += (size_t)snprintf(name + size, NAME_MAX_SIZE - size, "%" PRIu64, element->logical);
        if (detail == PHYSICAL && element->shows_physical)
            size += (size_t)snprintf(name + size, NAME_MAX_SIZE - size, "-%" PRIx64, element->physical);
    }
    return size ? size : (size_t)snprintf(name, NAME_MAX_SIZE, "profile%u", thread->profile);
}

/*
 * Names all threads with this detail, and adds a row for each to `items`. Appends `.profileN` to a name that is taken,
 * where N is the thread's member `profile`. If items is NULL, adds no rows and only returns whether the names are unique.
 */
static bool name_identities(struct pf_run *run, enum detail detail, struct pf_rows *items)
{
    const struct hpc_state *state = hpc_state(run->model);
    struct pf_strings *taken = PF_OWN(run, pf_strings_new(), pf_strings_free);
    bool unique = true;
    for (uint32_t i = 0; i < state->threads.count && (unique || items); i++) {
        char name[NAME_MAX_SIZE + 40];
        if (i % THREADS_A_STEP == 0)
            pf_run_step(run, i, state->threads.count);
        uint32_t profile = state->threads.items[i].profile;
        size_t base = print_name(state, &state->threads.items[i], detail, name), size = base;
        unique = hpc_take_name(run, taken, name, size);
        for (unsigned again = 0; !unique && items; again++) {
            size = base + (size_t)snprintf(name + base, sizeof name - base,
                                           again ? ".profile%u-%u" : ".profile%u", profile, again);
            unique = hpc_take_name(run, taken, name, size);
        }
        struct pf_cell cells[] = {pf_uint(profile), pf_text(name, size)};
        if (items)
            pf_run_check(run, pf_rows_add(items, cells, run->error));
    }
    pf_strings_free(pf_disown(run, taken));
    return unique;
}

static void add_identity_fields(struct pf_run *run, const struct hpc_thread *thread, struct pf_rows *fields)
{
    const struct hpc_state *state = hpc_state(run->model);
    struct pf_cell cells[FIELDS] = {0};
    for (uint32_t i = 0; i < thread->elements; i++) {
        const struct hpc_identity *element = &state->threads.identities[thread->identity + i];
        int field = element->kind < HPC_IDENTIFIERS ? usual[element->kind].field : FIELDS;
        if (field < FIELDS && cells[field].type == PF_ABSENT)
            cells[field] = pf_uint(element->logical);
    }
    /* In 2.x, the number of values is not known, since a dense table does not declare it. */
    if (state->layout != HPC_OLD) {
        cells[VALUES] = pf_uint(thread->block.n_values);
        cells[CONTEXTS] = pf_uint(thread->block.n_contexts);
    }
    pf_run_check(run, pf_rows_add(fields, cells, run->error));
}

void hpc_declare_threads(struct pf_model *model)
{
    model->partitions.singular = "thread";
    model->partitions.plural = "threads";
    model->partitions.field_columns = field_columns;
    model->partitions.n_fields = FIELDS;
}

void hpc_publish_threads(struct pf_run *run)
{
    struct hpc_threads *threads = &hpc_state(run->model)->threads;
    struct pf_partitions *partitions = &run->model->partitions;
    struct pf_rows *items = PF_OWN(run, pf_rows_new(2), pf_rows_free),
                   *fields = PF_OWN(run, pf_rows_new(FIELDS), pf_rows_free);
    enum detail detail = INNERMOST;
    while (detail < PHYSICAL && !name_identities(run, detail, NULL))
        detail++;
    (void)name_identities(run, detail, items);
    for (uint32_t i = 0; i < threads->count; i++) {
        if (i % THREADS_A_STEP == 0)
            pf_run_step(run, i, threads->count);
        add_identity_fields(run, &threads->items[i], fields);
    }
    forget_identities(threads);
    pf_rows_free(partitions->items); /* rows of an earlier attempt that failed */
    pf_rows_free(partitions->fields);
    partitions->items = pf_disown(run, items);
    partitions->fields = pf_disown(run, fields);
}
