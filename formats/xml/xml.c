/* SPDX-License-Identifier: MIT */
#include "formats/xml/xml.h"

#include <libxml/parser.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "formats/xml/repair.h"

enum { NAMES_MAX = 1 << 20 }; /* maximum size of all different names in bytes */

/* Encloses the file, which may have several elements at the top. */
#define ROOT "<root>"

struct pf_xml {
    struct pf_run *run;
    const struct pf_xml_events *events;
    void *arg;
    const char *name; /* of the element that the current event reports */
    struct pf_repair repair;
    xmlParserCtxtPtr parser;
    size_t level;               /* number of open elements that libxml2 has reported, including ROOT */
    const xmlChar **attributes; /* during a start event: five pointers each, see startElementNsSAX2Func */
    int n_attributes;
    struct pf_xml_bytes values; /* of the attributes, each followed by a NUL */
    struct pf_xml_bytes text;   /* since the last tag, up to PF_XML_TEXT_MAX bytes */
    bool ended;                 /* no more events */
    bool fault;                 /* the reading has ended at a fault of the file */
    bool failed;                /* a handler has failed the run */
    bool no_memory;
    int64_t line; /* the line at which the reading ended */
};

void pf_xml_stop(struct pf_xml *xml)
{
    xml->ended = true;
    xml->line = xmlSAX2GetLineNumber(xml->parser);
}

static void end_at_fault(struct pf_xml *xml)
{
    xml->fault = true;
    pf_xml_stop(xml);
}

/* ---- handlers: called from frames of libxml2, so never left by longjmp ----------------------------- */

/* Runs a handler of the driver. */
static void call_handler(struct pf_xml *xml, void (*handler)(struct pf_run *run, void *xml))
{
    if (pf_run_call(xml->run, handler, xml)) {
        xml->failed = true;
        pf_xml_stop(xml);
    }
}

static void handle_start(struct pf_run *run, void *arg)
{
    const struct pf_xml *xml = arg;
    (void)run;
    xml->events->start(xml->arg, xml->name);
}

static void handle_end(struct pf_run *run, void *arg)
{
    const struct pf_xml *xml = arg;
    (void)run;
    xml->events->end(xml->arg, xml->name, xml->text.size ? xml->text.bytes : "", xml->text.size);
}

static size_t value_size(const xmlChar *const *attribute)
{
    size_t size = (size_t)(attribute[4] - attribute[3]);
    return size < PF_XML_TEXT_MAX ? size : PF_XML_TEXT_MAX;
}

static void xml_on_start(void *arg, const xmlChar *name, const xmlChar *prefix, const xmlChar *space,
                         int n_namespaces, const xmlChar **namespaces, int n, int n_defaulted,
                         const xmlChar **attributes)
{
    struct pf_xml *xml = arg;
    (void)prefix, (void)space, (void)n_namespaces, (void)namespaces;
    if (xml->ended || !xml->level++)
        return;
    xml->name = (const char *)name;
    xml->text.size = xml->values.size = 0;
    xml->attributes = attributes;
    xml->n_attributes = n - n_defaulted;
    for (int i = 0; i < xml->n_attributes; i++, attributes += 5) {
        pf_xml_append(&xml->values, (const char *)attributes[3], value_size(attributes));
        pf_xml_append(&xml->values, "", 1);
    }
    if (xml->values.failed)
        pf_xml_stop(xml);
    else
        call_handler(xml, handle_start);
    xml->n_attributes = 0;
}

static void xml_on_end(void *arg, const xmlChar *name, const xmlChar *prefix, const xmlChar *space)
{
    struct pf_xml *xml = arg;
    (void)prefix, (void)space;
    if (xml->ended || !--xml->level)
        return;
    xml->name = (const char *)name;
    call_handler(xml, handle_end);
    xml->text.size = 0;
}

static void on_text(void *arg, const xmlChar *text, int size)
{
    struct pf_xml *xml = arg;
    size_t left = PF_XML_TEXT_MAX - xml->text.size;
    if (!xml->ended)
        pf_xml_append(&xml->text, (const char *)text, (size_t)size < left ? (size_t)size : left);
}

/* Called for processing instructions, which only the repair writes. */
static void on_damage(void *arg, const xmlChar *target, const xmlChar *lost)
{
    struct pf_xml *xml = arg;
    (void)target;
    if (xml->ended)
        return;
    if (xml->events->fault)
        xml->events->fault(xml->arg, lost && *lost);
    else
        end_at_fault(xml);
}

/* ---- reading ------------------------------------------------------------------------------------ */

static void xml_parse(struct pf_xml *xml, const char *bytes, size_t size)
{
    pf_run_enter_library(xml->run);
    int problem = xmlParseChunk(xml->parser, bytes, (int)size, 0);
    pf_run_leave_library(xml->run);
    if (problem == XML_ERR_NO_MEMORY && xmlDictGetUsage(xml->parser->dict) <= NAMES_MAX)
        xml->no_memory = true;
    else if (!xml->ended && (problem == XML_ERR_NO_MEMORY || !xml->parser->wellFormed))
        end_at_fault(xml);
}

/* Reads all complete tags and text that have been fed. */
static void read_fed(struct pf_xml *xml, bool last)
{
    const char *piece;
    size_t size;
    while (!xml->ended && !xml->no_memory && (size = pf_repair_next(&xml->repair, last, &piece)))
        xml_parse(xml, piece, size);
    if (xml->failed)
        pf_run_fail(xml->run);
    if (pf_repair_no_memory(&xml->repair) || xml->values.failed || xml->text.failed || xml->no_memory)
        pf_run_check(xml->run, pf_fail_memory(xml->run->error));
    /* libxml2 counts the lines of a text only at the markup after it, so a comment is parsed after the last text. */
    if (!xml->ended && (last || xml->repair.refused))
        xml_parse(xml, "<!---->", 7);
    if (!xml->ended && xml->repair.refused)
        end_at_fault(xml);
}

bool pf_xml_feed(struct pf_xml *xml, const char *bytes, size_t size)
{
    pf_repair_add(&xml->repair, bytes, size);
    read_fed(xml, false);
    return !xml->ended;
}

void pf_xml_end(struct pf_xml *xml)
{
    read_fed(xml, true);
}

static void free_parser(struct pf_xml *xml)
{
    xmlFreeParserCtxt(xml->parser);
    pf_repair_free(&xml->repair);
    free(xml->values.bytes);
    free(xml->text.bytes);
    free(xml);
}

struct pf_xml *pf_xml_new(struct pf_run *run, const struct pf_xml_events *events, void *arg)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    xmlSAXHandler handler = {.initialized = XML_SAX2_MAGIC,
                             .startElementNs = xml_on_start,
                             .endElementNs = xml_on_end,
                             .characters = on_text,
                             .ignorableWhitespace = on_text,
                             .processingInstruction = on_damage};
    struct pf_xml *xml = PF_OWN(run, calloc(1, sizeof *xml), free_parser);
    (void)pthread_once(&once, xmlInitParser);
    xml->run = run;
    xml->events = events;
    xml->arg = arg;
    xml->parser = xmlCreatePushParserCtxt(&handler, xml, NULL, 0, NULL);
    /* XML_PARSE_NOENT is needed for `&#38;` in values. It is safe, since no handler declares entities. */
    if (!xml->parser || xmlCtxtUseOptions(xml->parser, XML_PARSE_NONET | XML_PARSE_NOENT) ||
        xmlParseChunk(xml->parser, ROOT, (int)strlen(ROOT), 0)) {
        pf_fail_memory(run->error);
        pf_run_fail(run);
    }
    xmlDictSetLimit(xml->parser->dict, NAMES_MAX);
    return xml;
}

const char *pf_xml_attribute(const struct pf_xml *xml, const char *name)
{
    const xmlChar *const *attribute = xml->attributes;
    const char *value = xml->values.bytes;
    for (int i = 0; i < xml->n_attributes; i++, attribute += 5) {
        const char *own = (const char *)attribute[0];
        if (*own == *name && !strcmp(own, name))
            return value;
        value += value_size(attribute) + 1;
    }
    return NULL;
}

int64_t pf_xml_line(const struct pf_xml *xml)
{
    return xml->ended ? xml->line : xmlSAX2GetLineNumber(xml->parser);
}

bool pf_xml_is_cut(const struct pf_xml *xml)
{
    return xml->fault || (!xml->ended && pf_repair_is_cut(&xml->repair));
}
