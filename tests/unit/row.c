/* SPDX-License-Identifier: MIT */
#include "fs/text/row.h"

#include "tests/unit/tap.h"

static const struct pf_span none = {0, 0};

/* A row of four cells after others; its line is this, and as long as it is measured. */
static void line(struct pf_row *row, struct pf_row *measured, const struct pf_cell *cells,
                 struct pf_span same, const char *want, const char *name)
{
    struct pf_buf out = {0};
    pf_row_add(row, cells, same, &out);
    size_t size = pf_row_measure(measured, cells, same);
    ok(!out.failed && out.size == strlen(want) && (!out.size || !memcmp(out.data, want, out.size)), "%s: %s",
       name, want);
    ok(size == strlen(want), "and that is how long it is measured");
    pf_buf_free(&out);
}

static void rows_that_stay(void)
{
    static const unsigned columns[] = {0, 1, 2, 3};
    struct pf_row row = pf_row_of(columns, 4), measured = pf_row_of(columns, 4);
    struct pf_cell cells[] = {pf_int(1), pf_string("a,b"), pf_double(0.5), pf_int(-7)};
    struct pf_span middle = {1, 3}, front = {0, 2}, all = {0, 4}, back = {2, 4};
    line(&row, &measured, cells, none, "1,\"a,b\",0.5,-7\n", "a first row");
    cells[0] = pf_int(2);
    line(&row, &measured, cells, middle, "2,\"a,b\",0.5,-7\n", "a row with columns as before");
    cells[0] = pf_int(3), cells[3] = pf_absent();
    line(&row, &measured, cells, middle, "3,\"a,b\",0.5,\n", "and one more");
    cells[1] = pf_string("changed");
    line(&row, &measured, cells, none, "3,changed,0.5,\n", "a row that is another");
    cells[0] = pf_int(4);
    line(&row, &measured, cells, middle, "4,changed,0.5,\n", "what stays is then of that row");
    cells[2] = pf_int(9);
    line(&row, &measured, cells, front, "4,changed,9,\n", "other columns may stay");
    cells[2] = pf_int(10), cells[3] = pf_int(11);
    line(&row, &measured, cells, front, "4,changed,10,11\n", "these again");
    cells[0] = pf_int(5);
    line(&row, &measured, cells, back, "5,changed,10,11\n", "up to the end");
    line(&row, &measured, cells, back, "5,changed,10,11\n", "and that again");
    line(&row, &measured, cells, all, "5,changed,10,11\n", "all columns");
    line(&row, &measured, cells, all, "5,changed,10,11\n", "and again all");
    pf_row_free(&row);
    pf_row_free(&measured);
}

static void columns_left_out(void)
{
    static const unsigned columns[] = {0, 2};
    struct pf_row row = pf_row_of(columns, 2), measured = pf_row_of(columns, 2);
    struct pf_cell cells[] = {pf_int(1), pf_string("left out"), pf_string("x"), pf_int(8)};
    struct pf_span middle = {1, 3}, unseen = {1, 2}, beyond = {3, 4};
    line(&row, &measured, cells, none, "1,x\n", "two of four columns");
    for (int i = 2; i < 4; i++) {
        cells[0] = pf_int(i);
        line(&row, &measured, cells, middle, i == 2 ? "2,x\n" : "3,x\n",
             "columns that stay, one of which is left out");
        line(&row, &measured, cells, unseen, i == 2 ? "2,x\n" : "3,x\n", "that one alone");
        line(&row, &measured, cells, beyond, i == 2 ? "2,x\n" : "3,x\n", "one behind the last");
    }
    pf_row_free(&row);
    pf_row_free(&measured);
}

static void forgotten(void)
{
    static const unsigned columns[] = {0, 1};
    struct pf_row row = pf_row_of(columns, 2), measured = pf_row_of(columns, 2);
    struct pf_cell cells[] = {pf_int(1), pf_string("old")};
    struct pf_span second = {1, 2};
    line(&row, &measured, cells, none, "1,old\n", "a row");
    line(&row, &measured, cells, second, "1,old\n", "with a column that stays");
    cells[1] = pf_string("new one");
    pf_row_forget(&row);
    pf_row_forget(&measured);
    line(&row, &measured, cells, second, "1,new one\n", "nothing old is printed once that is forgotten");
    pf_row_free(&row);
    pf_row_free(&measured);
}

/* Rows may be measured and printed by turns. */
static void measured_between(void)
{
    static const unsigned columns[] = {0, 1};
    struct pf_row row = pf_row_of(columns, 2);
    struct pf_buf out = {0};
    struct pf_cell cells[] = {pf_int(1), pf_string("a")};
    struct pf_span second = {1, 2};
    pf_row_add(&row, cells, none, &out);
    pf_row_add(&row, cells, second, &out);
    cells[1] = pf_string("bcd");
    ok(pf_row_measure(&row, cells, none) == 6 && pf_row_measure(&row, cells, second) == 6,
       "a row is measured between others");
    pf_row_add(&row, cells, second, &out);
    ok(!out.failed && out.size == 14 && !memcmp(out.data, "1,a\n1,a\n1,bcd\n", 14),
       "and one that is as the measured one is printed as that");
    pf_buf_free(&out);
    pf_row_free(&row);
}

/* Longer than what is copied in one go, and than what a cell has room for without being asked. */
static void long_texts(void)
{
    static const unsigned columns[] = {0, 1, 2};
    char text[301], want[400];
    struct pf_row row = pf_row_of(columns, 3), measured = pf_row_of(columns, 3);
    struct pf_span front = {0, 2};
    memset(text, 'x', sizeof text - 1);
    text[sizeof text - 1] = 0;
    struct pf_cell cells[] = {pf_string(text), pf_string("say \"hi\""), pf_int(1)};
    snprintf(want, sizeof want, "%s,\"say \"\"hi\"\"\",1\n", text);
    for (int i = 0; i < 3; i++)
        line(&row, &measured, cells, i ? front : none, want, "long text that stays");
    pf_row_free(&row);
    pf_row_free(&measured);
}

static void no_columns(void)
{
    struct pf_row row = pf_row_of(NULL, 0), measured = pf_row_of(NULL, 0);
    line(&row, &measured, NULL, none, "", "without columns there are no lines");
    line(&row, &measured, NULL, (struct pf_span){0, 3}, "", "whatever stays");
    pf_row_free(&row);
    pf_row_free(&measured);
}

int main(void)
{
    rows_that_stay();
    columns_left_out();
    forgotten();
    measured_between();
    long_texts();
    no_columns();
    return done();
}
