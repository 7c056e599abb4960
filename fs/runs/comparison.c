/* SPDX-License-Identifier: MIT */
#include "fs/runs/comparison.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fs/draw/draw.h"
#include "fs/runs/changes.h"
#include "fs/runs/excerpt.h"
#include "fs/text/csv.h"

/* ---- visits of all runs, in parallel --------------------------------------------------------------- */

/*
 * A split loop (see pf_pool_split) that visits each run. Visits do their independent work in parallel. Each visit then adds
 * its results between begin_turn and end_turn, in the order of the runs. At most as many runs are open as there are
 * threads.
 */
struct run_visits {
    struct pf_fs *fs;
    const struct pf_run_list *list;
    void (*visit)(struct run_visits *visits, unsigned i);
    void *arg;
    struct pf_turns turns;
    atomic_bool failed;
    struct pf_error *error; /* of the first visit that failed */
};

/* Waits for the turn of run i. Returns 0 if the visit may add its results. Returns -1 if an earlier visit has failed, or if
 * `failure` is a transient error: such an error is not caused by the profile, and fails the whole loop. */
static int begin_turn(struct run_visits *visits, unsigned i, const struct pf_error *failure)
{
    pf_turn_begin(pf_fs_env(visits->fs)->pool, &visits->turns, i);
    return atomic_load(&visits->failed) || pf_is_transient(failure->code) ? -1 : 0;
}

static void end_turn(struct run_visits *visits, int result, const struct pf_error *failure)
{
    if (result && !atomic_exchange(&visits->failed, true))
        *visits->error = *failure;
    pf_turn_end(pf_fs_env(visits->fs)->pool, &visits->turns);
}

static void visit_one(void *arg, size_t i)
{
    struct run_visits *visits = arg;
    struct pf_error failure = {0};
    if (!atomic_load(&visits->failed) && !pf_pass_step(i, visits->list->n, &failure)) {
        visits->visit(visits, (unsigned)i);
        return;
    }
    begin_turn(visits, (unsigned)i, &failure);
    end_turn(visits, -1, &failure);
}

static int visit_all_runs(struct run_visits visits, struct pf_error *error)
{
    visits.turns = (struct pf_turns)PF_TURNS;
    visits.error = error;
    pf_pool_split(pf_fs_env(visits.fs)->pool, visits.list->n, visit_one, &visits);
    return visits.failed ? -1 : 0;
}

/* ---- the metrics that runs share ------------------------------------------------------------------ */

static bool is_shared(const struct pf_shared_metric *shared, const struct pf_metric *metric)
{
    const struct pf_metric other = {.name = shared->name, .unit = shared->unit};
    return pf_comparable(&other, metric);
}

/* Finds or adds the shared metric with the same name and unit; NULL: out of memory. */
static struct pf_shared_metric *find_or_add_shared(struct pf_shared_metrics *all,
                                                   const struct pf_excerpt_metric *it)
{
    const struct pf_metric metric = {.name = it->name, .unit = it->unit};
    for (size_t i = 0; i < all->n; i++)
        if (is_shared(&all->metrics[i], &metric))
            return &all->metrics[i];
    struct pf_shared_metric *grown = realloc(all->metrics, (all->n + 1) * sizeof *grown);
    if (!grown)
        return NULL;
    all->metrics = grown;
    struct pf_shared_metric *shared = &grown[all->n++];
    *shared = (struct pf_shared_metric){
        .name = strdup(it->name), .unit = strdup(pf_series_unit(it->unit)), .dir = strdup(it->dir)};
    return shared->name && shared->unit && shared->dir ? shared : NULL;
}

static int add_shared_metrics(void *arg, unsigned run, const struct pf_excerpt *excerpt, const char *why,
                              struct pf_error *error)
{
    struct pf_shared_metrics *all = arg;
    struct pf_excerpt_metric metric;
    (void)why;
    for (size_t at = 0; excerpt && pf_excerpt_metric(excerpt, &at, &metric);) {
        struct pf_shared_metric *shared = find_or_add_shared(all, &metric);
        if (!shared)
            return pf_fail_memory(error);
        shared->runs += !shared->runs || shared->last != run;
        shared->last = run;
        shared->primary += metric.primary;
    }
    return 0;
}

static void free_shared(struct pf_shared_metric *shared)
{
    free(shared->name);
    free(shared->unit);
    free(shared->dir);
}

/* Removes the metrics that fewer than two runs have. */
static void remove_single(struct pf_shared_metrics *all)
{
    size_t n = 0;
    for (size_t i = 0; i < all->n; i++) {
        struct pf_shared_metric shared = all->metrics[i];
        if (shared.runs < 2)
            continue;
        all->metrics[i] = all->metrics[n];
        all->metrics[n++] = shared;
    }
    while (all->n > n)
        free_shared(&all->metrics[--all->n]);
}

static void choose_primary(struct pf_shared_metrics *all)
{
    all->primary = all->n ? 0 : -1;
    for (size_t i = 1; i < all->n; i++) {
        const struct pf_shared_metric *it = &all->metrics[i], *best = &all->metrics[all->primary];
        if (it->primary > best->primary || (it->primary == best->primary && strcmp(it->name, best->name) < 0))
            all->primary = (int)i;
    }
}

/* Makes the names of the metrics' folders unique. */
static int make_names_unique(struct pf_shared_metrics *all)
{
    for (size_t i = 1; i < all->n; i++) {
        struct pf_shared_metric *it = &all->metrics[i];
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

/* A function that is called with each run's excerpt or, for a run that cannot be opened, with NULL and the reason. If such a run is
 * a directory, *is_private is set, since the directory's mode does not show who may read the files in it. */
typedef int take_excerpt(void *arg, unsigned i, const struct pf_excerpt *excerpt, const char *why,
                         struct pf_error *error);
struct excerpts {
    enum pf_excerpt_extent extent;
    take_excerpt *take;
    void *arg;
    bool *is_private;
};

static void visit_excerpt(struct run_visits *visits, unsigned i)
{
    const struct excerpts *excerpts = visits->arg;
    const struct pf_listed_run *listed = &visits->list->runs[i];
    struct pf_error failure = {0};
    struct pf_excerpt excerpt;
    bool use_cache = !pf_fs_options(visits->fs)->others;
    int failed = pf_excerpt_get(visits->fs, listed->path, &listed->info, excerpts->extent, use_cache,
                                &excerpt, &failure);
    int result = begin_turn(visits, i, &failure);
    if (!result) {
        *excerpts->is_private |= failed ? S_ISDIR(listed->info.st.st_mode) : excerpt.is_private;
        result = excerpts->take(excerpts->arg, i, failed ? NULL : &excerpt, failure.what, &failure);
    }
    end_turn(visits, result, &failure);
    if (!failed)
        pf_excerpt_free(&excerpt);
}

static int each_excerpt(struct pf_fs *fs, const struct pf_run_list *list, enum pf_excerpt_extent extent,
                        take_excerpt *take, void *arg, bool *is_private, struct pf_error *error)
{
    struct excerpts excerpts = {extent, take, arg, is_private};
    *is_private = false;
    return visit_all_runs(
        (struct run_visits){.fs = fs, .list = list, .visit = visit_excerpt, .arg = &excerpts}, error);
}

int pf_shared_metrics_find(struct pf_fs *fs, const struct pf_run_list *list, struct pf_shared_metrics *shared,
                           struct pf_error *error)
{
    *shared = (struct pf_shared_metrics){.primary = -1};
    int result =
        each_excerpt(fs, list, PF_EXCERPT_METRICS, add_shared_metrics, shared, &shared->is_private, error);
    if (!result) {
        remove_single(shared);
        choose_primary(shared);
        result = make_names_unique(shared) ? pf_fail_memory(error) : 0;
    }
    if (result)
        pf_shared_metrics_free(shared);
    return result;
}

void pf_shared_metrics_free(struct pf_shared_metrics *shared)
{
    for (size_t i = 0; i < shared->n; i++)
        free_shared(&shared->metrics[i]);
    free(shared->metrics);
    *shared = (struct pf_shared_metrics){.primary = -1};
}

struct summary {
    const struct pf_run_list *list;
    struct pf_buf *out;
};

static int add_summary(void *arg, unsigned i, const struct pf_excerpt *excerpt, const char *why,
                       struct pf_error *error)
{
    const struct summary *summary = arg;
    const struct pf_listed_run *listed = &summary->list->runs[i];
    pf_excerpt_summary(excerpt, &listed->info, why, listed->name, NULL, summary->out);
    return summary->out->failed ? pf_fail_memory(error) : 0;
}

int pf_runs_summary(struct pf_fs *fs, const struct pf_run_list *list, struct pf_buf *out, bool *is_private,
                    struct pf_error *error)
{
    struct summary summary = {list, out};
    pf_buf_str(
        out,
        "run,format,mtime,partitions,contexts,metric,unit,total,top_percent,warnings,worst,top,message\n");
    return each_excerpt(fs, list, PF_EXCERPT_WHOLE, add_summary, &summary, is_private, error);
}

/* ---- one metric --------------------------------------------------------------------------------- */

struct run_comparison {
    struct pf_fs *fs;
    const struct pf_run_list *list;
    const struct pf_shared_metric *metric;
    const char **runs; /* names of the runs that have the metric */
    unsigned n;
    bool inclusive; /* the metric of the runs is inclusive */
    struct pf_run_series *functions, *contexts;
    struct pf_runs_texts *texts;
    struct pf_changes changes;
    struct pf_buf formats; /* formats of the runs that have the metric: "collapsed, pprof" */
    struct pf_runs_caption caption;
    struct pf_runs_picture *picture;
    double *drawn; /* buffer for one function's values */
};

enum { IN_MEMORY = 1 << 20 }; /* maximum size of a text in memory, in bytes; a larger text is in a file */

/* Appends the rows in `out` to a text and empties `out`. */
static int append_rows(struct run_comparison *comparison, enum pf_runs_text table, struct pf_buf *out,
                       struct pf_error *error)
{
    return pf_append_text(comparison->texts->text[table], out, error);
}

static int find_shared_metric(const struct pf_model *model, const struct pf_shared_metric *shared)
{
    for (size_t m = 0; m < model->n_metrics; m++)
        if (is_shared(shared, &model->metrics[m]))
            return (int)m;
    return -1;
}

/* Appends the format's name to `formats`, once. */
static void add_format(struct run_comparison *comparison, const char *name)
{
    struct pf_buf *formats = &comparison->formats;
    size_t size = strlen(name);
    for (size_t at = 0; at + size <= formats->size; at++)
        if (!memcmp(formats->data + at, name, size) && (at == 0 || formats->data[at - 1] == ' ') &&
            (at + size == formats->size || formats->data[at + size] == ','))
            return;
    pf_buf_str(formats, formats->size ? ", " : "");
    pf_buf_str(formats, name);
}

/* Adds a run's values of the metric. No-op if metric->runs runs are added already, since the series has no room for more. */
static int add_run_values(struct run_comparison *comparison, const struct pf_listed_run *listed,
                          struct pf_profile *profile, struct pf_aggregate *aggregate, unsigned metric,
                          struct pf_error *error)
{
    if (comparison->n >= comparison->metric->runs)
        return 0;
    unsigned run = comparison->n++;
    comparison->inclusive = pf_profile_model(profile)->metrics[metric].over_contexts == PF_OVER_ROOTS;
    comparison->runs[run] = listed->name;
    add_format(comparison, pf_profile_model(profile)->driver->name);
    comparison->texts->is_private |= pf_excerpt_is_private(profile);
    pf_changes_add_total(&comparison->changes, run, aggregate, metric);
    int result = pf_series_add(comparison->functions, run, aggregate, metric, PF_SERIES_FUNCTIONS, error);
    return result ? result
                  : pf_series_add(comparison->contexts, run, aggregate, metric, PF_SERIES_CONTEXTS, error);
}

/* Adds a run to the comparison. A run that cannot be read adds nothing; the summary reports the reason. */
static void visit_run(struct run_visits *visits, unsigned i)
{
    struct run_comparison *comparison = visits->arg;
    const struct pf_listed_run *listed = &visits->list->runs[i];
    struct pf_op op = PF_OP;
    struct pf_error *failure = &op.error;
    struct pf_aggregate *aggregate = NULL;
    struct pf_profile *profile = pf_excerpt_open(visits->fs, listed->path, &listed->info, failure);
    const struct pf_model *model = profile ? pf_profile_model(profile) : NULL;
    int metric = model && model->partitions.plural ? find_shared_metric(model, comparison->metric) : -1;
    bool there = metric >= 0 && !pf_profile_aggregate_one(profile, (unsigned)metric, &aggregate, &op);
    /* Before the turn, make the order that add_run_values needs: other threads may wait during the turn. */
    struct pf_order *functions = NULL;
    if (there && pf_adds_up(&model->metrics[metric]))
        functions = pf_order_get(aggregate, (unsigned)metric, PF_BY_FUNCTION, failure);
    int result = begin_turn(visits, i, failure);
    if (!result && there)
        result = add_run_values(comparison, listed, profile, aggregate, (unsigned)metric, failure);
    end_turn(visits, result, failure);
    if (functions)
        pf_order_release(aggregate, functions);
    pf_profile_release(profile);
}

static void add_change(const struct run_comparison *comparison, const struct pf_change *change,
                       struct pf_buf *out)
{
    const struct pf_cell cells[] = {pf_optional_cell(&change->first),
                                    pf_optional_cell(&change->last),
                                    pf_optional_cell(&change->change),
                                    pf_optional_cell(&change->percent),
                                    pf_optional_cell(&change->min),
                                    pf_optional_cell(&change->mean),
                                    pf_optional_cell(&change->max),
                                    pf_optional_cell(&change->stddev),
                                    pf_uint(change->runs),
                                    change->since < 0 ? pf_absent()
                                                      : pf_string(comparison->runs[change->since]),
                                    change->name};
    if (change->runs)
        pf_csv_row(out, cells, sizeof cells / sizeof *cells, '\n');
}

static void add_change_values(const struct run_comparison *comparison, const struct pf_change *change,
                              struct pf_buf *out)
{
    const struct pf_optional_number *exclusives = comparison->inclusive ? change->others : change->values;
    const struct pf_optional_number *inclusives = comparison->inclusive ? change->values : change->others;
    for (unsigned run = 0; run < comparison->n; run++) {
        const struct pf_cell cells[] = {pf_string(comparison->runs[run]), pf_optional_cell(&exclusives[run]),
                                        pf_optional_cell(&inclusives[run]), change->name};
        if (exclusives[run].present || inclusives[run].present)
            pf_csv_row(out, cells, sizeof cells / sizeof *cells, '\n');
    }
}

/* Offers a function to the picture if the function has a value in some run. */
static int draw_change(struct run_comparison *comparison, const struct pf_change *change,
                       struct pf_error *error)
{
    for (unsigned run = 0; run < comparison->n; run++)
        comparison->drawn[run] =
            change->values[run].present ? pf_optional_double(&change->values[run]) : (double)NAN;
    return change->runs ? pf_runs_picture_add(comparison->picture, &change->name, comparison->drawn, error)
                        : 0;
}

static const char changes_head[] = "first,last,change,change_percent,min,mean,max,stddev,runs,since,name\n";

/* Writes function_changes.csv and function_values.csv, and collects the changes for changes.txt and the picture. */
static int write_functions(struct run_comparison *comparison, struct pf_buf *out, struct pf_error *error)
{
    struct pf_change change;
    int more;
    comparison->drawn = calloc(comparison->n + 1, sizeof *comparison->drawn);
    if (!comparison->drawn)
        return pf_fail_memory(error);
    pf_buf_char(&comparison->formats, 0);
    if (comparison->formats.failed)
        return pf_fail_memory(error);
    comparison->caption =
        (struct pf_runs_caption){.metric = comparison->metric->name,
                                 .unit = comparison->metric->unit,
                                 .formats = comparison->formats.data,
                                 .runs = comparison->runs,
                                 .n = comparison->n,
                                 .totals = comparison->changes.has_total ? comparison->changes.totals : NULL};
    comparison->picture = pf_runs_picture_new(&comparison->caption, error);
    if (!comparison->picture)
        return -1;
    pf_buf_str(out, changes_head);
    if (append_rows(comparison, PF_RUNS_FUNCTIONS, out, error))
        return -1;
    pf_buf_str(out, "run,exclusive,inclusive,name\n");
    if (append_rows(comparison, PF_RUNS_VALUES, out, error))
        return -1;
    while ((more = pf_series_next(comparison->functions, &change, error)) > 0) {
        add_change(comparison, &change, out);
        if (append_rows(comparison, PF_RUNS_FUNCTIONS, out, error))
            return -1;
        add_change_values(comparison, &change, out);
        if (append_rows(comparison, PF_RUNS_VALUES, out, error) ||
            pf_changes_add(&comparison->changes, &change, error) || draw_change(comparison, &change, error))
            return -1;
    }
    return more;
}

static int write_contexts(struct run_comparison *comparison, struct pf_buf *out, struct pf_error *error)
{
    struct pf_change change;
    int more = 1;
    pf_buf_str(out, changes_head);
    while (more > 0) {
        if (append_rows(comparison, PF_RUNS_CONTEXTS, out, error))
            return -1;
        if ((more = pf_series_next(comparison->contexts, &change, error)) > 0)
            add_change(comparison, &change, out);
    }
    return more;
}

/* The state of write_functions or of write_contexts, which run in parallel. */
struct text_writing {
    struct run_comparison *comparison;
    struct pf_buf out; /* rows that are not in their text yet */
    struct pf_error error;
    int result;
};

static void write_side(void *arg, size_t side)
{
    struct text_writing *writing = (struct text_writing *)arg + side;
    writing->result =
        (side ? write_contexts : write_functions)(writing->comparison, &writing->out, &writing->error);
    pf_buf_free(&writing->out);
}

static int write_series(struct run_comparison *comparison, struct pf_error *error)
{
    struct text_writing sides[2] = {{.comparison = comparison}, {.comparison = comparison}};
    pf_pool_split(pf_fs_env(comparison->fs)->pool, 2, write_side, sides);
    for (size_t side = 0; side < 2; side++)
        if (sides[side].result) {
            *error = sides[side].error;
            return -1;
        }
    return 0;
}

static void write_changes(const struct run_comparison *comparison, struct pf_buf *out)
{
    pf_buf_str(out, comparison->metric->name);
    pf_buf_str(out, *comparison->metric->unit ? ", " : "");
    pf_buf_str(out, comparison->metric->unit);
    pf_buf_str(out, ", by function: ");
    if (comparison->n)
        pf_escape(out, comparison->runs[0], strlen(comparison->runs[0]));
    pf_buf_str(out, " to ");
    if (comparison->n)
        pf_escape(out, comparison->runs[comparison->n - 1], strlen(comparison->runs[comparison->n - 1]));
    pf_buf_str(out, "\n\n");
    pf_changes_print(&comparison->changes, comparison->runs, out);
}

/* Writes the texts that summarize all functions. */
static int write_overview(struct run_comparison *comparison, struct pf_error *error)
{
    struct pf_buf out = {0};
    write_changes(comparison, &out);
    int result = append_rows(comparison, PF_RUNS_CHANGES, &out, error);
    if (!result) {
        pf_runs_picture_draw(comparison->picture, &out);
        result = append_rows(comparison, PF_RUNS_PICTURE, &out, error);
    }
    pf_buf_free(&out);
    return result;
}

static int compare_metric(struct run_comparison *comparison, struct pf_error *error)
{
    for (size_t t = 0; t < PF_RUNS_TEXTS; t++)
        if (!(comparison->texts->text[t] = pf_store_new(IN_MEMORY)))
            return pf_fail_memory(error);
    if (visit_all_runs(
            (struct run_visits){
                .fs = comparison->fs, .list = comparison->list, .visit = visit_run, .arg = comparison},
            error) ||
        write_series(comparison, error) || write_overview(comparison, error))
        return -1;
    for (size_t t = 0; t < PF_RUNS_TEXTS; t++)
        if (pf_store_flush(comparison->texts->text[t], error))
            return -1;
    return 0;
}

static void free_runs_texts(struct pf_runs_texts *texts)
{
    for (size_t t = 0; t < PF_RUNS_TEXTS; t++)
        pf_store_free(texts->text[t]);
    *texts = (struct pf_runs_texts){.is_private = false};
}

int pf_runs_compare(struct pf_fs *fs, const struct pf_run_list *list, const struct pf_shared_metric *metric,
                    struct pf_runs_texts *texts, struct pf_error *error)
{
    uint64_t limit = pf_fs_options(fs)->profile.cache / 4;
    *texts = (struct pf_runs_texts){.is_private = false};
    struct run_comparison comparison = {
        .fs = fs,
        .list = list,
        .metric = metric,
        .runs = calloc(list->n, sizeof *comparison.runs),
        .functions = pf_series_new(metric->runs, limit),
        .contexts = pf_series_new(metric->runs, 2 * limit), /* usually outnumber the functions */
        .texts = texts};
    bool there = comparison.runs && comparison.functions && comparison.contexts;
    int result = there ? compare_metric(&comparison, error) : pf_fail_memory(error);
    pf_series_free(comparison.functions);
    pf_series_free(comparison.contexts);
    pf_changes_free(&comparison.changes);
    pf_runs_picture_free(comparison.picture);
    pf_buf_free(&comparison.formats);
    free(comparison.drawn);
    free(comparison.runs);
    if (result)
        free_runs_texts(texts);
    return result;
}
