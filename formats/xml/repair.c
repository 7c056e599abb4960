/* SPDX-License-Identifier: MIT */
#include "formats/xml/repair.h"

#include <ctype.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "formats/kit/array.h"
#include "formats/kit/number.h"
#include "formats/kit/utf8.h"

enum {
    MARKUP_MAX = 1 << 20,   /* maximum size of a tag or a comment in bytes */
    OPEN_MAX = 1 << 24,     /* maximum size of the names of all open elements in bytes */
    ATTRIBUTES_MAX = 256,   /* maximum number per tag, since libxml2 compares all pairs of names */
    REFERENCE_MAX = 11,     /* maximum size of a numeric reference such as &#x10FFFF; in bytes */
    TEXT_PIECE = 256 << 10, /* text of this many bytes is passed on before its end has been fed */
    PIECE = 4 << 10         /* minimum bytes of output, since libxml2 moves its buffer every few tags */
};

void pf_xml_reserve(struct pf_xml_bytes *bytes, size_t size)
{
    struct pf_error error;
    bytes->failed |= pf_array_grow(&bytes->bytes, &bytes->room, bytes->size + size, 1, &error) != 0;
}

static void give(struct pf_repair *repair, const char *bytes, size_t size)
{
    pf_xml_append(&repair->repaired, bytes, size);
}

static void give_string(struct pf_repair *repair, const char *string)
{
    give(repair, string, strlen(string));
}

static void give_reference(struct pf_repair *repair, unsigned long c)
{
    char text[16];
    snprintf(text, sizeof text, "&#%lu;", c);
    give_string(repair, text);
}

/* Writes as many newlines as these bytes have, which keeps line numbers right. */
static void give_newlines(struct pf_repair *repair, const char *bytes, size_t size)
{
    const char *end = bytes + size;
    for (const char *at = bytes; at < end && (at = memchr(at, '\n', (size_t)(end - at))); at++)
        give_string(repair, "\n");
}

/* Replaces removed markup by a comment of the same number of lines. */
static void give_lines_as_comment(struct pf_repair *repair, const char *bytes, size_t size)
{
    if (!memchr(bytes, '\n', size))
        return;
    give_string(repair, "<!--");
    give_newlines(repair, bytes, size);
    give_string(repair, "-->");
}

static void give_damage(struct pf_repair *repair, bool lost)
{
    give_string(repair, lost ? "<?damage lost?>" : "<?damage?>");
}

/* ---- characters --------------------------------------------------------------------------------- */

/*
 * Sets of ASCII characters. `in_text` and `in_value` have those that need no repair in text and in double-quoted
 * values.
 */
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

enum repair_kind { TEXT, VALUE, DATA };

static inline bool is_in(const struct set *set, char c)
{
    return set->bits[(unsigned char)c >> 6] >> ((unsigned char)c & 63) & 1;
}

/* Returns the index of the first character from `at` on that is not in the set; `size` if all are. */
static inline size_t repair_skip(const struct set *set, const char *bytes, size_t size, size_t at)
{
    while (at < size && is_in(set, bytes[at]))
        at++;
    return at;
}

static bool begins_name(char c)
{
    return c == '_' || isalpha((unsigned char)c);
}

static bool is_quote(char c)
{
    return c == '"' || c == '\'';
}

/* XML 1.0 excludes most control characters, surrogates, U+FFFE and U+FFFF. */
static bool is_character(unsigned long c)
{
    return c == 9 || c == 10 || c == 13 || (c >= 0x20 && c < 0xd800) || (c >= 0xe000 && c < 0xfffe) ||
           (c >= 0x10000 && c < 0x110000);
}

/* Returns the length of a reference (`&lt;`, `&#60;`) at the start of the text, or 0. Sets *c to its character. */
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
    struct pf_slice rest = pf_slice(text, size < REFERENCE_MAX ? size : REFERENCE_MAX);
    pf_int128 code;
    bool numeric = pf_take(&rest, "&#"), hexadecimal = pf_take(&rest, "x");
    if (!numeric || !pf_take_base(&rest, hexadecimal ? 16 : 10, &code) || !pf_take(&rest, ";"))
        return 0;
    *c = (unsigned long)code;
    return is_character(*c) ? (size_t)(rest.at - text) : 0;
}

/* Returns the length of a valid XML character beyond ASCII, or 0. */
static size_t long_character(const char *text, size_t size)
{
    size_t wrong, length = pf_utf8((const unsigned char *)text, size, &wrong);
    bool none = length == 3 && !memcmp(text, "\xef\xbf", 2) && (unsigned char)text[2] >= 0xbe;
    return none ? 0 : length;
}

/* Repairs the character or reference at the start of the text. Returns its size in the text, in bytes. */
static size_t mend_character(struct pf_repair *repair, const char *text, size_t size, enum repair_kind kind)
{
    unsigned char c = (unsigned char)*text;
    unsigned long referred;
    size_t length = c == '&' && kind != DATA ? reference(text, size, &referred) : 0;
    if (length) {
        give_reference(repair, referred);
        return length;
    }
    if (c >= 0x80 && (length = long_character(text, size))) {
        give(repair, text, length);
        return length;
    }
    if (kind == VALUE && c == '\\' && size > 1 && text[1] == '"') {
        give_reference(repair, '"');
        return 2;
    }
    if (kind != VALUE && c == '\r') { /* a newline, alone or with the '\n' that follows */
        if (size == 1 || text[1] != '\n')
            give_reference(repair, '\n');
    } else if (c >= 0x7f || !is_character(c)) {
        give_string(repair, "\xef\xbf\xbd");
    } else if (c == '\\') {
        give(repair, text, 1);
    } else {
        give_reference(repair, c);
    }
    return 1;
}

static void repair_fix(struct pf_repair *repair, const char *text, size_t size, enum repair_kind kind)
{
    const struct set *sound = kind == VALUE ? &in_value : &in_text;
    for (size_t at = 0; at < size;) {
        size_t plain = repair_skip(sound, text, size, at);
        give(repair, text + at, plain - at);
        at = plain < size ? plain + mend_character(repair, text + plain, size - plain, kind) : size;
    }
}

/* ---- open elements ------------------------------------------------------------------------------- */

static void open_element(struct pf_repair *repair, const char *name, size_t size)
{
    pf_xml_append(&repair->open, name, size);
    pf_xml_append(&repair->open, "", 1);
    repair->depth += !repair->open.failed;
    repair->refused |= repair->open.size > OPEN_MAX;
}

static const char *innermost(const struct pf_repair *repair)
{
    const char *name = repair->open.bytes + repair->open.size - 1; /* its NUL */
    while (name > repair->open.bytes && name[-1])
        name--;
    return name;
}

static void close_element(struct pf_repair *repair)
{
    repair->open.size = (size_t)(innermost(repair) - repair->open.bytes);
    repair->depth--;
}

/* ---- tags --------------------------------------------------------------------------------------- */

/* A tag from its `<` to its `>`. */
struct tag {
    const char *bytes;
    size_t size;
};

static size_t repair_skip_blanks(const struct tag *tag, size_t at)
{
    return repair_skip(&blank, tag->bytes, tag->size, at);
}

static size_t skip_name(const struct tag *tag, size_t at)
{
    return repair_skip(&in_name, tag->bytes, tag->size, at);
}

static bool ends_at(const struct tag *tag, size_t at)
{
    return tag->bytes[at] == '>' || (tag->bytes[at] == '/' && tag->bytes[at + 1] == '>');
}

/*
 * True if the quote at `at` counts as part of the value. A backslash must precede it, and what follows it, after any
 * blanks, must be neither the end of the tag nor another attribute.
 */
static bool quote_is_text(const struct tag *tag, size_t at)
{
    if (tag->bytes[at] != '"' || tag->bytes[at - 1] != '\\')
        return false;
    size_t next = repair_skip_blanks(tag, at + 1), end = skip_name(tag, next);
    if (next + 1 >= tag->size || ends_at(tag, next))
        return false;
    return !(end > next && end + 1 < tag->size && tag->bytes[end] == '=' && tag->bytes[end + 1] == '"');
}

/* Returns the index of the closing quote of the value whose opening quote is at `open`. */
static size_t skip_value(const struct tag *tag, size_t open)
{
    size_t at = open + 1;
    while (at < tag->size && (tag->bytes[at] != tag->bytes[open] || quote_is_text(tag, at)))
        at++;
    return at;
}

/* Returns the size of the tag at the start of the text; 0 if the tag's end has not been fed. */
static size_t tag_size(const char *bytes, size_t size)
{
    const struct tag rest = {bytes, size};
    for (size_t at = 1; at < size; at++) {
        if (bytes[at] == '>')
            return at + 1;
        if (is_quote(bytes[at]) && bytes[1] != '/')
            at = skip_value(&rest, at);
    }
    return 0;
}

/* Repairs the attribute NAME="VALUE" at index `at`. Returns the index of its end; 0 if no attribute is there. */
static size_t mend_attribute(struct pf_repair *repair, const struct tag *tag, size_t at)
{
    size_t end = skip_name(tag, at), equals = repair_skip_blanks(tag, end);
    if (!begins_name(tag->bytes[at]) || tag->bytes[equals] != '=')
        return 0;
    size_t open = repair_skip_blanks(tag, equals + 1), close = open;
    bool quoted = is_quote(tag->bytes[open]);
    if (quoted)
        close = skip_value(tag, open);
    else /* Cube writes some values without quotes */
        while (!is_in(&blank, tag->bytes[close]) && !ends_at(tag, close))
            close++;
    if (close >= tag->size)
        return 0;
    give_string(repair, " ");
    give(repair, tag->bytes + at, end - at);
    give_string(repair, "=\"");
    repair_fix(repair, tag->bytes + open + quoted, close - open - quoted, VALUE);
    give_string(repair, "\"");
    return close + quoted;
}

/* Repairs an opening tag up to its `>` or `/`, whose index is stored in *end. Returns false if a part of the tag was left out. */
static bool mend_opening(struct pf_repair *repair, const struct tag *tag, size_t *end)
{
    size_t at = skip_name(tag, 1);
    bool sound = is_in(&blank, tag->bytes[at]) || tag->bytes[at] == '/' || tag->bytes[at] == '>';
    give(repair, tag->bytes, at);
    for (int n = 0; at = repair_skip_blanks(tag, at), tag->bytes[at] != '>' && tag->bytes[at] != '/'; n++) {
        size_t next = n < ATTRIBUTES_MAX ? mend_attribute(repair, tag, at) : 0;
        sound &= next != 0;
        if (!next) /* skip to where the next attribute may begin */
            for (next = at + 1; !is_in(&blank, tag->bytes[next]) && !ends_at(tag, next);)
                next++;
        at = next;
    }
    *end = at;
    return sound;
}

static void take_opening(struct pf_repair *repair, const struct tag *tag)
{
    size_t before = repair->repaired.size, end;
    if (!mend_opening(repair, tag, &end)) { /* damage may have merged two tags */
        repair->repaired.size = before;
        give_damage(repair, true);
        (void)mend_opening(repair, tag, &end);
    }
    bool empty = tag->bytes[end] == '/';
    give_newlines(repair, tag->bytes, tag->size);
    give_string(repair, empty ? "/>" : ">");
    if (!empty)
        open_element(repair, tag->bytes + 1, skip_name(tag, 1) - 1);
}

static void take_closing(struct pf_repair *repair, const struct tag *tag)
{
    if (repair->depth) {
        give_string(repair, "</");
        give_string(repair, innermost(repair));
        give_newlines(repair, tag->bytes, tag->size);
        give_string(repair, ">");
        close_element(repair);
    } else {
        give_lines_as_comment(repair, tag->bytes, tag->size);
        give_damage(repair, false);
    }
}

/* ---- parts of the file: each function returns the bytes it consumed, 0 if more input is needed ---------- */

/* Handles a `<` that no name follows. It begins a closing tag whose slash is damaged, or is text. */
static size_t take_no_tag(struct pf_repair *repair, const char *bytes, size_t size)
{
    bool closing = bytes[1] != '<' && bytes[1] != '>' && !is_quote(bytes[1]);
    size_t end = closing ? repair_skip(&in_name, bytes, size, 2) : 0;
    if (end == size)
        return 0;
    closing = end > 2 && bytes[end] == '>';
    give_damage(repair, !closing);
    if (closing)
        take_closing(repair, &(struct tag){bytes, end + 1});
    else
        give_reference(repair, '<');
    return closing ? end + 1 : 1;
}

static size_t take_tag(struct pf_repair *repair, const char *bytes, size_t size)
{
    if (bytes[1] != '/' && !begins_name(bytes[1]))
        return take_no_tag(repair, bytes, size);
    const struct tag tag = {bytes, tag_size(bytes, size)};
    if (tag.size && bytes[1] == '/')
        take_closing(repair, &tag);
    else if (tag.size)
        take_opening(repair, &tag);
    return tag.size;
}

/* Returns the index after the first occurrence of the string `end` from `from` on; 0 if `end` has not been fed. */
static size_t repair_find_end(const char *bytes, size_t size, size_t from, const char *end)
{
    const char *found = from < size ? memmem(bytes + from, size - from, end, strlen(end)) : NULL;
    return found ? (size_t)(found - bytes) + strlen(end) : 0;
}

static size_t take_markup(struct pf_repair *repair, const char *bytes, size_t size)
{
    enum { SECTION, DECLARATION = 3 };
    static const struct {
        const char *begin, *end;
    } kinds[] = {
        [SECTION] = {"<![CDATA[", "]]>"}, {"<!--", "-->"}, {"<?", "?>"}, [DECLARATION] = {"<!", ">"}};
    if (size < 2)
        return 0;
    if (is_in(&blank, bytes[1]) || bytes[1] == '=') { /* an unescaped `<` in text */
        repair_fix(repair, bytes, 2, TEXT);
        return 2;
    }
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        size_t begin = strlen(kinds[i].begin);
        if (size < begin || memcmp(bytes, kinds[i].begin, begin) != 0)
            continue;
        size_t used = repair_find_end(bytes, size, begin, kinds[i].end);
        if (i == DECLARATION && used && memchr(bytes, '[', used)) /* a DTD with an internal subset */
            used = repair_find_end(bytes, size, begin, "]>");
        if (used && i == SECTION)
            repair_fix(repair, bytes + begin, used - begin - strlen(kinds[i].end), DATA);
        else if (used)
            give_lines_as_comment(repair, bytes, used);
        return used;
    }
    return take_tag(repair, bytes, size);
}

/* Repairs the text up to the next `<`. Returns the text's size; 0 if the text's end has not been fed. */
static size_t repair_read_text(struct pf_repair *repair, const char *bytes, size_t size)
{
    const char *open = memchr(bytes, '<', size);
    if (!open && size < TEXT_PIECE)
        return 0;
    size = open ? (size_t)(open - bytes) : size;
    repair_fix(repair, bytes, size, TEXT);
    return size;
}

/* ---- fast path: text and tags that need no repair --------------------------------------------------- */

/*
 * If the text begins with a complete tag that needs no repair, opens or closes the tag's element and returns the tag's
 * size; otherwise returns 0.
 */
static size_t sound_tag(struct pf_repair *repair, const char *bytes, size_t size)
{
    bool closing = size > 2 && bytes[1] == '/';
    size_t name = 1 + (size_t)closing, end = repair_skip(&in_name, bytes, size, name), at = end;
    if (at == name || !begins_name(bytes[name]) || (closing && !repair->depth))
        return 0;
    for (int n = 0; !closing && at < size && is_in(&blank, bytes[at]); n++) {
        at = repair_skip(&blank, bytes, size, at);
        if (at == size || !begins_name(bytes[at]))
            break;
        size_t equals = repair_skip(&in_name, bytes, size, at);
        if (n == ATTRIBUTES_MAX || equals + 1 >= size || bytes[equals] != '=' || bytes[equals + 1] != '"')
            return 0;
        at = repair_skip(&in_value, bytes, size, equals + 2);
        if (at == size || bytes[at++] != '"')
            return 0;
    }
    bool empty = !closing && at < size && bytes[at] == '/';
    at += empty;
    if (at >= size || bytes[at] != '>')
        return 0;
    if (closing) {
        const char *opened = innermost(repair);
        if (strncmp(opened, bytes + name, end - name) != 0 || opened[end - name])
            return 0;
        close_element(repair);
    } else if (!empty) {
        open_element(repair, bytes + 1, end - 1);
    }
    return at + 1;
}

/* Reads the text and complete tags, at the start of the input, that need no repair. Returns their size. */
static size_t take_sound(struct pf_repair *repair, const char *bytes, size_t size)
{
    size_t used = 0, text, tag;
    do {
        text = repair_skip(&in_text, bytes, size, used);
        if (text == size || bytes[text] != '<')
            break;
        tag = sound_tag(repair, bytes + text, size - text);
        used = text + tag;
    } while (tag && used < PIECE);
    return used;
}

/* ---- the whole ---------------------------------------------------------------------------------- */

void pf_repair_add(struct pf_repair *repair, const char *bytes, size_t size)
{
    struct pf_xml_bytes *pending = &repair->pending;
    pending->size -= repair->done;
    if (repair->done && pending->size)
        memmove(pending->bytes, pending->bytes + repair->done, pending->size);
    repair->done = 0;
    pf_xml_append(pending, bytes, size);
}

/* Repairs one part of the input. Returns the part's size; 0 if the part's end has not been fed. */
static size_t repair_part(struct pf_repair *repair, const char *bytes, size_t size, bool last)
{
    if (size < repair->wanted && !last)
        return 0;
    size_t used = *bytes == '<' ? take_markup(repair, bytes, size) : repair_read_text(repair, bytes, size);
    /* Waits until the input has doubled, so that scanning takes linear time. */
    repair->wanted = used ? 0 : size < MARKUP_MAX / 2 ? 2 * size : MARKUP_MAX + 1;
    repair->refused |= !used && size > MARKUP_MAX;
    return used;
}

size_t pf_repair_next(struct pf_repair *repair, bool last, const char **xml)
{
    size_t used = 1;
    repair->repaired.size = 0;
    while (used && repair->repaired.size < PIECE && repair->done < repair->pending.size && !repair->refused &&
           !pf_repair_no_memory(repair)) {
        const char *bytes = repair->pending.bytes + repair->done;
        size_t size = repair->pending.size - repair->done;
        size_t sound = repair->wanted ? 0 : take_sound(repair, bytes, size);
        used = sound ? sound : repair_part(repair, bytes, size, last);
        repair->done += used;
        if (sound && !repair->repaired.size) {
            *xml = bytes;
            return sound;
        }
        if (sound)
            give(repair, bytes, sound);
    }
    *xml = repair->repaired.bytes;
    return repair->repaired.size;
}

bool pf_repair_no_memory(const struct pf_repair *repair)
{
    return repair->pending.failed || repair->repaired.failed || repair->open.failed;
}

bool pf_repair_is_cut(const struct pf_repair *repair)
{
    bool in_markup = repair->done < repair->pending.size && repair->pending.bytes[repair->done] == '<';
    return in_markup || repair->depth;
}

void pf_repair_free(struct pf_repair *repair)
{
    free(repair->pending.bytes);
    free(repair->repaired.bytes);
    free(repair->open.bytes);
}
