/* SPDX-License-Identifier: MIT */
#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fs/clock.h"
#include "fs/runs/archive.h"

/* .profilefs/tables: a snapshot of all profiles, which is looked at again when a name in it is looked up. */

/* Each snapshot has its own number, and each of its tables one of these: its bytes never change. */
enum { TABLES_A_NUMBER = 4 };
#define DIRECTORY UINT32_MAX

static const char *const names[] = {[PF_ARCHIVE_FUNCTIONS] = "functions.csv",
                                    [PF_ARCHIVE_SUMMARY] = "summary.csv",
                                    [PF_ARCHIVE_WARNINGS] = "warnings.csv"};

struct pf_tables {
    uint32_t number; /* of the present snapshot; 0: none yet */
    uint64_t state;  /* of the profiles when it was made */
    uint64_t looked; /* monotonic seconds */
    struct pf_archive archive;
    struct pf_error failure;
    struct pf_job *job; /* that makes them; not held */
};

uint64_t pf_tables_ino(void)
{
    return pf_ino(0, PF_KIND_TABLES, DIRECTORY);
}

/* ---- making ------------------------------------------------------------------------------------- */

static int make_anew(struct pf_fs *fs, struct pf_pass *pass, struct pf_error *error)
{
    struct pf_archive archive;
    uint64_t state;
    if (pf_archive_make(fs, pass, &archive, &state, error))
        return -1;
    pthread_mutex_lock(&fs->lock);
    struct pf_tables *tables = fs->tables;
    struct pf_archive old = tables->archive;
    tables->archive = archive;
    tables->state = state;
    tables->number = tables->number % (UINT32_MAX / TABLES_A_NUMBER - 1) + 1;
    pthread_mutex_unlock(&fs->lock);
    pf_archive_free(&old);
    return 0;
}

static int run_tables(void *arg, struct pf_pass *pass, struct pf_error *error)
{
    struct pf_fs *fs = arg;
    const struct pf_tables *tables = fs->tables; /* which jobs alone change, one at a time */
    uint64_t state = 0;
    int result = tables->number ? pf_archive_state(fs, pass, &state, error) : 0;
    if (!result && (!tables->number || tables->state != state))
        result = make_anew(fs, pass, error);
    pthread_mutex_lock(&fs->lock);
    if (!result)
        fs->tables->looked = pf_monotonic_seconds();
    else if (error->code != ECANCELED)
        fs->tables->failure = *error;
    pthread_mutex_unlock(&fs->lock);
    return result;
}

static void tables_over(void *arg, struct pf_job *job, const struct pf_error *error)
{
    struct pf_fs *fs = arg;
    (void)job, (void)error;
    pthread_mutex_lock(&fs->lock);
    fs->tables->job = NULL;
    pthread_mutex_unlock(&fs->lock);
}

/* A snapshot that is fresh enough. 0, PF_PARKED or an errno value; with fs->lock held. */
static int need_tables(struct pf_fs *fs, struct pf_job **job)
{
    if (!fs->tables && !(fs->tables = calloc(1, sizeof *fs->tables)))
        return ENOMEM;
    struct pf_tables *tables = fs->tables;
    if (tables->failure.code) {
        int code = tables->failure.code;
        tables->failure.code = 0; /* told once; the next one tries again */
        return code;
    }
    if (tables->number && pf_monotonic_seconds() - tables->looked < fs->snapshot_seconds)
        return 0;
    if (tables->job) {
        *job = pf_job_hold(tables->job);
        return PF_PARKED;
    }
    *job = tables->job = pf_job_start(fs->core.pool, "tables of all profiles", run_tables, tables_over, fs);
    return *job ? PF_PARKED : ENOMEM;
}

/* ---- nodes -------------------------------------------------------------------------------------- */

/* The table that a number stands for, or NULL: it is of an older snapshot. With fs->lock held. */
static bool is_present(const struct pf_fs *fs, uint32_t item)
{
    return fs->tables && fs->tables->number && fs->tables->number == item / TABLES_A_NUMBER &&
           item % TABLES_A_NUMBER < PF_ARCHIVE_TABLES;
}

int pf_tables_stat(struct pf_fs *fs, uint32_t item, struct stat *st)
{
    /* They tell of all profiles, whoever may read those: only to whom has mounted them. */
    st->st_mode = item == DIRECTORY ? S_IFDIR | 0500 : S_IFREG | 0400;
    if (item == DIRECTORY)
        return 0;
    pthread_mutex_lock(&fs->lock);
    bool present = is_present(fs, item);
    st->st_size = present ? (off_t)pf_store_size(fs->tables->archive.table[item % TABLES_A_NUMBER]) : 0;
    pthread_mutex_unlock(&fs->lock);
    return present ? 0 : ESTALE;
}

int pf_tables_lookup(struct pf_fs *fs, const char *name, uint64_t *ino, struct pf_job **job)
{
    uint32_t table = 0;
    while (table < PF_ARCHIVE_TABLES && strcmp(names[table], name) != 0)
        table++;
    if (table == PF_ARCHIVE_TABLES)
        return ENOENT;
    pthread_mutex_lock(&fs->lock);
    int result = need_tables(fs, job);
    if (!result)
        *ino = pf_ino(0, PF_KIND_TABLES, fs->tables->number * TABLES_A_NUMBER + table);
    pthread_mutex_unlock(&fs->lock);
    return result;
}

bool pf_tables_entry(uint64_t number, struct pf_dirent *entry)
{
    if (number >= PF_ARCHIVE_TABLES)
        return false;
    strcpy(entry->name, names[number]);
    entry->ino = pf_ino(0, PF_KIND_TABLES, TABLES_A_NUMBER + (uint32_t)number);
    entry->type = DT_REG;
    return true;
}

int pf_tables_open(struct pf_fs *fs, uint64_t ino, struct pf_store **text)
{
    uint32_t item = (uint32_t)ino;
    if (item == DIRECTORY)
        return EISDIR;
    pthread_mutex_lock(&fs->lock);
    bool present = is_present(fs, item);
    if (present)
        *text = pf_store_hold(fs->tables->archive.table[item % TABLES_A_NUMBER]);
    pthread_mutex_unlock(&fs->lock);
    return present ? 0 : ESTALE;
}

void pf_tables_free(struct pf_fs *fs)
{
    if (fs->tables && fs->tables->number)
        pf_archive_free(&fs->tables->archive);
    free(fs->tables);
}
