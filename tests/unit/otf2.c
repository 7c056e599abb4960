/* SPDX-License-Identifier: MIT */
#include "formats/model.h"
#include "tests/otf2_archive.h"
#include "tests/unit/cpu_limit.h"
#include "tests/unit/profile_file.h"

extern const struct pf_driver pf_otf2_driver;

/* The content of an archive in a folder `run`; empty files are not written. */
struct archive {
    bool big_endian;
    uint64_t announced[2];
    struct bytes anchor, definitions, events[2], own[2];
};

static struct archive archive_of(bool big_endian, uint64_t first, uint64_t second)
{
    struct archive archive = {.big_endian = big_endian, .announced = {first, second}};
    archive.anchor = anchor_of(big_endian, 2);
    archive.definitions = definitions_of(big_endian, archive.announced);
    for (int i = 0; i < 2; i++) {
        archive.events[i].big_endian = archive.own[i].big_endian = big_endian;
        put_chunk(&archive.events[i], 1, archive.announced[i]);
    }
    return archive;
}

static void write_part(const char *folder, const char *name, const struct bytes *bytes)
{
    if (bytes->size)
        write_bytes(folder, name, bytes->at, bytes->size);
}

static void write_archive(struct file *file, const struct archive *archive)
{
    char folder[128];
    memset(file, 0, sizeof *file);
    temp_dir_make(file->folder);
    snprintf(folder, sizeof folder, "%s/run", file->folder);
    if (mkdir(folder, 0700))
        abort();
    write_part(folder, "traces.otf2", &archive->anchor);
    write_part(folder, "traces.def", &archive->definitions);
    strcat(folder, "/traces");
    if (mkdir(folder, 0700))
        abort();
    write_part(folder, "0.evt", &archive->events[0]);
    write_part(folder, "4294967296.evt", &archive->events[1]);
    write_part(folder, "0.def", &archive->own[0]);
}

static void load_archive(struct file *file)
{
    file->directory = open(file->folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    file->options.cache = 1 << 20;
    file->opened =
        !profile_open(&file->model, &pf_otf2_driver, file->directory, "run", &file->options, &file->error);
    file->loaded = file->opened && !pf_model_load(&file->model, PF_DERIVED, &file->error);
}

static void open_archive(struct file *file, const struct archive *archive)
{
    write_archive(file, archive);
    load_archive(file);
}

static void has(const struct archive *archive, const char *table, const char *want, const char *warnings,
                const char *name)
{
    struct file file;
    char about[256];
    open_archive(&file, archive);
    table_is(&file, table, want, name);
    snprintf(about, sizeof about, "%s: the warnings are those expected", name);
    warnings_are(&file, warnings, about);
    file_close(&file);
}

/* Returns an archive of two locations. In the first, main calls f twice; in the other, main calls another region named main. */
static struct archive usual(bool big_endian)
{
    struct archive archive = archive_of(big_endian, 6, 4);
    struct bytes *events = &archive.events[0];
    put_time(events, 110);
    put_call(events, 12, 1);
    put_time(events, 121);
    put_call(events, 12, 2);
    put_time(events, 131);
    put_call(events, 13, 2);
    put_call(events, 12, 2);
    put_next_chunk(events, 5, 6);
    put_time(events, 140);
    put_call(events, 13, 2);
    put_time(events, 150);
    put_call(events, 13, 1);
    put_end_of_events(events);
    events = &archive.events[1];
    put_time(events, 100);
    put_call(events, 12, 1);
    put_time(events, 102);
    put_call(events, 12, 3);
    put_time(events, 104);
    put_call(events, 13, 3);
    put_time(events, 106);
    put_call(events, 13, 1);
    put_end_of_events(events);
    return archive;
}

#define OTHER "4294967296"

static void calls(void)
{
    for (int big_endian = 0; big_endian < 2; big_endian++) {
        struct archive archive = usual(big_endian);
        has(&archive, "values",
            "0,main,calls,1|0,main,calls (inc),1|0,main,time,10|0,main>f,calls,2|0,main>f,calls "
            "(inc),2|0,main>f,time,10|" OTHER ",main,calls,1|" OTHER ",main,calls (inc),2|" OTHER
            ",main,time,2|" OTHER ",main>main,calls,1|" OTHER ",main>main,calls (inc),1|" OTHER
            ",main>main,time,1|",
            "",
            big_endian ? "values in big-endian files are calls and their own time in nanoseconds"
                       : "values in little-endian files are calls and their own time in nanoseconds");
        has(&archive, "trace",
            "0,5,20,0,0,main|0,10,5,1,1,f|0,15,5,1,1,f|" OTHER ",0,3,0,0,main|" OTHER ",1,1,1,2,main|", "",
            "trace.csv has the spans by location and beginning");
    }
}

static void nesting(void)
{
    struct archive archive = archive_of(false, 6, 0);
    struct bytes *events = &archive.events[0];
    put_time(events, 100);
    put_call(events, 12, 1);
    put_call(events, 12, 99);
    put_call(events, 12, 2);
    put_call(events, 13, 3);
    put_time(events, 110);
    put_call(events, 13, 99);
    put_time(events, 120);
    put_call(events, 10, 0);
    archive.events[1].size = 0;
    has(&archive, "trace", "0,0,10,0,0,main|0,0,5,1,1,region 99|0,0,5,2,2,f|",
        "warning undefined|warning not-open|warning no-leave|warning still-open|",
        "a call ends with the call around it, or at the end of the file");
}

static void recursion(void)
{
    struct archive archive = archive_of(false, 10, 0);
    struct bytes *events = &archive.events[0];
    static const struct {
        unsigned type;
        uint32_t region;
    } calls_made[] = {{12, 1}, {12, 2}, {12, 1}, {12, 3}, {13, 1},
                      {13, 3}, {13, 2}, {13, 2}, {13, 1}, {13, 99}};
    for (size_t i = 0; i < sizeof calls_made / sizeof *calls_made; i++) {
        put_time(events, 100 + 2 * i);
        put_call(events, calls_made[i].type, calls_made[i].region);
    }
    archive.events[1].size = 0;
    has(&archive, "trace", "0,0,8,0,0,main|0,1,5,1,1,f|0,2,2,2,2,main|0,3,1,3,3,main|",
        "warning no-leave|warning not-open|warning not-open|warning not-open|",
        "a leave ends the innermost call of its region");
}

static void counters(void)
{
    struct archive archive = archive_of(false, 9, 0);
    struct bytes *events = &archive.events[0];
    uint64_t watts;
    double power = 1.5;
    memcpy(&watts, &power, sizeof watts);
    put_time(events, 100);
    put_reading(events, 0, 4, UINT64_C(1) << 63);
    put_call(events, 12, 1);
    put_time(events, 102);
    put_reading(events, 0, 4, (UINT64_C(1) << 63) + 7);
    put_call(events, 12, 2);
    put_reading(events, 1, 10, watts);
    put_time(events, 104);
    put_reading(events, 0, 4, (UINT64_C(1) << 63) + 10);
    put_call(events, 13, 2);
    put_reading(events, 0, 4, (UINT64_C(1) << 63) + 11);
    put_call(events, 13, 1);
    archive.events[1].size = 0;
    has(&archive, "values",
        "0,main,calls,1|0,main,calls (inc),1|0,main,time,1|0,main,ctr,8|0,main>f,calls,1|0,main>f,calls "
        "(inc),1|0,main>f,time,1|"
        "0,main>f,ctr,3|",
        "", "increments of a counter belong to the open call");
    has(&archive, "readings",
        "0,0,9223372036854775808,#,ctr|0,1,9223372036854775815,#,ctr|0,1,1.5,W,power|0,2,9223372036854775818,"
        "#,ctr|0,2,"
        "9223372036854775819,#,ctr|",
        "", "readings.csv has all values of counters");
}

static void messages(void)
{
    struct archive archive = archive_of(false, 2, 2);
    put_time(&archive.events[0], 110);
    put_message(&archive.events[0], 14, 0, 1000);
    put_message(&archive.events[0], 19, 1, 8);
    put_time(&archive.events[1], 120);
    put_message(&archive.events[1], 18, 1, 1000);
    put_message(&archive.events[1], 15, 7, 8);
    const char *want = "0,5,send,0," OTHER ",77,1000,,world|0,5,irecv,1,0,77,8,5,world|" OTHER
                       ",10,recv,1,0,77,1000,,world|" OTHER ",10,isend,7,,77,8,5,world|";
    has(&archive, "messages", want, "", "peers are found by the ranks of a communicator");
    struct file file;
    open_archive(&file, &archive);
    char *hops = table_text(&file.model, "messages", PF_UNRESTRICTED, 1);
    is(hops, want, "a cursor resumes at every saved position");
    free(hops);
    hops = table_text(&file.model, "messages", (struct pf_restriction){1, -1, -1, -1}, 1);
    is(hops, strstr(want, OTHER ",10"), "messages can be restricted to a location");
    free(hops);
    file_close(&file);
}

static void own_definitions(void)
{
    struct archive archive = usual(false);
    struct bytes *own = &archive.own[0];
    put_chunk(own, 0, 0);
    put_begin(own, 5); /* region 1 is mapped to 2 and vice versa */
    put(own, 3);
    put_number(own, 3);
    put(own, 0);
    put_number(own, 0);
    put_number(own, 2);
    put_number(own, 1);
    put_end(own);
    for (int i = 0; i < 2; i++) { /* the clock is 10 late at first, and 20 late 40 ticks after that */
        put_begin(own, 6);
        put_fixed(own, i ? 150 : 110, 8);
        put_number(own, i ? 20 : 10);
        put_fixed(own, 0, 8);
        put_end(own);
    }
    put_end_of_events(own);
    archive.events[1].size = 0;
    archive.definitions = definitions_of(false, (uint64_t[]){6, 0});
    /* corrected ticks: 121 + 10 + 2.75, 131 + 10 + 5.25, 140 + 10 + 7.5, rounded half to even */
    has(&archive, "trace", "0,10,25,0,0,f|0,17,6,1,1,main|0,23,6,1,1,main|", "",
        "ids of a location are mapped, and its times are corrected");
}

/* Returns the offset of record number `which` of a type in a file of definitions, after the chunk header. */
static size_t record_at(const struct bytes *file, unsigned type, int which)
{
    enum { HEAD = 18 };
    size_t at = HEAD;
    for (; file->at[at] != type || which--; at += 2u + file->at[at + 1])
        if (at >= file->size)
            abort();
    return at;
}

/* Replaces the clock in the definitions, the first record, by one with this number of ticks per second and this start. */
static void set_clock(struct bytes *file, uint64_t ticks, uint64_t start)
{
    struct bytes clock = {.big_endian = file->big_endian};
    size_t at = 18, end = at + 2u + file->at[at + 1];
    put_begin(&clock, 5);
    put_number(&clock, ticks);
    put_number(&clock, start);
    put_number(&clock, 1000);
    put_end(&clock);
    memmove(file->at + at + clock.size, file->at + end, file->size - end);
    memcpy(file->at + at, clock.at, clock.size);
    file->size += clock.size - (end - at);
}

static void extreme_times(void)
{
    struct archive archive = archive_of(false, 2, 0);
    set_clock(&archive.definitions, 1, UINT64_C(1) << 62);
    put_time(&archive.events[0], 0);
    put_call(&archive.events[0], 12, 1);
    put_time(&archive.events[0], UINT64_MAX);
    put_call(&archive.events[0], 13, 1);
    archive.events[1].size = 0;
    has(&archive, "trace", "0,-4611686018427387903,9223372036854775806,0,0,main|", "",
        "times beyond 64 bits are saturated so that durations fit");
}

/* ---- much work ---------------------------------------------------------------------------------- */

/* Appends these bytes n times to a file of the archive. */
static void append_times(const struct file *file, const char *name, const struct bytes *bytes, size_t n)
{
    char path[128];
    snprintf(path, sizeof path, "%s/run/%s", file->folder, name);
    FILE *out = fopen(path, "a");
    if (!out)
        abort();
    for (size_t i = 0; i < n; i++)
        if (fwrite(bytes->at, 1, bytes->size, out) != bytes->size)
            abort();
    if (fclose(out))
        abort();
}

/* Loads the archive, which has been written, and closes it. */
static void load_and_close(void *file)
{
    load_archive(file);
    if (!((struct file *)file)->loaded)
        abort();
    file_close(file);
}

static void leaves_in_deep_stacks(void)
{
    enum { N = 200000 };
    struct archive archive = archive_of(false, 3, 0);
    struct bytes enter = {0}, leave_other = {0}, leave_undefined = {0};
    struct file file;
    put_time(&archive.events[0], 100);
    put_call(&archive.events[0], 12, 2);
    put_call(&archive.events[0], 13, 2);
    put_call(&enter, 12, 1);
    put_call(&leave_other, 13, 2);
    put_call(&leave_undefined, 13, 99);
    archive.events[1].size = 0;
    write_archive(&file, &archive);
    append_times(&file, "traces/0.evt", &enter, N);
    append_times(&file, "traces/0.evt", &leave_other, N);
    append_times(&file, "traces/0.evt", &leave_undefined, N);
    ok(returns_within(15, load_and_close, &file), "a leave is not slower in a deep stack");
    temp_dir_remove(file.folder);
}

static void messages_among_many_groups(void)
{
    enum { GROUPS = 150000, MESSAGES = 200000 };
    struct archive archive = archive_of(false, MESSAGES, 0);
    struct bytes message = {0};
    struct file file;
    size_t end = record_at(&archive.definitions, 18, 1); /* the end of the group of all locations */
    archive.definitions.at[end - 2] = 5;                 /* the group's paradigm: not that of communicators */
    archive.definitions.size -= 2;                       /* drops the record of the end of the file */
    archive.events[1].size = 0;
    put_time(&archive.events[0], 100);
    put_message(&message, 14, 0, 8);
    write_archive(&file, &archive);
    append_times(&file, "traces/0.evt", &message, MESSAGES);
    for (uint32_t id = 2; id < GROUPS;) {
        struct bytes groups = {0};
        for (; id < GROUPS && groups.size < sizeof groups.at - 32; id++) {
            put_begin(&groups, 18);
            put_number(&groups, id);
            put_number(&groups, 0);
            put(&groups, 0);
            put_number(&groups, 0);
            put(&groups, 5);
            put(&groups, 4);
            put_number(&groups, 0);
            put_end(&groups);
        }
        append_times(&file, "traces.def", &groups, 1);
    }
    ok(returns_within(10, load_and_close, &file), "messages are not slower with many groups");
    temp_dir_remove(file.folder);
}

static void locations_and_counters(void)
{
    enum { LOCATIONS = 6000, CLASSES = 5000, MEMBERS = 200 };
    struct archive archive = archive_of(false, 0, 0);
    struct file file;
    archive.definitions.size -= 2; /* drops the record of the end of the file */
    archive.events[0].size = archive.events[1].size = 0;
    write_archive(&file, &archive);
    for (uint32_t id = 1; id < LOCATIONS;) {
        struct bytes locations = {0};
        for (; id < LOCATIONS && locations.size < sizeof locations.at - 32; id++)
            put_location(&locations, id, 3, 0);
        append_times(&file, "traces.def", &locations, 1);
    }
    for (uint32_t id = 2; id < CLASSES; id++) {
        struct bytes class = {0};
        put_begin(&class, 20);
        put_number(&class, id);
        put(&class, MEMBERS);
        for (int i = 0; i < MEMBERS; i++)
            put_number(&class, 0);
        put(&class, 0);
        put(&class, 0);
        put_end(&class);
        append_times(&file, "traces.def", &class, 1);
    }
    ok(returns_within(3, load_and_close, &file),
       "locations are not slower with counters that they do not use");
    temp_dir_remove(file.folder);
}

static void times_between_many_offsets(void)
{
    enum { OFFSETS = 100000, TIMES = 100000 };
    struct archive archive = archive_of(false, 2 * TIMES, 0);
    struct bytes early_and_late = {0};
    struct file file;
    put_chunk(&archive.own[0], 0, 0);
    archive.events[1].size = 0;
    put_time(&early_and_late, 5);
    put_call(&early_and_late, 12, 1);
    put_time(&early_and_late, OFFSETS);
    put_call(&early_and_late, 13, 1);
    write_archive(&file, &archive);
    append_times(&file, "traces/0.evt", &early_and_late, TIMES);
    for (uint32_t i = 0; i < OFFSETS;) {
        struct bytes offsets = {0};
        for (; i < OFFSETS && offsets.size < sizeof offsets.at - 32; i++) {
            put_begin(&offsets, 6);
            put_fixed(&offsets, i, 8);
            put_number(&offsets, 10);
            put_fixed(&offsets, 0, 8);
            put_end(&offsets);
        }
        append_times(&file, "traces/0.def", &offsets, 1);
    }
    ok(returns_within(4, load_and_close, &file),
       "many times with many corrections of the clock are read in little time");
    temp_dir_remove(file.folder);
}

static void counters_start_anew(void)
{
    struct archive archive = archive_of(false, 4, 5);
    for (int i = 0; i < 2; i++) {
        struct bytes *events = &archive.events[i];
        put_time(events, 100);
        put_call(events, 12, 1);
        put_reading(events, 0, 4, 100 + 1000 * i);
        put_reading(events, 0, 4, 103 + 1005 * i);
        put_call(events, 13, 1);
    }
    has(&archive, "values",
        "0,main,calls,1|0,main,calls (inc),1|0,main,ctr,3|" OTHER ",main,calls,1|" OTHER
        ",main,calls (inc),1|" OTHER ",main,ctr,8|",
        "warning event-count|", "each location's counter starts at its own first value");
}

/* Files whose records are followed by gigabytes of zeros (holes). */
static void sparse_files(void)
{
    static const char *const names[] = {"traces.def", "traces/0.evt", "traces/0.def"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        struct archive archive = usual(false);
        struct file file;
        char path[128];
        archive.definitions.size -= 2; /* drops the record of the end of the file */
        archive.events[0].size -= 2;
        put_chunk(&archive.own[0], 0, 0);
        write_archive(&file, &archive);
        snprintf(path, sizeof path, "%s/run/%s", file.folder, names[i]);
        if (truncate(path, INT64_C(2) << 30))
            abort();
        ok(returns_within(2, load_and_close, &file), "gigabytes of zeros are skipped at once: %s", names[i]);
        temp_dir_remove(file.folder);
    }
}

/* ---- versions and damage ------------------------------------------------------------------------ */

/*
 * Drops the last `left_out` bytes of a record. Records of OTF2 1.0 lack them: a region's canonical name, role, paradigm and flags, and a
 * group's new type, paradigm and flags. The test trace of OTF2 1.0 was written between 1.0 and 1.1; its regions have a canonical name.
 */
static void shorten(struct bytes *file, unsigned type, int which, unsigned left_out)
{
    size_t at = record_at(file, type, which), end = at + 2u + file->at[at + 1];
    file->at[at + 1] = (unsigned char)(file->at[at + 1] - left_out);
    memmove(file->at + end - left_out, file->at + end, file->size - end);
    file->size -= left_out;
}

static void first_version(void)
{
    struct archive archive = usual(false);
    for (int i = 0; i < 3; i++)
        shorten(&archive.definitions, 15, i, i == 1 ? 1 + 1 + 1 : 2 + 1 + 1 + 1);
    for (int i = 0; i < 2; i++)
        shorten(&archive.definitions, 18, i, 1 + 1 + 1);
    has(&archive, "trace",
        "0,5,20,0,0,main|0,10,5,1,1,f|0,15,5,1,1,f|" OTHER ",0,3,0,0,main|" OTHER ",1,1,1,2,main|", "",
        "regions and groups of OTF2 1.0 are read");
}

static void damage(void)
{
    struct archive archive = usual(false);
    archive.events[0].size -= 3 + 4 + 2; /* ends in the last timestamp record */
    has(&archive, "trace",
        "0,5,15,0,0,main|0,10,5,1,1,f|0,15,5,1,1,f|" OTHER ",0,3,0,0,main|" OTHER ",1,1,1,2,main|",
        "fatal events|warning still-open|", "the records before a truncation are read");
    archive = usual(false);
    archive.events[0].size = 0;
    has(&archive, "trace", OTHER ",0,3,0,0,main|" OTHER ",1,1,1,1,main|", "error no-events|",
        "a location without a file leaves other locations readable");
    archive = usual(false);
    archive.definitions.size = 40;
    has(&archive, "values", "", "fatal definitions|warning locations|", "truncated definitions are reported");
    static const struct {
        const char *what;
        size_t anchor, definitions;
    } refused[] = {{"a truncated anchor is refused", 30, 500},
                   {"an archive without definitions is refused", 500, 0}};
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        struct file file;
        archive = usual(false);
        if (archive.anchor.size > refused[i].anchor)
            archive.anchor.size = refused[i].anchor;
        if (archive.definitions.size > refused[i].definitions)
            archive.definitions.size = refused[i].definitions;
        open_archive(&file, &archive);
        ok(!file.opened && file.error.code == EINVAL, "%s: %s", refused[i].what, file.error.what);
        file_close(&file);
    }
}

static void fields(void)
{
    struct archive archive = usual(false);
    struct file file;
    open_archive(&file, &archive);
    const struct pf_cell *row = pf_rows_at(file.model.partitions.fields, 1);
    ok(row[0].size == 6 && !memcmp(row[0].text, "thread", 6) && row[3].i == 4,
       "locations have names and numbers of events");
    struct pf_cell cells[2];
    file.model.context_cells(&file.model, 2, cells);
    ok(cells[0].u == 3 && !memcmp(cells[1].text, "MPI", 3) && file.model.contexts->line[2] == 13,
       "contexts show region, location and paradigm");
    file_close(&file);
}

int main(void)
{
    calls();
    nesting();
    recursion();
    counters();
    messages();
    own_definitions();
    extreme_times();
    leaves_in_deep_stacks();
    messages_among_many_groups();
    counters_start_anew();
    locations_and_counters();
    times_between_many_offsets();
    sparse_files();
    first_version();
    damage();
    fields();
    return done();
}
