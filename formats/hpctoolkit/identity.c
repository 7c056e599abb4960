/* SPDX-License-Identifier: MIT */
#include "formats/hpctoolkit/hpctoolkit.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "formats/kit/array.h"

/* Columns of the threads' table after id and name. */
enum { NODE, RANK, TID, CORE, DEVICE, CONTEXT, STREAM, VALUES, CONTEXTS, FIELDS };

static const struct pf_column field_columns[FIELDS] = {
    [NODE] = {"node", PF_GROUP, 0},         [RANK] = {"rank", PF_GROUP, 0},
    [TID] = {"tid", PF_PLAIN, 0},           [CORE] = {"core", PF_PLAIN, 0},
    [DEVICE] = {"gpudevice", PF_GROUP, 0},  [CONTEXT] = {"gpucontext", PF_PLAIN, 0},
    [STREAM] = {"gpustream", PF_GROUP, 0},  [VALUES] = {"values", PF_PLAIN, 0},
    [CONTEXTS] = {"contexts", PF_PLAIN, 0},
};

/* The default names of the kinds, and the columns that hold their numbers (FIELDS: none). */
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

int hpc_add_thread(struct hpc_threads *threads, const struct hpc_thread *thread, struct pf_error *error)
{
    if (threads->count == UINT32_MAX ||
        pf_array_room(&threads->items, &threads->room, threads->count, sizeof *threads->items, error))
        return pf_fail_memory(error);
    threads->items[threads->count] = *thread;
    threads->items[threads->count++].identity = threads->n_identities;
    return 0;
}

int hpc_add_identity(struct hpc_threads *threads, const struct hpc_identity *element, struct pf_error *error)
{
    if (pf_array_room(&threads->identities, &threads->identities_room, threads->n_identities, sizeof *element,
                      error))
        return -1;
    threads->identities[threads->n_identities++] = *element;
    threads->items[threads->count - 1].elements++;
    return 0;
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

/* How many elements of an identity a name contains. */
enum detail { INNERMOST, WITHOUT_NODE, ALL, PHYSICAL };

static bool is_shown(const struct hpc_identity *element, bool last, enum detail detail)
{
    if (last || detail >= ALL)
        return true;
    return detail == INNERMOST ? element->kind == HPC_RANK : element->kind != HPC_NODE;
}

/* Prints the kind in lower case; `kind9-` if it has no name. Returns the size in bytes. */
static size_t print_kind(const struct hpc_state *state, unsigned kind, char *out, size_t room)
{
    const char *name = kind < state->n_identifiers ? state->identifiers[kind] : NULL;
    if (!name && kind < HPC_IDENTIFIERS)
        name = usual[kind].name;
    if (!name)
        return (size_t)snprintf(out, room, "kind%u-", kind);
    size_t size = 0;
    for (; size < WORD_MAX && size + 1 < room && name[size]; size++)
        out[size] = (char)tolower((unsigned char)name[size]);
    out[size] = 0;
    return size;
}

/* Prints a name such as `rank3.thread0`, truncated to whole elements that fit. Returns the size in bytes. */
static size_t print_name(const struct hpc_state *state, const struct hpc_thread *thread, enum detail detail,
                         char name[NAME_MAX_SIZE])
{
    size_t size = 0;
    for (uint32_t i = 0; i < thread->elements && size + WORD_MAX + 60 < NAME_MAX_SIZE; i++) {
        const struct hpc_identity *element = &state->threads.identities[thread->identity + i];
        if (!is_shown(element, i + 1 == thread->elements, detail))
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
 * Names all threads with this much detail and adds a row for each to `items`, with the profile's number appended if the
 * name is taken. If items is NULL, only checks that the names are unique. Returns 1; 0 if a name is taken (only if
 * items is NULL); -1 with *error filled.
 */
static int name_all(const struct hpc_state *state, enum detail detail, struct pf_rows *items,
                    struct pf_error *error)
{
    struct pf_strings *taken = pf_strings_new();
    int got = taken ? 1 : pf_fail_memory(error);
    for (uint32_t i = 0; i < state->threads.count && got > 0; i++) {
        char name[NAME_MAX_SIZE + 40];
        uint32_t number, profile = state->threads.items[i].profile;
        size_t base = print_name(state, &state->threads.items[i], detail, name), size = base;
        got = hpc_take_name(taken, name, size, &number, error);
        for (unsigned again = 0; !got && items; again++) {
            size = base + (size_t)snprintf(name + base, sizeof name - base,
                                           again ? ".profile%u-%u" : ".profile%u", profile, again);
            got = hpc_take_name(taken, name, size, &number, error);
        }
        struct pf_cell cells[] = {pf_uint(profile), pf_text(name, size)};
        if (got > 0 && items && pf_rows_add(items, cells, error))
            got = -1;
    }
    pf_strings_free(taken);
    return got;
}

static int add_fields(const struct hpc_state *state, const struct hpc_thread *thread, struct pf_rows *fields,
                      struct pf_error *error)
{
    struct pf_cell cells[FIELDS] = {0};
    for (uint32_t i = 0; i < thread->elements; i++) {
        const struct hpc_identity *element = &state->threads.identities[thread->identity + i];
        int field = element->kind < HPC_IDENTIFIERS ? usual[element->kind].field : FIELDS;
        if (field < FIELDS && cells[field].type == PF_ABSENT)
            cells[field] = pf_uint(element->logical);
    }
    /* Dense tables of 2.x do not declare how many of their values are not zero. */
    if (state->layout != HPC_OLD) {
        cells[VALUES] = pf_uint(thread->block.n_values);
        cells[CONTEXTS] = pf_uint(thread->block.n_contexts);
    }
    return pf_rows_add(fields, cells, error);
}

void hpc_declare_threads(struct pf_model *model)
{
    model->partitions.singular = "thread";
    model->partitions.plural = "threads";
    model->partitions.field_columns = field_columns;
    model->partitions.n_fields = FIELDS;
}

int hpc_publish_threads(struct pf_model *model, struct pf_error *error)
{
    struct hpc_state *state = hpc_state(model);
    struct pf_rows *items = pf_rows_new(2), *fields = pf_rows_new(FIELDS);
    enum detail detail = INNERMOST;
    int got = items && fields ? 0 : pf_fail_memory(error);
    while (!got && detail < PHYSICAL && !(got = name_all(state, detail, NULL, error)))
        detail++;
    if (got >= 0)
        got = name_all(state, detail, items, error);
    for (uint32_t i = 0; i < state->threads.count && got >= 0; i++)
        got = add_fields(state, &state->threads.items[i], fields, error);
    forget_identities(&state->threads);
    if (got < 0) {
        pf_rows_free(items);
        pf_rows_free(fields);
        return -1;
    }
    model->partitions.items = items;
    model->partitions.fields = fields;
    return 0;
}
