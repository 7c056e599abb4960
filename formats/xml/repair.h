/* SPDX-License-Identifier: MIT */
#ifndef PF_XML_REPAIR_H
#define PF_XML_REPAIR_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

/*
 * Rewrites the XML of HPCToolkit's and Cube's writers, damaged or not, as well-formed XML in UTF-8 without a root element:
 *
 * - references, `<`, `>`, `&`, quotes and invalid bytes in text and values become references or U+FFFD; CDATA sections become text;
 * - closing tags get the name of the innermost open element; surplus ones are removed;
 * - comments, processing instructions and DTDs lose all but their newlines, so no entities and default attributes are declared;
 * - <?damage?> marks a damaged tag, <?damage lost?> marks damage that may hide other tags;
 * - every tag and all text ends in the same line as in the file.
 *
 * A repeated attribute is left for libxml2 to reject. Time is linear in the size of the file.
 */

/* A growing buffer. A NUL follows its contents. */
struct pf_xml_bytes {
    char *bytes;
    size_t size, room;
    bool failed; /* sticky: out of memory */
};

/* Makes room for `size` more bytes, or sets `failed`. */
void pf_xml_reserve(struct pf_xml_bytes *bytes, size_t size);

static inline void pf_xml_append(struct pf_xml_bytes *to, const char *bytes, size_t size)
{
    if (size >= to->room - to->size)
        pf_xml_reserve(to, size + 1);
    if (size >= to->room - to->size)
        return;
    memcpy(to->bytes + to->size, bytes, size);
    to->size += size;
    to->bytes[to->size] = 0;
}

/* Zero-initialised by the caller. For one thread at a time. */
struct pf_repair {
    struct pf_xml_bytes pending; /* input, of which the first `done` bytes have been rewritten */
    size_t done;
    size_t wanted;                /* the next scan waits until the rest of `pending` has this size */
    struct pf_xml_bytes repaired; /* output; a piece that needs no repair may be passed on from `pending` */
    struct pf_xml_bytes open;     /* names of the open elements, each followed by a NUL */
    size_t depth;                 /* number of open elements */
    bool refused;                 /* a tag, a comment or the nesting exceeds its limit: no more output */
};

void pf_repair_free(struct pf_repair *repair);

/* Adds the next bytes of the file. */
void pf_repair_add(struct pf_repair *repair, const char *bytes, size_t size);

/*
 * Returns the size of the next piece of well-formed XML, and its address in *xml, valid until the next call. Tags are never
 * split. Returns 0 if more input is needed, the input is refused, or memory is exhausted. `last`: no more input follows.
 */
size_t pf_repair_next(struct pf_repair *repair, bool last, const char **xml);

bool pf_repair_no_memory(const struct pf_repair *repair);

/* True if the input ends inside a tag, a comment or an element. */
bool pf_repair_is_cut(const struct pf_repair *repair);

#endif
