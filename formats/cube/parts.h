/* SPDX-License-Identifier: MIT */
#ifndef PF_CUBE_PARTS_H
#define PF_CUBE_PARTS_H

#include "formats/cube/cube.h"

/* The numbers that an element of several is made of: RATE, COMPLEX, TAU_ATOMIC, HISTOGRAM, NDOUBLES, SCALE_FUNC. */

/* Of how many the metric's elements are at most; 0: they are one number, or of a type that is not known. */
uint32_t pf_cube_parts_max(const struct pf_cube_metric *metric);

/* Of how many this element is, as it stands in the file; 0: it is all zero. */
uint32_t pf_cube_parts(const struct pf_cube_metric *metric, const unsigned char *element);

/* One of them, and what it is called: a text without blanks, commas or quotes. */
enum { PF_CUBE_PART_NAME = 24 };
struct pf_cell pf_cube_part(const struct pf_cube_metric *metric, const unsigned char *element, uint32_t part,
                            char name[PF_CUBE_PART_NAME]);

#endif
