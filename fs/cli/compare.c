/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <getopt.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fs/cli/commands.h"
#include "fs/exit.h"

#include "formats/kit/print.h"
#include "formats/model.h"
#include "fs/runs/changes.h"
#include "fs/sums/readable.h"
#include "fs/text/csv.h"
#include "fs/tree/listing.h"
#include "fs/tree/vfs.h"

/* `profilefs compare` reports what grew and what shrank between the first and the last of several profiles. With --fail, its
 * exit status can fail a CI job. */

struct comparison {
    const char *metric; /* NULL: the primary one of the first profile */
    enum pf_series_by by;
    double fail, min; /* in percent; fail < 0: never fail */
    unsigned n;
    char *const *paths; /* as the user typed them */
    char **sources;     /* owned: each path's location on disk (pf_path_on_disk), without its rest */
    char **rests;       /* owned: the end of each path, in an archive or a mount; may be empty */

    struct pf_metric chosen; /* name and unit of the compared metric; name NULL: not chosen yet */
    struct pf_run_series *series;
    struct pf_changes changes;
    struct pf_buf grown; /* names of entries that grew too much, one per line */
    int status;
};

static void complain_of_profile(struct comparison *comparison, const char *path, const char *what, int status)
{
    fflush(stdout);
    fprintf(stderr, "profilefs: %s: %s\n", path, what);
    if (status > comparison->status)
        comparison->status = status;
}

/* ---- one profile -------------------------------------------------------------------------------- */

/* Returns true if two metrics have the same unit after times are converted to ns. A profile's primary metric is then compared even
 * if it has another name than the chosen metric. */
static bool is_of_one_unit(const struct pf_metric *a, const struct pf_metric *b)
{
    return *a->unit && !strcmp(pf_series_unit(a->unit), pf_series_unit(b->unit));
}

/* Returns the index of the metric to compare, or -1. The first profile determines the metric; the metric's name may differ in a
 * profile of another format. */
static int find_compared_metric(struct comparison *comparison, const struct pf_model *model)
{
    int primary = pf_primary_metric(model->metrics, model->n_metrics, comparison->metric);
    const struct pf_metric *chosen = &comparison->chosen;
    if (!chosen->name) {
        bool wanted = primary >= 0 &&
                      (!comparison->metric || !strcmp(model->metrics[primary].name, comparison->metric));
        if (!wanted)
            return -1;
        comparison->chosen.name = strdup(model->metrics[primary].name);
        comparison->chosen.unit = strdup(model->metrics[primary].unit);
        return comparison->chosen.name && comparison->chosen.unit ? primary : -1;
    }
    for (size_t m = 0; m < model->n_metrics; m++)
        if (pf_comparable(&model->metrics[m], chosen))
            return (int)m;
    return !comparison->metric && primary >= 0 && is_of_one_unit(&model->metrics[primary], chosen) ? primary
                                                                                                   : -1;
}

enum { LISTED_MAX = 72 }; /* bytes; a longer list ends with "...", since a message has room for 192 bytes */

/* Fails with a list of the profile's metrics, by name and unit. */
static int fail_metric(const struct comparison *comparison, const struct pf_model *model,
                       struct pf_error *error)
{
    struct pf_buf names = {0};
    const char *wanted = comparison->chosen.name ? comparison->chosen.name : comparison->metric;
    const char *unit = comparison->chosen.name ? comparison->chosen.unit : "";
    for (size_t m = 0; m < model->n_metrics; m++) {
        const struct pf_metric *metric = &model->metrics[m];
        pf_buf_str(&names, m ? ", " : "");
        if (names.size > LISTED_MAX) {
            pf_buf_str(&names, "...");
            break;
        }
        pf_escape(&names, metric->name, strlen(metric->name));
        if (*metric->unit)
            pf_buf_printf(&names, " (%s)", metric->unit);
    }
    pf_buf_char(&names, '\0');
    if (!model->n_metrics || !wanted || names.failed)
        pf_fail(error, EINVAL, "contains no metrics");
    else
        pf_fail(error, EINVAL, "no metric %.40s%s%.16s%s; available: %s", wanted, *unit ? " (" : "", unit,
                *unit ? ")" : "", names.data);
    pf_buf_free(&names);
    return -1;
}

static bool is_cut_off(const struct pf_model *model)
{
    for (size_t i = 0; i < pf_rows_count(model->warnings); i++) {
        struct pf_cell severity = pf_rows_at(model->warnings, i)[2];
        if (severity.size == 5 && !memcmp(severity.text, "fatal", 5))
            return true;
    }
    return false;
}

static int add_run(struct comparison *comparison, unsigned run, struct pf_profile *profile,
                   struct pf_error *error)
{
    struct pf_op op = PF_OP;
    struct pf_aggregate *aggregate;
    const struct pf_model *model = pf_profile_model(profile);
    if (!model->partitions.plural)
        return pf_fail(error, EINVAL, "contains no measurements");
    if (pf_profile_stage(profile, pf_metrics_stage(model), &op)) {
        *error = op.error;
        return -1;
    }
    int metric = find_compared_metric(comparison, model);
    if (metric < 0)
        return fail_metric(comparison, model, error);
    if (pf_profile_aggregate_one(profile, (unsigned)metric, &aggregate, &op)) {
        *error = op.error;
        return -1;
    }
    if (is_cut_off(model))
        complain_of_profile(comparison, comparison->paths[run],
                            "damaged: comparing only the data before the damage", PF_EXIT_PROBLEM);
    pf_changes_add_total(&comparison->changes, run, aggregate, (unsigned)metric);
    return pf_series_add(comparison->series, run, aggregate, (unsigned)metric, comparison->by, error);
}

struct opening {
    struct comparison *comparison;
    struct pf_fs *fs;
    unsigned run;
    bool found;
};

static int add_found(void *arg, const char *path, const struct pf_entry_info *info, struct pf_error *error)
{
    struct opening *opening = arg;
    const char *rest = opening->comparison->rests[opening->run];
    if (*rest && strcmp(path, rest) != 0)
        return 0;
    if (opening->found)
        return pf_fail(error, EINVAL, "a folder of profiles, not a single profile");
    opening->found = true;
    struct pf_profile *profile = pf_profile_at(pf_fs_env(opening->fs), info->driver, path, NULL, NULL, error);
    int result = profile ? add_run(opening->comparison, opening->run, profile, error) : -1;
    pf_profile_release(profile);
    return result;
}

static int add_compared_path(struct comparison *comparison, const struct pf_fs_options *options, unsigned run)
{
    struct pf_error error = {0};
    struct opening opening = {.comparison = comparison, .run = run};
    opening.fs = pf_fs_new(comparison->sources[run], options, &error);
    int result = opening.fs ? pf_each_profile(opening.fs, NULL, add_found, &opening, &error) : -1;
    if (!result && !opening.found)
        result = pf_fail(&error, EINVAL, *comparison->rests[run] ? "no such profile" : "not a profile");
    pf_fs_free(opening.fs);
    if (result)
        complain_of_profile(comparison, comparison->paths[run], error.what, pf_exit_of(error.code));
    return result;
}

/* ---- all of them -------------------------------------------------------------------------------- */

/* True if the entry is at least --min percent of the total, and is new or grew by more than --fail percent. */
static bool grew_too_much(const struct comparison *comparison, const struct pf_change *change)
{
    const double *totals = comparison->changes.totals;
    double whole = fabs(totals[0]) > fabs(totals[1]) ? totals[0] : totals[1];
    double last = pf_optional_double(&change->last);
    if (comparison->fail < 0 || pf_optional_double(&change->change) <= 0 ||
        fabs(last) < fabs(whole) * comparison->min / 100)
        return false;
    return !change->percent.present || pf_optional_double(&change->percent) > comparison->fail;
}

static int take_changes(struct comparison *comparison, struct pf_error *error)
{
    struct pf_change change;
    int more;
    while ((more = pf_series_next(comparison->series, &change, error)) > 0) {
        if (pf_changes_add(&comparison->changes, &change, error))
            return -1;
        if (grew_too_much(comparison, &change)) {
            if (change.name.size)
                pf_escape(&comparison->grown, change.name.text, change.name.size);
            pf_buf_char(&comparison->grown, '\n');
        }
    }
    return more;
}

static void print_all(const struct comparison *comparison)
{
    struct pf_buf out = {0};
    char first[PF_NUMBER_MAX], last[PF_NUMBER_MAX];
    union pf_number a = {.d = {comparison->changes.totals[0], 0}},
                    b = {.d = {comparison->changes.totals[1], 0}};
    *pf_print_rounded(first, &a, true) = *pf_print_rounded(last, &b, true) = '\0';
    pf_buf_str(&out, comparison->chosen.name);
    pf_buf_str(&out, *comparison->chosen.unit ? ", " : "");
    pf_buf_str(&out, pf_series_unit(comparison->chosen.unit));
    pf_buf_str(&out, comparison->by == PF_SERIES_FUNCTIONS ? ", by function: " : ", by call path: ");
    pf_buf_str(&out, comparison->paths[0]);
    pf_buf_str(&out, " to ");
    pf_buf_str(&out, comparison->paths[comparison->n - 1]);
    pf_buf_str(&out, ", total ");
    pf_buf_str(&out, first);
    pf_buf_str(&out, " to ");
    pf_buf_str(&out, last);
    pf_buf_str(&out, "\n\n");
    pf_changes_print(&comparison->changes, (const char *const *)comparison->paths, &out);
    if (comparison->grown.size) {
        pf_buf_str(&out, "\ngrew by more than --fail allows:\n");
        pf_buf_add(&out, comparison->grown.data, comparison->grown.size);
    }
    fwrite(out.data, 1, out.size, stdout);
    pf_buf_free(&out);
}

static int compare_paths(struct comparison *comparison, const struct pf_fs_options *options)
{
    struct pf_error error = {0};
    comparison->series = pf_series_new(comparison->n, options->profile.cache);
    if (!comparison->series)
        return PF_EXIT_SYSTEM;
    for (unsigned run = 0; run < comparison->n; run++)
        if (add_compared_path(comparison, options, run))
            return comparison->status;
    if (take_changes(comparison, &error)) {
        complain_of_profile(comparison, comparison->paths[0], error.what, PF_EXIT_SYSTEM);
        return comparison->status;
    }
    print_all(comparison);
    if (fflush(stdout))
        return PF_EXIT_SYSTEM;
    return comparison->status || !comparison->grown.size ? comparison->status : PF_EXIT_GREW;
}

/* Splits each path into a part on disk, in sources[], and the rest, in rests[]. Returns 0, or -1 after printing a message. */
static int find_sources(struct comparison *comparison)
{
    struct stat st;
    comparison->sources = calloc(comparison->n, sizeof *comparison->sources);
    comparison->rests = calloc(comparison->n, sizeof *comparison->rests);
    if (!comparison->sources || !comparison->rests)
        return -1;
    for (unsigned run = 0; run < comparison->n; run++) {
        char *path = comparison->sources[run] = pf_path_on_disk(comparison->paths[run]);
        size_t size = path ? pf_existing_prefix(path, &st) : 0;
        /* Only archives, and folders as a mount shows them, contain profiles that are not on disk. */
        bool within =
            size && path[size] && (S_ISREG(st.st_mode) || strcmp(path, comparison->paths[run]) != 0);
        char *rest = comparison->rests[run] =
            path ? strdup(within ? path + size + strspn(path + size, "/") : "") : NULL;
        if (!rest) {
            complain_of_profile(comparison, comparison->paths[run], strerror(errno), PF_EXIT_SYSTEM);
            return -1;
        }
        for (size_t end = strlen(rest); end && rest[end - 1] == '/'; end--)
            rest[end - 1] = '\0';
        if (within)
            path[size] = '\0';
    }
    return 0;
}

static void free_comparison(struct comparison *comparison)
{
    for (unsigned run = 0; run < comparison->n && comparison->sources && comparison->rests; run++) {
        free(comparison->sources[run]);
        free(comparison->rests[run]);
    }
    free(comparison->sources);
    free(comparison->rests);
    pf_series_free(comparison->series);
    pf_changes_free(&comparison->changes);
    pf_buf_free(&comparison->grown);
    free((char *)comparison->chosen.name);
    free((char *)comparison->chosen.unit);
}

static int usage(void)
{
    fprintf(stderr, "profilefs: usage: profilefs compare A B... [--metric M] [--by functions|contexts] "
                    "[--fail PERCENT] [--min PERCENT]\n");
    return PF_EXIT_USAGE;
}

static bool read_percent(const char *text, double *percent)
{
    char *end;
    *percent = strtod(text, &end);
    if (*end == '%')
        end++;
    return end != text && !*end && *percent >= 0 && isfinite(*percent);
}

static bool read_options(struct comparison *comparison, int argc, char **argv)
{
    static const struct option options[] = {{"metric", required_argument, NULL, 'm'},
                                            {"by", required_argument, NULL, 'b'},
                                            {"fail", required_argument, NULL, 'f'},
                                            {"min", required_argument, NULL, 'i'},
                                            {NULL, 0, NULL, 0}};
    optind = 0;
    for (int c; (c = getopt_long(argc, argv, "", options, NULL)) >= 0;) {
        if (c == 'm')
            comparison->metric = optarg;
        else if (c == 'b' && !strcmp(optarg, "contexts"))
            comparison->by = PF_SERIES_CONTEXTS;
        else if (!(c == 'b' && !strcmp(optarg, "functions")) &&
                 !(c == 'f' && read_percent(optarg, &comparison->fail)) &&
                 !(c == 'i' && read_percent(optarg, &comparison->min)))
            return false;
    }
    comparison->n = (unsigned)(argc - optind);
    comparison->paths = argv + optind;
    return comparison->n >= 2;
}

int pf_command_compare(const struct pf_fs_options *options, int argc, char **argv)
{
    struct comparison comparison = {.metric = options->profile.metric, .fail = -1, .min = 1};
    if (!read_options(&comparison, argc + 1, argv - 1)) /* argv[1] is the command's name */
        return usage();
    int status = PF_EXIT_SYSTEM;
    if (!find_sources(&comparison) && !pf_enter_sandbox(options, comparison.sources, comparison.n))
        status = compare_paths(&comparison, options);
    free_comparison(&comparison);
    return status;
}
