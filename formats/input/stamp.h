/* SPDX-License-Identifier: MIT */
#ifndef PF_STAMP_H
#define PF_STAMP_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

/* The identity of one version of an input. All zero: the input does not exist. The stamp of the listing
 * PF_FOLDER or PF_FOLDERS holds the folder's times and a digest of the names; only the digest is compared. */
struct pf_stamp {
    uint64_t device, inode, size;
    int64_t mtime_ns, ctime_ns;
};

struct pf_stamp pf_stamp_of(const struct stat *st);
bool pf_stamp_same(const struct pf_stamp *a, const struct pf_stamp *b);
/* Returns `device` if it is stable between mounts. Returns 0 for an anonymous device (of a network file system,
 * overlayfs, btrfs, ...), whose number differs after each mount. */
uint64_t pf_lasting_device(uint64_t device);
/* The stamp with its device number replaced by pf_lasting_device's. */
struct pf_stamp pf_stamp_lasting(const struct pf_stamp *stamp);

/*
 * True if each further change of the names in a folder is certain to change the folder's stamp: the folder is on a disk,
 * and its last change is 10 s old, which exceeds the resolution of any disk's times.
 */
bool pf_stamp_is_settled(const struct pf_stamp *stamp);

/*
 * Sleeps until an open file's last change is so old (20 ms) that another write must change the file's times. Refills
 * *st after a sleep. Blocks: do not call with a lock held.
 */
void pf_outlast_clock_tick(int fd, struct stat *st);

#endif
