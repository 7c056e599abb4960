/* SPDX-License-Identifier: MIT */
/* The result that a folder is not a profile is stored if it depends only on the names in the folder. */
#define FURTHER_DRIVERS &marked_driver, &beside_driver,

#include "formats/driver.h"
#include "formats/driver_extra.h"
#include "formats/probe.h"

extern const struct pf_driver marked_driver, beside_driver;

#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <time.h>

#include "fs/tree/listing.h"
#include "tests/unit/vfs_fixture.h"

static _Atomic time_t later; /* seconds that have passed since the test began; the threads of a pool read it, too */

/* All files are an hour old, so their times are settled. */
int clock_gettime(clockid_t clock, struct timespec *now)
{
    long result = syscall(SYS_clock_gettime, clock, now);
    now->tv_sec += clock == CLOCK_REALTIME ? 3600 : later;
    return (int)result;
}

static unsigned asked; /* number of folders that the driver has examined */

/* A folder is a profile if its file `mark` begins with an exclamation mark. */
static void probe_marked(struct pf_probe *probe, struct pf_probe_result *result)
{
    char byte;
    asked++;
    if (pf_probe_has(probe, "mark") && pf_probe_head_of(probe, "mark", &byte, 1) == 1 && byte == '!')
        result->confidence = 32;
}

const struct pf_driver marked_driver = {
    .name = "marked", .title = "marked folders", .version = 1, .directories = true, .probe = probe_marked};

/* A folder with the name `points` in it is the source of a profile beside its entries. */
static void probe_beside(struct pf_probe *probe, struct pf_probe_result *result)
{
    asked++;
    result->confidence = pf_probe_has(probe, "points") ? 16 : 0;
}

static struct pf_driver_extra beside_extra = {.beside = true};
const struct pf_driver beside_driver = {.name = "beside",
                                        .title = "folders of points",
                                        .version = 1,
                                        .directories = true,
                                        .probe = probe_beside,
                                        .extra = &beside_extra};

/* Probes the folder `name`, as if its names had last changed at the time `changed`. Returns true if a driver has examined it. */
static bool is_examined(struct pf_probe_results *results, const struct pf_folder *top, const char *name,
                        time_t changed, bool *profile)
{
    struct pf_entry_info info = {0};
    unsigned before = asked;
    if (pf_folder_stat(top, name, &info.st))
        abort();
    info.st.st_mtim = info.st.st_ctim = (struct timespec){.tv_sec = changed};
    if (pf_probe_folder(results, top, name, &info))
        abort();
    *profile = info.driver == &marked_driver;
    return asked > before;
}

static void test_results(const char *folder)
{
    bool profile;
    struct pf_probe_results *results = pf_probe_results_new(NULL);
    struct pf_folder *top = pf_folder_new(open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC), NULL);
    make_folder(folder, "plain");
    make_folder(folder, "marked");
    ok(is_examined(results, top, "plain", 1, &profile) && !profile, "a folder that is not known is examined");
    ok(!is_examined(results, top, "plain", 1, &profile) && !profile,
       "a folder without a change of its names is not examined again");
    write_text(folder, "plain/mark", "!");
    ok(is_examined(results, top, "plain", 2, &profile) && profile,
       "a folder with a change of its names is examined again");
    ok(is_examined(results, top, "plain", 2, &profile) && profile,
       "a folder that is a profile is examined each time");
    write_text(folder, "marked/mark", "?");
    ok(is_examined(results, top, "marked", 1, &profile) && !profile &&
           is_examined(results, top, "marked", 1, &profile) && !profile,
       "a folder that a file's content decides about is examined each time");
    write_text(folder, "marked/mark", "!");
    ok(is_examined(results, top, "marked", 1, &profile) && profile,
       "a folder becomes a profile by a file's content, without a change of its names");
    pf_folder_free(top);
    pf_probe_results_free(results);
}

/* Returns the number of times that a driver has been asked about a profile beside the entries of a folder. */
static unsigned asked_beside(struct pf_fs *fs, const struct pf_folder *folder, int want)
{
    struct pf_entry_info info;
    unsigned before = asked;
    if (pf_classify(fs, folder, PF_BESIDE_NAME, &info) != want)
        abort();
    return asked - before;
}

static void test_beside(const char *folder)
{
    const struct timespec old[] = {{.tv_sec = 1}, {.tv_sec = 1}};
    make_folder(folder, "study");
    utimensat(AT_FDCWD, path_in(folder, "study"), old, 0);
    struct pf_fs *fs = fs_of(folder, false);
    struct pf_folder *study =
        pf_folder_new(open(path_in(folder, "study"), O_RDONLY | O_DIRECTORY | O_CLOEXEC), NULL);
    ok(asked_beside(fs, study, ENOENT) == 1 && asked_beside(fs, study, ENOENT) == 0,
       "the result that no profile is beside the entries is stored");
    make_folder(folder, "study/points");
    ok(asked_beside(fs, study, 0) == 1 && asked_beside(fs, study, 0) == 1,
       "a folder is examined for a profile beside its entries after its names have changed");
    pf_folder_free(study);
    pf_fs_free(fs);
}

static void test_settled(void)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    struct stat st = {.st_dev = makedev(8, 1), .st_mtim = {.tv_sec = now.tv_sec - 3600}};
    st.st_ctim = st.st_mtim;
    struct pf_stamp stamp = pf_stamp_of(&st);
    ok(pf_stamp_is_settled(&stamp), "a folder that changed an hour ago is settled");
    stamp.device = makedev(0, 40);
    ok(!pf_stamp_is_settled(&stamp),
       "a folder that changed an hour ago is not settled if a network may change it");
    st.st_ctim = now;
    stamp = pf_stamp_of(&st);
    ok(!pf_stamp_is_settled(&stamp),
       "a folder that has just changed may change again within the same tick of the clock");
    st.st_mtim.tv_sec += 86400;
    stamp = pf_stamp_of(&st);
    ok(!pf_stamp_is_settled(&stamp), "a folder with times in the future is not settled");
}

/* Returns the paths of all profiles, each with a space after it. */
static char *all_profiles(struct pf_fs *fs)
{
    struct pf_error error;
    struct pf_buf profiles = {0}, archives = {0}, paths = {0};
    if (pf_list_profiles(fs, &profiles, &archives, &paths, &error))
        abort();
    for (size_t i = 0; i < paths.size; i++)
        paths.data[i] = paths.data[i] ? paths.data[i] : ' ';
    pf_buf_char(&paths, 0);
    pf_buf_free(&profiles);
    pf_buf_free(&archives);
    return paths.data;
}

static void profiles_are(struct pf_fs *fs, const char *want, const char *behaviour)
{
    char *have = all_profiles(fs);
    is(have, want, behaviour);
    free(have);
}

static void list_folder(struct pf_fs *fs, const char *name)
{
    struct pf_dir *dir = NULL;
    uint64_t ino = ino_of(fs, name);
    if (open_dir(fs, ino, &dir))
        abort();
    free(names_in(dir));
    pf_fs_closedir(dir);
}

static void test_listed_folders(const char *folder)
{
    const struct timespec old[] = {{.tv_sec = 1}, {.tv_sec = 1}};
    make_folder(folder, "leaf");
    write_text(folder, "leaf/notes", "text");
    utimensat(AT_FDCWD, path_in(folder, "leaf"), old, 0);
    struct pf_fs *fs = fs_of(folder, false);
    list_folder(fs, "leaf");
    write_text(folder, "leaf/notes", "3 9 50");
    profiles_are(fs, "", "a folder that a program has just listed is not walked into");
    later = 3;
    profiles_are(fs, "leaf/notes ",
                 "a listed folder is walked into again after 2 s, and a file that was rewritten is found");
    write_text(folder, "leaf/notes", "text");
    list_folder(fs, "leaf");
    write_text(folder, "leaf/new", "3 9 50");
    profiles_are(fs, "leaf/new ", "a listed folder is walked into at once if its names have changed");
    list_folder(fs, "leaf");
    write_text(folder, "leaf/notes", "3 9 50");
    profiles_are(fs, "leaf/new leaf/notes ", "a listed folder is walked into at once if it has profiles");
    unlink(path_in(folder, "leaf/new"));
    write_text(folder, "leaf/notes", "text");
    make_folder(folder, "leaf/inner");
    utimensat(AT_FDCWD, path_in(folder, "leaf"), old, 0);
    list_folder(fs, "leaf");
    write_text(folder, "leaf/inner/new", "3 9 50");
    write_text(folder, "leaf/notes", "3 9 50");
    profiles_are(fs, "leaf/inner/new ", "of a listed folder, only the folders in it are walked into");
    pf_fs_free(fs);
}

int main(void)
{
    char folder[64];
    temp_dir_make(folder);
    test_listed_folders(folder);
    test_results(folder);
    test_beside(folder);
    test_settled();
    temp_dir_remove(folder);
    return done();
}
