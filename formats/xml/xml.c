/* SPDX-License-Identifier: MIT */
#include "formats/xml/xml.h"

#include <libxml/parser.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "formats/xml/repair.h"

enum { NAMES_MAX = 1 << 20 }; /* bytes of different names */

/* Encloses the file, which may have several elements at the top. */
#define ROOT "<root>"

struct pf_xml {
    const struct pf_xml_events *events;
    void *arg;
    struct pf_repair repair;
    xmlParserCtxtPtr parser;
    size_t level;               /* open elements that libxml2 has reported, with the root */
    const xmlChar **attributes; /* during a start event: five pointers each, see startElementNsSAX2Func */
    int n_attributes;
    struct pf_xml_bytes values; /* of the attributes, each followed by a NUL */
    struct pf_xml_bytes text;   /* since the last tag, up to PF_XML_TEXT_MAX bytes */
    int result;   /* what an event returned; 1 after a fault of the file; not 0: no more events */
    int64_t line; /* of the end, once result is not 0 */
    bool fault, no_memory;
    struct pf_error *error; /* of the call in progress */
};

static void end_reading(struct pf_xml *xml, int result)
{
    xml->result = result;
    xml->line = xmlSAX2GetLineNumber(xml->parser);
}

static void end_at_fault(struct pf_xml *xml)
{
    xml->fault = true;
    end_reading(xml, 1);
}

/* ---- handlers: called from frames of libxml2, so never left by longjmp ----------------------------- */

static size_t value_size(const xmlChar *const *attribute)
{
    size_t size = (size_t)(attribute[4] - attribute[3]);
    return size < PF_XML_TEXT_MAX ? size : PF_XML_TEXT_MAX;
}

static void on_start(void *arg, const xmlChar *name, const xmlChar *prefix, const xmlChar *space,
                     int n_namespaces, const xmlChar **namespaces, int n, int n_defaulted,
                     const xmlChar **attributes)
{
    struct pf_xml *xml = arg;
    (void)prefix, (void)space, (void)n_namespaces, (void)namespaces;
    if (xml->result || !xml->level++)
        return;
    xml->text.size = xml->values.size = 0;
    xml->attributes = attributes;
    xml->n_attributes = n - n_defaulted;
    for (int i = 0; i < xml->n_attributes; i++, attributes += 5) {
        pf_xml_append(&xml->values, (const char *)attributes[3], value_size(attributes));
        pf_xml_append(&xml->values, "", 1);
    }
    int result = xml->values.failed ? 1 : xml->events->start(xml->arg, (const char *)name, xml->error);
    xml->n_attributes = 0;
    if (result)
        end_reading(xml, result);
}

static void on_end(void *arg, const xmlChar *name, const xmlChar *prefix, const xmlChar *space)
{
    struct pf_xml *xml = arg;
    (void)prefix, (void)space;
    if (xml->result || !--xml->level)
        return;
    const char *text = xml->text.size ? xml->text.bytes : "";
    int result = xml->events->end(xml->arg, (const char *)name, text, xml->text.size, xml->error);
    xml->text.size = 0;
    if (result)
        end_reading(xml, result);
}

static void on_text(void *arg, const xmlChar *text, int size)
{
    struct pf_xml *xml = arg;
    size_t left = PF_XML_TEXT_MAX - xml->text.size;
    if (!xml->result)
        pf_xml_append(&xml->text, (const char *)text, (size_t)size < left ? (size_t)size : left);
}

/* Processing instructions come from the repair only. */
static void on_damage(void *arg, const xmlChar *target, const xmlChar *lost)
{
    struct pf_xml *xml = arg;
    (void)target;
    if (xml->result)
        return;
    if (xml->events->fault)
        xml->events->fault(xml->arg, lost && *lost);
    else
        end_at_fault(xml);
}

/* ---- reading ------------------------------------------------------------------------------------ */

static void parse(struct pf_xml *xml, const char *bytes, size_t size)
{
    int problem = xmlParseChunk(xml->parser, bytes, (int)size, 0);
    if (problem == XML_ERR_NO_MEMORY && xmlDictGetUsage(xml->parser->dict) <= NAMES_MAX)
        xml->no_memory = true;
    else if (!xml->result && (problem == XML_ERR_NO_MEMORY || !xml->parser->wellFormed))
        end_at_fault(xml);
}

/* Reads all complete tags and text that have been fed. */
static int read_fed(struct pf_xml *xml, bool last, struct pf_error *error)
{
    const char *piece;
    size_t size;
    xml->error = error;
    while (!xml->result && !xml->no_memory && (size = pf_repair_next(&xml->repair, last, &piece)))
        parse(xml, piece, size);
    if (pf_repair_no_memory(&xml->repair) || xml->values.failed || xml->text.failed || xml->no_memory)
        return pf_fail_memory(error);
    /* libxml2 does not count the lines of text before it has seen the end of the text: any markup. */
    if (!xml->result && (last || xml->repair.refused))
        parse(xml, "<!---->", 7);
    if (!xml->result && xml->repair.refused)
        end_at_fault(xml);
    return xml->result;
}

int pf_xml_feed(struct pf_xml *xml, const char *bytes, size_t size, struct pf_error *error)
{
    pf_repair_add(&xml->repair, bytes, size);
    return read_fed(xml, false, error);
}

int pf_xml_end(struct pf_xml *xml, struct pf_error *error)
{
    return read_fed(xml, true, error);
}

struct pf_xml *pf_xml_new(const struct pf_xml_events *events, void *arg)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    xmlSAXHandler handler = {.initialized = XML_SAX2_MAGIC,
                             .startElementNs = on_start,
                             .endElementNs = on_end,
                             .characters = on_text,
                             .ignorableWhitespace = on_text,
                             .processingInstruction = on_damage};
    struct pf_xml *xml = calloc(1, sizeof *xml);
    if (!xml)
        return NULL;
    (void)pthread_once(&once, xmlInitParser);
    xml->events = events;
    xml->arg = arg;
    xml->parser = xmlCreatePushParserCtxt(&handler, xml, NULL, 0, NULL);
    /* Without NOENT, libxml2 does not expand `&#38;` in values. No entities are declared. */
    if (!xml->parser || xmlCtxtUseOptions(xml->parser, XML_PARSE_NONET | XML_PARSE_NOENT) ||
        xmlParseChunk(xml->parser, ROOT, (int)strlen(ROOT), 0)) {
        pf_xml_free(xml);
        return NULL;
    }
    xmlDictSetLimit(xml->parser->dict, NAMES_MAX);
    return xml;
}

void pf_xml_free(struct pf_xml *xml)
{
    if (!xml)
        return;
    xmlFreeParserCtxt(xml->parser);
    pf_repair_free(&xml->repair);
    free(xml->values.bytes);
    free(xml->text.bytes);
    free(xml);
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
    return xml->result ? xml->line : xmlSAX2GetLineNumber(xml->parser);
}

bool pf_xml_is_cut(const struct pf_xml *xml)
{
    return xml->fault || (!xml->result && pf_repair_is_cut(&xml->repair));
}
