/* SPDX-License-Identifier: MIT */
#ifndef PERF_SCRIPT_LINE_H
#define PERF_SCRIPT_LINE_H

#include "formats/kit/slice.h"

/*
 * Parses single lines of the text of `perf script`; keeps no state between lines. Each field is optional (`perf script -F LIST`); the
 * order of the fields is fixed:
 *
 *   header  = [VM:N] [VCPU:N] [comm] [pid/tid | tid] ["[" cpu "]"] [misc] [date clock] [time ":"] [period] [event ":"] rest
 *   rest    = nothing, if a call chain follows in lines of its own, or [flags] [text] [data address] ... frame [more fields]
 *   frame   = address [symbol ["+0x" offset]] ["(" dso ")" | "(inlined)"]
 *   record  = header without period, event and rest, then PERF_RECORD_NAME and its text
 *
 * Fields that follow a call chain (registers, branch stack, instruction, physical address) are on lines of their own.
 */

/* The fields of a header, as slices of its line. A field that is not printed is an empty slice. */
struct perf_header {
    const char *line; /* start of the line */
    struct pf_slice comm, pid, tid, time, period, event, rest;
};

struct perf_frame {
    struct pf_slice symbol, dso;
    bool has_symbol, has_dso, inlined;
    bool cut; /* the dso's closing parenthesis is missing */
};

enum perf_kind {
    PERF_NOTHING,     /* blank line, comment or text of a source line */
    PERF_HEADER,      /* begins a sample: has a tid, and a time or an event */
    PERF_RECORD,      /* PERF_RECORD_COMM and others, or a line of -F metric; no sample */
    PERF_FRAME,       /* a frame of a call chain */
    PERF_SOURCE_LINE, /* `  file.c:12`, from -F srcline */
    PERF_FIELDS,      /* further fields of a sample */
    PERF_UNKNOWN
};

/*
 * Classifies a line. Fills *header for a PERF_HEADER, only header->time and header->tid for a PERF_RECORD, *frame for a PERF_FRAME. The
 * slices point into the line.
 */
enum perf_kind perf_line(struct pf_slice line, struct perf_header *header, struct perf_frame *frame);

/* Parses the file and line of a PERF_SOURCE_LINE. Returns false if one is unknown: `  :0`, `  libc.so[27b25]`. */
bool perf_source_place(struct pf_slice line, struct pf_slice *file, uint32_t *number);

/*
 * Parses a weak header, such as `heat`, `heat 4711` or `cycles:`. It has a command, a tid, a time or an event, but too
 * few of them for PERF_HEADER. Returns false if the line is not one. Any short line looks like a weak header, so the
 * caller must check that header->rest has a frame or that a frame follows.
 */
bool perf_weak_header(struct pf_slice line, struct perf_header *header);

/*
 * Returns true if a word of the line may be a right-aligned address. Otherwise perf_weak_header returns false or leaves header->rest
 * empty, so a caller that needs header->rest can skip that slow function.
 */
bool perf_has_wide_address(struct pf_slice line);

/* Finds the sampled frame in the rest of a header. `line` is the start of the line. Returns false if there is no frame. */
bool perf_header_frame(const char *line, struct pf_slice rest, struct perf_frame *frame);

#endif
