/* SPDX-License-Identifier: MIT */
#include "fs/profile/failure.h"
#include "tests/unit/background.h"
#include "tests/unit/vfs_fixture.h"

/* SOURCE changes while it is mounted, and inodes are forgotten. */

/* ---- versions ----------------------------------------------------------------------------------- */

static void test_new_version(const char *folder)
{
    struct pf_attr attr, moved;
    struct pf_handle *handle, *other;
    struct pf_dir *dir, *late;
    struct pf_dirent entry;
    struct pf_op op = PF_OP;
    write_text(folder, "log", "3 9 50");
    struct pf_fs *fs = fs_of(folder, false);
    uint64_t top = ino_of(fs, "log"), thread = ino_of(fs, "log/threads/thread 1"),
             values = ino_of(fs, "log/threads/thread 1/values.csv"),
             last = ino_of(fs, "log/threads/thread 2");
    find_path(fs, "log/threads/thread 1/values.csv", &attr);
    open_file(fs, values, &handle);
    open_dir(fs, thread, &dir);

    replace_text(folder, "log", "2 5 50");
    ok(open_file(fs, values, &other) == ESTALE,
       "a file's inode cannot be opened after its profile has changed");
    ok(!look_up(fs, thread, "values.csv", &moved) && moved.st.st_ino != values &&
           moved.st.st_size < attr.st.st_size,
       "a look-up in a folder of the old version returns the file of the new version");
    struct pf_buf old = {0}, new = {0};
    size_t got;
    ok(!read_ino(fs, moved.st.st_ino, 1000, &new) && new.size == (size_t)moved.st.st_size,
       "the file of the new version has its size");
    ok(!read_handle(fs, handle, 0, 100000, &old, &got) && old.size == (size_t)attr.st.st_size,
       "a handle on the old version still reads the old bytes");
    pf_buf_free(&old);
    pf_buf_free(&new);
    ok(pf_fs_readdir(dir, 2, &entry, false, NULL, &op) == 1 && !strcmp(entry.name, "info.txt"),
       "a folder that was opened before a change can be listed after it");
    ok(!open_dir(fs, top, &late), "a folder of the old version can be opened");
    pf_fs_closedir(late);
    ok(look_up(fs, last, "values.csv", &moved) == ESTALE && open_dir(fs, last, &late) == ESTALE,
       "a folder that the new version does not have is stale");
    uint64_t new_top = ino_of(fs, "log");
    ok(new_top && new_top != top, "a look-up by path returns the new version");
    pf_fs_closedir(dir);
    pf_fs_close(handle);
    pf_fs_free(fs);
}

static void test_rewritten(const char *folder)
{
    struct pf_attr attr;
    struct pf_handle *handle;
    struct pf_buf out = {0};
    size_t got;
    write_text(folder, "log", "3 900 50");
    struct pf_fs *fs = fs_of(folder, false);
    open_file(fs, ino_of(fs, "log/tables/values.csv"), &handle);
    read_handle(fs, handle, 0, 10, &out, &got);
    write_text(folder, "log", "4 900 50");
    ok(read_handle(fs, handle, 10, 100, &out, &got) == ESTALE,
       "reading a handle of a profile that was overwritten in place returns ESTALE");
    ok(!find_path(fs, "log/threads/node, 3", &attr),
       "a look-up by path returns the new version of an overwritten profile at once");
    truncate(path_in(folder, "log"), 0);
    char *text = text_at(fs, "log/info.txt");
    is(text, "", "a profile that was truncated to zero bytes has no files");
    ok(!find_path(fs, "log", &attr) && S_ISREG(attr.st.st_mode),
       "a profile that was truncated to zero bytes is a regular file");
    free(text);
    write_text(folder, "log", "2 2 2");
    ok(!find_path(fs, "log/info.txt", &attr), "a file that becomes a profile is a folder");
    write_text(folder, "log", "broken");
    ok(!find_path(fs, "log/error.txt", &attr) && find_path(fs, "log/info.txt", &attr) == ENOENT,
       "a profile that becomes invalid has error.txt only");
    write_text(folder, "log", "2 2 2");
    ok(!find_path(fs, "log/info.txt", &attr) && find_path(fs, "log/error.txt", &attr) == ENOENT,
       "a profile that becomes valid again has no error.txt");
    pf_fs_close(handle);
    pf_buf_free(&out);
    pf_fs_free(fs);
}

static void test_deleted(const char *folder)
{
    struct pf_attr attr;
    struct pf_handle *handle;
    struct pf_dir *dir;
    write_text(folder, "log", "3 9 50");
    struct pf_fs *fs = fs_of(folder, false);
    uint64_t top = ino_of(fs, "log"), info = ino_of(fs, "log/info.txt");
    unlink(path_in(folder, "log"));
    ok(find_path(fs, "log", &attr) == ENOENT, "a look-up of a deleted profile returns ENOENT");
    ok(open_file(fs, info, &handle) != 0 && open_dir(fs, top, &dir) != 0 &&
           look_up(fs, top, "info.txt", &attr) != 0,
       "inodes inside a deleted profile cannot be opened");
    write_text(folder, "log", "2 2 2");
    ok(!look_up(fs, top, "info.txt", &attr) && attr.st.st_ino != info,
       "a deleted profile that is written again is found from its old folder");
    pf_fs_free(fs);
}

/* An input other than the profile's own file changes. */
static void test_sibling(const char *folder)
{
    struct pf_attr attr;
    struct pf_handle *handle;
    write_text(folder, "log", "3 9 50");
    struct pf_fs *fs = fs_of(folder, false);
    uint64_t top = ino_of(fs, "log"), info = ino_of(fs, "log/info.txt");
    write_text(folder, "log.extra", "x");
    ok(open_file(fs, info, &handle) == ESTALE && !look_up(fs, top, "info.txt", &attr) &&
           attr.st.st_ino != info,
       "a sibling file that appears makes a new version of a profile whose own file is unchanged");
    unlink(path_in(folder, "log.extra"));
    pf_fs_free(fs);
}

/* ---- names whose kind changes ------------------------------------------------------------------- */

static void test_other_kinds(const char *folder)
{
    struct pf_attr attr;
    struct pf_handle *handle;
    struct pf_dir *dir;
    make_folder(folder, "d");
    make_folder(folder, "d/x");
    write_text(folder, "d/x/f", "inner");
    write_text(folder, "d/f", "outer");
    write_text(folder, "file", "plain");
    struct pf_fs *fs = fs_of(folder, false);
    uint64_t d_x = ino_of(fs, "d/x"), f = ino_of(fs, "d/x/f"), d = ino_of(fs, "d"), file = ino_of(fs, "file");
    unlink(path_in(folder, "d/x/f"));
    rmdir(path_in(folder, "d/x"));
    write_text(folder, "d/x", "a file now");
    ok(!find_path(fs, "d/x", &attr) && S_ISREG(attr.st.st_mode) && attr.st.st_ino != d_x,
       "a folder that is replaced by a file has a new inode");
    ok(attr_of(fs, d_x, &attr) == ESTALE && open_dir(fs, d_x, &dir) == ESTALE,
       "the inode of a folder that is replaced by a file is stale");
    ok(attr_of(fs, f, &attr) == ESTALE && open_file(fs, f, &handle) == ESTALE &&
           look_up(fs, d_x, "f", &attr) == ESTALE,
       "an inode inside a replaced folder is stale, and is no file of that name elsewhere");
    temp_dir_remove(path_in(folder, "d"));
    write_text(folder, "d", "a file too");
    find_path(fs, "d", &attr);
    ok(attr_of(fs, d, &attr) == ESTALE && open_dir(fs, d, &dir) == ESTALE &&
           look_up(fs, d, "file", &attr) == ESTALE,
       "an inode of a replaced folder in the root is stale, and is not the root");
    write_text(folder, "file", "1 1 1");
    ok(!find_path(fs, "file/info.txt", &attr) && open_file(fs, file, &handle) == ESTALE,
       "a file that becomes a profile cannot be opened by its old inode");
    pf_fs_free(fs);
}

/* ---- inodes ------------------------------------------------------------------------------------- */

static size_t versions_of(struct pf_fs *fs)
{
    pf_lock_take(&fs->lock);
    size_t count = fs->versions.count;
    pf_lock_drop(&fs->lock);
    return count;
}

static void test_forget(const char *folder)
{
    struct pf_attr attr;
    write_text(folder, "log", "3 9 50");
    make_folder(folder, "a");
    make_folder(folder, "a/b");
    write_text(folder, "a/b/c", "plain");
    struct pf_fs *fs = fs_of(folder, false);
    uint64_t c = ino_of(fs, "a/b/c");
    ok(fs->entries.count == 4, "an inode that was looked up and the folders on its path are held");
    find_path(fs, "a/b/c", &attr);
    ok(attr.st.st_ino == c && fs->entries.count == 4, "a second look-up returns the same inode");
    pf_fs_forget(fs, c, 1);
    ok(!attr_of(fs, c, &attr), "an inode is valid until it has been forgotten as often as it was looked up");
    pf_fs_forget(fs, c, 1);
    ok(fs->entries.count == 1 && attr_of(fs, c, &attr) == ESTALE,
       "the last forget frees the inode and the folders on its path");
    uint64_t top = ino_of(fs, "log"), info = ino_of(fs, "log/info.txt");
    ok(fs->versions.count == 1 && fs->loaded_profiles == 1,
       "a profile that is looked up twice is loaded once");
    write_text(folder, "log", "3 9 51");
    uint64_t again = ino_of(fs, "log/info.txt");
    ok(fs->versions.count == 2, "inodes of an old version hold the version");
    pf_fs_forget(fs, top, 1);
    pf_fs_forget(fs, info, 1);
    pf_fs_forget(fs, info, 1000);
    for (int i = 0; i < 500 && versions_of(fs) > 1; i++)
        usleep(20000);
    ok(versions_of(fs) == 1, "an old version is freed after its last inode is forgotten");
    pf_fs_forget(fs, again, 1);
    ok(!find_path(fs, "log/info.txt", &attr) && attr.st.st_ino == again,
       "a profile without inodes stays loaded for a while");
    pf_fs_free(fs);
}

static void visit(struct pf_fs *fs, int i, int *found)
{
    char name[32];
    snprintf(name, sizeof name, "many/%d/info.txt", i);
    uint64_t ino = ino_of(fs, name);
    *found += ino != 0;
    pf_fs_forget(fs, ino, 1);
}

static void test_many(const char *folder)
{
    enum { PROFILES = 4200, AT_ONCE = 4096 };
    char name[32];
    int found = 0;
    control = (struct control){0};
    struct pf_fs *fs = fs_of(folder, false);
    make_folder(folder, "many");
    for (int i = 0; i < PROFILES; i++) {
        snprintf(name, sizeof name, "many/%d", i);
        write_text(folder, name, "1 1 1");
    }
    for (int i = 0; i < PROFILES; i++)
        visit(fs, i, &found);
    visit(fs, 0, &found);
    ok(found == PROFILES + 1 && fs->loaded_profiles <= AT_ONCE && control.opens - control.closes <= AT_ONCE,
       "the number of loaded profiles without inodes is limited");
    ok(fs->entries.count <= AT_ONCE + 2 && fs->versions.count <= AT_ONCE,
       "profiles that were unloaded hold no inode and no version");
    pf_fs_free(fs);
    ok(control.opens == control.closes, "freeing the filesystem closes all profiles");
}

/* ---- transient errors --------------------------------------------------------------------------- */

static void test_lack(const char *folder)
{
    struct pf_attr attr;
    write_text(folder, "log", "3 9 50");
    control = (struct control){.fails = {[PF_MODELLED] = ENOMEM}};
    struct pf_fs *fs = fs_of(folder, false);
    ok(find_path(fs, "log/tables/values.csv", &attr) == ENOMEM,
       "a look-up whose pass runs out of memory returns ENOMEM");
    control.fails[PF_MODELLED] = 0;
    ok(find_path(fs, "log/tables/values.csv", &attr) == ENOMEM && control.loads[PF_MODELLED] == 1,
       "a look-up during the back-off repeats the error without another pass");
    sleep(PF_BACK_OFF_SECONDS + 1);
    ok(!find_path(fs, "log/tables/values.csv", &attr) && attr.st.st_size > 0,
       "a look-up after the back-off runs the pass again");
    pf_fs_free(fs);
    ok(control.opens == 2 && control.closes == 2, "the pass after the back-off opens the profile again");
}

/* ---- waiting ------------------------------------------------------------------------------------ */

static void test_waiting(const char *folder)
{
    struct gate gate = GATE_CLOSED;
    struct pf_attr attr;
    struct pf_op op = PF_OP;
    struct background first, second;
    write_text(folder, "log", "3 9 50");
    control = (struct control){.gate = {[PF_MODELLED] = &gate}};
    struct pf_fs *fs = fs_of(folder, false);
    uint64_t contexts = ino_of(fs, "log/.contexts"), tables = ino_of(fs, "log/tables");
    ok(contexts && control.loads[PF_PARTITIONED] == 0, "folders are looked up without a pass");
    struct wanted context = {fs, contexts, "main 0"}, table = {fs, tables, "values.csv"};
    background_start(&first, look_up_wanted, &context);
    gate_await(&gate, 1);
    background_start(&second, look_up_wanted, &table);
    await_waiters(fs->env.pool, 2);
    ok(!pf_fs_getattr(fs, contexts, &attr, &op) && !find_path(fs, "log/info.txt", &attr),
       "while two operations wait for a pass, others that need none are answered");
    gate_open(&gate);
    ok(!background_result(&first) && !background_result(&second),
       "the operations that wait for a pass succeed when it ends");
    pf_fs_free(fs);
    ok(control.closes == 1, "freeing the filesystem closes an open profile");
}

/* ---- everything at once ------------------------------------------------------------------------- */

enum { VERSIONS = 3 };
static const char *const version_texts[VERSIONS] = {"2 30 400", "5 8 900", "3 70 20"};

struct storm {
    struct pf_fs *fs;
    const char *folder;
    char *expected[VERSIONS];
    atomic_bool over;
    atomic_int wrong, right;
};

static void *storm_reader(void *arg)
{
    struct storm *storm = arg;
    while (!atomic_load(&storm->over)) {
        struct pf_buf out = {0};
        uint64_t ino = ino_of(storm->fs, "log/tables/events.csv");
        int result = ino ? read_ino(storm->fs, ino, 3000, &out) : ENOENT;
        pf_buf_char(&out, 0);
        if (!result) {
            bool known = false;
            for (int v = 0; v < VERSIONS; v++)
                known |= !strcmp(out.data, storm->expected[v]);
            atomic_fetch_add(known ? &storm->right : &storm->wrong, 1);
        }
        if (ino)
            pf_fs_forget(storm->fs, ino, 1);
        pf_buf_free(&out);
    }
    return NULL;
}

static void test_storm(const char *folder)
{
    struct storm storm = {.folder = folder};
    pthread_t threads[3];
    control = (struct control){0};
    for (int v = 0; v < VERSIONS; v++) {
        replace_text(folder, "log", version_texts[v]);
        struct pf_fs *fs = fs_of(folder, false);
        storm.expected[v] = text_at(fs, "log/tables/events.csv");
        pf_fs_free(fs);
    }
    storm.fs = fs_of(folder, false);
    for (int t = 0; t < 3; t++)
        pthread_create(&threads[t], NULL, storm_reader, &storm);
    for (int i = 0; i < 60; i++) {
        usleep(15000);
        if (i % 10 == 9)
            replace_text(folder, "log", "broken");
        else if (i % 3)
            replace_text(folder, "log", version_texts[i % VERSIONS]);
        else
            write_text(folder, "log", version_texts[i % VERSIONS]);
    }
    usleep(100000);
    atomic_store(&storm.over, true);
    for (int t = 0; t < 3; t++)
        pthread_join(threads[t], NULL);
    ok(storm.wrong == 0,
       "while a profile is overwritten repeatedly, each complete read returns one of its versions");
    ok(storm.right > 10, "reads succeed while a profile is overwritten repeatedly");
    ok(storm.fs->versions.count <= 2, "at most two versions remain after many changes");
    pf_fs_free(storm.fs);
    for (int v = 0; v < VERSIONS; v++)
        free(storm.expected[v]);
}

int main(void)
{
    static void (*const tests[])(const char *folder) = {
        test_new_version, test_rewritten, test_deleted, test_sibling,
        test_other_kinds, test_forget,    test_many,    test_lack,
        test_waiting,     test_storm,     NULL};
    alarm(HANG_SECONDS);
    run_in_temp_dirs(tests);
    return done();
}
