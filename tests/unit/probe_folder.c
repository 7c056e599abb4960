/* SPDX-License-Identifier: MIT */
/* Folders that are not profiles: a result that depends on the names in the folder is stored, any other is not. */
#define FURTHER_DRIVERS &marked_driver,

#include "formats/driver.h"
#include "formats/probe.h"

extern const struct pf_driver marked_driver;

#include <sys/sysmacros.h>
#include <time.h>

#include "tests/unit/vfs_fixture.h"

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

/* Probes the folder `name`. Returns true if the driver has examined it. */
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

int main(void)
{
    char folder[64];
    temp_dir_make(folder);
    test_results(folder);
    test_settled();
    temp_dir_remove(folder);
    return done();
}
