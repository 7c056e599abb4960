/* SPDX-License-Identifier: MIT */
#include "formats/xml.h"

#include <stdlib.h>
#include <string.h>

enum {
    WINDOW = 64 * 1024,
    TEXT_MAX = 256 * 1024,
    ATTRIBUTES_MAX = 64, /* of an element; more are left out */
    ENTITY_MAX = 10,     /* bytes between & and ; */
    AHEAD_MAX = 256,     /* bytes that are looked at before they are read */
};

/* A text that grows up to a limit; what goes beyond is dropped. */
struct text {
    char *at;
    size_t size, room;
};

struct pf_xml {
    pf_xml_read *read;
    void *arg;
    uint64_t offset; /* in the text, of what follows the window */
    size_t at, have; /* in the window */
    uint64_t line, tag_line;
    struct text name, attributes, text; /* attributes: NAME NUL VALUE NUL, again and again */
    struct place {
        uint32_t name, value; /* where they begin among these */
    } places[ATTRIBUTES_MAX];
    size_t n_places;
    bool empty;  /* the element that has begun ends at once */
    bool closed; /* the last event was a close: its text is used up */
    bool cut;
    bool failed;
    struct pf_error error;
    unsigned char window[WINDOW];
};

struct pf_xml *pf_xml_new(pf_xml_read *read, void *arg)
{
    struct pf_xml *xml = malloc(sizeof *xml);
    if (!xml)
        return NULL;
    memset(xml, 0, offsetof(struct pf_xml, window));
    xml->read = read;
    xml->arg = arg;
    xml->line = xml->tag_line = 1;
    return xml;
}

void pf_xml_free(struct pf_xml *xml)
{
    if (!xml)
        return;
    free(xml->name.at);
    free(xml->attributes.at);
    free(xml->text.at);
    free(xml);
}

/* ---- bytes -------------------------------------------------------------------------------------- */

/* Makes what is left of the window its start, and reads behind it. False: nothing follows. */
static bool fill(struct pf_xml *xml)
{
    size_t left = xml->have - xml->at;
    if (xml->failed)
        return false;
    memmove(xml->window, xml->window + xml->at, left);
    ssize_t got = xml->read(xml->arg, xml->window + left, WINDOW - left, xml->offset, &xml->error);
    xml->failed = got < 0;
    xml->at = 0;
    xml->have = left + (got > 0 ? (size_t)got : 0);
    xml->offset += xml->have - left;
    return got > 0;
}

/* The next byte, -1 at the end. */
static inline int get(struct pf_xml *xml)
{
    if (xml->at == xml->have && !fill(xml))
        return -1;
    int c = xml->window[xml->at++];
    xml->line += c == '\n';
    return c;
}

/* Takes back the byte that was got last. */
static inline void unget(struct pf_xml *xml, int c)
{
    if (c < 0)
        return;
    xml->at--;
    xml->line -= c == '\n';
}

/* The bytes that follow, at least AHEAD_MAX of them if there are as many. No byte may be taken back after that. */
static const unsigned char *look_ahead(struct pf_xml *xml, size_t *have)
{
    if (xml->have - xml->at < AHEAD_MAX)
        fill(xml);
    *have = xml->have - xml->at;
    return xml->window + xml->at;
}

static bool grow(struct pf_xml *xml, struct text *text)
{
    size_t room = text->room ? text->room * 2 : 256;
    char *grown = realloc(text->at, room);
    if (!grown) {
        xml->failed = true;
        pf_fail_memory(&xml->error);
        return false;
    }
    text->at = grown;
    text->room = room;
    return true;
}

static bool is_full(const struct text *text)
{
    return text->size + 1 >= TEXT_MAX;
}

/* One byte more than `size` is always there, for the NUL. */
static inline void put(struct pf_xml *xml, struct text *text, int c)
{
    if (text->size + 1 >= text->room && (is_full(text) || !grow(xml, text)))
        return;
    text->at[text->size++] = (char)c;
}

/* A byte of a name, value or text, of which NUL can be none. */
static inline void put_byte(struct pf_xml *xml, struct text *text, int c)
{
    if (c)
        put(xml, text, c);
}

/* Copies the bytes of the window that stand for themselves, in a value or text that this byte would end. */
static void put_plain(struct pf_xml *xml, struct text *text, int stop)
{
    const unsigned char *bytes = xml->window + xml->at;
    size_t left = xml->have - xml->at, n = 0;
    while (n < left && bytes[n] != stop && bytes[n] != '&' && bytes[n] != '\\' && bytes[n] >= ' ')
        n++;
    xml->at += n;
    if (n > TEXT_MAX - 1 - text->size)
        n = TEXT_MAX - 1 - text->size;
    while (text->size + n >= text->room)
        if (!n || !grow(xml, text))
            return;
    memcpy(text->at + text->size, bytes, n);
    text->size += n;
}

static bool is_space(int c)
{
    return c == ' ' || c == '\n' || c == '\t' || c == '\r';
}

static int get_past_spaces(struct pf_xml *xml)
{
    int c = get(xml);
    while (is_space(c))
        c = get(xml);
    return c;
}

/* ---- character references ----------------------------------------------------------------------- */

static void put_utf8(struct pf_xml *xml, struct text *text, unsigned long code)
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
static bool put_entity(struct pf_xml *xml, struct text *text, const char *name)
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
static void take_entity(struct pf_xml *xml, struct text *text)
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
static int take_name(struct pf_xml *xml, struct text *name, int c)
{
    while (c >= 0 && !is_space(c) && c != '>' && c != '/' && c != '=') {
        put_byte(xml, name, c);
        c = get(xml);
    }
    return c;
}

static bool is_name(int c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
           c == '_' || c == ':' || c == '.';
}

/*
 * Some tools write a quote inside a value as \". A quote behind a backslash is part of the value unless the tag ends
 * behind it or another attribute follows, blanks aside.
 */
static bool quote_is_text(struct pf_xml *xml)
{
    size_t have, at = 0;
    const unsigned char *next = look_ahead(xml, &have);
    while (at < have && is_space(next[at]))
        at++;
    if (at == have || next[at] == '>' || (next[at] == '/' && at + 1 < have && next[at + 1] == '>'))
        return false;
    size_t name = at;
    while (at < have && is_name(next[at]))
        at++;
    return !(at > name && at + 1 < have && next[at] == '=' && next[at + 1] == '"');
}

/* After a backslash in a value. Returns what follows what it stands for. */
static int take_backslash(struct pf_xml *xml, int quote)
{
    int c = get(xml);
    if (c != '"' || quote != '"' || !quote_is_text(xml)) {
        put(xml, &xml->attributes, '\\');
        return c;
    }
    put(xml, &xml->attributes, '"');
    return get(xml);
}

/* A value up to its quote. Returns what follows that, -1 if it does not come. */
static int take_quoted(struct pf_xml *xml, int quote)
{
    int c;
    put_plain(xml, &xml->attributes, quote);
    for (c = get(xml); c >= 0 && c != quote;) {
        if (c == '\\') {
            c = take_backslash(xml, quote);
            continue;
        }
        if (c == '&')
            take_entity(xml, &xml->attributes);
        else
            put_byte(xml, &xml->attributes, c);
        put_plain(xml, &xml->attributes, quote);
        c = get(xml);
    }
    return c < 0 ? c : get(xml);
}

/* A value without quotes, which begins with c. Returns what follows it. */
static int take_bare(struct pf_xml *xml, int c)
{
    size_t start = xml->attributes.size;
    while (c >= 0 && !is_space(c) && c != '>') {
        if (c == '&')
            take_entity(xml, &xml->attributes);
        else
            put_byte(xml, &xml->attributes, c);
        c = get(xml);
    }
    if (c == '>' && xml->attributes.size > start && xml->attributes.at[xml->attributes.size - 1] == '/') {
        xml->attributes.size--; /* <name key=value/> */
        xml->empty = true;
    }
    return c;
}

/* One attribute, whose name begins with c. Returns what follows it. */
static int take_attribute(struct pf_xml *xml, int c)
{
    struct place place = {.name = (uint32_t)xml->attributes.size};
    c = take_name(xml, &xml->attributes, c);
    put(xml, &xml->attributes, 0);
    place.value = (uint32_t)xml->attributes.size;
    while (is_space(c))
        c = get(xml);
    if (c == '=') {
        c = get_past_spaces(xml);
        c = c == '"' || c == '\'' ? take_quoted(xml, c) : take_bare(xml, c);
    }
    put(xml, &xml->attributes, 0);
    if (!is_full(&xml->attributes) && xml->n_places < ATTRIBUTES_MAX)
        xml->places[xml->n_places++] = place;
    else
        xml->attributes.size = place.name; /* no room for all of it: as if it were not there */
    return c;
}

/* Attributes and the end of a tag. */
static void take_attributes(struct pf_xml *xml, int c)
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
        } else {
            c = take_attribute(xml, c);
        }
    }
}

/* Ends a text with a NUL that does not count. */
static void terminate(struct pf_xml *xml, struct text *text)
{
    if (text->room || grow(xml, text))
        text->at[text->size] = 0;
}

static void begin(struct text *text)
{
    text->size = 0;
}

static void start_element(struct pf_xml *xml, int c)
{
    begin(&xml->name);
    begin(&xml->attributes);
    xml->n_places = 0;
    begin(&xml->text);
    take_attributes(xml, take_name(xml, &xml->name, c));
    terminate(xml, &xml->name);
}

static void close_element(struct pf_xml *xml)
{
    begin(&xml->name);
    begin(&xml->attributes);
    xml->n_places = 0;
    int c = take_name(xml, &xml->name, get(xml));
    while (c >= 0 && c != '>')
        c = get(xml);
    xml->cut |= c < 0;
    terminate(xml, &xml->name);
}

/* ---- what is no element ------------------------------------------------------------------------- */

/* Reads up to and with these bytes; what comes before them goes to `into` if that is not NULL. */
static void read_up_to(struct pf_xml *xml, const char *stop, struct text *into)
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

/* True if these bytes follow: they are behind then. */
static bool take_word(struct pf_xml *xml, const char *word)
{
    size_t have, size = strlen(word);
    const unsigned char *next = look_ahead(xml, &have);
    if (have < size || memcmp(next, word, size) != 0)
        return false;
    xml->at += size;
    return true;
}

/* Up to the end of a declaration. A DTD may hold others in brackets, comments and values, each with anything in it. */
static void skip_dtd(struct pf_xml *xml)
{
    size_t brackets = 0;
    for (int c; (c = get(xml)) != '>' || brackets;) {
        if (c == '"')
            read_up_to(xml, "\"", NULL);
        else if (c == '\'')
            read_up_to(xml, "'", NULL);
        else if (c == '<' && take_word(xml, "!--"))
            read_up_to(xml, "-->", NULL);
        else if (c == '[')
            brackets++;
        else if (c == ']' && brackets)
            brackets--;
        if (c < 0)
            xml->cut = true;
        if (xml->cut)
            return;
    }
}

/* After "<!". */
static void skip_declaration(struct pf_xml *xml)
{
    if (take_word(xml, "--"))
        read_up_to(xml, "-->", NULL);
    else if (take_word(xml, "[CDATA["))
        read_up_to(xml, "]]>", &xml->text);
    else
        skip_dtd(xml);
}

/* ---- events ------------------------------------------------------------------------------------- */

/* What a "<" begins; PF_XML_END if no event. */
static enum pf_xml_event take_markup(struct pf_xml *xml)
{
    int c = get(xml);
    if (c == '/') {
        close_element(xml);
        return PF_XML_CLOSE;
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
        return PF_XML_START;
    }
    return PF_XML_END;
}

static enum pf_xml_event next_event(struct pf_xml *xml)
{
    for (int c; (c = get(xml)) >= 0;) {
        if (c == '<') {
            xml->tag_line = xml->line;
            enum pf_xml_event event = take_markup(xml);
            if (event != PF_XML_END)
                return event;
        } else if (c == '&') {
            take_entity(xml, &xml->text);
        } else {
            put_byte(xml, &xml->text, c);
            put_plain(xml, &xml->text, '<');
        }
    }
    xml->tag_line = xml->line;
    return PF_XML_END;
}

enum pf_xml_event pf_xml_next(struct pf_xml *xml, struct pf_error *error)
{
    enum pf_xml_event event = PF_XML_CLOSE;
    if (xml->closed)
        begin(&xml->text);
    xml->closed = false;
    if (xml->empty)
        xml->empty = false;
    else
        event = next_event(xml);
    terminate(xml, &xml->text);
    xml->closed = event == PF_XML_CLOSE;
    if (xml->failed) {
        *error = xml->error;
        return PF_XML_FAILED;
    }
    return xml->cut ? PF_XML_END : event;
}

const char *pf_xml_name(const struct pf_xml *xml)
{
    return xml->name.at;
}

const char *pf_xml_text(const struct pf_xml *xml, size_t *size)
{
    *size = xml->text.size;
    return xml->text.at;
}

const char *pf_xml_attribute(const struct pf_xml *xml, const char *name)
{
    for (size_t i = 0; i < xml->n_places; i++) {
        const char *at = xml->attributes.at + xml->places[i].name;
        if (*at == *name && !strcmp(at, name))
            return xml->attributes.at + xml->places[i].value;
    }
    return NULL;
}

uint64_t pf_xml_line(const struct pf_xml *xml)
{
    return xml->tag_line;
}

uint64_t pf_xml_offset(const struct pf_xml *xml)
{
    return xml->offset - (xml->have - xml->at);
}

bool pf_xml_cut(const struct pf_xml *xml)
{
    return xml->cut;
}
