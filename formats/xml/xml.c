/* SPDX-License-Identifier: MIT */
#include "formats/xml/xml.h"

#include <ctype.h>
#include <libxml/SAX2.h>
#include <libxml/parser.h>
#include <stdlib.h>
#include <string.h>

#include "formats/kit/array.h"
#include "formats/kit/utf8.h"

enum {
    MARKUP_MAX = 1 << 20, /* a tag or a comment longer than this is none of ours, */
    NAMES_MAX = 1 << 20,  /* and neither are more bytes of different names */
    PIECE =
        4096, /* libxml2 moves what is left of a piece to its front every few tags: large ones take long */
};

/* Bytes that grow, with a NUL behind them. */
struct bytes {
    char *bytes;
    size_t size, room;
};

struct pf_xml {
    const struct pf_xml_events *events;
    void *arg;
    xmlParserCtxtPtr parser;
    struct bytes pending; /* what has been fed, but for what the filter is done with */
    struct bytes mended;  /* of the last feed: for libxml2 */
    size_t open;          /* elements, as far as the filter is */
    const xmlChar **
        attributes; /* of the element that starts: five pointers each, to name, prefix, namespace, and the value's start and end */
    int n_attributes;
    struct bytes values, text; /* of the event: attributes' values, each with a NUL; and text */
    size_t depth;              /* open elements, as far as libxml2 is, with the wrapper */
    int told;                  /* what an event returned; 1 at a fault */
    bool fault, lack;          /* the file's; memory's */
    struct pf_error *error;    /* of the call that is going on */
};

static void add(struct pf_xml *xml, struct bytes *to, const char *bytes, size_t size)
{
    struct pf_error error;
    if (size >= to->room - to->size && pf_array_grow(&to->bytes, &to->room, to->size + size + 1, 1, &error)) {
        xml->lack = true;
        return;
    }
    memcpy(to->bytes + to->size, bytes, size);
    to->size += size;
    to->bytes[to->size] = 0;
}

/* ==== the filter: what libxml2 takes, of what writers have written ========================================== */

/* Well-formed stretches, which most of a file is, go through as they are; the rest is mended. */

static void give(struct pf_xml *xml, const char *bytes, size_t size)
{
    add(xml, &xml->mended, bytes, size);
}

static void give_string(struct pf_xml *xml, const char *string)
{
    give(xml, string, strlen(string));
}

/* The lines of what is left out or put in order, so that libxml2 counts right. */
static void give_lines(struct pf_xml *xml, const char *bytes, size_t size)
{
    const char *end = bytes + size;
    for (const char *at = bytes; at < end && (at = memchr(at, '\n', (size_t)(end - at))); at++)
        give_string(xml, "\n");
}

/* Damage is told by an instruction, which comes where the damage is. The file's own are left out. */
static void give_damage(struct pf_xml *xml, bool lost)
{
    give_string(xml, lost ? "<?damage lost?>" : "<?damage?>");
}

/* ---- characters --------------------------------------------------------------------------------- */

/* Sets of the ASCII characters: those that text, and values in double quotes, may hold as they are; and those of the files' names. */
#define BIT(c)        (UINT64_C(1) << ((c)&63))
#define FROM_BLANK_ON (~UINT64_C(0) << 32)
#define SIGNS         (BIT('&') | BIT('<') | BIT('>'))
#define DIGITS        (UINT64_C(0x3ff) << 48)
#define LETTERS       (UINT64_C(0x3ffffff) << 1 | UINT64_C(0x3ffffff) << 33)
struct set {
    uint64_t bits[4];
};
static const struct set in_text = {{BIT('\t') | BIT('\n') | BIT('\r') | (FROM_BLANK_ON & ~SIGNS), ~BIT(127)}};
static const struct set in_value = {{FROM_BLANK_ON & ~SIGNS & ~BIT('"'), ~BIT(127) & ~BIT('\\')}};
static const struct set in_name = {{DIGITS | BIT('-') | BIT('.'), LETTERS | BIT('_')}};
static const struct set blank = {{BIT('\t') | BIT('\n') | BIT('\r') | BIT(' ')}};

static inline bool is_in(const struct set *set, char c)
{
    return set->bits[(unsigned char)c >> 6] >> ((unsigned char)c & 63) & 1;
}

/* Where, from `at` on, the first character is that is not in the set. */
static inline size_t skip(const struct set *set, const char *bytes, size_t size, size_t at)
{
    while (at < size && is_in(set, bytes[at]))
        at++;
    return at;
}

static bool begins_name(char c)
{
    return c == '_' || isalpha((unsigned char)c);
}

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
    bool sound = digits[1] == '#' && isxdigit((unsigned char)*first) && *end == ';';
    return sound && is_character(c) ? (size_t)(end + 1 - digits) : 0;
}

/* What stands for an ASCII character that is not in the set; NULL: it may stand as it is. */
static const char *replacement(char c, bool value)
{
    static const char signs[] = "&<>\\\"\n\r\t";
    static const char *const instead[] = {"&amp;", "&lt;", "&gt;", NULL, "&quot;", "&#10;", "&#13;", "&#9;"};
    const char *found = c ? strchr(signs, c) : NULL;
    if (!found)
        return "\xef\xbf\xbd";
    return value || found - signs < 3 ? instead[found - signs] : NULL;
}

/* How many bytes the character takes that is not ASCII; 0 if it is none that XML has. */
static size_t long_character(const char *text, size_t size)
{
    size_t wrong, length = pf_utf8((const unsigned char *)text, size, &wrong);
    bool none = length == 3 && !memcmp(text, "\xef\xbf", 2) && (unsigned char)text[2] >= 0xbe;
    return none ? 0 : length;
}

/* Text or a value, as it may stand between tags or quotes. */
static void mend(struct pf_xml *xml, const char *text, size_t size, bool value)
{
    for (size_t at = 0; at < size;) {
        size_t plain = skip(value ? &in_value : &in_text, text, size, at), length = 0;
        give(xml, text + at, plain - at);
        at = plain;
        if (at == size)
            return;
        if (text[at] == '&')
            length = reference(text + at, size - at);
        else if ((unsigned char)text[at] >= 0x80)
            length = long_character(text + at, size - at);
        bool quote = value && text[at] == '\\' && at + 1 < size && text[at + 1] == '"';
        const char *instead = length ? NULL : replacement(text[at + quote], value);
        if (instead)
            give_string(xml, instead);
        else
            give(xml, text + at, length ? length : 1);
        at += length ? length : 1 + (size_t)quote;
    }
}

/* ---- tags --------------------------------------------------------------------------------------- */

/* A tag from its `<` to its `>`, which ends all that is looked for in it. */
struct tag {
    const char *bytes;
    size_t size;
};

static size_t skip_blanks(const struct tag *tag, size_t at)
{
    return skip(&blank, tag->bytes, tag->size, at);
}

static size_t skip_name(const struct tag *tag, size_t at)
{
    return skip(&in_name, tag->bytes, tag->size, at);
}

static bool ends_at(const struct tag *tag, size_t at)
{
    return tag->bytes[at] == '>' || (tag->bytes[at] == '/' && tag->bytes[at + 1] == '>');
}

/*
 * Whether the quote at `at` is part of the value that it stands in: it is behind a backslash, and what follows it is neither
 * the end of the tag nor another attribute, blanks aside.
 */
static bool quote_is_text(const struct tag *tag, size_t at)
{
    size_t next = skip_blanks(tag, at + 1), end = skip_name(tag, next);
    if (tag->bytes[at] != '"' || tag->bytes[at - 1] != '\\' || next + 1 >= tag->size || ends_at(tag, next))
        return false;
    return !(end > next && end + 1 < tag->size && tag->bytes[end] == '=' && tag->bytes[end + 1] == '"');
}

/* Where the value ends whose quote is at `open`. */
static size_t skip_value(const struct tag *tag, size_t open)
{
    size_t at = open + 1;
    while (at < tag->size && (tag->bytes[at] != tag->bytes[open] || quote_is_text(tag, at)))
        at++;
    return at;
}

/* The size of the tag that text begins with; 0: its end has not been fed. */
static size_t tag_size(const char *bytes, size_t size)
{
    const struct tag rest = {bytes, size};
    for (size_t at = 1; at < size; at++) {
        if (bytes[at] == '>')
            return at + 1;
        if ((bytes[at] == '"' || bytes[at] == '\'') && bytes[1] != '/')
            at = skip_value(&rest, at);
    }
    return 0;
}

/* ` NAME="VALUE"`, which begins at `at`. Returns where it ends; 0 if it is no attribute. */
static size_t mend_attribute(struct pf_xml *xml, const struct tag *tag, size_t at)
{
    size_t end = skip_name(tag, at), equals = skip_blanks(tag, end);
    if (end == at || tag->bytes[equals] != '=')
        return 0;
    size_t open = skip_blanks(tag, equals + 1), close = open;
    bool quoted = tag->bytes[open] == '"' || tag->bytes[open] == '\'';
    if (quoted)
        close = skip_value(tag, open);
    else /* Cube writes some values without quotes */
        while (!is_in(&blank, tag->bytes[close]) && !ends_at(tag, close))
            close++;
    if (close >= tag->size)
        return 0;
    give_string(xml, " ");
    give(xml, tag->bytes + at, end - at);
    give_string(xml, "=\"");
    mend(xml, tag->bytes + open + quoted, close - open - quoted, true);
    give_string(xml, "\"");
    return close + quoted;
}

/* An opening tag but for its end, at which *end then is. False: it is damaged; what is no attribute is left out. */
static bool mend_opening(struct pf_xml *xml, const struct tag *tag, size_t *end)
{
    size_t at = skip_name(tag, 1);
    bool sound = is_in(&blank, tag->bytes[at]) || tag->bytes[at] == '/' || tag->bytes[at] == '>';
    give(xml, tag->bytes, at);
    while (at = skip_blanks(tag, at), tag->bytes[at] != '>' && tag->bytes[at] != '/') {
        size_t next = mend_attribute(xml, tag, at);
        sound &= next != 0;
        if (!next) /* another may begin behind it */
            for (next = at + 1; !is_in(&blank, tag->bytes[next]) && !ends_at(tag, next);)
                next++;
        at = next;
    }
    *end = at;
    return sound;
}

/* A closing tag closes the innermost element, whatever it is called: libxml2 sees to that. Those that close none are left out. */
static void mend_closing(struct pf_xml *xml, const struct tag *tag)
{
    give_lines(xml, tag->bytes, tag->size);
    if (xml->open)
        give_string(xml, "</any>");
    else
        give_damage(xml, false);
    xml->open -= xml->open > 0;
}

/* ---- the file's parts: each returns how many bytes it takes up, 0 if its end has not been fed ------------- */

/* What does not begin as a tag: a closing tag without its slash, or text up to what may be a tag. */
static size_t take_no_tag(struct pf_xml *xml, const struct tag *tag)
{
    size_t name = skip_name(tag, 2);
    const char *next = memchr(tag->bytes + 1, '<', tag->size - 1);
    size_t size = next ? (size_t)(next - tag->bytes) : tag->size;
    bool closing = name > 2 && name + 1 == tag->size;
    give_damage(xml, !closing);
    if (closing)
        mend_closing(xml, tag);
    else
        mend(xml, tag->bytes, size, false);
    return size;
}

static size_t take_tag(struct pf_xml *xml, const char *bytes, size_t size)
{
    const struct tag tag = {bytes, tag_size(bytes, size)};
    size_t before = xml->mended.size, end;
    if (!tag.size)
        return 0;
    if (bytes[1] == '/') {
        mend_closing(xml, &tag);
        return tag.size;
    }
    if (!begins_name(bytes[1]))
        return take_no_tag(xml, &tag);
    if (!mend_opening(xml, &tag, &end)) { /* it may be two that have become one */
        xml->mended.size = before;
        give_damage(xml, true);
        (void)mend_opening(xml, &tag, &end);
    }
    give_lines(xml, bytes, tag.size);
    give_string(xml, bytes[end] == '/' ? "/>" : ">");
    xml->open += bytes[end] != '/';
    return tag.size;
}

/* Where, behind `from`, the end of some markup ends; 0: it has not been fed. */
static size_t find_end(const char *bytes, size_t size, size_t from, const char *end)
{
    const char *found = from < size ? memmem(bytes + from, size - from, end, strlen(end)) : NULL;
    return found ? (size_t)(found - bytes) + strlen(end) : 0;
}

static size_t take_markup(struct pf_xml *xml, const char *bytes, size_t size)
{
    enum { DATA, DECLARATION = 3 };
    static const struct {
        const char *begin, *end;
    } kinds[] = {[DATA] = {"<![CDATA[", "]]>"}, {"<!--", "-->"}, {"<?", "?>"}, [DECLARATION] = {"<!", ">"}};
    if (size < 2)
        return 0;
    if (is_in(&blank, bytes[1]) || bytes[1] == '=') { /* a sign that somebody has not escaped */
        mend(xml, bytes, 2, false);
        return 2;
    }
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        size_t begin = strlen(kinds[i].begin);
        if (size < begin || memcmp(bytes, kinds[i].begin, begin) != 0)
            continue;
        size_t used = find_end(bytes, size, begin, kinds[i].end);
        if (i == DECLARATION && used && memchr(bytes, '[', used)) /* a DTD that holds others */
            used = find_end(bytes, size, begin, "]>");
        if (i == DATA)
            give(xml, bytes, used);
        else
            give_lines(xml, bytes, used);
        return used;
    }
    return take_tag(xml, bytes, size);
}

/* Up to the next `<`, or all if that is long. */
static size_t take_text(struct pf_xml *xml, const char *bytes, size_t size)
{
    const char *open = memchr(bytes, '<', size);
    if (!open && size < PF_XML_TEXT_MAX)
        return 0;
    size = open ? (size_t)(open - bytes) : size;
    mend(xml, bytes, size, false);
    return size;
}

/* The size of a tag that needs no mending; 0: it may need some. */
static size_t sound_tag(struct pf_xml *xml, const char *bytes, size_t size)
{
    bool closing = size > 2 && bytes[1] == '/';
    size_t name = 1 + (size_t)closing, at = skip(&in_name, bytes, size, name);
    if (at == name || !begins_name(bytes[name]) || (closing && !xml->open))
        return 0;
    while (!closing && at + 1 < size && (bytes[at] == ' ' || bytes[at] == '\n') &&
           is_in(&in_name, bytes[at + 1])) {
        size_t equals = skip(&in_name, bytes, size, at + 1);
        if (equals + 1 >= size || bytes[equals] != '=' || bytes[equals + 1] != '"')
            return 0;
        at = skip(&in_value, bytes, size, equals + 2);
        if (at == size || bytes[at++] != '"')
            return 0;
    }
    bool empty = !closing && at < size && bytes[at] == '/';
    at += empty;
    if (at >= size || bytes[at] != '>')
        return 0;
    if (!empty)
        xml->open += closing ? -(size_t)1 : 1;
    return at + 1;
}

/* Text and tags that need no mending: most of a file goes to libxml2 as it is. Returns how many bytes that are. */
static size_t take_sound(struct pf_xml *xml, const char *bytes, size_t size)
{
    size_t used = 0, text, tag;
    do {
        text = skip(&in_text, bytes, size, used);
        tag = text < size && bytes[text] == '<' ? sound_tag(xml, bytes + text, size - text) : 0;
        used = tag ? text + tag : text < size && bytes[text] == '<' ? text : used;
    } while (tag);
    give(xml, bytes, used);
    return used;
}

/* Takes the next bytes of the file. */
static void filter(struct pf_xml *xml, const char *fed, size_t n)
{
    struct bytes *pending = &xml->pending;
    size_t used = 1, at = 0;
    xml->mended.size = 0;
    add(xml, pending, fed, n);
    for (; at < pending->size && used && !xml->lack; at += used) {
        const char *bytes = pending->bytes + at;
        size_t size = pending->size - at;
        used = take_sound(xml, bytes, size);
        if (!used)
            used = *bytes == '<' ? take_markup(xml, bytes, size) : take_text(xml, bytes, size);
        xml->fault |= !used && size > MARKUP_MAX;
    }
    pending->size -= at;
    memmove(pending->bytes, pending->bytes + at, pending->size);
}

/* ==== libxml2 =============================================================================================== */

static void take(struct pf_xml *xml, int told)
{
    xml->told = told;
    if (told)
        xmlStopParser(xml->parser);
}

static void end_at_fault(struct pf_xml *xml)
{
    xml->fault = true;
    take(xml, 1);
}

static size_t value_size(const xmlChar **attribute)
{
    size_t size = (size_t)(attribute[4] - attribute[3]);
    return size < PF_XML_TEXT_MAX ? size : PF_XML_TEXT_MAX;
}

static void on_start(void *context, const xmlChar *name, const xmlChar *prefix, const xmlChar *space,
                     int n_namespaces, const xmlChar **namespaces, int n_attributes, int n_defaulted,
                     const xmlChar **attributes)
{
    struct pf_xml *xml = context;
    (void)prefix, (void)space, (void)n_namespaces, (void)namespaces, (void)n_defaulted;
    if (xml->told || !xml->depth++) /* the first is the wrapper */
        return;
    xml->text.size = xml->values.size = 0;
    xml->attributes = attributes;
    xml->n_attributes = n_attributes;
    for (int i = 0; i < n_attributes; i++) {
        add(xml, &xml->values, (const char *)attributes[5 * i + 3], value_size(attributes + (size_t)5 * i));
        add(xml, &xml->values, "", 1);
    }
    if (!xml->lack)
        take(xml, xml->events->start(xml->arg, (const char *)name, xml->error));
    xml->n_attributes = 0;
}

static void on_end(void *context, const xmlChar *name, const xmlChar *prefix, const xmlChar *space)
{
    struct pf_xml *xml = context;
    (void)prefix, (void)space;
    if (xml->told)
        return;
    xml->depth--;
    xml->parser->wellFormed =
        1; /* the name may have been another: libxml2 would leave out references from now on */
    take(xml, xml->events->end(xml->arg, (const char *)name, xml->text.size ? xml->text.bytes : "",
                               xml->text.size, xml->error));
    xml->text.size = 0;
}

static void on_text(void *context, const xmlChar *text, int size)
{
    struct pf_xml *xml = context;
    size_t left = PF_XML_TEXT_MAX - xml->text.size;
    if (!xml->told)
        add(xml, &xml->text, (const char *)text, (size_t)size < left ? (size_t)size : left);
}

static void on_damage(void *context, const xmlChar *target, const xmlChar *data)
{
    struct pf_xml *xml = context;
    (void)target;
    if (!xml->told && xml->events->fault)
        xml->events->fault(xml->arg, data && *data);
    else if (!xml->told)
        end_at_fault(xml);
}

/* What the filter has left wrong: names of closing tags, which are not compared, and attributes that are there twice. */
static void on_error(void *context, xmlErrorPtr problem)
{
    struct pf_xml *xml = context;
    xml->lack |= problem->code == XML_ERR_NO_MEMORY;
    if (!xml->told && problem->level >= XML_ERR_ERROR && problem->code != XML_ERR_TAG_NAME_MISMATCH)
        end_at_fault(xml);
}

struct pf_xml *pf_xml_new(const struct pf_xml_events *events, void *arg)
{
    xmlSAXHandler handler = {.initialized = XML_SAX2_MAGIC,
                             .startElementNs = on_start,
                             .endElementNs = on_end,
                             .characters = on_text,
                             .ignorableWhitespace = on_text,
                             .cdataBlock = on_text,
                             .processingInstruction = on_damage,
                             .serror = on_error};
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
    xmlCtxtUseOptions(xml->parser, XML_PARSE_NONET | XML_PARSE_NOENT | XML_PARSE_RECOVER | XML_PARSE_HUGE);
    xmlDictSetLimit(xml->parser->dict, NAMES_MAX);
    return xml;
}

void pf_xml_free(struct pf_xml *xml)
{
    if (!xml)
        return;
    xmlFreeParserCtxt(xml->parser);
    free(xml->pending.bytes);
    free(xml->mended.bytes);
    free(xml->values.bytes);
    free(xml->text.bytes);
    free(xml);
}

const char *pf_xml_attribute(const struct pf_xml *xml, const char *name)
{
    const char *value = xml->values.bytes;
    const xmlChar **attribute = xml->attributes;
    for (int i = 0; i < xml->n_attributes; i++, attribute += 5) {
        if (!strcmp((const char *)attribute[0], name))
            return value;
        value += value_size(attribute) + 1;
    }
    return NULL;
}

int64_t pf_xml_line(const struct pf_xml *xml)
{
    return xmlSAX2GetLineNumber(xml->parser);
}

bool pf_xml_is_cut(const struct pf_xml *xml)
{
    bool in_markup = xml->pending.size && xml->pending.bytes[0] == '<';
    return xml->fault || (!xml->told && (in_markup || xml->depth != 1));
}

int pf_xml_feed(struct pf_xml *xml, const char *bytes, size_t size, struct pf_error *error)
{
    xml->error = error;
    for (size_t at = 0; at < size && !xml->told && !xml->fault && !xml->lack; at += PIECE) {
        filter(xml, bytes + at, size - at < PIECE ? size - at : PIECE);
        if (xml->mended.size && !xml->lack)
            (void)xmlParseChunk(xml->parser, xml->mended.bytes, (int)xml->mended.size, 0);
    }
    if (xml->lack)
        return pf_fail_memory(error);
    return xml->told ? xml->told : xml->fault;
}
