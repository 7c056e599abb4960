/* SPDX-License-Identifier: MIT */
#ifndef PF_PERUN_PROBE_H
#define PF_PERUN_PROBE_H

#include "formats/driver.h"

/* JSON text and stored objects; an index is told by its magic number (index.c). */
void perun_probe(struct pf_probe *probe, struct pf_verdict *verdict);

#endif
