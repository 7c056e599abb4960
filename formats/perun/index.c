/* SPDX-License-Identifier: MIT */
/*
 * The driver of Perun's minor-version indexes (.perun/objects/ab/..., .perun/jobs/.index): a table of the profiles that
 * a version of a project has, and a link to each. See docs/formats/perun.md.
 *
 * Little endian: "pidx", version (1 or 2), number of entries; then entries: time in seconds, 20 bytes SHA-1, path up to a
 * NUL. Version 2 goes on with strings, each with its size before it: type, cmd, workload, collector, postprocessors, and
 * since Perun 0.23.8 the label before the collector; nothing tells which but the end of the file.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "formats/driver.h"
#include "formats/perun/perun.h"

enum { HEADER = 12, ENTRY_HEAD = 24, SHA = 20, HEX = 2 * SHA, STRINGS = 5, WITH_LABEL = 6 };

/* What is read of an index: real ones have a few KB. */
#define INDEX_MAX ((size_t)16 << 20)

enum { N, TIME, OBJECT, TYPE, WORKLOAD, LABEL, COLLECTOR, POSTPROCESSORS, CMD, PATH, COLUMNS };

/* What may need quotes stands behind what mostly holds numbers. */
static const struct pf_column columns[COLUMNS] = {[N] = {.name = "n"},
                                                  [TIME] = {.name = "time"},
                                                  [OBJECT] = {.name = "object"},
                                                  [PATH] = {.name = "path"},
                                                  [TYPE] = {.name = "type"},
                                                  [CMD] = {.name = "cmd"},
                                                  [WORKLOAD] = {.name = "workload"},
                                                  [LABEL] = {.name = "label"},
                                                  [COLLECTOR] = {.name = "collector"},
                                                  [POSTPROCESSORS] = {.name = "postprocessors"}};

struct index {
    unsigned char *bytes;
    size_t size;
    uint32_t version, count;
    unsigned strings; /* of each entry: 0, STRINGS or WITH_LABEL */
    struct pf_rows *rows;
    struct pf_table table;
    struct pf_strings *names; /* of links, ended by NUL */
    struct pf_link *links;
    size_t n_links;
};

struct entry {
    uint32_t time;
    const unsigned char *object;
    struct pf_cell path, strings[WITH_LABEL];
    size_t end; /* offset behind it */
};

static uint32_t little(const unsigned char *bytes)
{
    return (uint32_t)bytes[0] | (uint32_t)bytes[1] << 8 | (uint32_t)bytes[2] << 16 | (uint32_t)bytes[3] << 24;
}

/* ---- entries ------------------------------------------------------------------------------------ */

/* The entry at an offset; false if it does not fit into the file. */
static bool read_entry(const struct index *index, size_t at, unsigned strings, struct entry *entry)
{
    if (index->size - at < ENTRY_HEAD)
        return false;
    entry->time = little(index->bytes + at);
    entry->object = index->bytes + at + 4;
    const unsigned char *path = index->bytes + at + ENTRY_HEAD;
    const unsigned char *nul = memchr(path, 0, index->size - at - ENTRY_HEAD);
    if (!nul)
        return false;
    entry->path = pf_text((const char *)path, (size_t)(nul - path));
    at = (size_t)(nul + 1 - index->bytes);
    for (unsigned i = 0; i < strings; i++) {
        uint32_t size = index->size - at < 4 ? UINT32_MAX : little(index->bytes + at);
        if (index->size - at < 4 || size > index->size - at - 4)
            return false;
        entry->strings[i] = pf_text((const char *)index->bytes + at + 4, size);
        at += 4 + (size_t)size;
    }
    entry->end = at;
    return true;
}

/* How many entries there are if each has so many strings; *end is where they end. */
static uint32_t count_entries(const struct index *index, unsigned strings, size_t *end)
{
    struct entry entry;
    uint32_t count = 0;
    *end = HEADER;
    while (count < index->count && read_entry(index, *end, strings, &entry)) {
        *end = entry.end;
        count++;
    }
    return count;
}

/* The layout that ends where the file does; else the one that holds more entries. */
static bool choose_layout(struct index *index, size_t *end)
{
    size_t other_end;
    index->strings = index->version == 1 ? 0 : STRINGS;
    uint32_t count = count_entries(index, index->strings, end);
    if (count == index->count && *end == index->size)
        return true;
    if (index->version == 1)
        return false;
    uint32_t other = count_entries(index, WITH_LABEL, &other_end);
    bool fits = other == index->count && other_end == index->size;
    if (fits || other > count) {
        index->strings = WITH_LABEL;
        *end = other_end;
    }
    return fits;
}

/* ---- rows and links ----------------------------------------------------------------------------- */

static void print_object(const unsigned char *object, char hex[HEX + 1])
{
    for (size_t i = 0; i < SHA; i++)
        snprintf(hex + 2 * i, 3, "%02x", object[i]);
}

static int add_row(struct index *index, uint32_t n, const struct entry *entry, struct pf_error *error)
{
    char hex[HEX + 1];
    const struct pf_cell *strings = entry->strings;
    bool label = index->strings == WITH_LABEL;
    print_object(entry->object, hex);
    struct pf_cell cells[COLUMNS] = {
        [N] = pf_uint(n), [TIME] = pf_uint(entry->time), [OBJECT] = pf_plain(hex, HEX), [PATH] = entry->path};
    if (index->strings) {
        cells[TYPE] = strings[0];
        cells[CMD] = strings[1];
        cells[WORKLOAD] = strings[2];
        if (label)
            cells[LABEL] = strings[3];
        memcpy(&cells[COLLECTOR], strings + 3 + label, 2 * sizeof *strings);
    }
    return pf_rows_add(index->rows, cells, error);
}

/* Text that ends with NUL and lives as long as the profile. */
static const char *keep(struct index *index, const char *text, size_t size, struct pf_error *error)
{
    struct perun_text copy = {0};
    uint32_t string = perun_add(&copy, text, size, error) ? PF_NO_STRING
                                                          : pf_intern(index->names, copy.at, size + 1, error);
    perun_text_free(&copy);
    return string == PF_NO_STRING ? NULL : pf_interned(index->names, string).text;
}

/* An entry of a path that an earlier one has too (old releases keep all) is told apart by its number. */
static const char *name_of(struct index *index, uint32_t n, const struct pf_cell *path,
                           struct pf_error *error)
{
    char number[24];
    const char *name = keep(index, path->text, path->size, error);
    bool taken = false;
    for (size_t i = 0; name && i < index->n_links; i++)
        taken |= index->links[i].name == name;
    if (!name || !taken)
        return name;
    struct perun_text text = {0};
    int size = snprintf(number, sizeof number, "~%u", n);
    bool made =
        !perun_add(&text, path->text, path->size, error) && !perun_add(&text, number, (size_t)size, error);
    name = made ? keep(index, text.at, text.size, error) : NULL;
    perun_text_free(&text);
    return name;
}

/*
 * Where the profile of an entry is, seen from the folder of the index. Entries of jobs/.index are not objects: their
 * files stand beside it. A path that leads elsewhere is not followed.
 */
static const char *target_of(struct index *index, bool jobs, const struct entry *entry,
                             struct pf_error *error)
{
    char hex[HEX + 1], target[HEX + 8];
    if (jobs)
        return keep(index, entry->path.text, entry->path.size, error);
    print_object(entry->object, hex);
    int size = snprintf(target, sizeof target, "../%.2s/%s", hex, hex + 2);
    return keep(index, target, (size_t)size, error);
}

static bool is_base_name(const struct pf_cell *path)
{
    return path->size && !memchr(path->text, '/', path->size) &&
           !(path->text[0] == '.' && (path->size == 1 || (path->size == 2 && path->text[1] == '.')));
}

static int add_link(struct index *index, bool jobs, uint32_t n, const struct entry *entry,
                    struct pf_error *error)
{
    if (!entry->path.size || (jobs && !is_base_name(&entry->path)))
        return 0;
    struct pf_link *link = &index->links[index->n_links];
    link->name = name_of(index, n, &entry->path, error);
    link->target = link->name ? target_of(index, jobs, entry, error) : NULL;
    index->n_links += link->target != NULL;
    return link->target ? 0 : -1;
}

/* Links are for people; of an index that long, nobody looks them through. */
enum { LINKS_MAX = 20000 };

static int list_entries(struct pf_profile *profile, struct index *index, struct pf_error *error)
{
    size_t end, at = HEADER;
    bool fits = choose_layout(index, &end), jobs = !strcmp(pf_source_name(profile->source), ".index");
    uint32_t n = 0;
    index->links = calloc(LINKS_MAX, sizeof *index->links);
    if (!index->links)
        return pf_fail_memory(error);
    for (struct entry entry; n < index->count && read_entry(index, at, index->strings, &entry);
         n++, at = entry.end)
        if (add_row(index, n, &entry, error) ||
            (index->n_links < LINKS_MAX && add_link(index, jobs, n, &entry, error)))
            return -1;
    if (fits)
        return 0;
    if (n < index->count)
        return pf_warn(
            profile, 0, (int64_t)at, "fatal", "cut-entry", error,
            "the index ends inside entry %u of %u; the profiles themselves can be reached by their names", n,
            index->count);
    return pf_warn(profile, 0, (int64_t)at, "error", "bytes-left", error, "%zu bytes follow the last entry",
                   index->size - at);
}

/* ---- the driver --------------------------------------------------------------------------------- */

static int read_file(struct pf_profile *profile, struct index *index, struct pf_error *error)
{
    struct pf_input *input;
    if (pf_source_open(profile->source, NULL, &input, error))
        return -1;
    uint64_t size = pf_input_size(input);
    if (size > INDEX_MAX) {
        size = INDEX_MAX;
        if (pf_warn(profile, 0, INDEX_MAX, "error", "too-long", error, "only the first 16 MB are read"))
            return -1;
    }
    index->bytes = malloc((size_t)size + 1);
    if (!index->bytes)
        return pf_fail_memory(error);
    ssize_t got = pf_input_read(input, index->bytes, (size_t)size, 0, error);
    if (got < 0)
        return -1;
    index->size = (size_t)got;
    if (index->size < HEADER || memcmp(index->bytes, "pidx", 4) != 0)
        return pf_fail_at(error, EBADMSG, 0, "the index ends inside its header");
    index->version = little(index->bytes + 4);
    index->count = little(index->bytes + 8);
    if (index->version != 1 && index->version != 2)
        return pf_fail_at(error, EBADMSG, 4, "index version %u is not known", index->version);
    if (index->count <= INT32_MAX)
        return 0;
    index->count = 0;
    return pf_warn(profile, 0, 8, "error", "bad-count", error, "the number of entries is negative");
}

static int index_open(struct pf_profile *profile, struct pf_error *error)
{
    struct index *index = calloc(1, sizeof *index);
    if (!index)
        return pf_fail_memory(error);
    profile->state = index;
    index->rows = pf_rows_new(COLUMNS);
    index->names = pf_strings_new();
    if (!index->rows || !index->names)
        return pf_fail_memory(error);
    if (read_file(profile, index, error) || list_entries(profile, index, error))
        return -1;
    snprintf(profile->version, sizeof profile->version, "%u", index->version);
    struct pf_cell entries[] = {pf_string("Entries"), pf_uint(pf_rows_count(index->rows))};
    index->table = (struct pf_table){
        .name = "index", .columns = columns, .n_columns = COLUMNS, .stage = PF_OPENED, .rows = &index->rows};
    profile->tables = &index->table;
    profile->n_tables = 1;
    profile->links = index->links;
    profile->n_links = index->n_links;
    free(index->bytes);
    index->bytes = NULL;
    return pf_rows_add(profile->info, entries, error);
}

static int index_load(struct pf_profile *profile, enum pf_stage stage, struct pf_pass *pass,
                      struct pf_error *error)
{
    (void)profile, (void)stage, (void)pass, (void)error;
    return 0;
}

static void index_close(struct pf_profile *profile)
{
    struct index *index = profile->state;
    if (!index)
        return;
    free(index->bytes);
    free(index->links);
    pf_rows_free(index->rows);
    pf_strings_free(index->names);
    free(index);
}

static void index_probe(struct pf_probe *probe, struct pf_verdict *verdict)
{
    size_t have;
    const unsigned char *head = pf_probe_head(probe, HEADER, &have);
    if (have < 4 || memcmp(head, "pidx", 4) != 0)
        return;
    verdict->confidence = 32;
    if (have < HEADER) {
        snprintf(verdict->message, sizeof verdict->message, "the index ends inside its header");
        return;
    }
    uint32_t version = little(head + 4);
    snprintf(verdict->version, sizeof verdict->version, "%u", version);
    if (version != 1 && version != 2)
        snprintf(verdict->message, sizeof verdict->message, "index version %u is not known", version);
}

const struct pf_driver pf_perun_index_driver = {.name = "perun-index",
                                                .title =
                                                    "Indexes of Perun stores: which profiles a version has",
                                                .version = 3,
                                                .probe = index_probe,
                                                .open = index_open,
                                                .load = index_load,
                                                .close = index_close};
