/* SPDX-License-Identifier: MIT */
#ifndef PF_BUF_H
#define PF_BUF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

/*
 * A growing buffer of text. A zero-initialised one is empty; the owner calls pf_buf_free. A failed allocation sets `failed`, and
 * the buffer does not grow any more. The owner therefore checks `failed` only once, at the end.
 */
struct pf_buf {
    char *data;
    size_t size, room;
    bool failed;
};

/* Makes room for n more bytes. Returns the end of the text; the caller writes there and adds to `size`. NULL: out of memory. */
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
