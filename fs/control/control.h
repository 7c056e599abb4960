/* SPDX-License-Identifier: MIT */
#ifndef PF_CONTROL_H
#define PF_CONTROL_H

#include "fs/tree/vfs.h"

/* The folder .profilefs in the root: lists and tables of all profiles, and the status of the mount. */
extern const struct pf_virtual pf_control;

#endif
