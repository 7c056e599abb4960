/* SPDX-License-Identifier: MIT */
/* Tests the lines of a table and their lengths. */
#include "fs/text/table.h"

#include "tests/unit/fake_model.h"

enum { ROWS = 400, THREADS = 4, CONTEXTS = 5 };

static const struct pf_column columns[] = {{.name = "row"},
                                           {.name = "thread", .role = PF_PARTITION},
                                           {.name = "kind"},
                                           {.name = "context", .role = PF_CONTEXT},
                                           {.name = "name", .role = PF_CONTEXT_NAME},
                                           {.name = "value"}};

/* ---- a cursor ----------------------------------------------------------------------------------- */

struct walk {
    uint64_t row; /* the next row */
    char kind[32];
};

static int open_walk(struct pf_cursor *cursor, struct pf_error *error)
{
    struct walk *walk = calloc(1, sizeof *walk);
    if (!walk)
        return pf_fail_memory(error);
    cursor->state = walk;
    return 0;
}

static bool fits(int64_t only, uint64_t have)
{
    return only < 0 || (uint64_t)only == have;
}

static int next_row(struct pf_cursor *cursor, struct pf_cell *cells, struct pf_error *error)
{
    struct walk *walk = cursor->state;
    (void)error;
    for (; walk->row < ROWS; walk->row++) {
        uint64_t row = walk->row, thread = row / 10 % THREADS, context = row / 40 % CONTEXTS;
        if (!fits(cursor->only.partition, thread) || !fits(cursor->only.context, context))
            continue;
        cells[0] = pf_uint(row);
        cells[1] = pf_int((int64_t)thread);
        cells[3] = pf_int((int64_t)context);
        cells[5] = pf_uint(row * row);
        snprintf(walk->kind, sizeof walk->kind, "kind %d, say", (int)(row / 10));
        cells[2] = pf_string(walk->kind);
        walk->row++;
        return 1;
    }
    return 0;
}

static size_t save_walk(const struct pf_cursor *cursor, void *saved, size_t room)
{
    const struct walk *walk = cursor->state;
    if (room >= sizeof walk->row)
        memcpy(saved, &walk->row, sizeof walk->row);
    return sizeof walk->row;
}

static int restore_walk(struct pf_cursor *cursor, const void *saved, size_t size, struct pf_error *error)
{
    struct walk *walk = cursor->state;
    (void)error;
    memcpy(&walk->row, saved, size);
    return 0;
}

static void close_walk(struct pf_cursor *cursor)
{
    free(cursor->state);
    cursor->state = NULL;
}

static const struct pf_cursor_ops ops = {
    .open = open_walk, .next = next_row, .save = save_walk, .restore = restore_walk, .close = close_walk};

/* ---- the cursor's text -------------------------------------------------------------------------- */

static struct pf_walk *lines_of(struct fake *fake, struct pf_restriction only)
{
    struct pf_error error;
    struct pf_table_slice slice = {&fake->table, only};
    struct pf_walk *walk = pf_table_walk(&fake->model, &slice, &error);
    must(walk != NULL);
    return walk;
}

/* Returns the whole text, terminated by NUL; the caller frees it. */
static struct pf_buf text_of(struct fake *fake, struct pf_restriction only)
{
    struct pf_error error;
    struct pf_buf text = {0};
    struct pf_walk *walk = lines_of(fake, only);
    while (walk->ops->next(walk, &text, &error) > 0)
        ;
    walk->ops->close(walk);
    pf_buf_char(&text, '\0');
    must(!text.failed);
    return text;
}

/* Measures all lines in one walk, and prints each line by a new walk from its saved position. Returns the number of correct lines. */
static int lines_from_anywhere(struct fake *fake, struct pf_restriction only, const char *want)
{
    struct pf_error error;
    struct pf_walk *measured = lines_of(fake, only);
    int good = 0;
    for (uint64_t at = 0, size = 0;; at += size, size = 0) {
        unsigned char saved[16];
        struct pf_buf text = {0};
        size_t saved_size = pf_walk_save(measured, saved, sizeof saved);
        if (measured->ops->measure(measured, &size, &error) <= 0)
            break;
        struct pf_walk *walk = lines_of(fake, only);
        if (saved_size) /* no position is saved before the header */
            must(!pf_walk_restore(walk, saved, saved_size, &error));
        bool line = want[at + size - 1] == '\n' && memchr(want + at, '\n', size) == want + at + size - 1;
        must(walk->ops->next(walk, &text, &error) > 0);
        good += line && text.size >= size && !memcmp(text.data, want + at, text.size);
        walk->ops->close(walk);
        pf_buf_free(&text);
    }
    measured->ops->close(measured);
    return good;
}

static void lines_fit(struct fake *fake, struct pf_restriction only, int rows, const char *what)
{
    struct pf_buf want = text_of(fake, only);
    ok(lines_from_anywhere(fake, only, want.data) == rows + 1,
       "%s: a line has its measured length and the same bytes from any saved position", what);
    pf_buf_free(&want);
}

/* The measured rows add up to the lengths of the texts of the whole table, of a partition and of a context. */
static void row_sizes(struct fake *fake)
{
    struct pf_error error;
    struct pf_measure *measure = pf_measure_new(&fake->model, &fake->table, -1, &error);
    struct pf_row_size head = pf_header_size(&fake->table), row;
    uint64_t full = head.full, partition = head.full - head.partition, context = head.full - head.context;
    must(measure != NULL);
    while (pf_measure_next(measure, &row, &error) > 0) {
        full += row.full;
        partition += row.partition_index == 2 ? row.full - row.partition : 0;
        context += row.context_index == 3 ? row.full - row.context : 0;
    }
    struct pf_buf whole = text_of(fake, PF_UNRESTRICTED);
    struct pf_buf of_partition = text_of(fake, (struct pf_restriction){2, -1, -1, -1});
    struct pf_buf of_context = text_of(fake, (struct pf_restriction){-1, 3, -1, -1});
    ok(full == whole.size - 1,
       "measured rows add up to the length of the table's text"); /* minus the terminating NUL */
    ok(partition == of_partition.size - 1,
       "measured rows without the fields that a partition's folder fixes add up to the length of its file");
    ok(context == of_context.size - 1,
       "measured rows without the fields that a context's folder fixes add up to the length of its file");
    pf_buf_free(&whole);
    pf_buf_free(&of_partition);
    pf_buf_free(&of_context);
    pf_measure_free(measure);
}

/* A walk over a table without metrics must not read model.metrics, because another thread's pass may be writing them. */
static void without_metrics(struct fake *fake)
{
    struct pf_buf want = text_of(fake, PF_UNRESTRICTED);
    fake->model.n_metrics = 3;
    fake->model.metrics = NULL;
    struct pf_buf have = text_of(fake, PF_UNRESTRICTED);
    ok(have.size == want.size && !memcmp(have.data, want.data, want.size),
       "a table without a metric column is printed without the metrics");
    fake->model.n_metrics = 0;
    fake->model.metrics = fake->metrics;
    pf_buf_free(&want);
    pf_buf_free(&have);
}

int main(void)
{
    struct fake fake;
    char name[] = "context a";
    fake_init(&fake, THREADS);
    for (int i = 0; i < CONTEXTS; i++, name[8]++)
        fake_context(&fake, PF_NO_CONTEXT, name, PF_FRAME);
    fake.table = (struct pf_table){.name = "rows", .columns = columns, .n_columns = 6, .ops = &ops};
    lines_fit(&fake, PF_UNRESTRICTED, ROWS, "the whole table");
    lines_fit(&fake, (struct pf_restriction){2, -1, -1, -1}, ROWS / THREADS, "one partition");
    lines_fit(&fake, (struct pf_restriction){-1, 3, -1, -1}, ROWS / CONTEXTS, "one context");
    row_sizes(&fake);
    without_metrics(&fake);
    fake_free(&fake);
    return done();
}
