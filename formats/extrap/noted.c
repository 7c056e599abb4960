/* SPDX-License-Identifier: MIT */
#include "formats/extrap/noted.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

/* Of each kind: enough to see the pattern, and no more memory than that for a file that is wrong all over. */
enum { NOTED_MAX = 50 };

static const struct {
    const char *severity, *code;
} kinds[PF_PROBLEMS] = {
    [PF_BAD_NUMBER] = {"error", "bad-number"},
    [PF_BAD_POINT] = {"error", "bad-point"},
    [PF_CUT_NAME] = {"error", "cut-name"},
    [PF_DATA_TOO_MANY] = {"error", "too-many-data"},
    [PF_DATA_WITHOUT_VALUES] = {"error", "no-values"},
    [PF_INDENTED] = {"warning", "indented"},
    [PF_INNER_BRACES] = {"warning", "inner-braces"},
    [PF_LIMIT] = {"error", "limit"},
    [PF_NO_REGION] = {"warning", "no-region"},
    [PF_NO_SUCH_WORD] = {"error", "unknown-keyword"},
    [PF_NOTHING] = {"error", "empty"},
    [PF_ORDER] = {"error", "order"},
    [PF_PARAMETER_COUNT] = {"warning", "parameters"},
    [PF_POINT_SIZE] = {"warning", "point-size"},
    [PF_REPEATED_POINT] = {"warning", "repeated-point"},
    [PF_REPEATED_SERIES] = {"warning", "repeated-series"},
    [PF_INCOMPLETE_SERIES] = {"warning", "incomplete-series"},
};

int pf_experiment_note(struct pf_experiment *experiment, enum pf_problem problem, uint64_t line,
                       int64_t offset, struct pf_error *error, const char *format, ...)
{
    if (experiment->problems[problem]++ >= NOTED_MAX)
        return 0;
    if (experiment->n_noted == experiment->room_noted) {
        size_t room = experiment->room_noted ? experiment->room_noted * 2 : 8;
        struct pf_noted *noted = realloc(experiment->noted, room * sizeof *noted);
        if (!noted)
            return pf_fail_memory(error);
        experiment->noted = noted;
        experiment->room_noted = room;
    }
    struct pf_noted *noted = &experiment->noted[experiment->n_noted++];
    *noted = (struct pf_noted){.line = line, .offset = offset, .problem = problem};
    va_list args;
    va_start(args, format);
    vsnprintf(noted->text, sizeof noted->text, format, args);
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
