/* SPDX-License-Identifier: MIT */
#ifndef PF_XML_H
#define PF_XML_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "formats/error.h"

/*
 * A tolerant pull reader for XML that tools have written by hand, which is not always well-formed: quotes inside values
 * stand there as \", values have no quotes, comments hold `--`, bytes are no UTF-8. It knows tags, attributes, text,
 * character references, comments, CDATA and DTDs; closing tags are counted, not compared; there are no entities to be
 * defined, and bytes are left as they are. No recursion; memory is bounded whatever the text holds.
 */
struct pf_xml;

/* Reads up to `size` bytes at `offset` of the text; fewer at its end only; -1 with *error filled. */
typedef ssize_t pf_xml_read(void *arg, void *buffer, size_t size, uint64_t offset, struct pf_error *error);

enum pf_xml_event {
    PF_XML_FAILED = -1, /* *error filled: reading failed or memory is out */
    PF_XML_END,         /* of the text */
    PF_XML_START,       /* an element begins: name and attributes are there */
    PF_XML_CLOSE,       /* an element ends: name, and text if nothing stood inside it */
};

/* A reader before the first byte; arg must outlive it. NULL: out of memory. */
struct pf_xml *pf_xml_new(pf_xml_read *read, void *arg);
void pf_xml_free(struct pf_xml *xml);

/* An element without content gives both events. */
enum pf_xml_event pf_xml_next(struct pf_xml *xml, struct pf_error *error);

/*
 * Of the last event; valid until the next call; terminated by a NUL, with none inside. Text of more than 256 KiB is cut;
 * attributes beyond as much are left out.
 */
const char *pf_xml_name(const struct pf_xml *xml);
const char *pf_xml_text(const struct pf_xml *xml, size_t *size);
const char *pf_xml_attribute(const struct pf_xml *xml, const char *name); /* NULL: there is none */

uint64_t
pf_xml_line(const struct pf_xml *xml); /* that the last event's tag began in, from 1; at the end, the last */
uint64_t pf_xml_offset(const struct pf_xml *xml); /* behind what was read last, in the text */
bool pf_xml_cut(const struct pf_xml *xml);        /* the text ended inside a tag, comment or the like */

#endif
