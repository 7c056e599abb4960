/* SPDX-License-Identifier: MIT */
#include "fs/runs/archive.h"

#include <errno.h>

#include "fs/runs/members.h"
#include "fs/runs/part.h"
#include "fs/tree/listing.h"

enum {
    FLUSH = 1 << 18,    /* texts go to their stores whenever one is as long as this */
    IN_MEMORY = 4 << 20 /* of each text; longer ones take a descriptor */
};

struct making {
    struct pf_fs *fs;
    struct pf_pass *pass;
    struct pf_archive *archive;
    uint64_t state; /* of the profiles so far */
    struct pf_buf text[PF_ARCHIVE_TABLES];
};

static int flush(struct making *making, size_t least, struct pf_error *error)
{
    for (size_t t = 0; t < PF_ARCHIVE_TABLES; t++) {
        struct pf_buf *text = &making->text[t];
        if (text->failed)
            return pf_fail_memory(error);
        if (text->size < least)
            continue;
        if (pf_store_append(making->archive->table[t], text->data, text->size, error))
            return -1;
        text->size = 0;
    }
    return 0;
}

static int add_member(void *arg, const char *path, const struct pf_found *found, struct pf_error *error)
{
    struct making *making = arg;
    struct pf_error failure = {0};
    struct pf_part part;
    making->state = pf_member_state(making->fs, making->state, path, found, true);
    if (found->driver->beside)
        return 0;
    int result = pf_part_get(making->fs, path, found, true, making->pass, &part, &failure);
    if (result && pf_part_is_hindered(&failure)) {
        *error = failure;
        return -1;
    }
    if (making->fs->root_name || pf_root_is_profile(making->fs))
        path = ".";
    pf_part_summary(result ? NULL : &part, found, failure.what, NULL, path,
                    &making->text[PF_ARCHIVE_SUMMARY]);
    if (!result) {
        pf_part_print(&part, PF_PART_FUNCTIONS, path, &making->text[PF_ARCHIVE_FUNCTIONS]);
        pf_part_print(&part, PF_PART_WARNINGS, path, &making->text[PF_ARCHIVE_WARNINGS]);
        pf_part_free(&part);
    }
    return flush(making, FLUSH, error);
}

int pf_archive_make(struct pf_fs *fs, struct pf_pass *pass, struct pf_archive *archive, uint64_t *state,
                    struct pf_error *error)
{
    static const char *const heads[] = {
        [PF_ARCHIVE_FUNCTIONS] = "format,metric,unit,exclusive,inclusive,exclusive_percent,name,path\n",
        [PF_ARCHIVE_SUMMARY] =
            ("format,mtime,partitions,contexts,metric,unit,total,top_percent,warnings,worst,top,"
             "path,message\n"),
        [PF_ARCHIVE_WARNINGS] = "line,offset,severity,code,path,text\n",
    };
    struct making making = {.fs = fs, .pass = pass, .archive = archive};
    int result = 0;
    *archive = (struct pf_archive){{NULL}};
    for (size_t t = 0; t < PF_ARCHIVE_TABLES && !result; t++) {
        pf_buf_str(&making.text[t], heads[t]);
        archive->table[t] = pf_store_new(IN_MEMORY);
        result = archive->table[t] ? 0 : pf_fail_memory(error);
    }
    if (!result)
        result = pf_each_profile(fs, pass, add_member, &making, error);
    if (!result)
        result = flush(&making, 1, error);
    for (size_t t = 0; t < PF_ARCHIVE_TABLES; t++) {
        pf_buf_free(&making.text[t]);
        result = result || pf_store_settle(archive->table[t], error);
    }
    *state = making.state;
    if (result)
        pf_archive_free(archive);
    return result ? -1 : 0;
}

void pf_archive_free(struct pf_archive *archive)
{
    for (size_t t = 0; t < PF_ARCHIVE_TABLES; t++)
        pf_store_free(archive->table[t]);
    *archive = (struct pf_archive){{NULL}};
}

/* ---- changes ------------------------------------------------------------------------------------ */

struct state {
    struct pf_fs *fs;
    uint64_t *state;
};

static int add_state(void *arg, const char *path, const struct pf_found *found, struct pf_error *error)
{
    const struct state *state = arg;
    (void)error;
    *state->state = pf_member_state(state->fs, *state->state, path, found, true);
    return 0;
}

int pf_archive_state(struct pf_fs *fs, struct pf_pass *pass, uint64_t *state, struct pf_error *error)
{
    struct state walk = {fs, state};
    *state = 0;
    return pf_each_profile(fs, pass, add_state, &walk, error);
}
