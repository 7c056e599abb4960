/* SPDX-License-Identifier: MIT */
#include "fs/tree/listing.h"
#include "tests/unit/vfs_fixture.h"

/* Tests the tree of a folder of profiles: names, attributes, contents and errors. */

static int compare_lines(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Sorts the lines of a listing, whose order is arbitrary, and returns them, each followed by a space. Frees `lines`. */
static char *sorted(char *lines)
{
    char *line[100], *save = NULL;
    size_t n = 0;
    struct pf_buf out = {0};
    for (char *at = strtok_r(lines, "\n", &save); at && n < 100; at = strtok_r(NULL, "\n", &save))
        line[n++] = at;
    qsort(line, n, sizeof *line, compare_lines);
    for (size_t i = 0; i < n; i++)
        pf_buf_printf(&out, "%s ", line[i]);
    pf_buf_char(&out, 0);
    free(lines);
    return out.data;
}

static void lists(struct pf_fs *fs, const char *path, const char *want, const char *behaviour)
{
    struct pf_dir *dir = NULL;
    uint64_t ino = *path ? ino_of(fs, path) : PF_ROOT_INO;
    int result = open_dir(fs, ino, &dir);
    char *have = result ? strdup(strerror(result)) : sorted(names_in(dir));
    is(have, want, behaviour);
    free(have);
    if (dir)
        pf_fs_closedir(dir);
    if (*path && ino)
        pf_fs_forget(fs, ino, 1);
}

static void fill(const char *folder)
{
    write_text(folder, "log", "3 9 50");
    write_text(folder, "notes.md", "no profile\n");
    write_text(folder, "empty", "");
    write_text(folder, "bad", "broken");
    make_folder(folder, "sub");
    write_text(folder, "sub/run", "2 4 8");
    if (symlink("log", path_in(folder, "link")) || mkfifo(path_in(folder, "fifo"), 0600))
        abort();
}

/* ---- files that are not profiles ---------------------------------------------------------------- */

static void test_source(struct pf_fs *fs, const char *folder)
{
    struct pf_attr attr;
    struct stat st;
    char *target = NULL, *text;
    struct pf_op op = PF_OP;
    lists(fs, "", ". .. .profilefs bad empty fifo link log notes.md runs sub ",
          "the root lists the entries of SOURCE, .profilefs and runs");
    stat(path_in(folder, "notes.md"), &st);
    ok(!find_path(fs, "notes.md", &attr) && attr.st.st_size == 11 && attr.st.st_mode == st.st_mode &&
           attr.st.st_mtim.tv_nsec == st.st_mtim.tv_nsec && attr.st.st_nlink == 1,
       "a file that is not a profile has the attributes of the file in SOURCE");
    text = text_at(fs, "notes.md");
    is(text, "no profile\n", "a file that is not a profile has the bytes of the file in SOURCE");
    free(text);
    ok(!find_path(fs, "link", &attr) && S_ISLNK(attr.st.st_mode) &&
           !pf_fs_readlink(fs, attr.st.st_ino, &target, &op),
       "a symbolic link in SOURCE is shown as a link");
    is(target, "log", "a symbolic link has the target that it has in SOURCE");
    free(target);
    ok(!find_path(fs, "fifo", &attr) && S_ISFIFO(attr.st.st_mode), "a FIFO is shown, and not opened");
    ok(pf_fs_readlink(fs, ino_of(fs, "notes.md"), &target, &op) == EINVAL,
       "reading the target of a node other than a link fails with EINVAL");
    ok(!find_path(fs, "empty", &attr) && S_ISREG(attr.st.st_mode) && attr.st.st_size == 0,
       "an empty file is not a profile");
}

/* ---- profiles ----------------------------------------------------------------------------------- */

/* True if folder/NAME is a link to the folder `.NAME`, and its size is the target's length. */
static bool links_to_hidden(struct pf_fs *fs, const char *folder, const char *name)
{
    char link[256], hidden[256], *target = NULL;
    struct pf_attr attr;
    struct pf_op op = PF_OP;
    snprintf(link, sizeof link, "%s/%s", folder, name);
    snprintf(hidden, sizeof hidden, "%s/.%s", folder, name);
    bool good = !find_path(fs, link, &attr) && attr.st.st_mode == (S_IFLNK | 0777) && attr.st.st_nlink == 1 &&
                !pf_fs_readlink(fs, attr.st.st_ino, &target, &op) && *target == '.' &&
                !strcmp(target + 1, name) && attr.st.st_size == (off_t)strlen(target);
    free(target);
    return good && !find_path(fs, hidden, &attr) && S_ISDIR(attr.st.st_mode);
}

static void test_profile(struct pf_fs *fs, const char *folder)
{
    struct pf_attr attr;
    char *target = NULL;
    struct pf_op op = PF_OP;
    struct stat st;
    if (chmod(path_in(folder, "log"), 0640))
        abort();
    stat(path_in(folder, "log"), &st);
    ok(!find_path(fs, "log", &attr) && attr.st.st_mode == (S_IFDIR | 0550) && attr.st.st_nlink == 1,
       "a profile is a folder that users who may read its file may search");
    ok(attr.st.st_mtim.tv_sec == st.st_mtim.tv_sec && attr.st.st_uid == st.st_uid,
       "a profile has the times and the owner of its file");
    ok(!find_path(fs, "log/info.txt", &attr) && attr.st.st_mode == (S_IFREG | 0440),
       "files in a profile have the file's mode");
    lists(fs, "log", ". .. contexts export info.txt metrics primary tables threads ",
          "the top folder of a profile lists its entries");
    ok(!find_path(fs, "log/primary/metric", &attr) && S_ISLNK(attr.st.st_mode) &&
           !pf_fs_readlink(fs, attr.st.st_ino, &target, &op) && attr.st.st_size == (off_t)strlen(target),
       "the size of the link to the primary metric is the length of its target");
    is(target, "../metrics/time", "the link to the primary metric leads to the metric's folder");
    free(target);
    ok(links_to_hidden(fs, "log", "contexts") && links_to_hidden(fs, "log", "export"),
       "contexts and export are links to folders that are not listed");
    lists(fs, "log/.contexts", ". .. main 0 ", "the hidden folder .contexts can be listed");
    lists(fs, "log/.export", ". .. bytes, \"moved\" profile.pb time ",
          "the hidden folder .export can be listed");
    ok(find_path(fs, "log/.metrics", &attr) == ENOENT &&
           find_path(fs, "log/tables/.contexts", &attr) == ENOENT,
       "no other folder has a hidden name");
    lists(fs, "log/threads/node, 0", ". .. empty.csv events.csv info.txt notes.csv values.csv ",
          "the folder of a partition lists its files");
    ok(!find_path(fs, "log/metrics/time/tree.txt", &attr) && attr.st.st_size > 0 && attr.st.st_blocks > 0,
       "a look-up returns the exact size");
    lists(fs, "sub", ". .. run ", "subfolders of SOURCE may hold profiles");
    char *text = text_at(fs, "sub/run/tables/empty.csv");
    is(text, "thread,note\n", "files of a profile in a subfolder can be read");
    free(text);
}

/* Checks that listings and look-ups give the same inode, size and mode for each entry below a folder, and files have this size. */
static void check_below(struct pf_fs *fs, uint64_t folder, unsigned *files, unsigned *wrong)
{
    struct pf_dir *dir;
    struct pf_dirent entry;
    struct pf_op op = PF_OP;
    struct pf_attr attr, again;
    if (open_dir(fs, folder, &dir)) {
        ++*wrong;
        return;
    }
    for (uint64_t offset = 2; pf_fs_readdir(dir, offset, &entry, true, &attr, &op) > 0; offset = entry.next) {
        bool filled = attr.st.st_ino != 0;
        if (look_up(fs, folder, entry.name, &again) || again.st.st_ino != entry.ino ||
            (filled && (attr.st.st_size != again.st.st_size || attr.st.st_mode != again.st.st_mode))) {
            printf("# %s\n", entry.name);
            ++*wrong;
            continue;
        }
        if (entry.type == DT_DIR) {
            check_below(fs, entry.ino, files, wrong);
        } else {
            struct pf_buf out = {0};
            *wrong += read_ino(fs, entry.ino, 777, &out) || out.size != (size_t)again.st.st_size;
            pf_buf_free(&out);
            ++*files;
        }
        pf_fs_forget(fs, entry.ino, 1 + filled);
    }
    pf_fs_closedir(dir);
}

static void test_all_files(struct pf_fs *fs)
{
    unsigned files = 0, wrong = 0;
    static const char *const tops[] = {"log", "log/.contexts", "log/.export"};
    for (size_t t = 0; t < sizeof tops / sizeof *tops; t++) {
        uint64_t top = ino_of(fs, tops[t]);
        check_below(fs, top, &files, &wrong);
        pf_fs_forget(fs, top, 1);
    }
    ok(wrong == 0 && files > 50, "the sizes of %u files of a profile agree in listing, look-up and content",
       files);
}

/* ---- reading once ------------------------------------------------------------------------------- */

/* Looks up a file without measuring it. Returns its inode, which the caller forgets; 0 if the path does not exist. */
static uint64_t unmeasured_ino_of(struct pf_fs *fs, const char *folder, const char *name)
{
    struct pf_attr attr;
    uint64_t parent = ino_of(fs, folder);
    struct pf_op op = PF_OP;
    int result = pf_fs_lookup(fs, parent, name, false, &attr, &op);
    pf_fs_forget(fs, parent, 1);
    return result ? 0 : attr.st.st_ino;
}

/* Reads a file of unknown size in one pass and compares it with the text from another mount. Counts errors and passes. */
static void read_once(struct pf_fs *fs, struct pf_fs *other, const char *folder, const char *name,
                      unsigned *wrong, unsigned *passes)
{
    struct pf_handle *handle = NULL;
    struct pf_buf once = {0};
    char path[256];
    uint64_t ino = unmeasured_ino_of(fs, folder, name);
    struct pf_op op = PF_OP;
    uint64_t before = fs->env.passes;
    int result = pf_fs_open(fs, ino, true, &handle, &op);
    *passes += (unsigned)(fs->env.passes - before);
    *wrong += result || read_to_end(fs, handle, 100, &once);
    pf_buf_char(&once, 0);
    snprintf(path, sizeof path, "%s/%s", folder, name);
    char *text = text_at(other, path);
    *wrong += !once.data || !*text || strcmp(once.data, text) != 0;
    free(text);
    pf_buf_free(&once);
    pf_fs_forget(fs, ino, 1);
}

static void read_all_once(const char *folder, unsigned *wrong, unsigned *passes)
{
    struct pf_fs *fs = fs_of(folder, false), *other = fs_of(folder, false);
    free(text_at(fs, "log/metrics/time/tree.txt")); /* loads the model and aggregates */
    *wrong = *passes = 0;
    read_once(fs, other, "log/tables", "values.csv", wrong, passes);
    read_once(fs, other, "log", "info.txt", wrong, passes);
    read_once(fs, other, "log/metrics/time", "tree.txt", wrong, passes);
    read_once(fs, other, "log/threads/node, 0", "values.csv", wrong, passes);
    pf_fs_free(fs);
    pf_fs_free(other);
}

static void test_reading_with_and_without_facts(const char *folder)
{
    unsigned wrong, passes;
    read_all_once(folder, &wrong, &passes);
    ok(wrong == 0 && passes > 0,
       "a pass that finds the facts from which rows are made runs before the rows are read");
    made_up_extra.facts = NULL;
    read_all_once(folder, &wrong, &passes);
    ok(wrong == 0, "a file that is opened for reading once has the same bytes");
    ok(passes == 0, "opening a file for reading once waits for no pass that finds its size");
    made_up_extra.facts = facts_made_up;
}

/* ---- folders, errors ---------------------------------------------------------------------------- */

static void test_readdir(struct pf_fs *fs)
{
    struct pf_dir *dir;
    struct pf_dirent entry, again;
    struct pf_op op = PF_OP;
    int wrong = 0, n = 0;
    uint64_t top = ino_of(fs, "log");
    open_dir(fs, top, &dir);
    for (uint64_t offset = 0; pf_fs_readdir(dir, offset, &entry, false, NULL, &op) > 0;
         offset = entry.next, n++) {
        struct pf_dir *other;
        open_dir(fs, top, &other);
        wrong += pf_fs_readdir(other, offset, &again, false, NULL, &op) != 1 ||
                 strcmp(entry.name, again.name) != 0;
        pf_fs_closedir(other);
    }
    ok(wrong == 0 && n == 9, "a listing can be resumed at any offset, by any handle");
    ok(pf_fs_readdir(dir, 1000, &again, false, NULL, &op) == 0 &&
           pf_fs_readdir(dir, UINT64_MAX, &again, false, NULL, &op) == 0,
       "a listing beyond its end is empty");
    pf_fs_closedir(dir);
    pf_fs_forget(fs, top, 1);
}

/* ---- errors ------------------------------------------------------------------------------------- */

static void test_errors(struct pf_fs *fs)
{
    struct pf_attr attr;
    struct pf_dir *dir;
    struct pf_handle *handle;
    char name[300];
    memset(name, 'x', 299);
    name[299] = 0;
    uint64_t top = ino_of(fs, "log"), info = ino_of(fs, "log/info.txt"), plain = ino_of(fs, "notes.md");
    ok(look_up(fs, PF_ROOT_INO, "absent", &attr) == ENOENT && look_up(fs, top, "absent", &attr) == ENOENT &&
           find_path(fs, "log/threads/absent", &attr) == ENOENT &&
           find_path(fs, "log/tables/x.csv", &attr) == ENOENT,
       "a look-up of an unknown name returns ENOENT");
    ok(look_up(fs, PF_ROOT_INO, name, &attr) == ENAMETOOLONG && look_up(fs, top, name, &attr) == ENAMETOOLONG,
       "a look-up of a name that no file can have returns ENAMETOOLONG");
    ok(look_up(fs, info, "x", &attr) == ENOTDIR && look_up(fs, plain, "x", &attr) == ENOTDIR,
       "a look-up inside a file returns ENOTDIR");
    ok(open_file(fs, top, &handle) == EISDIR && open_dir(fs, info, &dir) == ENOTDIR &&
           open_dir(fs, plain, &dir) == ENOTDIR,
       "folders cannot be opened as files, nor files as folders");
    ok(attr_of(fs, 123456, &attr) == ESTALE && attr_of(fs, pf_ino(4000, PF_INFO, 0), &attr) == ESTALE &&
           open_file(fs, pf_ino(4000, PF_INFO, 0), &handle) == ESTALE && open_dir(fs, 123456, &dir) == ESTALE,
       "inodes that were never returned are stale");
    ok(look_up(fs, PF_ROOT_INO, "..", &attr) != 0 || attr.st.st_ino != PF_ROOT_INO + 1,
       "a look-up of .. does not lead out of SOURCE");
    pf_fs_forget(fs, top, 1);
    pf_fs_forget(fs, info, 1);
    pf_fs_forget(fs, plain, 1);
}

static void test_broken(struct pf_fs *fs)
{
    struct pf_attr attr;
    lists(fs, "bad", ". .. error.txt ", "a profile that cannot be opened holds error.txt only");
    char *text = text_at(fs, "bad/error.txt");
    is(text, "Format: made-up\nError: not three numbers\nOffset: 0\n",
       "error.txt names the format, the error and its position");
    ok(!find_path(fs, "bad/error.txt", &attr) && attr.st.st_size == (off_t)strlen(text),
       "the size of error.txt is exact");
    ok(find_path(fs, "bad/info.txt", &attr) == ENOENT && find_path(fs, "bad/tables", &attr) == ENOENT,
       "a profile that cannot be opened has no other names");
    free(text);
}

/* ---- .profilefs --------------------------------------------------------------------------------- */

static void test_control(struct pf_fs *fs)
{
    struct pf_attr attr;
    struct pf_handle *handle;
    lists(fs, ".profilefs", ". .. AGENTS.md README.txt archives.csv profiles.csv status.txt tables version ",
          ".profilefs lists its files");
    static const char *const files[] = {"README.txt", "AGENTS.md", "status.txt", "version", "profiles.csv",
                                        "archives.csv"};
    int right = 0;
    for (int i = 0; i < 4; i++) {
        char path[64];
        snprintf(path, sizeof path, ".profilefs/%s", files[i]);
        char *text = text_at(fs, path);
        right += !find_path(fs, path, &attr) && attr.st.st_size == (off_t)strlen(text) && attr.st.st_size > 0;
        free(text);
    }
    ok(right == 4, "the sizes of files in .profilefs are exact");
    open_file(fs, ino_of(fs, ".profilefs/status.txt"), &handle);
    ok(pf_handle_is_direct(handle), "status.txt bypasses the page cache");
    pf_fs_close(handle);
    char *text = text_at(fs, ".profilefs/profiles.csv");
    ok(!strncmp(text, "format,version,bytes,mtime,confidence,path,message\nmade-up,,6,", 62) &&
           strstr(text, ",bad,") && strstr(text, ",log,") > strstr(text, ",bad,") &&
           strstr(text, ",sub/run,") > strstr(text, ",log,") && !strstr(text, "notes.md"),
       "profiles.csv has the profiles of all folders, in the order of their paths");
    free(text);
    ok(find_path(fs, ".profilefs/absent", &attr) == ENOENT, ".profilefs has no other names");
}

static int note_path(void *arg, const char *path, const struct pf_entry_info *info, struct pf_error *error)
{
    (void)info, (void)error;
    pf_buf_printf(arg, "%s ", path);
    return 0;
}

static void test_listed(struct pf_fs *fs, const char *folder)
{
    struct pf_error error;
    struct pf_buf profiles = {0}, archives = {0}, paths = {0}, seen = {0};
    int result = pf_list_profiles(fs, &profiles, &archives, &paths, &error);
    write_text(folder, "later", "2 4 8");
    unlink(path_in(folder, "log"));
    ok(!result && !pf_each_profile(fs, &paths, note_path, &seen, &error),
       "profiles that a list has found are visited");
    pf_buf_char(&seen, 0);
    is(seen.data, "bad sub/run ",
       "profiles of a list are visited in the order of their paths, without those that are gone or new");
    unlink(path_in(folder, "later"));
    write_text(folder, "log", "3 9 50");
    pf_buf_free(&profiles);
    pf_buf_free(&archives);
    pf_buf_free(&paths);
    pf_buf_free(&seen);
}

/* ---- kinds of SOURCE ---------------------------------------------------------------------------- */

static void test_only_profiles(const char *folder)
{
    struct pf_attr attr;
    struct pf_fs *fs = fs_of(folder, true);
    lists(fs, "", ". .. .profilefs bad log runs sub ",
          "--only-profiles leaves files that are not profiles out of listings");
    ok(find_path(fs, "notes.md", &attr) == ENOENT && find_path(fs, "link", &attr) == ENOENT,
       "--only-profiles leaves files that are not profiles out of look-ups");
    pf_fs_free(fs);
}

static void test_one_profile(const char *folder)
{
    struct pf_error error;
    struct pf_attr attr;
    const struct pf_fs_options options = {.pass_threads = 1};
    struct pf_fs *fs = fs_of(path_in(folder, "log"), false);
    lists(fs, "", ". .. .profilefs contexts export info.txt metrics primary tables threads ",
          "SOURCE may be a single profile");
    ok(!attr_of(fs, PF_ROOT_INO, &attr) && S_ISDIR(attr.st.st_mode) && attr.st.st_ino == PF_ROOT_INO,
       "the root of a single profile is the profile");
    char *text = text_at(fs, "tables/empty.csv"), *list = text_at(fs, ".profilefs/profiles.csv");
    is(text, "thread,note\n", "files of a single profile can be read");
    ok(strstr(list, ",log,") != NULL, "profiles.csv has the single profile");
    free(text);
    free(list);
    pf_fs_free(fs);
    ok(!pf_fs_new(path_in(folder, "notes.md"), &options, &error) && error.code == EINVAL,
       "SOURCE cannot be a file that is not a profile");
    ok(!pf_fs_new(path_in(folder, "absent"), &options, &error) && error.code == ENOENT, "SOURCE must exist");
    fs = fs_of(path_in(folder, "bad"), false);
    lists(fs, "", ". .. .profilefs error.txt ", "a single profile that cannot be opened shows its error");
    pf_fs_free(fs);
}

int main(void)
{
    char folder[64];
    alarm(HANG_SECONDS);
    temp_dir_make(folder);
    fill(folder);
    struct pf_fs *fs = fs_of(folder, false);
    test_source(fs, folder);
    test_profile(fs, folder);
    test_all_files(fs);
    test_readdir(fs);
    test_errors(fs);
    test_broken(fs);
    test_control(fs);
    test_listed(fs, folder);
    pf_fs_free(fs);
    test_reading_with_and_without_facts(folder);
    test_only_profiles(folder);
    test_one_profile(folder);
    temp_dir_remove(folder);
    return done();
}
