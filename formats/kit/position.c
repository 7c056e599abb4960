/* SPDX-License-Identifier: MIT */
#include "formats/kit/position.h"

#include <errno.h>
#include <string.h>

size_t pf_position_save(const void *position, size_t size, void *blob, size_t room)
{
    if (room >= size)
        memcpy(blob, position, size);
    return size;
}

int pf_position_refuse(struct pf_error *error)
{
    return pf_fail(error, EINVAL, "not a position");
}

int pf_position_restore(void *position, size_t size, const void *blob, size_t blob_size,
                        struct pf_error *error)
{
    if (blob_size != size)
        return pf_position_refuse(error);
    memcpy(position, blob, size);
    return 0;
}
