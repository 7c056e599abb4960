/* SPDX-License-Identifier: MIT */
#ifndef PF_HPC_XML_H
#define PF_HPC_XML_H

#include <stdbool.h>
#include <stdint.h>

#include "formats/kit/cell.h"
#include "formats/kit/error.h"

/*
 * Reads the XML of HPCToolkit's writers, which is not always well-formed: a quote in a value stands there as \",
 * control characters and bytes that are no UTF-8 as they are, comments hold `--`. Tags are mended one by one and given to
 * libxml2, each as an element without content, so that it neither stops at such faults nor limits how deep elements
 * nest. Comments, the DTD and text between elements are left out. Memory does not depend on the file.
 */
struct hpc_xml;

/* The attributes of an element; valid during the call. */
struct hpc_attributes {
    const void *items; /* libxml2's */
    int count;
};

/* The value of an attribute; absent if there is none. */
struct pf_cell hpc_attribute(const struct hpc_attributes *attributes, const char *name);

struct hpc_xml_events {
    /* Each returns 0 to go on, 1 to end the reading, or -1 with *error filled. An element without content has both. */
    int (*start)(void *arg, const char *name, const struct hpc_attributes *attributes,
                 struct pf_error *error);
    int (*end)(void *arg, const char *name, struct pf_error *error);
    /* The element that begins in this line is left out: it can't be read. */
    int (*broken)(void *arg, int64_t line, struct pf_error *error);
};

/* events is borrowed. NULL: out of memory. */
struct hpc_xml *hpc_xml_new(const struct hpc_xml_events *events, void *arg);
void hpc_xml_free(struct hpc_xml *xml);

/* Reads the next bytes of the file. Returns what the last event did. */
int hpc_xml_feed(struct hpc_xml *xml, const char *bytes, size_t size, struct pf_error *error);

/* The line, from 1, that the tag being told began in. */
int64_t hpc_xml_line(const struct hpc_xml *xml);

/* True if the file so far ends outside of a tag or comment. */
bool hpc_xml_between(const struct hpc_xml *xml);

/* ---- mending (see xml_mend.c) ---- */

/* Bytes that grow. */
struct hpc_text {
    char *bytes;
    size_t size, room;
};

/* 0, or -1 if memory ran out. */
int hpc_text_add(struct hpc_text *text, const char *bytes, size_t size);

/*
 * True if the quote at `at`, behind a backslash, inside a value of tag[0 .. size), is part of the value: what follows
 * it is neither the end of the tag nor another attribute, blanks aside.
 */
bool hpc_quote_is_text(const char *tag, size_t size, size_t at);

/* Writes the start tag in tag[0 .. size), `<NAME ... >` or `<NAME ... />`, anew, as a well-formed element without content.
 * 1; 0: it is no tag; -1: memory ran out. */
int hpc_mend_tag(const char *tag, size_t size, struct hpc_text *out);

#endif
