/* SPDX-License-Identifier: MIT */
#include "fs/runs/excerpt.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "formats/driver_extra.h"
#include "formats/model.h"
#include "fs/cache/fields.h"
#include "fs/profile/names.h"
#include "fs/profile/views.h"
#include "fs/runs/series.h"
#include "fs/sums/order.h"
#include "fs/text/csv.h"

/* Maximum size of a cached excerpt. A larger excerpt is not cached, but made each time. */
enum { CACHED_MAX = 1 << 20 };

void pf_excerpt_free(struct pf_excerpt *excerpt)
{
    pf_buf_free(&excerpt->metrics);
    pf_buf_free(&excerpt->summary);
    for (size_t r = 0; r < PF_EXCERPT_ROWS; r++)
        pf_buf_free(&excerpt->rows[r]);
    *excerpt = (struct pf_excerpt){.metrics = {0}};
}

/* ---- making ------------------------------------------------------------------------------------- */

static int excerpt_primary_metric(const struct pf_model *model)
{
    return pf_primary_metric(model->metrics, model->n_metrics, model->options->metric);
}

static void add_excerpt_metrics(struct pf_profile *profile, struct pf_buf *out)
{
    const struct pf_model *model = pf_profile_model(profile);
    if (!model->partitions.plural)
        return;
    int primary = excerpt_primary_metric(model);
    for (uint32_t m = 0; m < model->n_metrics; m++) {
        char dir[PF_NAME_MAX + 1];
        const struct pf_metric *metric = &model->metrics[m];
        pf_dirname(pf_profile_names(profile, PF_NAMED_METRICS), m, dir);
        pf_buf_char(out, (int)m == primary ? 'p' : 'm');
        pf_buf_add(out, metric->name, strlen(metric->name) + 1);
        pf_buf_add(out, metric->unit, strlen(metric->unit) + 1);
        pf_buf_add(out, dir, strlen(dir) + 1);
    }
}

/* Appends the rows of warnings.csv; *worst is the worst severity, absent if there are no warnings. */
static void add_warnings(struct pf_profile *profile, struct pf_buf *out, struct pf_cell *worst)
{
    static const char *const severities[] = {"warning", "error", "fatal"};
    struct pf_buf scratch = {0};
    int most = -1;
    for (uint64_t i = 0; i < pf_warning_count(profile); i++) {
        struct pf_cell it[PF_WARNING_COLUMNS];
        pf_warning_cells(profile, i, it, &scratch);
        for (int s = most + 1; s < 3; s++)
            if (it[2].size == strlen(severities[s]) && !memcmp(it[2].text, severities[s], it[2].size))
                most = s;
        pf_csv_row(out, it, PF_WARNING_COLUMNS - 1, ',');
        pf_buf_add(out, "\0,", 2);
        pf_csv_row(out, &it[PF_WARNING_COLUMNS - 1], 1, '\n');
    }
    *worst = most < 0 ? pf_absent() : pf_string(severities[most]);
    out->failed |= scratch.failed;
    pf_buf_free(&scratch);
}

/* Converts a value to ns if the metric is a time, since the tables over several profiles show times in ns. The result may
 * point to *number. */
static struct pf_cell in_ns(const struct pf_metric *metric, const struct pf_cell *value,
                            union pf_number *number)
{
    bool real;
    if (!pf_number_of_cell(value, number, &real))
        return *value;
    *number = pf_number_times(*number, pf_series_factor(metric), &real);
    return pf_number_cell(number, real);
}

static void add_functions(const struct pf_model *model, unsigned primary, const struct pf_order *functions,
                          struct pf_buf *out)
{
    const struct pf_metric *metric = &model->metrics[primary];
    for (size_t i = 0; i < functions->n_functions; i++) {
        struct pf_cell it[PF_FUNCTION_COLUMNS];
        union pf_number exclusive, inclusive;
        pf_function_cells(model, functions, i, it);
        const struct pf_cell cells[] = {pf_string(model->driver->name),
                                        pf_string(metric->name),
                                        pf_string(pf_series_unit(metric->unit)),
                                        in_ns(metric, &it[PF_FUNCTION_EXCLUSIVE], &exclusive),
                                        in_ns(metric, &it[PF_FUNCTION_INCLUSIVE], &inclusive),
                                        it[PF_FUNCTION_EXCLUSIVE_PERCENT],
                                        it[PF_FUNCTION_NAME]};
        pf_csv_row(out, cells, sizeof cells / sizeof *cells, ',');
        pf_buf_add(out, "\0\n", 2);
    }
}

/* Makes a whole excerpt. `aggregate` is NULL if the profile has no measurements. */
static int make_excerpt(struct pf_profile *profile, struct pf_aggregate *aggregate,
                        struct pf_excerpt *excerpt, struct pf_error *error)
{
    const struct pf_model *model = pf_profile_model(profile);
    int primary = aggregate ? excerpt_primary_metric(model) : -1;
    const struct pf_metric *metric = primary >= 0 ? &model->metrics[primary] : NULL;
    struct pf_order *functions = NULL;
    if (metric && !(functions = pf_order_get(aggregate, (unsigned)primary, PF_BY_FUNCTION, error)))
        return -1;
    pf_int128 wide;
    union pf_number in_ns_total;
    struct pf_cell total = metric ? pf_aggregate_total(aggregate, (unsigned)primary, &wide) : pf_absent();
    struct pf_cell worst, first[PF_FUNCTION_COLUMNS] = {0};
    if (metric && pf_adds_up(metric) && functions->n_functions)
        pf_function_cells(model, functions, 0, first);
    add_excerpt_metrics(profile, &excerpt->metrics);
    add_warnings(profile, &excerpt->rows[PF_EXCERPT_WARNINGS], &worst);
    const struct pf_cell cells[] = {aggregate ? pf_uint(pf_rows_count(model->partitions.items)) : pf_absent(),
                                    aggregate ? pf_uint(model->contexts->count) : pf_absent(),
                                    metric ? pf_string(metric->name) : pf_absent(),
                                    metric ? pf_string(pf_series_unit(metric->unit)) : pf_absent(),
                                    metric ? in_ns(metric, &total, &in_ns_total) : pf_absent(),
                                    first[PF_FUNCTION_EXCLUSIVE_PERCENT],
                                    pf_uint(pf_warning_count(profile)),
                                    worst,
                                    first[PF_FUNCTION_NAME]};
    pf_csv_row(&excerpt->summary, cells, sizeof cells / sizeof *cells, 0);
    if (functions) {
        add_functions(model, (unsigned)primary, functions, &excerpt->rows[PF_EXCERPT_FUNCTIONS]);
        pf_order_release(aggregate, functions);
    }
    bool failed = excerpt->metrics.failed || excerpt->summary.failed ||
                  excerpt->rows[PF_EXCERPT_WARNINGS].failed || excerpt->rows[PF_EXCERPT_FUNCTIONS].failed;
    if (failed)
        return pf_fail_memory(error);
    return aggregate ? pf_aggregate_check(aggregate, error) : 0;
}

/* ---- caching ------------------------------------------------------------------------------------ */

static void cache_excerpt(struct pf_profile *profile, const struct pf_entry_info *info,
                          const struct pf_excerpt *excerpt)
{
    struct pf_buf out = {0};
    pf_fields_add(&out, PF_FIELD_METRICS, 0, excerpt->metrics.data, excerpt->metrics.size);
    pf_fields_add(&out, PF_FIELD_SUMMARY, 0, excerpt->summary.data, excerpt->summary.size);
    for (size_t r = 0; r < PF_EXCERPT_ROWS; r++)
        pf_fields_add(&out, PF_FIELD_ROWS, r, excerpt->rows[r].data, excerpt->rows[r].size);
    if (out.size <= CACHED_MAX)
        pf_datum_put_excerpt(profile, &info->st, &out);
    pf_buf_free(&out);
}

static struct pf_buf *excerpt_text_of(struct pf_excerpt *excerpt, const struct pf_field *field)
{
    switch (field->type) {
    case PF_FIELD_METRICS:
        return &excerpt->metrics;
    case PF_FIELD_SUMMARY:
        return &excerpt->summary;
    case PF_FIELD_ROWS:
        return field->number < PF_EXCERPT_ROWS ? &excerpt->rows[field->number] : NULL;
    default:
        return NULL;
    }
}

static bool read_cached_excerpt(struct pf_fs *fs, const char *path, const struct pf_entry_info *info,
                                struct pf_excerpt *excerpt)
{
    struct pf_buf stored = {0};
    struct pf_field field;
    struct pf_excerpt cached = {.metrics = {0}};
    stored.data = pf_datum_get_excerpt(pf_fs_env(fs), info->driver, path, &info->st, &stored.size);
    bool sound = stored.data && pf_fields_are_sound(stored.data, stored.size);
    for (const char *at = NULL; sound && (at = pf_fields_next(&stored, at, &field));) {
        struct pf_buf *text = excerpt_text_of(&cached, &field);
        if (text)
            pf_buf_add(text, at, field.size);
        sound = text && !text->failed;
    }
    free(stored.data);
    if (sound)
        *excerpt = cached;
    else
        pf_excerpt_free(&cached);
    return sound;
}

/* ---- getting ------------------------------------------------------------------------------------ */

struct pf_profile *pf_excerpt_open(struct pf_fs *fs, const char *path, const struct pf_entry_info *info,
                                   struct pf_error *error)
{
    struct pf_op op = PF_OP;
    struct pf_profile *profile = pf_profile_at(pf_fs_env(fs), info->driver, path, NULL, NULL, &op.error);
    if (profile && !pf_profile_stage(profile, pf_metrics_stage(pf_profile_model(profile)), &op))
        return profile;
    *error = op.error;
    pf_profile_release(profile);
    return NULL;
}

bool pf_excerpt_is_private(struct pf_profile *profile)
{
    return (pf_profile_access(profile).mode & 0444) != 0444;
}

int pf_excerpt_get(struct pf_fs *fs, const char *path, const struct pf_entry_info *info,
                   enum pf_excerpt_extent extent, bool may_use_cache, struct pf_excerpt *excerpt,
                   struct pf_error *error)
{
    struct pf_aggregate *aggregate = NULL;
    struct pf_op op = PF_OP;
    *excerpt = (struct pf_excerpt){.metrics = {0}};
    if (may_use_cache && read_cached_excerpt(fs, path, info, excerpt))
        return 0;
    struct pf_profile *profile = pf_excerpt_open(fs, path, info, error);
    if (!profile)
        return -1;
    int result = 0;
    if (extent == PF_EXCERPT_METRICS) {
        add_excerpt_metrics(profile, &excerpt->metrics);
        result = excerpt->metrics.failed ? pf_fail_memory(error) : 0;
    } else {
        result = pf_profile_stage(profile, PF_CHECKED, &op);
        if (!result && pf_profile_model(profile)->partitions.plural)
            result = pf_profile_aggregate(profile, -1, &aggregate, &op);
        if (result)
            *error = op.error;
        else
            result = make_excerpt(profile, aggregate, excerpt, error);
        if (!result)
            cache_excerpt(profile, info, excerpt);
    }
    excerpt->is_private = pf_excerpt_is_private(profile);
    if (result)
        pf_excerpt_free(excerpt);
    pf_profile_release(profile);
    return result;
}

void pf_excerpt_put(struct pf_profile *profile, const struct pf_entry_info *info)
{
    struct pf_error error;
    struct pf_excerpt excerpt = {.metrics = {0}};
    if (!pf_driver_extra_of(info->driver)->beside &&
        !make_excerpt(profile, pf_profile_aggregate_now(profile, -1), &excerpt, &error))
        cache_excerpt(profile, info, &excerpt);
    pf_excerpt_free(&excerpt);
}

/* ---- printing ----------------------------------------------------------------------------------- */

bool pf_excerpt_metric(const struct pf_excerpt *excerpt, size_t *at, struct pf_excerpt_metric *metric)
{
    const char **texts[] = {&metric->name, &metric->unit, &metric->dir};
    const char *bytes = excerpt->metrics.data;
    if (*at >= excerpt->metrics.size)
        return false;
    metric->primary = bytes[(*at)++] == 'p';
    for (size_t t = 0; t < 3; t++) {
        const char *end =
            *at < excerpt->metrics.size ? memchr(bytes + *at, 0, excerpt->metrics.size - *at) : NULL;
        if (!end)
            return false;
        *texts[t] = bytes + *at;
        *at = (size_t)(end - bytes) + 1;
    }
    return true;
}

void pf_excerpt_summary(const struct pf_excerpt *excerpt, const struct pf_entry_info *info,
                        const char *message, const char *run, const char *path, struct pf_buf *out)
{
    char mtime[64];
    struct tm tm;
    gmtime_r(&info->st.st_mtim.tv_sec, &tm);
    strftime(mtime, sizeof mtime, "%Y-%m-%dT%H:%M:%SZ", &tm);
    const struct pf_cell first[] = {pf_string(run), pf_string(info->driver->name), pf_string(mtime)};
    pf_csv_row(out, first + !run, 3 - (size_t)!run, ',');
    if (excerpt)
        pf_buf_add(out, excerpt->summary.data, excerpt->summary.size);
    else
        pf_buf_str(out, ",,,,,,,,");
    pf_buf_char(out, ',');
    const struct pf_cell last[] = {pf_string(path), excerpt ? pf_absent() : pf_string(message)};
    pf_csv_row(out, last + !path, 2 - (size_t)!path, '\n');
}

void pf_excerpt_print(const struct pf_excerpt *excerpt, enum pf_excerpt_rows which, const char *path,
                      struct pf_buf *out)
{
    const struct pf_buf *rows = &excerpt->rows[which];
    struct pf_buf cell = {0};
    const struct pf_cell of_path = pf_string(path);
    pf_csv_cell(&cell, &of_path);
    for (size_t at = 0; at < rows->size;) {
        const char *gap = memchr(rows->data + at, 0, rows->size - at);
        size_t n = gap ? (size_t)(gap - rows->data) - at : rows->size - at;
        pf_buf_add(out, rows->data + at, n);
        if (gap)
            pf_buf_add(out, cell.data, cell.size);
        at += n + 1;
    }
    out->failed |= cell.failed;
    pf_buf_free(&cell);
}

int pf_append_text(struct pf_store *store, struct pf_buf *text, struct pf_error *error)
{
    int result = text->failed ? pf_fail_memory(error) : pf_store_append(store, text->data, text->size, error);
    text->size = 0;
    return result;
}
