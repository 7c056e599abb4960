/* SPDX-License-Identifier: MIT */
#include "formats/nsight/nsight.h"

int nsight_nvtx_text(struct pf_sql *sql, const struct pf_sql_row *row, const char **text, size_t *size,
                     struct pf_error *error)
{
    *text = pf_sql_text(row, NVTX_TEXT, size);
    return !*text && pf_sql_is_set(row, NVTX_TEXT_ID)
               ? pf_sql_find(sql, NSIGHT_STRINGS, pf_sql_int(row, NVTX_TEXT_ID), text, size, error)
               : 0;
}

int64_t nsight_duration(struct nsight_model *model, const struct pf_sql_row *row)
{
    int64_t duration;
    if (pf_sql_is_set(row, ACTIVITY_START) && pf_sql_is_set(row, ACTIVITY_END) &&
        !__builtin_sub_overflow(pf_sql_int(row, ACTIVITY_END), pf_sql_int(row, ACTIVITY_START), &duration) &&
        duration >= 0)
        return duration;
    model->bad_times++;
    return 0;
}

bool nsight_is_timed(struct nsight_model *model, int64_t start, int64_t end)
{
    model->untimed += !start && !end;
    return start || end;
}

int nsight_add(struct nsight_model *model, uint32_t partition, uint32_t context, uint32_t metric,
               int64_t value, struct pf_error *error)
{
    struct pf_cell cell = pf_int(value);
    return pf_sums_add(model->sums, partition, context, metric, &cell, error);
}
