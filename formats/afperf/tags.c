/* SPDX-License-Identifier: MIT */
#include <stdlib.h>

#include "formats/afperf/tables.h"

/* What has tags, in the order of the table. */
enum { OF_RUN, OF_REGION, OF_SECTION, OBJECTS };

/* A saved position. */
struct position {
    uint64_t object, id, at; /* at: bytes of the tags that lie behind */
};

/* The table "tags": `a=b;c=d` of a RunInfo, RegionStart or SectionInfo, split. */
struct walk {
    const struct afperf_model *model;
    struct afperf_reader *reader;
    struct position at;
    bool entered; /* `text` holds the tags of the object */
    struct afperf_text text;
};

static int open_walk(struct pf_cursor *cursor, struct pf_error *error)
{
    struct walk *walk = cursor->state = calloc(1, sizeof *walk);
    if (!walk)
        return pf_fail_memory(error);
    walk->model = afperf_model(cursor->profile);
    walk->reader = afperf_reader_new(walk->model->input);
    return walk->reader ? 0 : pf_fail_memory(error);
}

static void close_walk(struct pf_cursor *cursor)
{
    struct walk *walk = cursor->state;
    if (walk)
        afperf_reader_free(walk->reader);
    free(walk);
}

static uint64_t count_of(const struct walk *walk)
{
    const struct afperf_model *model = walk->model;
    return walk->at.object == OF_RUN      ? model->n_runs
           : walk->at.object == OF_REGION ? model->regions.count
                                          : model->n_sections;
}

/* Gets the tags of the object. */
static int enter(struct walk *walk, struct pf_error *error)
{
    const struct afperf_model *model = walk->model;
    walk->entered = true;
    if (walk->at.object == OF_REGION)
        return afperf_region_tags(model, walk->reader, &model->regions.items[walk->at.id], &walk->text,
                                  error);
    struct pf_cell text =
        pf_interned(model->strings, walk->at.object == OF_RUN ? model->runs[walk->at.id].tags
                                                              : model->sections[walk->at.id].tags);
    walk->text = (struct afperf_text){text.size ? text.text : "", text.size};
    return 0;
}

/* The next tag of the object; false if there are no more. */
static bool next_tag(struct walk *walk, struct afperf_text *tag)
{
    while (walk->at.at < walk->text.size) {
        const char *start = walk->text.text + walk->at.at;
        size_t left = walk->text.size - (size_t)walk->at.at;
        const char *end = memchr(start, ';', left);
        *tag = (struct afperf_text){start, end ? (size_t)(end - start) : left};
        walk->at.at += tag->size + (end != NULL);
        if (tag->size)
            return true;
    }
    return false;
}

static int next_row(struct pf_cursor *cursor, struct pf_cell *cells, struct pf_error *error)
{
    static const char *const objects[OBJECTS] = {"run", "region", "section"};
    struct walk *walk = cursor->state;
    struct afperf_text tag;
    while (walk->at.object < OBJECTS) {
        if (walk->at.id >= count_of(walk)) {
            walk->at = (struct position){.object = walk->at.object + 1};
            continue;
        }
        if (!walk->entered && enter(walk, error) < 0)
            return -1;
        if (!next_tag(walk, &tag)) {
            walk->at = (struct position){.object = walk->at.object, .id = walk->at.id + 1};
            walk->entered = false;
            continue;
        }
        const char *equals = memchr(tag.text, '=', tag.size);
        size_t name = equals ? (size_t)(equals - tag.text) : tag.size;
        cells[0] = pf_plain(objects[walk->at.object], strlen(objects[walk->at.object]));
        cells[1] = pf_uint(walk->at.id);
        cells[3] = pf_text(tag.text, name);
        cells[2] = equals ? pf_text(equals + 1, tag.size - name - 1) : pf_absent();
        return 1;
    }
    return 0;
}

static size_t save(const struct pf_cursor *cursor, void *blob, size_t room)
{
    const struct walk *walk = cursor->state;
    return pf_position_save(&walk->at, sizeof walk->at, blob, room);
}

static int restore(struct pf_cursor *cursor, const void *blob, size_t size, struct pf_error *error)
{
    struct walk *walk = cursor->state;
    if (pf_position_restore(&walk->at, sizeof walk->at, blob, size, error))
        return -1;
    walk->entered = false;
    bool outside = walk->at.object > OBJECTS || (walk->at.object < OBJECTS && walk->at.id > count_of(walk));
    return outside ? pf_position_refuse(error) : 0;
}

static double progress(const struct pf_cursor *cursor)
{
    const struct walk *walk = cursor->state;
    uint32_t regions = walk->model->regions.count;
    if (walk->at.object != OF_REGION || !regions)
        return walk->at.object < OF_REGION ? 0 : 1;
    return (double)walk->at.id / regions;
}

static const struct pf_cursor_ops cursor_ops = {
    .open = open_walk,
    .next = next_row,
    .save = save,
    .restore = restore,
    .close = close_walk,
    .progress = progress,
};

static const struct pf_column columns[] = {AFPERF_PLAIN("object"), AFPERF_PLAIN("id"), AFPERF_PLAIN("value"),
                                           AFPERF_PLAIN("name")};

const struct pf_table afperf_tags_table = {.name = "tags", AFPERF_COLUMNS(columns), .ops = &cursor_ops};
