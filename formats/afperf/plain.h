/* SPDX-License-Identifier: MIT */
#ifndef PF_AFPERF_PLAIN_H
#define PF_AFPERF_PLAIN_H

#include "formats/afperf/decode.h"

/*
 * Plain records: what nearly all lines of a large file look like. They start or stop a region or an interval, or hold data
 * of some; numbers have nothing around them, texts no special bytes. One scan takes such a line apart while it
 * looks for its end.
 *
 * What is plain is a part of the grammar that reader.c and decode.c follow, and there is no diagnosis for any of it. A line that
 * differs in any byte is theirs.
 */

/*
 * If a plain record stands at `at`, with a line end behind it, *decoded is what afperf_decode makes of it; returns where the next
 * line starts. Else NULL, and *decoded is undefined. A newline must stand somewhere from `at` on, and AFPERF_PADDING bytes from
 * there on may be read.
 */
const char *afperf_scan_plain(const char *at, struct afperf_decoded *decoded);

#endif
