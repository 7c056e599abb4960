/* SPDX-License-Identifier: MIT */
#include "fs/control/tables.h"

#include <string.h>

#include "formats/driver_extra.h"
#include "fs/runs/excerpt.h"
#include "fs/runs/run_list.h"
#include "fs/tree/listing.h"

/* .profilefs/tables: rows of all profiles below SOURCE, except profiles that are made from a folder (PF_BESIDE_NAME). */

enum control_table {
    FUNCTIONS, /* the rows of each profile's primary/metric/functions.csv */
    SUMMARY,   /* one row per profile */
    WARNINGS,  /* the rows of each profile's tables/warnings.csv */
    TABLES
};
_Static_assert((int)TABLES == (int)PF_CONTROL_TABLES, "as declared");

static const struct {
    const char *name, *head;
} tables_about[TABLES] = {
    [FUNCTIONS] = {"functions.csv", "format,metric,unit,exclusive,inclusive,exclusive_percent,name,path\n"},
    [SUMMARY] = {"summary.csv",
                 ("format,mtime,partitions,contexts,metric,unit,total,top_percent,warnings,worst,top,"
                  "path,message\n")},
    [WARNINGS] = {"warnings.csv", "line,offset,severity,code,path,text\n"},
};

enum { IN_MEMORY = 4 << 20 }; /* maximum size of a text in memory, in bytes; a larger text is in a file */

const char *pf_table_name(uint64_t number)
{
    return number < TABLES ? tables_about[number].name : NULL;
}

/* ---- making ------------------------------------------------------------------------------------- */

/* The state of a pass over all profiles. Only one profile is open at a time, to bound the use of memory. */
struct tables_making {
    struct pf_fs *fs;
    const struct pf_buf *listed; /* the paths of all profiles; NULL: to be found by the pass */
    uint64_t digest;             /* of the profiles visited so far; changes if any is new, gone or changed */
    struct pf_store **text;      /* by table; NULL: only the digest is computed, and no profile is opened */
};

static int add_profile_rows(void *arg, const char *path, const struct pf_entry_info *info,
                            struct pf_error *error)
{
    struct tables_making *making = arg;
    struct pf_error failure = {0};
    struct pf_excerpt excerpt;
    struct pf_buf rows = {0};
    making->digest = pf_profile_digest(making->fs, making->digest, path, info, true);
    if (!making->text || pf_driver_extra_of(info->driver)->beside)
        return 0;
    int failed = pf_excerpt_get(making->fs, path, info, PF_EXCERPT_WHOLE, true, &excerpt, &failure);
    if (failed && pf_is_transient(failure.code)) {
        *error = failure;
        return -1;
    }
    if (pf_fs_env(making->fs)->root_name || pf_root_is_profile(making->fs))
        path = ".";
    pf_excerpt_summary(failed ? NULL : &excerpt, info, failure.what, NULL, path, &rows);
    int result = pf_append_text(making->text[SUMMARY], &rows, error);
    static const enum control_table tables[PF_EXCERPT_ROWS] = {
        [PF_EXCERPT_FUNCTIONS] = FUNCTIONS, [PF_EXCERPT_WARNINGS] = WARNINGS};
    for (size_t r = 0; r < PF_EXCERPT_ROWS && !failed && !result; r++) {
        pf_excerpt_print(&excerpt, r, path, &rows);
        result = pf_append_text(making->text[tables[r]], &rows, error);
    }
    if (!failed)
        pf_excerpt_free(&excerpt);
    pf_buf_free(&rows);
    return result;
}

static int make_table_texts(struct tables_making *making, struct pf_error *error)
{
    for (size_t t = 0; t < TABLES; t++) {
        const char *head = tables_about[t].head;
        making->text[t] = pf_store_new(IN_MEMORY);
        if (!making->text[t])
            return pf_fail_memory(error);
        if (pf_store_append(making->text[t], head, strlen(head), error))
            return -1;
    }
    int result = pf_each_profile(making->fs, making->listed, add_profile_rows, making, error);
    for (size_t t = 0; t < TABLES && !result; t++)
        result = pf_store_flush(making->text[t], error);
    return result;
}

int pf_tables_make(struct pf_fs *fs, const struct pf_buf *listed, struct pf_store *texts[PF_CONTROL_TABLES],
                   uint64_t *digest, struct pf_error *error)
{
    struct tables_making making = {fs, listed, 0, texts};
    memset(texts, 0, TABLES * sizeof *texts);
    int result = make_table_texts(&making, error);
    *digest = making.digest;
    for (size_t t = 0; t < TABLES && result; t++)
        pf_store_free(texts[t]);
    return result;
}

int pf_tables_digest(struct pf_fs *fs, const struct pf_buf *listed, uint64_t *digest, struct pf_error *error)
{
    struct tables_making checking = {.fs = fs, .listed = listed};
    int result = pf_each_profile(fs, listed, add_profile_rows, &checking, error);
    *digest = checking.digest;
    return result;
}
