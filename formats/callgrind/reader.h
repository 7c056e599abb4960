/* SPDX-License-Identifier: MIT */
#ifndef CALLGRIND_READER_H
#define CALLGRIND_READER_H

#include "formats/callgrind/callgrind.h"
#include "formats/input/linereader.h"
#include "formats/kit/table.h"

/* What a pass over a file knows. */

enum { CALLGRIND_METRICS = 64 }; /* at most; valgrind has 24 events */

/* Functions are numbers of frames (see struct pf_frame). */
#define CALLGRIND_NOBODY UINT32_MAX

/* What a row of costs is of: a function itself (callee is CALLGRIND_NOBODY), or its calls of another. */
struct callgrind_key {
    uint32_t thread, caller, callee;
};

enum callgrind_dictionary { OBJECTS, FILES, FUNCTIONS, DICTIONARIES };

struct callgrind_reader {
    struct pf_profile *profile;
    struct callgrind_state *state;
    struct pf_error *error;
    struct pf_linereader *lines;
    struct pf_line line;
    bool cachegrind;

    struct pf_strings *keys; /* bytes of struct callgrind_key: row i of costs belongs to key i */
    pf_int128 *costs;        /* `stride` numbers a row: how many calls, then one a metric */
    size_t costs_room, stride;
    bool *defined; /* by function: it has an fn= of its own */
    size_t defined_room;

    struct pf_map names[DICTIONARIES]; /* a number in the file -> that of the name, plus 1 */
    unsigned positions, n_events, n_metrics, n_titles;
    uint8_t metric[CALLGRIND_METRICS];     /* of each event */
    int exclusive[CALLGRIND_METRICS];      /* index in metrics.csv of each metric */
    uint32_t titles[CALLGRIND_METRICS][2]; /* short and long names of events */

    uint32_t thread;             /* PF_NO_PARTITION: this part names none */
    uint32_t object, file, here; /* file: of functions; here: of the lines that come now */
    uint32_t name, function;     /* PF_NO_STRING: none yet */
    uint32_t own;                /* the function's row of costs, PF_NO_STRING: not known yet */
    uint32_t callee_object, callee_file, callee_name;
    bool calling, jumping; /* the next costs are those of calls, or just the place of a jump */
    pf_int128 calls;       /* how many */

    pf_int128 part[CALLGRIND_METRICS],
        told[CALLGRIND_METRICS]; /* what a part adds up to, and what it says that it does */
    unsigned n_told;
    uint64_t told_line;
};

/* What has been read becomes contexts, values and the table of calls. 0, or -1 with *reader->error filled. */
int callgrind_finish(struct callgrind_reader *reader);

#endif
