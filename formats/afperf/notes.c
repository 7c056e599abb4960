/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

#include "formats/afperf/model.h"
#include "formats/kit/array.h"

const struct pf_note_kind afperf_note_kinds[AFPERF_PROBLEMS] = {
#define X(name, severity, code, text) [AFPERF_##name] = {severity, code, text},
    AFPERF_PROBLEM_LIST(X)
#undef X
};

int afperf_grow(void *items, size_t count, size_t *room, size_t size, struct pf_error *error)
{
    if (count >= AFPERF_NO_NUMBER)
        return pf_fail(error, EFBIG, "too many records of a kind");
    return pf_array_room(items, room, count, size, error);
}

uint32_t afperf_keep(struct afperf_model *model, struct afperf_text text, struct pf_error *error)
{
    return pf_intern(model->strings, text.size ? text.text : "", text.size, error);
}

void afperf_note(struct afperf_model *model, enum afperf_problem problem, uint64_t offset, uint64_t line)
{
    pf_note(&model->notes, &afperf_note_kinds[problem], (int64_t)line, (int64_t)offset, NULL);
}

size_t afperf_hex(uint64_t id, char *text)
{
    return (size_t)snprintf(text, AFPERF_HEX, "0x%" PRIx64, id);
}
