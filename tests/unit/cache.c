/* SPDX-License-Identifier: MIT */
#include "fs/profile/cache.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "tests/unit/tap.h"
#include "tests/unit/temp_dir.h"

enum { FILE_BYTES = 1000, DAY = 86400 };

static void write_aged(const char *folder, const char *name, time_t days)
{
    char text[FILE_BYTES + 1];
    memset(text, 'x', FILE_BYTES);
    text[FILE_BYTES] = 0;
    write_text(folder, name, text);
    struct timespec times[2] = {{.tv_sec = time(NULL) - days * DAY}, {.tv_sec = time(NULL) - days * DAY}};
    utimensat(AT_FDCWD, path_in(folder, name), times, 0);
}

static bool is_there(const char *folder, const char *name)
{
    return !access(path_in(folder, name), F_OK);
}

static void test_files(const char *folder)
{
    struct pf_cache_usage usage;
    write_aged(folder, "a.pfc", 0);
    write_aged(folder, "b.pfc", 20);
    write_aged(folder, "c.pfc", 10);
    write_aged(folder, "d.pfc", PF_CACHE_DAYS + 1);
    write_aged(folder, ".e.pfc.123", 3);
    write_aged(folder, ".f.pfc.124", 0);
    write_aged(folder, "notes.txt", 1000);
    pf_cache_usage(folder, NULL, &usage);
    ok(usage.files == 4 && usage.file_bytes == 4 * FILE_BYTES,
       "cache files are counted, what else is there is not");
    ok(!is_there(folder, ".e.pfc.123") && is_there(folder, ".f.pfc.124"),
       "what a writer has left long ago goes");
    pf_cache_prune(folder, NULL, 1 << 30);
    ok(!is_there(folder, "d.pfc") && is_there(folder, "b.pfc"), "what was not used for long goes");
    pf_cache_prune(folder, NULL, 2 * FILE_BYTES);
    ok(!is_there(folder, "b.pfc") && is_there(folder, "a.pfc") && is_there(folder, "c.pfc"),
       "beyond the limit what was used longest ago goes");
    pf_cache_clear(folder, NULL);
    ok(!is_there(folder, "a.pfc") && is_there(folder, "notes.txt"), "cleared, nothing of ours is left");
}

static void test_both(const char *folder)
{
    struct pf_cache_usage usage;
    struct pf_cachedb *db = pf_cachedb_new(folder);
    struct pf_buf value = {0};
    pf_buf_str(&value, "text");
    pf_cachedb_put(db, 1, &value);
    write_aged(folder, "a.pfc", 0);
    pf_cache_usage(folder, db, &usage);
    ok(usage.files == 1 && usage.entries == 1 && usage.entry_bytes > 0, "files and database are counted");
    ok(pf_cachedb_puts(db) == 1, "and what was put into it");
    pf_cache_clear(folder, db);
    pf_cache_usage(folder, db, &usage);
    ok(usage.files == 0 && usage.entries == 0, "and cleared");
    pf_cachedb_put(db, 1, &value);
    pf_cache_usage(folder, db, &usage);
    ok(usage.entries == 1, "and can be used again");
    pf_buf_free(&value);
    pf_cachedb_free(db);
}

static void test_place(const char *folder)
{
    char path[300];
    snprintf(path, sizeof path, "%s/not/there/yet", folder);
    char *place = pf_cache_db_folder(path), *none = pf_cache_db_folder(NULL);
    ok(place && !strcmp(place, path), "on a local disk the database stands in the cache's folder");
    ok(!none, "where there is no cache there is none");
    free(place);
    place = pf_cache_db_folder("/proc/self"); /* neither remote nor writable */
    ok(place != NULL, "it need not be writable");
    free(place);
}

int main(void)
{
    static void (*const tests[])(const char *folder) = {test_files, test_both, test_place};
    for (size_t i = 0; i < sizeof tests / sizeof *tests; i++) {
        char folder[64];
        temp_dir_make(folder);
        tests[i](folder);
        temp_dir_remove(folder);
    }
    return done();
}
