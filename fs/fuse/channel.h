/* SPDX-License-Identifier: MIT */
#ifndef PF_FUSE_CHANNEL_H
#define PF_FUSE_CHANNEL_H

#include <fuse_lowlevel.h>

/*
 * Lets look-ups and listings of one folder run side by side. libfuse before 3.17 drops the flag that asks the kernel for it, and
 * without it everybody who looks into a folder waits, deaf to signals, for the first who does. So the one reply that
 * carries the flags is completed on its way. Call after fuse_session_mount. 0, or an errno value negated.
 */
int pf_fuse_channel(struct fuse_session *session);

#endif
