/* SPDX-License-Identifier: MIT */
/* Tests rows, restrictions and positions of cursors over numbered records. */
#include "formats/runtime/numbered.h"

#include "formats/kit/pass.h"
#include "tests/unit/tap.h"

/* There are ten records. Every third one belongs to context 1, none to context 3, and number 4 has no row. */
enum { RECORDS = 10 };

static struct pf_pass pass; /* cancelled at number 5 of a walk over context 3 */

static int begin(const struct pf_cursor *cursor, struct pf_numbers *numbers, struct pf_error *error)
{
    numbers->own = calloc(1, 1);
    numbers->next = cursor->only.context == 1 ? 1 : 0;
    numbers->end = RECORDS;
    return cursor->only.context == 2 ? pf_fail(error, EIO, "no such file") : 0;
}

static int row(const struct pf_cursor *cursor, void *own, uint64_t number, struct pf_cell *cells,
               struct pf_error *error)
{
    if (cursor->only.context == 3) {
        atomic_store(&pass.stop, number == 5);
        return 0;
    }
    if (number == 4 || !own || !pf_wanted(cursor->only.partition, number % 2))
        return 0;
    cells[0] = pf_uint(number);
    return number == 9 && cursor->only.partition < 0 ? pf_fail(error, EIO, "cannot be read") : 1;
}

static uint64_t third(const struct pf_cursor *cursor, const void *own, uint64_t number)
{
    (void)own;
    return cursor->only.context != 1 ? number + 1 : number + 3 < RECORDS ? number + 3 : PF_NO_NUMBER;
}

static const struct pf_numbered kind = {PF_NUMBERED, .begin = begin, .row = row, .after = third};
static const struct pf_column column = {.name = "n"};
static const struct pf_table table = {
    .name = "records", .columns = &column, .n_columns = 1, .ops = &kind.ops};

/* Checks the numbers of the rows; with `hop`, a new cursor resumes from a saved position before each row. */
static void walks(struct pf_restriction only, bool hop, const char *want, const char *name)
{
    char have[100] = "", saved[8];
    struct pf_cell cell;
    struct pf_error error = {0};
    struct pf_cursor cursor = {.table = &table, .only = only};
    int got = table.ops->open(&cursor, &error);
    while (!got && (got = table.ops->next(&cursor, &cell, &error)) > 0) {
        snprintf(have + strlen(have), sizeof have - strlen(have), "%d ", (int)cell.u);
        got = 0;
        if (!hop)
            continue;
        size_t size = table.ops->save(&cursor, saved, sizeof saved);
        table.ops->close(&cursor);
        got = table.ops->open(&cursor, &error) || table.ops->restore(&cursor, saved, size, &error) ? -1 : 0;
    }
    if (got < 0)
        strcat(have, error.what);
    table.ops->close(&cursor);
    is(have, want, name);
}

static void test_damaged_positions(void)
{
    struct pf_error error;
    struct pf_cursor cursor = {.table = &table, .only = PF_UNRESTRICTED};
    uint64_t beyond = RECORDS + 1;
    if (table.ops->open(&cursor, &error))
        abort();
    ok(table.ops->restore(&cursor, &beyond, sizeof beyond, &error) && error.code == EINVAL,
       "a position after the last record is refused");
    ok(table.ops->restore(&cursor, &beyond, 3, &error) && error.code == EINVAL, "half a position is refused");
    ok(table.ops->progress(&cursor) == 0, "the progress before the first record is 0");
    table.ops->close(&cursor);
}

static void test_cancelling(void)
{
    struct pf_error error;
    struct pf_cell cell;
    struct pf_cursor cursor = {.table = &table, .only = {-1, 3, -1, -1}};
    struct pf_pass *before = pf_pass_begin(&pass);
    if (table.ops->open(&cursor, &error))
        abort();
    ok(table.ops->next(&cursor, &cell, &error) < 0 && error.code == ECANCELED &&
           pf_numbers_of(&cursor)->next == 6,
       "a walk over records without rows can be cancelled");
    atomic_store(&pass.stop, false);
    ok(table.ops->next(&cursor, &cell, &error) == 0, "a walk that was cancelled can be continued");
    table.ops->close(&cursor);
    pf_pass_end(before);
}

int main(void)
{
    for (int hop = 0; hop < 2; hop++) {
        walks((struct pf_restriction){1, -1, -1, -1}, hop, "1 3 5 7 9 ", "rows that match are in order");
        walks((struct pf_restriction){0, -1, -1, -1}, hop, "0 2 6 8 ", "a record may have no row");
        walks((struct pf_restriction){1, 1, -1, -1}, hop, "1 7 ", "records may form lists");
        walks((struct pf_restriction){-1, 1, -1, -1}, hop, "1 7 ", "lists of records end");
    }
    walks(PF_UNRESTRICTED, false, "0 1 2 3 5 6 7 8 cannot be read",
          "a record that cannot be read ends the walk");
    walks((struct pf_restriction){-1, 2, -1, -1}, false, "no such file", "a walk that cannot begin fails");
    test_damaged_positions();
    test_cancelling();
    return done();
}
