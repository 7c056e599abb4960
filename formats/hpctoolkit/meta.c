/* SPDX-License-Identifier: MIT */
#include "formats/hpctoolkit/meta.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "formats/hpctoolkit/read.h"

/* ---- reading records and strings -------------------------------------------------------------------- */

enum { PAGE = 16 * 1024, PAGES = 256 };

/*
 * Writers lay the tree out level by level, but it is walked depth first: many places of the file are in use at once,
 * each of which moves on slowly.
 */
struct hpc_page {
    uint64_t number; /* of the page, plus one; 0: empty */
    size_t have;
};

/* Pairs of {u64 size, u64 offset}; a section that reaches beyond the file is cut off. */
static int read_sections(struct hpc_meta *meta, struct pf_error *error)
{
    const unsigned char *header = hpc_meta_record(meta, 0, HPC_META_HEADER, error);
    if (!header)
        return error->code ? -1 : pf_fail_at(error, EINVAL, 0, "meta.db ends inside its header");
    for (int i = 0; i < HPC_SECTIONS; i++) {
        struct hpc_extent *section = &meta->sections[i];
        section->size = pf_u64(header + 16 + 16 * i, false);
        section->offset = pf_u64(header + 24 + 16 * i, false);
        if (hpc_fits(section->offset, section->size, 1, meta->size))
            continue;
        (void)hpc_note(meta->notes, HPC_NOTE_FATAL_SECTION_BEYOND_END, 0, 16 + 16 * i,
                       "meta.db: section %d reaches beyond the end of the file", i);
        section->size = section->offset < meta->size ? meta->size - section->offset : 0;
    }
    return 0;
}

int hpc_meta_begin(struct hpc_meta *meta, struct hpc_state *state, struct pf_notes *notes,
                   struct pf_error *error)
{
    *meta = (struct hpc_meta){.state = state, .notes = notes, .size = pf_input_size(state->description)};
    meta->budget = meta->size;
    meta->pages = calloc(PAGES, sizeof *meta->pages);
    meta->page_bytes = malloc((size_t)PAGES * PAGE);
    meta->record = malloc(HPC_RECORD_MAX);
    meta->string = malloc(HPC_STRING_MAX + 1);
    if (!meta->pages || !meta->page_bytes || !meta->record || !meta->string)
        return pf_fail_memory(error);
    return read_sections(meta, error);
}

void hpc_meta_end(struct hpc_meta *meta)
{
    free(meta->pages);
    free(meta->page_bytes);
    free(meta->record);
    free(meta->string);
}

/* The bytes from an offset to the end of its page; *have tells how many there are. NULL with *error filled. */
static const unsigned char *rest_of_page(struct hpc_meta *meta, uint64_t offset, size_t *have,
                                         struct pf_error *error)
{
    uint64_t number = offset / PAGE;
    struct hpc_page *page = &meta->pages[number % PAGES];
    unsigned char *bytes = meta->page_bytes + (size_t)(number % PAGES) * PAGE;
    size_t skip = (size_t)(offset % PAGE);
    if (page->number != number + 1) {
        page->number = 0;
        ssize_t got = pf_input_read(meta->state->description, bytes, PAGE, number * PAGE, error);
        if (got < 0)
            return NULL;
        page->have = (size_t)got;
        page->number = number + 1;
    }
    if (page->have <= skip) {
        pf_fail_at(error, EIO, (int64_t)offset, "the file ends inside a record");
        return NULL;
    }
    *have = page->have - skip;
    return bytes + skip;
}

const unsigned char *hpc_meta_record(struct hpc_meta *meta, uint64_t offset, size_t size,
                                     struct pf_error *error)
{
    error->code = 0;
    if (!hpc_fits(offset, size, 1, meta->size) || size > HPC_RECORD_MAX)
        return NULL;
    for (size_t done = 0, have; done < size; done += have) {
        const unsigned char *bytes = rest_of_page(meta, offset + done, &have, error);
        if (!bytes)
            return NULL;
        if (!done && size <= have)
            return bytes;
        if (have > size - done)
            have = size - done;
        memcpy(meta->record + done, bytes, have);
    }
    return meta->record;
}

ssize_t hpc_meta_string(struct hpc_meta *meta, uint64_t pointer, size_t limit, struct pf_error *error)
{
    size_t size = 0;
    const unsigned char *end = NULL;
    for (uint64_t at = pointer; !end; at = pointer + size) {
        /* No strings stand in the header: a null pointer is no string. */
        if (pointer < 16 || at >= meta->size || size >= limit)
            return 0;
        size_t have;
        const unsigned char *bytes = rest_of_page(meta, at, &have, error);
        if (!bytes)
            return -1;
        if (have > limit - size)
            have = limit - size;
        end = memchr(bytes, 0, have);
        size_t more = end ? (size_t)(end - bytes) : have;
        memcpy(meta->string + size, bytes, more);
        size += more;
    }
    return (ssize_t)size;
}

/*
 * The strings of an honest file do not overlap, so that all of them together are no larger than the file: what goes beyond
 * that is left out.
 */
uint32_t hpc_meta_intern(struct hpc_meta *meta, uint64_t pointer, struct pf_strings *strings,
                         struct pf_error *error)
{
    ssize_t size = meta->budget ? hpc_meta_string(meta, pointer, HPC_STRING_MAX, error) : 0;
    if (size < 0)
        return PF_NO_STRING;
    uint32_t before = pf_strings_count(strings);
    uint32_t id = hpc_intern(strings, meta->string, (size_t)size, error);
    if (pf_strings_count(strings) > before)
        meta->budget -= meta->budget < (uint64_t)size ? meta->budget : (uint64_t)size;
    return id;
}

/* ---- opening ---------------------------------------------------------------------------------------- */

static int add_info(struct pf_profile *profile, const char *key, struct pf_cell value, struct pf_error *error)
{
    struct pf_cell cells[] = {pf_string(key), value};
    return pf_rows_add(profile->info, cells, error);
}

/* General section: u64 title, u64 description. */
static int read_title(struct hpc_meta *meta, struct pf_profile *profile, struct pf_error *error)
{
    const unsigned char *general = hpc_meta_record(meta, meta->sections[HPC_GENERAL].offset, 16, error);
    if (!general)
        return error->code ? -1 : 0;
    ssize_t size = hpc_meta_string(meta, pf_u64(general, false), HPC_NAME_MAX, error);
    if (size < 0)
        return -1;
    const char *title = hpc_keep(meta->state, meta->string, (size_t)size, error);
    return title ? add_info(profile, "Experiment", pf_string(title), error) : -1;
}

/* IdNames section: u64 array of u64 pointers, u8 their number. */
static int read_identifiers(struct hpc_meta *meta, struct pf_error *error)
{
    struct hpc_identifiers *identifiers = &meta->state->identifiers;
    const unsigned char *section = hpc_meta_record(meta, meta->sections[HPC_ID_NAMES].offset, 9, error);
    if (!section)
        return error->code ? -1 : 0;
    uint64_t names = pf_u64(section, false);
    size_t count = section[8];
    identifiers->names = calloc(count + 1, sizeof *identifiers->names);
    if (!identifiers->names)
        return pf_fail_memory(error);
    identifiers->count = count;
    for (size_t i = 0; i < count; i++) {
        const unsigned char *pointer = hpc_meta_record(meta, names + 8 * i, 8, error);
        if (!pointer)
            return error->code ? -1 : 0;
        ssize_t size = hpc_meta_string(meta, pf_u64(pointer, false), HPC_NAME_MAX, error);
        if (size < 0)
            return -1;
        if (size && !(identifiers->names[i] = hpc_keep(meta->state, meta->string, (size_t)size, error)))
            return -1;
    }
    return 0;
}

static int read_all(struct hpc_meta *meta, struct pf_profile *profile, struct pf_error *error)
{
    const unsigned char *header = hpc_meta_record(meta, 0, HPC_META_HEADER, error);
    if (!header)
        return -1;
    unsigned major = header[14], minor = header[15];
    if (memcmp(header, "HPCTOOLKITmeta", HPC_META_NAME) != 0)
        return pf_fail_at(error, EINVAL, 0, "meta.db does not begin as one");
    if (major != 4)
        return pf_fail_at(error, EINVAL, HPC_META_NAME, "version %u.%u of meta.db is not supported", major,
                          minor);
    /* The size of a metric, where the released layout has 32 and the drafts had 24. */
    const unsigned char *metrics = hpc_meta_record(meta, meta->sections[HPC_METRICS].offset, 15, error);
    if (!metrics)
        return error->code ? -1 : pf_fail_at(error, EINVAL, 16, "meta.db has no section of metrics");
    meta->state->layout = metrics[12] == 24 ? HPC_DRAFT : HPC_META;
    snprintf(profile->version, sizeof profile->version, "%u.%u%s", major, minor,
             meta->state->layout == HPC_DRAFT ? " draft" : "");
    return read_title(meta, profile, error) || read_identifiers(meta, error) || hpc_meta_metrics(meta, error)
               ? -1
               : 0;
}

int hpc_meta_open(struct pf_profile *profile, struct pf_notes *notes, struct pf_error *error)
{
    struct hpc_meta meta;
    int failed = hpc_meta_begin(&meta, hpc_state(profile), notes, error) || read_all(&meta, profile, error);
    hpc_meta_end(&meta);
    if (failed && !*error->where)
        snprintf(error->where, sizeof error->where, "meta.db");
    return failed ? -1 : 0;
}
