/* SPDX-License-Identifier: MIT */
#ifndef PF_XML_H
#define PF_XML_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "formats/kit/error.h"

/*
 * Reads the XML of HPCToolkit's and Cube's writers, with what these get wrong, whereupon any reader of well-formed XML would stop:
 * values without quotes, quotes in values as \", signs and bytes that XML does not have, comments with `--`. The text is UTF-8.
 * Comments, instructions and the DTD are left out. Several elements may stand at the top. Memory depends on how deep elements nest alone.
 */
struct pf_xml;

/* start and end return 0 to go on, 1 to end the reading, or -1 with *error filled. An element without content has both. */
struct pf_xml_events {
    int (*start)(void *arg, const char *name, struct pf_error *error);
    /* text: what stood in the element, up to PF_XML_TEXT_MAX bytes and terminated; behind other elements: since the last of them. */
    int (*end)(void *arg, const char *name, const char *text, size_t size, struct pf_error *error);
    /*
     * Optional: a tag is damaged; what can be read of it follows. lost: elements may be missing. Without this, reading ends at
     * damage. Closing tags are counted, not compared, in either case.
     */
    void (*fault)(void *arg, bool lost);
};

#define PF_XML_TEXT_MAX ((size_t)256 * 1024)

/* events is borrowed. NULL: out of memory. */
struct pf_xml *pf_xml_new(const struct pf_xml_events *events, void *arg);
void pf_xml_free(struct pf_xml *xml);

/* Reads the next bytes of the file. 0; 1: an event has ended the reading, or a fault in the file has; -1: *error filled. */
int pf_xml_feed(struct pf_xml *xml, const char *bytes, size_t size, struct pf_error *error);

/* In an event: the value of an attribute of the element that starts, up to PF_XML_TEXT_MAX bytes of it; NULL: there is none. */
const char *pf_xml_attribute(const struct pf_xml *xml, const char *name);

/* The line, from 1, that the reading has come to. */
int64_t pf_xml_line(const struct pf_xml *xml);

/* Once all has been fed: whether the file ends inside an element or a tag, or the reading did at a fault. */
bool pf_xml_is_cut(const struct pf_xml *xml);

#endif
