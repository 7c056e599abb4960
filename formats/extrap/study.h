/* SPDX-License-Identifier: MIT */
#ifndef PF_EXTRAP_STUDY_H
#define PF_EXTRAP_STUDY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "formats/driver.h"
#include "formats/input/source.h"
#include "formats/kit/array.h"
#include "formats/kit/ids.h"
#include "formats/kit/store.h"
#include "formats/kit/strings.h"
#include "formats/kit/tree.h"
#include "formats/runtime/run.h"

/*
 * A study is the common representation of all Extra-P formats. It measures a program at several points of a parameter
 * space. A series is the measurements of one call path and metric. Points, call paths, metrics and series (except
 * dropped ones) are lists without duplicates, in order of first appearance. A reader adds the data of its file in a run
 * (runtime/run.h). Then the study is finished, and published as the profile's model. One thread at a time uses a study.
 */

/*
 * Maximum number of parameters, and of coordinates of a point. Extra-P supports four parameters. Without a limit, a short
 * line of a file could make the rows of a million points wide.
 */
#define PF_PARAMETERS_MAX 16

#define PF_NO_POINT  UINT32_MAX
#define PF_NO_SERIES UINT32_MAX
#define PF_NO_MODEL  UINT32_MAX

/* The statistics that a file may have instead of or in addition to values. */
enum pf_statistic { PF_MEAN, PF_MEDIAN, PF_MINIMUM, PF_MAXIMUM, PF_DEVIATION, PF_STATISTICS };

struct pf_series {
    uint32_t context, metric;
    uint64_t line;  /* line of its first appearance; 0: unknown */
    int64_t offset; /* file offset of its first appearance; -1: unknown */
    uint32_t next;  /* next series of the same context, or PF_NO_SERIES; set by pf_study_finish */
    bool dropped;   /* a later series has replaced it */
};

/*
 * The place of an item of measured data. Items are in two lists that spill to disk: the values, and the statistics that a
 * file has instead of or in addition to values. pf_study_finish sorts both lists by series and point. Items of one series
 * and point stay in file order.
 */
struct pf_place {
    uint32_t series, point;
    uint32_t repetition; /* number of earlier items of this series and point */
    uint32_t flags;
};

/*
 * Flags of a place. The bits above PF_STARTS hold the number of the location that a value belongs to or, for statistics,
 * the bit set of the known statistics (enum pf_statistic, lowest bit first).
 */
enum {
    PF_STARTS = 1,      /* the item starts a measurement; otherwise it continues the previous one */
    PF_FLAGS_ABOVE = 2, /* the lowest of the bits above PF_STARTS */
    PF_ALL_FIGURES = PF_STARTS | PF_FLAGS_ABOVE * ((1 << PF_STATISTICS) - 1)
};

struct pf_value {
    struct pf_place at;
    double value;
};
/* The statistics of a measurement, as the file has them. */
struct pf_figures {
    struct pf_place at;
    int64_t repetitions; /* -1: not known */
    double of[PF_STATISTICS];
};

/* A list of struct pf_value or of struct pf_figures. */
struct pf_list {
    struct pf_store *store;
    size_t item; /* size of an item, in bytes */
    uint64_t count;
    struct pf_series_run {
        uint64_t start, end; /* range of the items of a series */
        uint64_t points;     /* number of points that have items */
        uint64_t doubled;    /* number of measurements that are not the first one of their point */
    } * runs;                /* by series; series from n_runs on have no items */
    size_t n_runs;
    struct pf_place last; /* place of the last item */
    bool unsorted;        /* items were not added by ascending series and point */
};

/* Measures of how well a fitted model agrees with the data. */
enum pf_fit { PF_RSS, PF_RRSS, PF_SMAPE, PF_AR2, PF_RE, PF_FITS };

/* A fitted model, which is a function of the parameters for a metric of a call path. */
struct pf_fit_function {
    uint32_t modeler; /* index in `modelers`, or PF_NO_STRING */
    uint32_t context, metric;
    uint32_t function; /* index in `functions` */
    uint32_t next;     /* next model of the same context, or PF_NO_MODEL; set by pf_study_finish */
    uint32_t has;      /* bit i is set if fits[i] is known */
    double fits[PF_FITS];
};

/* Problems of a file: severity and code in warnings.csv. */
static const struct pf_note_kind PF_BAD_LINE = {"error", "bad-line", NULL};
static const struct pf_note_kind PF_BAD_MEMBER = {"error", "bad-member", NULL};
static const struct pf_note_kind PF_BAD_MODEL = {"error", "bad-model", NULL};
static const struct pf_note_kind PF_BAD_NUMBER = {"error", "bad-number", NULL};
static const struct pf_note_kind PF_BAD_POINT = {"error", "bad-point", NULL};
static const struct pf_note_kind PF_BAD_REFERENCE = {"error", "bad-reference", NULL};
static const struct pf_note_kind PF_BAD_VALUES = {"error", "bad-values", NULL};
static const struct pf_note_kind PF_CUT_FILE = {"fatal", "damaged", NULL};
static const struct pf_note_kind PF_CUT_NAME = {"error", "cut-name", NULL};
static const struct pf_note_kind PF_DATA_TOO_MANY = {"error", "too-many-data", NULL};
static const struct pf_note_kind PF_DATA_WITHOUT_VALUES = {"error", "no-values", NULL};
static const struct pf_note_kind PF_INDENTED = {"warning", "indented", NULL};
static const struct pf_note_kind PF_INNER_BRACES = {"warning", "inner-braces", NULL};
static const struct pf_note_kind PF_LIMIT = {"error", "limit", NULL};
static const struct pf_note_kind PF_MARK = {"warning", "byte-order-mark", NULL};
static const struct pf_note_kind PF_NO_REGION = {"warning", "no-region", NULL};
static const struct pf_note_kind PF_NO_SUCH_WORD = {"error", "unknown-keyword", NULL};
static const struct pf_note_kind PF_NOTHING = {"error", "empty", NULL};
static const struct pf_note_kind PF_ORDER = {"error", "order", NULL};
static const struct pf_note_kind PF_PARAMETER_COUNT = {"warning", "parameters", NULL};
static const struct pf_note_kind PF_POINT_SIZE = {"warning", "point-size", NULL};
static const struct pf_note_kind PF_REPEATED_NAME = {"warning", "repeated-name", NULL};
static const struct pf_note_kind PF_REPEATED_POINT = {"warning", "repeated-point", NULL};
static const struct pf_note_kind PF_REPEATED_SERIES = {"warning", "repeated-series", NULL};
static const struct pf_note_kind PF_REPLACED_TEXT = {"warning", "replaced-text", NULL};
static const struct pf_note_kind PF_INCOMPLETE_SERIES = {"warning", "incomplete-series", NULL};

struct pf_study {
    char version[32]; /* of the format; shown in info.txt */
    char scaling[32]; /* how Extra-P reduced the values of many locations to one, or "" if unknown */

    struct pf_strings *parameters, *metrics; /* string i is the name of parameter or metric i, with its NUL */
    struct pf_strings *units;                /* units with their NULs */
    uint32_t *unit_of; /* by metric, below n_unit_of: 1 + the index of its unit in `units`; 0: no unit */
    size_t n_unit_of;
    struct pf_strings *points; /* string i holds the coordinates of point i, see pf_study_point */
    struct pf_tree *contexts;
    bool published; /* the profile owns `contexts`, `items` and `fields` */

    struct pf_series *series;
    size_t n_series, room_series;
    struct pf_ids series_of; /* (context, metric) -> its latest series */

    struct pf_list values, figures;

    struct pf_strings *modelers, *functions;
    struct pf_fit_function *models; /* in file order */
    size_t n_models, room_models;

    /* Set by pf_study_finish: */
    struct pf_firsts {
        uint32_t series, model; /* first series and fitted model; PF_NO_SERIES, PF_NO_MODEL: none */
    } * firsts;                 /* by context */
    /*
     * The file has statistics and no values. Each metric NAME is then published as NAME.mean, NAME.median, NAME.min,
     * NAME.max and NAME.std (PF_STATISTICS metrics, in this order).
     */
    bool statistics_only;
    struct pf_rows *items, *fields; /* the points as partitions (struct pf_partitions) */
    struct pf_metric *metric_list;
    struct pf_strings *metric_names, *point_names; /* with their NULs */
    struct pf_column *field_columns;
    struct pf_column *scaling_columns; /* of the table scaling: context, POINTS, name */

    /* State of reading: */
    struct pf_run *run; /* valid until the study is finished */
    struct pf_input *input;
    uint64_t end;              /* reading stops after about this offset */
    uint64_t next_step, steps; /* progress (bytes or items): next report, and total */
    struct pf_place next;      /* place of the next value */
};

/*
 * Creates a study that reads `input` up to offset `end`. Borrows the input, which is NULL if the reader uses other
 * sources. The run owns the study until pf_disown.
 */
struct pf_study *pf_study_new(struct pf_run *run, struct pf_input *input, uint64_t end);
void pf_study_free(struct pf_study *study);

/* Reports to the pass that reading has reached this offset. */
void pf_study_step(struct pf_study *study, uint64_t at);

/*
 * Handles the error *run->error of a reader. If it means damage of the file, notes it as the reason why reading ended. Any
 * other error ends the run.
 */
void pf_study_damage(struct pf_study *study);

/* Adds a row to warnings.csv, as pf_run_note does. `kind` is an lvalue of type struct pf_note_kind. */
#define pf_study_note(study, kind, line, offset, ...)                                                        \
    pf_run_note((study)->run, &(kind), (line), (offset), __VA_ARGS__)

/* Returns how many bytes of a name to show in a message, without splitting a UTF-8 character. */
int pf_study_clip(const char *name, size_t size);

/* ---- names and points --------------------------------------------------------------------------- */

static inline unsigned pf_study_parameters(const struct pf_study *study)
{
    return pf_strings_count(study->parameters);
}

static inline size_t pf_study_points(const struct pf_study *study)
{
    return pf_strings_count(study->points);
}

/* Return the name of a parameter or metric, NUL-terminated. A NUL in the file ends a name. */
static inline const char *pf_study_parameter_name(const struct pf_study *study, unsigned parameter)
{
    return pf_interned(study->parameters, parameter).text;
}

static inline const char *pf_study_metric_name(const struct pf_study *study, uint32_t metric)
{
    return pf_interned(study->metrics, metric).text;
}

/* Returns the number of the parameter with this name, or -1. The search starts at `first` and wraps around. */
int pf_study_parameter_named(const struct pf_study *study, const char *name, size_t size, unsigned first);

/* Finds or adds a parameter, and returns its number; -1 with a note if there are PF_PARAMETERS_MAX others. */
int pf_study_parameter(struct pf_study *study, const char *name, size_t size, uint64_t line, int64_t offset);

/* Finds or adds a metric, and returns its number. */
uint32_t pf_study_metric(struct pf_study *study, const char *name, size_t size);
/* Sets the unit of a metric. */
void pf_study_unit(struct pf_study *study, uint32_t metric, const char *unit, size_t size);

/*
 * Finds or adds the contexts of a call path below `parent`, or at the top if `parent` is PF_NO_CONTEXT. Parts of the
 * path are separated by "->". Returns the context of the last part.
 */
uint32_t pf_study_callpath(struct pf_study *study, uint32_t parent, const char *path, size_t size);

/*
 * For each context of `tree`, finds or adds a context of the study, by name. Returns these contexts of the study in an
 * array, indexed by the contexts of `tree`. The run owns the array.
 */
uint32_t *pf_study_contexts(struct pf_study *study, const struct pf_tree *tree);

struct pf_point {
    double coordinates[PF_PARAMETERS_MAX];
    unsigned count; /* includes coordinates beyond PF_PARAMETERS_MAX, which are not kept */
    bool broken;    /* a coordinate was missing or not a number, and is NaN */
};

/* Adds a coordinate. NULL stands for one that was missing or not a number; the point becomes broken. */
void pf_point_add(struct pf_point *point, const double *coordinate);

/*
 * Finds or adds a point, and returns its number. Points are equal if their coordinates are; 0 equals -0, and NaN equals
 * NaN. A broken point equals no other.
 */
uint32_t pf_study_point(struct pf_study *study, const struct pf_point *point);

/* Like pf_study_point, but adds a note if the study has parameters, and their number is not that of the coordinates. */
uint32_t pf_study_point_at(struct pf_study *study, const struct pf_point *point, uint64_t line,
                           int64_t offset);

/* Returns the point with this number. */
struct pf_point pf_study_point_of(const struct pf_study *study, uint32_t number);

/* ---- measurements (measured.c) ------------------------------------------------------------------ */

/*
 * Finds or adds the series of a context and metric, which appears at this line and offset. Returns its number. If `replaces`
 * is set, as for a repeated member in JSON, adds a new series in any case, and drops the earlier one, if any, with a note.
 */
uint32_t pf_study_series(struct pf_study *study, uint32_t context, uint32_t metric, bool replaces,
                         uint64_t line, int64_t offset);

/*
 * Sets the series and point of the values to add next. If `starts` is set, they start a new measurement. Otherwise, they
 * continue the current measurement as further repetitions.
 */
void pf_study_begin(struct pf_study *study, uint32_t series, uint32_t point, bool starts);
/* Adds a value. The first value after pf_study_begin belongs to location 0, the next to location 1, and so on. */
void pf_study_add(struct pf_study *study, double value);

/* Adds the statistics of a measurement. The caller sets at.series, at.point and at.flags. */
void pf_study_figures(struct pf_study *study, struct pf_figures figures);

/*
 * Adds a copy of a fitted model, or replaces number `at` by the copy if `at` is not PF_NO_MODEL. Sets the copy's
 * `function`.
 */
void pf_study_model(struct pf_study *study, uint32_t at, const struct pf_fit_function *model,
                    const char *function, size_t size);

/* Sorts the lists, links the series and models of each context, and notes missing and repeated points. */
void pf_study_finish(struct pf_study *study);

/* Returns the first series of a context, or PF_NO_SERIES. The study must be finished. */
static inline uint32_t pf_study_first_series(const struct pf_study *study, int64_t context)
{
    return context < study->contexts->count ? study->firsts[context].series : PF_NO_SERIES;
}

/* Creates an empty list, owned by the caller, of items of `item` bytes. */
struct pf_list pf_list_new(struct pf_run *run, size_t item);
void pf_list_free(struct pf_list *list);

/* Returns the range of a series' items in a list; zeroed if the series has no items. */
static inline struct pf_series_run pf_series_run_of(const struct pf_list *list, uint32_t series)
{
    return series < list->n_runs ? list->runs[series] : (struct pf_series_run){0};
}

/* Copies item `number` to *item, through a window on the list's store. Returns 0, or -1 with *error filled. */
int pf_list_read(const struct pf_list *list, struct pf_store_window *window, uint64_t number, void *item,
                 struct pf_error *error);

/* ---- the profile's model (publish.c) ------------------------------------------------------------ */

/* Makes the rows, metrics and columns of a finished study, which pf_study_publish needs. */
void pf_study_prepare(struct pf_study *study);

/* Publishes the points, call paths and metrics of a prepared study in the profile. The study must stay valid until the profile is closed. */
void pf_study_publish(struct pf_study *study, struct pf_model *model);

/* Adds the row `Parameters` to the profile's info. */
void pf_study_info(const struct pf_study *study);

#endif
