/* SPDX-License-Identifier: MIT */
#include <sched.h>

#include "fs/text/pack.h"
#include "tests/unit/profile_fixture.h"
#include "tests/unit/stored.h"

/* Processes use results of earlier processes' passes, which are in the cache. Each struct pf_env stands for a process. */

/* All sizes and the whole text of a profile, in the order of the tree. */
struct survey {
    struct visit visit;
    struct pf_buf text, sizes;
    unsigned errors;
    bool known_only; /* ask only for sizes that are known; `unknown` counts the files that need a pass */
    unsigned unknown;
};

static void survey_file(struct visit *visit, struct pf_node node, const char *path)
{
    struct survey *survey = (struct survey *)visit;
    struct pf_error error = {0};
    uint64_t size = 0;
    if (survey->known_only) {
        bool known = pf_profile_size_now(visit->profile, node, &size);
        survey->unknown += !known && !pf_is_cheap(pf_profile_model(visit->profile), node);
        return;
    }
    survey->errors += size_of(visit->profile, node, &size, &error) != 0;
    survey->errors += read_file(visit->env, visit->profile, node, 100000, &survey->text, &error) != 0;
    pf_buf_printf(&survey->sizes, "%s %llu\n", path, (unsigned long long)size);
}

static struct survey survey_of(struct pf_env *env, struct pf_profile *profile, bool known_only)
{
    struct pf_error error;
    struct survey survey = {.visit = {.file = survey_file, .env = env, .profile = profile},
                            .known_only = known_only};
    if (stage_of(profile, PF_DERIVED, &error))
        survey.errors++;
    else
        visit_all(&survey.visit, (struct pf_node){PF_TOP, 0}, "");
    pf_buf_free(&survey.visit.paths);
    return survey;
}

static void end_survey(struct survey *survey)
{
    pf_buf_free(&survey->text);
    pf_buf_free(&survey->sizes);
}

static bool same_buf(const struct pf_buf *a, const struct pf_buf *b)
{
    return a->size == b->size && a->size && !memcmp(a->data, b->data, a->size);
}

/* ---- one process after another ------------------------------------------------------------------ */

struct process {
    struct pf_env env;
    struct pf_profile *profile;
};

static void begin(struct process *process, const char *folder, const char *cache)
{
    struct pf_error error;
    env_init(&process->env, cache);
    process->profile = profile_in(&process->env, folder, &error);
    if (!process->profile)
        abort();
}

static void end(struct process *process, bool save)
{
    if (save)
        save_results(process->profile);
    pf_profile_release(process->profile);
    env_end(&process->env);
}

/* A first process that reads everything and fills the cache; returns its survey. */
static struct survey first_process(const char *folder, const char *cache)
{
    struct process process;
    begin(&process, folder, cache);
    struct survey survey = survey_of(&process.env, process.profile, false);
    end(&process, true);
    return survey;
}

static bool knows_values(const char *folder, const char *cache)
{
    struct process process;
    uint64_t size;
    begin(&process, folder, cache);
    bool known = pf_profile_size_now(process.profile, (struct pf_node){PF_TABLE_WHOLE, 0}, &size);
    end(&process, false);
    return known;
}

static bool ask_aggregate(struct pf_profile *profile, int metric)
{
    struct pf_aggregate *aggregate;
    struct pf_op op = PF_OP;
    return pf_profile_aggregate(profile, metric, &aggregate, &op) == 0 && aggregate;
}

static void test_kept(const char *folder, const char *cache)
{
    struct process process;
    uint64_t size = 0;
    struct pf_op op = PF_OP;
    control = (struct control){.changes = 2};
    struct survey before = first_process(folder, cache);
    ok(before.errors == 0, "the first process finds every size");

    control = (struct control){0};
    begin(&process, folder, cache);
    ok(pf_profile_size(process.profile, (struct pf_node){PF_TABLE_WHOLE, 0}, &size, &op) == 0 && size > 0 &&
           pf_profile_size(process.profile, (struct pf_node){PF_TABLE_OF_PARTITION + FAKE_EVENTS, 1}, &size,
                           &op) == 0 &&
           pf_profile_size(process.profile, (struct pf_node){PF_TABLE_OF_CONTEXT, 3}, &size, &op) == 0 &&
           pf_profile_size(process.profile, (struct pf_node){PF_METRIC_FILE + PF_METRIC_TREE, 1}, &size,
                           &op) == 0,
       "a later process has the sizes of files");
    ok(process.env.passes == 0 && control.loads[PF_PARTITIONED] == 0,
       "a later process has the sizes of files without a pass or a stage");
    struct survey known = survey_of(&process.env, process.profile, true);
    ok(known.unknown == 0, "a later process has all sizes that take a pass");
    ok(ask_aggregate(process.profile, -1) && fake_of(pf_profile_model(process.profile))->walked == 0,
       "a later process has aggregates without a walk over values");
    uint64_t passes = process.env.passes;
    struct survey after = survey_of(&process.env, process.profile, false);
    ok(after.errors == 0 && same_buf(&before.sizes, &after.sizes), "a later process gives the same sizes for every file");
    ok(same_buf(&before.text, &after.text), "a later process gives the same text");
    ok(process.env.passes == passes, "a later process reads all files without a further pass");
    ok(control.restored == 1800, "a later process computes rows from the data that the first process has found");
    end(&process, true);
    control.restored = 0;
    begin(&process, folder, cache);
    end(&process, true);
    ok(knows_values(folder, cache), "a process that reads nothing leaves the cache unchanged");
    end_survey(&before);
    end_survey(&known);
    end_survey(&after);
}

/*
 * With `leans`, the aggregates of metric 0, which are requested second, need the values of both metrics. Those of metric 1 need only its own.
 */
static void test_kept_alone(const char *folder, const char *cache, bool leans)
{
    struct process process;
    control = (struct control){.skips = PF_SEEKS_METRIC, .leans = leans};
    for (int life = 0; life < 3; life++) {
        begin(&process, folder, cache);
        process.env.options.cache = 64; /* low enough that any number of contexts counts as many */
        bool there = ask_aggregate(process.profile, life != 1);
        uint64_t walked = fake_of(pf_profile_model(process.profile))->walked;
        ok(there && (walked > 0) == (life < 2),
           life < 2 ? "aggregates of a metric are computed on demand"
                    : "aggregates of a metric are cached for later processes");
        end(&process, true);
    }
}

/* An earlier process stored the sums of all metrics, which are damaged now. Only the requested metric's sums are computed again. */
static void test_damaged_sums(const char *folder, const char *cache)
{
    struct process process;
    struct pf_buf forged = {0};
    control = (struct control){.skips = PF_SEEKS_METRIC};
    begin(&process, folder, cache);
    pf_buf_str(&forged, "no sums");
    pf_datum_put(process.profile, pf_profile_open_key(process.profile), PF_DATUM_SUMS, 0, &forged);
    pf_buf_free(&forged);
    process.env.options.cache = 64; /* low enough that any number of contexts counts as many */
    ok(ask_aggregate(process.profile, 0) && !pf_profile_aggregate_now(process.profile, -1),
       "damaged sums of all metrics are not used for the requested metric");
    end(&process, false);
}

static void test_keys(const char *folder, const char *cache)
{
    struct pf_error error;
    control = (struct control){0};
    struct survey survey = first_process(folder, cache);
    end_survey(&survey);
    ok(knows_values(folder, cache), "an unchanged profile is found in the cache");
    made_up_driver.version++;
    ok(!knows_values(folder, cache), "a profile is not found in the cache for another version of the driver");
    made_up_driver.version--;
    struct process process;
    env_init(&process.env, cache);
    process.env.options.metric = "time";
    process.profile = profile_in(&process.env, folder, &error);
    uint64_t size;
    ok(!pf_profile_size_now(process.profile, (struct pf_node){PF_TABLE_WHOLE, 0}, &size),
       "a profile is not found in the cache with other options");
    end(&process, true);
    ok(knows_values(folder, cache), "results with other options are cached separately");
    struct pf_buf head = {0};
    struct pf_access access;
    uint64_t machine = PF_MACHINE, swapped = __builtin_bswap64(machine);
    env_init(&process.env, cache);
    process.profile = profile_in(&process.env, folder, &error);
    pf_profile_pack_head(process.profile, &head);
    char *versions = head.data + sizeof(uint64_t); /* the versions follow a word with their size */
    ok(head.size > 2 * sizeof machine && !memcmp(versions, &machine, sizeof machine) &&
           pf_profile_accepts(process.profile, &head, &access),
       "a head begins with the byte order and the word size of the machine");
    memcpy(versions, &swapped, sizeof swapped);
    ok(!pf_profile_accepts(process.profile, &head, &access),
       "data of a machine with another byte order is not used");
    pf_buf_free(&head);
    end(&process, true);
    ok(!knows_values(folder, NULL), "a profile is not found without a cache folder");
    write_text(folder, "log.extra", "x");
    ok(!knows_values(folder, cache),
       "a profile is not found in the cache after a missing sibling has appeared");
    unlink(path_in(folder, "log.extra"));
    ok(knows_values(folder, cache), "a profile is found in the cache after the sibling has disappeared");
    replace_text(folder, "log", "5 40 3000");
    ok(!knows_values(folder, cache),
       "a profile that was replaced by an equal file is not found in the cache");
    survey = first_process(folder, cache);
    end_survey(&survey);
    ok(knows_values(folder, cache), "a replaced profile is cached separately");
    write_text(folder, "log", "5 40 3000");
    ok(!knows_values(folder, cache), "a profile that was overwritten is not found in the cache");
}

static void put_part(struct process *process, uint64_t number)
{
    struct pf_buf text = {0};
    pf_buf_str(&text, "part");
    pf_datum_put(process->profile, pf_profile_open_key(process->profile), PF_DATUM_EXCERPT, number, &text);
    pf_cache_flush(process->env.cache);
    pf_buf_free(&text);
}

static bool has_part(const char *folder, const char *cache, uint64_t number)
{
    struct process process;
    struct pf_access access;
    size_t size;
    begin(&process, folder, cache);
    char *part = pf_datum_get(process.profile, pf_profile_open_key(process.profile), PF_DATUM_EXCERPT, number,
                              &size, &access);
    free(part);
    end(&process, false);
    return part;
}

/* Two processes open the same version of a profile. One of them has a further input, a file that is absent. */
static void test_inputs(const char *folder, const char *cache)
{
    struct process few, more;
    struct pf_input *input;
    struct pf_error error;
    begin(&few, folder, cache);
    put_part(&few, 1);
    begin(&more, folder, cache);
    ok(pf_source_open(more.profile->source, "log.more", PF_RAW, &input, &error) < 0 && error.code == ENOENT,
       "one of two processes has looked for a file that is absent");
    put_part(&more, 2);
    put_part(&few, 3);
    ok(has_part(folder, cache, 1) && has_part(folder, cache, 2) && has_part(folder, cache, 3),
       "data of both processes are cached");
    end(&few, false);
    end(&more, false);
    write_text(folder, "log.more", "x");
    ok(!has_part(folder, cache, 1) && !has_part(folder, cache, 2) && !has_part(folder, cache, 3),
       "data of both processes are invalid once the absent file has appeared");
    unlink(path_in(folder, "log.more"));
}

/* ---- damage ------------------------------------------------------------------------------------- */

/* Overwrites a byte in the middle of the cached results of passes. */
static void flip_passes(const char *folder)
{
    sqlite3 *db;
    if (sqlite3_open(path_in(folder, PF_CACHE_NAME), &db) ||
        sqlite3_exec(db,
                     "UPDATE datum SET value = CAST(substr(value, 1, length(value) / 2) || x'aa' || "
                     "substr(value, length(value) / 2 + 2) AS BLOB) WHERE type = 2",
                     NULL, NULL, NULL))
        abort();
    sqlite3_close(db);
}

static void test_damage(const char *folder, const char *cache)
{
    control = (struct control){0};
    struct survey before = first_process(folder, cache);
    ok(stored_origin(cache, PF_DATUM_PASSES), "the results of passes of a profile are one datum");
    flip_passes(cache);
    ok(!knows_values(folder, cache), "damaged data counts as missing");
    struct survey after = first_process(folder, cache);
    ok(after.errors == 0 && same_buf(&before.text, &after.text) && knows_values(folder, cache),
       "results of new passes replace damaged data");
    end_survey(&before);
    end_survey(&after);
}

/* The cache has wrong data with a valid checksum, as a faulty program might have written it. Any value that is accepted is harmless. */
static void test_forged(const char *folder, const char *cache)
{
    size_t size;
    unsigned seed = 11;
    int survived = 0;
    control = (struct control){0};
    uint64_t origin = stored_origin(cache, PF_DATUM_PASSES);
    struct pf_cache *stored = pf_cache_new(cache);
    struct pf_buf bytes = {0};
    char *payload = pf_cache_get(stored, origin, PF_DATUM_PASSES, 0, &size, &bytes);
    const struct pf_cache_head head = {bytes.data, bytes.size, NULL};
    if (!payload)
        abort();
    for (int i = 0; i < 60; i++) {
        struct pf_buf forged = {0};
        struct process process;
        pf_buf_add(&forged, payload, i % 4 ? size : (size_t)rand_r(&seed) % size);
        for (int k = 0; k < 1 + i % 6; k++) {
            size_t at = (size_t)rand_r(&seed) % size;
            uint64_t value =
                rand_r(&seed) % 3 ? (uint64_t)rand_r(&seed) % 5000 : UINT64_MAX >> rand_r(&seed) % 64;
            at = at / 8 * 8;
            if (at + sizeof value <= forged.size)
                memcpy(forged.data + at, &value, sizeof value);
        }
        pf_cache_clear(stored); /* otherwise fields would be merged with those of the previous round */
        pf_cache_put(stored, &head, origin, PF_DATUM_PASSES, 0, &forged);
        pf_cache_flush(stored);
        pf_buf_free(&forged);
        begin(&process, folder, cache);
        struct survey survey = survey_of(&process.env, process.profile, false);
        survived++;
        end_survey(&survey);
        end(&process, false);
    }
    ok(survived == 60, "wrong data with a valid checksum is harmless");
    pf_cache_free(stored);
    pf_buf_free(&bytes);
    free(payload);
}

/* ---- a profile in use while its source is opened ------------------------------------------------ */

static const struct pf_node sized_nodes[] = {
    {PF_TABLE_WHOLE, 0},
    {PF_TABLE_OF_PARTITION + FAKE_EVENTS, 1},
    {PF_METRIC_FILE + PF_METRIC_TREE, 1}, /* has checkpoints of its own */
};
enum { SIZED_NODES = sizeof sized_nodes / sizeof *sized_nodes };

static unsigned count_known(struct pf_profile *profile)
{
    uint64_t size;
    unsigned known = 0;
    for (size_t i = 0; i < SIZED_NODES; i++)
        known += pf_profile_size_now(profile, sized_nodes[i], &size);
    return known;
}

struct lister {
    struct pf_profile *profile;
    atomic_bool begun, opened;
};

static void *list_until_opened(void *arg)
{
    struct lister *lister = arg;
    do {
        count_known(lister->profile);
        atomic_store(&lister->begun, true);
    } while (!atomic_load(&lister->opened));
    return NULL;
}

static void test_listed_while_opened(const char *folder, const char *cache)
{
    struct process process;
    struct pf_error error;
    struct pf_op op = PF_OP;
    uint64_t size;
    pthread_t thread;
    unsigned wrong = 0;
    control = (struct control){0};
    begin(&process, folder, cache);
    for (size_t i = 0; i < SIZED_NODES; i++)
        wrong += size_of(process.profile, sized_nodes[i], &size, &error) != 0;
    end(&process, true);

    env_init(&process.env, cache);
    int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    struct lister lister = {.profile = pf_profile_new(&process.env, &made_up_driver, &error)};
    if (!lister.profile || !(lister.profile->source = pf_source_new(fd, "log", &error)))
        abort();
    close(fd);
    pthread_create(&thread, NULL, list_until_opened, &lister);
    while (!atomic_load(&lister.begun))
        sched_yield();
    wrong += pf_profile_open(lister.profile, &op) != 0;
    atomic_store(&lister.opened, true);
    pthread_join(thread, NULL);
    ok(wrong == 0 && count_known(lister.profile) == SIZED_NODES,
       "sizes can be listed while another thread opens the source and restores them");
    process.profile = lister.profile;
    end(&process, false);
}

static void test_no_folder(const char *folder)
{
    control = (struct control){0};
    struct survey survey = first_process(folder, "/proc/no/such/place");
    ok(survey.errors == 0, "files are read if the cache cannot be written");
    end_survey(&survey);
}

int main(void)
{
    char folder[64], cache[80];
    alarm(HANG_SECONDS);
    temp_dir_make(folder);
    snprintf(cache, sizeof cache, "%s/cache", folder);
    write_text(folder, "log", "5 40 30000");
    test_kept_alone(folder, cache, false);
    write_text(folder, "log", "3 6 100");
    test_kept_alone(folder, cache, true);
    temp_dir_remove(cache);
    test_damaged_sums(folder, cache);
    temp_dir_remove(cache);
    test_kept(folder, cache);
    temp_dir_remove(cache);
    write_text(folder, "log", "5 40 3000");
    test_keys(folder, cache);
    temp_dir_remove(cache);
    test_inputs(folder, cache);
    temp_dir_remove(cache);
    write_text(folder, "log", "4 30 40000");
    test_damage(folder, cache);
    test_forged(folder, cache);
    temp_dir_remove(cache);
    write_text(folder, "log", "3 2000 100");
    test_listed_while_opened(folder, cache);
    test_no_folder(folder);
    temp_dir_remove(folder);
    return done();
}
