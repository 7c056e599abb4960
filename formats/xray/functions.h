/* SPDX-License-Identifier: MIT */
#ifndef PF_XRAY_DURATIONS_H
#define PF_XRAY_DURATIONS_H

#include "formats/xray/xray.h"

/* What a cell of a row of functions may point into. */
struct xray_function_text {
    char name[XRAY_NAME_MAX];
    pf_int128 sum;
};

/* Fills the cells of a function's row, from XRAY_DURATIONS_FUNCTION on. They live as long as *text. */
void xray_function_cells(const struct xray_state *state, const struct xray_function *function,
                         struct pf_cell *cells, struct xray_function_text *text);

#endif
