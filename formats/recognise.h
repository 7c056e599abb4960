/* SPDX-License-Identifier: MIT */
#ifndef PF_RECOGNISE_H
#define PF_RECOGNISE_H

#include "formats/driver.h"
#include "formats/probe.h"

/* Finds the driver of a file or directory. Safe from any thread; a probe belongs to one. */

/* All drivers, in the order of probing; NULL at the end. */
extern const struct pf_driver *const pf_drivers[];

/*
 * Returns the driver that is surest of this file or directory, or NULL if none is (see probe->failure). *result is that driver's. A
 * compressed file that no driver wants is probed again as what it unpacks to.
 */
const struct pf_driver *pf_recognise(struct pf_probe *probe, struct pf_probe_result *result);

/* Name of the profile as an entry of its directory, if the driver has `beside`. */
#define PF_BESIDE_NAME "experiment"

/* Returns the driver that is surest of this directory among those with `beside`, or NULL. *result is that driver's. */
const struct pf_driver *pf_recognise_beside(struct pf_probe *probe, struct pf_probe_result *result);

#endif
