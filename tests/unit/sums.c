/* SPDX-License-Identifier: MIT */
#include "formats/runtime/sums.h"

#include "fs/text/csv.h"
#include "tests/profile.h"
#include "tests/sound.h"
#include "tests/unit/cpu_limit.h"
#include "tests/unit/tap.h"

/* The sums in these tests have three partitions, one of them empty, and two metrics. */
enum { PARTITIONS = 3, CONTEXTS = 400, METRICS = 2 };

static const struct pf_column columns[] = {{"thread", PF_PARTITION, 0},
                                           {"context", PF_CONTEXT, 0},
                                           {"metric", PF_METRIC, 0},
                                           {"value", PF_PLAIN, 0},
                                           {"name", PF_CONTEXT_NAME, 0}};
static const struct pf_table table = {.name = "values",
                                      .columns = columns,
                                      .n_columns = PF_SUMS_COLUMNS,
                                      .flags = PF_SUMS_FLAGS,
                                      .ops = &pf_sums_cursor.ops};

static void add(struct pf_sums *sums, uint32_t partition, uint32_t context, uint32_t metric,
                struct pf_cell value)
{
    struct pf_error error;
    if (pf_sums_add(sums, partition, context, metric, &value, &error))
        abort();
}

static struct pf_sums *finished(struct pf_sums *sums)
{
    struct pf_error error;
    if (pf_sums_finish(sums, PARTITIONS, CONTEXTS, &error))
        abort();
    return sums;
}

/*
 * Returns the rows that match a restriction as `partition,context,metric,value|`. With `resumed`, each row is read by a new cursor that
 * resumes at a saved position.
 */
static struct pf_buf rows_of(struct pf_sums *sums, struct pf_restriction only, bool resumed)
{
    struct pf_table served = table;
    served.data = &sums;
    struct pf_model model = {0};
    struct pf_cursor cursor = {.model = &model, .table = &served, .only = only};
    struct pf_error error;
    struct pf_buf out = {0};
    struct pf_cell cells[PF_SUMS_COLUMNS];
    unsigned char position[16];
    size_t size = 0;
    for (int more = 1; more > 0;) {
        if (!cursor.state && (pf_sums_cursor.ops.open(&cursor, &error) ||
                              (size && pf_sums_cursor.ops.restore(&cursor, position, size, &error))))
            abort();
        more = pf_sums_cursor.ops.next(&cursor, cells, &error);
        for (int c = 0; c < PF_SUMS_NAME && more > 0; c++) {
            pf_csv_cell(&out, &cells[c]);
            pf_buf_char(&out, c + 1 < PF_SUMS_NAME ? ',' : '|');
        }
        size = pf_sums_cursor.ops.save(&cursor, position, sizeof position);
        if (resumed || more <= 0)
            pf_sums_cursor.ops.close(&cursor);
    }
    pf_buf_char(&out, 0);
    return out;
}

static void rows_are(struct pf_sums *sums, struct pf_restriction only, const char *want, const char *name)
{
    struct pf_buf have = rows_of(sums, only, false), resumed = rows_of(sums, only, true);
    is(have.data, want, name);
    is(resumed.data, want, "reading from saved positions gives the same rows");
    pf_buf_free(&have);
    pf_buf_free(&resumed);
}

static void values_are_added_up(void)
{
    struct pf_sums *sums = pf_sums_new(1 << 20, false);
    add(sums, 2, 7, 0, pf_int(5));
    add(sums, 0, 7, 1, pf_int(1));
    add(sums, 0, 3, 0, pf_int(2));
    add(sums, 2, 7, 0, pf_int(-9));
    finished(sums);
    rows_are(sums, PF_UNRESTRICTED, "0,3,0,2|0,7,1,1|2,7,0,-4|",
             "sums are ordered by partition, context and metric");
    rows_are(sums, (struct pf_restriction){2, -1, -1, -1}, "2,7,0,-4|", "a partition has its own sums");
    rows_are(sums, (struct pf_restriction){1, -1, -1, -1}, "", "a partition may have no sums");
    rows_are(sums, (struct pf_restriction){-1, 7, -1, -1}, "0,7,1,1|2,7,0,-4|", "a context has its own sums");
    rows_are(sums, (struct pf_restriction){-1, 7, 0, -1}, "2,7,0,-4|",
             "sums can be restricted to a context and a metric");
    rows_are(sums, (struct pf_restriction){0, 7, -1, -1}, "0,7,1,1|",
             "sums can be restricted to a partition and a context");
    pf_sums_free(sums);
}

static void keys_may_come_in_any_order(void)
{
    struct pf_sums *sums = pf_sums_new(1 << 20, false);
    for (uint32_t context = 0; context < 4; context++)
        add(sums, 0, context, 0, pf_int(1)); /* ascending, which needs no hash table */
    add(sums, 0, 1, 0, pf_int(10));
    add(sums, 0, 9, 0, pf_int(1));
    add(sums, 0, 5, 0, pf_int(1));
    add(sums, 0, 9, 0, pf_int(10));
    finished(sums);
    rows_are(sums, PF_UNRESTRICTED, "0,0,0,1|0,1,0,11|0,2,0,1|0,3,0,1|0,5,0,1|0,9,0,11|",
             "keys may ascend at first and descend later");
    pf_sums_free(sums);
}

/* Adds values at hostile keys: after multiplication by the 64-bit golden ratio and folding, all keys have the same low word. */
static void add_to_chosen_keys(void *arg)
{
    enum { N = 200000 };
    uint64_t odd = UINT64_C(0x9e3779b97f4a7c15), inverse = odd;
    struct pf_sums *sums = arg;
    for (int i = 0; i < 5; i++) /* Newton's method modulo 2^64 */
        inverse *= 2 - odd * inverse;
    for (uint64_t i = 0; i < N; i++) {
        uint64_t place = (i << 32 | i) * inverse;
        add(sums, (uint32_t)(place >> 32), (uint32_t)place, 0, pf_int(1));
    }
}

static void keys_cannot_be_chosen(void)
{
    struct pf_sums *sums = pf_sums_new(1 << 28, false);
    ok(returns_within(5, add_to_chosen_keys, sums),
       "chosen partitions and contexts do not make the hash table slow");
    pf_sums_free(sums);
}

static void one_partition_needs_no_second_order(void)
{
    struct pf_sums *sums = pf_sums_new(1 << 20, false);
    add(sums, 1, 9, 1, pf_int(1));
    add(sums, 1, 4, 0, pf_int(2));
    add(sums, 1, 9, 0, pf_int(3));
    finished(sums);
    rows_are(sums, (struct pf_restriction){-1, 9, -1, -1}, "1,9,0,3|1,9,1,1|",
             "sums of a context are found if all sums are of one partition");
    pf_sums_free(sums);
}

static void numbers_are_exact(void)
{
    pf_int128 wide = (pf_int128)UINT64_MAX * 10;
    struct pf_sums *sums = pf_sums_new(1 << 20, false);
    add(sums, 0, 0, 0, pf_int(INT64_MAX));
    add(sums, 0, 0, 0, pf_int(INT64_MAX));
    add(sums, 0, 1, 0, pf_wide(&wide));
    add(sums, 0, 1, 0, pf_uint(UINT64_MAX));
    for (int i = 0; i < 10; i++)
        add(sums, 0, 2, 0, pf_double(0.1));
    add(sums, 0, 3, 0, pf_double(0.5));
    add(sums, 0, 3, 0, pf_int(1));
    finished(sums);
    rows_are(sums, PF_UNRESTRICTED,
             "0,0,0,18446744073709551614|0,1,0,202914184810805067765|0,2,0,1|0,3,0,1.5|",
             "sums exceed 64 bits as integers, and compensate rounding errors as doubles");
    pf_sums_free(sums);
}

static void zeros_are_rows_if_asked_for(void)
{
    for (int zeros = 0; zeros < 2; zeros++) {
        struct pf_sums *sums = pf_sums_new(1 << 20, zeros);
        add(sums, 0, 0, 0, pf_int(3));
        add(sums, 0, 0, 0, pf_int(-3));
        add(sums, 0, 1, 0, pf_double(0));
        finished(sums);
        rows_are(sums, PF_UNRESTRICTED, zeros ? "0,0,0,0|0,1,0,0|" : "",
                 "a sum of zero is a row only if requested");
        pf_sums_free(sums);
    }
}

/* Makes many sums, in a scattered order that does not depend on the memory limit. */
static struct pf_sums *many(uint64_t limit)
{
    struct pf_sums *sums = pf_sums_new(limit, false);
    for (uint32_t i = 0; i < 20000; i++) {
        uint32_t at = i * 2654435761u;
        add(sums, at % 2 * 2, at / 7 % CONTEXTS, at / 3 % METRICS, i % 5 ? pf_int(i) : pf_double(i * 0.25));
    }
    return finished(sums);
}

static void memory_does_not_matter(void)
{
    struct pf_sums *large = many(64 << 20), *small = many(1);
    struct pf_restriction all[] = {PF_UNRESTRICTED, {2, -1, -1, -1}, {-1, 17, -1, -1}, {-1, -1, 1, -1}};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        struct pf_buf have = rows_of(small, all[i], false), want = rows_of(large, all[i], false);
        ok(have.size > 2 && have.size == want.size && !memcmp(have.data, want.data, want.size),
           "sums in a temporary file equal those in memory: restriction %zu", i);
        pf_buf_free(&have);
        pf_buf_free(&want);
    }
    pf_sums_free(large);
    pf_sums_free(small);
}

static void damaged_positions_are_refused(void)
{
    struct pf_sums *sums = pf_sums_new(1 << 20, false);
    add(sums, 0, 0, 0, pf_int(1));
    finished(sums);
    struct pf_table served = table;
    served.data = &sums;
    struct pf_model model = {0};
    struct pf_cursor cursor = {.model = &model, .table = &served, .only = PF_UNRESTRICTED};
    struct pf_error error;
    uint64_t beyond = 2;
    if (pf_sums_cursor.ops.open(&cursor, &error))
        abort();
    ok(pf_sums_cursor.ops.restore(&cursor, &beyond, sizeof beyond, &error) && error.code == EINVAL,
       "a position beyond the end is refused");
    ok(pf_sums_cursor.ops.restore(&cursor, &beyond, 3, &error), "a position of another size is refused");
    pf_sums_cursor.ops.close(&cursor);
    pf_sums_free(sums);
}

static void words_have_one_order(void)
{
    static const struct {
        int64_t high;
        uint64_t low;
    } values[] = {{0, 0},  {0, 1}, {-1, UINT64_MAX}, {-1, UINT64_MAX - 4}, {0, UINT64_MAX},
                  {-1, 0}, {1, 0}, {INT64_MAX, 5},   {INT64_MIN, 0},       {INT64_MIN, UINT64_MAX}};
    for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
        pf_int128 value = values[i].high * ((pf_int128)1 << 64) + values[i].low;
        uint64_t words[2];
        pf_wide_split(value, words);
        ok(words[0] == values[i].low && words[1] == (uint64_t)values[i].high && pf_wide_join(words) == value,
           "the first word of a wide integer is its low half: %lld, %llu", (long long)values[i].high,
           (unsigned long long)values[i].low);
    }
}

int main(void)
{
    values_are_added_up();
    keys_may_come_in_any_order();
    keys_cannot_be_chosen();
    one_partition_needs_no_second_order();
    numbers_are_exact();
    zeros_are_rows_if_asked_for();
    memory_does_not_matter();
    damaged_positions_are_refused();
    words_have_one_order();
    return done();
}
