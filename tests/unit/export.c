/* SPDX-License-Identifier: MIT */
/* The text of real profiles' exports to other formats does not depend on where walks are resumed. */
#include "fs/sums/export.h"

#include "fs/draw/draw.h"
#include "tests/unit/profile_file.h"

extern const struct pf_driver pf_collapsed_driver, pf_perf_script_driver, pf_pprof_driver, pf_afperf_driver;

/* The profile to export. */
struct source {
    struct pf_model *model;
    struct pf_aggregate *aggregate; /* NULL: the time line is exported */
};

static struct pf_walk *walk_of(const struct source *source)
{
    struct pf_error error;
    struct pf_walk *walk = source->aggregate
                               ? pf_pprof_walk(source->aggregate, &error)
                               : pf_trace_json_walk(source->model, pf_timeline_table(source->model), &error);
    if (!walk)
        abort();
    return walk;
}

static struct pf_buf text_of(const struct source *source, unsigned hop)
{
    static char position[1 << 16];
    struct pf_buf out = {0};
    struct pf_error error;
    struct pf_walk *walk = walk_of(source);
    for (unsigned n = 1; walk->ops->next(walk, &out, &error) > 0; n++) {
        if (n % hop)
            continue;
        size_t size = pf_walk_save(walk, position, sizeof position);
        walk->ops->close(walk);
        walk = walk_of(source);
        if (size > sizeof position || pf_walk_restore(walk, position, size, &error))
            abort();
    }
    walk->ops->close(walk);
    pf_buf_char(&out, 0);
    return out;
}

static void is_the_same(const struct source *source, const struct pf_buf *whole, const char *name)
{
    struct pf_buf pieces = text_of(source, 1);
    ok(pieces.size == whole->size && !memcmp(pieces.data, whole->data, whole->size), "%s", name);
    pf_buf_free(&pieces);
}

static struct pf_aggregate *aggregate_of(struct file *file)
{
    struct pf_error error;
    struct pf_aggregate *aggregate = pf_aggregate_new(&file->model, &error);
    if (!aggregate)
        abort();
    return aggregate;
}

/* Exports the profile to pprof's format and opens the result. */
static struct file read_again(struct file *file)
{
    struct file again;
    struct source source = {&file->model, aggregate_of(file)};
    struct pf_buf text = text_of(&source, 1000000);
    is_the_same(&source, &text, "a walk that is resumed after each record gives the same profile");
    file_open(&again, &pf_pprof_driver, "profile.pb", text.data, text.size - 1, 1 << 20);
    pf_buf_free(&text);
    pf_aggregate_free(source.aggregate);
    return again;
}

static void comes_back_as(const struct pf_driver *driver, const char *text, const char *want,
                          const char *name)
{
    struct file file;
    file_open(&file, driver, "profile", text, strlen(text), 1 << 20);
    struct file again = read_again(&file);
    table_is(&again, "values", want, name);
    warnings_are(&again, "", "the exported profile has no warnings");
    file_close(&again);
    file_close(&file);
}

static void profiles(void)
{
    comes_back_as(&pf_collapsed_driver, "a;b 3\na 5\nc;\xff;a 0.25\n",
                  "all,a,samples,5000000|all,a>b,samples,3000000|all,c>\\xFF>a,samples,250000|",
                  "stacks are preserved, and fractions are in millionths");
    comes_back_as(&pf_perf_script_driver,
                  "w 1 1.5: 7 cpu-clock:\n\t 1 b (/b)\n\t 1 a (/a)\n\nw 2 1.6: 9 cpu-clock:\n\t 1 b (/b)\n\t "
                  "1 a (/a)\n",
                  "all,a>b,cpu-clock,16|all,a>b,samples,2|",
                  "values are those of all threads, and the primary metric comes first");
    comes_back_as(&pf_collapsed_driver, "# nothing\n", "", "a profile without values is empty");
    comes_back_as(&pf_collapsed_driver,
                  "a 9223372036854775807\na;b 9223372036854775808\nc 9\nc 99999999999999999999\n",
                  "all,a,samples,9223372036854775807|all,a>b,samples,9223372036854775807|all,c,samples,"
                  "9223372036854775807|",
                  "values beyond 64 bits are saturated");
    comes_back_as(&pf_collapsed_driver, "a 99999999999999.5\nb 2\n",
                  "all,a,samples,9223372036854775807|all,b,samples,2000000|",
                  "fractions beyond 64 bits are saturated");
}

static void deep_stacks(void)
{
    enum { FRAMES = 3000 };
    char *text = malloc((size_t)FRAMES * 8 + 16), *at = text;
    for (int i = 0; i < FRAMES; i++)
        at += sprintf(at, "f%d;", i);
    strcpy(at - 1, " 7\n");
    struct file file;
    file_open(&file, &pf_collapsed_driver, "profile", text, strlen(text), 1 << 20);
    struct file again = read_again(&file);
    const struct pf_tree *tree = again.model.contexts;
    struct pf_cell inner = pf_interned(tree->strings, tree->name[512]);
    ok(tree->count == 1024 && inner.size == 5 && !memcmp(inner.text, "f2488", 5),
       "the outermost and innermost frames of a deep stack are kept");
    file_close(&again);
    file_close(&file);
    free(text);
}

static void times_are(const struct pf_driver *driver, const char *text, const char *want, const char *name)
{
    struct file file;
    file_open(&file, driver, "profile", text, strlen(text), 1 << 20);
    struct source source = {&file.model, NULL};
    struct pf_buf have = text_of(&source, 1000000);
    is(have.data, want, name);
    is_the_same(&source, &have, "a walk that is resumed after each record gives the same time line");
    pf_buf_free(&have);
    file_close(&file);
}

#define HEAD(format)                                                                                         \
    "{\"displayTimeUnit\":\"ns\",\"traceEvents\":[\n"                                                        \
    "{\"ph\":\"M\",\"pid\":1,\"name\":\"process_name\",\"args\":{\"name\":\"" format "\"}}"
#define THREAD(tid, name)                                                                                    \
    ",\n{\"ph\":\"M\",\"pid\":1,\"tid\":" tid ",\"name\":\"thread_name\",\"args\":{\"name\":\"" name "\"}}"
#define EVENT(phase, tid, ts, more) ",\n{\"ph\":\"" phase "\",\"pid\":1,\"tid\":" tid ",\"ts\":" ts more "}"

static void time_lines(void)
{
    times_are(&pf_perf_script_driver,
              "\"w\\ 1 1.5: cycles:\n\t 1 a\xff (/a)\n\nv 2 0.000000001: cycles:\n\t 1 b (/b)\n",
              HEAD("perf-script") THREAD("1", "\\\"w\\\\ 1") THREAD("2", "v 2")
                  EVENT("X", "1", "1500000.000", ",\"dur\":0.000,\"name\":\"a\\\\xFF\"")
                      EVENT("X", "2", "0.001", ",\"dur\":0.000,\"name\":\"b\"") "\n]}\n",
              "rows with a duration are spans, and times are in microseconds");
}

int main(void)
{
    profiles();
    deep_stacks();
    time_lines();
    return done();
}
