/* SPDX-License-Identifier: MIT */
#ifndef PF_CUBE_XML_H
#define PF_CUBE_XML_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "formats/input/source.h"
#include "formats/kit/error.h"

struct pf_inflate;

/* A range of an input as it stands there, or what it inflates to. */
struct pf_cube_bytes {
    struct pf_input *input;
    uint64_t offset, size;
    struct pf_inflate *inflate; /* NULL: not compressed */
};

/* Up to `size` bytes at `at` of the text; fewer at its end only. -1 with *error filled. Safe from many threads. */
ssize_t pf_cube_bytes_read(const struct pf_cube_bytes *bytes, void *buffer, size_t size, uint64_t at,
                           struct pf_error *error);

/*
 * A tolerant pull reader for anchor.xml, which is not always well-formed (Cube itself writes unquoted attribute
 * values). It knows tags, attributes, text, character references, comments and CDATA; closing tags are counted, not
 * compared; there are no entities to be defined. No recursion; memory is bounded whatever the text holds.
 */
struct pf_cube_xml;

enum pf_cube_event {
    PF_CUBE_FAILED = -1, /* *error filled: reading failed or memory is out */
    PF_CUBE_END,         /* of the text */
    PF_CUBE_START,       /* an element begins: name and attributes are there */
    PF_CUBE_CLOSE,       /* an element ends: name, and text if nothing stood inside it */
};

/* A reader before the first byte of `bytes`, which must outlive it. NULL: out of memory. */
struct pf_cube_xml *pf_cube_xml_new(const struct pf_cube_bytes *bytes);
void pf_cube_xml_free(struct pf_cube_xml *xml);

/* An empty element gives both events. */
enum pf_cube_event pf_cube_xml_next(struct pf_cube_xml *xml, struct pf_error *error);

/* Of the last event; valid until the next call. Text and values longer than 256 KiB are cut. */
const char *pf_cube_xml_name(const struct pf_cube_xml *xml);
const char *pf_cube_xml_text(const struct pf_cube_xml *xml, size_t *size);
const char *pf_cube_xml_attribute(const struct pf_cube_xml *xml, const char *name); /* NULL: there is none */

uint64_t pf_cube_xml_line(const struct pf_cube_xml *xml);   /* of what was read last, from 1 */
uint64_t pf_cube_xml_offset(const struct pf_cube_xml *xml); /* behind it, in the text */
bool pf_cube_xml_cut(const struct pf_cube_xml *xml);        /* the text ended inside a tag */

#endif
