/* SPDX-License-Identifier: MIT */
#include "formats/xml/xml.h"

#include <ctype.h>
#include <libxml/SAX2.h>
#include <libxml/parser.h>
#include <stdlib.h>
#include <string.h>

#include "formats/kit/array.h"
#include "formats/kit/utf8.h"

/* A tag longer than this is none of ours; nor are more than so many bytes of different names. */
enum { TAG_MAX = 1 << 20, NAMES_MAX = 1 << 20 };

/* Bytes that grow. */
struct text {
    char *bytes;
    size_t size, room;
};

/* Where the filter stands. */
enum place {
    BETWEEN, /* outside of all markup */
    OPENED,  /* behind a `<` */
    TAG,     /* of an element, opening or closing */
    COMMENT,
    DATA,        /* of a CDATA section */
    INSTRUCTION, /* <? ... ?> */
    DECLARATION, /* <! ... >, which may hold others in brackets: a DTD */
};

struct pf_xml {
    const struct pf_xml_events *events;
    pf_xml_fault *forgive; /* NULL: reading ends at damage */
    void *arg;
    xmlParserCtxtPtr parser;
    enum place place;
    struct text tag;     /* the markup so far, from its `<` on; of what is skipped only the first bytes */
    struct text between; /* text, up to the next `<` */
    struct text open;    /* NUL NAME of each open element, outermost first */
    struct text mended;  /* for libxml2 */
    size_t scanned;      /* of a tag: how much has been looked at */
    char quote; /* of a tag or declaration: what the value looked at opened with; 0: outside of values */
    unsigned brackets; /* of a declaration: how many are open */
    bool comment;      /* of a declaration: inside of one */
    char last[4];      /* the latest bytes of what is skipped */

    struct text values, text; /* of the event: attributes' values, each with a NUL; and text */
    struct attribute {
        const char *name; /* libxml2's */
        size_t value;     /* where it begins in values */
    } * attributes;
    size_t n_attributes, room;
    size_t depth;           /* open elements, with the wrapper */
    int told;               /* what an event returned */
    int64_t lines;          /* that have been fed */
    bool faulty;            /* the filter has found a fault */
    bool fault, lack;       /* the file's; memory's */
    struct pf_error *error; /* of the call that is going on */
};

static inline void add(struct pf_xml *xml, struct text *text, const char *bytes, size_t size)
{
    struct pf_error error;
    if (size >= text->room - text->size &&
        pf_array_grow(&text->bytes, &text->room, text->size + size + 1, 1, &error)) {
        xml->lack = true;
        return;
    }
    memcpy(text->bytes + text->size, bytes, size);
    text->size += size;
    text->bytes[text->size] = 0;
}

static void add_string(struct pf_xml *xml, struct text *text, const char *string)
{
    add(xml, text, string, strlen(string));
}

static void clear(struct text *text)
{
    text->size = 0;
    if (text->bytes)
        text->bytes[0] = 0;
}

/* ---- libxml2 ------------------------------------------------------------------------------------ */

static void take(struct pf_xml *xml, int told)
{
    xml->told = told;
    if (told)
        xmlStopParser(xml->parser);
    clear(&xml->text);
}

/* libxml2's attributes are five pointers each: name, prefix, namespace, start and end of the value. */
static void start_element(void *context, const xmlChar *name, const xmlChar *prefix, const xmlChar *space,
                          int n_namespaces, const xmlChar **namespaces, int n_attributes, int n_defaulted,
                          const xmlChar **attributes)
{
    struct pf_xml *xml = context;
    (void)prefix, (void)space, (void)n_namespaces, (void)namespaces, (void)n_defaulted;
    if (xml->told || !xml->depth++) /* the first is the wrapper */
        return;
    clear(&xml->values);
    xml->n_attributes = 0;
    for (; n_attributes > 0; n_attributes--, attributes += 5) {
        size_t size = (size_t)(attributes[4] - attributes[3]);
        if (pf_array_room(&xml->attributes, &xml->room, xml->n_attributes, sizeof *xml->attributes,
                          xml->error)) {
            xml->lack = true;
            break;
        }
        xml->attributes[xml->n_attributes++] =
            (struct attribute){(const char *)attributes[0], xml->values.size};
        add(xml, &xml->values, (const char *)attributes[3], size < PF_XML_TEXT_MAX ? size : PF_XML_TEXT_MAX);
        add(xml, &xml->values, "", 1);
    }
    if (!xml->lack)
        take(xml, xml->events->start(xml->arg, (const char *)name, xml->error));
}

static void end_element(void *context, const xmlChar *name, const xmlChar *prefix, const xmlChar *space)
{
    struct pf_xml *xml = context;
    (void)prefix, (void)space;
    if (xml->told)
        return;
    xml->depth--;
    xml->n_attributes = 0;
    take(xml, xml->events->end(xml->arg, (const char *)name, xml->text.size ? xml->text.bytes : "",
                               xml->text.size, xml->error));
}

static void take_text(void *context, const xmlChar *text, int size)
{
    struct pf_xml *xml = context;
    size_t left = PF_XML_TEXT_MAX - xml->text.size;
    if (!xml->told)
        add(xml, &xml->text, (const char *)text, (size_t)size < left ? (size_t)size : left);
}

struct pf_xml *pf_xml_new(const struct pf_xml_events *events, void *arg)
{
    xmlSAXHandler handler = {.initialized = XML_SAX2_MAGIC,
                             .startElementNs = start_element,
                             .endElementNs = end_element,
                             .characters = take_text,
                             .ignorableWhitespace = take_text};
    struct pf_xml *xml = calloc(1, sizeof *xml);
    if (!xml)
        return NULL;
    xml->events = events;
    xml->arg = arg;
    xml->parser = xmlCreatePushParserCtxt(&handler, xml, NULL, 0, NULL);
    if (!xml->parser || xmlParseChunk(xml->parser, "<all>", 5, 0) == XML_ERR_NO_MEMORY) {
        pf_xml_free(xml);
        return NULL;
    }
    xmlCtxtUseOptions(xml->parser, XML_PARSE_NONET | XML_PARSE_NOENT | XML_PARSE_NOERROR |
                                       XML_PARSE_NOWARNING | XML_PARSE_HUGE);
    xmlDictSetLimit(xml->parser->dict, NAMES_MAX);
    return xml;
}

void pf_xml_forgive(struct pf_xml *xml, pf_xml_fault *fault)
{
    xml->forgive = fault;
}

void pf_xml_free(struct pf_xml *xml)
{
    if (!xml)
        return;
    xmlFreeParserCtxt(xml->parser);
    free(xml->tag.bytes);
    free(xml->between.bytes);
    free(xml->open.bytes);
    free(xml->mended.bytes);
    free(xml->attributes);
    free(xml->values.bytes);
    free(xml->text.bytes);
    free(xml);
}

const char *pf_xml_attribute(const struct pf_xml *xml, const char *name)
{
    for (size_t i = 0; i < xml->n_attributes; i++)
        if (!strcmp(xml->attributes[i].name, name))
            return xml->values.bytes + xml->attributes[i].value;
    return NULL;
}

int64_t pf_xml_line(const struct pf_xml *xml)
{
    return xml->faulty ? xml->lines + 1 : xmlSAX2GetLineNumber(xml->parser);
}

bool pf_xml_is_cut(const struct pf_xml *xml)
{
    return xml->fault || (!xml->told && (xml->place != BETWEEN || xml->depth != 1));
}

/* ---- characters --------------------------------------------------------------------------------- */

/* XML 1.0 has no other control characters, and no surrogates. */
static bool is_character(unsigned long c)
{
    return c == 9 || c == 10 || c == 13 || (c >= 0x20 && c < 0xd800) || (c >= 0xe000 && c < 0xfffe) ||
           (c >= 0x10000 && c < 0x110000);
}

/* The length of the reference that text begins with, `&lt;` or `&#60;`, or 0. */
static size_t reference(const char *text, size_t size)
{
    static const char *const names[] = {"&lt;", "&gt;", "&amp;", "&quot;", "&apos;"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (size >= strlen(names[i]) && !memcmp(text, names[i], strlen(names[i])))
            return strlen(names[i]);
    char digits[12] = "";
    memcpy(digits, text, size < sizeof digits - 1 ? size : sizeof digits - 1);
    bool hexadecimal = digits[1] == '#' && digits[2] == 'x';
    char *first = digits + 2 + hexadecimal, *end;
    unsigned long c = strtoul(first, &end, hexadecimal ? 16 : 10);
    bool sound =
        digits[1] == '#' && end > first && *first != '-' && *first != '+' && *first != ' ' && *end == ';';
    return sound && is_character(c) ? (size_t)(end + 1 - digits) : 0;
}

/* Text or a value, as it may stand between tags or quotes. */
static void mend(struct pf_xml *xml, const char *text, size_t size, bool value)
{
    struct text *out = &xml->mended;
    for (size_t at = 0, length, wrong; at < size; at += length) {
        /* Most characters need no change: they go in one piece. */
        size_t plain = at;
        while (plain < size && (unsigned char)text[plain] >= 0x20 && (unsigned char)text[plain] < 0x7f &&
               text[plain] != '&' && text[plain] != '<' && text[plain] != '>' && text[plain] != '"' &&
               text[plain] != '\\')
            plain++;
        add(xml, out, text + at, plain - at);
        at = plain;
        unsigned char c = at < size ? (unsigned char)text[at] : 0;
        if (at == size)
            break;
        size_t entity = c == '&' ? reference(text + at, size - at) : 0;
        length = entity ? entity : 1;
        if (!entity && (c == '&' || c == '<' || c == '>'))
            add_string(xml, out, c == '&' ? "&amp;" : c == '<' ? "&lt;" : "&gt;");
        else if (value && c == '\\' && at + 1 < size && text[at + 1] == '"')
            length = 2, add_string(xml, out, "&quot;");
        else if (value && (c == '"' || c == '\n' || c == '\r' || c == '\t'))
            add_string(xml, out, c == '"' ? "&quot;" : c == '\n' ? "&#10;" : c == '\r' ? "&#13;" : "&#9;");
        else if (c < 0x80 ? c == 0x7f || !is_character(c)
                          : !(length = pf_utf8((const unsigned char *)text + at, size - at, &wrong)) ||
                                (length == 3 && !memcmp(text + at, "\xef\xbf", 2) &&
                                 (unsigned char)text[at + 2] >= 0xbe))
            add_string(xml, out, "\xef\xbf\xbd");
        else
            add(xml, out, text + at, length);
        length = length ? length : 1;
    }
}

/* ---- tags --------------------------------------------------------------------------------------- */

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

/* Of the names that these files use. */
static bool is_name(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
           c == '_' || c == '.';
}

static size_t skip_blanks(const struct text *tag, size_t at)
{
    while (at < tag->size && is_blank(tag->bytes[at]))
        at++;
    return at;
}

static size_t skip_name(const struct text *tag, size_t at)
{
    while (at < tag->size && is_name(tag->bytes[at]))
        at++;
    return at;
}

/*
 * Whether the quote at `at` is part of the value that it stands in: it is behind a backslash, and what follows it is neither
 * the end of the tag nor another attribute, blanks aside.
 */
static bool quote_is_text(const struct text *tag, size_t at)
{
    const char *bytes = tag->bytes;
    size_t next = skip_blanks(tag, at + 1), end = skip_name(tag, next);
    if (bytes[at] != '"' || bytes[at - 1] != '\\' || next >= tag->size || bytes[next] == '>' ||
        (bytes[next] == '/' && bytes[next + 1] == '>'))
        return false;
    return !(end > next && end + 1 < tag->size && bytes[end] == '=' && bytes[end + 1] == '"');
}

/* ` NAME="VALUE"`, which begins at `at`. Returns where it ends; 0 if it is no attribute. */
static size_t mend_attribute(struct pf_xml *xml, size_t at)
{
    const struct text *tag = &xml->tag;
    size_t name = at, end = skip_name(tag, name), equals = skip_blanks(tag, end);
    if (end == name || tag->bytes[equals] != '=')
        return 0;
    size_t open = skip_blanks(tag, equals + 1), close = open + 1;
    char quote = tag->bytes[open];
    add_string(xml, &xml->mended, " ");
    add(xml, &xml->mended, tag->bytes + name, end - name);
    add_string(xml, &xml->mended, "=\"");
    if (quote == '"' || quote == '\'') {
        while (close < tag->size && (tag->bytes[close] != quote || quote_is_text(tag, close)))
            close++;
        mend(xml, tag->bytes + open + 1, close - open - 1, true);
        close++;
    } else { /* Cube writes some values without quotes */
        for (close = open; !is_blank(tag->bytes[close]) && tag->bytes[close] != '>' &&
                           !(tag->bytes[close] == '/' && tag->bytes[close + 1] == '>');
             close++)
            ;
        mend(xml, tag->bytes + open, close - open, true);
    }
    add_string(xml, &xml->mended, "\"");
    return close <= tag->size ? close : 0;
}

/* Whether a damaged tag is no reason to end the reading. */
static bool excuse(struct pf_xml *xml, bool lost)
{
    if (xml->forgive)
        xml->forgive(xml->arg, xml->lines + 1, lost);
    return xml->forgive;
}

/* Where the name of the open element begins whose name ends at `end`. */
static size_t open_name(const struct pf_xml *xml, size_t end)
{
    while (end && xml->open.bytes[end - 1])
        end--;
    return end;
}

bool pf_xml_is_inside(const struct pf_xml *xml, const char *name)
{
    size_t end = xml->open.size, start = open_name(xml, end);
    while (end && (end - start != strlen(name) || memcmp(xml->open.bytes + start, name, end - start) != 0)) {
        end = start - 1;
        start = open_name(xml, end);
    }
    return end > 0;
}

/* A closing tag closes the innermost element, whatever it is called. False: none is open, and reading ends. */
static bool mend_closing(struct pf_xml *xml)
{
    size_t start = open_name(xml, xml->open.size);
    if (!start)
        return excuse(xml, false);
    add_string(xml, &xml->mended, "</");
    add(xml, &xml->mended, xml->open.bytes + start, xml->open.size - start);
    add_string(xml, &xml->mended, ">");
    xml->open.size = start - 1;
    return true;
}

/*
 * A tag that does not begin as one: the closing tag of the innermost element, but for its slash, or text up to what may be
 * a tag. False: reading ends.
 */
static bool mend_start(struct pf_xml *xml)
{
    struct text *tag = &xml->tag;
    size_t start = open_name(xml, xml->open.size), name = xml->open.size - start;
    if (start && tag->size == name + 3 && !memcmp(tag->bytes + 2, xml->open.bytes + start, name)) {
        tag->size = 0;
        return excuse(xml, false) && mend_closing(xml);
    }
    const char *next = memchr(tag->bytes + 1, '<', tag->size - 1);
    size_t size = next ? (size_t)(next - tag->bytes) : tag->size;
    mend(xml, tag->bytes, size, false);
    tag->size -= size;
    memmove(tag->bytes, tag->bytes + size, tag->size + 1);
    return excuse(xml, true);
}

/* Up to where another attribute may begin, behind one that is none. */
static size_t skip_damage(const struct text *tag, size_t at)
{
    for (at++; !is_blank(tag->bytes[at]) && tag->bytes[at] != '>' && tag->bytes[at] != '/';)
        at++;
    return at;
}

/* The tag, well-formed. Its lines are kept, so that libxml2 counts right. False if it is none. */
static bool mend_tag(struct pf_xml *xml)
{
    const struct text *tag = &xml->tag;
    bool damaged = false;
    while (tag->size && !strchr("/_", tag->bytes[1]) && !isalpha((unsigned char)tag->bytes[1]))
        if (!mend_start(xml))
            return false;
    if (!tag->size)
        return true;
    for (const char *line = tag->bytes; tag->bytes[1] == '/' && (line = strchr(line, '\n')); line++)
        add_string(xml, &xml->mended, "\n");
    if (tag->bytes[1] == '/')
        return mend_closing(xml);
    size_t at = skip_name(tag, 1), name = at - 1;
    if (!(is_blank(tag->bytes[at]) || tag->bytes[at] == '/' || tag->bytes[at] == '>'))
        return false;
    add(xml, &xml->mended, tag->bytes, at);
    while (at = skip_blanks(tag, at), tag->bytes[at] != '>' && tag->bytes[at] != '/') {
        size_t before = xml->mended.size, next = mend_attribute(xml, at);
        if (!next) {
            damaged = true;
            xml->mended.size = before;
        }
        at = next ? next : skip_damage(tag, at);
    }
    if (damaged && !excuse(xml, true)) /* it may be two that have become one */
        return false;
    for (const char *line = tag->bytes; (line = strchr(line, '\n')); line++)
        add_string(xml, &xml->mended, "\n");
    add_string(xml, &xml->mended, tag->bytes[at] == '/' ? "/>" : ">");
    if (tag->bytes[at] != '/') {
        add(xml, &xml->open, "", 1);
        add(xml, &xml->open, tag->bytes + 1, name);
    }
    return true;
}

/* Goes on looking for the end of the tag that ends with a `>` so far: true if that is it. */
static bool tag_ends(struct pf_xml *xml)
{
    const struct text *tag = &xml->tag;
    for (; xml->scanned < tag->size; xml->scanned++) {
        char c = tag->bytes[xml->scanned];
        if (!xml->quote && (c == '"' || c == '\'') && tag->bytes[1] != '/')
            xml->quote = c;
        else if (xml->quote && c == xml->quote && !quote_is_text(tag, xml->scanned))
            xml->quote = 0;
    }
    return !xml->quote;
}

/* Up to and with the next `>`. Returns how many bytes that were. */
static size_t read_tag(struct pf_xml *xml, const char *bytes, size_t size)
{
    const char *end = memchr(bytes, '>', size);
    size_t used = end ? (size_t)(end + 1 - bytes) : size;
    xml->fault = xml->tag.size + used > TAG_MAX;
    if (xml->fault)
        return size;
    add(xml, &xml->tag, bytes, used);
    if (!xml->lack && end && tag_ends(xml)) {
        xml->place = BETWEEN;
        xml->fault = !mend_tag(xml);
    }
    return used;
}

/* ---- what is left out --------------------------------------------------------------------------- */

/* Which markup it is, once that is clear from its first bytes. */
static void find_place(struct pf_xml *xml, char c)
{
    const struct text *tag = &xml->tag;
    if (tag->size == 2 && (is_blank(c) || c == '=')) { /* a sign that somebody has not escaped */
        mend(xml, tag->bytes, 2, false);
        xml->place = BETWEEN;
        return;
    }
    if (tag->size == 2 && c != '!') {
        xml->place = c == '?' ? INSTRUCTION : TAG;
    } else if (tag->size > 2 && c == '>') {
        xml->place = BETWEEN;
    } else if (tag->size == 4 && !memcmp(tag->bytes, "<!--", 4)) {
        xml->place = COMMENT;
    } else if (tag->size == 9) {
        xml->place = memcmp(tag->bytes, "<![CDATA[", 9) != 0 ? DECLARATION : DATA;
    }
    xml->scanned = tag->size;
    xml->quote = 0;
    xml->brackets = 0;
    xml->comment = false;
    memset(xml->last, 0, sizeof xml->last);
}

/* Whether the byte ends a declaration. Comments in it may hold anything, values brackets. */
static bool ends_declaration(struct pf_xml *xml, char c)
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

static void read_byte(struct pf_xml *xml, char c)
{
    if (xml->place == DATA)
        add_string(xml, &xml->between, c == '&' ? "&amp;" : (char[]){c, 0});
    else if (c == '\n')
        add_string(xml, &xml->mended, "\n");
    if (xml->place == OPENED) {
        add(xml, &xml->tag, &c, 1);
        find_place(xml, c);
        return;
    }
    memmove(xml->last, xml->last + 1, sizeof xml->last - 1);
    xml->last[3] = c;
    bool over = xml->place == COMMENT       ? !memcmp(xml->last + 1, "-->", 3)
                : xml->place == DATA        ? !memcmp(xml->last + 1, "]]>", 3)
                : xml->place == INSTRUCTION ? !memcmp(xml->last + 2, "?>", 2)
                                            : ends_declaration(xml, c);
    if (over && xml->place == DATA && xml->between.size >= 3)
        xml->between.size -= 3; /* "]]>" */
    if (over)
        xml->place = BETWEEN;
}

/* Up to the next `<`. */
static size_t read_text(struct pf_xml *xml, const char *bytes, size_t size)
{
    const char *open = memchr(bytes, '<', size);
    size_t used = open ? (size_t)(open - bytes) : size;
    add(xml, &xml->between, bytes, used);
    if (!open && xml->between.size < PF_XML_TEXT_MAX)
        return used;
    mend(xml, xml->between.bytes, xml->between.size, false);
    clear(&xml->between);
    if (!open)
        return used;
    clear(&xml->tag);
    add_string(xml, &xml->tag, "<");
    xml->place = OPENED;
    return used + 1;
}

int pf_xml_feed(struct pf_xml *xml, const char *bytes, size_t size, struct pf_error *error)
{
    clear(&xml->mended);
    for (size_t at = 0, from = 0; at < size && !xml->fault && !xml->lack; from = at) {
        if (xml->place == BETWEEN)
            at += read_text(xml, bytes + at, size - at);
        else if (xml->place == TAG)
            at += read_tag(xml, bytes + at, size - at);
        else
            read_byte(xml, bytes[at++]);
        for (; from < at; from++)
            xml->lines += bytes[from] == '\n';
    }
    xml->faulty = xml->fault;
    xml->error = error;
    if (!xml->lack && xml->mended.size) {
        int failed = xmlParseChunk(xml->parser, xml->mended.bytes, (int)xml->mended.size, 0);
        xml->lack |= failed == XML_ERR_NO_MEMORY;
        xml->fault |= failed && !xml->told && !xml->parser->wellFormed;
    }
    if (xml->lack)
        return pf_fail_memory(error);
    return xml->told ? xml->told : xml->fault;
}
