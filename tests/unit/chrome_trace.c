/* SPDX-License-Identifier: MIT */
#include "tests/unit/profile_file.h"

extern const struct pf_driver pf_chrome_trace_driver;

static struct file trace(const char *text)
{
    struct file file;
    file_open(&file, &pf_chrome_trace_driver, "a.json", text, strlen(text), 1 << 20);
    return file;
}

static void table_reads(const char *text, const char *table, const char *want, const char *name)
{
    struct file file = trace(text);
    table_is(&file, table, want, name);
    file_close(&file);
}

static void reads_as(const char *text, const char *values, const char *warnings, const char *name)
{
    struct file file = trace(text);
    char about[256];
    table_is(&file, "values", values, name);
    snprintf(about, sizeof about, "%s: the warnings are those expected", name);
    warnings_are(&file, warnings, about);
    file_close(&file);
}

#define AT(ph, ts, name) "{\"ph\":\"" ph "\",\"pid\":1,\"tid\":2,\"ts\":" ts ",\"name\":\"" name "\"}"
#define X(ts, dur, name)                                                                                     \
    "{\"ph\":\"X\",\"pid\":1,\"tid\":2,\"ts\":" ts ",\"dur\":" dur ",\"name\":\"" name "\"}"

static void nesting(void)
{
    reads_as(
        "[" X("0", "10", "a") "," X("2", "3", "b") "," AT("B", "6", "c") "," AT("E", "7", "c") "]",
        "1/2,a,time,6000|1/2,a,calls,1|1/2,a>b,time,3000|1/2,a>b,calls,1|1/2,a>c,time,1000|1/2,a>c,calls,1|",
        "", "slices are nested in those that are open when they begin");
    reads_as("{\"traceEvents\":[" X("5", "1", "b") "," X("0", "10", "a") "],\"x\":1}",
             "1/2,a,time,9000|1/2,a,calls,1|1/2,a>b,time,1000|1/2,a>b,calls,1|", "",
             "events may be in any order, and in an object");
    reads_as("[" X("0", "1", "b") "," X("0", "3", "a") "]",
             "1/2,a,time,2000|1/2,a,calls,1|1/2,a>b,time,1000|1/2,a>b,calls,1|", "",
             "the longer of two slices that begin at once is the outer one");
    reads_as("[" X("0", "1", "b") "," AT("s", "0", "flow") "," X("0", "3", "a") "]",
             "1/2,a,time,2000|1/2,a,calls,1|1/2,a>b,time,1000|1/2,a>b,calls,1|", "",
             "slices that begin at once may have other events between them");
    reads_as("[" AT("B", "0", "a") "," X("0", "5", "b") "," AT("E", "2", "a") "]",
             "1/2,a,calls,1|1/2,a>b,time,5000|1/2,a>b,calls,1|", "",
             "B and X events at one time are nested in file order, and the last one to begin has the time");
    reads_as("[" X("0", "0", "a") "," AT("B", "0", "b") "," AT("E", "1", "b") "]",
             "1/2,a,calls,1|1/2,b,time,1000|1/2,b,calls,1|", "", "a slice without duration has no children");
    reads_as("[" AT("B", "0", "a") "," AT("B", "1", "b") "," AT("E", "2", "a") "," AT("E", "4", "b") "]",
             "1/2,a,time,1000|1/2,a,calls,1|1/2,a>b,time,3000|1/2,a>b,calls,1|", "",
             "an E ends the B with its name, even if another B is nested in it");
    reads_as("[" AT("B", "0", "a") ",{\"ph\":\"E\",\"pid\":1,\"tid\":2,\"ts\":3}]",
             "1/2,a,time,3000|1/2,a,calls,1|", "", "an E without a name ends the innermost B");
    reads_as("[" AT("B", "0", "a") "," AT("E", "3", "") "]", "1/2,a,time,3000|1/2,a,calls,1|", "",
             "an E with an empty name ends the innermost B");
}

static void damage(void)
{
    reads_as("[" X("0", "10", "a") "," X("5", "10", "b") "]",
             "1/2,a,time,5000|1/2,a,calls,1|1/2,a>b,time,10000|1/2,a>b,calls,1|", "warning overlap|",
             "a slice that ends after its outer slice keeps its time, and the outer one has the rest");
    reads_as("[" AT("B", "0", "a") "," X("1", "9", "b") "]",
             "1/2,a,time,1000|1/2,a,calls,1|1/2,a>b,time,9000|1/2,a>b,calls,1|", "warning no-end|",
             "a B without an E ends with the last event of its thread");
    reads_as("[" AT("E", "0", "a") "]", "", "warning stray-end|", "an E without a B is ignored");
    reads_as("[" X("0", "1", "a") ",\n", "1/2,a,time,1000|1/2,a,calls,1|", "", "an array without its end is complete");
    reads_as("[" X("0", "1", "a") ",]", "1/2,a,time,1000|1/2,a,calls,1|", "",
             "an array with a comma before its end is complete");
    reads_as("[" X("0", "1", "a") ",{\"ph\":\"X\",\"ts", "1/2,a,time,1000|1/2,a,calls,1|", "fatal cut|",
             "an array with a truncated event is truncated");
    reads_as("{\"traceEvents\":[" X("0", "1", "a"), "1/2,a,time,1000|1/2,a,calls,1|", "fatal cut|",
             "an object without its end is truncated");
    reads_as("[" X("0", "1", "a") ",}", "1/2,a,time,1000|1/2,a,calls,1|", "fatal damaged|",
             "malformed JSON ends reading");
    reads_as("{\"traceEvents\":[" X("0", "1", "a") "]}," X("1", "1", "b") "]}",
             "1/2,a,time,1000|1/2,a,calls,1|", "fatal damaged|", "text after the object is reported");
    reads_as("[7,[1],{\"ts\":1}," X("0", "-1", "a") "," X("0", "[]", "b") "," X("\\u0031", "1", "c") "," AT(
                 "X", "null", "d") "]",
             "1/2,a,calls,1|1/2,b,calls,1|",
             "warning no-event|warning no-event|warning no-event|warning negative-duration|warning "
             "no-duration|fatal damaged|",
             "items that are not events or have no time are reported");
}

static void times(void)
{
    const char *text = "[" X("1707417525509335.123", "0.0015", "a") "," X("\"3\"", "\"1.5\"", "b") "]";
    table_reads(text, "trace", "1/2,3000,1500,0,0,X,b|1/2,1707417525509335123,1,0,1,X,a|",
                "times are read as decimals, also from texts, and truncated to nanoseconds");
    reads_as("[" X("1e30", "1", "a") "," X("1", "1e30", "b") "]", "1/2,b,calls,1|",
             "warning no-time|warning no-duration|", "times out of range are invalid");
}

static void threads(void)
{
    struct file file = trace(
        "[{\"ph\":\"M\",\"pid\":9,\"name\":\"process_name\",\"args\":{\"name\":\"rank\"}},"
        "{\"ph\":\"X\",\"pid\":9,\"tid\":\"stream 7\",\"ts\":1,\"dur\":1},"
        "{\"ph\":\"X\",\"pid\":3,\"ts\":1,\"dur\":1},{\"ph\":\"i\",\"ts\":1},"
        "{\"args\":{\"x\":[],\"name\":\"first\"},\"ph\":\"M\",\"pid\":3,\"tid\":3,\"name\":\"thread_name\"},"
        "{\"ph\":\"M\",\"pid\":3,\"tid\":3,\"name\":\"thread_name\",\"args\":{\"name\":\"main\"}},"
        "{\"ph\":\"M\",\"pid\":3,\"tid\":4,\"name\":\"thread_name\",\"args\":{\"name\":\"idle\"}}]");
    char *have = NULL;
    size_t size;
    FILE *out = open_memstream(&have, &size);
    for (size_t i = 0; file.loaded && i < pf_rows_count(file.model.partitions.items); i++) {
        print_cell(out, &pf_rows_at(file.model.partitions.items, i)[1]);
        fputc(':', out);
        print_cell(out, &pf_rows_at(file.model.partitions.fields, i)[2]);
        fputc('|', out);
    }
    fclose(out);
    is(have, "9/stream 7:rank|3/3 main:|0/0:|",
       "threads are identified by pid and tid, and named by metadata, the last of which is used");
    free(have);
    file_close(&file);
    table_reads("[{\"ph\":\"X\",\"pid\":1,\"tid\":\"2 "
                "a\",\"ts\":1,\"dur\":1},{\"ph\":\"X\",\"pid\":1,\"tid\":2,\"ts\":1,\"dur\":1},"
                "{\"ph\":\"M\",\"pid\":1,\"tid\":2,\"name\":\"thread_name\",\"args\":{\"name\":\"a\"}}]",
                "trace", "1/2 a,1000,1000,0,0,X,(unnamed)|1/2 a~1,1000,1000,0,0,X,(unnamed)|",
                "threads of one name get distinct names");
}

static void other_events(void)
{
    static const char text[] =
        "[{\"ph\":\"b\",\"pid\":1,\"tid\":2,\"ts\":1,\"id\":\"0x1\",\"cat\":\"fs\",\"name\":\"read\"},"
        "{\"ph\":\"C\",\"pid\":1,\"tid\":2,\"ts\":2,\"name\":\"mem\",\"args\":{\"a\":1,\"b\":\"no\",\"c\":2."
        "5}},"
        "{\"ph\":\"i\",\"pid\":1,\"tid\":3,\"ts\":3,\"s\":\"g\",\"name\":\"mark\"},"
        "{\"ph\":\"e\",\"pid\":1,\"tid\":2,\"ts\":4,\"id\":17,\"name\":\"read\"},"
        "{\"ph\":\"C\",\"pid\":1,\"tid\":2,\"ts\":5,\"name\":\"mem\",\"args\":{\"a\":3}},"
        "{\"ph\":\"Q\",\"pid\":1,\"tid\":2,\"ts\":6}]";
    table_reads(text, "async", "1/2,1000,b,0x1,fs,read|1/2,4000,e,17,,read|",
                "async.csv has asynchronous events with their ids");
    table_reads(text, "counters", "1/2,2000,1,,a,mem|1/2,2000,2.5,,c,mem|1/2,5000,3,,a,mem|",
                "counters.csv has one row per series");
    table_reads(text, "instants", "1/3,3000,g,,mark|", "instants.csv has instant events");
    table_reads(text, "trace",
                "1/2,1000,,,,b,read|1/2,2000,,,,C,mem|1/2,4000,,,,e,read|1/2,5000,,,,C,mem|1/"
                "2,6000,,,,Q,(unnamed)|1/3,3000,,,,i,mark|",
                "trace.csv has events other than slices, without a depth");
    struct file file = trace(text);
    struct pf_restriction only = PF_UNRESTRICTED;
    for (unsigned hop = 1; hop < 3; hop++) {
        char *have = table_text(&file.model, "counters", only, hop);
        is(have, "1/2,2000,1,,a,mem|1/2,2000,2.5,,c,mem|1/2,5000,3,,a,mem|",
           "a position can be saved between the series of a counter");
        free(have);
    }
    only.partition = 1;
    char *have = table_text(&file.model, "trace", only, 1);
    is(have, "1/3,3000,,,,i,mark|", "a walk restricted to a thread yields its events");
    free(have);
    file_close(&file);
}

/* Loading many overlapping slices must not take quadratic time. */
static void long_chains(void)
{
    enum { SLICES = 60000 };
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    fputc('[', out);
    for (int i = 0; i < SLICES; i++)
        fprintf(out, "{\"ph\":\"X\",\"ts\":%d,\"dur\":%d,\"name\":\"a\"},", i, 1000 + i % 7);
    for (int i = 0; i < SLICES; i++)
        fprintf(out, "{\"ph\":\"B\",\"ts\":%d,\"name\":\"b%d\"},", 2 * SLICES + i, i);
    for (int i = 0; i < SLICES; i++)
        fprintf(out, "{\"ph\":\"E\",\"ts\":%d,\"name\":\"b%d\"},", 3 * SLICES, i);
    fclose(out);
    struct file file;
    file_open(&file, &pf_chrome_trace_driver, "a.json", text, size, 1 << 16);
    ok(file.loaded && file.model.contexts->count == 2 * SLICES,
       "any number of slices may overlap each other");
    file_close(&file);
    free(text);
}

/* Checks a file with `n` slices "b" of zero duration, then a longer slice "a" that begins at the same time. */
static void many_at_once(size_t n, const char *values, const char *warnings, const char *name)
{
    char *text = repeated("[", X("0", "0", "b") ",", n, X("0", "10", "a") "]");
    reads_as(text, values, warnings, name);
    free(text);
}

static void equal_times(void)
{
    many_at_once(5000, "1/2,a,time,10000|1/2,a,calls,1|1/2,a>b,calls,5000|", "",
                 "any number of slices that begin at once are nested by their durations");
    many_at_once((1 << 20) + 5, "1/2,b,calls,1048576|1/2,a,time,10000|1/2,a,calls,1|1/2,a>b,calls,5|",
                 "warning equal-times|", "more than a million slices that begin at once are nested in part");
}

static unsigned sure(const char *name, const char *text)
{
    return sureness(&pf_chrome_trace_driver, name, text, strlen(text));
}

static void probing(void)
{
    ok(sure("x", "{\"a\":[{}],\"traceEvents\":[") > 0, "an object is recognised by its member traceEvents");
    ok(sure("x", " [\n{\"name\":\"a\",\"ph\":\"X\",\"ts\":1") > 0, "an array is recognised by its first element");
    ok(!sure("x.json", "[{\"ph\":7.1,\"ts\":1}]"), "objects with pH values are rejected");
    ok(!sure("x.json", "[{\"name\":\"a\"}]"), "other lists of objects are rejected");
    ok(!sure("x.json", "[1,2]") && !sure("x.json", "[]") && !sure("x.json", "{}"),
       "other JSON values are rejected");
    ok(!sure("x.json", "{\"args\":{\"traceEvents\":[]}}"),
       "a member traceEvents below the top level is not sufficient");
}

#define COUNTER(args) "{\"ph\":\"C\",\"pid\":1,\"tid\":2,\"ts\":1,\"name\":\"n\",\"args\":" args "}"

/* Some writers print doubles with printf or repr. NaN and infinities are accepted as numbers, and the members after them are kept. */
static void not_finite(void)
{
    table_reads(
        "[" COUNTER("{\"a\":-nan,\"b\":1,\"c\":inf,\"d\":-Infinity,\"e\":NaN,\"f\":-nan(ind),\"g\":2}") "]",
        "counters",
        "1/2,1000,nan,,a,n|1/2,1000,1,,b,n|1/2,1000,inf,,c,n|1/2,1000,-inf,,d,n|1/2,1000,nan,,e,n|"
        "1/2,1000,nan,,f,n|1/2,1000,2,,g,n|",
        "NaN and infinities are accepted as values of counters");
    reads_as(
        "[{\"ph\":\"X\",\"pid\":1,\"tid\":2,\"ts\":1,\"dur\":nan,\"args\":{\"bw\":inf},\"name\":\"a\"}," X(
            "2", "1", "b") "]",
        "1/2,a,calls,1|1/2,b,time,1000|1/2,b,calls,1|", "warning no-duration|",
        "a duration that is NaN is reported");
    struct file file = trace(
        "[{\"ph\":\"M\",\"pid\":1,\"tid\":2,\"name\":\"thread_name\",\"args\":{\"x\":nan,\"name\":\"t\"}},"
        "{\"ph\":\"C\",\"pid\":1,\"tid\":2,\"ts\":1,\"args\":{\"a\":1,\"b\":oops,\"c\":2}}]");
    table_is(&file, "counters", "1/2 t,1000,1,,a,(unnamed)|", "args are used up to malformed JSON");
    warnings_are(&file, "warning bad-args|", "malformed JSON in args is reported");
    file_close(&file);
}

/* Members whose value should be a string but has another type are ignored. */
static void members_of_other_types(void)
{
    static const char *const values[] = {"{}", "[]", "null", "true"};
    for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
        char text[300];
        snprintf(text, sizeof text,
                 "[{\"name\":%s,\"cat\":%s,\"id\":%s,\"s\":%s,\"ph\":\"X\",\"pid\":1,\"tid\":2,\"ts\":1,"
                 "\"dur\":2}]",
                 values[i], values[i], values[i], values[i]);
        reads_as(text, "1/2,(unnamed),time,2000|1/2,(unnamed),calls,1|", "", values[i]);
    }
}

static void much_memory(void)
{
    struct file file;
    char *text = repeated("[{\"ph\":\"X\",\"name\":\"a\",\"ts\":1,\"dur\":1}",
                          ",{\"ph\":\"B\",\"name\":\"b\",\"ts\":3}", 4000000, "]");
    file_open(&file, &pf_chrome_trace_driver, "a.json", text, strlen(text), 1 << 20);
    const struct pf_rows *warnings = file.model.warnings;
    ok(file.loaded && pf_rows_count(warnings) && !strcmp(pf_rows_at(warnings, 0)[3].text, "too-large"),
       "a file that takes too much memory is reported");
    file_close(&file);
    free(text);
}

int main(void)
{
    nesting();
    not_finite();
    members_of_other_types();
    damage();
    times();
    threads();
    other_events();
    long_chains();
    equal_times();
    probing();
    much_memory();
    return done();
}
