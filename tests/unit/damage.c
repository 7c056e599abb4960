/* SPDX-License-Identifier: MIT */
/*
 * Damages every sample profile that is a single file. The data before the damage must still be served. Each file is truncated at offsets
 * all over it, and at each of these a few bytes are overwritten.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "formats/model.h"
#include "formats/recognise.h"
#include "tests/profile.h"
#include "tests/sound.h"
#include "tests/unit/tap.h"
#include "tests/unit/temp_dir.h"

enum { PATH_ROOM = 4096, DEPTH_MAX = 12, PLACES = 24 };

/*
 * Formats whose last line needs no newline. A number or name that is truncated there is still valid, so readers cannot detect the damage.
 */
static const char *const of_lines[] = {"afperf",      "cachegrind",  "callgrind", "collapsed",
                                       "extrap-text", "perf-script", NULL};

/* Formats in which a truncated last line is used, but a line with garbage is skipped. */
static const char *const by_lines[] = {"callgrind", "cachegrind", "collapsed", NULL};

/* Formats that are not read from front to back: archives, which end with padding, and databases, whose pages are in any order. */
static const char *const no_streams[] = {"cube", "nsight", NULL};

/* Tables of records. In formats without one, `values` takes its place. */
static const char *const record_tables[] = {"trace", "resources", "index", "values"};

struct sample {
    const struct pf_driver *driver;
    const char *name;
    unsigned char *bytes;
    size_t size;
    const char *wrong; /* the first violated invariant, or NULL */
    size_t where;
};

/* The result of loading a file, and the number of rows that it has. */
struct served {
    bool opened, fatal;
    uint64_t rows;
};

static void note(struct sample *sample, size_t where, const char *wrong)
{
    static char text[500];
    if (!wrong || sample->wrong)
        return;
    snprintf(text, sizeof text, "%s", wrong); /* error.what is freed with the profile */
    sample->wrong = text;
    sample->where = where;
}

static bool has_fatal(const struct pf_model *model)
{
    for (size_t i = 0; i < pf_rows_count(model->warnings); i++) {
        const struct pf_cell *severity = &pf_rows_at(model->warnings, i)[2];
        if (severity->size == 5 && !memcmp(severity->text, "fatal", 5))
            return true;
    }
    return false;
}

static const struct pf_table *table_of_records(const struct pf_model *model)
{
    for (size_t i = 0; i < sizeof record_tables / sizeof *record_tables; i++)
        for (size_t k = 0; k < model->n_tables; k++)
            if (!strcmp(model->tables[k].name, record_tables[i]))
                return &model->tables[k];
    return NULL;
}

/* Counts the rows of the table of records. A walk that fails is repeated once, since it may have failed with EAGAIN. */
static uint64_t count_rows(struct pf_model *model)
{
    static struct pf_cell cells[SOUND_COLUMNS];
    const struct pf_table *table = table_of_records(model);
    struct pf_error error = {0};
    uint64_t count = 0;
    int got = -1;
    if (!table || !table->ops)
        return table ? pf_rows_count(pf_table_rows(table)) : 0;
    for (int trial = 0; got < 0 && trial < 2; trial++) {
        struct pf_cursor cursor = {.model = model, .table = table, .only = PF_UNRESTRICTED};
        got = table->ops->open(&cursor, &error);
        for (count = 0; !got && (got = table->ops->next(&cursor, cells, &error)) > 0; got = 0)
            count++;
        table->ops->close(&cursor);
    }
    return count;
}

/* Returns the folder in `base` for the sample damaged in this way at this offset. Valid for the next few calls. */
static const char *folder_of(const char *base, const char *way, size_t place)
{
    char name[64];
    snprintf(name, sizeof name, "%s-%zu", way, place);
    return path_in(base, name);
}

static void put(const struct sample *sample, const char *folder, size_t size)
{
    if (mkdir(folder, 0700) && errno != EEXIST) /* exists if two places have the same offset */
        abort();
    write_bytes(folder, sample->name, sample->bytes, size);
}

/* Loads the file in that folder and counts its content. */
static struct served look(struct sample *sample, const char *folder, size_t where)
{
    const struct sound_limits limits = {.rows = 3000, .hop = 211, .resumes = 2, .twice = true};
    const struct pf_options options = {.cache = 1 << 20};
    struct served served = {.opened = false};
    struct pf_model model;
    struct pf_error error = {0};
    int directory = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    served.opened = !profile_open(&model, sample->driver, directory, sample->name, &options, &error);
    if (!served.opened)
        note(sample, where, *error.what ? NULL : "cannot be opened, and no reason is given");
    else if (pf_model_load(&model, PF_DERIVED, &error))
        note(sample, where, error.what);
    else {
        note(sample, where, sound_profile(&model, (struct pf_restriction){0, 0, 0, -1}, limits));
        served.fatal = has_fatal(&model);
        served.rows = count_rows(&model);
    }
    profile_close(&model);
    close(directory);
    return served;
}

static bool is_one_of(const struct sample *sample, const char *const *names)
{
    while (*names && strcmp(sample->driver->name, *names) != 0)
        names++;
    return *names;
}

static size_t start_of_line(const struct sample *sample, size_t place)
{
    while (place && sample->bytes[place - 1] != '\n')
        place--;
    return place;
}

/*
 * Writes two damaged copies: one is truncated at the offset, the other is overwritten there. For the formats in by_lines, it also writes
 * a copy that is truncated at the start of the line.
 */
static void put_damaged(const struct sample *sample, const char *base, size_t place)
{
    static const unsigned char damage[] = {0xff, 0x00, 0x7f, '}', 0xc3, 0x01};
    unsigned char kept[sizeof damage];
    size_t size = sample->size - place < sizeof damage ? sample->size - place : sizeof damage;
    put(sample, folder_of(base, "cut", place), place);
    memcpy(kept, sample->bytes + place, size);
    memcpy(sample->bytes + place, damage, size);
    put(sample, folder_of(base, "overwritten", place), sample->size);
    memcpy(sample->bytes + place, kept, size);
    if (is_one_of(sample, by_lines))
        put(sample, folder_of(base, "line", place), start_of_line(sample, place));
}

/* Checks that the data before the damage is kept; the treatment of later data depends on the format. */
static void look_at_damaged(struct sample *sample, const char *base, size_t place)
{
    struct served cut = look(sample, folder_of(base, "cut", place), place);
    struct served overwritten = look(sample, folder_of(base, "overwritten", place), place);
    bool stream = !is_one_of(sample, no_streams), whole = place && sample->bytes[place - 1] == '\n';
    if (cut.opened && !cut.fatal && stream && !is_one_of(sample, of_lines) && !whole)
        note(sample, place, "is truncated, and no warning is fatal");
    if (is_one_of(sample, by_lines))
        cut = look(sample, folder_of(base, "line", place), start_of_line(sample, place));
    if (stream && overwritten.rows < cut.rows)
        note(sample, place, "damage loses data before it");
}

static size_t nth_place(const struct sample *sample, size_t i)
{
    return sample->size * (2 * i + 1) / (2 * PLACES);
}

/* Writes all files before reading the first one, because opening a file that has just been written waits for up to 20 ms. */
static void check_sample(struct sample *sample, const char *path)
{
    char base[64];
    temp_dir_make(base);
    put(sample, folder_of(base, "whole", 0), sample->size);
    for (size_t i = 0; i < PLACES; i++)
        put_damaged(sample, base, nth_place(sample, i));
    struct served whole = look(sample, folder_of(base, "whole", 0), sample->size);
    for (size_t i = 0; i < PLACES && !sample->wrong && !whole.fatal; i++)
        look_at_damaged(sample, base, nth_place(sample, i));
    temp_dir_remove(base);
    if (whole.fatal) /* the sample is damaged on purpose */
        return;
    ok(whole.opened && !sample->wrong, "the data before damage is served of %s%s%s", path,
       sample->wrong ? ": " : "", sample->wrong ? sample->wrong : "");
    if (sample->wrong)
        printf("#   damaged at byte %zu of %zu\n", sample->where, sample->size);
}

/* Tests one file of a folder if it is a profile. */
static void check_file(int folder, const char *name, const char *path)
{
    static unsigned char head[PF_HEAD_MAX];
    struct stat st;
    int fd = openat(folder, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &st))
        abort();
    struct pf_probe probe = {.name = name, .size = (uint64_t)st.st_size, .fd = fd, .bytes = head};
    struct pf_probe_result result;
    struct sample sample = {
        .driver = pf_recognise(&probe, &result), .name = name, .size = (size_t)st.st_size};
    sample.bytes = malloc(sample.size + 1);
    if (!sample.bytes || read(fd, sample.bytes, sample.size) != (ssize_t)sample.size)
        abort();
    if (sample.driver)
        check_sample(&sample, path);
    free(sample.bytes);
    close(fd);
}

static void check_folder(const char *path, unsigned depth)
{
    DIR *listing = opendir(path);
    const struct dirent *entry;
    while (listing && (entry = readdir(listing))) {
        char below[PATH_ROOM];
        if (!strcmp(entry->d_name, ".") || !strcmp(entry->d_name, "..") ||
            snprintf(below, sizeof below, "%s/%s", path, entry->d_name) >= PATH_ROOM)
            continue;
        if (entry->d_type == DT_REG)
            check_file(dirfd(listing), entry->d_name, below);
        else if (entry->d_type == DT_DIR && depth < DEPTH_MAX)
            check_folder(below, depth + 1);
    }
    if (listing)
        closedir(listing);
}

int main(void)
{
    check_folder("tests/samples/archive", 0);
    return done();
}
