/* SPDX-License-Identifier: MIT */
#include "formats/nsight/nsight.h"

struct pf_slice nsight_nvtx_text(struct nsight_pass *pass, const struct pf_sql_row *row)
{
    struct pf_slice text = pf_sql_text(row, NVTX_TEXT);
    return !text.at && pf_sql_is_set(row, NVTX_TEXT_ID)
               ? pf_sql_find(pass->build->run, pass->sql, NSIGHT_STRINGS, pf_sql_int(row, NVTX_TEXT_ID))
               : text;
}

int64_t nsight_duration(struct nsight_pass *pass, const struct pf_sql_row *row)
{
    int64_t duration;
    if (pf_sql_is_set(row, ACTIVITY_START) && pf_sql_is_set(row, ACTIVITY_END) &&
        !__builtin_sub_overflow(pf_sql_int(row, ACTIVITY_END), pf_sql_int(row, ACTIVITY_START), &duration) &&
        duration >= 0)
        return duration;
    pass->bad_times++;
    return 0;
}

bool nsight_is_timed(struct nsight_pass *pass, int64_t start, int64_t end)
{
    pass->untimed += !start && !end;
    return start || end;
}
