/* SPDX-License-Identifier: MIT */
#ifndef PF_MODEL_TEXT_H
#define PF_MODEL_TEXT_H

#include "fs/profile/views.h"

/*
 * The texts that every profile has: info.txt of the profile and of each item, and the tables of its axes and
 * warnings. Each returns a walk (freed by its close), or NULL with *error filled. What stage they need:
 * pf_node_stage.
 */
struct pf_lines *pf_info_lines(struct pf_live *live, struct pf_error *error);
struct pf_lines *pf_partition_info_lines(struct pf_live *live, uint32_t partition, struct pf_error *error);
struct pf_lines *pf_context_info_lines(struct pf_live *live, uint32_t context, struct pf_error *error);
struct pf_lines *pf_key_info_lines(struct pf_live *live, uint32_t item, struct pf_error *error);
struct pf_lines *pf_metric_info_lines(struct pf_live *live, uint32_t metric, struct pf_error *error);

/* The target of a link (see pf_is_link). */
struct pf_lines *pf_link_lines(struct pf_live *live, struct pf_node node, struct pf_error *error);

struct pf_lines *pf_metrics_csv_lines(struct pf_live *live, struct pf_error *error);
struct pf_lines *pf_partitions_csv_lines(struct pf_live *live, struct pf_error *error);
struct pf_lines *pf_contexts_csv_lines(struct pf_live *live, struct pf_error *error);
/*
 * Rows of warnings.csv: line, offset, severity, code, text, which may point into *scratch, an empty or used buffer of the
 * caller's. What the file is said to ask for must be there: pf_node_stage.
 */
enum { PF_WARNING_COLUMNS = 5 };
uint64_t pf_warning_count(struct pf_live *live);
void pf_warning_cells(struct pf_live *live, uint64_t i, struct pf_cell cells[PF_WARNING_COLUMNS],
                      struct pf_buf *scratch);
struct pf_lines *pf_warnings_csv_lines(struct pf_live *live, struct pf_error *error);

#endif
