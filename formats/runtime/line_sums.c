/* SPDX-License-Identifier: MIT */
#include "formats/runtime/line_sums.h"

#include <stdlib.h>

#include "formats/kit/sorter.h"

/* Layout of the sorter's records: two key words (metric and name, file and line), then the 128-bit value. */
enum { METRIC_NAME, FILE_LINE, KEYS, LOW = KEYS, HIGH, WORDS };

struct pf_line_sums {
    struct pf_build *build;
    struct pf_sorter *sorter;
};

const struct pf_column pf_line_columns[PF_LINE_COLUMNS] = {{"metric", PF_METRIC, 0},
                                                           {"value", PF_PLAIN, 0},
                                                           {"line", PF_PLAIN, 0},
                                                           {"name", PF_PLAIN, 0},
                                                           {"file", PF_PLAIN, 0}};

struct pf_line_sums *pf_line_sums_new(struct pf_build *build)
{
    struct pf_line_sums *sums = PF_OWN(build->run, calloc(1, sizeof *sums), free);
    sums->build = build;
    sums->sorter =
        PF_OWN(build->run, pf_sorter_new(WORDS, KEYS, build->model->options->cache / 8), pf_sorter_free);
    return sums;
}

void pf_line_sums_add(struct pf_line_sums *sums, const struct pf_source_line *where, uint32_t metric,
                      pf_int128 value)
{
    struct pf_source_line at =
        where->line ? *where : (struct pf_source_line){.name = PF_NO_STRING, .file = PF_NO_STRING};
    uint64_t record[WORDS] = {[METRIC_NAME] = (uint64_t)metric << 32 | at.name,
                              [FILE_LINE] = (uint64_t)at.file << 32 | at.line,
                              [LOW] = (uint64_t)value,
                              [HIGH] = (uint64_t)(value >> 64)};
    if (value)
        pf_run_check(sums->build->run, pf_sorter_add(sums->sorter, record, sums->build->run->error));
}

static pf_int128 line_sums_value_of(const uint64_t *record)
{
    return (pf_int128)(int64_t)record[HIGH] * ((pf_int128)1 << 64) + record[LOW];
}

static void line_sums_add_row(struct pf_line_sums *sums, size_t table, const uint64_t *record,
                              const struct pf_total *total)
{
    uint32_t line = (uint32_t)record[FILE_LINE];
    struct pf_cell cells[PF_LINE_COLUMNS] = {
        pf_int((int64_t)(record[METRIC_NAME] >> 32)),
        total->has_real ? pf_double((double)total->whole + total->real + total->rest)
                        : pf_whole(&total->whole),
        line ? pf_int(line) : pf_absent(),
        pf_name((uint32_t)record[METRIC_NAME]),
        pf_name((uint32_t)(record[FILE_LINE] >> 32)),
    };
    if (total->has_real || total->whole)
        pf_build_row(sums->build, table, cells);
}

void pf_line_sums_end(struct pf_line_sums *sums, size_t table)
{
    struct pf_build *build = sums->build;
    uint64_t last[WORDS] = {0};
    struct pf_total total = {0};
    const uint64_t *record;
    pf_run_check(build->run, pf_sorter_finish(sums->sorter, build->run->error));
    for (uint64_t i = 0; pf_run_check(build->run, pf_sorter_next(sums->sorter, &record, build->run->error));
         i++) {
        if (i && memcmp(last, record, KEYS * sizeof *record) != 0) {
            line_sums_add_row(sums, table, last, &total);
            total = (struct pf_total){0};
        }
        memcpy(last, record, sizeof last);
        pf_total_add_whole(&total, line_sums_value_of(record));
        if (i % 65536 == 0)
            pf_run_check(build->run, pf_pass_step(1, 1, build->run->error));
    }
    line_sums_add_row(sums, table, last, &total);
}
