/* SPDX-License-Identifier: MIT */
#include <sys/resource.h>

#include "tests/unit/background.h"
#include "tests/unit/vfs_fixture.h"

/* Profiles that stay loaded, and the unloading of old versions. */

enum { MANY = 120 };

static size_t descriptors(void)
{
    DIR *folder = opendir("/proc/self/fd");
    size_t n = 0;
    while (folder && readdir(folder))
        n++;
    if (folder)
        closedir(folder);
    return n;
}

/* Waits until at most this many descriptors are open; another thread closes them. */
static void await_descriptors(size_t most)
{
    for (int i = 0; i < 1000 && descriptors() > most; i++)
        usleep(20000);
}

static void write_many(const char *folder)
{
    char name[32];
    make_folder(folder, "many");
    for (int i = 0; i < MANY; i++) {
        snprintf(name, sizeof name, "many/%d", i);
        write_text(folder, name, "2 3 10");
    }
}

/* Returns the number of profiles whose values.csv can be read. Their inodes are not forgotten. */
static int read_many(struct pf_fs *fs)
{
    int good = 0;
    char name[64];
    for (int i = 0; i < MANY; i++) {
        struct pf_buf out = {0};
        snprintf(name, sizeof name, "many/%d/tables/values.csv", i);
        uint64_t ino = ino_of(fs, name);
        good += ino && !read_ino(fs, ino, 1000, &out) && out.size > 0;
        pf_buf_free(&out);
    }
    return good;
}

static void test_few_descriptors(const char *folder)
{
    struct rlimit before, few;
    write_many(folder);
    getrlimit(RLIMIT_NOFILE, &before);
    few = before;
    few.rlim_cur = descriptors() + 24;
    setrlimit(RLIMIT_NOFILE, &few);
    struct pf_fs *fs = fs_of(folder, false);
    ok(read_many(fs) == MANY, "all profiles can be read with few descriptors");
    pf_lock_take(&fs->lock);
    fs->files_max = 1 << 20;
    pf_lock_drop(&fs->lock);
    ok(read_many(fs) == MANY,
       "all profiles can be read if idle ones are unloaded only when descriptors run out");
    int taken[64], n = 0;
    while (n < 64 && (taken[n] = dup(0)) >= 0)
        n++;
    ok(read_many(fs) == MANY, "all profiles can be read if all descriptors are in use at the start");
    while (n)
        close(taken[--n]);
    pf_fs_free(fs);
    setrlimit(RLIMIT_NOFILE, &before);
}

static void test_replaced(const char *folder)
{
    write_text(folder, "log", "2 3 10");
    struct pf_fs *fs = fs_of(folder, false);
    size_t before = descriptors();
    for (int i = 0; i < 50; i++) {
        replace_text(folder, "log", i % 2 ? "2 3 10" : "2 3 11");
        if (!ino_of(fs, "log/tables/values.csv"))
            break;
    }
    ok(fs->versions.count == 50, "versions stay while their inodes are held");
    await_descriptors(before + 4);
    ok(descriptors() <= before + 4, "the files of old versions are closed");
    pf_fs_free(fs);
}

static void test_deleted(const char *folder)
{
    struct pf_attr attr;
    write_text(folder, "log", "2 3 10");
    write_text(folder, "unseen", "2 3 10");
    struct pf_fs *fs = fs_of(folder, false);
    size_t before = descriptors();
    ino_of(fs, "log/tables/values.csv");
    ino_of(fs, "unseen/tables/values.csv");
    unlink(path_in(folder, "log"));
    unlink(path_in(folder, "unseen"));
    size_t open = descriptors();
    ok(find_path(fs, "log", &attr) == ENOENT, "a look-up of a deleted profile returns ENOENT");
    await_descriptors(open - 1);
    ok(descriptors() < open, "a failed look-up closes the files of a deleted profile");
    await_descriptors(before);
    ok(descriptors() <= before,
       "files of a deleted profile that is not looked up are closed after some seconds");
    pf_fs_free(fs);
}

/* Unloads all idle profiles. */
static void unload_idle(struct pf_fs *fs)
{
    uint64_t since = 0;
    while (fs->idle.oldest)
        pf_reaper_relieve(fs, &since);
}

static void test_loaded_again(const char *folder)
{
    struct pf_attr attr;
    struct pf_handle *handle = NULL;
    write_text(folder, "log", "2 3 10");
    struct pf_fs *fs = fs_of(folder, false);
    uint64_t top = ino_of(fs, "log"), info = ino_of(fs, "log/info.txt");
    unload_idle(fs);
    ok(fs->loaded_profiles == 0 && !open_file(fs, info, &handle),
       "a profile that was unloaded is loaded again");
    pf_fs_close(handle);
    unload_idle(fs);
    write_text(folder, "log.extra", "x");
    ok(open_file(fs, info, &handle) == ESTALE,
       "a profile that has changed since it was unloaded is not loaded by an old inode");
    ok(!look_up(fs, top, "info.txt", &attr) && attr.st.st_ino != info,
       "the top folder of an unloaded profile leads to the new version");
    unlink(path_in(folder, "log.extra"));
    uint64_t thread = ino_of(fs, "log/threads/thread 1/info.txt"), metric = ino_of(fs, "log/metrics");
    struct pf_dir *dir;
    ok(thread && open_file(fs, thread + 1000, &handle) == ESTALE,
       "an inode of a file that the profile does not have is stale");
    ok(metric && open_dir(fs, pf_ino((uint32_t)(metric >> 40), PF_CONTEXT_DIR, 1000), &dir) == ESTALE,
       "an inode of a folder that the profile does not have is stale");
    pf_fs_free(fs);
}

static void test_loaded_once(const char *folder)
{
    struct gate gate = GATE_CLOSED;
    write_text(folder, "log", "2 3 10");
    struct pf_fs *fs = fs_of(folder, false);
    struct wanted info = {fs, ino_of(fs, "log"), "info.txt"};
    int opens = control.opens;
    struct background first, second;
    control.gate[PF_OPENED] = &gate;
    background_start(&first, look_up_wanted, &info);
    gate_await(&gate, 1);
    background_start(&second, look_up_wanted, &info);
    pf_fs_interrupt(fs, &second.op);
    ok(background_result(&second) == EINTR,
       "an operation that waits for another one to load the profile can be interrupted");
    gate_open(&gate);
    ok(!background_result(&first) && control.opens == opens + 1,
       "the operation that loads the profile succeeds, and loads it once");
    control.gate[PF_OPENED] = NULL;
    pf_fs_free(fs);
}

/* A read of one entry of an open directory, to run in the background. */
struct reader {
    struct pf_dir *dir;
    uint64_t offset;
    struct pf_dirent entry;
};

static int read_entry(void *arg, struct pf_op *op)
{
    struct reader *reader = arg;
    return pf_fs_readdir(reader->dir, reader->offset, &reader->entry, false, NULL, op);
}

/* Returns the offset at which reading a directory returns the entry with this name. */
static uint64_t offset_of(struct pf_dir *dir, const char *name)
{
    struct pf_dirent entry;
    struct pf_op op = PF_OP;
    uint64_t offset = 0;
    while (pf_fs_readdir(dir, offset, &entry, false, NULL, &op) > 0 && strcmp(entry.name, name) != 0)
        offset = entry.next;
    return offset;
}

static void test_listed_side_by_side(const char *folder)
{
    struct gate gate = GATE_CLOSED;
    struct reader slow = {0}, quick = {0};
    struct background waiting;
    struct pf_op op = PF_OP;
    write_text(folder, "slow", "2 3 10");
    write_text(folder, "quick", "2 3 10");
    struct pf_fs *fs = fs_of(folder, false);
    ok(!open_dir(fs, PF_ROOT_INO, &slow.dir), "the root can be opened");
    quick.dir = slow.dir;
    slow.offset = offset_of(slow.dir, "slow");
    quick.offset = offset_of(slow.dir, "quick");
    char *names = names_in(slow.dir);
    write_text(folder, "slow", "2 3 100");
    control.probe_gate = &gate;
    background_start(&waiting, read_entry, &slow);
    gate_await(&gate, 1);
    ok(read_entry(&quick, &op) == 1 && !strcmp(quick.entry.name, "quick"),
       "while one reader of a directory waits for a file, another reader gets an entry");
    ok(offset_of(slow.dir, "..") == 1,
       "while one reader of a directory waits for a file, another reader gets the first entries");
    gate_open(&gate);
    ok(background_result(&waiting) == 1 && !strcmp(slow.entry.name, "slow"),
       "the reader that waited gets its entry");
    control.probe_gate = NULL;
    char *again = names_in(slow.dir);
    ok(!strcmp(names, again), "a later listing of the directory is the same");
    free(names);
    free(again);
    pf_fs_closedir(slow.dir);
    pf_fs_free(fs);
}

int main(void)
{
    static void (*const tests[])(const char *folder) = {
        test_few_descriptors,     test_replaced, test_deleted, test_loaded_again, test_loaded_once,
        test_listed_side_by_side, NULL};
    alarm(HANG_SECONDS);
    run_in_temp_dirs(tests);
    return done();
}
