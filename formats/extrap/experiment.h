/* SPDX-License-Identifier: MIT */
#ifndef PF_EXPERIMENT_H
#define PF_EXPERIMENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "formats/driver.h"
#include "formats/kit/notes.h"
#include "formats/kit/strings.h"
#include "formats/kit/table.h"
#include "formats/kit/tree.h"

/*
 * What all Extra-P formats describe: a study of a program at several points of a space of parameters. Points,
 * call paths, metrics and the series of measurements of a (call path, metric) are lists in the order of first
 * appearance, free of duplicates. The values themselves stay in the file. A driver builds an experiment in
 * its pass and then publishes it as the profile's model.
 */

/*
 * Extra-P itself takes four parameters; more are served, but not so many that a line of a few bytes could
 * make wide rows for each of a million points. The same holds for the coordinates of one point.
 */
#define PF_PARAMETERS_MAX 16

/* The figures that a file may have instead of values. */
enum pf_statistic { PF_MEAN, PF_MEDIAN, PF_MINIMUM, PF_MAXIMUM, PF_DEVIATION, PF_STATISTICS };

#define PF_NO_POINT  UINT32_MAX
#define PF_NO_SERIES UINT32_MAX

struct pf_point {
    size_t first; /* of its coordinates */
    uint8_t count;
    bool broken; /* a coordinate was no number and is nan */
};

struct pf_series {
    uint32_t context, metric;
    uint64_t line; /* where it first appears, 0 and -1 if that is not known */
    int64_t offset;
    uint32_t next; /* series of the same context, or PF_NO_SERIES */
    bool dropped;  /* another has taken its place */
};

/* Problems of a file, each with its code and severity in warnings.csv. */
enum pf_problem {
    PF_BAD_LINE,
    PF_BAD_MEMBER,
    PF_BAD_MODEL,
    PF_BAD_NUMBER,
    PF_BAD_POINT,
    PF_BAD_REFERENCE,
    PF_BAD_VALUES,
    PF_CUT_FILE,
    PF_CUT_NAME,
    PF_DATA_TOO_MANY,
    PF_DATA_WITHOUT_VALUES,
    PF_INDENTED,
    PF_INNER_BRACES,
    PF_LIMIT,
    PF_MARK,
    PF_NO_REGION,
    PF_NO_SUCH_WORD,
    PF_NOTHING,
    PF_ORDER,
    PF_PARAMETER_COUNT,
    PF_POINT_SIZE,
    PF_REPEATED_NAME,
    PF_REPEATED_POINT,
    PF_REPEATED_SERIES,
    PF_REPLACED_TEXT,
    PF_INCOMPLETE_SERIES,
    PF_PROBLEMS
};

struct pf_experiment {
    struct pf_strings *parameters, *metrics; /* string i: name of i, with its NUL */
    struct pf_tree *contexts;                /* owned until published, then the profile's */
    bool published;

    struct pf_point *points;
    size_t n_points, room_points;
    double *coordinates;
    size_t n_coordinates, room_coordinates;
    struct pf_hash_table point_table;

    struct pf_series *series;
    size_t n_series, room_series;
    struct pf_hash_table series_table; /* those that are not dropped count */

    struct pf_series_list {
        uint32_t first, last; /* PF_NO_SERIES: none */
    } * by_context;           /* contexts from n_by_context on have none */
    size_t n_by_context;

    struct pf_notes notes; /* made by the functions below */

    /*
     * The file has statistics and no values: each of its metrics NAME is published as NAME.mean, NAME.median,
     * NAME.min, NAME.max and NAME.std (PF_STATISTICS of them, in this order).
     */
    bool statistics_only;
    struct pf_strings *units; /* NULL: there are none; with their NULs */
    uint32_t *unit_of;        /* of metrics up to n_units: in units, or PF_NO_STRING */
    size_t n_units, room_units;

    struct pf_metric *metric_list; /* made by pf_experiment_publish */
    struct pf_strings *metric_names;
    struct pf_column *field_columns;
};

struct pf_experiment *pf_experiment_new(void); /* NULL: out of memory */
void pf_experiment_free(struct pf_experiment *experiment);

static inline unsigned pf_experiment_parameters(const struct pf_experiment *experiment)
{
    return pf_strings_count(experiment->parameters);
}

/* The name of a parameter or metric, terminated; ends at a NUL in the file. */
const char *pf_experiment_parameter(const struct pf_experiment *experiment, unsigned parameter);
const char *pf_experiment_metric_name(const struct pf_experiment *experiment, uint32_t metric);

/* The number of the parameter of this name, looked for from `first` on; -1: there is none. */
int pf_experiment_parameter_named(const struct pf_experiment *experiment, const char *name, size_t size,
                                  unsigned first);

/* Adds a parameter unless it is there. 1: added; 0: there, or PF_PARAMETERS_MAX reached; -1: *error filled.
 */
int pf_experiment_add_parameter(struct pf_experiment *experiment, const char *name, size_t size,
                                struct pf_error *error);

/* The number of a metric, added if new; PF_NO_STRING with *error filled. */
uint32_t pf_experiment_metric(struct pf_experiment *experiment, const char *name, size_t size,
                              struct pf_error *error);

/* Gives a metric a unit. 0, or -1 with *error filled. */
int pf_experiment_unit(struct pf_experiment *experiment, uint32_t metric, const char *unit, size_t size,
                       struct pf_error *error);

/*
 * The context of a call path below a context (PF_NO_CONTEXT: of its own), its parts separated by "->", added if new;
 * PF_NO_CONTEXT with *error filled.
 */
uint32_t pf_experiment_callpath(struct pf_experiment *experiment, uint32_t parent, const char *path,
                                size_t size, struct pf_error *error);

/*
 * The number of a point (count <= PF_PARAMETERS_MAX coordinates), added if new; PF_NO_POINT with *error
 * filled. Zeros are equal, and so are nans. A broken point is equal to no other.
 */
uint32_t pf_experiment_point(struct pf_experiment *experiment, const double *coordinates, unsigned count,
                             bool broken, struct pf_error *error);

/*
 * The series of a (context, metric), added if new; PF_NO_SERIES with *error filled. anew: it is told anew, as a later member
 * of the same name in JSON does: what was there is dropped, and a new series takes its place.
 */
uint32_t pf_experiment_series(struct pf_experiment *experiment, uint32_t context, uint32_t metric, bool anew,
                              struct pf_error *error);

/* The first series of a context, or PF_NO_SERIES. */
uint32_t pf_experiment_first_series(const struct pf_experiment *experiment, uint32_t context);

/* Notes a problem for warnings.csv (the first few of each kind). line 0, offset < 0: none. */
void pf_experiment_note(struct pf_experiment *experiment, enum pf_problem problem, uint64_t line,
                        int64_t offset, const char *format, ...) __attribute__((format(printf, 5, 6)));

/* The same about a series, at its place: "call path ending in 'f', metric 'time': ", then the text. */
void pf_experiment_note_series(struct pf_experiment *experiment, enum pf_problem problem, uint32_t series,
                               const char *format, ...) __attribute__((format(printf, 4, 5)));

/* How many bytes of a name to show in a sentence: cut between two characters of UTF-8. */
int pf_experiment_clip(const char *name, size_t size);

/*
 * Gives the profile its points, call paths, metrics and warnings (publish.c); once, when the pass is over.
 * The experiment must live as long as the profile. On failure the profile has no part of the model.
 */
int pf_experiment_publish(struct pf_experiment *experiment, struct pf_profile *profile,
                          struct pf_error *error);

/* Adds the line Parameters to the profile's info. 0, or -1. */
int pf_experiment_info(struct pf_profile *profile, const struct pf_experiment *experiment,
                       struct pf_error *error);

#endif
