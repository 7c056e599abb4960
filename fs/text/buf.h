/* SPDX-License-Identifier: MIT */
#ifndef PF_BUF_H
#define PF_BUF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

/* A growing buffer of text. Zero-initialised is empty; the owner frees it. After a failed allocation `failed`
 * is set, later appends are ignored, and whoever started the text checks once at its end. */
struct pf_buf {
    char *data;
    size_t size, room;
    bool failed;
};

/* Room for n more bytes at the end, which the caller may then write and add to size; NULL if memory ran out.
 */
char *pf_buf_grow(struct pf_buf *buf, size_t n);

static inline char *pf_buf_reserve(struct pf_buf *buf, size_t n)
{
    return buf->room - buf->size >= n ? buf->data + buf->size : pf_buf_grow(buf, n);
}

static inline void pf_buf_add(struct pf_buf *buf, const char *text, size_t size)
{
    char *at = size ? pf_buf_reserve(buf, size) : NULL;
    if (at) {
        memcpy(at, text, size);
        buf->size += size;
    }
}

static inline void pf_buf_char(struct pf_buf *buf, char c)
{
    pf_buf_add(buf, &c, 1);
}

static inline void pf_buf_str(struct pf_buf *buf, const char *text)
{
    pf_buf_add(buf, text, strlen(text));
}

void pf_buf_printf(struct pf_buf *buf, const char *format, ...) __attribute__((format(printf, 2, 3)));

static inline void pf_buf_free(struct pf_buf *buf)
{
    free(buf->data);
    *buf = (struct pf_buf){0};
}

#endif
