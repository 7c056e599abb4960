/* SPDX-License-Identifier: MIT */
#include "formats/hpctoolkit/xml.h"

#include <libxml/parser.h>
#include <stdlib.h>
#include <string.h>

#include "formats/hpctoolkit/memory.h"

/* A tag longer than this is none of ours. */
#define TAG_MAX ((size_t)1 << 20)

/* Where the reading stands. */
enum place {
    BETWEEN, /* outside of all markup */
    OPENED,  /* behind a `<` */
    TAG,     /* of an element, opening or closing */
    COMMENT,
    DATA,        /* of a CDATA section */
    INSTRUCTION, /* <? ... ?> */
    DECLARATION, /* <! ... >, which may hold others in brackets: a DTD */
    SKIPPED,     /* a tag that is too long: to its end */
};

struct hpc_xml {
    const struct hpc_xml_events *events;
    void *arg;
    xmlParserCtxtPtr parser;
    struct hpc_text tag; /* the markup so far, from its `<` on; of what is skipped only the first bytes */
    struct hpc_text mended;
    enum place place;
    size_t scanned; /* of a tag: how much has been looked at */
    char quote;     /* of a tag or declaration: what the value looked at opened with; 0: outside of values */
    unsigned brackets; /* of a declaration: how many are open */
    bool comment;      /* of a declaration: inside of one */
    char last[4];      /* the latest bytes of what is skipped */
    int64_t line, tag_line;
    int told;               /* what the last event returned */
    bool seen;              /* the element given to libxml2 has come back */
    struct pf_error *error; /* of the call that is going on */
};

/* ---- libxml2 ------------------------------------------------------------------------------------------- */

/* Names of the attributes are libxml2's, five pointers an attribute: name, prefix, namespace, start and end of its value. */
struct pf_cell hpc_attribute(const struct hpc_attributes *attributes, const char *name)
{
    const xmlChar *const *items = attributes->items;
    for (int i = 0; i < attributes->count; i++, items += 5)
        if (!strcmp((const char *)items[0], name))
            return pf_text((const char *)items[3], (size_t)(items[4] - items[3]));
    return pf_absent();
}

static void start_element(void *context, const xmlChar *name, const xmlChar *prefix, const xmlChar *space,
                          int n_namespaces, const xmlChar **namespaces, int n_attributes, int n_defaulted,
                          const xmlChar **attributes)
{
    struct hpc_xml *xml = context;
    struct hpc_attributes all = {attributes, n_attributes};
    (void)prefix;
    (void)space;
    (void)n_namespaces;
    (void)namespaces;
    (void)n_defaulted;
    if (xml->seen) /* the wrapper that keeps the document open */
        return;
    xml->seen = true;
    xml->told = xml->events->start(xml->arg, (const char *)name, &all, xml->error);
}

static const char wrapper[] = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<elements>\n";

/* A parser inside of an open element. */
static int open_parser(struct hpc_xml *xml)
{
    static const xmlSAXHandler handler = {.initialized = XML_SAX2_MAGIC, .startElementNs = start_element};
    xmlSAXHandler copy = handler; /* libxml2 copies it again, but wants it writable */
    if (xml->parser)
        xmlFreeParserCtxt(xml->parser);
    xml->parser = xmlCreatePushParserCtxt(&copy, xml, NULL, 0, NULL);
    if (!xml->parser)
        return -1;
    xmlCtxtUseOptions(xml->parser, XML_PARSE_NONET | XML_PARSE_NOENT | XML_PARSE_NOERROR |
                                       XML_PARSE_NOWARNING | XML_PARSE_HUGE);
    xml->seen = true;
    return xmlParseChunk(xml->parser, wrapper, sizeof wrapper - 1, 0) == XML_ERR_NO_MEMORY ? -1 : 0;
}

struct hpc_xml *hpc_xml_new(const struct hpc_xml_events *events, void *arg)
{
    struct hpc_xml *xml = calloc(1, sizeof *xml);
    if (!xml)
        return NULL;
    xml->events = events;
    xml->arg = arg;
    xml->line = 1;
    if (open_parser(xml)) {
        hpc_xml_free(xml);
        return NULL;
    }
    return xml;
}

void hpc_xml_free(struct hpc_xml *xml)
{
    if (!xml)
        return;
    if (xml->parser)
        xmlFreeParserCtxt(xml->parser);
    free(xml->tag.bytes);
    free(xml->mended.bytes);
    free(xml);
}

int64_t hpc_xml_line(const struct hpc_xml *xml)
{
    return xml->tag_line;
}

bool hpc_xml_between(const struct hpc_xml *xml)
{
    return xml->place == BETWEEN;
}

/* ---- tags ---------------------------------------------------------------------------------------------- */

static int broken(struct hpc_xml *xml, struct pf_error *error)
{
    return xml->events->broken(xml->arg, xml->tag_line, error);
}

/* The name in a closing tag, or of the element just opened, terminated in place. */
static const char *name_in(struct hpc_text *text, size_t from)
{
    size_t end = from;
    while (end < text->size && !strchr(" \t\r\n/>", text->bytes[end]))
        end++;
    text->bytes[end] = 0; /* there is at least the `>` */
    return text->bytes + from;
}

static int tell_start(struct hpc_xml *xml, struct pf_error *error)
{
    int mended = hpc_mend_tag(xml->tag.bytes, xml->tag.size, &xml->mended);
    if (mended <= 0)
        return mended < 0 ? hpc_fail_memory(error) : broken(xml, error);
    xml->seen = false;
    xml->told = 0;
    xml->error = error;
    int failed = xmlParseChunk(xml->parser, xml->mended.bytes, (int)xml->mended.size, 0);
    if (failed == XML_ERR_NO_MEMORY)
        return hpc_fail_memory(error);
    if (xml->seen && !failed)
        return xml->told;
    bool told = xml->seen;
    if (open_parser(xml))
        return hpc_fail_memory(error);
    return told ? xml->told : broken(xml, error);
}

static int tell_tag(struct hpc_xml *xml, struct pf_error *error)
{
    struct hpc_text *tag = &xml->tag;
    if (tag->bytes[1] == '/')
        return xml->events->end(xml->arg, name_in(tag, 2), error);
    bool closed = tag->size > 2 && tag->bytes[tag->size - 2] == '/';
    int told = tell_start(xml, error);
    return told || !closed ? told : xml->events->end(xml->arg, name_in(tag, 1), error);
}

/* Goes on looking for the end of the tag that ends with a `>` so far: true if that is it. */
static bool tag_ends(struct hpc_xml *xml)
{
    const struct hpc_text *tag = &xml->tag;
    for (; xml->scanned < tag->size; xml->scanned++) {
        char c = tag->bytes[xml->scanned];
        if (!xml->quote && (c == '"' || c == '\'') && tag->bytes[1] != '/')
            xml->quote = c;
        else if (xml->quote && c == xml->quote &&
                 !(c == '"' && tag->bytes[xml->scanned - 1] == '\\' &&
                   hpc_quote_is_text(tag->bytes, tag->size, xml->scanned)))
            xml->quote = 0;
    }
    return !xml->quote;
}

/* Up to and with the next `>`. Returns how many bytes that were. */
static int read_tag(struct hpc_xml *xml, const char *bytes, size_t size, size_t *used, struct pf_error *error)
{
    const char *end = memchr(bytes, '>', size);
    *used = end ? (size_t)(end + 1 - bytes) : size;
    if (xml->tag.size + *used > TAG_MAX) {
        xml->place = SKIPPED;
        *used = 0;
        return broken(xml, error);
    }
    if (hpc_text_add(&xml->tag, bytes, *used))
        return hpc_fail_memory(error);
    if (!end || !tag_ends(xml))
        return 0;
    xml->place = BETWEEN;
    return tell_tag(xml, error);
}

/* ---- what is left out ----------------------------------------------------------------------------------- */

/* Which markup it is, once that is clear from its first bytes. */
static void find_place(struct hpc_xml *xml, char c)
{
    struct hpc_text *tag = &xml->tag;
    const char *bytes = tag->bytes;
    if (tag->size == 2 && c != '!')
        xml->place = c == '?' ? INSTRUCTION : TAG;
    else if (tag->size > 2 && c == '>')
        xml->place = BETWEEN;
    else if (tag->size == 4 && !memcmp(bytes, "<!--", 4))
        xml->place = COMMENT;
    else if (tag->size == 9 && !memcmp(bytes, "<![CDATA[", 9))
        xml->place = DATA;
    else if (tag->size == 9)
        xml->place = DECLARATION;
    xml->scanned = tag->size;
    xml->quote = 0;
    xml->brackets = 0;
    xml->comment = false;
    memset(xml->last, 0, sizeof xml->last);
}

/* The same for a declaration, whose latest bytes end with c. Comments in it may hold anything, values brackets. */
static bool skip_declaration(struct hpc_xml *xml, char c)
{
    if (xml->comment) {
        xml->comment = memcmp(xml->last + 1, "-->", 3) != 0;
        return false;
    }
    if (xml->quote) {
        xml->quote = c == xml->quote ? 0 : xml->quote;
        return false;
    }
    xml->comment = !memcmp(xml->last, "<!--", 4);
    xml->quote = c == '"' || c == '\'' ? c : 0;
    xml->brackets += c == '[';
    xml->brackets -= c == ']' && xml->brackets;
    return c == '>' && !xml->brackets;
}

/* True if the byte ends what is skipped. */
static bool skip(struct hpc_xml *xml, char c)
{
    memmove(xml->last, xml->last + 1, sizeof xml->last - 1);
    xml->last[3] = c;
    switch (xml->place) {
    case COMMENT:
        return !memcmp(xml->last + 1, "-->", 3);
    case DATA:
        return !memcmp(xml->last + 1, "]]>", 3);
    case INSTRUCTION:
        return !memcmp(xml->last + 2, "?>", 2);
    case DECLARATION:
        return skip_declaration(xml, c);
    default:
        return c == '>';
    }
}

static int read_byte(struct hpc_xml *xml, char c, struct pf_error *error)
{
    if (xml->place == OPENED) {
        if (hpc_text_add(&xml->tag, &c, 1))
            return hpc_fail_memory(error);
        find_place(xml, c);
        if (xml->place != TAG || c != '>')
            return 0;
        xml->place = BETWEEN; /* <> */
        return broken(xml, error);
    }
    if (skip(xml, c))
        xml->place = BETWEEN;
    return 0;
}

/* Up to the next `<`. */
static size_t skip_text(struct hpc_xml *xml, const char *bytes, size_t size, struct pf_error *error)
{
    const char *open = memchr(bytes, '<', size);
    size_t used = open ? (size_t)(open + 1 - bytes) : size;
    if (!open)
        return used;
    xml->tag.size = 0;
    xml->place = OPENED;
    return hpc_text_add(&xml->tag, "<", 1) ? (size_t)hpc_fail_memory(error) : used;
}

static void count_lines(struct hpc_xml *xml, const char *bytes, size_t size)
{
    const char *end = bytes + size;
    while ((bytes = memchr(bytes, '\n', (size_t)(end - bytes))))
        xml->line++, bytes++;
}

int hpc_xml_feed(struct hpc_xml *xml, const char *bytes, size_t size, struct pf_error *error)
{
    for (size_t at = 0, used; at < size; at += used) {
        int told = 0;
        used = 1;
        if (xml->place == BETWEEN) {
            used = skip_text(xml, bytes + at, size - at, error);
            if (used == (size_t)-1)
                return -1;
            count_lines(xml, bytes + at, used);
            xml->tag_line = xml->line;
            continue;
        }
        if (xml->place == TAG)
            told = read_tag(xml, bytes + at, size - at, &used, error);
        else
            told = read_byte(xml, bytes[at], error);
        count_lines(xml, bytes + at, used);
        if (told)
            return told;
    }
    return 0;
}
