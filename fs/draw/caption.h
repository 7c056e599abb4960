/* SPDX-License-Identifier: MIT */
#ifndef PF_CAPTION_H
#define PF_CAPTION_H

#include "formats/driver.h"
#include "fs/draw/svg.h"

/* The texts in the captions of pictures; private to this folder. */

/* Appends "time, ns"; only the name if the metric has no unit. */
void caption_metric(struct pf_buf *out, const char *name, const char *unit);

/* Appends "24630000000 (24.63 s)"; only the number if the unit is neither a time nor bytes. */
void caption_value(struct pf_buf *out, double value, const char *unit);

/* Appends "xray 5: LLVM XRay log": the format and its version, followed by the profile's command. A profile without a command
 * shows its title, and one without a title shows the format's title. */
void caption_subject(struct pf_buf *out, const struct pf_model *model);

#endif
