/* SPDX-License-Identifier: MIT */
#include "fs/runs/folder.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fs/draw/draw.h"
#include "fs/runs/changes.h"
#include "fs/runs/part.h"
#include "fs/text/csv.h"

/* ---- what they have in common ------------------------------------------------------------------- */

static bool is_shared(const struct pf_shared *shared, const struct pf_metric *metric)
{
    const struct pf_metric other = {.name = shared->name, .unit = shared->unit};
    return pf_comparable(&other, metric);
}

/* The metric of all runs that this one is, added if it is new; NULL: out of memory. */
static struct pf_shared *shared_of(struct pf_shared_metrics *all, const struct pf_part_metric *it)
{
    const struct pf_metric metric = {.name = it->name, .unit = it->unit};
    for (size_t i = 0; i < all->n; i++)
        if (is_shared(&all->metrics[i], &metric))
            return &all->metrics[i];
    struct pf_shared *grown = realloc(all->metrics, (all->n + 1) * sizeof *grown);
    if (!grown)
        return NULL;
    all->metrics = grown;
    struct pf_shared *shared = &grown[all->n++];
    *shared = (struct pf_shared){.name = strdup(it->name),
                                 .unit = strdup(pf_unit_ns(it->unit) ? "ns" : it->unit),
                                 .dir = strdup(it->dir)};
    return shared->name && shared->unit && shared->dir ? shared : NULL;
}

static int note_metrics(struct pf_shared_metrics *all, const struct pf_part *part, unsigned run,
                        struct pf_error *error)
{
    struct pf_part_metric metric;
    for (size_t at = 0; pf_part_metric(part, &at, &metric);) {
        struct pf_shared *shared = shared_of(all, &metric);
        if (!shared)
            return pf_fail_memory(error);
        shared->runs += !shared->runs || shared->last != run;
        shared->last = run;
        shared->primary += metric.primary;
    }
    return 0;
}

static void free_shared(struct pf_shared *shared)
{
    free(shared->name);
    free(shared->unit);
    free(shared->dir);
}

/* Leaves those that two runs have. */
static void drop_single(struct pf_shared_metrics *all)
{
    size_t n = 0;
    for (size_t i = 0; i < all->n; i++)
        if (all->metrics[i].runs >= 2)
            all->metrics[n++] = all->metrics[i];
        else
            free_shared(&all->metrics[i]);
    all->n = n;
}

static void choose_primary(struct pf_shared_metrics *all)
{
    all->primary = all->n ? 0 : -1;
    for (size_t i = 1; i < all->n; i++) {
        const struct pf_shared *it = &all->metrics[i], *best = &all->metrics[all->primary];
        if (it->primary > best->primary || (it->primary == best->primary && strcmp(it->name, best->name) < 0))
            all->primary = (int)i;
    }
}

/* Tells folders of one name apart. */
static int settle_names(struct pf_shared_metrics *all)
{
    for (size_t i = 1; i < all->n; i++) {
        struct pf_shared *it = &all->metrics[i];
        bool taken = false;
        for (size_t k = 0; k < i; k++)
            taken |= !strcmp(all->metrics[k].dir, it->dir);
        char *dir;
        if (taken && asprintf(&dir, "%s~%zu", it->dir, i) < 0)
            return -1;
        if (taken) {
            free(it->dir);
            it->dir = dir;
        }
    }
    return 0;
}

/* Of what can't be opened: its own mode does not say who may read what it would be made from. */
static bool is_opaque(const struct pf_member *member)
{
    return S_ISDIR(member->found.st.st_mode);
}

int pf_shared_find(struct pf_fs *fs, const struct pf_members *members, struct pf_pass *pass,
                   struct pf_shared_metrics *shared, struct pf_error *error)
{
    int result = 0;
    *shared = (struct pf_shared_metrics){.primary = -1};
    for (unsigned i = 0; i < members->n && !result; i++) {
        const struct pf_member *member = &members->members[i];
        struct pf_error failure = {0};
        struct pf_part part;
        result = pf_pass_step(pass, i, members->n, error);
        if (result)
            break;
        if (!pf_part_get_metrics(fs, member->path, &member->found, !fs->options.others, pass, &part,
                                 &failure)) {
            shared->closed |= part.closed;
            result = note_metrics(shared, &part, i, error);
            pf_part_free(&part);
        } else if (pf_part_is_hindered(&failure)) {
            *error = failure;
            result = -1;
        } else {
            shared->closed |= is_opaque(member);
        }
    }
    if (!result) {
        drop_single(shared);
        choose_primary(shared);
        result = settle_names(shared) ? pf_fail_memory(error) : 0;
    }
    if (result)
        pf_shared_free(shared);
    return result;
}

void pf_shared_free(struct pf_shared_metrics *shared)
{
    for (size_t i = 0; i < shared->n; i++)
        free_shared(&shared->metrics[i]);
    free(shared->metrics);
    *shared = (struct pf_shared_metrics){.primary = -1};
}

int pf_runs_summary(struct pf_fs *fs, const struct pf_members *members, struct pf_pass *pass,
                    struct pf_buf *out, bool *closed, struct pf_error *error)
{
    *closed = false;
    pf_buf_str(
        out,
        "run,format,mtime,partitions,contexts,metric,unit,total,top_percent,warnings,worst,top,message\n");
    for (unsigned i = 0; i < members->n; i++) {
        const struct pf_member *member = &members->members[i];
        struct pf_error failure = {0};
        struct pf_part part;
        if (pf_pass_step(pass, i, members->n, error))
            return -1;
        int result =
            pf_part_get(fs, member->path, &member->found, !fs->options.others, pass, &part, &failure);
        if (result && pf_part_is_hindered(&failure)) {
            *error = failure;
            return -1;
        }
        pf_part_summary(result ? NULL : &part, &member->found, failure.what, member->name, NULL, out);
        *closed |= result ? is_opaque(member) : part.closed;
        if (!result)
            pf_part_free(&part);
    }
    return out->failed ? pf_fail_memory(error) : 0;
}

/* ---- one metric --------------------------------------------------------------------------------- */

struct making {
    struct pf_fs *fs;
    const struct pf_members *members;
    const struct pf_shared *metric;
    const char **runs; /* names of those that have the metric */
    unsigned n;
    bool inclusive; /* the metric is */
    struct pf_series *functions, *contexts;
    struct pf_buf values; /* function_values.csv, which is made beside function_changes.csv */
    struct pf_runs_texts *texts;
    struct pf_buf out;
    struct pf_changes changes;
    struct pf_runs_picture *picture;
    double *drawn; /* a function's values */
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

/* Runs that are opened and added up side by side; they are taken in their order then. */
enum { SIDE_BY_SIDE = 4 };
struct loading {
    const struct making *making;
    const struct pf_member *member;
    struct pf_pass *pass;
    struct pf_live *live;
    struct pf_aggregate *aggregate;
    int metric; /* -1: it has not, or can't be read: the summary tells why */
    struct pf_error failure;
};

static void load_run(void *arg, size_t i)
{
    struct loading *it = (struct loading *)arg + i;
    it->metric = -1;
    it->live = pf_part_open(it->making->fs, it->member->path, &it->member->found, it->pass, &it->failure);
    const struct pf_profile *profile = it->live ? pf_live_profile(it->live) : NULL;
    int metric = profile && profile->partitions.plural ? find_metric(profile, it->making->metric) : -1;
    if (metric >= 0 && !pf_live_add_up(it->live, metric, &it->aggregate, it->pass, &it->failure))
        it->metric = metric;
}

/* Adds what a run holds of the metric, if it has that. */
static int add_run(struct making *making, const struct loading *it, struct pf_error *error)
{
    if (it->metric < 0 && pf_part_is_hindered(&it->failure)) {
        *error = it->failure;
        return -1;
    }
    if (it->metric < 0 || making->n >= making->metric->runs)
        return 0;
    unsigned run = making->n++, metric = (unsigned)it->metric;
    making->inclusive = pf_live_profile(it->live)->metrics[metric].over_contexts == PF_OVER_ROOTS;
    making->runs[run] = it->member->name;
    making->texts->closed |= pf_part_is_closed(it->live);
    int result = pf_series_add(making->functions, run, it->aggregate, metric, PF_SERIES_FUNCTIONS, error);
    return result ? result
                  : pf_series_add(making->contexts, run, it->aggregate, metric, PF_SERIES_CONTEXTS, error);
}

static int add_runs(struct making *making, struct pf_pass *pass, struct pf_error *error)
{
    const struct pf_members *members = making->members;
    int result = 0;
    for (unsigned first = 0, n; first < members->n && !result; first += n) {
        struct loading loading[SIDE_BY_SIDE];
        n = members->n - first < SIDE_BY_SIDE ? members->n - first : SIDE_BY_SIDE;
        if (pf_pass_step(pass, first, members->n, error))
            return -1;
        for (unsigned i = 0; i < n; i++)
            loading[i] =
                (struct loading){.making = making, .member = &members->members[first + i], .pass = pass};
        pf_pool_split(making->fs->core.pool, n, load_run, loading);
        for (unsigned i = 0; i < n; i++) {
            result = result || add_run(making, &loading[i], error) ? -1 : 0;
            pf_live_release(loading[i].live);
        }
    }
    return result;
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
                      struct pf_error *error)
{
    const struct pf_figure *exclusives = making->inclusive ? change->others : change->values;
    const struct pf_figure *inclusives = making->inclusive ? change->values : change->others;
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

/* Offers what holds a value to the picture. */
static int draw_change(struct making *making, const struct pf_change *change, struct pf_error *error)
{
    for (unsigned run = 0; run < making->n; run++)
        making->drawn[run] = change->values[run].there ? pf_figure_double(&change->values[run]) : (double)NAN;
    return change->runs ? pf_runs_picture_add(making->picture, &change->name, making->drawn, error) : 0;
}

static const char changes_head[] = "first,last,change,change_percent,min,mean,max,stddev,runs,since,name\n";

static int write_functions(struct making *making, struct pf_store *store, struct pf_error *error)
{
    struct pf_change change;
    int more;
    making->drawn = calloc(making->n + 1, sizeof *making->drawn);
    if (!making->drawn)
        return pf_fail_memory(error);
    making->picture =
        pf_runs_picture_new(making->metric->name, making->metric->unit, making->runs, making->n, error);
    if (!making->picture || begin(making, PF_RUNS_FUNCTIONS, changes_head, error))
        return -1;
    while ((more = pf_series_next(making->functions, &change, error)) > 0) {
        add_change(making, &change);
        if (pf_changes_note(&making->changes, &change, error) || draw_change(making, &change, error) ||
            add_values(making, store, &change, error) || flush(making, FLUSH, error))
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
    if (making->n)
        pf_escape(out, making->runs[0], strlen(making->runs[0]));
    pf_buf_str(out, " to ");
    if (making->n)
        pf_escape(out, making->runs[making->n - 1], strlen(making->runs[making->n - 1]));
    pf_buf_str(out, "\n\n");
    pf_changes_print(&making->changes, making->runs, out);
    return end(making, PF_RUNS_CHANGES, error);
}

static int write_picture(struct making *making, struct pf_error *error)
{
    struct pf_lines *lines = pf_runs_picture_lines(making->picture, error);
    int more = lines ? begin(making, PF_RUNS_PICTURE, "", error) : -1;
    for (more = more ? more : 1; more > 0;)
        more = lines->ops->next(lines, &making->out, error);
    if (lines)
        lines->ops->close(lines);
    return more ? -1 : end(making, PF_RUNS_PICTURE, error);
}

static int make_texts(struct making *making, struct pf_pass *pass, struct pf_error *error)
{
    struct pf_store *store = pf_store_new(making->fs->options.profile.cache / 4);
    int result = store ? 0 : pf_fail_memory(error);
    if (!result)
        result = add_runs(making, pass, error);
    if (!result)
        result = write_functions(making, store, error) || write_values(making, store, error) ||
                 write_contexts(making, error) || write_changes(making, error) ||
                 write_picture(making, error) || pf_store_settle(making->texts->store, error);
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
    pf_runs_picture_free(making.picture);
    free(making.drawn);
    pf_buf_free(&making.values);
    pf_buf_free(&making.out);
    free(making.runs);
    if (result) {
        pf_store_free(texts->store);
        texts->store = NULL;
    }
    return result;
}
