/* SPDX-License-Identifier: MIT */
#ifndef PF_EXTRAP_BINARY_MODELS_H
#define PF_EXTRAP_BINARY_MODELS_H

#include "formats/extrap/binary_stream.h"
#include "formats/extrap/experiment.h"
#include "formats/extrap/models.h"

/*
 * Reads a function of an Extra-P 3.0 file into the formula; NULL: passes over it. 0, or -1 with *error filled (EBADMSG:
 * a kind of function that there is not).
 */
int pf_binary_function(struct pf_stream *stream, const struct pf_experiment *experiment,
                       struct pf_formula *formula, struct pf_error *error);

/*
 * Passes over the options that newer files have in the records of generators. Whether they are there must be guessed from
 * their words. 1: they were there; 0: they were not, and nothing is passed over; -1: *error filled.
 */
int pf_binary_options(struct pf_stream *stream, struct pf_error *error);

/* True if a string is this word. */
bool pf_binary_is(const char *text, size_t size, const char *word);

#endif
