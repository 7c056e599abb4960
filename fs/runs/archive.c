/* SPDX-License-Identifier: MIT */
#include "fs/runs/archive.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "formats/kit/hash.h"
#include "fs/profile/model_text.h"
#include "fs/sums/aggregate_private.h"
#include "fs/text/csv.h"
#include "fs/tree/listing.h"

enum {
    FLUSH = 1 << 18,    /* texts go to their stores whenever one is as long as this */
    IN_MEMORY = 4 << 20 /* of each text; longer ones take a descriptor */
};

struct making {
    struct pf_fs *fs;
    struct pf_archive *archive;
    struct pf_buf text[PF_ARCHIVE_TABLES];
};

/* The profile whose rows are made. */
struct member {
    struct making *making;
    const char *path;
    struct pf_live *live;
    struct pf_aggregate *aggregate; /* NULL: it holds no measurements */
    struct pf_arranged *functions;  /* of the primary metric; NULL: there is none */
    int primary;                    /* -1: none */
};

static void add_row(struct pf_buf *out, const struct pf_cell *cells, size_t n)
{
    for (size_t c = 0; c < n; c++) {
        pf_csv_cell(out, &cells[c]);
        pf_buf_char(out, c + 1 < n ? ',' : '\n');
    }
}

static int flush(struct making *making, size_t least, struct pf_error *error)
{
    struct pf_archive *archive = making->archive;
    for (size_t t = 0; t < PF_ARCHIVE_TABLES; t++) {
        struct pf_buf *text = &making->text[t];
        if (text->failed)
            return pf_fail_memory(error);
        if (text->size < least)
            continue;
        if (pf_store_append(archive->table[t], text->data, text->size, error))
            return -1;
        text->size = 0;
    }
    return 0;
}

/* ---- rows --------------------------------------------------------------------------------------- */

static int add_functions(const struct member *member, struct pf_error *error)
{
    struct making *making = member->making;
    const struct pf_profile *profile = pf_live_profile(member->live);
    for (size_t i = 0; member->functions && i < member->functions->n_functions; i++) {
        struct pf_cell it[PF_FUNCTION_COLUMNS];
        pf_function_cells(profile, member->functions, i, it);
        struct pf_cell cells[] = {pf_string(profile->driver->name),
                                  pf_string(profile->metrics[member->primary].name),
                                  it[PF_FUNCTION_UNIT],
                                  it[PF_FUNCTION_EXCLUSIVE],
                                  it[PF_FUNCTION_INCLUSIVE],
                                  it[PF_FUNCTION_EXCLUSIVE_PERCENT],
                                  it[PF_FUNCTION_NAME],
                                  pf_string(member->path)};
        add_row(&making->text[PF_ARCHIVE_FUNCTIONS], cells, sizeof cells / sizeof *cells);
        if (flush(making, FLUSH, error))
            return -1;
    }
    return 0;
}

static void add_warnings(const struct member *member)
{
    struct pf_buf scratch = {0};
    for (uint64_t i = 0; i < pf_warning_count(member->live); i++) {
        struct pf_cell it[PF_WARNING_COLUMNS];
        pf_warning_cells(member->live, i, it, &scratch);
        struct pf_cell cells[] = {it[0], it[1], it[2], it[3], pf_string(member->path), it[4]};
        add_row(&member->making->text[PF_ARCHIVE_WARNINGS], cells, sizeof cells / sizeof *cells);
    }
    member->making->text[PF_ARCHIVE_WARNINGS].failed |= scratch.failed;
    pf_buf_free(&scratch);
}

/* The worst severity; absent if nothing is wrong. */
static struct pf_cell worst_of(struct pf_live *live)
{
    static const char *const severities[] = {"warning", "error", "fatal"};
    struct pf_buf scratch = {0};
    int worst = -1;
    for (uint64_t i = 0; i < pf_warning_count(live); i++) {
        struct pf_cell it[PF_WARNING_COLUMNS];
        pf_warning_cells(live, i, it, &scratch);
        for (int s = worst + 1; s < 3; s++)
            if (it[2].size == strlen(severities[s]) && !memcmp(it[2].text, severities[s], it[2].size))
                worst = s;
    }
    pf_buf_free(&scratch);
    return worst < 0 ? pf_absent() : pf_string(severities[worst]);
}

static int get_functions(const struct pf_profile *profile, struct pf_aggregate *aggregate, int *primary,
                         struct pf_arranged **functions, struct pf_error *error)
{
    *functions = NULL;
    *primary = !aggregate || !profile
                   ? -1
                   : pf_primary_metric(profile->metrics, profile->n_metrics, profile->options->metric);
    if (*primary >= 0)
        *functions = pf_arranged_get(aggregate, (unsigned)*primary, PF_BY_FUNCTION, error);
    return *primary < 0 || *functions ? 0 : -1;
}

int pf_archive_summary(struct pf_live *live, struct pf_aggregate *aggregate, const struct pf_found *found,
                       const char *message, const char *run, const char *path, struct pf_buf *out,
                       struct pf_error *error)
{
    char mtime[64];
    struct tm tm;
    pf_int128 wide;
    int primary;
    struct pf_arranged *functions;
    gmtime_r(&found->st.st_mtim.tv_sec, &tm);
    strftime(mtime, sizeof mtime, "%Y-%m-%dT%H:%M:%SZ", &tm);
    const struct pf_profile *profile = live ? pf_live_profile(live) : NULL;
    if (get_functions(profile, aggregate, &primary, &functions, error))
        return -1;
    const struct pf_metric *metric = primary >= 0 ? &profile->metrics[primary] : NULL;
    struct pf_cell first[PF_FUNCTION_COLUMNS] = {0};
    if (metric && pf_adds_up(metric) && functions->n_functions)
        pf_function_cells(profile, functions, 0, first);
    struct pf_cell cells[] = {pf_string(run),
                              pf_string(found->driver->name),
                              pf_string(mtime),
                              profile && aggregate ? pf_uint(pf_rows_count(profile->partitions.items))
                                                   : pf_absent(),
                              profile && aggregate ? pf_uint(profile->contexts->count) : pf_absent(),
                              metric ? pf_string(metric->name) : pf_absent(),
                              metric ? pf_string(metric->unit) : pf_absent(),
                              metric ? pf_aggregate_total(aggregate, (unsigned)primary, &wide) : pf_absent(),
                              first[PF_FUNCTION_EXCLUSIVE_PERCENT],
                              profile ? pf_uint(pf_warning_count(live)) : pf_absent(),
                              profile ? worst_of(live) : pf_absent(),
                              first[PF_FUNCTION_NAME],
                              pf_string(path)};
    size_t from = run ? 0 : 1, n = sizeof cells / sizeof *cells - from - (path ? 0 : 1);
    struct pf_cell why = live ? pf_absent() : pf_string(message);
    for (size_t c = 0; c < n; c++) {
        pf_csv_cell(out, &cells[from + c]);
        pf_buf_char(out, ',');
    }
    add_row(out, &why, 1);
    if (functions)
        pf_arranged_put(aggregate, functions);
    return 0;
}

/* ---- members ------------------------------------------------------------------------------------ */

struct pf_live *pf_runs_member(struct pf_fs *fs, const char *path, const struct pf_found *found,
                               struct pf_aggregate **aggregate, struct pf_error *error)
{
    char *copy = strdup(path);
    *aggregate = NULL;
    struct pf_live *live = copy ? pf_open_found(fs, copy, found->driver, error) : NULL;
    if (!copy)
        pf_fail_memory(error);
    free(copy);
    bool measures = live && pf_live_profile(live)->partitions.plural;
    int result = live ? PF_WAIT : -1;
    for (struct pf_job *job = NULL; result == PF_WAIT; pf_job_release(job)) {
        result = measures ? pf_live_aggregate(live, aggregate, &job, error)
                          : pf_live_stage(live, PF_MODELLED, &job, error);
        if (result != PF_WAIT)
            break;
        pf_job_block(job, NULL, NULL);
    }
    if (!result)
        return live;
    pf_live_release(live);
    return NULL;
}

static int add_loaded(struct member *member, struct pf_error *error)
{
    if (get_functions(pf_live_profile(member->live), member->aggregate, &member->primary, &member->functions,
                      error))
        return -1;
    add_warnings(member);
    int result = add_functions(member, error);
    if (member->functions)
        pf_arranged_put(member->aggregate, member->functions);
    return result;
}

static int add_member(void *arg, const char *path, const struct pf_found *found, struct pf_error *error)
{
    struct making *making = arg;
    struct pf_error failure = {0};
    bool root = making->fs->root_name || pf_root_is_profile(making->fs);
    struct member member = {.making = making, .path = root ? "." : path};
    if (found->driver->beside)
        return 0;
    member.live = pf_runs_member(making->fs, path, found, &member.aggregate, &failure);
    if (!member.live && pf_is_lack(failure.code)) {
        *error = failure;
        return -1;
    }
    int result = pf_archive_summary(member.live, member.aggregate, found, failure.what, NULL, member.path,
                                    &making->text[PF_ARCHIVE_SUMMARY], error);
    if (!result && member.live)
        result = add_loaded(&member, error);
    pf_live_release(member.live);
    return result ? -1 : flush(making, FLUSH, error);
}

int pf_archive_make(struct pf_fs *fs, struct pf_pass *pass, struct pf_archive *archive,
                    struct pf_error *error)
{
    static const char *const heads[] = {
        [PF_ARCHIVE_FUNCTIONS] = "format,metric,unit,exclusive,inclusive,exclusive_percent,name,path\n",
        [PF_ARCHIVE_SUMMARY] =
            ("format,mtime,partitions,contexts,metric,unit,total,top_percent,warnings,worst,top,"
             "path,message\n"),
        [PF_ARCHIVE_WARNINGS] = "line,offset,severity,code,path,text\n",
    };
    struct making making = {.fs = fs, .archive = archive};
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

uint64_t pf_archive_note(uint64_t state, const char *name, const struct stat *st)
{
    const uint64_t numbers[] = {st->st_dev,
                                st->st_ino,
                                (uint64_t)st->st_size,
                                (uint64_t)st->st_mtim.tv_sec,
                                (uint64_t)st->st_mtim.tv_nsec,
                                (uint64_t)st->st_ctim.tv_sec,
                                (uint64_t)st->st_ctim.tv_nsec};
    return pf_hash(pf_hash(state, name, strlen(name)), numbers, sizeof numbers);
}

static int add_state(void *arg, const char *path, const struct pf_found *found, struct pf_error *error)
{
    uint64_t *state = arg;
    (void)error;
    *state = pf_archive_note(*state, path, &found->st);
    return 0;
}

int pf_archive_state(struct pf_fs *fs, struct pf_pass *pass, uint64_t *state, struct pf_error *error)
{
    *state = 0;
    return pf_each_profile(fs, pass, add_state, state, error);
}
