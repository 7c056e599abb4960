/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>
#include <time.h>

#include "formats/kit/lock.h"
#include "fs/clock.h"
#include "fs/tree/vfs_private.h"

/*
 * Probes of folders on file systems served by other programs, such as NFS and FUSE. Such a probe may hang, but a
 * look-up of the folder must not, since listing the parent folder looks up each name. The probe therefore runs on a
 * separate thread, and a look-up waits at most WAIT_MS for the probe. At most one probe per folder runs at a time.
 */
enum { WAIT_MS = 2000 };

struct foreign_probe {
    struct foreign_probe *next;
    dev_t device;
    ino_t inode;
    uint64_t since; /* monotonic ms */
    unsigned users; /* the thread and the waiting operations */
    pf_folder_probe *probe;
    struct pf_folder *folder;
    char name[NAME_MAX + 1];
    pthread_cond_t changed;
    bool done;
    int failure;
    struct pf_entry_info info;
};

/* Static: the threads outlive the filesystem if the file server never responds. */
static struct pf_lock lock = PF_LOCK_INITIALIZER(PF_RANK_FOREIGN);
static struct foreign_probe *probes; /* unfinished probes; guarded by the lock */

/* Drops a reference to a probe. Called with the lock held. */
static void drop_probe(struct foreign_probe *probe)
{
    if (--probe->users)
        return;
    pthread_cond_destroy(&probe->changed);
    free(probe);
}

static void *run_probe(void *arg)
{
    struct foreign_probe *probe = arg;
    struct pf_entry_info info = {0};
    int failure = probe->probe(NULL, probe->folder, probe->name, &info);
    pf_folder_free(probe->folder);
    pf_lock_take(&lock);
    struct foreign_probe **at = &probes;
    while (*at != probe)
        at = &(*at)->next;
    *at = probe->next;
    probe->info = info;
    probe->failure = failure;
    probe->done = true;
    pthread_cond_broadcast(&probe->changed);
    drop_probe(probe);
    pf_lock_drop(&lock);
    return NULL;
}

/*
 * Starts a probe and adds it to `probes`. The thread and the caller have one reference each. Called with the lock held.
 * NULL: cannot start a thread, or out of memory or descriptors.
 */
static struct foreign_probe *start_probe(pf_folder_probe *how, const struct pf_folder *folder,
                                         const char *name, const struct stat *st)
{
    pthread_t thread;
    struct foreign_probe *probe = calloc(1, sizeof *probe);
    int fd = probe && strlen(name) <= NAME_MAX ? fcntl(pf_folder_fd(folder), F_DUPFD_CLOEXEC, 3) : -1;
    struct pf_folder *copy = fd < 0 ? NULL : pf_folder_new(fd, NULL);
    if (!copy) {
        free(probe);
        return NULL;
    }
    probe->device = st->st_dev;
    probe->inode = st->st_ino;
    probe->since = pf_monotonic_ms();
    probe->users = 2;
    probe->probe = how;
    probe->folder = copy;
    strcpy(probe->name, name);
    pthread_cond_init(&probe->changed, NULL);
    probe->next = probes;
    probes = probe;
    if (!pthread_create(&thread, NULL, run_probe, probe)) {
        pthread_detach(thread);
        return probe;
    }
    probes = probe->next;
    pf_folder_free(copy);
    free(probe);
    return NULL;
}

bool pf_is_foreign(const struct pf_fs *fs, const struct stat *st)
{
    return st->st_dev != fs->device && major(st->st_dev) == 0;
}

int pf_probe_foreign(pf_folder_probe *how, const struct pf_folder *folder, const char *name,
                     struct pf_entry_info *info)
{
    const struct stat st = info->st;
    pf_lock_take(&lock);
    struct foreign_probe *probe = probes;
    while (probe && (probe->device != st.st_dev || probe->inode != st.st_ino))
        probe = probe->next;
    if (probe)
        probe->users++;
    else
        probe = start_probe(how, folder, name, &st);
    if (!probe) {
        pf_lock_drop(&lock);
        return how(NULL, folder, name, info);
    }
    uint64_t end = probe->since + WAIT_MS;
    struct timespec until = {.tv_sec = (time_t)(end / 1000), .tv_nsec = (long)(end % 1000) * 1000000};
    while (!probe->done && pf_lock_wait_until(&lock, &probe->changed, &until) != ETIMEDOUT) {
    }
    int failure = probe->failure;
    if (probe->done)
        *info = probe->info;
    info->st = st;
    info->unprobed = !probe->done;
    drop_probe(probe);
    pf_lock_drop(&lock);
    return failure;
}
