/* SPDX-License-Identifier: MIT */
#include "fs/runs/folder.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "formats/kit/array.h"
#include "formats/kit/hash.h"
#include "fs/profile/names.h"
#include "fs/text/csv.h"

/* ---- the order of names ------------------------------------------------------------------------- */

/* What a character outside numbers sorts by: `~` before the end, letters before other characters. */
static int order_of(const char *at, const char *end)
{
    unsigned char c = at < end ? (unsigned char)*at : 0;
    return !c || isdigit(c) ? 0 : c == '~' ? -1 : isalpha(c) ? c : c + 256;
}

static int compare_parts(const char *a, const char *a_end, const char *b, const char *b_end)
{
    while (a < a_end || b < b_end) {
        int first = 0;
        while ((a < a_end && !isdigit((unsigned char)*a)) || (b < b_end && !isdigit((unsigned char)*b))) {
            int x = order_of(a, a_end), y = order_of(b, b_end);
            if (x != y)
                return x - y;
            a++;
            b++;
        }
        while (a < a_end && *a == '0')
            a++;
        while (b < b_end && *b == '0')
            b++;
        for (; a < a_end && b < b_end && isdigit((unsigned char)*a) && isdigit((unsigned char)*b); a++, b++)
            if (!first)
                first = *a - *b;
        if (a < a_end && isdigit((unsigned char)*a))
            return 1;
        if (b < b_end && isdigit((unsigned char)*b))
            return -1;
        if (first)
            return first;
    }
    return 0;
}

/* Where the suffixes begin: parts of a point, a letter or `~`, and letters, digits and `~`. */
static const char *suffix_of(const char *name)
{
    const char *suffix = name + strlen(name), *at = suffix;
    while (at > name) {
        const char *dot = at;
        while (dot > name && (isalnum((unsigned char)dot[-1]) || dot[-1] == '~'))
            dot--;
        if (dot == name || dot[-1] != '.' || dot == at || isdigit((unsigned char)*dot))
            break;
        at = suffix = dot - 1;
    }
    return suffix;
}

int pf_compare_versions(const char *a, const char *b)
{
    if ((*a == '.') != (*b == '.'))
        return *a == '.' ? -1 : 1;
    int result = compare_parts(a, suffix_of(a), b, suffix_of(b));
    if (!result)
        result = compare_parts(a, a + strlen(a), b, b + strlen(b));
    return result ? result : strcmp(a, b);
}

/* ---- members ------------------------------------------------------------------------------------ */

static int by_version(const void *a, const void *b)
{
    return pf_compare_versions(((const struct pf_member *)a)->name, ((const struct pf_member *)b)->name);
}

/* 0, also of what is no member; else an errno value. */
static int note_entry(struct pf_fs *fs, const struct pf_folder *folder, const char *path, const char *name,
                      struct pf_members *members)
{
    struct pf_found found = {0};
    struct pf_error error;
    int code = pf_classify(fs, folder, name, &found);
    if (code || found.type != PF_ENTRY_PROFILE)
        return pf_is_lack(code) ? code : 0;
    if (found.driver->beside || members->n == PF_RUNS_MOST)
        return ENOENT;
    struct pf_member *grown = realloc(members->members, (members->n + 1) * sizeof *grown);
    if (!grown)
        return pf_fail_memory(&error), ENOMEM;
    members->members = grown;
    struct pf_member *member = &grown[members->n];
    *member = (struct pf_member){.found = found};
    if (asprintf(&member->path, "%s%s%s", path, *path ? "/" : "", name) < 0)
        return ENOMEM;
    member->name = strrchr(member->path, '/') ? strrchr(member->path, '/') + 1 : member->path;
    members->n++;
    return 0;
}

struct listing {
    struct pf_fs *fs;
    const struct pf_folder *folder;
    const char *path;
    struct pf_members *members;
    int result;
};

static int list_entry(void *arg, const char *name, unsigned char type)
{
    struct listing *listing = arg;
    (void)type;
    listing->result = note_entry(listing->fs, listing->folder, listing->path, name, listing->members);
    return listing->result;
}

int pf_members_list(struct pf_fs *fs, const struct pf_folder *folder, const char *path,
                    struct pf_members *members)
{
    struct listing listing = {fs, folder, path, members, 0};
    const char *beside;
    *members = (struct pf_members){0};
    for (size_t i = 0; !listing.result && (beside = pf_beside_name(i)); i++)
        listing.result = note_entry(fs, folder, path, beside, members);
    int result = listing.result ? 0 : pf_folder_list(folder, list_entry, &listing);
    if (listing.result)
        result = listing.result;
    if (!result && members->n < 2)
        result = ENOENT;
    if (result) {
        pf_members_free(members);
        return result;
    }
    qsort(members->members, members->n, sizeof *members->members, by_version);
    for (unsigned i = 0; i < members->n; i++)
        members->state =
            pf_archive_note(members->state, members->members[i].name, &members->members[i].found.st);
    return 0;
}

void pf_members_free(struct pf_members *members)
{
    for (unsigned i = 0; i < members->n; i++)
        free(members->members[i].path);
    free(members->members);
    *members = (struct pf_members){0};
}

/* ---- what they have in common ------------------------------------------------------------------- */

static bool is_shared(const struct pf_shared *shared, const struct pf_metric *metric)
{
    const struct pf_metric other = {.name = shared->name, .unit = shared->unit};
    return pf_comparable(&other, metric);
}

static struct pf_shared *shared_of(struct pf_overview *overview, const struct pf_metric *metric,
                                   const char *dir)
{
    for (size_t i = 0; i < overview->n; i++)
        if (is_shared(&overview->metrics[i], metric))
            return &overview->metrics[i];
    struct pf_shared *grown = realloc(overview->metrics, (overview->n + 1) * sizeof *grown);
    if (!grown)
        return NULL;
    overview->metrics = grown;
    struct pf_shared *shared = &grown[overview->n];
    *shared = (struct pf_shared){.name = strdup(metric->name),
                                 .unit = strdup(pf_unit_ns(metric->unit) ? "ns" : metric->unit),
                                 .dir = strdup(dir)};
    overview->n++;
    return shared->name && shared->unit && shared->dir ? shared : NULL;
}

static int note_metrics(struct pf_overview *overview, struct pf_live *live, struct pf_error *error)
{
    const struct pf_profile *profile = pf_live_profile(live);
    int primary = pf_primary_metric(profile->metrics, profile->n_metrics, profile->options->metric);
    for (uint32_t m = 0; m < profile->n_metrics; m++) {
        char dir[PF_NAME_MAX + 1];
        pf_dirname(pf_live_names(live, PF_NAMED_METRICS), m, dir);
        struct pf_shared *shared = shared_of(overview, &profile->metrics[m], dir);
        if (!shared)
            return pf_fail_memory(error);
        shared->runs++;
        shared->primary += (int)m == primary;
    }
    return 0;
}

/* Leaves those that one run alone has, tells folders of one name apart, and finds the primary one. */
static int settle_metrics(struct pf_overview *overview)
{
    size_t n = 0;
    for (size_t i = 0; i < overview->n; i++) {
        struct pf_shared shared = overview->metrics[i];
        if (shared.runs >= 2) {
            overview->metrics[n++] = shared;
            continue;
        }
        free(shared.name);
        free(shared.unit);
        free(shared.dir);
    }
    overview->n = n;
    overview->primary = n ? 0 : -1;
    for (size_t i = 0; i < n; i++) {
        struct pf_shared *shared = &overview->metrics[i];
        const struct pf_shared *best = &overview->metrics[overview->primary];
        if (shared->primary > best->primary ||
            (shared->primary == best->primary && strcmp(shared->name, best->name) < 0))
            overview->primary = (int)i;
        for (size_t k = 0; k < i; k++)
            if (!strcmp(overview->metrics[k].dir, shared->dir)) {
                char *dir;
                if (asprintf(&dir, "%s~%zu", shared->dir, i) < 0)
                    return -1;
                free(shared->dir);
                shared->dir = dir;
                break;
            }
    }
    return 0;
}

int pf_overview_make(struct pf_fs *fs, const struct pf_members *members, struct pf_pass *pass,
                     struct pf_overview *overview, struct pf_error *error)
{
    int result = 0;
    *overview = (struct pf_overview){.primary = -1};
    pf_buf_str(
        &overview->summary,
        "run,format,mtime,partitions,contexts,metric,unit,total,top_percent,warnings,worst,top,message\n");
    for (unsigned i = 0; i < members->n && !result; i++) {
        const struct pf_member *member = &members->members[i];
        struct pf_aggregate *aggregate = NULL;
        struct pf_error failure = {0};
        struct pf_live *live = pf_runs_member(fs, member->path, &member->found, &aggregate, &failure);
        result = pf_pass_step(pass, i, members->n, error);
        if (!result && !live && pf_is_lack(failure.code)) {
            *error = failure;
            result = -1;
        }
        if (!result)
            result = pf_archive_summary(live, aggregate, &member->found, failure.what, member->name, NULL,
                                        &overview->summary, error);
        if (!result && aggregate)
            result = note_metrics(overview, live, error);
        pf_live_release(live);
    }
    if (!result && (settle_metrics(overview) || overview->summary.failed))
        result = pf_fail_memory(error);
    if (result)
        pf_overview_free(overview);
    return result;
}

void pf_overview_free(struct pf_overview *overview)
{
    for (size_t i = 0; i < overview->n; i++) {
        free(overview->metrics[i].name);
        free(overview->metrics[i].unit);
        free(overview->metrics[i].dir);
    }
    free(overview->metrics);
    pf_buf_free(&overview->summary);
    *overview = (struct pf_overview){0};
}

/* ---- one metric --------------------------------------------------------------------------------- */

struct making {
    struct pf_fs *fs;
    const struct pf_members *members;
    const struct pf_shared *metric;
    const char **runs; /* names of those that have the metric */
    unsigned n;
    struct pf_series *functions, *contexts;
    struct pf_buf values; /* function_values.csv, which is made beside function_changes.csv */
    struct pf_runs_texts *texts;
    struct pf_buf out;
    struct pf_changes changes;
};

static int flush(struct making *making, size_t least, struct pf_error *error)
{
    struct pf_buf *out = &making->out;
    if (out->failed)
        return pf_fail_memory(error);
    if (out->size < least)
        return 0;
    int result = pf_store_append(making->texts->store, out->data, out->size, error);
    out->size = 0;
    return result;
}

enum {
    FLUSH = 1 << 18,
    IN_MEMORY = 1 << 20 /* of a metric's texts; larger ones take a descriptor */
};

static void add_cells(struct pf_buf *out, const struct pf_cell *cells, size_t n)
{
    for (size_t c = 0; c < n; c++) {
        pf_csv_cell(out, &cells[c]);
        pf_buf_char(out, c + 1 < n ? ',' : '\n');
    }
}

static int begin(struct making *making, enum pf_runs_table table, const char *head, struct pf_error *error)
{
    if (flush(making, 1, error))
        return -1;
    making->texts->tables[table].offset = pf_store_size(making->texts->store);
    pf_buf_str(&making->out, head);
    return 0;
}

static int end(struct making *making, enum pf_runs_table table, struct pf_error *error)
{
    if (flush(making, 1, error))
        return -1;
    struct pf_extent *extent = &making->texts->tables[table];
    extent->size = pf_store_size(making->texts->store) - extent->offset;
    return 0;
}

static int find_metric(const struct pf_profile *profile, const struct pf_shared *shared)
{
    for (size_t m = 0; m < profile->n_metrics; m++)
        if (is_shared(shared, &profile->metrics[m]))
            return (int)m;
    return -1;
}

/* Adds a run, if it has the metric. */
static int add_run(struct making *making, unsigned i, bool *inclusive, struct pf_error *error)
{
    const struct pf_member *member = &making->members->members[i];
    struct pf_aggregate *aggregate = NULL;
    struct pf_error failure = {0};
    struct pf_live *live = pf_runs_member(making->fs, member->path, &member->found, &aggregate, &failure);
    int metric = aggregate ? find_metric(pf_live_profile(live), making->metric) : -1, result = 0;
    if (!live && pf_is_lack(failure.code)) {
        *error = failure;
        result = -1;
    } else if (metric >= 0 && making->n < making->metric->runs) {
        *inclusive = pf_live_profile(live)->metrics[metric].over_contexts == PF_OVER_ROOTS;
        making->runs[making->n] = member->name;
        result = pf_series_add(making->functions, making->n, aggregate, (unsigned)metric, PF_SERIES_FUNCTIONS,
                               error) ||
                 pf_series_add(making->contexts, making->n, aggregate, (unsigned)metric, PF_SERIES_CONTEXTS,
                               error);
        making->n++;
    }
    pf_live_release(live);
    return result ? -1 : 0;
}

static void add_change(struct making *making, const struct pf_change *change)
{
    const struct pf_cell cells[] = {pf_figure_cell(&change->first),
                                    pf_figure_cell(&change->last),
                                    pf_figure_cell(&change->change),
                                    pf_figure_cell(&change->percent),
                                    pf_figure_cell(&change->min),
                                    pf_figure_cell(&change->mean),
                                    pf_figure_cell(&change->max),
                                    pf_figure_cell(&change->stddev),
                                    pf_uint(change->runs),
                                    change->since < 0 ? pf_absent() : pf_string(making->runs[change->since]),
                                    change->name};
    if (change->runs)
        add_cells(&making->out, cells, sizeof cells / sizeof *cells);
}

static int add_values(struct making *making, struct pf_store *store, const struct pf_change *change,
                      bool inclusive, struct pf_error *error)
{
    const struct pf_figure *exclusives = inclusive ? change->others : change->values;
    const struct pf_figure *inclusives = inclusive ? change->values : change->others;
    struct pf_buf *values = &making->values;
    for (unsigned run = 0; run < making->n; run++) {
        const struct pf_cell cells[] = {pf_string(making->runs[run]), pf_figure_cell(&exclusives[run]),
                                        pf_figure_cell(&inclusives[run]), change->name};
        if (exclusives[run].there || inclusives[run].there)
            add_cells(values, cells, sizeof cells / sizeof *cells);
    }
    if (values->failed)
        return pf_fail_memory(error);
    if (values->size < FLUSH)
        return 0;
    int result = pf_store_append(store, values->data, values->size, error);
    values->size = 0;
    return result;
}

static const char changes_head[] = "first,last,change,change_percent,min,mean,max,stddev,runs,since,name\n";

static int write_functions(struct making *making, struct pf_store *store, bool inclusive,
                           struct pf_error *error)
{
    struct pf_change change;
    int more;
    if (begin(making, PF_RUNS_FUNCTIONS, changes_head, error))
        return -1;
    while ((more = pf_series_next(making->functions, &change, error)) > 0) {
        add_change(making, &change);
        if (pf_changes_note(&making->changes, &change, error) ||
            add_values(making, store, &change, inclusive, error) || flush(making, FLUSH, error))
            return -1;
    }
    if (more || end(making, PF_RUNS_FUNCTIONS, error))
        return -1;
    return pf_store_append(store, making->values.data, making->values.size, error);
}

static int write_values(struct making *making, const struct pf_store *store, struct pf_error *error)
{
    char bytes[4096];
    if (begin(making, PF_RUNS_VALUES, "run,exclusive,inclusive,name\n", error))
        return -1;
    for (uint64_t at = 0, left = pf_store_size(store); left;) {
        size_t n = left < sizeof bytes ? (size_t)left : sizeof bytes;
        if (pf_store_read(store, at, bytes, n, error))
            return -1;
        pf_buf_add(&making->out, bytes, n);
        if (flush(making, FLUSH, error))
            return -1;
        at += n;
        left -= n;
    }
    return end(making, PF_RUNS_VALUES, error);
}

static int write_contexts(struct making *making, struct pf_error *error)
{
    struct pf_change change;
    int more;
    if (begin(making, PF_RUNS_CONTEXTS, changes_head, error))
        return -1;
    while ((more = pf_series_next(making->contexts, &change, error)) > 0) {
        add_change(making, &change);
        if (flush(making, FLUSH, error))
            return -1;
    }
    return more ? -1 : end(making, PF_RUNS_CONTEXTS, error);
}

static int write_changes(struct making *making, struct pf_error *error)
{
    struct pf_buf *out = &making->out;
    if (begin(making, PF_RUNS_CHANGES, making->metric->name, error))
        return -1;
    pf_buf_str(out, *making->metric->unit ? ", " : "");
    pf_buf_str(out, making->metric->unit);
    pf_buf_str(out, ", by function: ");
    pf_buf_str(out, making->n ? making->runs[0] : "");
    pf_buf_str(out, " to ");
    pf_buf_str(out, making->n ? making->runs[making->n - 1] : "");
    pf_buf_str(out, "\n\n");
    pf_changes_print(&making->changes, making->runs, out);
    return end(making, PF_RUNS_CHANGES, error);
}

static int make_texts(struct making *making, struct pf_pass *pass, struct pf_error *error)
{
    bool inclusive = false;
    struct pf_store *store = pf_store_new(making->fs->options.profile.cache / 4);
    int result = store ? 0 : pf_fail_memory(error);
    for (unsigned i = 0; i < making->members->n && !result; i++)
        result = pf_pass_step(pass, i, making->members->n, error) || add_run(making, i, &inclusive, error);
    if (!result)
        result = write_functions(making, store, inclusive, error) || write_values(making, store, error) ||
                 write_contexts(making, error) || write_changes(making, error) ||
                 pf_store_settle(making->texts->store, error);
    pf_store_free(store);
    return result ? -1 : 0;
}

int pf_runs_make(struct pf_fs *fs, const struct pf_members *members, const struct pf_shared *metric,
                 struct pf_pass *pass, struct pf_runs_texts *texts, struct pf_error *error)
{
    uint64_t limit = fs->options.profile.cache / 4;
    *texts = (struct pf_runs_texts){.store = pf_store_new(IN_MEMORY)};
    struct making making = {.fs = fs,
                            .members = members,
                            .metric = metric,
                            .runs = calloc(members->n, sizeof *making.runs),
                            .functions = pf_series_new(metric->runs, limit),
                            .contexts = pf_series_new(metric->runs, limit),
                            .texts = texts};
    bool there = texts->store && making.runs && making.functions && making.contexts;
    int result = there ? make_texts(&making, pass, error) : pf_fail_memory(error);
    pf_series_free(making.functions);
    pf_series_free(making.contexts);
    pf_changes_free(&making.changes);
    pf_buf_free(&making.values);
    pf_buf_free(&making.out);
    free(making.runs);
    if (result) {
        pf_store_free(texts->store);
        texts->store = NULL;
    }
    return result;
}
