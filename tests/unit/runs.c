/* SPDX-License-Identifier: MIT */
#include "formats/driver.h"

/* Tests runs/, the texts about all profiles of one folder. Some profiles are directories, and some have another format. */
extern const struct pf_driver pf_collapsed_driver, shelf_driver;
#define FURTHER_DRIVERS &pf_collapsed_driver, &shelf_driver,

#include "formats/probe.h"
#include "fs/runs/run_list.h"
#include "tests/unit/background.h"
#include "tests/unit/vfs_fixture.h"

static void must(bool holds)
{
    if (!holds)
        abort();
}

/* ---- "shelf": a directory whose file `data` holds a made-up profile ------------------------------- */

static void probe_shelf(struct pf_probe *probe, struct pf_probe_result *result)
{
    if (probe->directory && pf_probe_has(probe, "data"))
        result->confidence = 32;
}

static int open_shelf(struct pf_model *model, struct pf_error *error)
{
    struct pf_input *input;
    char text[64] = "";
    struct fake_tables *fake = calloc(1, sizeof *fake);
    model->state = fake;
    if (!fake || pf_source_open(model->source, "data", PF_RAW, &input, error) ||
        pf_input_read(input, text, sizeof text - 1, 0, error) < 0 ||
        sscanf(text, "%u %u", &fake->partitions, &fake->contexts) != 2)
        return -1;
    fake_tables_open(fake, model);
    return 0;
}

const struct pf_driver shelf_driver = {.name = "shelf",
                                       .directories = true,
                                       .title = "shelves",
                                       .version = 1,
                                       .probe = probe_shelf,
                                       .open = open_shelf,
                                       .load = load_made_up,
                                       .close = close_made_up};

/* ---- order -------------------------------------------------------------------------------------- */

static int by_natural_order(const void *a, const void *b)
{
    return pf_natural_compare(*(const char *const *)a, *(const char *const *)b);
}

static void test_order(void)
{
    static const char *const want[] = {".hidden",     "a",           "a.b.folded",   "a.folded",
                                       "a1",          "a01",         "a1.folded",    "a2.folded",
                                       "a10.folded",  "a10b.folded", "b-2.1.tar.gz", "b-2.tar.gz",
                                       "b-10.tar.gz", "run~.folded", "run.folded"};
    enum { N = sizeof want / sizeof *want };
    const char *names[N];
    char folder[64], command[100], line[300];
    struct pf_buf have = {0}, listed = {0};
    temp_dir_make(folder);
    for (int i = 0; i < N; i++) {
        names[i] = want[(i * 7 + 3) % N];
        write_text(folder, names[i], "");
    }
    qsort(names, N, sizeof *names, by_natural_order);
    for (int i = 0; i < N; i++)
        pf_buf_printf(&have, "%s\n", names[i]);
    snprintf(command, sizeof command, "LC_ALL=C ls -A -v %s", folder);
    FILE *ls = popen(command, "r");
    while (ls && fgets(line, sizeof line, ls))
        pf_buf_str(&listed, line);
    if (ls)
        pclose(ls);
    pf_buf_char(&have, 0);
    pf_buf_char(&listed, 0);
    is(have.data, listed.data, "pf_compare_versions orders names as ls -v does");
    pf_buf_free(&have);
    pf_buf_free(&listed);
    temp_dir_remove(folder);
}

/* ---- folders that have runs/ -------------------------------------------------------------------- */

static bool has_runs(struct pf_fs *fs, const char *folder)
{
    char path[100];
    struct pf_attr attr;
    snprintf(path, sizeof path, "%s/runs", folder);
    return !find_path(fs, path, &attr);
}

static void test_limits(void)
{
    char folder[64], name[32];
    temp_dir_make(folder);
    struct pf_fs *fs = fs_of(folder, false);
    fs->options.always_look = true;
    make_folder(folder, "many");
    write_text(folder, "many/run1", "1 2 3");
    write_text(folder, "many/notes.txt", "no profile");
    ok(!has_runs(fs, "many"), "a folder with one profile has no runs/");
    for (int i = 2; i <= PF_RUNS_MOST; i++) {
        snprintf(name, sizeof name, "many/run%d", i);
        write_text(folder, name, "1 2 3");
        if (i == 2)
            ok(has_runs(fs, "many"), "a folder with two profiles has runs/");
    }
    ok(has_runs(fs, "many"), "a folder with 4096 profiles has runs/");
    write_text(folder, "many/run5000", "1 2 3");
    struct pf_attr attr;
    ok(!find_path(fs, "many/runs/info.txt", &attr) && find_path(fs, "many/runs/changes", &attr),
       "runs/ of a folder with more than 4096 profiles has info.txt only");
    pf_fs_free(fs);
    temp_dir_remove(folder);
}

/* ---- files of runs/ ----------------------------------------------------------------------------- */

static void text_has(struct pf_fs *fs, const char *path, const char *want, const char *behaviour)
{
    char *text = text_at(fs, path);
    if (!ok(strstr(text, want) != NULL, "%s", behaviour))
        printf("# %s: %s\n", path, text);
    free(text);
}

static void names_are(struct pf_fs *fs, const char *path, const char *want, const char *behaviour)
{
    struct pf_dir *dir;
    must(!open_dir(fs, ino_of(fs, path), &dir));
    char *names = names_in(dir);
    is(names, want, behaviour);
    free(names);
    pf_fs_closedir(dir);
}

static void test_content(const char *folder)
{
    struct pf_attr attr;
    char *target = NULL;
    struct pf_op op = PF_OP;
    control = (struct control){0};
    struct pf_fs *fs = fs_of(folder, false);
    must(!find_path(fs, "runs", &attr));
    names_are(fs, "runs", ".\n..\ninfo.txt\noverview\nchanges\nprimary\nexport\n",
              "runs/ lists its files and folders");
    ok(!find_path(fs, "runs/export", &attr) && attr.st.st_mode == (S_IFLNK | 0777) && attr.st.st_size == 7 &&
           !pf_fs_readlink(fs, attr.st.st_ino, &target, &op),
       "runs/export is a link whose size is the length of its target");
    is(target, ".export", "the target of runs/export is a folder that the listing leaves out");
    free(target);
    ok(control.opens == 0, "neither runs/ nor runs/export needs an open profile");
    names_are(fs, "runs/changes", ".\n..\ntime\nbytes, \"moved\"\n",
              "changes/ has a folder for each metric that two runs have, not for those that one alone has");
    names_are(fs, "runs/.export", ".\n..\ntime\nbytes, \"moved\"\n",
              "runs/.export has a folder for each metric that two runs have");
    ok(control.loads[PF_MODELLED] == 0,
       "listing runs/changes opens the profiles without loading their models");
    text_has(fs, "runs/info.txt", "Runs: 5\nFirst: a.folded\nLast: shelf\n",
             "runs/info.txt shows the number of runs, the first and the last");
    text_has(fs, "runs/overview/profiles_summary.csv", "\nbad,made-up,",
             "a profile that cannot be opened has a row in profiles_summary.csv");
    text_has(fs, "runs/overview/profiles_summary.csv", ",,,,,,,,,not three numbers",
             "the row of a profile that cannot be opened has the error");
    text_has(fs, "runs/overview/profiles_summary.csv", "\na.folded,collapsed,",
             "profiles of other formats have rows in profiles_summary.csv");
    text_has(fs, "runs/overview/profiles_summary.csv", "\nshelf,shelf,",
             "profiles that are directories have rows in profiles_summary.csv");
    text_has(fs, "runs/changes/time/function_values.csv", "\nrun10,",
             "function_values.csv has the values of each run that has the metric");
    char *values = text_at(fs, "runs/changes/time/function_values.csv");
    ok(!strstr(values, "a.folded,"), "function_values.csv leaves out runs without the metric");
    free(values);
    text_has(fs, "runs/.export/time/runs.svg", "</svg>", "runs.svg shows functions over the runs");
    must(!find_path(fs, "runs/.export/time/runs.svg", &attr));
    char *picture = text_at(fs, "runs/.export/time/runs.svg");
    ok(attr.st.st_size == (off_t)strlen(picture), "the size of runs.svg is exact");
    free(picture);
    pf_fs_free(fs);
}

/* ---- snapshots ---------------------------------------------------------------------------------- */

static void test_snapshot(const char *folder)
{
    struct pf_handle *old;
    struct pf_attr before, after;
    struct pf_buf out = {0};
    struct pf_fs *fs = fs_of(folder, false);
    fs->options.always_look = true;
    uint64_t summary = ino_of(fs, "runs/overview/profiles_summary.csv");
    must(!open_file(fs, summary, &old) && !find_path(fs, "runs", &before));
    ok(!find_path(fs, "runs", &after) && after.st.st_ino == before.st.st_ino,
       "runs/ is the same snapshot as long as nothing changes");
    write_text(folder, "run11", "1 2 3");
    ok(!find_path(fs, "runs", &after) && after.st.st_ino != before.st.st_ino,
       "a new profile makes a new snapshot");
    ok(attr_of(fs, summary, &after) == ESTALE, "inodes of the old snapshot are stale");
    must(!read_to_end(fs, old, 1000, &out));
    pf_buf_char(&out, 0);
    ok(!strstr(out.data, "run11"), "a handle keeps its snapshot");
    pf_buf_free(&out);
    text_has(fs, "runs/overview/profiles_summary.csv", "\nrun11,", "the new snapshot has the new profile");

    must(!find_path(fs, "runs", &before));
    write_text(folder, "names.map", "what profiles may be made from, too");
    ok(!find_path(fs, "runs", &after) && after.st.st_ino != before.st.st_ino,
       "a new file that is not a profile makes a new snapshot");
    must(!find_path(fs, "runs/overview/profiles_summary.csv", &before) && !find_path(fs, "runs", &before));
    write_text(folder, "shelf/data", "3 7");
    ok(!find_path(fs, "runs", &after) && after.st.st_ino != before.st.st_ino,
       "a change inside a profile that is a directory makes a new snapshot");
    text_has(fs, "runs/overview/profiles_summary.csv", "Z,3,7,time,",
             "the new snapshot has the directory's new content");
    pf_fs_free(fs);
}

/* ---- jobs --------------------------------------------------------------------------------------- */

static void test_jobs(const char *folder)
{
    struct gate gate = GATE_CLOSED;
    struct background waiting;
    make_folder(folder, "slow");
    write_text(folder, "slow/1", "1 2 3");
    write_text(folder, "slow/2", "1 2 3");
    make_folder(folder, "fast");
    write_text(folder, "fast/a.folded", "f 1\n");
    write_text(folder, "fast/b.folded", "f 2\n");
    struct pf_error error;
    const struct pf_fs_options three = {
        .profile = {.cache = 16 << 20}, .virtuals = virtuals, .pass_threads = 3};
    struct pf_fs *fs = pf_fs_new(folder, &three, &error); /* a thread for each blocked profile, and one more */
    control = (struct control){.gate[PF_MODELLED] = &gate};
    struct wanted summary = {fs, ino_of(fs, "slow/runs/overview"), "profiles_summary.csv"};
    background_start(&waiting, look_up_wanted, &summary);
    must(gate_await(&gate, 2));
    text_has(fs, "fast/runs/overview/profiles_summary.csv", "\nb.folded,",
             "runs of two folders are computed concurrently");
    pf_fs_interrupt(fs, &waiting.op);
    ok(background_result(&waiting) == EINTR,
       "an operation that waits for a pass over runs can be interrupted");
    gate_open(&gate);
    while (pf_pool_status(fs->env.pool, NULL, 0))
        usleep(100);
    ok(control.opens == 2, "a pass without waiters stops at the profiles that are already open");
    text_has(fs, "slow/runs/overview/profiles_summary.csv", "\n2,made-up,",
             "an interrupted pass runs again when its file is read");
    pf_fs_free(fs);
}

/* ---- cached parts ------------------------------------------------------------------------------- */

static struct pf_fs *mount_with_cache(const char *folder, const char *cache)
{
    struct pf_error error;
    const struct pf_fs_options options = {.profile = {.cache = 16 << 20},
                                          .virtuals = virtuals,
                                          .cache_folder = cache,
                                          .pass_threads = 1};
    control = (struct control){0};
    return pf_fs_new(folder, &options, &error);
}

static void test_kept(const char *folder)
{
    char cache[64];
    temp_dir_make(cache);
    struct pf_fs *fs = mount_with_cache(folder, cache);
    char *first = text_at(fs, ".profilefs/tables/summary.csv");
    char *functions = text_at(fs, ".profilefs/tables/functions.csv");
    ok(control.opens > 3 && strstr(functions, ",run2\n"),
       "the tables in .profilefs/tables open all profiles");
    pf_fs_free(fs);
    fs = mount_with_cache(folder, cache);
    char *again = text_at(fs, ".profilefs/tables/summary.csv");
    is(again, first, "a later mount has the same summary.csv");
    free(again);
    again = text_at(fs, ".profilefs/tables/functions.csv");
    is(again, functions, "a later mount has the same functions.csv");
    free(again);
    text_has(fs, "runs/overview/profiles_summary.csv", "\nrun2,made-up,",
             "runs/ of a later mount has the same profiles");
    names_are(fs, "runs/changes", ".\n..\ntime\nbytes, \"moved\"\n",
              "runs/ of a later mount has the same metrics");
    ok(control.opens == 1 + 1 + 1,
       "a later mount opens only the profile that cannot be opened, once per table");
    pf_fs_free(fs);
    write_text(folder, "run2", "1 5 3");
    fs = mount_with_cache(folder, cache);
    text_has(fs, ".profilefs/tables/summary.csv", ",1,5,time,",
             "a later mount reads a profile that has changed");
    pf_fs_free(fs);
    free(first);
    free(functions);
    temp_dir_remove(cache);
}

int main(void)
{
    char folder[64];
    alarm(HANG_SECONDS);
    test_order();
    test_limits();
    temp_dir_make(folder);
    write_text(folder, "run10", "1 3 3");
    write_text(folder, "run2", "1 4 3");
    write_text(folder, "a.folded", "main;f 3\nmain;g 4\n");
    write_text(folder, "bad", "broken");
    make_folder(folder, "shelf");
    write_text(folder, "shelf/data", "2 6");
    test_content(folder);
    test_snapshot(folder);
    test_kept(folder);
    test_jobs(folder);
    temp_dir_remove(folder);
    return done();
}
