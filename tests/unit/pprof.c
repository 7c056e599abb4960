/* SPDX-License-Identifier: MIT */
#include <sys/resource.h>
#include <zlib.h>

#include "tests/unit/profile_file.h"

extern const struct pf_driver pf_pprof_driver;

/* ---- writing protocol buffers ------------------------------------------------------------------- */

struct bytes {
    unsigned char at[32 * 1024];
    size_t size;
};

static void put_varint(struct bytes *out, uint64_t value)
{
    for (; value >= 0x80; value >>= 7)
        out->at[out->size++] = (unsigned char)(value | 0x80);
    out->at[out->size++] = (unsigned char)value;
}

static void number(struct bytes *out, unsigned field, uint64_t value)
{
    put_varint(out, field << 3);
    put_varint(out, value);
}

static void content(struct bytes *out, unsigned field, const void *at, size_t size)
{
    put_varint(out, field << 3 | 2);
    put_varint(out, size);
    memcpy(out->at + out->size, at, size);
    out->size += size;
}

static void message(struct bytes *out, unsigned field, const struct bytes *content_of)
{
    content(out, field, content_of->at, content_of->size);
}

/* Appends a message in which values[i] is field i + 1. Values that are 0 are left out. */
static void numbers(struct bytes *out, unsigned field, const uint64_t *values, size_t n)
{
    struct bytes inner = {.size = 0};
    for (size_t i = 0; i < n; i++)
        if (values[i])
            number(&inner, (unsigned)i + 1, values[i]);
    message(out, field, &inner);
}

#define NUMBERS(out, field, ...)                                                                             \
    numbers(out, field, (const uint64_t[]){__VA_ARGS__},                                                     \
            sizeof((const uint64_t[]){__VA_ARGS__}) / sizeof(uint64_t))

static void strings(struct bytes *out, const char *const *texts, size_t n)
{
    for (size_t i = 0; i < n; i++)
        content(out, 6, texts[i], strlen(texts[i]));
}

#define STRINGS(out, ...)                                                                                    \
    strings(out, (const char *const[]){__VA_ARGS__},                                                         \
            sizeof((const char *const[]){__VA_ARGS__}) / sizeof(char *))

/* Appends a location with a line in the function `inner` and one in `outer`, into which inner is inlined (0: without this line). */
static void location(struct bytes *out, uint64_t id, uint64_t mapping, uint64_t inner, uint64_t outer)
{
    struct bytes location_of = {.size = 0};
    number(&location_of, 1, id);
    number(&location_of, 2, mapping);
    number(&location_of, 3, 4096 + id);
    if (inner)
        NUMBERS(&location_of, 4, inner, 10 + inner);
    if (outer)
        NUMBERS(&location_of, 4, outer);
    message(out, 4, &location_of);
}

/* Returns a sample of two locations, leaf first (0: no location), with a value. */
static struct bytes sample_of(uint64_t leaf, uint64_t root, uint64_t value)
{
    struct bytes sample = {.size = 0};
    if (leaf)
        number(&sample, 1, leaf);
    if (root)
        number(&sample, 1, root);
    number(&sample, 2, value);
    return sample;
}

static void sample(struct bytes *out, uint64_t leaf, uint64_t root, uint64_t value)
{
    struct bytes inner = sample_of(leaf, root, value);
    message(out, 2, &inner);
}

/* ---- profiles ----------------------------------------------------------------------------------- */

enum { EMPTY, CPU, NS, MAIN, WORK, LEAF, FILE_C, LIB, DROP, TID, NAME };

/*
 * Returns the functions 1 main, 2 work and 3 leaf, and five locations: 1 to 3 are in the function of the same number, 4 is in leaf inlined
 * into work, 5 has no function.
 */
static struct bytes common(void)
{
    struct bytes out = {.size = 0};
    NUMBERS(&out, 1, CPU, NS);
    NUMBERS(&out, 3, 1, 0, 0, 0, LIB);
    for (uint64_t i = 1; i <= 3; i++) {
        NUMBERS(&out, 5, i, MAIN - 1 + i, 0, FILE_C);
        location(&out, i, 1, i, 0);
    }
    location(&out, 4, 1, 3, 2);
    location(&out, 5, 1, 0, 0);
    STRINGS(&out, "", "cpu", "ns", "main", "work", "leaf", "a.c", "/usr/lib/libx.so", "work|le.*", "tid",
            "thread name");
    return out;
}

static struct file profile_of(const struct bytes *bytes)
{
    struct file file;
    file_open(&file, &pf_pprof_driver, "cpu.pb", bytes->at, bytes->size, 1 << 20);
    return file;
}

static void reads_as(const struct bytes *bytes, const char *want, const char *warnings, const char *name)
{
    struct file file = profile_of(bytes);
    char about[256];
    table_is(&file, "values", want, name);
    snprintf(about, sizeof about, "%s: the warnings are those expected", name);
    warnings_are(&file, warnings, about);
    file_close(&file);
}

static void stacks(void)
{
    struct bytes out = common();
    sample(&out, 2, 1, 3);
    sample(&out, 2, 1, 4);
    sample(&out, 4, 1, 5);
    sample(&out, 5, 1, 6);
    sample(&out, 0, 0, 7);
    sample(&out, 3, 0, (uint64_t)-8);
    reads_as(&out,
             "all,main>work,cpu,7|all,main>work>leaf,cpu,5|all,main>[libx.so],cpu,6|all,(no "
             "stack),cpu,7|all,leaf,cpu,-8|",
             "", "a stack is read leaf first, with inlined functions before their callers");
    struct file file = profile_of(&out);
    table_is(
        &file, "locations",
        "1,4097,11,main,a.c,/usr/lib/libx.so|2,4098,12,work,a.c,/usr/lib/libx.so|3,4099,13,leaf,a.c,/usr/lib/"
        "libx.so|"
        "4,4100,13,leaf,a.c,/usr/lib/libx.so|4,4100,,work,a.c,/usr/lib/libx.so|5,4101,,,,/usr/lib/libx.so|",
        "locations.csv has addresses and lines");
    file_close(&file);
}

static void lines(void)
{
    struct bytes out = common();
    sample(&out, 2, 1, 3);
    sample(&out, 2, 3, 4);
    sample(&out, 4, 1, 5);
    sample(&out, 5, 1, 6);
    sample(&out, 0, 0, 7);
    sample(&out, 9, 1, 8);
    struct file file = profile_of(&out);
    table_is(&file, "lines", "cpu,7,12,work,a.c|cpu,5,13,leaf,a.c|cpu,21,,,|",
             "a sample counts at the line of its innermost frame, inlined or not");
    file_close(&file);
    number(&out, 7, DROP);
    file = profile_of(&out);
    table_is(&file, "lines", "cpu,8,11,main,a.c|cpu,4,12,work,a.c|cpu,21,,,|",
             "a sample with dropped frames counts at the line that calls them");
    file_close(&file);
    out = common();
    struct bytes other = {.size = 0};
    NUMBERS(&out, 5, 6, MAIN, 0, LIB);
    number(&other, 1, 6);
    NUMBERS(&other, 4, 6, 11);
    message(&out, 4, &other);
    NUMBERS(&out, 1, NS, NS);
    struct bytes both = sample_of(6, 0, 2);
    number(&both, 2, 5);
    message(&out, 2, &both);
    sample(&out, 1, 0, 4);
    file = profile_of(&out);
    table_is(&file, "lines",
             "ns,5,11,main,/usr/lib/libx.so|cpu,4,11,main,a.c|cpu,2,11,main,/usr/lib/libx.so|",
             "functions of one name in two files have separate lines, for each type of samples");
    file_close(&file);
}

/* Tables after the samples, and packed lists. */
static void any_order(void)
{
    struct bytes out = {.size = 0}, inner = {.size = 0}, rest = common();
    content(&inner, 1, "\x02\x01", 2);
    content(&inner, 2, "\x81\x00", 2);
    message(&out, 2, &inner);
    memcpy(out.at + out.size, rest.at, rest.size);
    out.size += rest.size;
    reads_as(&out, "all,main>work,cpu,1|", "",
             "fields may come in any order, and numbers may be packed or have superfluous bytes");
}

static void threads(void)
{
    struct bytes out = common();
    struct bytes both = sample_of(1, 0, 1), name = sample_of(1, 0, 2), id = sample_of(1, 0, 4);
    NUMBERS(&both, 3, TID, 0, 7);
    NUMBERS(&both, 3, NAME, WORK);
    NUMBERS(&name, 3, NAME, LEAF);
    NUMBERS(&id, 3, TID, 0, 9);
    NUMBERS(&id, 3, TID, 0, 11);
    message(&out, 2, &both);
    message(&out, 2, &name);
    message(&out, 2, &id);
    sample(&out, 1, 0, 8);
    reads_as(&out, "work (7),main,cpu,1|leaf,main,cpu,2|thread-9,main,cpu,4|all,main,cpu,8|", "",
             "labels of a sample name its thread");
    struct file file = profile_of(&out);
    table_is(&file, "labels",
             "work (7),cpu,1,,7,tid|work (7),cpu,1,,work,thread name|leaf,cpu,2,,leaf,thread "
             "name|thread-9,cpu,4,,9,tid|"
             "thread-9,cpu,4,,11,tid|",
             "labels of samples have sums of their own");
    file_close(&file);
}

/* Some writers give each sample its own time as a label. */
static void many_labels(void)
{
    enum { LABELS = 30000, TIMES = 3 };
    struct bytes head = common();
    unsigned char *all = malloc(LABELS * TIMES * 32 + sizeof head.at);
    size_t size = head.size, want_size;
    char *want = NULL;
    memcpy(all, head.at, size);
    for (uint64_t i = 0; i < LABELS * TIMES; i++) {
        struct bytes one = {.size = 0}, inner = sample_of(1, 0, i < LABELS ? 5 : 1);
        NUMBERS(&inner, 3, WORK, 0, LABELS - i % LABELS);
        message(&one, 2, &inner);
        memcpy(all + size, one.at, one.size);
        size += one.size;
    }
    FILE *out = open_memstream(&want, &want_size);
    for (int i = 1; i <= LABELS; i++)
        fprintf(out, "all,cpu,7,,%d,work|", i);
    fclose(out);
    struct file file;
    file_open(&file, &pf_pprof_driver, "a.pb", (const char *)all, size, 1 << 20);
    char *have = table_text(&file.model, "labels", PF_UNRESTRICTED, 1000);
    ok(!strcmp(have, want), "each sample may have a label of its own");
    free(have);
    have = table_text(&file.model, "labels", (struct pf_restriction){1, -1, -1, -1}, 1000);
    is(have, "", "a thread without labels has no rows in labels.csv");
    file_close(&file);
    free(have);
    free(want);
    free(all);
}

static void metrics(void)
{
    struct bytes out = common(), inner = sample_of(1, 0, 1);
    NUMBERS(&out, 1, CPU);
    NUMBERS(&out, 1, 0, NS);
    number(&inner, 2, 2);
    number(&inner, 2, 3);
    message(&out, 2, &inner);
    reads_as(&out, "all,main,value,3|all,main,cpu,1|all,main,cpu (1),2|", "",
             "each type of samples is a metric, and the last one is the first metric");
    number(&out, 14, CPU);
    reads_as(&out, "all,main,cpu,1|all,main,cpu (1),2|all,main,value,3|", "",
             "the default type of the file is the first metric");
    struct bytes none = common();
    NUMBERS(&none, 1, DROP, NS);
    inner = sample_of(1, 0, 1);
    number(&inner, 2, 0);
    message(&none, 2, &inner);
    struct file file = profile_of(&none);
    ok(file.model.metrics[0].empty && !file.model.metrics[1].empty,
       "a metric without values is marked as empty, so that it is not primary");
    file_close(&file);
}

static void many_metrics(void)
{
    enum { TYPES = 5000, MOST = 4096 };
    static struct bytes out;
    struct bytes inner = sample_of(1, 0, 1), label = {.size = 0};
    out = common();
    number(&inner, 2, 2);
    for (unsigned i = 2; i < TYPES; i++)
        number(&inner, 2, 3);
    number(&label, 1, TID);
    number(&label, 2, WORK);
    message(&inner, 3, &label);
    message(&out, 2, &inner);
    for (unsigned i = 1; i < TYPES; i++)
        content(&out, 1, "", 0);
    struct file file = profile_of(&out);
    ok(file.loaded && file.model.n_metrics == MOST, "a profile has at most %d metrics", MOST);
    warnings_are(&file, "error many-metrics|", "metrics beyond the limit are reported once");
    char *text = table_text(&file.model, "labels", PF_UNRESTRICTED, 1);
    size_t rows = 0;
    for (const char *at = text; (at = strchr(at, '|')); at++)
        rows++;
    ok(rows == MOST, "metrics beyond the limit are left out of labels.csv");
    free(text);
    file_close(&file);
}

/* Many locations with many inlined lines would create more contexts than the limit for a file of this size. */
static void many_frames(void)
{
    enum { LINES = 5000, LOCATIONS = 500 };
    static struct bytes out, sample_message, inlined;
    out = common();
    number(&inlined, 1, 9);
    for (unsigned i = 0; i < LINES; i++)
        content(&inlined, 4, "\x08\x01", 2);
    message(&out, 4, &inlined);
    sample(&out, 1, 0, 1);
    unsigned char locations[LOCATIONS];
    memset(locations, 9, sizeof locations);
    content(&sample_message, 1, locations, sizeof locations);
    number(&sample_message, 2, 2);
    message(&out, 2, &sample_message);
    sample(&out, 2, 0, 4);
    struct file file = profile_of(&out);
    table_is(&file, "values", "all,main,cpu,1|", "a sample with too many frames ends the profile");
    warnings_are(&file, "fatal many-frames|", "a sample with too many frames is reported");
    ok(file.loaded && file.model.contexts->count <= 1000 * 1000,
       "a sample with too many frames creates no contexts");
    file_close(&file);
}

static void many_label_values(void)
{
    enum { TYPES = 1000, LABELS = 1500 };
    static struct bytes out, inner;
    out = common();
    for (unsigned i = 1; i < TYPES; i++)
        content(&out, 1, "", 0);
    for (unsigned i = 0; i < TYPES; i++)
        number(&inner, 2, 1);
    for (unsigned i = 0; i < LABELS; i++)
        content(&inner, 3, "\x08\x09\x10\x04", 4);
    message(&out, 2, &inner);
    reads_as(&out, "", "fatal many-frames|",
             "labels of samples with too many values are reported, and have no rows");
}

/* A file name is examined once, not once per mapping, however long it is. */
static void long_names(void)
{
    enum { SIZE = 1 << 20, MAPPINGS = 3000 };
    struct bytes out = common();
    unsigned char *all = malloc(SIZE + sizeof out.at + MAPPINGS * 16);
    number(&out, 14, CPU);
    put_varint(&out, 6 << 3 | 2);
    put_varint(&out, SIZE);
    size_t size = out.size;
    memcpy(all, out.at, size);
    memset(all + size, 'n', SIZE);
    size += SIZE;
    for (unsigned i = 0; i < MAPPINGS; i++) {
        out.size = 0;
        NUMBERS(&out, 3, 10 + i, 0, 0, 0, NAME + 1);
        memcpy(all + size, out.at, out.size);
        size += out.size;
    }
    struct rusage before, after;
    getrusage(RUSAGE_SELF, &before);
    struct file file;
    file_open(&file, &pf_pprof_driver, "a.pb", all, size, 1 << 20);
    getrusage(RUSAGE_SELF, &after);
    ok(file.loaded && after.ru_maxrss - before.ru_maxrss < 1 << 20,
       "the name of a mapped file is not examined for each mapping");
    file_close(&file);
    free(all);
}

/* A file of 40 MB that would take gigabytes of memory, because each of its comments takes one byte in the file. */
static void much_memory(void)
{
    enum { COMMENTS = 40 << 20 };
    struct bytes out = common();
    sample(&out, 1, 0, 1);
    unsigned char *all = malloc(out.size + COMMENTS + 16);
    memcpy(all, out.at, out.size);
    size_t size = out.size;
    out.size = 0;
    put_varint(&out, 13 << 3 | 2);
    put_varint(&out, COMMENTS);
    memcpy(all + size, out.at, out.size);
    size += out.size;
    memset(all + size, 1, COMMENTS);
    size += COMMENTS;
    struct file file;
    file_open(&file, &pf_pprof_driver, "a.pb", all, size, 1 << 20);
    ok(file.loaded, "a file that takes more memory than its size on disk allows is read in part");
    warnings_are(&file, "fatal too-large|", "a file that takes too much memory is reported");
    file_close(&file);
    free(all);
}

static void long_field(void)
{
    struct bytes out = common();
    sample(&out, 1, 0, 1);
    put_varint(&out, 15 << 3 | 2);
    put_varint(&out, (64 << 20) + 1);
    struct file file = profile_of(&out);
    const struct pf_cell *text = file.loaded ? pf_rows_at(file.model.warnings, 0) + 4 : NULL;
    ok(text && memmem(text->text, text->size, "exceeds 64 MB", 13), "no field is longer than 64 MB");
    file_close(&file);
}

/* Pyroscope's agent for .NET once wrote functions without ids, in the order of the locations that refer to them. */
static void no_ids(void)
{
    struct bytes out = {.size = 0};
    NUMBERS(&out, 1, CPU, NS);
    NUMBERS(&out, 5, 0, MAIN);
    NUMBERS(&out, 5, 0, WORK);
    location(&out, 1, 0, 1, 0);
    location(&out, 2, 0, 2, 0);
    sample(&out, 2, 1, 3);
    STRINGS(&out, "", "cpu", "ns", "main", "work", "leaf");
    reads_as(&out, "all,main>work,cpu,3|", "warning no-ids|", "functions without ids are numbered");
    NUMBERS(&out, 5, 3, LEAF);
    reads_as(&out, "all,<unknown>><unknown>,cpu,3|",
             "error bad-id|error bad-id|error no-function|error no-function|",
             "functions without ids are not numbered if others have ids");
}

static void dropping(void)
{
    struct bytes out = common();
    number(&out, 7, DROP);
    sample(&out, 3, 1, 1);
    sample(&out, 4, 1, 2);
    sample(&out, 1, 3, 4);
    reads_as(&out, "all,main,cpu,3|all,leaf>main,cpu,4|", "",
             "a frame that drop_frames matches ends a stack, except at the root");
    struct bytes kept = out;
    number(&kept, 8, LEAF);
    reads_as(&kept, "all,main,cpu,2|all,main>leaf,cpu,1|all,leaf>main,cpu,4|", "",
             "a frame that keep_frames matches too is kept");
    struct bytes bad = common();
    STRINGS(&bad, "le(af");
    number(&bad, 7, NAME + 1);
    sample(&bad, 3, 1, 1);
    reads_as(&bad, "all,main>leaf,cpu,1|", "error bad-expression|",
             "an invalid drop_frames expression drops no frame");
}

static void damage(void)
{
    struct bytes out = common();
    sample(&out, 1, 0, 1);
    size_t good = out.size;
    sample(&out, 99, 0, 2);
    struct bytes few = {.size = 0};
    number(&few, 1, 2);
    message(&out, 2, &few);
    content(&out, 2, "\x08\x01\x12\x05", 4);
    number(&out, 2, 1);
    reads_as(&out, "all,main,cpu,1|all,<unknown>,cpu,2|",
             "error bad-type|error no-location|error values|error bad-message|",
             "damaged samples are omitted");
    struct bytes cut = out;
    cut.size = good;
    cut.at[cut.size++] = 0x0b;
    reads_as(&cut, "all,main,cpu,1|", "fatal damaged|", "damage between messages ends the profile");
    struct bytes twice = out;
    twice.size = good;
    number(&twice, 9, 5);
    number(&twice, 9, 6);
    reads_as(&twice, "", "fatal no-profile|", "two profiles in one file are rejected");
}

static void missing_mapping(void)
{
    struct bytes out = common();
    location(&out, 6, 8, 1, 0);
    location(&out, 7, 8, 0, 0);
    location(&out, 8, 9, 2, 0);
    location(&out, 9, 0, 3, 0);
    sample(&out, 7, 6, 1);
    reads_as(&out, "all,main><unknown>,cpu,1|", "warning no-mapping|warning no-mapping|",
             "a missing mapping is reported once; a location without a mapping is valid");
}

static struct bytes packed(const struct bytes *plain, size_t cut)
{
    struct bytes out = {.size = 0};
    z_stream stream = {.next_in = (unsigned char *)plain->at,
                       .avail_in = (unsigned)plain->size,
                       .next_out = out.at,
                       .avail_out = sizeof out.at};
    if (deflateInit2(&stream, 6, Z_DEFLATED, 31, 8, 0) != Z_OK || deflate(&stream, Z_FINISH) != Z_STREAM_END)
        abort();
    out.size = stream.total_out - cut;
    deflateEnd(&stream);
    return out;
}

static void compressed(void)
{
    struct bytes out = common();
    sample(&out, 1, 0, 1);
    struct bytes whole = packed(&out, 0), cut = packed(&out, 6);
    ok(sureness(&pf_pprof_driver, "x", out.at, out.size), "a profile is recognised by its messages");
    ok(sureness(&pf_pprof_driver, "x", whole.at, whole.size),
       "a compressed profile is recognised by its messages");
    reads_as(&whole, "all,main,cpu,1|", "", "a compressed profile is read");
    reads_as(&cut, "all,main,cpu,1|", "fatal damaged-gzip|",
             "a truncated compressed profile is read up to its end");
}

static void probing(void)
{
    static const char *const texts[] = {
        "\n\nhello\n",
        "{\"a\": 1}",
        "\n\x04\x08\x01\x10\x02 and so on",
        "2000-01-01",
        "",
        "\"\"\" Python Character Mapping Codec cp037\n\nSome more text.\n\"\"\"\n",
        "\"\"\"\nThis module contains the class for profiles\n\"\"\""};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        ok(!sureness(&pf_pprof_driver, "x.pb.gz", texts[i], strlen(texts[i])), "text is rejected: %zu", i);
    struct bytes quipper = {.size = 0}, attribute = {.size = 0};
    content(&attribute, 1, "\x08\x01", 2);
    message(&quipper, 1, &attribute);
    for (unsigned i = 0; i < 3; i++) {
        struct bytes event = {.size = 0};
        content(&event, 1, "\x08\x09\x10\x01", 4);
        content(&event, 2, "\x08\x05", 2);
        message(&quipper, 2, &event);
    }
    ok(!sureness(&pf_pprof_driver, "perf.pb_data", quipper.at, quipper.size),
       "attributes and events of perf.data are rejected");
}

int main(void)
{
    stacks();
    lines();
    any_order();
    threads();
    many_labels();
    metrics();
    many_metrics();
    many_frames();
    many_label_values();
    long_names();
    much_memory();
    long_field();
    no_ids();
    dropping();
    damage();
    missing_mapping();
    compressed();
    probing();
    return done();
}
