/* SPDX-License-Identifier: MIT */
#include "fs/profile/table_sizes.h"

#include <unistd.h>

#include "fs/text/table.h"
#include "tests/unit/fake_tables.h"
#include "tests/unit/gate.h"
#include "tests/unit/tap.h"

/* Tables as text. One pass over a table finds the sizes and checkpoints of all files that show parts of it. */

/* Files of every CONTEXT_STEP-th context are checked. With ThreadSanitizer few files suffice, since their walks start no threads. */
#ifdef __SANITIZE_THREAD__
#define CONTEXT_STEP 97
#else
#define CONTEXT_STEP 7
#endif

struct fixture {
    struct fake_tables fake;
    struct pf_model model;
    struct pf_options options;
    struct pf_pool *pool;
};

static void set_up(struct fixture *fixture, uint32_t partitions, uint32_t contexts, uint64_t events)
{
    struct pf_error error;
    *fixture = (struct fixture){.fake = {.partitions = partitions, .contexts = contexts, .events = events},
                                .options = {.cache = 1 << 20}};
    fixture->model.options = &fixture->options;
    fixture->pool = pf_pool_new(2);
    fake_tables_open(&fixture->fake, &fixture->model);
    for (enum pf_stage stage = PF_PARTITIONED; stage < PF_STAGES; stage++)
        if (fake_tables_load(&fixture->fake, &fixture->model, stage, &error))
            abort();
}

static void tear_down(struct fixture *fixture)
{
    fake_tables_close(&fixture->fake);
    pf_rows_free(fixture->model.partitions.items);
    pf_rows_free(fixture->model.partitions.fields);
    pf_tree_free(fixture->model.contexts);
    pf_pool_free(fixture->pool);
}

/* ---- walks -------------------------------------------------------------------------------------- */

static struct pf_table_slice slice_of(const struct fixture *fixture, int table, int64_t partition,
                                      int64_t context)
{
    return (struct pf_table_slice){
        .table = &fixture->fake.tables[table],
        .only = {.partition = partition, .context = context, .metric = -1, .key = -1}};
}

/* Returns the slice's text from a position on (NULL: from the start). */
static struct pf_buf text_from(struct fixture *fixture, const struct pf_table_slice *slice,
                               const void *position, size_t size)
{
    struct pf_error error;
    struct pf_buf out = {0};
    struct pf_walk *walk = pf_table_walk(&fixture->model, slice, &error);
    if (position && pf_walk_restore(walk, position, size, &error))
        abort();
    while (walk->ops->next(walk, &out, &error) > 0)
        ;
    walk->ops->close(walk);
    return out;
}

static struct pf_buf text_of(struct fixture *fixture, const struct pf_table_slice *slice)
{
    return text_from(fixture, slice, NULL, 0);
}

static uint64_t measured(struct fixture *fixture, const struct pf_table_slice *slice)
{
    struct pf_error error;
    uint64_t size = 0;
    struct pf_walk *walk = pf_table_walk(&fixture->model, slice, &error);
    while (walk->ops->measure(walk, &size, &error) > 0)
        ;
    walk->ops->close(walk);
    return size;
}

/* True if the slice's text has this size, both when it is printed and when it is measured. */
static bool has_size(struct fixture *fixture, struct pf_table_slice slice, uint64_t size)
{
    struct pf_buf text = text_of(fixture, &slice);
    bool same = text.size == size && measured(fixture, &slice) == size;
    if (!same)
        printf("# %s: told %llu, has %zu\n", slice.table->name, (unsigned long long)size, text.size);
    pf_buf_free(&text);
    return same;
}

/* Returns how many of the checkpoints `first` to `end` - 1 have a position and an offset that do not match. The offset is the one in the
 * whole table's text, or with `part`, the one in the partition's file. */
static int wrong_marks(struct fixture *fixture, const struct pf_table_sizes *sizes,
                       struct pf_table_slice slice, size_t first, size_t end, bool part)
{
    struct pf_buf whole = text_of(fixture, &slice);
    int wrong = 0;
    for (size_t m = first; m < end; m++) {
        const struct pf_checkpoint *checkpoint = &sizes->checkpoints.items[m];
        uint64_t at = part ? checkpoint->partition : checkpoint->full;
        struct pf_buf rest =
            text_from(fixture, &slice, sizes->checkpoints.positions + checkpoint->position, checkpoint->size);
        wrong +=
            at + rest.size != whole.size || (rest.size && memcmp(whole.data + at, rest.data, rest.size) != 0);
        pf_buf_free(&rest);
    }
    pf_buf_free(&whole);
    return wrong;
}

/* ---- sizes -------------------------------------------------------------------------------------- */

static void check_sizes(struct fixture *fixture, int table, const char *name)
{
    struct pf_error error = {0};
    struct pf_table_sizes *sizes =
        pf_table_sizes_new(fixture->pool, &fixture->model, &fixture->fake.tables[table], &error);
    if (!ok(sizes != NULL, "%s: the table can be measured", name))
        return;
    ok(has_size(fixture, slice_of(fixture, table, -1, -1), sizes->whole), "%s: the whole table has the measured size",
       name);
    bool partitions = true, contexts = true;
    for (size_t p = 0; p < sizes->partitions; p++)
        partitions &= has_size(fixture, slice_of(fixture, table, (int64_t)p, -1), sizes->partition[p]);
    for (size_t c = 0; c < sizes->contexts; c += CONTEXT_STEP)
        contexts &= has_size(fixture, slice_of(fixture, table, -1, (int64_t)c), sizes->context[c]);
    ok(partitions, "%s: every partition's file has the measured size", name);
    ok(contexts, "%s: every context's file has the measured size", name);
    ok(wrong_marks(fixture, sizes, slice_of(fixture, table, -1, -1), 0, sizes->checkpoints.count, false) == 0,
       "%s: checkpoints are at their offsets in the whole table", name);
    int wrong = 0;
    for (size_t p = 0; sizes->first && p < sizes->partitions; p++)
        wrong += wrong_marks(fixture, sizes, slice_of(fixture, table, (int64_t)p, -1), sizes->first[p],
                             sizes->end[p], true);
    ok(wrong == 0, "%s: checkpoints are at their offsets in the partitions' files", name);
    bool dense = sizes->whole < 4 * PF_INTERVAL || sizes->checkpoints.count >= sizes->whole / PF_INTERVAL / 3;
    ok(dense, "%s: the number of checkpoints grows with the size of the table", name);
    pf_table_sizes_free(sizes);
}

static void test_sizes(void)
{
    struct fixture fixture;
    set_up(&fixture, 23, 700, 40000);
    check_sizes(&fixture, FAKE_VALUES, "by partition");
    check_sizes(&fixture, FAKE_EVENTS, "in no order");
    check_sizes(&fixture, FAKE_NOTES, "held in rows");
    check_sizes(&fixture, FAKE_EMPTY, "empty");
    tear_down(&fixture);
    set_up(&fixture, 2, 14000, 10);
    check_sizes(&fixture, FAKE_VALUES, "few long partitions");
    tear_down(&fixture);
    set_up(&fixture, 2000, 1, 10);
    check_sizes(&fixture, FAKE_VALUES, "many short partitions");
    tear_down(&fixture);
}

/* The tables of a profile without partitions and contexts still have their header lines. */
static void test_nothing(void)
{
    struct fixture fixture;
    set_up(&fixture, 0, 0, 0);
    check_sizes(&fixture, FAKE_VALUES, "no partitions");
    check_sizes(&fixture, FAKE_EVENTS, "no rows");
    struct pf_table_slice slice = slice_of(&fixture, FAKE_VALUES, -1, -1);
    struct pf_buf text = text_of(&fixture, &slice);
    pf_buf_char(&text, 0);
    is(text.data, "thread,\"cores, used\",context,metric,value,name\n", "a table without rows has a header");
    pf_buf_free(&text);
    tear_down(&fixture);
}

/* ---- what is printed ---------------------------------------------------------------------------- */

static void shows(struct fixture *fixture, struct pf_table_slice slice, const char *want, const char *name)
{
    struct pf_buf text = text_of(fixture, &slice);
    pf_buf_char(&text, 0);
    is(text.data, want, name);
    pf_buf_free(&text);
}

static void test_text(void)
{
    struct fixture fixture;
    set_up(&fixture, 4, 3, 8);
    shows(&fixture, slice_of(&fixture, FAKE_VALUES, 1, -1),
          "context,metric,value,name\n"
          "0,time,0,main 0\n"
          "0,\"bytes, \"\"moved\"\"\",-49,main 0\n"
          "1,time,-46,main 0\n"
          "1,\"bytes, \"\"moved\"\"\",0.42857142857142855,main 0\n"
          "2,time,-34,\"f<int, 1>(\"\"x\"\")\"\n"
          "2,\"bytes, \"\"moved\"\"\",-25,\"f<int, 1>(\"\"x\"\")\"\n",
          "a partition's file omits the partition and its fields, and quotes cells that need it");
    shows(&fixture, slice_of(&fixture, FAKE_VALUES, -1, 2),
          "thread,\"cores, used\",metric,value\n"
          "\"node, 0\",0,time,-34\n"
          "\"node, 0\",0,\"bytes, \"\"moved\"\"\",-25\n"
          "thread 1,1,time,-34\n"
          "thread 1,1,\"bytes, \"\"moved\"\"\",-25\n"
          "thread 2,4,time,-34\n"
          "thread 2,4,\"bytes, \"\"moved\"\"\",-25\n",
          "a context's file omits the context and its name");
    shows(&fixture, slice_of(&fixture, FAKE_VALUES, 3, -1), "context,metric,value,name\n",
          "a partition without rows has a header");
    shows(&fixture, slice_of(&fixture, FAKE_EVENTS, -1, -1),
          "time,context,thread,note,name,host\n"
          "0,0,\"node, 0\",plain,main 0,alpha\n"
          "3,1,thread 1,\"a,b\",main 0,\"beta, gamma\"\n"
          "6,2,thread 2,\"say \"\"hi\"\"\",\"f<int, 1>(\"\"x\"\")\",\"\"\"delta\"\"\"\n"
          "9,0,\"node, 3\",two\\nlines,main 0,alpha\n"
          "12,1,\"node, 0\",tab\\tand \\\\,main 0,alpha\n"
          "15,,thread 1,,,\"beta, gamma\"\n"
          "18,0,,\\x01,main 0,\n"
          "21,1,\"node, 3\",plain,main 0,alpha\n",
          "rows without partition or context have empty cells for them");
    tear_down(&fixture);
}

/* ---- passes ------------------------------------------------------------------------------------- */

static void test_changed_mind(void)
{
    struct fixture fixture;
    struct pf_error error = {0};
    set_up(&fixture, 5, 9, 20000);
    fixture.fake.changes_left = 3;
    struct pf_table_sizes *sizes =
        pf_table_sizes_new(fixture.pool, &fixture.model, &fixture.fake.tables[FAKE_EVENTS], &error);
    ok(sizes && fixture.fake.changes_left == 0, "a pass that finds its rows outdated is repeated");
    ok(sizes && has_size(&fixture, slice_of(&fixture, FAKE_EVENTS, -1, -1), sizes->whole) &&
           has_size(&fixture, slice_of(&fixture, FAKE_EVENTS, 2, -1), sizes->partition[2]) &&
           has_size(&fixture, slice_of(&fixture, FAKE_EVENTS, -1, 4), sizes->context[4]),
       "a repeated pass has the sizes of the last attempt");
    pf_table_sizes_free(sizes);
    fixture.fake.changes_left = 1000;
    ok(!pf_table_sizes_new(fixture.pool, &fixture.model, &fixture.fake.tables[FAKE_EVENTS], &error),
       "a table whose rows are outdated after each attempt is an error");
    tear_down(&fixture);
}

static void test_failing(void)
{
    struct fixture fixture;
    struct pf_error error = {0};
    struct pf_pass pass = {0};
    set_up(&fixture, 30, 900, 60000);
    fixture.fake.fails = EIO;
    ok(!pf_table_sizes_new(fixture.pool, &fixture.model, &fixture.fake.tables[FAKE_EVENTS], &error) &&
           error.code == EIO,
       "a table that cannot be read has no sizes");
    atomic_store(&pass.stop, true);
    struct pf_pass *before = pf_pass_begin(&pass);
    for (int table = FAKE_VALUES; table <= FAKE_EVENTS; table++) {
        atomic_store(&fixture.fake.walked, 0);
        ok(!pf_table_sizes_new(fixture.pool, &fixture.model, &fixture.fake.tables[table], &error) &&
               error.code == ECANCELED && fixture.fake.walked < 20000,
           "%s: a pass without waiters ends early", fixture.fake.tables[table].name);
    }
    pf_pass_end(before);
    tear_down(&fixture);
}

/* ---- rows --------------------------------------------------------------------------------------- */

static void test_rows_positions(void)
{
    struct fixture fixture;
    struct pf_error error = {0};
    set_up(&fixture, 4, 3, 8);
    struct pf_table_slice slice = slice_of(&fixture, FAKE_NOTES, -1, -1);
    struct pf_walk *walk = pf_table_walk(&fixture.model, &slice, &error);
    uint64_t far = UINT64_MAX;
    struct pf_buf out = {0};
    ok(pf_walk_restore(walk, "abc", 3, &error) && error.code == EINVAL,
       "a position of another size is refused");
    ok(!pf_walk_restore(walk, &far, sizeof far, &error) && walk->ops->next(walk, &out, &error) == 0,
       "a position after the last row is the end");
    walk->ops->close(walk);
    pf_buf_free(&out);
    tear_down(&fixture);
}

int main(void)
{
    alarm(HANG_SECONDS);
    test_text();
    test_nothing();
    test_sizes();
    test_changed_mind();
    test_failing();
    test_rows_positions();
    return done();
}
