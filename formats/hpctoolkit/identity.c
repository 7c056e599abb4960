/* SPDX-License-Identifier: MIT */
#include "formats/hpctoolkit/hpctoolkit.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "formats/kit/array.h"

const struct pf_column hpc_field_columns[HPC_FIELDS] = {
    [HPC_FIELD_NODE] = {"node", PF_PLAIN, 0},         [HPC_FIELD_RANK] = {"rank", PF_PLAIN, 0},
    [HPC_FIELD_TID] = {"tid", PF_PLAIN, 0},           [HPC_FIELD_CORE] = {"core", PF_PLAIN, 0},
    [HPC_FIELD_DEVICE] = {"gpudevice", PF_PLAIN, 0},  [HPC_FIELD_CONTEXT] = {"gpucontext", PF_PLAIN, 0},
    [HPC_FIELD_STREAM] = {"gpustream", PF_PLAIN, 0},  [HPC_FIELD_VALUES] = {"values", PF_PLAIN, 0},
    [HPC_FIELD_CONTEXTS] = {"contexts", PF_PLAIN, 0},
};

/* ---- collecting ----------------------------------------------------------------------------------- */

int hpc_identities_add(struct hpc_identities *all, uint32_t profile, struct pf_error *error)
{
    if (pf_array_room(&all->tuples, &all->tuples_room, all->n_tuples, sizeof *all->tuples, error))
        return -1;
    all->tuples[all->n_tuples++] = (struct hpc_tuple){.first = all->n_elements, .profile = profile};
    return 0;
}

int hpc_identities_element(struct hpc_identities *all, const struct hpc_identity *element,
                           struct pf_error *error)
{
    if (pf_array_room(&all->elements, &all->room, all->n_elements, sizeof *all->elements, error))
        return -1;
    all->elements[all->n_elements++] = *element;
    all->tuples[all->n_tuples - 1].count++;
    return 0;
}

void hpc_identities_free(struct hpc_identities *all)
{
    free(all->elements);
    free(all->tuples);
    *all = (struct hpc_identities){0};
}

/* ---- names ---------------------------------------------------------------------------------------- */

enum { NAME_MAX_SIZE = 240, WORD_MAX = 24 };

/* How much of a tuple a name tells. */
enum detail { INNERMOST, WITHOUT_NODE, ALL, PHYSICAL, DETAILS };

static bool shown(const struct hpc_tuple *tuple, uint32_t i, const struct hpc_identity *element,
                  enum detail detail)
{
    bool last = i + 1 == tuple->count;
    if (detail == INNERMOST)
        return last || element->kind == HPC_RANK;
    return last || detail >= ALL || element->kind != HPC_NODE;
}

/* What the kinds are called where the database does not say. */
static const char *const usual_names[HPC_IDENTIFIERS] = {
    [HPC_SUMMARY] = "summary",  [HPC_NODE] = "node",        [HPC_RANK] = "rank",
    [HPC_THREAD] = "thread",    [HPC_DEVICE] = "gpudevice", [HPC_CONTEXT] = "gpucontext",
    [HPC_STREAM] = "gpustream", [HPC_CORE] = "core",
};

/* The kind in small letters; `kind9-` if it has no name. */
static int print_kind(const struct hpc_state *state, unsigned kind, char *out, size_t room)
{
    const char *name = kind < state->identifiers.count ? state->identifiers.names[kind] : NULL;
    if (!name && kind < HPC_IDENTIFIERS)
        name = usual_names[kind];
    if (!name)
        return snprintf(out, room, "kind%u-", kind);
    size_t size = 0;
    for (; size < WORD_MAX && size + 1 < room && name[size]; size++)
        out[size] = (char)tolower((unsigned char)name[size]);
    out[size] = 0;
    return (int)size;
}

/* `rank3.thread0`, as far as there is room. Returns its size. */
static size_t print_name(const struct hpc_identities *all, const struct hpc_state *state,
                         const struct hpc_tuple *tuple, enum detail detail, char name[NAME_MAX_SIZE])
{
    size_t size = 0;
    for (uint32_t i = 0; i < tuple->count && size + WORD_MAX + 60 < NAME_MAX_SIZE; i++) {
        const struct hpc_identity *element = &all->elements[tuple->first + i];
        if (!shown(tuple, i, element, detail))
            continue;
        if (size)
            name[size++] = '.';
        size += (size_t)print_kind(state, element->kind, name + size, NAME_MAX_SIZE - size);
        size += (size_t)snprintf(name + size, NAME_MAX_SIZE - size, "%" PRIu64, element->logical);
        if (detail == PHYSICAL && element->shows_physical)
            size += (size_t)snprintf(name + size, NAME_MAX_SIZE - size, "-%" PRIx64, element->physical);
    }
    if (!size)
        size = (size_t)snprintf(name, NAME_MAX_SIZE, "profile%u", tuple->profile);
    return size;
}

/* 1 if all names differ with this much detail, 0 if not, -1 with *error filled. */
static int all_differ(const struct hpc_identities *all, const struct hpc_state *state, enum detail detail,
                      struct pf_error *error)
{
    struct pf_strings *seen = pf_strings_new();
    int differ = seen ? 1 : pf_fail_memory(error);
    for (size_t i = 0; i < all->n_tuples && differ > 0; i++) {
        char name[NAME_MAX_SIZE];
        size_t size = print_name(all, state, &all->tuples[i], detail, name);
        if (pf_intern(seen, name, size, error) == PF_NO_STRING)
            differ = -1;
        else
            differ = pf_strings_count(seen) == i + 1;
    }
    pf_strings_free(seen);
    return differ;
}

/* The name of a thread among those that `taken` holds, with its profile's number behind it where that is needed. */
static int add_item(const struct hpc_identities *all, const struct hpc_state *state, size_t i,
                    enum detail detail, struct pf_strings *taken, struct pf_rows *items,
                    struct pf_error *error)
{
    char name[NAME_MAX_SIZE + 40];
    const struct hpc_tuple *tuple = &all->tuples[i];
    size_t base = print_name(all, state, tuple, detail, name), size = base;
    for (unsigned again = 0;; again++) {
        uint32_t before = pf_strings_count(taken);
        if (pf_intern(taken, name, size, error) == PF_NO_STRING)
            return -1;
        if (pf_strings_count(taken) > before)
            break;
        size = base + (size_t)snprintf(name + base, sizeof name - base,
                                       again ? ".profile%u-%u" : ".profile%u", tuple->profile, again);
    }
    struct pf_cell cells[] = {pf_uint(tuple->profile), pf_text(name, size)};
    return pf_rows_add(items, cells, error);
}

/* ---- fields --------------------------------------------------------------------------------------- */

static void set_identity(struct pf_cell *cells, const struct hpc_identity *element)
{
    static const int fields[HPC_IDENTIFIERS] = {
        [HPC_SUMMARY] = HPC_FIELDS,      [HPC_NODE] = HPC_FIELD_NODE,     [HPC_RANK] = HPC_FIELD_RANK,
        [HPC_THREAD] = HPC_FIELD_TID,    [HPC_DEVICE] = HPC_FIELD_DEVICE, [HPC_CONTEXT] = HPC_FIELD_CONTEXT,
        [HPC_STREAM] = HPC_FIELD_STREAM, [HPC_CORE] = HPC_FIELD_CORE,
    };
    int field = element->kind < HPC_IDENTIFIERS ? fields[element->kind] : HPC_FIELDS;
    if (field < HPC_FIELDS && cells[field].type == PF_ABSENT)
        cells[field] = pf_uint(element->logical);
}

static int add_fields(const struct hpc_identities *all, const struct hpc_state *state, size_t i,
                      struct pf_rows *fields, struct pf_error *error)
{
    struct pf_cell cells[HPC_FIELDS] = {0};
    const struct hpc_tuple *tuple = &all->tuples[i];
    for (uint32_t e = 0; e < tuple->count; e++)
        set_identity(cells, &all->elements[tuple->first + e]);
    /* Tables of 2.x are dense: how much of them is not zero they do not say. */
    if (state->layout != HPC_OLD) {
        cells[HPC_FIELD_VALUES] = pf_uint(state->threads.items[i].block.n_values);
        cells[HPC_FIELD_CONTEXTS] = pf_uint(state->threads.items[i].block.n_contexts);
    }
    return pf_rows_add(fields, cells, error);
}

int hpc_identities_publish(const struct hpc_identities *all, const struct hpc_state *state,
                           struct pf_rows *items, struct pf_rows *fields, struct pf_error *error)
{
    enum detail detail = INNERMOST;
    int differ = 0;
    while (detail < PHYSICAL && !(differ = all_differ(all, state, detail, error)))
        detail++;
    struct pf_strings *taken = pf_strings_new();
    int failed = differ < 0 ? -1 : taken ? 0 : pf_fail_memory(error);
    for (size_t i = 0; i < all->n_tuples && !failed; i++)
        failed =
            add_item(all, state, i, detail, taken, items, error) || add_fields(all, state, i, fields, error);
    pf_strings_free(taken);
    return failed ? -1 : 0;
}
