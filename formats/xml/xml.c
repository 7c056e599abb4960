/* SPDX-License-Identifier: MIT */
#include "formats/xml/xml.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "formats/kit/array.h"
#include "formats/kit/utf8.h"

enum {
    MARKUP_MAX = 1 << 20, /* a tag or a comment longer than this is none of ours, */
    OPEN_MAX = 1 << 24    /* and neither are open elements whose names take more bytes */
};

/* Bytes that grow, with a NUL behind them. */
struct bytes {
    char *bytes;
    size_t size, room;
};

/* Where in `values` the name and the value begin, each with a NUL behind it. */
struct attribute {
    size_t name, value;
};

struct pf_xml {
    const struct pf_xml_events *events;
    void *arg;
    struct bytes pending;         /* what has been fed, but for what is done with */
    size_t here;                  /* in it: where the markup at hand ends, or is damaged */
    int64_t line;                 /* that it begins in, from 1 */
    struct bytes open;            /* the names of the open elements, each with a NUL */
    size_t depth;                 /* how many these are */
    struct attribute *attributes; /* of the tag at hand */
    size_t n_attributes, attributes_room;
    struct bytes values;
    struct bytes text;      /* since the last tag, up to PF_XML_TEXT_MAX bytes */
    int told;               /* what an event returned; 1 at a fault */
    bool fault, lack;       /* the file's; memory's */
    struct pf_error *error; /* of the call that is going on */
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

/* Appends a NUL, too. */
static void add_terminated(struct pf_xml *xml, struct bytes *to, const char *bytes, size_t size)
{
    add(xml, to, bytes, size);
    add(xml, to, "", 1);
}

static void truncate_to(struct bytes *bytes, size_t size)
{
    if (bytes->size > size)
        bytes->bytes[bytes->size = size] = 0;
}

/* ---- characters --------------------------------------------------------------------------------- */

/* Sets of ASCII characters: those that need no look in text, and in values in double quotes; and those of the files' names. */
#define BIT(c)        (UINT64_C(1) << ((c)&63))
#define FROM_BLANK_ON (~UINT64_C(0) << 32)
#define SIGNS         (BIT('&') | BIT('<') | BIT('>'))
#define DIGITS        (UINT64_C(0x3ff) << 48)
#define LETTERS       (UINT64_C(0x3ffffff) << 1 | UINT64_C(0x3ffffff) << 33)
struct set {
    uint64_t bits[4];
};
static const struct set in_text = {{BIT('\t') | BIT('\n') | (FROM_BLANK_ON & ~SIGNS), ~BIT(127)}};
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

/* The length of the reference that text begins with, `&lt;` or `&#60;`, or 0. *c: the character that it stands for. */
static size_t reference(const char *text, size_t size, unsigned long *c)
{
    static const struct {
        const char *name;
        char sign;
    } names[] = {{"&lt;", '<'}, {"&gt;", '>'}, {"&amp;", '&'}, {"&quot;", '"'}, {"&apos;", '\''}};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (size >= strlen(names[i].name) && !memcmp(text, names[i].name, strlen(names[i].name))) {
            *c = (unsigned char)names[i].sign;
            return strlen(names[i].name);
        }
    char digits[12] = "";
    memcpy(digits, text, size < sizeof digits - 1 ? size : sizeof digits - 1);
    bool hexadecimal = digits[1] == '#' && digits[2] == 'x';
    char *first = digits + 2 + hexadecimal, *end;
    *c = strtoul(first, &end, hexadecimal ? 16 : 10);
    bool sound = digits[1] == '#' && isxdigit((unsigned char)*first) && *end == ';';
    return sound && is_character(*c) ? (size_t)(end + 1 - digits) : 0;
}

/* How many bytes the character takes that is not ASCII; 0 if it is none that XML has. */
static size_t long_character(const char *text, size_t size)
{
    size_t wrong, length = pf_utf8((const unsigned char *)text, size, &wrong);
    bool none = length == 3 && !memcmp(text, "\xef\xbf", 2) && (unsigned char)text[2] >= 0xbe;
    return none ? 0 : length;
}

/* Takes one character of text or of a value, or a reference to one. Returns how many bytes it takes up. */
static size_t take_character(struct pf_xml *xml, struct bytes *to, const char *text, size_t size, bool value)
{
    char c = *text, code[4];
    unsigned long referred;
    size_t length = c == '&' ? reference(text, size, &referred) : 0;
    if (length) {
        add(xml, to, code, pf_utf8_put(code, (uint32_t)referred));
        return length;
    }
    if ((unsigned char)c >= 0x80 && (length = long_character(text, size))) {
        add(xml, to, text, length);
        return length;
    }
    if (value && c == '\\' && size > 1 && text[1] == '"') {
        add(xml, to, "\"", 1);
        return 2;
    }
    if (!value && c == '\r') /* a line ends so, or by two characters */
        add(xml, to, "\n", size == 1 || text[1] != '\n');
    else if ((unsigned char)c < 0x7f && is_character((unsigned char)c))
        add(xml, to, text, 1);
    else
        add(xml, to, "\xef\xbf\xbd", 3);
    return 1;
}

/* Appends text, or a value, as it is meant. */
static void decode(struct pf_xml *xml, struct bytes *to, const char *text, size_t size, bool value)
{
    for (size_t at = 0; at < size && !xml->lack;) {
        size_t plain = skip(value ? &in_value : &in_text, text, size, at);
        add(xml, to, text + at, plain - at);
        at = plain < size ? plain + take_character(xml, to, text + plain, size - plain, value) : size;
    }
}

static void take_characters(struct pf_xml *xml, const char *text, size_t size)
{
    decode(xml, &xml->text, text, size, false);
    truncate_to(&xml->text, PF_XML_TEXT_MAX);
}

/* What stands in a CDATA section: nothing in it is a reference. */
static void take_data(struct pf_xml *xml, const char *text, size_t size)
{
    for (size_t at = 0; at < size && !xml->lack; at++) {
        size_t plain = at;
        while (plain < size && text[plain] != '&')
            plain++;
        take_characters(xml, text + at, plain - at);
        at = plain;
        if (at < size)
            take_characters(xml, "&amp;", 5);
    }
}

/* ---- events ------------------------------------------------------------------------------------- */

static void end_at_fault(struct pf_xml *xml)
{
    xml->fault = true;
    xml->told = 1;
}

/* lost: elements may be missing. */
static void tell_damage(struct pf_xml *xml, bool lost)
{
    if (xml->events->fault)
        xml->events->fault(xml->arg, lost);
    else
        end_at_fault(xml);
}

/* Closes the innermost element, whatever the closing tag calls it. */
static void tell_end(struct pf_xml *xml)
{
    const char *name = xml->open.bytes + xml->open.size - 1; /* its NUL */
    while (name > xml->open.bytes && name[-1])
        name--;
    xml->told =
        xml->events->end(xml->arg, name, xml->text.size ? xml->text.bytes : "", xml->text.size, xml->error);
    xml->open.size = (size_t)(name - xml->open.bytes);
    xml->depth--;
    xml->text.size = 0;
}

static void tell_start(struct pf_xml *xml, const char *name, size_t size, bool empty)
{
    size_t at = xml->open.size;
    add_terminated(xml, &xml->open, name, size);
    xml->fault |= xml->open.size > OPEN_MAX;
    xml->text.size = 0;
    if (xml->lack || xml->fault)
        return;
    xml->depth++;
    xml->told = xml->events->start(xml->arg, xml->open.bytes + at, xml->error);
    xml->n_attributes = 0;
    if (empty && !xml->told)
        tell_end(xml);
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

static void add_attribute(struct pf_xml *xml, const char *name, size_t size)
{
    struct pf_error error;
    if (pf_array_room(&xml->attributes, &xml->attributes_room, xml->n_attributes, sizeof *xml->attributes,
                      &error)) {
        xml->lack = true;
        return;
    }
    struct attribute *attribute = &xml->attributes[xml->n_attributes++];
    attribute->name = xml->values.size;
    add_terminated(xml, &xml->values, name, size);
    attribute->value = xml->values.size;
}

/* Forgets the attributes of the tag before. */
static void begin_attributes(struct pf_xml *xml)
{
    xml->n_attributes = xml->values.size = 0;
}

/* Most names differ in their first letter. */
static inline bool is_same(const char *a, const char *b)
{
    return *a == *b && !strcmp(a, b);
}

/* True if an attribute is there twice. */
static bool repeats(const struct pf_xml *xml)
{
    const char *bytes = xml->values.bytes;
    for (size_t i = 1; i < xml->n_attributes; i++)
        for (size_t k = 0; k < i; k++)
            if (is_same(bytes + xml->attributes[i].name, bytes + xml->attributes[k].name))
                return true;
    return false;
}

/* ` NAME="VALUE"`, which begins at `at`. Returns where it ends; 0 if it is no attribute. */
static size_t take_attribute(struct pf_xml *xml, const struct tag *tag, size_t at)
{
    size_t end = skip_name(tag, at), equals = skip_blanks(tag, end);
    if (!begins_name(tag->bytes[at]) || tag->bytes[equals] != '=')
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
    add_attribute(xml, tag->bytes + at, end - at);
    size_t value = xml->values.size;
    decode(xml, &xml->values, tag->bytes + open + quoted, close - open - quoted, true);
    truncate_to(&xml->values, value + PF_XML_TEXT_MAX);
    add(xml, &xml->values, "", 1);
    return close + quoted;
}

/* The attributes, from behind the name on, to the tag's end, at which *end then is. False: some part is none, and left out. */
static bool take_attributes(struct pf_xml *xml, const struct tag *tag, size_t at, size_t *end)
{
    bool sound = is_in(&blank, tag->bytes[at]) || tag->bytes[at] == '/' || tag->bytes[at] == '>';
    begin_attributes(xml);
    while (at = skip_blanks(tag, at), tag->bytes[at] != '>' && tag->bytes[at] != '/') {
        size_t next = take_attribute(xml, tag, at);
        sound &= next != 0;
        if (!next) /* another may begin behind it */
            for (next = at + 1; !is_in(&blank, tag->bytes[next]) && !ends_at(tag, next);)
                next++;
        at = next;
    }
    *end = at;
    return sound;
}

static void take_opening(struct pf_xml *xml, const struct tag *tag)
{
    size_t name = skip_name(tag, 1), end;
    if (!take_attributes(xml, tag, name, &end)) /* it may be two that have become one */
        tell_damage(xml, true);
    xml->here += tag->size;
    if (repeats(xml))
        end_at_fault(xml);
    if (!xml->told && !xml->lack)
        tell_start(xml, tag->bytes + 1, name - 1, tag->bytes[end] == '/');
}

/* Tags that close no element do nothing. */
static void take_closing(struct pf_xml *xml, const struct tag *tag)
{
    xml->here += tag->size;
    if (xml->depth)
        tell_end(xml);
    else
        tell_damage(xml, false);
}

/* What does not begin as a tag: a closing tag without its slash, or text up to what may be a tag. Returns its size. */
static size_t take_no_tag(struct pf_xml *xml, const struct tag *tag)
{
    size_t name = skip_name(tag, 2);
    const char *next = memchr(tag->bytes + 1, '<', tag->size - 1);
    size_t size = next ? (size_t)(next - tag->bytes) : tag->size;
    bool closing = name > 2 && name + 1 == tag->size;
    tell_damage(xml, !closing);
    if (closing && !xml->told)
        take_closing(xml, tag);
    else if (!closing)
        take_characters(xml, tag->bytes, size);
    return size;
}

/* ---- the file's parts: each returns how many bytes it takes up, 0 if its end has not been fed ------------- */

static size_t take_tag(struct pf_xml *xml, const char *bytes, size_t size)
{
    const struct tag tag = {bytes, tag_size(bytes, size)};
    if (!tag.size)
        return 0;
    if (bytes[1] == '/')
        take_closing(xml, &tag);
    else if (begins_name(bytes[1]))
        take_opening(xml, &tag);
    else
        return take_no_tag(xml, &tag);
    return tag.size;
}

/* The same for one as most are, with no look twice at a character; 0 for any other. */
static size_t take_plain_tag(struct pf_xml *xml, const char *bytes, size_t size)
{
    bool closing = size > 2 && bytes[1] == '/';
    size_t name = 1 + (size_t)closing, end = skip(&in_name, bytes, size, name), at = end;
    if (at == name || !begins_name(bytes[name]) || (closing && !xml->depth))
        return 0;
    begin_attributes(xml);
    while (!closing && at + 1 < size && (bytes[at] == ' ' || bytes[at] == '\n') &&
           begins_name(bytes[at + 1])) {
        size_t equals = skip(&in_name, bytes, size, at + 1), value = equals + 2;
        if (equals + 1 >= size || bytes[equals] != '=' || bytes[equals + 1] != '"')
            return 0;
        add_attribute(xml, bytes + at + 1, equals - at - 1);
        at = skip(&in_value, bytes, size, value);
        if (at == size || bytes[at] != '"' || at - value > PF_XML_TEXT_MAX)
            return 0;
        add_terminated(xml, &xml->values, bytes + value, at++ - value);
    }
    bool empty = !closing && at < size && bytes[at] == '/';
    at += empty;
    if (at >= size || bytes[at] != '>' || repeats(xml))
        return 0;
    xml->here += at + 1;
    if (closing)
        tell_end(xml);
    else if (!xml->lack)
        tell_start(xml, bytes + 1, end - 1, empty);
    return at + 1;
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
        take_characters(xml, bytes, 2);
        return 2;
    }
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        size_t begin = strlen(kinds[i].begin);
        if (size < begin || memcmp(bytes, kinds[i].begin, begin) != 0)
            continue;
        size_t used = find_end(bytes, size, begin, kinds[i].end);
        if (i == DECLARATION && used && memchr(bytes, '[', used)) /* a DTD that holds others */
            used = find_end(bytes, size, begin, "]>");
        if (i == DATA && used)
            take_data(xml, bytes + begin, used - begin - strlen(kinds[i].end));
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
    take_characters(xml, bytes, size);
    return size;
}

static size_t take(struct pf_xml *xml, const char *bytes, size_t size)
{
    if (*bytes != '<')
        return take_text(xml, bytes, size);
    size_t plain = take_plain_tag(xml, bytes, size);
    return plain ? plain : take_markup(xml, bytes, size);
}

/* ---- reading ------------------------------------------------------------------------------------ */

static int64_t lines(const char *bytes, size_t size)
{
    int64_t n = 0;
    const char *end = bytes + size;
    for (const char *at = bytes; at < end && (at = memchr(at, '\n', (size_t)(end - at))); at++)
        n++;
    return n;
}

int pf_xml_feed(struct pf_xml *xml, const char *bytes, size_t size, struct pf_error *error)
{
    struct bytes *pending = &xml->pending;
    size_t used = 1, at = 0;
    xml->error = error;
    add(xml, pending, bytes, size);
    for (; at < pending->size && used && !xml->told && !xml->fault && !xml->lack; at += used) {
        xml->here = at;
        used = take(xml, pending->bytes + at, pending->size - at);
        xml->fault |= !used && pending->size - at > MARKUP_MAX;
    }
    if (xml->lack)
        return pf_fail_memory(error);
    if (xml->told || xml->fault)
        return xml->told ? xml->told : 1;
    xml->line += lines(pending->bytes, at);
    xml->here = 0;
    pending->size -= at;
    memmove(pending->bytes, pending->bytes + at, pending->size);
    return 0;
}

struct pf_xml *pf_xml_new(const struct pf_xml_events *events, void *arg)
{
    struct pf_xml *xml = calloc(1, sizeof *xml);
    if (!xml)
        return NULL;
    xml->events = events;
    xml->arg = arg;
    xml->line = 1;
    return xml;
}

void pf_xml_free(struct pf_xml *xml)
{
    if (!xml)
        return;
    free(xml->pending.bytes);
    free(xml->open.bytes);
    free(xml->attributes);
    free(xml->values.bytes);
    free(xml->text.bytes);
    free(xml);
}

const char *pf_xml_attribute(const struct pf_xml *xml, const char *name)
{
    const char *bytes = xml->values.bytes;
    for (size_t i = 0; i < xml->n_attributes; i++)
        if (is_same(bytes + xml->attributes[i].name, name))
            return bytes + xml->attributes[i].value;
    return NULL;
}

int64_t pf_xml_line(const struct pf_xml *xml)
{
    return xml->line + (xml->here ? lines(xml->pending.bytes, xml->here) : 0);
}

bool pf_xml_is_cut(const struct pf_xml *xml)
{
    bool in_markup = xml->pending.size && xml->pending.bytes[0] == '<';
    return xml->fault || (!xml->told && (in_markup || xml->depth));
}
