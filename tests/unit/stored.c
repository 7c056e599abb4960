/* SPDX-License-Identifier: MIT */
/* Tests tables that are stored in memory or, above a limit, on disk: cells of all kinds, restrictions, and changes of rows. */
#include "formats/runtime/stored.h"

#include "formats/extrap/stored.h" /* must compile together with runtime/stored.h */
#include "tests/unit/tap.h"

enum { THREAD, TIME, TEXT, METRIC, OTHER, COLUMNS };
enum { ROWS = 5000, THREADS = 10 };

static const struct pf_column columns[COLUMNS] = {
    [THREAD] = {"thread", PF_PARTITION, 0}, [TIME] = {"time", PF_PLAIN, 0},   [TEXT] = {"text", PF_PLAIN, 0},
    [METRIC] = {"metric", PF_METRIC, 0},    [OTHER] = {"other", PF_PLAIN, 0},
};
static struct pf_stored *stored;
static const struct pf_table tables[] = {
    {.name = "stored",
     .columns = columns,
     .n_columns = COLUMNS,
     .ops = &pf_stored_cursor.ops,
     .data = &stored},
    {.name = "stored",
     .columns = columns,
     .n_columns = COLUMNS,
     .flags = PF_BY_PARTITION | PF_SEEKS_PARTITION,
     .ops = &pf_stored_cursor.ops,
     .data = &stored},
};

/* Returns the text cell of row i: a text of 0, 15 or 30 bytes, or a name. */
static struct pf_cell text_of(uint64_t i, char *buffer)
{
    memset(buffer, 'a' + (int)(i % 26), 40);
    return i % 4 == 3 ? pf_name(i % 8 == 3 ? 0 : PF_NO_STRING) : pf_text(buffer, i % 4 * 15);
}

static struct pf_cell other_of(uint64_t i, pf_int128 *wide)
{
    *wide = -((pf_int128)i << 70) - 1;
    return i % 3 == 0 ? pf_absent() : i % 3 == 1 ? pf_wide(wide) : pf_double((double)i / 4);
}

static bool same(struct pf_cell a, struct pf_cell b)
{
    return a.type == b.type && (a.type == PF_TEXT   ? a.size == b.size && !memcmp(a.text, b.text, a.size)
                                : a.type == PF_WIDE ? *a.wide == *b.wide
                                                    : a.type == PF_ABSENT || a.u == b.u);
}

static bool is_row(const struct pf_cell *cells, uint64_t i, const struct pf_strings *strings)
{
    char buffer[40];
    pf_int128 wide;
    struct pf_cell text = text_of(i, buffer);
    if (text.type == PF_NAME)
        text = pf_interned(strings, (uint32_t)text.u);
    return same(cells[THREAD], pf_int((int64_t)(i / (ROWS / THREADS)))) &&
           same(cells[TIME], pf_int(i % 7 ? (int64_t)i : -(int64_t)i)) && same(cells[TEXT], text) &&
           same(cells[METRIC], i % 5 ? pf_int((int64_t)(i % 5)) : pf_absent()) &&
           same(cells[OTHER], other_of(i, &wide));
}

static bool is_wanted(uint64_t i, struct pf_restriction only)
{
    return pf_wanted(only.partition, i / (ROWS / THREADS)) &&
           (only.metric < 0 || (i % 5 && i % 5 == (uint64_t)only.metric));
}

/* True if the walk yields the expected rows in order. At every 97th row, of any metric, a new cursor resumes at the saved position. */
static bool walks(struct pf_model *model, const struct pf_table *table, struct pf_restriction only)
{
    struct pf_cursor cursor = {.model = model, .table = table, .only = only};
    struct pf_cell cells[COLUMNS];
    struct pf_error error;
    unsigned char saved[16];
    bool good = !table->ops->open(&cursor, &error);
    for (uint64_t i = 0; i < ROWS && good; i++) {
        if (!is_wanted(i, only))
            continue;
        if (i % 97 == 0) {
            size_t size = table->ops->save(&cursor, saved, sizeof saved);
            table->ops->close(&cursor);
            good = !table->ops->open(&cursor, &error) && !table->ops->restore(&cursor, saved, size, &error);
        }
        good = good && table->ops->next(&cursor, cells, &error) == 1 &&
               is_row(cells, i, model->contexts->strings);
    }
    good = good && table->ops->next(&cursor, cells, &error) == 0;
    table->ops->close(&cursor);
    return good;
}

static void check(const char *name, uint64_t limit)
{
    static const char *const kinds[] = {"kind"};
    struct pf_error error;
    stored = pf_stored_new(COLUMNS, limit);
    struct pf_model model = {.contexts = pf_tree_new(kinds)};
    bool added = pf_intern(model.contexts->strings, "a name", 6, &error) == 0;
    for (uint64_t i = 0; i < ROWS && added; i++) {
        char buffer[40];
        pf_int128 wide;
        struct pf_cell cells[COLUMNS] = {[THREAD] = pf_int((int64_t)(i / (ROWS / THREADS))),
                                         [TIME] = i % 7 ? pf_int((int64_t)i) : pf_double(0),
                                         [TEXT] = text_of(i, buffer),
                                         [METRIC] = i % 5 ? pf_int((int64_t)(i % 5)) : pf_absent(),
                                         [OTHER] = other_of(i, &wide)};
        added = pf_stored_count(stored) == i && !pf_stored_add(stored, cells, &error);
        if (added && i % 14 == 0) /* some rows are changed right after they are added */
            added = !pf_stored_set(stored, i, TIME, pf_int(-(int64_t)i), &error);
    }
    for (uint64_t i = 7; i < ROWS && added; i += 14) /* the others after all rows are added */
        added = !pf_stored_set(stored, i, TIME, pf_int(-(int64_t)i), &error);
    ok(added, "%s: rows are added and changed", name);
    for (size_t t = 0; t < sizeof tables / sizeof *tables; t++) {
        const char *how = t ? "looked up" : "looked through";
        ok(walks(&model, &tables[t], PF_UNRESTRICTED), "%s, %s: a walk yields all rows as they were added",
           name, how);
        ok(walks(&model, &tables[t], (struct pf_restriction){3, -1, -1, -1}) &&
               walks(&model, &tables[t], (struct pf_restriction){0, -1, -1, -1}) &&
               walks(&model, &tables[t], (struct pf_restriction){THREADS - 1, -1, 2, -1}) &&
               walks(&model, &tables[t], (struct pf_restriction){THREADS, -1, -1, -1}),
           "%s, %s: a walk restricted to a partition yields its rows", name, how);
        ok(walks(&model, &tables[t], (struct pf_restriction){-1, -1, 0, -1}) &&
               walks(&model, &tables[t], (struct pf_restriction){-1, -1, 4, -1}),
           "%s, %s: a walk restricted to a metric yields its rows", name, how);
    }
    pf_stored_free(stored);
    pf_tree_free(model.contexts);
}

int main(void)
{
    check("in memory", 64 << 20);
    check("in a file", 1 << 14);
    return done();
}
