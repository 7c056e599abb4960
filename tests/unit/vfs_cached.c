/* SPDX-License-Identifier: MIT */
#include "tests/unit/vfs_fixture.h"

/* Attributes and listings that one mount has found are served by a later mount without opening the profile. */

static struct pf_fs *mount_for(const char *folder, bool others)
{
    static char cache[300];
    struct pf_error error;
    snprintf(cache, sizeof cache, "%s.cache", folder);
    const struct pf_fs_options options = {.profile = {.cache = 16 << 20},
                                          .virtuals = virtuals,
                                          .cache_folder = cache,
                                          .pass_threads = 2,
                                          .others = others};
    control = (struct control){0};
    return pf_fs_new(folder, &options, &error);
}

static struct pf_fs *mount_of(const char *folder)
{
    return mount_for(folder, false);
}

static bool reads(struct pf_fs *fs, const char *path, const char *want)
{
    struct pf_buf out = {0};
    uint64_t ino = ino_of(fs, path);
    bool same = ino && !read_ino(fs, ino, 1000, &out) && out.size == strlen(want) &&
                !memcmp(out.data, want, out.size);
    pf_buf_free(&out);
    return same;
}

/* Lists a folder; returns the number of entries. */
static int list(struct pf_fs *fs, const char *path)
{
    struct pf_dir *dir;
    struct pf_dirent entry;
    struct pf_op op = PF_OP;
    int n = 0;
    if (open_dir(fs, ino_of(fs, path), &dir))
        return -1;
    for (uint64_t at = 0; pf_fs_readdir(dir, at, &entry, false, NULL, &op) > 0; at = entry.next)
        n++;
    pf_fs_closedir(dir);
    return n;
}

static char *text_of_file(struct pf_fs *fs, const char *path)
{
    struct pf_buf out = {0};
    read_ino(fs, ino_of(fs, path), 1000, &out);
    pf_buf_char(&out, 0);
    return out.data;
}

static void remove_cache(const char *folder)
{
    char command[400];
    snprintf(command, sizeof command, "rm -rf '%s.cache'", folder);
    if (system(command))
        abort();
}

static void test_warm(const char *folder)
{
    write_text(folder, "log", "3 9 50");
    struct pf_fs *fs = mount_of(folder);
    char *info = text_of_file(fs, "log/info.txt"), *warnings = text_of_file(fs, "log/tables/warnings.csv");
    struct pf_attr first, attr;
    find_path(fs, "log/tables/values.csv", &first);
    int entries = list(fs, "log/metrics"), top = list(fs, "log");
    pf_fs_free(fs);
    fs = mount_of(folder);
    ok(reads(fs, "log/info.txt", info) && reads(fs, "log/tables/warnings.csv", warnings),
       "a later mount serves the same small texts");
    ok(!find_path(fs, "log/tables/values.csv", &attr) && attr.st.st_size == first.st.st_size,
       "a later mount serves the same sizes");
    ok(list(fs, "log/metrics") == entries, "a later mount serves the same number of entries");
    ok(find_path(fs, "log/tables/none.csv", &attr) == ENOENT,
       "a later mount returns ENOENT for a name that does not exist");
    ok(!find_path(fs, "log/contexts", &attr) && S_ISLNK(attr.st.st_mode) && attr.st.st_size == 9 &&
           !find_path(fs, "log/.contexts", &attr) && S_ISDIR(attr.st.st_mode),
       "a later mount finds a hidden folder that listings leave out");
    ok(list(fs, "log") == top, "a later mount serves the same number of entries at the top of a profile");
    struct pf_handle *handle;
    ok(!open_file(fs, ino_of(fs, "log/tables/values.csv"), &handle) && control.opens == 0,
       "a later mount serves names, sizes and small texts without opening the profile");
    struct pf_buf out = {0};
    size_t got;
    ok(!read_handle(fs, handle, 0, 100000, &out, &got) && got == (size_t)first.st.st_size &&
           control.opens == 1,
       "the first read of a large file opens the profile");
    pf_buf_free(&out);
    pf_fs_close(handle);
    ok(!find_path(fs, "log/.contexts/main 0", &attr), "a look-up that is not in the cache succeeds");
    pf_fs_free(fs);
    free(info);
    free(warnings);
    remove_cache(folder);
}

static void test_changes(const char *folder)
{
    struct pf_attr attr;
    struct pf_handle *handle;
    write_text(folder, "log", "3 9 50");
    struct pf_fs *fs = mount_of(folder);
    free(text_of_file(fs, "log/info.txt"));
    pf_fs_free(fs);
    write_text(folder, "log", "2 5 50");
    fs = mount_of(folder);
    ok(!find_path(fs, "log/info.txt", &attr) && control.opens == 1,
       "the cache has nothing about a profile that was overwritten");
    pf_fs_free(fs);
    fs = mount_of(folder);
    uint64_t top = ino_of(fs, "log"), info = ino_of(fs, "log/info.txt");
    ok(control.opens == 0, "the cache has the new version after it was read");
    write_text(folder, "log.extra", "x");
    ok(open_file(fs, info, &handle) == ESTALE && !look_up(fs, top, "info.txt", &attr) &&
           attr.st.st_ino != info,
       "a sibling file that appears makes a new version of a profile that is not open");
    pf_fs_free(fs);
    fs = mount_of(folder);
    ok(!find_path(fs, "log/info.txt", &attr) && control.opens == 0,
       "the cache has the version with the sibling file");
    unlink(path_in(folder, "log"));
    ok(open_file(fs, attr.st.st_ino, &handle) != 0 && find_path(fs, "log/info.txt", &attr) == ENOENT,
       "a deleted profile is not found through the cache");
    pf_fs_free(fs);
    unlink(path_in(folder, "log.extra"));
    remove_cache(folder);
}

enum { MANY = 40 };

static const char *nth_name(int i)
{
    static char name[32];
    snprintf(name, sizeof name, "log%d", i);
    return name;
}

/* Looks up the paths of all MANY names; returns the number of profiles among them. */
static int find_many(struct pf_fs *fs)
{
    struct pf_attr attr;
    int profiles = 0;
    for (int i = 0; i < MANY; i++)
        profiles += !find_path(fs, nth_name(i), &attr) && S_ISDIR(attr.st.st_mode);
    return profiles;
}

static void test_probing(const char *folder)
{
    struct pf_attr attr;
    char from[300], to[300];
    for (int i = 0; i < MANY; i++)
        write_text(folder, nth_name(i), i % 2 ? "3 9 50" : "nothing");
    struct pf_fs *fs = mount_of(folder);
    ok(find_many(fs) == MANY / 2 && control.probes == MANY, "the first mount probes each file");
    pf_fs_free(fs);
    fs = mount_of(folder);
    ok(find_many(fs) == MANY / 2 && control.probes == 0, "a later mount probes no file");
    write_text(folder, "log1", "nothing else");
    ok(!find_path(fs, "log1", &attr) && !S_ISDIR(attr.st.st_mode) && control.probes == 1,
       "a later mount probes a file that was overwritten");
    snprintf(from, sizeof from, "%s/log3", folder);
    snprintf(to, sizeof to, "%s/other", folder);
    int linked = link(from, to);
    ok(!linked && !find_path(fs, "other", &attr) && control.probes == 2,
       "a later mount probes a file under a new name, because drivers look at names");
    pf_fs_free(fs);
    remove_cache(folder);
}

static void test_how_long_it_is_believed(const char *folder)
{
    struct pf_attr info, parent;
    write_text(folder, "log", "3 9 50");
    struct pf_fs *fs = mount_of(folder);
    ok(!find_path(fs, "log/info.txt", &info) && info.attr_seconds == 10 && info.entry_seconds == 10,
       "attributes and names in a profile of several files are valid for 10 seconds");
    pf_fs_free(fs);
    remove_cache(folder);
    for (int again = 0; again < 2; again++) {
        fs = mount_of(folder);
        control.alone = true;
        ok(!find_path(fs, "log/info.txt", &info) && info.attr_seconds > 60 && info.entry_seconds > 60 &&
               control.opens == !again,
           "attributes and names in a profile of one file, %s, are valid for minutes",
           again ? "cached" : "opened");
        ok(!find_path(fs, "log", &parent) && parent.entry_seconds == 1,
           "the name of a profile of one file is valid for 1 second");
        pf_fs_free(fs);
    }
    remove_cache(folder);
}

static void test_others(const char *folder)
{
    struct pf_attr attr;
    for (int alone = 1; alone >= 0; alone--) {
        write_text(folder, "log", "3 9 50");
        chmod(path_in(folder, "log"), 0644);
        for (int again = 0; again < 2; again++) {
            struct pf_fs *fs = mount_for(folder, true);
            control.alone = alone;
            char *info = text_of_file(fs, "log/info.txt");
            ok(control.opens == !(alone && again), "with other users admitted, a profile of %s is %s",
               alone ? "one file" : "several files",
               !again  ? "opened by the first mount"
               : alone ? "cached for a later mount"
                       : "opened by each mount");
            free(info);
            pf_fs_free(fs);
        }
        struct pf_fs *fs = mount_for(folder, true);
        control.alone = alone;
        chmod(path_in(folder, "log"), 0600);
        ok(!find_path(fs, "log/info.txt", &attr) && (attr.st.st_mode & 0777) == 0400,
           "with other users admitted, cached attributes have the current mode of the file");
        pf_fs_free(fs);
        fs = mount_of(folder);
        control.alone = alone;
        ok(!find_path(fs, "log/info.txt", &attr) && control.opens == 1,
           "what a mount for other users has cached is not used by a mount for its owner only");
        pf_fs_free(fs);
        remove_cache(folder);
    }
}

/* Returns the number of entries of a folder, opened by its inode; -1 with *code on an error. */
static int list_ino(struct pf_fs *fs, uint64_t ino, int *code)
{
    struct pf_dir *dir;
    struct pf_dirent entry;
    struct pf_op op = PF_OP;
    int n = 0;
    if ((*code = open_dir(fs, ino, &dir)))
        return -1;
    for (uint64_t at = 0; pf_fs_readdir(dir, at, &entry, false, NULL, &op) > 0; at = entry.next)
        n++;
    pf_fs_closedir(dir);
    return n;
}

/* A folder's parent has too many entries to be cached. So the folder's name is not cached, but the list of the folder's entries is. */
static void test_many_siblings(const char *folder)
{
    int code = 0;
    write_text(folder, "log", "300 9 50");
    struct pf_fs *fs = mount_of(folder);
    uint64_t ino = ino_of(fs, "log/threads/thread 17");
    int entries = list_ino(fs, ino, &code);
    /* unload the profile once the waiter of the pass has released it */
    for (int tries = 0; tries < 50 && fs->loaded_profiles; tries++) {
        usleep(100000);
        pf_reaper_relieve(fs, &(uint64_t){0});
    }
    ok(!fs->loaded_profiles && control.opens == 1, "a profile of 300 threads is unloaded when it is idle");
    ok(entries > 2 && list_ino(fs, ino, &code) == entries && control.opens == 1,
       "a thread's folder of an unloaded profile is listed from the cache");
    write_text(folder, "log", "300 8 50");
    ok(list_ino(fs, ino, &code) == entries || code == ESTALE,
       "a thread's folder of an unloaded profile that has changed is listed or stale");
    ok(list(fs, "log/threads/thread 17") == entries,
       "a look-up by path finds the thread's folder of the new version");
    pf_fs_free(fs);
    remove_cache(folder);
}

/* A folder is looked up and its profile is unloaded. Then the profile changes. The folder's inode leads to the folder of the new version. */
static void test_followed(const char *folder)
{
    int code = 0;
    write_text(folder, "log", "3 9 50");
    struct pf_fs *fs = mount_of(folder);
    uint64_t ino = ino_of(fs, "log/threads/thread 1");
    int entries = list(fs, "log/threads/thread 1");
    bool listed = list(fs, "log") > 2 && list(fs, "log/threads") > 2;
    for (int tries = 0; tries < 50 && fs->loaded_profiles; tries++) {
        usleep(100000);
        pf_reaper_relieve(fs, &(uint64_t){0});
    }
    ok(ino && listed && !fs->loaded_profiles,
       "a profile with a folder that is still in use is unloaded when it is idle");
    write_text(folder, "log", "3 8 50");
    ok(list_ino(fs, ino, &code) == entries,
       "a folder of an unloaded profile that has changed lists the entries of the new version");
    write_text(folder, "log", "1 8 50");
    pf_fs_free(fs);
    remove_cache(folder);
}

/* Two mounts of one folder that are used at the same time. */
static void test_two_writers(const char *folder)
{
    write_text(folder, "log", "3 9 50");
    struct pf_fs *fs = mount_of(folder); /* creates the database, whose key both mounts use */
    list(fs, "log");
    pf_fs_free(fs);
    struct pf_fs *one = mount_of(folder), *other = mount_of(folder);
    char *info = text_of_file(one, "log/info.txt");
    int metrics = list(other, "log/metrics"), threads = list(other, "log/threads");
    pf_fs_free(one);
    pf_fs_free(other);
    fs = mount_of(folder);
    ok(reads(fs, "log/info.txt", info) && list(fs, "log/metrics") == metrics &&
           list(fs, "log/threads") == threads && control.opens == 0,
       "the cache has what two concurrent mounts have found about a profile");
    pf_fs_free(fs);
    free(info);
    remove_cache(folder);
}

int main(void)
{
    static void (*const tests[])(const char *folder) = {
        test_warm,   test_changes,       test_probing,  test_how_long_it_is_believed,
        test_others, test_many_siblings, test_followed, test_two_writers,
        NULL};
    alarm(HANG_SECONDS);
    run_in_temp_dirs(tests);
    return done();
}
