/* SPDX-License-Identifier: MIT */
/* Tests how AFPerf texts are split into records, fields and numbers. */
#include <errno.h>

#include "formats/afperf/decode.h"
#include "tests/unit/afperf_profile.h"
#include "tests/unit/tap.h"

/* ---- records ------------------------------------------------------------------------------------ */

/* Returns one line per record: its kind if unusual, "LINE:FIELD|FIELD" and its faults. */
static char *records_of(const void *bytes, size_t size)
{
    struct afperf_profile p;
    struct pf_input *input;
    make_folder(&p);
    write_profile(p.directory, bytes, size);
    struct pf_source *source = pf_source_new(p.directory, "run.afperf", &p.error);
    char *text = NULL;
    size_t length = 0;
    FILE *out = open_memstream(&text, &length);
    if (pf_source_open(source, NULL, PF_RAW, &input, &p.error) < 0)
        exit(1);
    struct afperf_reader *reader = afperf_reader_new(input);
    struct afperf_record record;
    while (afperf_reader_next(reader, &record, &p.error) > 0) {
        static const char *const kinds[] = {"", "header ", "unterminated ", "too long "};
        fprintf(out, "%s%" PRIu64 ":", kinds[record.kind], record.line);
        for (size_t i = 0; record.kind == AFPERF_FIELDS && i < record.n && i < 8; i++)
            fprintf(out, "%s%.*s", i ? "|" : "", (int)record.fields[i].size, record.fields[i].text);
        fprintf(out, "%s%s%s%s\n", record.quotes_inside ? " quote" : "",
                record.text_after_quote ? " tail" : "", record.bad_utf8 ? " utf8" : "",
                record.nul ? " nul" : "");
    }
    fclose(out);
    afperf_reader_free(reader);
    pf_source_free(source);
    remove_folder(&p);
    return text;
}

static void reads(const char *text, const char *want, const char *name)
{
    char *have = records_of(text, strlen(text));
    is(have, want, name);
    free(have);
}

static void test_records(void)
{
    reads("a,b\nc\n", "1:a|b\n2:c\n", "a record is a line, its fields are separated by commas");
    reads("a,b\r\nc,", "1:a|b\n2:c|\n", "CR LF ends a line too; the last line needs no end");
    reads("a\rb,c\r\r\n", "1:a\rb|c\r\n", "a CR elsewhere is data");
    reads("\n \t\n# x \"y\n a\n", "4: a\n",
          "blank records and comments are skipped; quotes in comments have no effect");
    reads("a\n# AFPerf v1     \n# AFPerf notes\n", "1:a\nheader 2:\n", "a version header may be repeated");
    reads("a,\"b,\"\"c\"\"\",d\n", "1:a|b,\"c\"|d\n", "quotes protect commas, and a doubled quote is a quote");
    reads("a,\"b\nc\r\n# d\",e\nf\n", "1:a|b\nc\r\n# d|e\n4:f\n",
          "a quoted field may contain newlines, which count as lines");
    reads("a,b\"c,\"d\"e\n", "1:a|b\"c|de quote tail\n",
          "quotes within fields, and text after a closing quote, are kept");
    reads("a,\"b\nc\nd\n", "unterminated 1:\n2:c\n3:d\n", "a quote that is never closed costs one line");
    reads("", "", "an empty file has no records");
    reads("\"\"\n", "1:\n", "an empty quoted field is a record");
    reads("a\xff\xc3\xa9\xe2\x82,b\n", "1:a\xef\xbf\xbd\xc3\xa9\xef\xbf\xbd|b utf8\n",
          "bytes that are not UTF-8 become U+FFFD, one for each broken character");
    char *have = records_of("a\0b,c\n", 6);
    is(have,
       "1:a\xef\xbf\xbd"
       "b|c nul\n",
       "NUL bytes become U+FFFD");
    free(have);
}

/* Returns `start`, then `middle` `n` times, then `end`. */
static char *repeated(const char *start, const char *middle, size_t n, const char *end, size_t *size)
{
    char *text = NULL;
    FILE *out = open_memstream(&text, size);
    fputs(start, out);
    for (size_t i = 0; i < n; i++)
        fputs(middle, out);
    fputs(end, out);
    fclose(out);
    return text;
}

static void test_long_records(void)
{
    size_t size;
    char *text = repeated("a,", "x", 2 << 20, "\nb\n", &size), *have = records_of(text, size);
    is(have, "too long 1:\n2:b\n", "a record of more than 1 MiB is dropped");
    free(text);
    free(have);
    text = repeated("# ", "x", 2 << 20, "\nb\n", &size);
    have = records_of(text, size);
    is(have, "2:b\n", "a comment may have any length");
    free(text);
    free(have);
    text = repeated("a,\"", "x", 1000000, "\",b\n", &size);
    have = records_of(text, size);
    ok(size > 1000000 && strlen(have) > 1000000 && !strncmp(have, "1:a|xxx", 7),
       "a record just below the limit is read");
    free(text);
    free(have);
    text = repeated("a,\"x\n", "b\n", 600000, "", &size);
    have = records_of(text, size);
    ok(!strncmp(have, "unterminated 1:\n2:b\n", 20), "a quote that is still open after 1 MiB costs one line");
    free(text);
    free(have);
    text = repeated("a,\"", "x", 2 << 20, "\nb\n", &size);
    have = records_of(text, size);
    is(have, "unterminated 1:\n2:b\n",
       "a quote that is still open after 1 MiB of a single line costs one line");
    free(text);
    free(have);
    text = repeated("a,\"b\",", "x", 2 << 20, "\nb\n", &size);
    have = records_of(text, size);
    is(have, "too long 1:\n2:b\n", "a record with closed quotes is reported as too long");
    free(text);
    free(have);
    /* Whichever line a record starts at, its quotes stay open for over 1 MiB. Reading must not take quadratic time. */
    text = repeated("8,\"x\n", "x\",\"y\n", 1000000, "z\n", &size);
    have = records_of(text, size);
    ok(strlen(have) > 4 && !strcmp(have + strlen(have) - 10, "1000002:z\n"),
       "a file of a million unclosed lines is read to its end");
    free(text);
    free(have);
}

/* Number of digits that text_of appends after a text, which the parsers must not read. */
enum { PADDING = 16 };

/* ---- numbers ------------------------------------------------------------------------------------ */

/* Returns the text as a field of the reader, followed by PADDING digits outside of the field; valid until the next call. */
static struct afperf_text text_of(const char *text)
{
    static char field[64 + PADDING];
    size_t size = strlen(text);
    memcpy(field, text, size);
    memset(field + size, '7', PADDING);
    return (struct afperf_text){field, size};
}

static void integer_is(const char *text, enum afperf_problem parsed, uint64_t want, bool padded)
{
    uint64_t value = 0;
    bool zero = false;
    enum afperf_problem got = afperf_unsigned(text_of(text), &value, &zero);
    ok(got == parsed && (got || value == want) && zero == padded, "id or timestamp '%s'", text);
}

static void test_integers(void)
{
    integer_is("0", AFPERF_SOUND, 0, false);
    integer_is("18446744073709551615", AFPERF_SOUND, UINT64_MAX, false);
    integer_is("18446744073709551616", AFPERF_NUMBER_OUT_OF_RANGE, 0, false);
    integer_is("0xFFFFFFFFFFFFFFFF", AFPERF_SOUND, UINT64_MAX, false);
    integer_is("0X10", AFPERF_SOUND, 16, false);
    integer_is("0x10000000000000000", AFPERF_NUMBER_OUT_OF_RANGE, 0, false);
    integer_is("0x00000000000000000000010", AFPERF_SOUND, 16, false);
    integer_is("0100", AFPERF_SOUND, 100, true);
    integer_is("00", AFPERF_SOUND, 0, true);
    integer_is(" \t+7 ", AFPERF_SOUND, 7, false);
    integer_is("-7", AFPERF_NEGATIVE_NUMBER, 0, false);
    integer_is("", AFPERF_MISSING_FIELD, 0, false);
    integer_is(" \t", AFPERF_MISSING_FIELD, 0, false);
    integer_is("0x", AFPERF_BAD_INTEGER, 0, false);
    integer_is("1e3", AFPERF_BAD_INTEGER, 0, false);
    integer_is("1.5", AFPERF_BAD_INTEGER, 0, false);
    integer_is("1_000", AFPERF_BAD_INTEGER, 0, false);
    integer_is("a1", AFPERF_BAD_INTEGER, 0, false);
    integer_is("1 2", AFPERF_BAD_INTEGER, 0, false);
    integer_is("-", AFPERF_BAD_INTEGER, 0, false);
}

static void double_is(const char *text, double want)
{
    double value = 0;
    ok(afperf_double(text_of(text), &value) && (value == want || (isnan(value) && isnan(want))),
       "floating point '%s'", text);
}

static void no_double(const char *text)
{
    double value;
    ok(!afperf_double(text_of(text), &value), "'%s' is no floating point number", text);
}

static void test_doubles(void)
{
    double_is("0.531", 0.531);
    double_is(" 2.5 ", 2.5);
    double_is("-INF", -HUGE_VAL);
    double_is("infinity", HUGE_VAL);
    double_is("nan(0x7)", NAN);
    double_is("1e999", HUGE_VAL);
    double_is("1e-400", 0);
    double_is("0x1.8p3", 12);
    double_is("-0X.8P-2", -0.125);
    double_is("0x10", 16);
    double_is("0x1p-1074", 0x1p-1074);
    double_is("0x1p99999999999999999999", HUGE_VAL);
    double_is("0x1.00000000000008p0", 1);
    double_is("0x1.000000000000080000000000001p0", 0x1.0000000000001p0);
    no_double("");
    no_double("1e");
    no_double("0x1p");
    no_double("0x");
    no_double("0x.p1");
    no_double("1_0");
    no_double("nan(");
    no_double("nan(-)");
    no_double("12abc");
}

static void test_units(void)
{
    ok(afperf_nanoseconds(text_of("microseconds")) == 1000, "words are accepted as units");
    ok(afperf_nanoseconds(text_of("ms")) == 1000000, "abbreviations are accepted as units");
    ok(afperf_nanoseconds(text_of("\xc2\xb5s")) == 1000 && afperf_nanoseconds(text_of("\xce\xbcs")) == 1000 &&
           afperf_nanoseconds(text_of("\xc3\x8e\xc2\xbcs")) == 1000,
       "microseconds are spelt with a micro sign, a Greek mu, or its mis-decoded forms");
    ok(afperf_nanoseconds(text_of("fortnights")) == 0, "other units are unknown");
}

int main(void)
{
    test_records();
    test_long_records();
    test_integers();
    test_doubles();
    test_units();
    return done();
}
