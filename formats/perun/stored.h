/* SPDX-License-Identifier: MIT */
#ifndef PF_PERUN_STORED_H
#define PF_PERUN_STORED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The header of a stored object: "profile TYPE LENGTH" and a NUL. */
enum { PERUN_STORED_HEADER_MAX = 96 };

struct perun_stored_header {
    char type[32];
    uint64_t length; /* of the JSON, in characters */
    size_t size;     /* of the header with its NUL */
};

/* True if bytes begin as a stored object, however its header goes on. */
bool perun_is_stored(const unsigned char *bytes, size_t size);

/* True if they begin with a whole header. */
bool perun_parse_stored(const unsigned char *bytes, size_t size, struct perun_stored_header *header);

#endif
