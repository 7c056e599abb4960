/* SPDX-License-Identifier: MIT */
#include "formats/perun/stored.h"

#include <string.h>

static const char word[] = "profile ";

bool perun_is_stored(const unsigned char *bytes, size_t size)
{
    return size >= sizeof word - 1 && !memcmp(bytes, word, sizeof word - 1);
}

bool perun_parse_stored(const unsigned char *bytes, size_t size, struct perun_stored_header *header)
{
    size_t limit = size < PERUN_STORED_HEADER_MAX ? size : PERUN_STORED_HEADER_MAX;
    const unsigned char *end = perun_is_stored(bytes, size) ? memchr(bytes, 0, limit) : NULL;
    if (!end)
        return false;
    const unsigned char *type = bytes + sizeof word - 1;
    const unsigned char *blank = memrchr(type, ' ', (size_t)(end - type));
    if (!blank || blank == type || blank + 1 == end || (size_t)(blank - type) >= sizeof header->type)
        return false;
    memcpy(header->type, type, (size_t)(blank - type));
    header->type[blank - type] = 0;
    header->length = 0;
    for (const unsigned char *digit = blank + 1; digit < end; digit++) {
        if (*digit < '0' || *digit > '9' || header->length > (UINT64_MAX - 9) / 10)
            return false;
        header->length = header->length * 10 + (uint64_t)(*digit - '0');
    }
    header->size = (size_t)(end - bytes) + 1;
    return true;
}
