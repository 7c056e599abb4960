/* SPDX-License-Identifier: MIT */
#include "fs/buf.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>

char *pf_buf_grow(struct pf_buf *buf, size_t n)
{
    if (buf->failed)
        return NULL;
    size_t room = buf->room ? buf->room : 256;
    while (room - buf->size < n) {
        if (room > SIZE_MAX / 2) {
            buf->failed = true;
            return NULL;
        }
        room *= 2;
    }
    char *data = realloc(buf->data, room);
    if (!data) {
        buf->failed = true;
        return NULL;
    }
    buf->data = data;
    buf->room = room;
    return data + buf->size;
}

void pf_buf_printf(struct pf_buf *buf, const char *format, ...)
{
    va_list args, again;
    va_start(args, format);
    va_copy(again, args);
    int n = vsnprintf(NULL, 0, format, args);
    char *at = n >= 0 ? pf_buf_reserve(buf, (size_t)n + 1) : NULL;
    if (at) {
        vsnprintf(at, (size_t)n + 1, format, again);
        buf->size += (size_t)n;
    }
    va_end(again);
    va_end(args);
}
