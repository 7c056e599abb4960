/* SPDX-License-Identifier: MIT */
#ifndef PF_XML_H
#define PF_XML_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "formats/kit/error.h"

/*
 * Reads the XML of HPCToolkit's and Cube's writers by libxml2, after a repair of what is not well-formed: values without quotes,
 * quotes in values as \", unescaped signs, invalid bytes, comments that contain `--`. The text is UTF-8. Comments, instructions and
 * the DTD are skipped, entities other than the five predefined ones are text, and no other file is opened. Several elements may
 * be at the top. Memory depends only on how deep elements nest. For one thread at a time.
 *
 * Reading ends at a fault at a tag or comment of more than 1 MB, open elements whose names take more than 16 MB, more than about
 * 1 MB of different names, and a tag that has an attribute twice. Of a tag with more than 256 attributes, the others are dropped
 * and the tag is damaged.
 */
struct pf_xml;

/* start and end return 0 to go on, 1 to end the reading, or -1 with *error filled. An empty element has both events. */
struct pf_xml_events {
    int (*start)(void *arg, const char *name, struct pf_error *error);
    /* text: since the last tag of the element, up to PF_XML_TEXT_MAX bytes, followed by a NUL. */
    int (*end)(void *arg, const char *name, const char *text, size_t size, struct pf_error *error);
    /*
     * Optional: a damaged tag; its readable parts follow. lost: elements may be missing. If NULL, reading ends at damage. Names
     * of closing tags are not compared in either case.
     */
    void (*fault)(void *arg, bool lost);
};

#define PF_XML_TEXT_MAX ((size_t)256 * 1024)

/* events is borrowed. NULL: out of memory. */
struct pf_xml *pf_xml_new(const struct pf_xml_events *events, void *arg);
void pf_xml_free(struct pf_xml *xml);

/*
 * Reads the next bytes of the file; the last of them may wait for more. Returns 0; 1 if an event or a fault of the file has ended
 * the reading; -1 with *error filled.
 */
int pf_xml_feed(struct pf_xml *xml, const char *bytes, size_t size, struct pf_error *error);

/* Reads what still waits, after all has been fed. Returns as pf_xml_feed. */
int pf_xml_end(struct pf_xml *xml, struct pf_error *error);

/* During a start event: the value of an attribute, up to PF_XML_TEXT_MAX bytes; NULL: there is none. */
const char *pf_xml_attribute(const struct pf_xml *xml, const char *name);

/* Returns the line of the current position, from 1. */
int64_t pf_xml_line(const struct pf_xml *xml);

/* After pf_xml_end: true if the file ends inside an element or a tag, or the reading ended at a fault. */
bool pf_xml_is_cut(const struct pf_xml *xml);

#endif
