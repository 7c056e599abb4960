/* SPDX-License-Identifier: MIT */
#ifndef PERUN_FILE_H
#define PERUN_FILE_H

#include <zlib.h>

#include "tests/unit/profile_file.h"

/* Files for the Perun drivers. */

extern const struct pf_driver pf_perun_driver, pf_perun_index_driver;

PROFILE_FILE struct file file_of(const char *json)
{
    struct file file;
    file_open(&file, &pf_perun_driver, "job.perf", json, strlen(json), 1 << 20);
    file.model.options = NULL;
    return file;
}

/* Makes a stored object, a zlib stream of a header and JSON. Returns its size; the caller frees *object. */
PROFILE_FILE size_t stored_object(const char *type, const char *json, size_t length, unsigned char **object)
{
    size_t json_size = strlen(json);
    uLongf packed = compressBound(json_size + 100);
    char *plain = malloc(json_size + 100);
    *object = malloc(packed);
    size_t head = (size_t)sprintf(plain, "profile %s %zu", type, length) + 1;
    memcpy(plain + head, json, json_size);
    if (compress2(*object, &packed, (unsigned char *)plain, head + json_size, 6) != Z_OK)
        abort();
    free(plain);
    return packed;
}

#endif
