/* SPDX-License-Identifier: MIT */
#ifndef PF_STAMP_H
#define PF_STAMP_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

/*
 * Identifies one version of an input. All zero: the input did not exist. The stamp of a listing holds the folder's times and a
 * digest of its names; only the digest is compared.
 */
struct pf_stamp {
    uint64_t device, inode, size;
    int64_t mtime_ns, ctime_ns;
};

struct pf_stamp pf_stamp_of(const struct stat *st);
bool pf_stamp_same(const struct pf_stamp *a, const struct pf_stamp *b);
/* A device number as it is kept between mounts: 0 for a file server, an overlay or a btrfs, which have another one each time. */
uint64_t pf_lasting_device(uint64_t device);
/* The same for the device in a stamp. */
struct pf_stamp pf_stamp_lasting(const struct pf_stamp *stamp);

/*
 * Sleeps until an open file is old enough (20 ms) that a further write changes its times, and fills *st again if it has slept.
 * Blocks: not to be called with a lock held.
 */
void pf_outlast_clock_tick(int fd, struct stat *st);

#endif
