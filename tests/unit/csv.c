/* SPDX-License-Identifier: MIT */
#include "fs/text/csv.h"

#include "tests/unit/tap.h"

/* Checks that the cell prints as `want`, and that its precomputed size is right. */
static void cell(struct pf_cell cell, const char *want, const char *name)
{
    struct pf_buf out = {0};
    pf_buf_str(&out, "<");
    pf_csv_cell(&out, &cell);
    ok(pf_csv_cell_size(&cell) == strlen(want), "%s: the size is exact", name);
    ok(out.size == 1 + strlen(want) && !memcmp(out.data + 1, want, out.size - 1), "%s: prints as %s", name,
       want);
    pf_buf_free(&out);
}

static bool is_ascii(const char *bytes, size_t size)
{
    while (size && (unsigned char)bytes[size - 1] < 0x80)
        size--;
    return !size;
}

static void text(const char *bytes, size_t size, const char *want, const char *name)
{
    bool same = size == strlen(want) && !memcmp(bytes, want, size);
    cell(pf_text(bytes, size), want, name);
    ok(pf_text_is_plain(bytes, size) == (same && is_ascii(bytes, size)), "%s: plain text is recognised",
       name);
    struct pf_cell marked = pf_text(bytes, size);
    pf_cell_mark(&marked);
    ok(marked.quoted == (strlen(want) == size + 2 && *want == '"' && !memcmp(bytes, want + 1, size)),
       "%s: text that only needs quotes is recognised", name);
    cell(marked, want, name);
}

static void string(const char *bytes, const char *want, const char *name)
{
    text(bytes, strlen(bytes), want, name);
}

static void folders(void)
{
    struct pf_buf out = {0};
    const char path[] = "App\\F/say\"x\"/a";
    pf_csv_dir(&out, path, strlen(path));
    pf_buf_char(&out, 0);
    is(out.data, "\"App\\F/say\"\"x\"\"/a\"", "a folder is named by the unescaped text, so that it is found by the cell's text");
    pf_buf_free(&out);
}

static void numbers(void)
{
    pf_int128 wide = (pf_int128)INT64_MAX + 1;
    cell(pf_absent(), "", "an absent cell");
    cell(pf_int(-42), "-42", "an integer");
    cell(pf_uint(UINT64_MAX), "18446744073709551615", "an unsigned integer");
    cell(pf_wide(&wide), "9223372036854775808", "a wide integer");
    cell(pf_double(0.1), "0.1", "a double");
    cell(pf_double(1e300), "1e+300", "a double with exponent");
}

static void texts(void)
{
    text("", 0, "", "empty text");
    string("main", "main", "a word");
    string("a b;c'd", "a b;c'd", "blanks and other punctuation");
    string("std::map<int, int>", "\"std::map<int, int>\"", "a comma");
    string("operator\"\" _s", "\"operator\"\"\"\" _s\"", "quotes");
    string("a\nb\rc\td", "a\\nb\\rc\\td", "line breaks and tabs");
    string("C:\\x", "C:\\\\x", "a backslash");
    string("\x01\x1f\x7f", "\\x01\\x1F\\x7F", "control characters");
    text("a\0b", 3, "a\\x00b", "a NUL");
    string("a,\n\"\\", "\"a,\\n\"\"\\\\\"", "all of them in one cell");
    string("\xc3\xa4\xe2\x82\xac", "\xc3\xa4\xe2\x82\xac", "UTF-8");
    string("a\xff/\xc3\xa4/\xe2\x82", "a\\xFF/\xc3\xa4/\\xE2\\x82", "a path of any bytes");
    string("\xff\x80 not UTF-8", "\\xFF\\x80 not UTF-8", "bytes that are not UTF-8");
    string("caf\xc3\xa9\xc3, \"", "\"caf\xc3\xa9\\xC3, \"\"\"", "an incomplete character between others");
    cell(pf_plain("0x1f", 4), "0x1f", "text known to be plain");
}

/* The lookup table and the code that tests eight bytes at once must classify every byte alike. */
static void any_byte_at_any_place(void)
{
    bool agrees = true;
    for (unsigned byte = 0; byte < 256; byte++)
        for (size_t place = 0; place < 20; place++) {
            char bytes[20];
            memset(bytes, ' ', sizeof bytes);
            bytes[place] = (char)byte;
            bool special = byte < 0x20 || byte >= 0x7f || byte == ',' || byte == '"' || byte == '\\';
            struct pf_cell found = pf_text(bytes, sizeof bytes);
            agrees &= pf_text_is_plain(bytes, sizeof bytes) == !special;
            agrees &= (pf_csv_cell_size(&found) > sizeof bytes) == special;
        }
    ok(agrees, "every byte at every offset of a text is recognised");
}

static void out_of_memory_is_remembered(void)
{
    struct pf_buf out = {.failed = true};
    struct pf_cell cells[] = {pf_int(1), pf_text("a", 1), pf_text(",", 1)};
    for (size_t i = 0; i < sizeof cells / sizeof *cells; i++)
        pf_csv_cell(&out, &cells[i]);
    ok(out.failed && out.size == 0, "a failed buffer is unchanged");
}

int main(void)
{
    folders();
    numbers();
    texts();
    any_byte_at_any_place();
    out_of_memory_is_remembered();
    return done();
}
