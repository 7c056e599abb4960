/* SPDX-License-Identifier: MIT */
#ifndef PF_RECOGNISE_H
#define PF_RECOGNISE_H

#include "formats/driver.h"
#include "formats/probe.h"

/* Finds the driver of a file or directory. Thread-safe; one thread at a time uses a probe. */

/* All drivers, in the order of probing; NULL at the end. */
extern const struct pf_driver *const pf_drivers[];

/*
 * Returns the driver with the highest confidence in this file or directory, and its result in *result; NULL if no driver recognises it (see
 * probe->failure). If a compressed file is not recognised, its unpacked bytes are probed.
 */
const struct pf_driver *pf_recognise(struct pf_probe *probe, struct pf_probe_result *result);

/* Name of the entry that a driver with `beside` adds to a directory. */
#define PF_BESIDE_NAME "experiment"

/* Like pf_recognise, but for a directory, and among the drivers with `beside`. */
const struct pf_driver *pf_recognise_beside(struct pf_probe *probe, struct pf_probe_result *result);

#endif
