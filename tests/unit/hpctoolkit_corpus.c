/* SPDX-License-Identifier: MIT */
#include "tests/unit/hpctoolkit_totals.h"

/* Tests real databases if PROFILEFS_SHARED names a folder with a corpus of them. */

/* True for databases written by development versions, which left out function or point values of some leaves. */
static bool lacks_values(const char *name)
{
    return !strcmp(name, "draft-loop-inline-allinstr") || !strcmp(name, "draft-quicksilver");
}

static void check(const char *folder, const char *name)
{
    struct database db;
    unsigned n = 0;
    load_database(&db, folder, name);
    if (ok(!db.result, "%s: the database loads", name)) {
        bool hold = totals_hold(&db.model, lacks_values(name), &n);
        ok(hold, "%s: all sums are %sthe database's own total (%u metrics)", name,
           lacks_values(name) ? "at most " : "", n);
        ok(singles_hold(&db.model), "%s: a metric has the same sums alone and among all metrics", name);
        /* Only in small databases, since each row is compared once per context. */
        if (db.model.contexts->count <= 300)
            ok(restrictions_hold(&db.model),
               "%s: restricted and resumed walks yield the rows of the whole table", name);
    } else {
        printf("# %s: %s\n", db.error.where, db.error.what);
    }
    close_database(&db);
}

/* The database is in a draft of the format. It declares point costs, but has values of function and execution costs only. */
static void empty_metrics(const char *folder)
{
    struct database db;
    open_database(&db, folder, "draft-multithread");
    if (!db.result) {
        const struct pf_metric *metrics = db.model.metrics;
        ok(!metrics[0].empty && !metrics[1].empty && metrics[2].empty,
           "a metric without values is known to be empty when the database is opened");
        ok(metrics[0].partner == 1 && metrics[2].partner == PF_NO_PARTNER,
           "a point metric without values has no inclusive partner");
    }
    close_database(&db);
}

int main(void)
{
    const char *shared = getenv("PROFILEFS_SHARED");
    char folder[300];
    snprintf(folder, sizeof folder, "%s/corpus/hpctoolkit", shared ? shared : "");
    DIR *listing = shared ? opendir(folder) : NULL;
    if (!listing) {
        puts("1..0 # SKIP no corpus: PROFILEFS_SHARED is not set");
        return 0;
    }
    const struct dirent *entry;
    while ((entry = readdir(listing)))
        if (entry->d_type == DT_DIR && entry->d_name[0] != '.' && !strstr(entry->d_name, ".oracle"))
            check(folder, entry->d_name);
    closedir(listing);
    empty_metrics(folder);
    return done();
}
