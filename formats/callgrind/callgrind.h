/* SPDX-License-Identifier: MIT */
#ifndef CALLGRIND_H
#define CALLGRIND_H

#include "formats/driver_extra.h"
#include "formats/kit/ids.h"
#include "formats/kit/number.h"
#include "formats/runtime/build.h"
#include "formats/runtime/line_sums.h"

/*
 * The text formats of Callgrind and Cachegrind, as written by valgrind, xdebug, yappi, pprof, ruby-prof and others.
 * Both have one grammar. Lines select an object (ob=), a file (fl=) and a function (fn=). Cost lines follow. Each has a
 * position and a count per event of the header; the counts are exclusive costs of the function. After cfn= and calls=,
 * one cost line holds a call's inclusive costs.
 *
 * The format has no call tree. A context is a function, identified by object, file and name; calls are a separate
 * table.
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

/* The keywords at the start of lines. */
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

static inline bool callgrind_in_body(enum callgrind_word word)
{
    return word != NO_WORD && word < VERSION;
}

/* True if Cachegrind's files may have this keyword, too. */
static inline bool callgrind_in_both(enum callgrind_word word)
{
    return (word >= FL && word <= FN) || word == CMD || word == DESC || word == EVENTS || word == SUMMARY;
}

/* True if a line with this first character is a cost line. */
static inline bool callgrind_begins_cost(char c)
{
    return (c >= '0' && c <= '9') || c == '+' || c == '-' || c == '*';
}

/* The callgrind_take_ functions remove what they parse. */

/* Parses the keyword of a line; NO_WORD if it has none. */
enum callgrind_word callgrind_take_word(struct pf_slice *line);

/* Parses a count: a number, possibly negative, or `.` for 0. Returns false if it is invalid. */
bool callgrind_take_count(struct pf_slice *line, pf_int128 *count);

/*
 * Parses a position: a number, a difference to the previous one (`+3`, `-3`), the previous one (`*`), or a range, whose first number is
 * used. On entry, *position is the previous position in this column. Returns false, with *position unchanged, if the text is invalid.
 */
bool callgrind_take_position(struct pf_slice *line, pf_int128 *position);

/* Parses a name's reference, such as `(12)`. Returns false for other text, such as `(below main)`. */
bool callgrind_take_reference(struct pf_slice *text, uint64_t *number);

/* ---- read.c, finish.c: the pass ------------------------------------------------------------------ */

enum { CALLGRIND_METRICS = 64 }; /* maximum; valgrind has 24 events */

/* Sentinel: no function. The number of a function is the index of its struct pf_frame. */
#define CALLGRIND_NO_FUNCTION UINT32_MAX

/*
 * The key of a row of costs: a function's exclusive costs (callee is CALLGRIND_NO_FUNCTION), or its calls of another
 * function.
 */
struct callgrind_key {
    uint32_t thread, caller, callee;
};

/* The format's own tables; Cachegrind has only the first. */
enum { CALLGRIND_LINES, CALLGRIND_CALLS };

enum callgrind_dictionary { OBJECTS, FILES, FUNCTIONS, DICTIONARIES };

struct callgrind {
    struct pf_build *build;
    struct pf_model_extra extra;
    bool cachegrind;
    bool ends_open;      /* the file's writer never ends a file with a newline */
    struct pf_line line; /* the current line of the file */

    struct pf_strings *keys;  /* interned struct callgrind_key: row i of costs has key i */
    PF_LIST(pf_int128) costs; /* `stride` numbers per row: number of calls, then one per metric */
    size_t stride;
    PF_LIST(bool) defined; /* by function: it has an fn= line */
    /* By function: it has a cost line, calls or callers. A defined name without these is not a function. */
    PF_LIST(bool) exists;

    struct pf_ids names[DICTIONARIES]; /* reference number in the file -> name */
    struct pf_line_sums *lines;        /* exclusive costs by line */
    unsigned positions, n_events, n_metrics, n_titles;
    unsigned line_column;                  /* index of the line among the positions; >= `positions`: none */
    pf_int128 line_at;                     /* last position in that column */
    uint8_t metric[CALLGRIND_METRICS];     /* event -> metric */
    uint32_t exclusive[CALLGRIND_METRICS]; /* metric -> index in metrics.csv */
    uint32_t titles[CALLGRIND_METRICS][2]; /* short and long names of events */

    uint32_t thread;             /* PF_NO_PARTITION: not named yet in this part */
    uint32_t object, file, here; /* file: of the function; here: of the following cost lines */
    uint32_t name, function;     /* PF_NO_STRING: none yet */
    uint32_t own;                /* row of the function's exclusive costs; PF_NO_STRING: not looked up yet */
    uint32_t callee_object, callee_file, callee_name;
    bool calling, jumping; /* calling: the next cost line belongs to calls; jumping: to a jump, which has no costs */
    pf_int128 calls;       /* number of calls, from the last calls= line */

    /* A part's sums: computed, and as declared by its summary or totals line. */
    pf_int128 part[CALLGRIND_METRICS], declared[CALLGRIND_METRICS];
    unsigned n_declared;
    uint64_t declared_line;
};

static inline struct callgrind_key callgrind_key_at(const struct callgrind *callgrind, uint32_t row)
{
    struct callgrind_key key;
    memcpy(&key, pf_interned(callgrind->keys, row).text, sizeof key);
    return key;
}

/* Converts the costs to contexts, values and the table of calls. */
void callgrind_finish(struct callgrind *callgrind);

/*
 * Reads a whole file of Cachegrind or Callgrind into the build. To be called by the format's `read` (see
 * pf_build_format). On failure, ends build->run.
 */
void callgrind_read(struct pf_build *build, bool cachegrind);

#endif
