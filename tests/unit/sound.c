/* SPDX-License-Identifier: MIT */
/*
 * Every profile among the samples, and in the folder that PROFILEFS_SHARED names, keeps the promises of formats/driver.h, as tests/sound.h
 * checks them.
 */
#include "tests/sound.h"
#include "formats/model.h"
#include "tests/profile.h"
#include "tests/unit/each_profile.h"
#include "tests/unit/tap.h"

/* Returns the index of the first (`third` 0), a middle (1) or the last (2) of n items; -1 if n is 0. */
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

/* A profile whose open failed for lack of memory must be safe to close. */
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
    char corpus[EACH_PATH_ROOM];
    const char *shared = getenv("PROFILEFS_SHARED");
    check_closing_unopened();
    each_profile("tests/samples/archive", check_profile);
    if (!shared || !*shared)
        fputs("# profiles of PROFILEFS_SHARED, not set: skipped\n", stderr);
    else if (snprintf(corpus, sizeof corpus, "%s/corpus", shared) < EACH_PATH_ROOM)
        each_profile(corpus, check_profile);
    return done();
}
