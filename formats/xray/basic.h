/* SPDX-License-Identifier: MIT */
#ifndef PF_XRAY_BASIC_H
#define PF_XRAY_BASIC_H

#include "formats/xray/header.h"
#include "formats/xray/index.h"
#include "formats/xray/records.h"

/*
 * Basic ("naive") logs: after the header records of 32 bytes each, of all threads. Threads write blocks of
 * about a thousand records, so those of one thread come in runs. The light pass reads all records once, and
 * makes the runs the ranges of its index.
 */

/* 0, or -1 with *error filled. Either way *index is to be freed. */
int xray_basic_index(struct xray_index *index, const struct xray_header *header, struct pf_input *input,
                     struct pf_pass *pass, struct pf_error *error);

#endif
