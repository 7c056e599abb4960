/* SPDX-License-Identifier: MIT */
/*
 * The driver of Perun's indexes. An index lists the profiles of one version of a project (.perun/objects/ab/...), or the pending profiles
 * (.perun/jobs/.index). It is shown as a table, with a link to each profile. See docs/formats/perun.md.
 *
 * A file begins with "pidx", u32 version (1 or 2) and u32 number of entries. An entry is u32 time in seconds, 20 bytes of SHA-1, and the
 * path up to a NUL. In version 2, five strings follow, each after its u32 length: type, cmd, workload, collector, postprocessors. Perun
 * 0.23.8 added the label before the collector but did not raise the version, so only reading up to the end shows which
 * layout a file has. All u32 are little-endian.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "formats/driver_extra.h"
#include "formats/kit/bytes.h"
#include "formats/probe.h"
#include "formats/runtime/run.h"

enum { HEADER = 12, ENTRY_HEAD = 24, SHA = 20, HEX = 2 * SHA };

/* Maximum bytes that are read of an index. Real indexes have a few KB. */
#define INDEX_MAX ((size_t)16 << 20)

/* Entries between two checks of the pass. */
enum { ENTRIES_A_STEP = 4096 };

/* Columns, in the order of the table: first those whose values never need CSV quotes, then those whose values may. */
enum { N, TIME, OBJECT, TYPE, WORKLOAD, LABEL, COLLECTOR, POSTPROCESSORS, CMD, PATH, COLUMNS };

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
    struct pf_rows *rows;
    struct pf_table table;
    struct pf_strings *names, *targets; /* names and targets of the links, with their NULs */
    struct pf_link *links;
    size_t n_links;
    struct pf_model_extra extra;
};

/* ---- entries ------------------------------------------------------------------------------------ */

/* The bytes that are not parsed yet. */
struct bytes {
    const unsigned char *at;
    size_t size;
};

/* Consumes and returns the next `size` bytes; NULL if fewer are left. */
static const unsigned char *take(struct bytes *left, size_t size)
{
    const unsigned char *at = left->at;
    if (size > left->size)
        return NULL;
    left->at += size;
    left->size -= size;
    return at;
}

/* The number of strings that follow the path of an entry, and the column of each string. */
struct layout {
    unsigned strings, columns[6];
};
static const struct layout paths_only = {0},
                           without_label = {5, {TYPE, CMD, WORKLOAD, COLLECTOR, POSTPROCESSORS}},
                           with_label = {6, {TYPE, CMD, WORKLOAD, LABEL, COLLECTOR, POSTPROCESSORS}};

struct index_entry {
    const unsigned char *object;
    char hex[HEX + 1]; /* `object` in hexadecimal, once the entry is listed */
    struct pf_cell cells[COLUMNS];
};

/* Parses the next entry. Returns false, and consumes nothing, if no complete entry is left. */
static bool read_index_entry(struct bytes *left, const struct layout *layout, struct index_entry *entry)
{
    struct bytes rest = *left;
    const unsigned char *head = take(&rest, ENTRY_HEAD), *nul = head ? memchr(rest.at, 0, rest.size) : NULL;
    if (!nul)
        return false;
    entry->object = head + 4;
    entry->cells[TIME] = pf_uint(pf_u32(head, false));
    entry->cells[PATH] = pf_text((const char *)rest.at, (size_t)(nul - rest.at));
    entry->cells[LABEL] = pf_absent();
    take(&rest, entry->cells[PATH].size + 1);
    for (unsigned i = 0; i < layout->strings; i++) {
        const unsigned char *size = take(&rest, 4), *text = size ? take(&rest, pf_u32(size, false)) : NULL;
        if (!text)
            return false;
        entry->cells[layout->columns[i]] = pf_text((const char *)text, pf_u32(size, false));
    }
    *left = rest;
    return true;
}

/*
 * Counts the entries in this layout, up to `most`. Sets *whole to whether there are `most` entries and the last one ends
 * with the file.
 */
static uint32_t count_entries(struct bytes left, const struct layout *layout, uint32_t most, bool *whole)
{
    struct index_entry entry;
    uint32_t count = 0;
    while (count < most && read_index_entry(&left, layout, &entry))
        count++;
    *whole = count == most && !left.size;
    return count;
}

/* Returns the layout whose entries end at the end of the file or, if there is none, the layout that yields more entries. */
static const struct layout *choose_layout(uint32_t version, struct bytes entries, uint32_t count)
{
    bool whole, whole_with;
    if (version == 1)
        return &paths_only;
    uint32_t without = count_entries(entries, &without_label, count, &whole),
             with = count_entries(entries, &with_label, count, &whole_with);
    return !whole && (whole_with || with > without) ? &with_label : &without_label;
}

/* ---- links -------------------------------------------------------------------------------------- */

/* Interns a formatted text. Returns it NUL-terminated, owned by the pool. */
__attribute__((format(printf, 3, 4))) static const char *keep(struct pf_run *run, struct pf_strings *pool,
                                                              const char *format, ...)
{
    char *text;
    va_list arguments;
    va_start(arguments, format);
    int size = vasprintf(&text, format, arguments);
    va_end(arguments);
    PF_OWN(run, size < 0 ? NULL : text, free);
    uint32_t string = pf_run_intern(run, pool, text, (size_t)size + 1);
    free(pf_disown(run, text));
    return pf_interned(pool, string).text;
}

/* Returns the name of entry n's link: the path, with `~n` if an earlier entry has the same path. Old releases write such entries. */
static const char *link_name(struct pf_run *run, struct index *index, uint32_t n, const struct pf_cell *path)
{
    uint32_t before = pf_strings_count(index->names);
    const char *name = keep(run, index->names, "%.*s", (int)path->size, path->text);
    return pf_strings_count(index->names) > before ? name : keep(run, index->names, "%s~%u", name, n);
}

static bool is_base_name(const struct pf_cell *path)
{
    return path->size && !memchr(path->text, '/', path->size) &&
           !(path->text[0] == '.' && (path->size == 1 || (path->size == 2 && path->text[1] == '.')));
}

/* Maximum number of links. The table has all entries. */
enum { LINKS_MAX = 20000 };

/*
 * Adds a link to the profile of an entry, relative to the folder of the index. The profiles in jobs/.index are not stored objects but
 * files in the same folder, so there a path that contains a slash gets no link.
 */
static void add_link(struct pf_run *run, bool jobs, uint32_t n, const struct index_entry *entry)
{
    struct index *index = run->model->state;
    const struct pf_cell *path = &entry->cells[PATH];
    if (!path->size || (jobs && !is_base_name(path)) || index->n_links == LINKS_MAX)
        return;
    index->links[index->n_links] = (struct pf_link){
        .name = link_name(run, index, n, path),
        .target = jobs ? keep(run, index->targets, "%.*s", (int)path->size, path->text)
                       : keep(run, index->targets, "../%.2s/%s", entry->hex, entry->hex + 2),
    };
    index->n_links++;
}

/* ---- the driver --------------------------------------------------------------------------------- */

/* Reads the header. Fails the run if the header is truncated or has an unknown version. */
static void read_header(struct pf_run *run, struct bytes *left, uint32_t *version, uint32_t *count)
{
    const unsigned char *head = take(left, HEADER);
    if (!head || memcmp(head, "pidx", 4) != 0) {
        pf_fail_at(run->error, EBADMSG, 0, "the index ends inside its header");
        pf_run_fail(run);
    }
    *version = pf_u32(head + 4, false);
    *count = pf_u32(head + 8, false);
    if (*version != 1 && *version != 2)
        pf_run_check(run, pf_fail_at(run->error, EBADMSG, 4, "index version %u is not known", *version));
    snprintf(run->model->version, sizeof run->model->version, "%u", *version);
}

static void list_entries(struct pf_run *run, const unsigned char *bytes, size_t size)
{
    const struct index *index = run->model->state;
    struct bytes left = {bytes, size};
    struct index_entry entry = {.hex = ""};
    uint32_t version, count, n = 0;
    bool jobs = !strcmp(pf_source_name(run->model->source), ".index");
    read_header(run, &left, &version, &count);
    const struct layout *layout = choose_layout(version, left, count);
    for (; n < count && read_index_entry(&left, layout, &entry); n++) {
        if (n % ENTRIES_A_STEP == 0)
            pf_run_step(run, size - left.size, size);
        for (size_t i = 0; i < SHA; i++)
            snprintf(entry.hex + 2 * i, 3, "%02x", entry.object[i]);
        entry.cells[N] = pf_uint(n);
        entry.cells[OBJECT] = pf_plain(entry.hex, HEX);
        pf_run_check(run, pf_rows_add(index->rows, entry.cells, run->error));
        add_link(run, jobs, n, &entry);
    }
    if (n < count)
        pf_run_warn(
            run, "fatal", "cut-entry", 0, size - left.size,
            "the index ends inside entry %u of %u; the profiles themselves can be reached by their names", n,
            count);
    else if (left.size)
        pf_run_warn(run, "error", "bytes-left", 0, size - left.size, "%zu bytes follow the last entry",
                    left.size);
}

static void read_index_file(struct pf_run *run)
{
    struct pf_input *input;
    pf_run_check(run, pf_source_open(run->model->source, NULL, PF_UNPACK | PF_SIZED, &input, run->error));
    uint64_t whole = pf_input_size(input);
    size_t size = whole < INDEX_MAX ? (size_t)whole : INDEX_MAX;
    unsigned char *bytes = PF_OWN(run, malloc(size + 1), free);
    list_entries(run, bytes, pf_run_read(run, input, bytes, size, 0));
}

static void open_index(struct pf_run *run, void *arg)
{
    struct pf_model *model = run->model;
    struct index *index = model->state = pf_run_memory(run, calloc(1, sizeof *index));
    (void)arg;
    index->rows = pf_run_memory(run, pf_rows_new(COLUMNS));
    index->names = pf_run_memory(run, pf_strings_new());
    index->targets = pf_run_memory(run, pf_strings_new());
    index->links = pf_run_memory(run, calloc(LINKS_MAX, sizeof *index->links));
    read_index_file(run);
    struct pf_cell entries[] = {pf_string("Entries"), pf_uint(pf_rows_count(index->rows))};
    index->table = (struct pf_table){
        .name = "index", .columns = columns, .n_columns = COLUMNS, .stage = PF_OPENED, .data = &index->rows};
    model->tables = &index->table;
    model->n_tables = 1;
    index->extra.links = index->links;
    index->extra.n_links = index->n_links;
    model->extra = &index->extra;
    pf_run_check(run, pf_rows_add(model->info, entries, run->error));
}

static int index_open(struct pf_model *model, struct pf_error *error)
{
    return pf_run(model, open_index, NULL, error);
}

static int index_load(struct pf_model *model, enum pf_stage stage, struct pf_error *error)
{
    (void)model, (void)stage, (void)error;
    return 0;
}

static void index_close(struct pf_model *model)
{
    struct index *index = model->state;
    if (!index)
        return;
    free(index->links);
    pf_rows_free(index->rows);
    pf_strings_free(index->names);
    pf_strings_free(index->targets);
    free(index);
}

static void index_probe(struct pf_probe *probe, struct pf_probe_result *result)
{
    size_t have;
    const unsigned char *head = pf_probe_head(probe, HEADER, &have);
    if (have < 4 || memcmp(head, "pidx", 4) != 0)
        return;
    result->confidence = 32;
    if (have < HEADER) {
        snprintf(result->message, sizeof result->message, "the index ends inside its header");
        return;
    }
    uint32_t version = pf_u32(head + 4, false);
    snprintf(result->version, sizeof result->version, "%u", version);
    if (version != 1 && version != 2)
        snprintf(result->message, sizeof result->message, "index version %u is not known", version);
}

const struct pf_driver pf_perun_index_driver = {.name = "perun-index",
                                                .title =
                                                    "Indexes of Perun stores: which profiles a version has",
                                                .version = 3,
                                                .probe = index_probe,
                                                .open = index_open,
                                                .load = index_load,
                                                .close = index_close};
