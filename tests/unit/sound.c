/* SPDX-License-Identifier: MIT */
/*
 * Every profile among the samples (and in the folder that PROFILEFS_SHARED names) keeps the promises of
 * formats/driver.h: see tests/sound.h.
 */
#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

#include "formats/model.h"
#include "formats/recognise.h"
#include "tests/profile.h"
#include "tests/sound.h"
#include "tests/unit/tap.h"

/* Maximum nesting of folders, as deep as that of archives. */
enum { PATH_ROOM = 4096, DEPTH_MAX = 12 };

/* Returns the first, a middle or the last of n items; -1 if n is 0. */
static int64_t item_of(int64_t n, int64_t third)
{
    return n > 0 ? (n - 1) * third / 2 : -1;
}

/* Checks the first, a middle and the last item of each axis. */
static const char *check_items(struct pf_model *model)
{
    const struct sound_limits limits = {.rows = 20000, .hop = 211, .resumes = 12};
    const char *wrong = NULL;
    for (int64_t third = 0; third < 3 && !wrong; third++) {
        struct pf_restriction only = {
            item_of(sound_items(model, PF_PARTITION), third), item_of(sound_items(model, PF_CONTEXT), third),
            item_of(sound_items(model, PF_METRIC), third), item_of(sound_items(model, PF_KEY), third)};
        wrong = sound_profile(model, only, limits);
    }
    return wrong;
}

/* Checks an entry of a folder, read by the driver with the highest confidence. */
static void check_profile(const struct pf_driver *driver, int folder, const char *name, const char *path)
{
    struct pf_error error = {0};
    struct pf_options options = {.cache = 1 << 20};
    struct pf_model model;
    const char *wrong = NULL;
    if (!profile_open(&model, driver, folder, name, &options, &error))
        wrong = pf_model_load(&model, PF_DERIVED, &error) ? error.what : check_items(&model);
    ok(!wrong, "%s is a sound profile%s%s", path, wrong ? ": " : "", wrong ? wrong : "");
    profile_close(&model);
}

/* Returns true if the entry was tested as a profile. */
static bool check_entry(int folder, const char *name, const char *path, bool directory)
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
        check_profile(driver, folder, name, path);
    const struct pf_driver *beside = directory ? pf_recognise_beside(&probe, &result) : NULL;
    if (beside)
        check_profile(beside, folder, name, path);
    close(fd);
    return driver != NULL;
}

static void check_folder(const char *path, unsigned depth)
{
    DIR *listing = opendir(path);
    const struct dirent *entry;
    while (listing && (entry = readdir(listing))) {
        char below[PATH_ROOM];
        bool directory = entry->d_type == DT_DIR;
        if (!strcmp(entry->d_name, ".") || !strcmp(entry->d_name, "..") ||
            (!directory && entry->d_type != DT_REG) ||
            snprintf(below, sizeof below, "%s/%s", path, entry->d_name) >= PATH_ROOM)
            continue;
        if (!check_entry(dirfd(listing), entry->d_name, below, directory) && directory && depth < DEPTH_MAX)
            check_folder(below, depth + 1);
    }
    if (listing)
        closedir(listing);
}

/* Memory may run out before a profile is opened; it must be possible to close it nevertheless. */
static void check_closing_unopened(void)
{
    const struct pf_options options = {.cache = 1 << 20};
    for (size_t i = 0; pf_drivers[i]; i++) {
        struct pf_model model;
        struct pf_error error;
        bool begun = !pf_model_begin(&model, pf_drivers[i], NULL, &options, &error);
        pf_model_end(&model);
        ok(begun, "a %s profile that was never opened can be closed", pf_drivers[i]->name);
    }
}

int main(void)
{
    char corpus[PATH_ROOM];
    const char *shared = getenv("PROFILEFS_SHARED");
    check_closing_unopened();
    check_folder("tests/samples/archive", 0);
    if (!shared || !*shared)
        fputs("# profiles of PROFILEFS_SHARED, not set: skipped\n", stderr);
    else if (snprintf(corpus, sizeof corpus, "%s/corpus", shared) < PATH_ROOM)
        check_folder(corpus, 0);
    return done();
}
