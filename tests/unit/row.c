/* SPDX-License-Identifier: MIT */
#include "fs/text/row.h"

#include "tests/unit/tap.h"

/* Checks the line that is printed for some columns, and its measured length. */
static void line(const struct pf_cell *cells, const unsigned *columns, size_t n, const char *want,
                 const char *name)
{
    struct pf_buf out = {0};
    pf_row_add(&out, cells, columns, n);
    ok(!out.failed && out.size == strlen(want) && (!out.size || !memcmp(out.data, want, out.size)), "%s",
       name);
    ok(!n || pf_row_measure(cells, columns, n) == strlen(want), "%s: the measured length is exact", name);
    pf_buf_free(&out);
}

/* The way a word is copied depends on its length. */
static void words_of_each_length(void)
{
    static const unsigned all[] = {0, 1};
    char word[61], want[80];
    bool right = true;
    for (size_t size = 0; size < sizeof word; size++) {
        for (size_t i = 0; i < size; i++)
            word[i] = (char)('A' + i);
        struct pf_cell cells[] = {pf_plain(word, size), pf_uint(1)};
        struct pf_buf out = {0};
        int length = snprintf(want, sizeof want, "%.*s,1\n", (int)size, word);
        pf_row_add(&out, cells, all, 2);
        right &= out.size == (size_t)length && !memcmp(out.data, want, out.size);
        right &= pf_row_measure(cells, all, 2) == out.size;
        pf_buf_free(&out);
    }
    ok(right, "words of each length are printed");
}

int main(void)
{
    words_of_each_length();
    static const unsigned all[] = {0, 1, 2, 3}, some[] = {0, 2};
    char text[301], want[400];
    memset(text, 'x', sizeof text - 1);
    text[sizeof text - 1] = 0;
    struct pf_cell cells[] = {pf_int(123), pf_string("a,b"), pf_double(0.5), pf_int(-7)};
    line(cells, all, 4, "123,\"a,b\",0.5,-7\n", "a row prints all its columns");
    line(cells, some, 2, "123,0.5\n", "a row prints the requested columns");
    line(cells, all, 0, "", "a row without columns prints nothing");
    cells[0] = pf_absent();
    cells[3] = pf_absent();
    line(cells, all, 4, ",\"a,b\",0.5,\n", "absent cells are empty");
    /* Text that is longer than the space reserved per cell. */
    cells[0] = pf_string(text);
    cells[1] = pf_string("say \"hi\"");
    snprintf(want, sizeof want, "%s,\"say \"\"hi\"\"\",0.5,\n", text);
    line(cells, all, 4, want, "text longer than the reserved space is printed");
    return done();
}
