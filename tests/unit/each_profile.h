/* SPDX-License-Identifier: MIT */
#ifndef TEST_EACH_PROFILE_H
#define TEST_EACH_PROFILE_H

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "formats/recognise.h"

/* Visits all profiles below a folder, for tests of drivers. */

/* Called for each profile: `driver` reads it from the entry `name` of the open `folder`. `path` is for messages. */
typedef void profile_visitor(const struct pf_driver *driver, int folder, const char *name, const char *path);

/* EACH_DEPTH_MAX: the maximum nesting of visited folders. */
enum { EACH_PATH_ROOM = 4096, EACH_DEPTH_MAX = 12 };

/* Visits the profiles made from an entry. Returns true if the entry is a profile or cannot be opened; then the caller need not descend. */
static bool visit_entry(int folder, const char *name, const char *path, bool directory,
                        profile_visitor *visit)
{
    static unsigned char head[PF_HEAD_MAX];
    struct stat st;
    int fd = openat(folder, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &st)) {
        if (fd >= 0)
            close(fd);
        return true;
    }
    struct pf_probe probe = {.name = name,
                             .directory = directory,
                             .size = directory ? 0 : (uint64_t)st.st_size,
                             .fd = fd,
                             .bytes = head};
    struct pf_probe_result result;
    const struct pf_driver *driver = pf_recognise(&probe, &result);
    if (driver)
        visit(driver, folder, name, path);
    const struct pf_driver *beside = directory ? pf_recognise_beside(&probe, &result) : NULL;
    if (beside)
        visit(beside, folder, name, path);
    close(fd);
    return driver != NULL;
}

static void visit_folder(const char *path, unsigned depth, profile_visitor *visit)
{
    DIR *listing = opendir(path);
    const struct dirent *entry;
    while (listing && (entry = readdir(listing))) {
        char below[EACH_PATH_ROOM];
        bool directory = entry->d_type == DT_DIR;
        if (!strcmp(entry->d_name, ".") || !strcmp(entry->d_name, "..") ||
            (!directory && entry->d_type != DT_REG) ||
            snprintf(below, sizeof below, "%s/%s", path, entry->d_name) >= EACH_PATH_ROOM)
            continue;
        if (!visit_entry(dirfd(listing), entry->d_name, below, directory, visit) && directory &&
            depth < EACH_DEPTH_MAX)
            visit_folder(below, depth + 1, visit);
    }
    if (listing)
        closedir(listing);
}

/* Visits each profile below a folder with the driver of the highest confidence. Does not descend into folders that are profiles. */
static void each_profile(const char *path, profile_visitor *visit)
{
    visit_folder(path, 0, visit);
}

#endif
