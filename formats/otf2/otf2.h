/* SPDX-License-Identifier: MIT */
#ifndef OTF2_H
#define OTF2_H

#include "formats/kit/spans.h"
#include "formats/kit/sums.h"
#include "formats/otf2/events.h"

/*
 * OTF2 archives, as Score-P writes them: a folder with an anchor (NAME.otf2), definitions (NAME.def) and, in NAME/, a file of
 * events and one of definitions for each location. Partitions are locations; contexts are paths of regions.
 */

/* Metrics: calls, those of the same region that a region holds, time; from the last on, counters. */
enum { OTF2_CALLS, OTF2_HELD_CALLS, OTF2_TIME_METRIC, OTF2_COUNTERS };

struct otf2_state {
    struct pf_sums_state sums; /* first: the cursor looks here */
    struct pf_spans *spans;    /* from PF_DERIVED on */
    char *archive;             /* NAME */
    struct otf2_anchor anchor;
    struct pf_input *global;
    struct otf2_definitions definitions; /* from PF_PARTITIONED on */
    struct otf2_files files;
    struct pf_metric *metrics;
    size_t n_metrics, metrics_room;
    int *counter;      /* by counter's place: its metric, or -1 */
    uint32_t *unknown; /* ids of regions that are not defined: region n_regions + i is unknown[i] */
    size_t n_unknown, unknown_room;
};

static inline struct otf2_state *otf2_state(const struct pf_profile *profile)
{
    return profile->state;
}

/*
 * Follows the calls of all locations. Without spans: makes the tree and the sums, and tells what is wrong. With them: the tree
 * is finished, rows are added. 0, or -1 with *error filled.
 */
int otf2_follow(struct pf_profile *profile, struct pf_spans *spans, struct pf_pass *pass,
                struct pf_error *error);

/* Tables that are read from the events: messages, and what counters read. */
enum { OTF2_MESSAGES, OTF2_READINGS };
extern const struct pf_cursor_ops otf2_events_cursor;
enum { OTF2_MESSAGE_COLUMNS = 9, OTF2_READING_COLUMNS = 5 };
extern const struct pf_column otf2_message_columns[OTF2_MESSAGE_COLUMNS];
extern const struct pf_column otf2_reading_columns[OTF2_READING_COLUMNS];

#endif
