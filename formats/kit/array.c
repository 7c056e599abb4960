/* SPDX-License-Identifier: MIT */
#include "formats/kit/array.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { ROOM_FIRST = 16 };

/* The pointer is copied by memcpy: its type is unknown, so accessing it as a void * would violate strict aliasing. */
int pf_array_resize(void *array, size_t room, size_t item, struct pf_error *error)
{
    void *items;
    memcpy(&items, array, sizeof items);
    items = room <= SIZE_MAX / 2 / item ? realloc(items, room * item) : NULL;
    if (!items)
        return pf_fail_memory(error);
    memcpy(array, &items, sizeof items);
    return 0;
}

int pf_array_grow(void *array, size_t *room, size_t wanted, size_t item, struct pf_error *error)
{
    size_t more = *room ? *room : ROOM_FIRST;
    while (more < wanted && more <= SIZE_MAX / 2)
        more *= 2;
    if (more < wanted || pf_array_resize(array, more, item, error))
        return pf_fail_memory(error);
    *room = more;
    return 0;
}

void pf_array_fills(void *memory, size_t size)
{
    enum { LARGE_PAGE = 2 << 20 };
    size_t before = -(uintptr_t)memory % LARGE_PAGE;
    if (memory && size >= before + LARGE_PAGE)
        madvise((char *)memory + before, (size - before) / LARGE_PAGE * LARGE_PAGE, MADV_HUGEPAGE);
}

int pf_array_extend(void *array, size_t *room, size_t at, size_t item, struct pf_error *error)
{
    size_t before = *room;
    unsigned char *items;
    if (at < before)
        return 0;
    if (at == SIZE_MAX)
        return pf_fail_memory(error);
    if (pf_array_grow(array, room, at + 1, item, error))
        return -1;
    memcpy(&items, array, sizeof items);
    memset(items + before * item, 0, (*room - before) * item);
    return 0;
}
