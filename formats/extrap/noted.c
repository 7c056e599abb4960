/* SPDX-License-Identifier: MIT */
#include "formats/extrap/noted.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "formats/kit/array.h"

/* Of each kind: enough to see the pattern, and no more memory than that for a file that is wrong all over. */
enum { NOTED_MAX = 50 };

static const struct {
    const char *severity, *code;
} kinds[PF_PROBLEMS] = {
    [PF_BAD_LINE] = {"error", "bad-line"},
    [PF_BAD_MEMBER] = {"error", "bad-member"},
    [PF_BAD_MODEL] = {"error", "bad-model"},
    [PF_BAD_NUMBER] = {"error", "bad-number"},
    [PF_BAD_POINT] = {"error", "bad-point"},
    [PF_BAD_REFERENCE] = {"error", "bad-reference"},
    [PF_BAD_VALUES] = {"error", "bad-values"},
    [PF_CUT_FILE] = {"fatal", "damaged"},
    [PF_CUT_NAME] = {"error", "cut-name"},
    [PF_DATA_TOO_MANY] = {"error", "too-many-data"},
    [PF_DATA_WITHOUT_VALUES] = {"error", "no-values"},
    [PF_INDENTED] = {"warning", "indented"},
    [PF_INNER_BRACES] = {"warning", "inner-braces"},
    [PF_LIMIT] = {"error", "limit"},
    [PF_MARK] = {"warning", "byte-order-mark"},
    [PF_NO_REGION] = {"warning", "no-region"},
    [PF_NO_SUCH_WORD] = {"error", "unknown-keyword"},
    [PF_NOTHING] = {"error", "empty"},
    [PF_ORDER] = {"error", "order"},
    [PF_PARAMETER_COUNT] = {"warning", "parameters"},
    [PF_POINT_SIZE] = {"warning", "point-size"},
    [PF_REPEATED_NAME] = {"warning", "repeated-name"},
    [PF_REPEATED_POINT] = {"warning", "repeated-point"},
    [PF_REPEATED_SERIES] = {"warning", "repeated-series"},
    [PF_REPLACED_TEXT] = {"warning", "replaced-text"},
    [PF_INCOMPLETE_SERIES] = {"warning", "incomplete-series"},
};

/* A place for one more problem of this kind; NULL if there were enough (*result 0) or without memory (-1). */
static struct pf_noted *add_noted(struct pf_experiment *experiment, enum pf_problem problem, int *result,
                                  struct pf_error *error)
{
    *result = 0;
    if (experiment->problems[problem]++ >= NOTED_MAX)
        return NULL;
    *result = pf_array_room(&experiment->noted, &experiment->room_noted, experiment->n_noted,
                            sizeof *experiment->noted, error);
    if (*result)
        return NULL;
    return &experiment->noted[experiment->n_noted++];
}

int pf_experiment_note(struct pf_experiment *experiment, enum pf_problem problem, uint64_t line,
                       int64_t offset, struct pf_error *error, const char *format, ...)
{
    int result;
    struct pf_noted *noted = add_noted(experiment, problem, &result, error);
    if (!noted)
        return result;
    *noted = (struct pf_noted){.line = line, .offset = offset, .problem = problem};
    va_list args;
    va_start(args, format);
    vsnprintf(noted->text, sizeof noted->text, format, args);
    va_end(args);
    return 0;
}

int pf_experiment_note_series(struct pf_experiment *experiment, enum pf_problem problem, uint32_t number,
                              uint64_t line, int64_t offset, struct pf_error *error, const char *format, ...)
{
    int result;
    struct pf_noted *noted = add_noted(experiment, problem, &result, error);
    if (!noted)
        return result;
    const struct pf_series *series = &experiment->series[number];
    *noted = (struct pf_noted){.line = line, .offset = offset, .problem = problem};
    const struct pf_tree *tree = experiment->contexts;
    struct pf_cell context = pf_interned(tree->strings, tree->name[series->context]);
    const char *metric = pf_experiment_metric_name(experiment, series->metric);
    int size = snprintf(noted->text, sizeof noted->text, "call path ending in '%.*s', metric '%.*s': ",
                        pf_experiment_clip(context.text, context.size), context.text,
                        pf_experiment_clip(metric, strlen(metric)), metric);
    va_list args;
    va_start(args, format);
    if (size > 0 && (size_t)size < sizeof noted->text)
        vsnprintf(noted->text + size, sizeof noted->text - (size_t)size, format, args);
    va_end(args);
    return 0;
}

int pf_experiment_clip(const char *name, size_t size)
{
    size_t most = 48;
    if (size <= most)
        return (int)size;
    while (most && ((unsigned char)name[most] & 0xc0) == 0x80)
        most--;
    return (int)most;
}

int pf_noted_publish(const struct pf_experiment *experiment, struct pf_profile *profile,
                     struct pf_error *error)
{
    for (size_t i = 0; i < experiment->n_noted; i++) {
        const struct pf_noted *noted = &experiment->noted[i];
        if (pf_warn(profile, (int64_t)noted->line, noted->offset, kinds[noted->problem].severity,
                    kinds[noted->problem].code, error, "%s", noted->text) < 0)
            return -1;
    }
    for (int kind = 0; kind < PF_PROBLEMS; kind++) {
        uint64_t more = experiment->problems[kind];
        if (more > NOTED_MAX && pf_warn(profile, 0, -1, kinds[kind].severity, kinds[kind].code, error,
                                        "%ju more like this", (uintmax_t)(more - NOTED_MAX)) < 0)
            return -1;
    }
    return 0;
}
