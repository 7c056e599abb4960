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
#include "formats/kit/notes.h"
#include "formats/kit/store.h"
#include "formats/kit/strings.h"
#include "formats/kit/tree.h"

/*
 * What all Extra-P formats describe: a study of a program at several points of a space of parameters. Points, call paths,
 * metrics and the series of measurements of a (call path, metric) are lists in the order of first appearance, free of
 * duplicates. A reader adds what its file tells; then the study is finished, and published as the profile's model.
 *
 * Reading is sticky: once something has failed (memory, a read, nobody waits any more), nothing more is added, numbers are the
 * ones that mean none, and `failed` says so. A reader need not look after each step: it ends its loops. For one thread.
 */

/*
 * Extra-P itself takes four parameters; more are served, but not so many that a line of a few bytes could make wide rows for each
 * of a million points. The same holds for the coordinates of one point.
 */
#define PF_PARAMETERS_MAX 16

#define PF_NO_POINT  UINT32_MAX
#define PF_NO_SERIES UINT32_MAX
#define PF_NO_MODEL  UINT32_MAX

/* The figures that a file may have instead of values. */
enum pf_statistic { PF_MEAN, PF_MEDIAN, PF_MINIMUM, PF_MAXIMUM, PF_DEVIATION, PF_STATISTICS };

struct pf_series {
    uint32_t context, metric;
    uint64_t line; /* where it first appears, 0 and -1 if that is not known */
    int64_t offset;
    uint32_t next; /* series of the same context, or PF_NO_SERIES; made by pf_study_finish */
    bool dropped;  /* another has taken its place */
};

/*
 * What was measured is held in two lists, which spill: the values, and the figures that the file has instead or beside them. Both
 * are sorted by series and point once the study is finished; what is of one series and point stays in the order of the file.
 */
struct pf_place {
    uint32_t series, point;
    uint32_t repetition; /* how many items of this series and point come before it */
    uint32_t flags;
};

/* Flags of a place. Above the first bit stands the location of a value, or which figures are known, mean first. */
enum {
    PF_STARTS = 1, /* a measurement of its own begins; else it goes on with the one before */
    PF_FLAGS_ABOVE = 2,
    PF_ALL_FIGURES = PF_STARTS | PF_FLAGS_ABOVE * ((1 << PF_STATISTICS) - 1)
};

struct pf_value {
    struct pf_place at;
    double value;
};
struct pf_figures {
    struct pf_place at;
    int64_t repetitions; /* -1: not known */
    double of[PF_STATISTICS];
};

/* A list of these. */
struct pf_list {
    struct pf_store *store;
    size_t item; /* bytes of one */
    uint64_t count;
    struct pf_series_run {
        uint64_t start, end; /* items of a series: start <= i < end */
        uint64_t points;     /* different ones that they are of */
        uint64_t doubled;    /* measurements of a point that has one */
    } * runs;                /* of series below n_runs */
    size_t n_runs;
    struct pf_place last; /* the last item */
    bool unsorted;
};

/* How well a fitted model fits. */
enum pf_fit { PF_RSS, PF_RRSS, PF_SMAPE, PF_AR2, PF_RE, PF_FITS };

/* A function of the parameters that describes how a metric of a call path grows. */
struct pf_fit_function {
    uint32_t modeler; /* in `modelers`, or PF_NO_STRING */
    uint32_t context, metric;
    uint32_t function; /* in `functions` */
    uint32_t next;     /* model of the same context, or PF_NO_MODEL; made by pf_study_finish */
    uint32_t has;      /* bit i: fits[i] is known */
    double fits[PF_FITS];
};

/* Problems of a file, each with its severity and code in warnings.csv. */
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
    char version[32]; /* of the format, for info.txt */
    char scaling[32]; /* how Extra-P made one value of many locations; empty: not said */

    struct pf_strings *parameters, *metrics; /* string i: name of i, with its NUL */
    struct pf_strings *units;                /* with their NULs */
    uint32_t *unit_of;                       /* of metrics below n_unit_of: in units, plus 1; 0: none */
    size_t n_unit_of;
    struct pf_strings *points; /* string i: see pf_study_coordinates */
    struct pf_tree *contexts;  /* owned until published, then the profile's */
    bool published;

    struct pf_series *series;
    size_t n_series, room_series;
    struct pf_ids series_of; /* of a context and metric, the last one */

    struct pf_list values, figures;

    struct pf_strings *modelers, *functions;
    struct pf_fit_function *models; /* in the order of the file */
    size_t n_models, room_models;

    struct pf_notes notes;

    /* Made by pf_study_finish: */
    struct pf_firsts {
        uint32_t series, model; /* the first ones of a context */
    } * firsts;
    /*
     * The file has figures and no values: each of its metrics NAME is published as NAME.mean, NAME.median, NAME.min, NAME.max
     * and NAME.std (PF_STATISTICS of them, in this order).
     */
    bool statistics_only;

    /* Made by pf_study_publish: */
    struct pf_metric *metric_list;
    struct pf_strings *metric_names, *point_names; /* with their NULs */
    struct pf_column *field_columns;

    /* While it is read: */
    struct pf_input *input;
    uint64_t end;              /* what comes after about this offset is not looked at */
    uint64_t next_step, steps; /* when to tell the pass again; of how many bytes */
    struct pf_error *error;    /* filled if */
    bool failed;
    struct pf_place next; /* of the value that is added next */
};

/* A study that is read from an input (NULL: by other means) up to `end`. NULL with *error filled. */
struct pf_study *pf_study_new(struct pf_input *input, uint64_t end, struct pf_error *error);
void pf_study_free(struct pf_study *study);

/* Says that the pass stands at this offset. False: nobody waits for it any more, or the study had failed before. */
bool pf_study_step(struct pf_study *study, uint64_t at);

/* Remembers that something has failed if the result is negative. Returns whether the study is as good as before. */
static inline bool pf_study_check(struct pf_study *study, int result)
{
    study->failed |= result < 0;
    return !study->failed;
}

/* True if *error, with which a reader has failed, is the file's fault; else it is memory or a read. */
bool pf_study_is_damage(const struct pf_error *error);

/* What a reader has failed with: the file's fault is noted as the reason why reading ends, all else is the study's failure. */
void pf_study_damage(struct pf_study *study);

/* Notes a problem for warnings.csv (the first few of each kind). line 0, offset < 0: none. */
void pf_study_note(struct pf_study *study, struct pf_note_kind problem, uint64_t line, int64_t offset,
                   const char *format, ...) __attribute__((format(printf, 5, 6)));

/* How many bytes of a name to show in a sentence: cut between two characters of UTF-8. */
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

/* The name of a parameter or metric, terminated; ends at a NUL in the file. */
static inline const char *pf_study_parameter_name(const struct pf_study *study, unsigned parameter)
{
    return pf_interned(study->parameters, parameter).text;
}

static inline const char *pf_study_metric_name(const struct pf_study *study, uint32_t metric)
{
    return pf_interned(study->metrics, metric).text;
}

/* The number of the parameter of this name, looked for from `first` on; -1: there is none. */
int pf_study_parameter_named(const struct pf_study *study, const char *name, size_t size, unsigned first);

/* The number of a parameter, added if new; -1: there are PF_PARAMETERS_MAX others, which is noted, or the study has failed. */
int pf_study_parameter(struct pf_study *study, const char *name, size_t size, uint64_t line, int64_t offset);

/* The number of a metric, added if new; PF_NO_STRING: the study has failed. The second gives it a unit. */
uint32_t pf_study_metric(struct pf_study *study, const char *name, size_t size);
void pf_study_unit(struct pf_study *study, uint32_t metric, const char *unit, size_t size);

/*
 * The context of a call path below a context (PF_NO_CONTEXT: of its own), its parts separated by "->", added if new;
 * PF_NO_CONTEXT: the study has failed.
 */
uint32_t pf_study_callpath(struct pf_study *study, uint32_t parent, const char *path, size_t size);

/* The contexts that a tree's are in the study, added by their names. Freed by the caller; NULL: the study has failed. */
uint32_t *pf_study_contexts(struct pf_study *study, const struct pf_tree *tree);

struct pf_point {
    double coordinates[PF_PARAMETERS_MAX];
    unsigned count; /* more than PF_PARAMETERS_MAX are counted, not kept */
    bool broken;    /* a coordinate was no number and is nan */
};

/* Adds a coordinate; NULL: what is no number. */
void pf_point_add(struct pf_point *point, const double *coordinate);

/* The number of a point, added if new; PF_NO_POINT: the study has failed. Zeros are equal, and so are nans; a broken one is equal to no other. */
uint32_t pf_study_point(struct pf_study *study, const struct pf_point *point);

/* The same, where a number of coordinates that is not the parameters' is noted. */
uint32_t pf_study_point_at(struct pf_study *study, const struct pf_point *point, uint64_t line,
                           int64_t offset);

struct pf_point pf_study_point_of(const struct pf_study *study, uint32_t number);

/* ---- measurements (measured.c) ------------------------------------------------------------------ */

/*
 * The series of a (context, metric), added if new, at the place that first tells of it; PF_NO_SERIES: the study has failed. anew:
 * it is told anew, as a later member of the same name in JSON does: what was there is dropped, and a new series takes its place.
 */
uint32_t pf_study_series(struct pf_study *study, uint32_t context, uint32_t metric, bool anew, uint64_t line,
                         int64_t offset);

/*
 * The values that are added next are of this series and point, the first of them of location 0. starts: they are a measurement of
 * their own, else further repetitions.
 */
void pf_study_begin(struct pf_study *study, uint32_t series, uint32_t point, bool starts);
void pf_study_add(struct pf_study *study, double value);

/* Adds figures of a measurement: at.series, at.point, and at.flags say of what, and which there are. */
void pf_study_figures(struct pf_study *study, struct pf_figures figures);

/* Adds a model, or puts it in the place of number `at`, if that is not PF_NO_MODEL. `function` and `next` are set here. */
void pf_study_model(struct pf_study *study, uint32_t at, const struct pf_fit_function *model,
                    const char *function, size_t size);

/*
 * Sorts what was collected, finds where each series is and what each context has, and notes gaps and doubled points. Returns whether the study is good.
 */
bool pf_study_finish(struct pf_study *study);

/* The first series of a context, PF_NO_SERIES: none. The study is finished. */
static inline uint32_t pf_study_first_series(const struct pf_study *study, int64_t context)
{
    return context < study->contexts->count ? study->firsts[context].series : PF_NO_SERIES;
}

/* A list without items; without a store if memory has run out. */
struct pf_list pf_list_new(size_t item);
void pf_list_free(struct pf_list *list);

/* What there is of a series in a list. */
static inline struct pf_series_run pf_series_run_of(const struct pf_list *list, uint32_t series)
{
    return series < list->n_runs ? list->runs[series] : (struct pf_series_run){0};
}

/* Copies item `number` of the list that the window looks at. 0, or -1 with *error filled. */
int pf_list_read(const struct pf_list *list, struct pf_store_window *window, uint64_t number, void *item,
                 struct pf_error *error);

/* ---- the profile's model (publish.c) ------------------------------------------------------------ */

/*
 * Gives the profile the study's points, call paths, metrics and warnings; once, when it is finished. It must live as long as the
 * profile. On failure the profile has no part of the model. 0, or -1 with *error filled.
 */
int pf_study_publish(struct pf_study *study, struct pf_model *model, struct pf_error *error);

/* Adds the line Parameters to the profile's info. 0, or -1. */
int pf_study_info(const struct pf_study *study, struct pf_model *model, struct pf_error *error);

#endif
