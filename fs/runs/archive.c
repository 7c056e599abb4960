/* SPDX-License-Identifier: MIT */
#include "fs/runs/archive.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "formats/kit/hash.h"
#include "formats/kit/store.h"
#include "fs/profile/model_text.h"
#include "fs/sums/aggregate_private.h"
#include "fs/text/csv.h"
#include "fs/tree/listing.h"

/* Texts go to their files whenever one is as long as this. */
enum { FLUSH = 1 << 18 };

struct making {
    struct pf_fs *fs;
    struct pf_archive *archive;
    struct pf_buf text[PF_ARCHIVE_TABLES];
};

/* The profile whose rows are made. */
struct member {
    struct making *making;
    const char *path;
    const struct pf_found *found;
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
        for (size_t done = 0; done < text->size;) {
            ssize_t n =
                pwrite(archive->file[t], text->data + done, text->size - done, (off_t)archive->size[t]);
            if (n <= 0)
                return pf_fail(error, n ? errno : ENOSPC, "%s", strerror(n ? errno : ENOSPC));
            done += (size_t)n;
            archive->size[t] += (uint64_t)n;
        }
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

/* A row of summary.csv; live NULL: it can't be opened, and `message` says why. */
static void add_summary(const struct member *member, const char *message)
{
    char mtime[64];
    struct tm tm;
    pf_int128 wide;
    gmtime_r(&member->found->st.st_mtim.tv_sec, &tm);
    strftime(mtime, sizeof mtime, "%Y-%m-%dT%H:%M:%SZ", &tm);
    const struct pf_profile *profile = member->live ? pf_live_profile(member->live) : NULL;
    bool measures = profile && member->aggregate;
    const struct pf_metric *metric =
        measures && member->primary >= 0 ? &profile->metrics[member->primary] : NULL;
    struct pf_cell first[PF_FUNCTION_COLUMNS] = {0};
    if (metric && pf_adds_up(metric) && member->functions->n_functions)
        pf_function_cells(profile, member->functions, 0, first);
    struct pf_cell cells[] = {pf_string(member->found->driver->name),
                              pf_string(mtime),
                              measures ? pf_uint(pf_rows_count(profile->partitions.items)) : pf_absent(),
                              measures ? pf_uint(profile->contexts->count) : pf_absent(),
                              metric ? pf_string(metric->name) : pf_absent(),
                              metric ? pf_string(metric->unit) : pf_absent(),
                              metric ? pf_aggregate_total(member->aggregate, (unsigned)member->primary, &wide)
                                     : pf_absent(),
                              first[PF_FUNCTION_EXCLUSIVE_PERCENT],
                              profile ? pf_uint(pf_warning_count(member->live)) : pf_absent(),
                              profile ? worst_of(member->live) : pf_absent(),
                              first[PF_FUNCTION_NAME],
                              pf_string(member->path),
                              pf_string(message)};
    add_row(&member->making->text[PF_ARCHIVE_SUMMARY], cells, sizeof cells / sizeof *cells);
}

/* ---- members ------------------------------------------------------------------------------------ */

/* Opens it and waits for its aggregates. */
static int load(struct member *member, struct pf_error *error)
{
    char *path = strdup(member->path);
    int result = 0;
    if (!path)
        return pf_fail_memory(error);
    member->live = pf_open_found(member->making->fs, path, member->found->driver, error);
    free(path);
    if (!member->live)
        return -1;
    bool measures = pf_live_profile(member->live)->partitions.plural != NULL;
    for (struct pf_job *job = NULL;; pf_job_release(job)) {
        result = measures ? pf_live_aggregate(member->live, &member->aggregate, &job, error)
                          : pf_live_stage(member->live, PF_MODELLED, &job, error);
        if (result != PF_WAIT)
            return result;
        pf_job_block(job, NULL, NULL);
    }
}

static int add_loaded(struct member *member, struct pf_error *error)
{
    const struct pf_profile *profile = pf_live_profile(member->live);
    member->primary = !member->aggregate
                          ? -1
                          : pf_primary_metric(profile->metrics, profile->n_metrics, profile->options->metric);
    if (member->primary >= 0) {
        member->functions =
            pf_arranged_get(member->aggregate, (unsigned)member->primary, PF_BY_FUNCTION, error);
        if (!member->functions)
            return -1;
    }
    add_summary(member, NULL);
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
    struct member member = {.making = making, .path = path, .found = found};
    if (found->driver->beside)
        return 0;
    int result = load(&member, &failure);
    member.path = root ? "." : path;
    if (result && pf_is_lack(failure.code)) {
        *error = failure;
    } else if (result) {
        pf_live_release(member.live);
        member.live = NULL;
        add_summary(&member, failure.what);
        result = 0;
    } else {
        result = add_loaded(&member, error);
    }
    pf_live_release(member.live);
    return result ? -1 : flush(making, FLUSH, error);
}

int pf_archive_make(struct pf_fs *fs, struct pf_pass *pass, struct pf_archive *archive,
                    struct pf_error *error)
{
    static const char *const heads[] = {
        [PF_ARCHIVE_FUNCTIONS] = "format,metric,unit,exclusive,inclusive,exclusive_percent,name,path\n",
        [PF_ARCHIVE_SUMMARY] =
            "format,mtime,partitions,contexts,metric,unit,total,top_percent,warnings,worst,top,"
            "path,message\n",
        [PF_ARCHIVE_WARNINGS] = "line,offset,severity,code,path,text\n",
    };
    struct making making = {.fs = fs, .archive = archive};
    int result = 0;
    *archive = (struct pf_archive){{-1, -1, -1}, {0}};
    for (size_t t = 0; t < PF_ARCHIVE_TABLES && !result; t++) {
        pf_buf_str(&making.text[t], heads[t]);
        archive->file[t] = pf_spill_file(error);
        result = archive->file[t] < 0;
    }
    if (!result)
        result = pf_each_profile(fs, pass, add_member, &making, error);
    if (!result)
        result = flush(&making, 1, error);
    for (size_t t = 0; t < PF_ARCHIVE_TABLES; t++)
        pf_buf_free(&making.text[t]);
    if (result)
        pf_archive_free(archive);
    return result ? -1 : 0;
}

void pf_archive_free(struct pf_archive *archive)
{
    for (size_t t = 0; t < PF_ARCHIVE_TABLES; t++)
        if (archive->file[t] >= 0)
            close(archive->file[t]);
    *archive = (struct pf_archive){{-1, -1, -1}, {0}};
}

/* ---- changes ------------------------------------------------------------------------------------ */

static int add_state(void *arg, const char *path, const struct pf_found *found, struct pf_error *error)
{
    uint64_t *state = arg;
    const struct stat *st = &found->st;
    const uint64_t numbers[] = {st->st_dev,
                                st->st_ino,
                                (uint64_t)st->st_size,
                                (uint64_t)st->st_mtim.tv_sec,
                                (uint64_t)st->st_mtim.tv_nsec,
                                (uint64_t)st->st_ctim.tv_sec,
                                (uint64_t)st->st_ctim.tv_nsec};
    (void)error;
    *state = pf_hash(pf_hash(*state, path, strlen(path)), numbers, sizeof numbers);
    return 0;
}

int pf_archive_state(struct pf_fs *fs, struct pf_pass *pass, uint64_t *state, struct pf_error *error)
{
    *state = 0;
    return pf_each_profile(fs, pass, add_state, state, error);
}
