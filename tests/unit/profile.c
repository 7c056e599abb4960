/* SPDX-License-Identifier: MIT */
#include "formats/driver_extra.h"
#include "fs/profile/profile_private.h"
#include "tests/unit/background.h"
#include "tests/unit/profile_fixture.h"

/* Tests when an open profile loads each stage, and that every file has its declared size. */

static const struct pf_node top = {PF_TOP, 0};

/* ---- stages ------------------------------------------------------------------------------------- */

static int ask_modelled(void *arg, struct pf_op *op)
{
    return pf_profile_stage(arg, PF_MODELLED, op);
}

static int ask_partitioned(void *arg, struct pf_op *op)
{
    return pf_profile_stage(arg, PF_PARTITIONED, op);
}

static void test_stages(const char *folder)
{
    struct gate gate = GATE_CLOSED;
    struct pf_env env;
    struct pf_error error = {0};
    struct pf_op op = PF_OP;
    struct background first, second;
    control = (struct control){.gate = {[PF_PARTITIONED] = &gate}};
    env_init(&env, NULL);
    struct pf_profile *profile = profile_in(&env, folder, &error);
    ok(profile && control.loads[PF_PARTITIONED] == 0, "opening loads no stage");
    ok(pf_profile_stage(profile, PF_OPENED, &op) == 0, "an open profile is opened");
    background_start(&first, ask_modelled, profile);
    gate_await(&gate, 1);
    background_start(&second, ask_partitioned, profile);
    await_waiters(env.pool, 3);
    ok(env.passes == 0,
       "an operation that needs an earlier stage waits for the same pass as the job of a later stage");
    ok(pf_profile_stage(profile, PF_OPENED, &op) == 0,
       "an operation whose stage is loaded does not wait");
    gate_open(&gate);
    ok(background_result(&first) == 0 && background_result(&second) == 0,
       "a stage is loaded when its pass has ended");
    ok(!stage_of(profile, PF_DERIVED, &error) && control.loads[PF_PARTITIONED] == 1 &&
           control.loads[PF_MODELLED] == 1 && control.loads[PF_DERIVED] == 1,
       "each stage is loaded once");
    ok(env.passes == 4, "each stage is loaded in a pass of its own");
    pf_profile_release(profile);
    ok(control.closes == 1, "the last release closes the profile");
    env_end(&env);
}

static void test_failing_stages(const char *folder)
{
    struct pf_env env;
    struct pf_error error = {0};
    control = (struct control){.fails = {[PF_MODELLED] = EIO}};
    env_init(&env, NULL);
    struct pf_profile *profile = profile_in(&env, folder, &error);
    uint64_t size;
    ok(stage_of(profile, PF_MODELLED, &error) && error.code == EIO,
       "an operation whose stage cannot be loaded fails");
    ok(stage_of(profile, PF_DERIVED, &error) && error.code == EIO && control.loads[PF_MODELLED] == 1,
       "a later operation repeats the error without another pass");
    ok(!stage_of(profile, PF_PARTITIONED, &error), "stages before the one that cannot be loaded stay loaded");
    ok(size_of(profile, (struct pf_node){PF_TABLE_WHOLE, 0}, &size, &error) && error.code == EIO,
       "files that need the stage that cannot be loaded fail");
    ok(!size_of(profile, (struct pf_node){PF_INFO, 0}, &size, &error),
       "files that do not need the stage that cannot be loaded have sizes");
    pf_profile_release(profile);

    struct gate gate = GATE_CLOSED;
    struct background waiting;
    control = (struct control){.gate = {[PF_MODELLED] = &gate}};
    profile = profile_in(&env, folder, &error);
    background_start(&waiting, ask_modelled, profile);
    gate_await(&gate, 1);
    pf_op_interrupt(env.pool, &waiting.op);
    ok(background_result(&waiting) && waiting.op.error.code == EINTR,
       "an interrupted operation stops waiting");
    gate_open(&gate);
    while (pf_profile_busy(profile))
        usleep(100);
    ok(control.loads[PF_MODELLED] == 1 && !stage_of(profile, PF_MODELLED, &error) &&
           control.loads[PF_MODELLED] == 2,
       "a stage whose pass was stopped is loaded when it is needed again");
    pf_profile_release(profile);
    env_end(&env);
}

static void test_broken(const char *folder)
{
    struct pf_env env;
    struct pf_error error = {0};
    control = (struct control){0};
    env_init(&env, NULL);
    write_text(folder, "log", "rubbish");
    ok(!profile_in(&env, folder, &error) && error.code == EINVAL && error.offset == 0,
       "a profile that cannot be opened reports the error and its position");
    ok(control.closes == 1, "a profile that cannot be opened is closed by its driver");
    env_end(&env);
}

/* ---- files -------------------------------------------------------------------------------------- */

/* The size is exact and known before reading, and reads of any length return the same bytes. */
static void check_file(struct visit *visit, struct pf_node node, const char *path)
{
    struct pf_error error = {0};
    struct pf_buf once = {0}, pieces = {0};
    uint64_t size = 0, known = 0;
    struct pf_node parent, found;
    char name[256];
    bool right = !size_of(visit->profile, node, &size, &error) &&
                 (pf_is_cheap(pf_profile_model(visit->profile), node) ||
                  (pf_profile_size_now(visit->profile, node, &known) && known == size));
    right =
        right && !read_file(visit->env, visit->profile, node, 1 << 20, &once, &error) && once.size == size;
    right = right && !read_file(visit->env, visit->profile, node, 1 + size / 3, &pieces, &error) &&
            pieces.size == size && (size == 0 || !memcmp(once.data, pieces.data, size));
    right = right && pf_node_parent(visit->profile, node, &parent, name) &&
            !strcmp(strrchr(path, '/') + 1, name) && pf_folder_find(visit->profile, parent, name, &found) &&
            found.kind == node.kind && found.item == node.item;
    if (!right)
        printf("# %s: %llu told, %zu read: %s\n", path, (unsigned long long)size, once.size, error.what);
    visit->wrong += !right;
    pf_buf_free(&once);
    pf_buf_free(&pieces);
}

static void test_files(const char *folder, const char *what)
{
    struct pf_env env;
    struct pf_error error = {0};
    control = (struct control){0};
    env_init(&env, NULL);
    struct visit visit = {.file = check_file, .env = &env, .profile = profile_in(&env, folder, &error)};
    if (!ok(visit.profile && !stage_of(visit.profile, PF_DERIVED, &error), "%s: the profile opens", what))
        return;
    visit_all(&visit, top, "");
    ok(visit.wrong == 0, "%s: each of %u files has the declared size, read at once or in pieces", what,
       visit.files);
    pf_buf_free(&visit.paths);
    pf_profile_release(visit.profile);
    env_end(&env);
}

static void note_nothing(struct visit *visit, struct pf_node node, const char *path)
{
    (void)visit, (void)node, (void)path;
}

static void test_tree(const char *folder)
{
    struct pf_env env;
    struct pf_error error = {0};
    control = (struct control){0};
    env_init(&env, NULL);
    write_text(folder, "log", "1 2 3");
    struct visit visit = {.file = note_nothing, .env = &env, .profile = profile_in(&env, folder, &error)};
    stage_of(visit.profile, PF_MODELLED, &error);
    uint64_t passes = env.passes;
    visit_all(&visit, top, "");
    ok(env.passes == passes, "listing all folders needs no pass");
    pf_buf_char(&visit.paths, 0);
    is(visit.paths.data,
       "info.txt\n"
       "tables\n"
       "tables/metrics.csv\ntables/threads.csv\ntables/contexts.csv\ntables/warnings.csv\n"
       "tables/values.csv\ntables/events.csv\ntables/notes.csv\ntables/empty.csv\n"
       "threads\n"
       "threads/node, 0\n"
       "threads/node, 0/info.txt\nthreads/node, 0/values.csv\nthreads/node, 0/events.csv\n"
       "threads/node, 0/notes.csv\nthreads/node, 0/empty.csv\n"
       "contexts\n.contexts\n"
       ".contexts/main 0\n"
       ".contexts/main 0/info.txt\n.contexts/main 0/values.csv\n.contexts/main 0/events.csv\n"
       ".contexts/main 0/main 0\n"
       ".contexts/main 0/main 0/info.txt\n.contexts/main 0/main 0/values.csv\n.contexts/main 0/main "
       "0/events.csv\n"
       "metrics\n"
       "metrics/time\n"
       "metrics/time/info.txt\nmetrics/time/summary.md\nmetrics/time/contexts.csv\nmetrics/time/threads.csv\n"
       "metrics/time/groups.csv\nmetrics/time/functions.csv\nmetrics/time/modules.csv\nmetrics/time/"
       "files.csv\n"
       "metrics/time/lines.csv\nmetrics/time/callers.csv\n"
       "metrics/time/hot.txt\nmetrics/time/tree.txt\nmetrics/time/bottom_up.txt\nmetrics/time/stacks.folded\n"
       "metrics/bytes, \"moved\"\n"
       "metrics/bytes, \"moved\"/info.txt\nmetrics/bytes, \"moved\"/summary.md\n"
       "metrics/bytes, \"moved\"/contexts.csv\n"
       "metrics/bytes, \"moved\"/threads.csv\nmetrics/bytes, \"moved\"/groups.csv\n"
       "metrics/bytes, \"moved\"/functions.csv\nmetrics/bytes, \"moved\"/modules.csv\n"
       "metrics/bytes, \"moved\"/files.csv\nmetrics/bytes, \"moved\"/lines.csv\n"
       "metrics/bytes, \"moved\"/callers.csv\n"
       "metrics/bytes, \"moved\"/hot.txt\nmetrics/bytes, \"moved\"/tree.txt\n"
       "metrics/bytes, \"moved\"/bottom_up.txt\nmetrics/bytes, "
       "\"moved\"/stacks.folded\n"
       "primary\nprimary/metric\n"
       "export\n.export\n.export/profile.pb\n"
       ".export/time\n.export/time/flame.svg\n.export/time/callgraph.dot\n"
       ".export/bytes, \"moved\"\n.export/bytes, \"moved\"/flame.svg\n.export/bytes, "
       "\"moved\"/callgraph.dot\n",
       "a table is under tables/, and in the folders of each axis that it has a column for");
    struct pf_node none;
    ok(!pf_folder_find(visit.profile, top, "absent", &none) &&
           !pf_folder_find(visit.profile, top, "", &none) &&
           !pf_folder_find(visit.profile, (struct pf_node){PF_PARTITIONS, 0}, "node, 1", &none),
       "names that are not listed are not found");
    ok(!pf_node_parent(visit.profile, top, &none, (char[256]){0}), "the top folder has no parent");
    pf_buf_free(&visit.paths);
    pf_profile_release(visit.profile);
    env_end(&env);
}

/* ---- changes ------------------------------------------------------------------------------------ */

static void test_changes(const char *folder)
{
    struct pf_env env;
    struct pf_error error = {0};
    struct pf_buf out = {0};
    const struct pf_node values = {PF_TABLE_WHOLE, 0}, events = {PF_TABLE_WHOLE + FAKE_EVENTS, 0};
    uint64_t size;
    control = (struct control){0};
    env_init(&env, NULL);
    write_text(folder, "log", "3 20 500");
    struct pf_profile *profile = profile_in(&env, folder, &error);
    ok(!pf_profile_check(profile, &error) && pf_profile_intact(profile), "an unchanged profile is unchanged");
    size_of(profile, values, &size, &error);
    write_text(folder, "log", "4 20 500");
    ok(pf_profile_check(profile, &error) && error.code == ESTALE && !pf_profile_intact(profile),
       "a profile that was overwritten has changed");
    ok(read_file(&env, profile, values, 4096, &out, &error) && error.code == ESTALE && out.size == 0,
       "bytes of a profile that was overwritten cannot be read");
    ok(size_of(profile, events, &size, &error) && error.code == ESTALE,
       "a pass over a profile that was overwritten fails");
    pf_profile_release(profile);

    profile = profile_in(&env, folder, &error);
    replace_text(folder, "log", "5 20 500");
    ok(pf_profile_check(profile, &error) && pf_profile_intact(profile) &&
           !read_file(&env, profile, values, 4096, &out, &error) && out.size > 0,
       "the old bytes of a replaced file can still be read");
    pf_buf_free(&out);
    pf_profile_release(profile);

    profile = profile_in(&env, folder, &error);
    write_text(folder, "log.extra", "x");
    ok(pf_profile_check(profile, &error), "a missing sibling that appears is a change");
    unlink(path_in(folder, "log.extra"));
    pf_profile_release(profile);
    env_end(&env);
}

/* ---- one file of a table ------------------------------------------------------------------------ */

/* Returns the number of rows that cursors read to find the sizes of values.csv of partitions `from` to `to` - 1. */
static uint64_t walked_for(struct pf_profile *profile, uint32_t from, uint32_t to, bool *exact)
{
    struct pf_error error = {0};
    struct pf_env *env = profile->env;
    uint64_t before = fake_of(&profile->model)->walked, after = before;
    for (uint32_t p = from; p < to; p++) {
        const struct pf_node node = {PF_TABLE_OF_PARTITION, p};
        struct pf_buf out = {0};
        uint64_t size = 0;
        uint64_t start = fake_of(&profile->model)->walked;
        *exact &= !size_of(profile, node, &size, &error);
        after += fake_of(&profile->model)->walked - start;
        *exact &= !read_file(env, profile, node, 4096, &out, &error) && out.size == size;
        pf_buf_free(&out);
    }
    return after - before;
}

static void test_one_of_many(const char *folder)
{
    enum { PARTITIONS = 200, CONTEXTS = 50, ROWS = CONTEXTS * FAKE_METRICS };
    struct pf_env env;
    struct pf_error error = {0};
    bool exact = true;
    control = (struct control){0};
    env_init(&env, NULL);
    write_text(folder, "log", "200 50 10");
    const struct pf_driver_extra before = made_up_extra;
    made_up_extra.facts = NULL;
    struct pf_profile *profile = profile_in(&env, folder, &error);
    ok(walked_for(profile, 4, 5, &exact) == ROWS,
       "the size of one partition's file takes only that partition's rows");
    /* One in five partitions has no rows. */
    ok(walked_for(profile, 5, 60, &exact) == 44 * ROWS,
       "the size of each further partition's file takes only that partition's rows");
    uint64_t whole;
    exact &= !size_of(profile, (struct pf_node){PF_TABLE_WHOLE, 0}, &whole, &error);
    ok(walked_for(profile, 100, PARTITIONS, &exact) == 0, "the pass over the table finds the sizes of all files");
    ok(exact, "sizes from one partition's rows and from the whole table are exact");
    pf_profile_release(profile);
    made_up_extra = before;
    profile = profile_in(&env, folder, &error);
    ok(walked_for(profile, 4, 5, &exact) > ROWS,
       "if a pass over the table may supersede the data of rows, it runs first");
    pf_profile_release(profile);
    env_end(&env);
}

/* ---- many files at once ------------------------------------------------------------------------- */

struct reader {
    struct pf_env *env;
    struct pf_profile *profile;
    unsigned seed;
    int wrong;
};

static void *read_some(void *arg)
{
    struct reader *reader = arg;
    struct pf_error error = {0};
    for (int i = 0; i < 25; i++) {
        static const unsigned kinds[] = {PF_INFO,
                                         PF_CONTEXTS_CSV,
                                         PF_METRIC_FILE + PF_METRIC_HOT,
                                         PF_METRIC_FILE + PF_METRIC_TREE,
                                         PF_TABLE_WHOLE,
                                         PF_TABLE_WHOLE + FAKE_EVENTS,
                                         PF_TABLE_OF_PARTITION,
                                         PF_TABLE_OF_CONTEXT + FAKE_EVENTS};
        struct pf_node node = {kinds[rand_r(&reader->seed) % 8], 0};
        struct pf_buf out = {0};
        uint64_t size;
        reader->wrong += size_of(reader->profile, node, &size, &error) ||
                         read_file(reader->env, reader->profile, node, 60000, &out, &error) ||
                         out.size != size;
        pf_buf_free(&out);
    }
    return NULL;
}

static void test_readers(const char *folder)
{
    struct pf_env env;
    struct pf_error error = {0};
    struct reader readers[4];
    pthread_t threads[4];
    int wrong = 0;
    control = (struct control){.changes = 2};
    env_init(&env, NULL);
    write_text(folder, "log", "10 600 20000");
    struct pf_profile *profile = profile_in(&env, folder, &error);
    for (unsigned t = 0; t < 4; t++) {
        readers[t] = (struct reader){&env, profile, t, 0};
        pthread_create(&threads[t], NULL, read_some, &readers[t]);
    }
    for (int t = 0; t < 4; t++) {
        pthread_join(threads[t], NULL);
        wrong += readers[t].wrong;
    }
    ok(wrong == 0, "concurrent readers read files of the declared sizes");
    ok(control.loads[PF_MODELLED] == 1, "concurrent readers load the model once");
    pf_profile_release(profile);
    pf_pool_free(env.pool);
    ok(control.closes == 1, "the last release closes the profile after concurrent reads");
    pf_blocks_free(env.blocks);
}

/* Returns the text of a metric's functions.csv. */
static struct pf_buf functions_of(struct pf_env *env, struct pf_profile *profile, uint32_t metric)
{
    struct pf_error error;
    struct pf_buf text = {0};
    if (read_file(env, profile, (struct pf_node){PF_METRIC_FILE + PF_METRIC_FUNCTIONS, metric}, 1000, &text,
                  &error))
        pf_buf_printf(&text, "%s", error.what);
    pf_buf_char(&text, '\0');
    return text;
}

/* With `skims`, the table of values is walked for the first requested metric, then for all metrics at once; else for each one alone. */
static void test_many_contexts(const char *folder, bool skims)
{
    struct pf_env few, many;
    struct pf_error error = {0};
    control = (struct control){.skips = skims ? PF_SKIMS_METRIC : PF_SEEKS_METRIC};
    env_init(&few, NULL);
    env_init(&many, NULL);
    many.options.cache = 64; /* low enough that any number of contexts counts as many */
    struct pf_profile *whole = profile_in(&few, folder, &error), *single = profile_in(&many, folder, &error);
    for (uint32_t m = 0; m < FAKE_METRICS; m++) {
        struct pf_buf want = functions_of(&few, whole, m), have = functions_of(&many, single, m);
        is(have.data, want.data, "views of a metric with few and with many contexts are the same");
        pf_buf_free(&want);
        pf_buf_free(&have);
        ok(pf_profile_aggregate_now(whole, 1), "a profile with few contexts is aggregated for all metrics");
        ok(!pf_profile_aggregate_now(single, 1) == (m < 1) &&
               !pf_profile_aggregate_now(single, -1) == !(skims && m),
           skims ? "a profile with many contexts is aggregated for the first metric, then for all"
                 : "a profile with many contexts is aggregated for the requested metric only");
    }
    uint64_t size;
    ok(!size_of(single, (struct pf_node){PF_WARNINGS_CSV, 0}, &size, &error) &&
           pf_profile_aggregate_now(single, -1),
       "a file that needs all metrics aggregates all");
    pf_profile_release(whole);
    pf_profile_release(single);
    env_end(&few);
    env_end(&many);
}

/* As for a comparison of many profiles, of which no other metric is requested. */
static void test_one_metric(const char *folder, unsigned skips)
{
    struct pf_env env;
    struct pf_op op = PF_OP;
    struct pf_aggregate *aggregate = NULL;
    control = (struct control){.skips = skips};
    env_init(&env, NULL);
    struct pf_profile *profile = profile_in(&env, folder, &op.error);
    ok(!pf_profile_aggregate_one(profile, 1, &aggregate, &op) && aggregate, "one metric is aggregated");
    ok(!pf_profile_aggregate_now(profile, 0) == (skips != 0),
       skips ? "metrics that can be skipped are left out even if contexts are few"
             : "metrics that cannot be skipped are aggregated with it");
    pf_profile_release(profile);
    env_end(&env);
}

/* The aggregate of metric 0 needs the values of metric 1, but does not serve as the aggregate of metric 1. */
static void test_leaning_metrics(const char *folder)
{
    struct pf_env env;
    struct pf_error error = {0};
    control = (struct control){.skips = PF_SEEKS_METRIC, .leans = true};
    env_init(&env, NULL);
    env.options.cache = 64;
    struct pf_profile *profile = profile_in(&env, folder, &error);
    struct pf_buf text = functions_of(&env, profile, 0);
    ok(pf_profile_aggregate_now(profile, 0) && !pf_profile_aggregate_now(profile, 1),
       "the aggregate of one metric is not used for another that is derived from it");
    pf_buf_free(&text);
    pf_profile_release(profile);
    env_end(&env);
}

int main(void)
{
    char folder[64];
    alarm(HANG_SECONDS);
    temp_dir_make(folder);
    write_text(folder, "log", "4 9 100");
    test_stages(folder);
    test_failing_stages(folder);
    test_files(folder, "small");
    write_text(folder, "log", "0 0 0");
    test_files(folder, "empty");
    write_text(folder, "log", "3 5 60000");
    test_files(folder, "long tables");
    test_tree(folder);
    test_changes(folder);
    test_readers(folder);
    test_one_of_many(folder);
    test_many_contexts(folder, false);
    test_many_contexts(folder, true);
    test_one_metric(folder, 0);
    test_one_metric(folder, PF_SEEKS_METRIC);
    test_leaning_metrics(folder);
    test_broken(folder);
    temp_dir_remove(folder);
    return done();
}
