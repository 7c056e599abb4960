/* SPDX-License-Identifier: MIT */
#ifndef PF_XML_H
#define PF_XML_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "formats/runtime/run.h"

/*
 * Reads the XML of HPCToolkit's and Cube's writers by libxml2, after repairing text that is not well-formed: values without quotes,
 * quotes in values as \", unescaped `<`, `>` and `&`, invalid bytes, comments that contain `--`. The text is UTF-8. Comments,
 * instructions and the DTD are skipped, entities other than the five predefined ones are text, and no other file is opened. Several
 * elements may be at the top. Memory depends only on how deep elements nest. For one thread at a time.
 *
 * These faults end the reading: a tag or comment of more than 1 MB, open elements whose names take more than 16 MB, more than about 1 MB of
 * different names, and a tag with a repeated attribute. A tag with more than 256 attributes keeps the first 256 and is reported as damaged.
 */
struct pf_xml;

/*
 * `start` and `end` run within the parser's run and may end that run with a failure (run.h). The parser leaves libxml2
 * before it passes the failure on. `fault` must not fail. An empty element has both a start and an end.
 */
struct pf_xml_events {
    void (*start)(void *arg, const char *name);
    /* `text`: the text between the end tag and the tag before it, up to PF_XML_TEXT_MAX bytes, followed by a NUL. */
    void (*end)(void *arg, const char *name, const char *text, size_t size);
    /*
     * Optional: called for a damaged tag, before the events of its readable parts. `lost`: elements may be missing.
     * If `fault` is NULL, reading ends at damage. A closing tag with a wrong name is not damage in either case.
     */
    void (*fault)(void *arg, bool lost);
};

#define PF_XML_TEXT_MAX ((size_t)256 * 1024)

/* Returns a parser, which the run owns. `events` is borrowed; its handlers get `arg`. */
struct pf_xml *pf_xml_new(struct pf_run *run, const struct pf_xml_events *events, void *arg);

/*
 * Parses the next bytes of the file. An incomplete tag or text at their end is buffered until the next call. Returns
 * false once pf_xml_stop or a fault of the file has ended the reading.
 */
bool pf_xml_feed(struct pf_xml *xml, const char *bytes, size_t size);

/* Parses the buffered bytes after the last pf_xml_feed. No-op if the reading has ended. */
void pf_xml_end(struct pf_xml *xml);

/* Ends the reading after the current event. For handlers. */
void pf_xml_stop(struct pf_xml *xml);

/* During a start event: the value of an attribute, up to PF_XML_TEXT_MAX bytes; NULL if it is absent. */
const char *pf_xml_attribute(const struct pf_xml *xml, const char *name);

/* Returns the line of the current position, from 1. */
int64_t pf_xml_line(const struct pf_xml *xml);

/* After pf_xml_end: true if the file ends inside an element or a tag, or the reading ended at a fault. */
bool pf_xml_is_cut(const struct pf_xml *xml);

#endif
