/* SPDX-License-Identifier: MIT */
#include "tests/unit/profile_file.h"

extern const struct pf_driver pf_speedscope_driver;

#define SCHEMA "\"$schema\":\"https://www.speedscope.app/file-format-schema.json\""
#define SHARED "\"shared\":{\"frames\":[{\"name\":\"a\",\"file\":\"a.c\",\"line\":3},{\"name\":\"b\"}]}"
#define SAMPLED(unit, samples, weights)                                                                      \
    "{\"type\":\"sampled\",\"name\":\"t\",\"unit\":\"" unit                                                  \
    "\",\"startValue\":1,\"endValue\":9,\"samples\":[" samples "],\"weights\":[" weights "]}"
#define EVENTED(events)                                                                                      \
    "{\"type\":\"evented\",\"name\":\"t\",\"unit\":\"none\",\"startValue\":0,\"endValue\":9,\"events\":"     \
    "[" events "]}"
#define O(frame, at) "{\"type\":\"O\",\"frame\":" #frame ",\"at\":" #at "}"
#define C(frame, at) "{\"type\":\"C\",\"frame\":" #frame ",\"at\":" #at "}"

static void file_reads(const char *text, const char *table, const char *want, const char *warnings,
                       const char *name)
{
    struct file file;
    char about[256];
    file_open(&file, &pf_speedscope_driver, "a.json", text, strlen(text), 1 << 20);
    table_is(&file, table, want, name);
    snprintf(about, sizeof about, "%s: the warnings are those expected", name);
    warnings_are(&file, warnings, about);
    file_close(&file);
}

#define READS(profiles, table, want, warnings, name)                                                         \
    file_reads("{" SCHEMA "," SHARED ",\"profiles\":[" profiles "]}", table, want, warnings, name)

static void sampled(void)
{
    READS(SAMPLED("milliseconds", "[0],[0,1],[]", "1,0.5,7"), "values", "t,a,time,1000000|t,a>b,time,500000|",
          "", "a weight belongs to its whole stack, and that of an empty stack to none");
    READS(SAMPLED("milliseconds", "[0],[0,1],[]", "1,0.5,7"), "trace",
          "t,1000000,1000000,0,0,a|t,2000000,500000,1,1,b|", "",
          "trace.csv has one row per sample, starting at startValue");
    READS(SAMPLED("seconds", "[0]", "0.1234567891"), "values", "t,a,time,123456789.1|", "",
          "fractions of a nanosecond are kept");
    READS(SAMPLED("bytes", "[0]", "7") "," SAMPLED("none", "[1]", "2") "," SAMPLED("x", "[1]", "3"), "values",
          "t,a,bytes,7|t~1,b,samples,2|t~2,b,samples,3|", "",
          "each profile has its own unit and a unique name");
    READS(SAMPLED("none", "[0],[7]", "1,-2"), "values", "t,a,samples,1|t,[frame 7],samples,-2|",
          "warning no-frame|warning negative-weight|",
          "missing frames get a placeholder, and negative weights are kept");
    READS(SAMPLED("none", "[0],[{\"a\":[2]},1]", "1,2"), "values", "t,a,samples,1|t,[no frame]>b,samples,2|",
          "warning no-frame|", "frames that are not numbers get a placeholder");
    READS(SAMPLED("none", "[-1],[1,1.5],[99999999999999999999]", "1,2,4"), "values",
          "t,[frame -1],samples,1|t,b>[frame 1.5],samples,2|t,[frame 99999999999999999999],samples,4|",
          "warning no-frame|warning no-frame|warning no-frame|",
          "numbers that no frame has get a placeholder");
    READS(SAMPLED("none", "[[0]],[[0],1],[[]]", "1,2,4"), "values", "t,a,samples,1|t,a>b,samples,2|", "",
          "a frame in a list of its own is that frame");
    READS(SAMPLED("none", "[0],[1]", "1"), "values", "t,a,samples,1|", "warning counts|",
          "samples beyond the list of weights are omitted");
    READS(SAMPLED("none", "[0]", "1,2"), "values", "t,a,samples,1|", "warning counts|",
          "weights beyond the list of samples are omitted");
    READS(SAMPLED("none", "[0],[1 2],[0]", "1,2,3") "," SAMPLED("none", "[1]", "4"), "values",
          "t,a,samples,1|t~1,b,samples,4|", "fatal damaged|",
          "a malformed stack ends the profile's samples, but not the file");
    READS(SAMPLED("none", "[0],[1],[0]", "1,x,3") "," SAMPLED("none", "[1]", "4"), "values",
          "t,a,samples,1|t~1,b,samples,4|", "fatal damaged|",
          "a malformed weight ends the profile's samples, but not the file");
    READS(SAMPLED("none", "[0],1,[0]", "1,2,3"), "values", "t,a,samples,1|", "fatal damaged|",
          "a sample that is not a stack ends the profile's samples");
    READS(SAMPLED("none", "[0]", "\"1\""), "values", "", "warning no-weight|",
          "a weight that is not a number counts as 0");
}

static void evented(void)
{
    READS(EVENTED(O(0, 0) "," O(1, 1.5) "," C(1, 2) "," C(0, 4)), "values",
          "t,a,samples,3.5|t,a>b,samples,0.5|", "", "the innermost open frame has the time");
    READS(EVENTED(O(0, 0) "," O(1, 1.5) "," C(1, 2) "," C(0, 4)), "trace", "t,0,4,0,0,a|t,1.5,0.5,1,1,b|", "",
          "trace.csv has one row per opening event");
    READS(EVENTED(O(0, 0) "," O(1, 1)), "values", "t,a,samples,1|t,a>b,samples,8|", "warning not-closed|",
          "frames that stay open end with the profile");
    READS(EVENTED(O(0, 0) "," O(1, 1) "," C(0, 2)), "values", "t,a,samples,1|t,a>b,samples,1|",
          "warning close-below|", "closing a frame closes the frames that it called");
    READS(EVENTED(O(-1, 0) "," O(1, 1) "," C(1, 2) "," C(-1, 4) "," O(-2, 4) "," C(-2, 5)), "values",
          "t,[frame -1],samples,3|t,[frame -1]>b,samples,1|t,[frame -2],samples,1|",
          "warning no-frame|warning no-frame|",
          "frame numbers of events that no frame has get a placeholder");
    READS(EVENTED(C(1, 1) "," O(0, 2) "," C(0, 1)), "values", "", "warning stray-close|warning backwards|",
          "events that close a frame that is not open are omitted, and so are events whose time runs "
          "backwards");
    READS(EVENTED("7,{},[1]"), "values", "", "warning bad-event|warning bad-event|warning bad-event|",
          "values that are not events are omitted");
    READS(EVENTED(O(0, 0) ",x," C(0, 4)) "," EVENTED(O(1, 0) "," C(1, 3)), "values", "t~1,b,samples,3|",
          "warning not-closed|fatal damaged|",
          "a malformed event ends the profile's events, but not the file");
    READS("{\"type\":\"odd\",\"name\":\"\"}", "values", "", "warning no-type|",
          "a profile of an unknown type is omitted");
}

static void files(void)
{
    struct file file;
    static const char text[] = "{" SCHEMA "," SHARED ",\"profiles\":[" SAMPLED("none", "[0]", "1") "]}";
    file_open(&file, &pf_speedscope_driver, "a.json", text, strlen(text), 1 << 20);
    const struct pf_tree *tree = file.model.contexts;
    struct pf_cell name = tree->file ? pf_interned(tree->strings, tree->file[0]) : pf_absent();
    ok(name.size == 3 && !memcmp(name.text, "a.c", 3) && !tree->module, "a script is a file, not a module");
    file_close(&file);
    static const char several[] =
        "{" SCHEMA
        ",\"shared\":{\"frames\":[{\"name\":\"a\",\"file\":\"a.c\"},{\"name\":\"a\",\"file\":\"b.c\"},"
        "{\"name\":\"b\",\"file\":\"b.c\"}]},\"profiles\":[" SAMPLED("none", "[0],[1],[2]", "1,1,1") "]}";
    file_open(&file, &pf_speedscope_driver, "a.json", several, strlen(several), 1 << 20);
    tree = file.model.contexts;
    ok(tree->count == 3 && tree->file && tree->file[0] == PF_NO_STRING && tree->file[1] == PF_NO_STRING &&
           tree->file[2] != PF_NO_STRING,
       "functions of one name in several files are one function with separate contexts");
    file_close(&file);
}

static void order(void)
{
    file_reads(
        "{\"profiles\":[{\"weights\":[2],\"samples\":[[1]],\"type\":\"sampled\",\"unit\":\"none\"}]," SHARED
        "," SCHEMA "}",
        "values", "profile 0,b,samples,2|", "", "members of the file may come in any order");
    file_reads("{\"profiles\":[" SAMPLED("none", "[0]", "1") "]}", "values", "", "fatal damaged|",
               "a file without frames has no values");
    file_reads("{" SCHEMA "," SHARED ",\"profiles\":[" SAMPLED(
                   "none", "[0]", "1") ",{\"type\":\"sampled\",\"name\":\"t\",\"unit\":\"none\","
                                       "\"samples\":[[0],[1],[0]],\"weights\":[5,6,",
               "values", "t,a,samples,1|t~1,a,samples,5|t~1,b,samples,6|", "fatal damaged|",
               "samples before the end of a truncated file are kept");
    file_reads("{" SCHEMA "," SHARED ",\"profiles\":[{\"type\":\"sampled\",\"samples\":[[0],[1]", "values",
               "", "fatal damaged|", "weights that a truncated file lacks are not counted");
    file_reads("{" SCHEMA "," SHARED ",\"profiles\":[" EVENTED(O(0, 0) "," O(1, 2) "," C(1, 3) ",{"),
               "values", "t,a,samples,2|t,a>b,samples,1|", "warning not-closed|fatal damaged|",
               "events before the end of a truncated file are kept");
    file_reads("{\"profiles\":[" SAMPLED("none", "[0]", "1") "],\"sha", "values", "", "fatal damaged|",
               "a truncated file without frames has no values");
    file_reads("{" SCHEMA "," SHARED "},\"profiles\":[" SAMPLED("none", "[0]", "1") "]}", "values", "",
               "fatal damaged|", "text after the object is reported");
    file_reads("{" SCHEMA ",\"profiles\":[" SAMPLED("none", "[0]", "1") "]," SHARED "}}", "values",
               "t,a,samples,1|", "fatal damaged|", "profiles before text after the object are kept");
}

static unsigned sure(const char *name, const char *text)
{
    return sureness(&pf_speedscope_driver, name, text, strlen(text));
}

static void probing(void)
{
    ok(sure("x", "{" SCHEMA "}") > 0, "a file with the schema is recognised");
    ok(sure("x", "{\"$schema\":\"https:\\/\\/www.speedscope.app\\/file-format-schema.json\",\"a") > 0,
       "a schema with escaped slashes is recognised");
    ok(sure("x", "{\"profiles\":[{}],\"shared\":{\"frames\":[") > 0,
       "a file with shared frames and profiles is recognised");
    ok(!sure("x.json", "{\"profiles\":[{}],\"other\":{}}") && !sure("x.json", "{\"shared\":{}}"),
       "a file with only shared frames or only profiles is rejected");
    ok(!sure("x.json", "{\"$schema\":\"https://json-schema.org/\"}"),
       "a file with another schema is rejected");
}

/* Weights whose sum in units of 10^-12 ns exceeds 128 bits. */
static void long_times(void)
{
    enum { N = 17100 };
    static const char *const signs[] = {"", "-"};
    for (size_t i = 0; i < 2; i++) {
        struct file file;
        char part[32], *samples = repeated("", "[0],", N, "[0]"), *weights, *text = NULL, *rows;
        size_t size;
        snprintf(part, sizeof part, "%s1e22,", signs[i]);
        weights = repeated("", part, N, "0");
        FILE *out = open_memstream(&text, &size);
        fprintf(out,
                "{" SCHEMA "," SHARED ",\"profiles\":[{\"type\":\"sampled\",\"name\":\"t\",\"unit\":"
                "\"nanoseconds\",\"samples\":[%s],\"weights\":[%s]}]}",
                samples, weights);
        fclose(out);
        file_open(&file, &pf_speedscope_driver, "a.json", text, size, 1 << 20);
        rows = table_text(&file.model, "trace", PF_UNRESTRICTED, 1 << 20);
        snprintf(part, sizeof part, "|t,%s1e+26,", signs[i]);
        ok(strstr(rows, part) != NULL, "times beyond 128 bits are saturated, with the sign \"%s\"", signs[i]);
        const struct pf_rows *warnings = file.model.warnings;
        size_t n = pf_rows_count(warnings), found = 0;
        for (size_t k = 0; k < n; k++)
            found += !strcmp(pf_rows_at(warnings, k)[3].text, "time-range");
        ok(*signs[i] || found == 1, "saturated times are reported once"); /* negative weights: not checked */
        file_close(&file);
        free(rows);
        free(text);
        free(weights);
        free(samples);
    }
}

/* Millions of nested calls. */
static void much_memory(void)
{
    enum { CALLS = 3500000 };
    static const char head[] = "{" SCHEMA "," SHARED ",\"profiles\":[";
    static const struct {
        const char *before, *part, *after, *name;
    } cases[] = {
        {"{\"type\":\"sampled\",\"weights\":[1,2],\"samples\":[[0],[0", ",1", "]]}]}", "a deep stack"},
        {"{\"type\":\"evented\",\"events\":[" O(0, 0), ",{\"type\":\"O\",\"at\":1}", "]}]}", "deep events"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct file file;
        char *inner = repeated(cases[i].before, cases[i].part, CALLS, cases[i].after);
        char *text = repeated(head, inner, 1, "");
        file_open(&file, &pf_speedscope_driver, "a.json", text, strlen(text), 1 << 20);
        const struct pf_rows *warnings = file.model.warnings;
        bool fatal = false, counts = false;
        for (size_t k = 0; k < pf_rows_count(warnings); k++) {
            fatal |= !strcmp(pf_rows_at(warnings, k)[2].text, "fatal");
            counts |= !strcmp(pf_rows_at(warnings, k)[3].text, "counts");
        }
        ok(file.loaded && file.model.contexts->count < CALLS && fatal, "memory is bounded: %s",
           cases[i].name);
        ok(!counts, "weights of samples that are not read for lack of memory are not counted: %s",
           cases[i].name);
        file_close(&file);
        free(text);
        free(inner);
    }
}

int main(void)
{
    sampled();
    evented();
    files();
    order();
    probing();
    long_times();
    much_memory();
    return done();
}
