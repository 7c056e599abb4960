/* SPDX-License-Identifier: MIT */
#include "formats/xray/yaml_map.h"

#include <stdlib.h>
#include <string.h>

#include "formats/input/linereader.h"

/* Where the reader stands, a character at a time. */
enum place {
    OUTSIDE,    /* between mappings */
    BEFORE_KEY, /* blanks */
    IN_KEY,
    BEFORE_VALUE,
    IN_PLAIN,    /* a value without quotes */
    IN_SINGLE,   /* in '...'; two quotes stand for one */
    AFTER_QUOTE, /* a single quote: the end, or the first of two */
    IN_DOUBLE,   /* in "..." */
    AFTER_SLASH, /* a backslash in "..." */
    IN_CODE,     /* hexadecimal digits after \x, \u or \U */
    AFTER_VALUE, /* blanks */
    DAMAGED,
};

enum { KEY_MAX = 32, HEAD = 4096 };

struct parser {
    struct xray_names *names;
    enum place place;
    bool comment; /* the rest of the line is one */
    bool leading; /* nothing but blanks on this line so far */
    bool blank;   /* the character before was a blank, or there was none on this line */
    int64_t line;
    const char *damage;

    char key[KEY_MAX];
    size_t key_size; /* may exceed what is kept */
    char *value;     /* owned; XRAY_SYMBOL_MAX bytes */
    size_t value_size;
    uint32_t code;        /* the character that an escape stands for */
    unsigned code_digits; /* still to come */

    /* The mapping being read. */
    uint32_t id; /* 0: not told */
    uint64_t address;
    char *symbol; /* owned; XRAY_SYMBOL_MAX bytes */
    size_t symbol_size;
};

static void damage(struct parser *parser, const char *what)
{
    parser->place = DAMAGED;
    parser->damage = what;
}

/* ---- values ------------------------------------------------------------------------------------- */

/* Beyond the room a name is cut. */
static void put(struct parser *parser, char c)
{
    if (parser->value_size < XRAY_SYMBOL_MAX)
        parser->value[parser->value_size++] = c;
}

/* A character as UTF-8; what is none is left out. */
static void put_code(struct parser *parser, uint32_t code)
{
    if (code < 0x80) {
        put(parser, (char)code);
    } else if (code < 0x800) {
        put(parser, (char)(0xc0 | code >> 6));
        put(parser, (char)(0x80 | (code & 63)));
    } else if (code < 0x10000) {
        put(parser, (char)(0xe0 | code >> 12));
        put(parser, (char)(0x80 | (code >> 6 & 63)));
        put(parser, (char)(0x80 | (code & 63)));
    } else if (code < 0x110000) {
        put(parser, (char)(0xf0 | code >> 18));
        put(parser, (char)(0x80 | (code >> 12 & 63)));
        put(parser, (char)(0x80 | (code >> 6 & 63)));
        put(parser, (char)(0x80 | (code & 63)));
    }
}

static int hex_digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    c |= 0x20;
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* A number in decimal, or in hexadecimal after 0x; false if it is none or does not fit. */
static bool parse_number(const char *text, size_t size, uint64_t *number)
{
    unsigned base = 10;
    *number = 0;
    if (size > 2 && text[0] == '0' && (text[1] | 0x20) == 'x') {
        base = 16;
        text += 2;
        size -= 2;
    }
    for (size_t i = 0; i < size; i++) {
        int digit = hex_digit(text[i]);
        if (digit < 0 || digit >= (int)base || __builtin_mul_overflow(*number, base, number) ||
            __builtin_add_overflow(*number, (unsigned)digit, number))
            return false;
    }
    return size > 0;
}

static bool key_is(const struct parser *parser, const char *key)
{
    return parser->key_size == strlen(key) && !memcmp(parser->key, key, parser->key_size);
}

static void take_pair(struct parser *parser)
{
    uint64_t number;
    if (key_is(parser, "id")) {
        if (!parse_number(parser->value, parser->value_size, &number) || number < 1 ||
            number > XRAY_MAPPED_MAX)
            damage(parser, "an id that is no function's number");
        else
            parser->id = (uint32_t)number;
    } else if (key_is(parser, "function")) {
        if (!parse_number(parser->value, parser->value_size, &number))
            damage(parser, "a function that is no address");
        else
            parser->address = number;
    } else if (key_is(parser, "function-name")) {
        char *free_room = parser->symbol;
        parser->symbol = parser->value;
        parser->symbol_size = parser->value_size;
        parser->value = free_room;
    }
    parser->value_size = parser->key_size = 0;
}

/* The blanks that a plain value ends with are none of it. */
static void take_plain(struct parser *parser)
{
    while (parser->value_size && parser->value[parser->value_size - 1] == ' ')
        parser->value_size--;
    take_pair(parser);
}

static void begin_mapping(struct parser *parser)
{
    parser->place = BEFORE_KEY;
    parser->id = 0;
    parser->address = XRAY_NO_ADDRESS;
    parser->symbol_size = parser->value_size = parser->key_size = 0;
}

static int end_mapping(struct parser *parser, struct pf_error *error)
{
    if (parser->place == DAMAGED)
        return 0;
    parser->place = OUTSIDE;
    if (!parser->id) {
        damage(parser, "an entry without id");
        return 0;
    }
    return xray_names_add(parser->names, parser->id, parser->address, parser->symbol, parser->symbol_size,
                          error);
}

/* ---- characters --------------------------------------------------------------------------------- */

/* Between mappings: the list's dash, the document's marks, and the brackets of a list in flow style. */
static void take_outside(struct parser *parser, char c)
{
    if (c == '{')
        begin_mapping(parser);
    else if (!strchr(" -.,[]", c))
        damage(parser, "no list of entries in braces");
}

static int take_key(struct parser *parser, char c, struct pf_error *error)
{
    if (c == '}' && parser->place == BEFORE_KEY)
        return end_mapping(parser, error);
    if (c == ':') {
        parser->place = BEFORE_VALUE;
    } else if (strchr(",{}[]", c)) {
        damage(parser, "a key without value");
    } else if (c != ' ') {
        parser->place = IN_KEY;
        if (parser->key_size < KEY_MAX)
            parser->key[parser->key_size] = c;
        parser->key_size++;
    }
    return 0;
}

/* Outside quotes, at or after a value. */
static int take_value(struct parser *parser, char c, struct pf_error *error)
{
    bool quoted = parser->place == AFTER_VALUE;
    if (c == ',' || c == '}') {
        parser->place = BEFORE_KEY;
        quoted ? take_pair(parser) : take_plain(parser);
        return c == '}' ? end_mapping(parser, error) : 0;
    }
    if (c == ' ' && parser->place != IN_PLAIN)
        return 0;
    if (quoted || strchr("{[]", c)) {
        damage(parser, "a value of another kind");
    } else if ((c == '\'' || c == '"') && parser->place == BEFORE_VALUE) {
        parser->place = c == '"' ? IN_DOUBLE : IN_SINGLE;
    } else {
        parser->place = IN_PLAIN;
        put(parser, c);
    }
    return 0;
}

static int take_single(struct parser *parser, char c, struct pf_error *error)
{
    if (parser->place == IN_SINGLE && c == '\'') {
        parser->place = AFTER_QUOTE;
    } else if (parser->place == AFTER_QUOTE && c != '\'') {
        parser->place = AFTER_VALUE;
        return take_value(parser, c, error);
    } else {
        parser->place = IN_SINGLE;
        put(parser, c);
    }
    return 0;
}

static void take_escape(struct parser *parser, char c)
{
    static const char letters[] = "0abtnvfre", meant[] = "\0\a\b\t\n\v\f\r\033";
    const char *letter = c ? strchr(letters, c) : NULL;
    parser->place = IN_DOUBLE;
    parser->code = 0;
    parser->code_digits = c == 'x' ? 2 : c == 'u' ? 4 : c == 'U' ? 8 : 0;
    if (parser->code_digits)
        parser->place = IN_CODE;
    else
        put(parser, letter ? meant[letter - letters] : c);
}

static void take_code(struct parser *parser, char c)
{
    int digit = hex_digit(c);
    if (digit < 0) {
        damage(parser, "an escape without its digits");
        return;
    }
    parser->code = parser->code << 4 | (unsigned)digit;
    if (--parser->code_digits)
        return;
    put_code(parser, parser->code);
    parser->place = IN_DOUBLE;
}

static void take_double(struct parser *parser, char c)
{
    if (c == '"')
        parser->place = AFTER_VALUE;
    else if (c == '\\')
        parser->place = AFTER_SLASH;
    else
        put(parser, c);
}

static int take(struct parser *parser, char c, struct pf_error *error)
{
    switch (parser->place) {
    case OUTSIDE:
        take_outside(parser, c);
        return 0;
    case BEFORE_KEY:
    case IN_KEY:
        return take_key(parser, c, error);
    case BEFORE_VALUE:
    case IN_PLAIN:
    case AFTER_VALUE:
        return take_value(parser, c, error);
    case IN_SINGLE:
    case AFTER_QUOTE:
        return take_single(parser, c, error);
    case IN_DOUBLE:
        take_double(parser, c);
        return 0;
    case AFTER_SLASH:
        take_escape(parser, c);
        return 0;
    case IN_CODE:
        take_code(parser, c);
        return 0;
    case DAMAGED:
        break;
    }
    return 0;
}

static bool in_quotes(const struct parser *parser)
{
    return parser->place >= IN_SINGLE && parser->place <= IN_CODE && parser->place != AFTER_QUOTE;
}

/*
 * A piece of a line. Tabs are blanks, and a number sign after a blank starts a comment; not so in quotes. The
 * end of a line and the blanks that the next begins with are one blank, also in quotes.
 */
static int take_piece(struct parser *parser, const struct pf_line *line, struct pf_error *error)
{
    parser->line = (int64_t)line->number;
    if (!line->continued) {
        parser->comment = false;
        parser->blank = parser->leading = true;
    }
    for (size_t i = 0; i < line->size && !parser->comment && parser->place != DAMAGED; i++) {
        char c = line->text[i];
        bool quoted = in_quotes(parser);
        parser->comment = c == '#' && parser->blank && !quoted;
        parser->blank = c == ' ' || c == '\t';
        parser->leading &= parser->blank;
        if (parser->leading)
            continue;
        if (c == '\t' && !quoted)
            c = ' ';
        if (!c && !quoted)
            damage(parser, "a zero byte");
        else if (!parser->comment && take(parser, c, error))
            return -1;
    }
    return line->more ? 0 : take(parser, ' ', error);
}

/* ---- files -------------------------------------------------------------------------------------- */

static int read_lines(struct parser *parser, struct pf_linereader *reader, uint64_t size,
                      struct pf_pass *pass, struct pf_error *error)
{
    struct pf_line line;
    int more = 0;
    uint64_t lines = 0;
    while (parser->place != DAMAGED && xray_names_have_room(parser->names) &&
           (more = pf_linereader_next(reader, &line, error)) > 0) {
        if (take_piece(parser, &line, error) ||
            (lines++ % 256 == 0 && pf_pass_step(pass, line.offset, size, error)))
            return -1;
    }
    if (more < 0)
        return -1;
    if (!more && parser->place != OUTSIDE && parser->place != DAMAGED)
        damage(parser, "the file ends inside an entry");
    if (parser->place == DAMAGED)
        xray_names_problem(parser->names, parser->line, "%s; the rest is not read", parser->damage);
    return 0;
}

int xray_yaml_map_read(struct xray_names *names, struct pf_input *input, struct pf_pass *pass,
                       struct pf_error *error)
{
    struct parser parser = {
        .names = names, .value = malloc(XRAY_SYMBOL_MAX), .symbol = malloc(XRAY_SYMBOL_MAX)};
    struct pf_linereader *reader = pf_linereader_new(input);
    int failed = -1;
    if (!parser.value || !parser.symbol || !reader)
        pf_fail_memory(error);
    else
        failed = read_lines(&parser, reader, pf_input_size(input), pass, error);
    pf_linereader_free(reader);
    free(parser.value);
    free(parser.symbol);
    return failed;
}

/* The first mapping of the head's text, past comments and the list's dash; NULL if there is none. */
static const char *first_mapping(const char *head)
{
    for (const char *at = head; *at; at++) {
        if (*at == '#' && (at = strchr(at, '\n')) == NULL)
            return NULL;
        if (*at == '{')
            return at + 1;
        if (!strchr(" \t\r\n-[", *at))
            return NULL;
    }
    return NULL;
}

int xray_yaml_is_map(struct pf_input *input, bool *is, struct pf_error *error)
{
    char head[HEAD + 1];
    ssize_t got = pf_input_read(input, head, HEAD, 0, error);
    if (got < 0)
        return -1;
    head[got] = 0;
    const char *mapping = first_mapping(head);
    const char *end = mapping ? strchrnul(mapping, '}') : NULL;
    const char *id = mapping ? strstr(mapping, "id:") : NULL;
    const char *function = mapping ? strstr(mapping, "function:") : NULL;
    *is = id && function && id < end && function < end;
    return 0;
}
