/* SPDX-License-Identifier: MIT */
#include "fs/text/buf.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>

#include "formats/kit/array.h"

char *pf_buf_grow(struct pf_buf *buf, size_t n)
{
    struct pf_error failure;
    buf->failed = buf->failed || n > SIZE_MAX - buf->size ||
                  pf_array_grow(&buf->data, &buf->room, buf->size + n, 1, &failure);
    return buf->failed ? NULL : buf->data + buf->size;
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
