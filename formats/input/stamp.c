/* SPDX-License-Identifier: MIT */
#include "formats/input/stamp.h"

#include <sys/sysmacros.h>
#include <time.h>

#include "formats/kit/lock.h"

/*
 * pf_outlast_clock_tick sleeps if the last change is more recent than this. Two writes within one tick of the kernel's
 * clock result in the same mtime, so the second one would go unnoticed.
 */
#define YOUNG_NS 20000000
/* Minimum age of a folder's last change for pf_stamp_is_settled. The coarsest resolution of a disk's times is 2 s (FAT). */
#define SETTLED_NS INT64_C(10000000000)

struct pf_stamp pf_stamp_of(const struct stat *st)
{
    return (struct pf_stamp){
        .device = st->st_dev,
        .inode = st->st_ino,
        .size = (uint64_t)st->st_size,
        .mtime_ns = st->st_mtim.tv_sec * INT64_C(1000000000) + st->st_mtim.tv_nsec,
        .ctime_ns = st->st_ctim.tv_sec * INT64_C(1000000000) + st->st_ctim.tv_nsec,
    };
}

bool pf_stamp_same(const struct pf_stamp *a, const struct pf_stamp *b)
{
    return a->device == b->device && a->inode == b->inode && a->size == b->size &&
           a->mtime_ns == b->mtime_ns && a->ctime_ns == b->ctime_ns;
}

uint64_t pf_lasting_device(uint64_t device)
{
    return major((dev_t)device) ? device : 0;
}

struct pf_stamp pf_stamp_lasting(const struct pf_stamp *stamp)
{
    struct pf_stamp lasting = *stamp;
    lasting.device = pf_lasting_device(stamp->device);
    return lasting;
}

static int64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
}

/* Nanoseconds since the last change. */
static int64_t age_of(const struct pf_stamp *stamp)
{
    return now_ns() - (stamp->mtime_ns > stamp->ctime_ns ? stamp->mtime_ns : stamp->ctime_ns);
}

bool pf_stamp_is_settled(const struct pf_stamp *stamp)
{
    return major((dev_t)stamp->device) && age_of(stamp) >= SETTLED_NS;
}

void pf_outlast_clock_tick(int fd, struct stat *st)
{
    pf_may_block();
    struct pf_stamp stamp = pf_stamp_of(st);
    int64_t age = age_of(&stamp);
    if (age < 0 || age >= YOUNG_NS)
        return;
    struct timespec wait = {.tv_nsec = (long)(YOUNG_NS - age)};
    nanosleep(&wait, NULL);
    fstat(fd, st);
}
