/* SPDX-License-Identifier: MIT */
/* Which records are plain, and that these say the same as if they had been decoded field by field. */
#include <limits.h>

#include "tests/unit/afperf_decoded.h"
#include "tests/unit/afperf_profile.h"
#include "tests/unit/tap.h"

/* Reads the text both ways; tells how many of its records are plain, or the line where the ways differ as a negative number. */
static long plain_records(const void *text, size_t size)
{
    struct afperf_profile p;
    struct pf_input *input;
    size_t plain = 0;
    make_folder(&p);
    write_profile(p.directory, text, size);
    struct pf_source *source = pf_source_new(p.directory, "run.afperf", &p.error);
    if (pf_source_open(source, NULL, &input, &p.error) < 0)
        exit(1);
    uint64_t line = first_difference(input, &plain);
    pf_source_free(source);
    remove_folder(&p);
    return line ? -(long)line : (long)plain;
}

/* How many plain records there are in one record that is not the first: of that the reader has nothing yet. */
static long plain_in(const char *record)
{
    char text[512];
    return plain_records(text, (size_t)snprintf(text, sizeof text, "unknown\n%s", record));
}

static void is_plain(const char *record, const char *name)
{
    ok(plain_in(record) == 1, "plain: %s", name);
}

static void is_not_plain(const char *record, const char *name)
{
    ok(plain_in(record) == 0, "not plain: %s", name);
}

static void test_plain(void)
{
    is_plain("RegionStart,10,1,0x1f,main,a=b\n", "a region's start");
    is_plain("5,10,1,0x1F,main\n", "by number, in capital digits, without tags");
    is_plain("RegionStart,10,,3,,\n", "without run and label");
    is_plain("RegionStart,10,1,3,\"f(a, b)\",\"x=1,2\"\r\n", "with quoted texts, and CR LF");
    is_plain("RegionStop,9999999999999999999,0xffffffffffffffff\n", "numbers of 64 bits");
    is_plain("RegionStop,0,\n", "a stop without id");
    is_plain("RegionPoint,10,3,9,1,8,-2.5,7,some text,6,\n", "four values, numbers and texts");
    is_plain("RegionAggregate,10,5,3,,9,1e3\n", "an aggregate, raw");
    is_plain("RunAggregate,10,10,1,sum,9,1\n", "or processed");
    is_plain("RunPoint,10,1,9,1\n", "data of a run");
    is_plain("SectionStart,10,51,1\n", "a section's start");
    is_plain("SectionStop,10\n", "its stop, without ids");
    is_plain("SectionPoint,10,51,1,9,1\n", "data of a section");
    is_plain("SectionAggregate,10,5,51,,mean,9,1\n", "aggregates of one");
}

static void test_not_plain(void)
{
    is_not_plain("RegionStop,10,3", "a last line without end, which may be cut off");
    is_not_plain("RegionStop,010,3\n", "a leading zero");
    is_not_plain("RegionStop,10, 3\n", "a blank before a number");
    is_not_plain("RegionStop,0x,3\n", "no digits");
    is_not_plain("RegionStop,18446744073709551616,3\n", "20 digits");
    is_not_plain("RegionStop,0x10000000000000000,3\n", "17 hexadecimal ones");
    is_not_plain("RegionStop,-1,3\n", "a sign");
    is_not_plain("RegionStop,,3\n", "no time");
    is_not_plain("RegionStop,10,3,4\n", "a field too many");
    is_not_plain("RegionStop,10,3\r\r\n", "a CR that is data");
    is_not_plain("RegionStart,10,1,,a,\n", "a start without id, which may be of another shape");
    is_not_plain("RegionStart,10,3,main,\n", "the document's shape of a start");
    is_not_plain("RegionStart,10,1,3,a\"b,\n", "a quote inside text");
    is_not_plain("RegionStart,10,1,3,\"a\"\"b\",\n", "a doubled quote");
    is_not_plain("RegionStart,10,1,3,\"a\"b,\n", "text behind a quote");
    is_not_plain("RegionStart,10,1,3,\xc3\xa9,\n", "text beyond ASCII");
    is_not_plain("RegionStart,10,1,3,a\tb,\n", "a control character");
    is_not_plain("RegionPoint,10,3\n", "data without a value");
    is_not_plain("RegionPoint,10,3,9\n", "half a pair");
    is_not_plain("RegionPoint,10,3,9,1,\n", "a blank field at the end");
    is_not_plain("RegionPoint,10,3,x,1\n", "a type that is no id");
    is_not_plain("RegionPoint,10,3,9,1,9,2,9,3,9,4,9,5\n", "many pairs");
    is_not_plain("RegionAggregate,5,10,3,,9,1\n", "an end before the start");
    is_not_plain("RegionAggregate,10,5,3, sum,9,1\n", "blanks around an aggregation");
    is_not_plain("Regionstop,10,3\n", "another name");
    is_not_plain("06,10,3\n", "a padded number of a type");
    is_not_plain("RunInfo,0,ns,1,1.0.0,1,app,2,\n", "types that are rare");
    is_not_plain("\"RegionStop\",10,3\n", "a quoted type");
}

static unsigned next_random(uint64_t *state)
{
    *state = *state * UINT64_C(6364136223846793005) + 1442695040888963407;
    return (unsigned)(*state >> 33);
}

/* Many records of fields that are right, nearly right, or wrong. */
static char *random_records(uint64_t seed, size_t *size)
{
    static const char *const types[] = {"RegionStart",
                                        "RegionStop",
                                        "RegionPoint",
                                        "RegionAggregate",
                                        "RunPoint",
                                        "RunAggregate",
                                        "SectionStart",
                                        "SectionStop",
                                        "SectionPoint",
                                        "SectionAggregate",
                                        "SectionInfo",
                                        "4",
                                        "5",
                                        "6",
                                        "0xd",
                                        "14",
                                        "05",
                                        "Region",
                                        ""};
    static const char *const fields[] = {"1",
                                         "10",
                                         "0x1f",
                                         "0xFFFFFFFFFFFFFFFF",
                                         "",
                                         "",
                                         "0",
                                         "-0",
                                         "01",
                                         "a",
                                         "a b",
                                         " 1",
                                         "1 ",
                                         "\"q\"",
                                         "\"q,\"",
                                         "\"q\"\"\"",
                                         "q\"",
                                         "\"q\"x",
                                         "2.5",
                                         "-.5",
                                         ".",
                                         "-",
                                         "1e3",
                                         "99999999999999999999",
                                         "1234567890123456789",
                                         "9223372036854775808",
                                         "\t",
                                         "\xc3\xa9",
                                         "\xff",
                                         "\x7f",
                                         "sum",
                                         "\"\n\"",
                                         "0x",
                                         "0xg",
                                         "k=v;l"};
    static const char *const ends[] = {"\n", "\n", "\n", "\r\n", ",\n", "\r\r\n"};
    char *text = NULL;
    FILE *out = open_memstream(&text, size);
    for (unsigned record = 0; record < 4000; record++) {
        fputs(types[next_random(&seed) % (sizeof types / sizeof *types)], out);
        unsigned n = next_random(&seed) % 12, wild = next_random(&seed) % 3;
        for (unsigned i = 0; i < n; i++)
            fprintf(out, ",%s", fields[next_random(&seed) % (wild ? 7 : sizeof fields / sizeof *fields)]);
        fputs(ends[next_random(&seed) % (sizeof ends / sizeof *ends)], out);
    }
    fclose(out);
    return text;
}

static void test_agreement(void)
{
    long least = LONG_MAX;
    for (uint64_t seed = 1; seed <= 40; seed++) {
        size_t size;
        char *text = random_records(seed, &size);
        long plain = plain_records(text, size);
        least = plain < least ? plain : least;
        free(text);
    }
    ok(least > 100, "whatever the fields, what is plain says the same as if it had been decoded");
    if (least <= 100)
        printf("# plain records, or minus the line of a difference: %ld\n", least);
}

/* Lines of all lengths, so that the window ends anywhere in one. */
static void test_window_ends(void)
{
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    for (int i = 0; i < 40000; i++)
        fprintf(out, "RegionStart,%d,1,%d,%.*s,\r\n", i, i, i % 61,
                "a label of sixty bytes and without commas: cut at any length");
    fclose(out);
    long plain = plain_records(text, size);
    ok(plain > 39900 && plain < 40000, "a line that the window cuts off is left to who reads on");
    free(text);
}

static void test_long(void)
{
    size_t size = (2 << 20) + 100;
    char *text = malloc(size);
    memset(text, 'x', size);
    memcpy(text, "RegionStart,1,1,1,", 18);
    text[(1 << 20) + 1] = text[size - 1] = '\n';
    memcpy(text + (1 << 20) + 2, "RegionStop,1,", 13);
    ok(plain_records(text, size) == 0, "a record of more than 1 MiB is not plain");
    free(text);
}

int main(void)
{
    test_plain();
    test_not_plain();
    test_agreement();
    test_window_ends();
    test_long();
    return done();
}
