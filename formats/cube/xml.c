/* SPDX-License-Identifier: MIT */
#include "formats/cube/xml.h"

#include <stdlib.h>
#include <string.h>

#include "formats/input/inflate.h"
#include "formats/kit/array.h"

enum {
    WINDOW = 64 * 1024,
    TEXT_MAX = 256 * 1024,
    ENTITY_MAX = 10, /* between & and ; */
};

ssize_t pf_cube_bytes_read(const struct pf_cube_bytes *bytes, void *buffer, size_t size, uint64_t at,
                           struct pf_error *error)
{
    if (bytes->inflate)
        return pf_inflate_read(bytes->inflate, buffer, size, at, error);
    if (at >= bytes->size)
        return 0;
    if (size > bytes->size - at)
        size = (size_t)(bytes->size - at);
    return pf_input_read(bytes->input, buffer, size, bytes->offset + at, error);
}

/* A text that grows up to a limit; what goes beyond is dropped. */
struct text {
    char *at;
    size_t size, room;
};

struct pf_cube_xml {
    const struct pf_cube_bytes *bytes;
    uint64_t offset; /* in the text, of what follows the window */
    size_t at, have; /* in the window */
    uint64_t line;
    struct text name, attributes, text; /* attributes: NAME NUL VALUE NUL, again and again */
    bool empty;                         /* the element that has begun ends at once */
    bool closed;                        /* the last event was a close: its text is used up */
    bool cut;
    bool failed;
    struct pf_error error;
    unsigned char window[WINDOW];
};

struct pf_cube_xml *pf_cube_xml_new(const struct pf_cube_bytes *bytes)
{
    struct pf_cube_xml *xml = malloc(sizeof *xml);
    if (!xml)
        return NULL;
    memset(xml, 0, offsetof(struct pf_cube_xml, window));
    xml->bytes = bytes;
    xml->line = 1;
    return xml;
}

void pf_cube_xml_free(struct pf_cube_xml *xml)
{
    if (!xml)
        return;
    free(xml->name.at);
    free(xml->attributes.at);
    free(xml->text.at);
    free(xml);
}

/* ---- bytes -------------------------------------------------------------------------------------- */

static bool refill(struct pf_cube_xml *xml)
{
    if (xml->failed)
        return false;
    ssize_t have = pf_cube_bytes_read(xml->bytes, xml->window, WINDOW, xml->offset, &xml->error);
    if (have < 0)
        xml->failed = true;
    xml->at = 0;
    xml->have = have > 0 ? (size_t)have : 0;
    xml->offset += xml->have;
    return xml->have > 0;
}

/* The next byte, -1 at the end. */
static inline int get(struct pf_cube_xml *xml)
{
    if (xml->at == xml->have && !refill(xml))
        return -1;
    int c = xml->window[xml->at++];
    xml->line += c == '\n';
    return c;
}

/* Takes back the byte that was got last. */
static inline void unget(struct pf_cube_xml *xml, int c)
{
    if (c < 0)
        return;
    xml->at--;
    xml->line -= c == '\n';
}

static bool grow(struct pf_cube_xml *xml, struct text *text)
{
    if (pf_array_grow(&text->at, &text->room, text->room + 1, 1, &xml->error))
        xml->failed = true;
    return !xml->failed;
}

/* One byte more than `size` is always there, for the NUL. */
static inline void put(struct pf_cube_xml *xml, struct text *text, int c)
{
    if (text->size + 1 >= text->room && (text->size >= TEXT_MAX || !grow(xml, text)))
        return;
    text->at[text->size++] = (char)c;
}

/* A byte of a name, value or text, of which NUL can be none. */
static inline void put_byte(struct pf_cube_xml *xml, struct text *text, int c)
{
    if (c)
        put(xml, text, c);
}

static bool is_space(int c)
{
    return c == ' ' || c == '\n' || c == '\t' || c == '\r';
}

static int get_past_spaces(struct pf_cube_xml *xml)
{
    int c = get(xml);
    while (is_space(c))
        c = get(xml);
    return c;
}

/* ---- character references ----------------------------------------------------------------------- */

static void put_utf8(struct pf_cube_xml *xml, struct text *text, unsigned long code)
{
    if (!code || code > 0x10ffff || (code >= 0xd800 && code < 0xe000))
        code = 0xfffd;
    unsigned more = code < 0x80 ? 0 : code < 0x800 ? 1 : code < 0x10000 ? 2 : 3;
    static const unsigned char lead[] = {0, 0xc0, 0xe0, 0xf0};
    put(xml, text, (int)(lead[more] | code >> 6 * more));
    while (more--)
        put(xml, text, (int)(0x80 | (code >> 6 * more & 0x3f)));
}

/* False if this names no character. */
static bool put_entity(struct pf_cube_xml *xml, struct text *text, const char *name)
{
    static const struct {
        const char *name;
        char c;
    } known[] = {{"lt", '<'}, {"gt", '>'}, {"amp", '&'}, {"quot", '"'}, {"apos", '\''}};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (!strcmp(name, known[i].name)) {
            put(xml, text, known[i].c);
            return true;
        }
    if (name[0] != '#')
        return false;
    bool hex = name[1] == 'x';
    const char *digits = name + 1 + hex;
    if (!*digits || strspn(digits, hex ? "0123456789abcdefABCDEF" : "0123456789") != strlen(digits))
        return false;
    put_utf8(xml, text, strtoul(digits, NULL, hex ? 16 : 10));
    return true;
}

/* After an ampersand. What names no character stands for itself. */
static void take_entity(struct pf_cube_xml *xml, struct text *text)
{
    char name[ENTITY_MAX + 1];
    size_t size = 0;
    int c = get(xml);
    while (size < ENTITY_MAX &&
           (c == '#' || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'))) {
        name[size++] = (char)c;
        c = get(xml);
    }
    name[size] = 0;
    if (c == ';' && put_entity(xml, text, name))
        return;
    put(xml, text, '&');
    for (size_t i = 0; i < size; i++)
        put(xml, text, name[i]);
    unget(xml, c);
}

/* ---- tags --------------------------------------------------------------------------------------- */

/* A name up to what ends one, which is returned. */
static int take_name(struct pf_cube_xml *xml, struct text *name, int c)
{
    while (c >= 0 && !is_space(c) && c != '>' && c != '/' && c != '=') {
        put_byte(xml, name, c);
        c = get(xml);
    }
    return c;
}

/* A value, quoted or not. Returns what follows it. */
static int take_value(struct pf_cube_xml *xml)
{
    int quote = get_past_spaces(xml), c = quote;
    bool quoted = quote == '"' || quote == '\'';
    size_t start = xml->attributes.size;
    if (quoted)
        c = get(xml);
    while (c >= 0 && (quoted ? c != quote : !is_space(c) && c != '>')) {
        if (c == '&')
            take_entity(xml, &xml->attributes);
        else
            put_byte(xml, &xml->attributes, c);
        c = get(xml);
    }
    if (!quoted && c == '>' && xml->attributes.size > start &&
        xml->attributes.at[xml->attributes.size - 1] == '/') {
        xml->attributes.size--; /* <name key=value/> */
        xml->empty = true;
    }
    return quoted && c >= 0 ? get(xml) : c;
}

/* Attributes and the end of a tag. */
static void take_attributes(struct pf_cube_xml *xml, int c)
{
    for (;;) {
        while (is_space(c))
            c = get(xml);
        if (c < 0)
            xml->cut = true;
        if (c < 0 || c == '>')
            return;
        if (c == '/') {
            c = get(xml);
            xml->empty = c == '>';
            continue;
        }
        size_t start = xml->attributes.size;
        c = take_name(xml, &xml->attributes, c);
        put(xml, &xml->attributes, 0);
        while (is_space(c))
            c = get(xml);
        if (c == '=')
            c = take_value(xml);
        put(xml, &xml->attributes, 0);
        if (xml->attributes.size >= TEXT_MAX)
            xml->attributes.size = start; /* no room for all of it: as if it were not there */
    }
}

/* Ends a text with a NUL that does not count. */
static void terminate(struct pf_cube_xml *xml, struct text *text)
{
    if (text->room || grow(xml, text))
        text->at[text->size] = 0;
}

static void begin(struct text *text)
{
    text->size = 0;
}

static void start_element(struct pf_cube_xml *xml, int c)
{
    begin(&xml->name);
    begin(&xml->attributes);
    begin(&xml->text);
    take_attributes(xml, take_name(xml, &xml->name, c));
    terminate(xml, &xml->name);
}

static void close_element(struct pf_cube_xml *xml)
{
    begin(&xml->name);
    begin(&xml->attributes);
    int c = take_name(xml, &xml->name, get(xml));
    while (c >= 0 && c != '>')
        c = get(xml);
    xml->cut |= c < 0;
    terminate(xml, &xml->name);
}

/* ---- what is no element ------------------------------------------------------------------------- */

/* Reads up to and with these bytes; what comes before them goes to `into` if that is not NULL. */
static void read_up_to(struct pf_cube_xml *xml, const char *stop, struct text *into)
{
    size_t length = strlen(stop), matched = 0;
    for (int c; matched < length;) {
        if ((c = get(xml)) < 0) {
            xml->cut = true;
            return;
        }
        if (into)
            put_byte(xml, into, c);
        if (c == stop[matched])
            matched++;
        else if (!(matched == length - 1 && c == stop[0] && length == 3)) /* "--->" and "]]]>" */
            matched = c == stop[0];
    }
    if (into)
        into->size -= into->size < length ? into->size : length;
}

/* True if these bytes follow; if not, those that do are behind. */
static bool follows(struct pf_cube_xml *xml, const char *word)
{
    for (; *word; word++)
        if (get(xml) != *word)
            return false;
    return true;
}

/* After "<!". */
static void skip_declaration(struct pf_cube_xml *xml)
{
    int c = get(xml);
    if (c == '-' && follows(xml, "-"))
        read_up_to(xml, "-->", NULL);
    else if (c == '[' && follows(xml, "CDATA["))
        read_up_to(xml, "]]>", &xml->text);
    else if (c != '>')
        read_up_to(xml, ">", NULL);
}

/* ---- events ------------------------------------------------------------------------------------- */

/* What a "<" begins; PF_CUBE_END if no event. */
static enum pf_cube_event take_markup(struct pf_cube_xml *xml)
{
    int c = get(xml);
    if (c == '/') {
        close_element(xml);
        return PF_CUBE_CLOSE;
    }
    if (c == '!') {
        skip_declaration(xml);
    } else if (c == '?') {
        read_up_to(xml, "?>", NULL);
    } else if (c < 0 || is_space(c) || c == '=' || c == '>') {
        put(xml, &xml->text, '<'); /* a sign that somebody has not escaped */
        unget(xml, c);
    } else {
        start_element(xml, c);
        return PF_CUBE_START;
    }
    return PF_CUBE_END;
}

static enum pf_cube_event next_event(struct pf_cube_xml *xml)
{
    for (int c; (c = get(xml)) >= 0;) {
        if (c == '<') {
            enum pf_cube_event event = take_markup(xml);
            if (event != PF_CUBE_END)
                return event;
        } else if (c == '&') {
            take_entity(xml, &xml->text);
        } else {
            put_byte(xml, &xml->text, c);
        }
    }
    return PF_CUBE_END;
}

enum pf_cube_event pf_cube_xml_next(struct pf_cube_xml *xml, struct pf_error *error)
{
    enum pf_cube_event event = PF_CUBE_CLOSE;
    if (xml->closed)
        begin(&xml->text);
    xml->closed = false;
    if (xml->empty)
        xml->empty = false;
    else
        event = next_event(xml);
    terminate(xml, &xml->text);
    xml->closed = event == PF_CUBE_CLOSE;
    if (xml->failed) {
        *error = xml->error;
        return PF_CUBE_FAILED;
    }
    return xml->cut ? PF_CUBE_END : event;
}

const char *pf_cube_xml_name(const struct pf_cube_xml *xml)
{
    return xml->name.at;
}

const char *pf_cube_xml_text(const struct pf_cube_xml *xml, size_t *size)
{
    *size = xml->text.size;
    return xml->text.at;
}

const char *pf_cube_xml_attribute(const struct pf_cube_xml *xml, const char *name)
{
    if (!xml->attributes.size)
        return NULL;
    const char *at = xml->attributes.at, *end = at + xml->attributes.size;
    while (at < end) {
        const char *value = at + strlen(at) + 1;
        if (value >= end)
            return NULL;
        if (!strcmp(at, name))
            return value;
        at = value + strlen(value) + 1;
    }
    return NULL;
}

uint64_t pf_cube_xml_line(const struct pf_cube_xml *xml)
{
    return xml->line;
}

uint64_t pf_cube_xml_offset(const struct pf_cube_xml *xml)
{
    return xml->offset - (xml->have - xml->at);
}

bool pf_cube_xml_cut(const struct pf_cube_xml *xml)
{
    return xml->cut;
}
