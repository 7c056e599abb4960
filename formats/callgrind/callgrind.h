/* SPDX-License-Identifier: MIT */
#ifndef CALLGRIND_H
#define CALLGRIND_H

#include "formats/kit/ids.h"
#include "formats/runtime/build.h"
#include "formats/runtime/line_sums.h"

/*
 * Callgrind's and Cachegrind's text, as valgrind, xdebug, yappi, pprof, ruby-prof and others write it. One grammar: lines
 * name an object (ob=), a file (fl=) and a function (fn=), then come lines of a position and a count for each of the header's
 * events: what the function cost there itself. After cfn= and calls=, one such line is what a call cost, all in all.
 *
 * No tree is stored. A context is a function, known by object, file and name; calls are a table of their own.
 */

enum {
    CALLGRIND_THREAD,
    CALLGRIND_CONTEXT,
    CALLGRIND_METRIC,
    CALLGRIND_COUNT,
    CALLGRIND_INCLUSIVE,
    CALLGRIND_CALLER,
    CALLGRIND_CALLEE,
    CALLGRIND_COLUMNS
};

/* ---- lines.c: words and numbers of a line -------------------------------------------------------- */

/* The words that lines begin with. */
enum callgrind_word {
    NO_WORD,
    /* of the body */
    OB,
    FL,
    FI,
    FE,
    FN,
    COB,
    CFI,
    CFL,
    CFN,
    JFI,
    JFN,
    CALLS,
    RCALLS,
    JUMP,
    JCND,
    /* of the header */
    VERSION,
    CREATOR,
    PID,
    CMD,
    PART,
    THREAD,
    DESC,
    POSITIONS,
    EVENT,
    EVENTS,
    SUMMARY,
    TOTALS,
    TOTAL,
    WORDS
};

/* What these functions take, they take off the text. */
static inline bool callgrind_in_body(enum callgrind_word word)
{
    return word != NO_WORD && word < VERSION;
}

/* True if Cachegrind's files have such lines too. */
static inline bool callgrind_in_both(enum callgrind_word word)
{
    return (word >= FL && word <= FN) || word == CMD || word == DESC || word == EVENTS || word == SUMMARY;
}

/* True if a line that begins so is one of costs. */
static inline bool callgrind_begins_cost(char c)
{
    return (c >= '0' && c <= '9') || c == '+' || c == '-' || c == '*';
}

/* The word that a line begins with, and what stands behind it. */
enum callgrind_word callgrind_take_word(struct pf_slice *line);

/* Digits, decimal or 0x and hexadecimal; false if there are none or too many. */
bool callgrind_take_digits(struct pf_slice *text, pf_int128 *number);

/* A count is a number, which may be negative, or a point for 0. */
bool callgrind_take_count(struct pf_slice *line, pf_int128 *count);

/*
 * A position is a number, a difference to the last one (`+3`, `-3`), the last one (`*`), or a range, of which the first number counts.
 * *position is the last one of its column. False: the text is no position, and *position does not change.
 */
bool callgrind_take_position(struct pf_slice *line, pf_int128 *position);

/* `(12)`, which a name may begin with; false if it does not, as `(below main)`. */
bool callgrind_take_reference(struct pf_slice *text, uint64_t *number);

/* ---- read.c, finish.c: the pass ------------------------------------------------------------------ */

enum { CALLGRIND_METRICS = 64 }; /* at most; valgrind has 24 events */

/* Functions are numbers of frames (see struct pf_frame). */
#define CALLGRIND_NOBODY UINT32_MAX

/* What a row of costs is of: a function itself (callee is CALLGRIND_NOBODY), or its calls of another. */
struct callgrind_key {
    uint32_t thread, caller, callee;
};

/* The format's own tables; Cachegrind has the first only. */
enum { CALLGRIND_LINES, CALLGRIND_CALLS };

enum callgrind_dictionary { OBJECTS, FILES, FUNCTIONS, DICTIONARIES };

struct callgrind {
    struct pf_build *build;
    bool cachegrind;
    bool ends_open;      /* the file's writer ends no file with a line end */
    struct pf_line line; /* of the file, at hand */

    struct pf_strings *keys;  /* bytes of struct callgrind_key: row i of costs belongs to key i */
    PF_LIST(pf_int128) costs; /* `stride` numbers a row: how many calls, then one a metric */
    size_t stride;
    PF_LIST(bool) defined; /* by function: it has an fn= of its own */
    PF_LIST(bool)
    exists; /* by function: it has a cost line, calls or callers; a defined name without these is no function */

    struct pf_ids names[DICTIONARIES]; /* number in the file -> name */
    struct pf_line_sums *lines;        /* exclusive costs by line */
    unsigned positions, n_events, n_metrics, n_titles;
    unsigned line_column;                  /* which of the positions is the line; beyond these if none is */
    pf_int128 line_at;                     /* the last position there */
    uint8_t metric[CALLGRIND_METRICS];     /* of each event */
    uint32_t exclusive[CALLGRIND_METRICS]; /* index in metrics.csv of each metric */
    uint32_t titles[CALLGRIND_METRICS][2]; /* short and long names of events */

    uint32_t thread;             /* PF_NO_PARTITION: this part names none */
    uint32_t object, file, here; /* file: of functions; here: of the lines that come now */
    uint32_t name, function;     /* PF_NO_STRING: none yet */
    uint32_t own;                /* the function's row of costs, PF_NO_STRING: not known yet */
    uint32_t callee_object, callee_file, callee_name;
    bool calling, jumping; /* the next costs are those of calls, or just the place of a jump */
    pf_int128 calls;       /* how many */

    /* What a part adds up to, and what it says that it does. */
    pf_int128 part[CALLGRIND_METRICS], told[CALLGRIND_METRICS];
    unsigned n_told;
    uint64_t told_line;
};

static inline struct callgrind_key callgrind_key_at(const struct callgrind *callgrind, uint32_t row)
{
    struct callgrind_key key;
    memcpy(&key, pf_interned(callgrind->keys, row).text, sizeof key);
    return key;
}

/* What has been read becomes contexts, values and the table of calls. */
void callgrind_finish(struct callgrind *callgrind);

/*
 * Reads the whole file, of Cachegrind or of Callgrind, into the build. Called inside the build's pass; a failure jumps out of it.
 */
void callgrind_read(struct pf_build *build, bool cachegrind);

#endif
