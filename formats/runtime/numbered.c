/* SPDX-License-Identifier: MIT */
#include "formats/runtime/numbered.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "formats/kit/pass.h"

struct numbered_walk {
    struct pf_numbers numbers; /* first, for pf_numbers_of */
    uint64_t first;
};

/* The ops are the first member of pf_numbered. */
static const struct pf_numbered *numbered_kind_of(const struct pf_cursor *cursor)
{
    return (const struct pf_numbered *)(const void *)cursor->table->ops;
}

int pf_numbered_open(struct pf_cursor *cursor, struct pf_error *error)
{
    struct numbered_walk *walk = cursor->state = calloc(1, sizeof *walk);
    if (!walk)
        return pf_fail_memory(error);
    if (numbered_kind_of(cursor)->begin(cursor, &walk->numbers, error))
        return -1;
    if (walk->numbers.next > walk->numbers.end)
        walk->numbers.next = walk->numbers.end;
    walk->first = walk->numbers.next;
    return 0;
}

int pf_numbered_next(struct pf_cursor *cursor, struct pf_cell *cells, struct pf_error *error)
{
    const struct pf_numbered *kind = numbered_kind_of(cursor);
    struct pf_numbers *numbers = &((struct numbered_walk *)cursor->state)->numbers;
    int got = 0;
    while (!got && numbers->next < numbers->end) {
        uint64_t number = numbers->next;
        got = kind->row(cursor, numbers->own, number, cells, error);
        numbers->next = kind->after ? kind->after(cursor, numbers->own, number) : number + 1;
        /* Many records may have no row, and reading a record from memory does not check for cancellation. */
        if (!got && pf_pass_check(error))
            got = -1;
    }
    if (numbers->next > numbers->end)
        numbers->next = numbers->end;
    return got;
}

size_t pf_numbered_save(const struct pf_cursor *cursor, void *saved, size_t room)
{
    const struct numbered_walk *walk = cursor->state;
    return pf_position_save(&walk->numbers.next, sizeof walk->numbers.next, saved, room);
}

/* A number in the range needs no further check: `row` skips records that do not match the restriction. */
int pf_numbered_restore(struct pf_cursor *cursor, const void *saved, size_t size, struct pf_error *error)
{
    struct numbered_walk *walk = cursor->state;
    uint64_t next = 0;
    if (pf_position_restore(&next, sizeof next, saved, size, error))
        return -1;
    if (next < walk->first || next > walk->numbers.end)
        return pf_position_refuse(error);
    walk->numbers.next = next;
    return 0;
}

void pf_numbered_close(struct pf_cursor *cursor)
{
    struct numbered_walk *walk = cursor->state;
    const struct pf_numbered *kind = numbered_kind_of(cursor);
    if (walk)
        (kind->free ? kind->free : free)(walk->numbers.own);
    free(walk);
    cursor->state = NULL;
}

double pf_numbered_progress(const struct pf_cursor *cursor)
{
    const struct numbered_walk *walk = cursor->state;
    uint64_t first = walk->first, end = walk->numbers.end;
    return walk->numbers.next < end && end > first
               ? (double)(walk->numbers.next - first) / (double)(end - first)
               : 1;
}

/* ---- positions ---------------------------------------------------------------------------------- */

size_t pf_position_save(const void *position, size_t size, void *saved, size_t room)
{
    if (room >= size)
        memcpy(saved, position, size);
    return size;
}

int pf_position_refuse(struct pf_error *error)
{
    return pf_fail(error, EINVAL, "not a position");
}

int pf_position_restore(void *position, size_t size, const void *saved, size_t saved_size,
                        struct pf_error *error)
{
    if (saved_size != size)
        return pf_position_refuse(error);
    memcpy(position, saved, size);
    return 0;
}
