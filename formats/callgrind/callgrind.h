/* SPDX-License-Identifier: MIT */
#ifndef CALLGRIND_H
#define CALLGRIND_H

#include "formats/callgrind/lines.h"
#include "formats/kit/samples.h"

/*
 * Callgrind's and Cachegrind's text, as valgrind, xdebug, yappi, pprof, ruby-prof and others write it. One grammar: lines
 * name an object (ob=), a file (fl=) and a function (fn=), then come lines of a position and a count for each of the header's
 * events: what the function cost there itself. After cfn= and calls=, one such line is what a call cost, all in all.
 *
 * No tree is stored. A context is a function, known by object, file and name; calls are a table of their own.
 */

extern const struct pf_driver pf_callgrind_driver, pf_cachegrind_driver;

struct callgrind_state {
    struct pf_samples samples; /* first */
    bool ends_open;            /* the file's writer ends no file with a line end */
};

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

/* The `read` of struct pf_samples_format. */
int callgrind_read(struct pf_profile *profile, struct pf_pass *pass, struct pf_error *error);

#endif
