/* SPDX-License-Identifier: MIT */
#include "formats/afperf/notes.h"

#include <string.h>

const struct pf_note_kind afperf_note_kinds[AFPERF_PROBLEMS] = {
#define X(name, severity, code, text) {severity, code, text},
    AFPERF_PROBLEM_LIST(X)
#undef X
};

enum afperf_problem afperf_problem_of(const char *code)
{
    int i = AFPERF_AGGREGATE_ENDS_BEFORE_START;
    while (i < AFPERF_RECORD_TOO_LONG && strcmp(afperf_note_kinds[i].code, code) != 0)
        i++;
    return (enum afperf_problem)i;
}
