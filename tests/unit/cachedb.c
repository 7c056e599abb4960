/* SPDX-License-Identifier: MIT */
#include "fs/cache/cache.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sqlite3.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fs/cache/fields.h"
#include "tests/unit/tap.h"
#include "tests/unit/temp_dir.h"

static void queue(struct pf_cache *db, uint64_t key, const char *text)
{
    struct pf_buf value = {0};
    pf_buf_str(&value, text);
    pf_cache_put(db, NULL, 1 + key, PF_DATUM_EXCERPT, 0, &value);
    pf_buf_free(&value);
}

static void put(struct pf_cache *db, uint64_t key, const char *text)
{
    queue(db, key, text);
    pf_cache_flush(db);
}

/* True if the cache holds exactly this text under the key (NULL: no text). */
static bool has(struct pf_cache *db, uint64_t key, const char *text)
{
    size_t size = 0;
    char *value = pf_cache_get(db, 1 + key, PF_DATUM_EXCERPT, 0, &size, NULL);
    bool same = text ? value && size == strlen(text) && !memcmp(value, text, size) : !value;
    free(value);
    return same;
}

static size_t files_in(const char *folder)
{
    struct stat st;
    return !stat(path_in(folder, PF_CACHE_NAME), &st);
}

static void test_keeps(const char *folder)
{
    struct pf_cache *db = pf_cache_new(folder);
    struct stat st;
    ok(has(db, 1, NULL) && files_in(folder) == 0, "a get creates no file");
    put(db, 1, "one");
    put(db, UINT64_MAX - 1, "last");
    ok(has(db, 1, "one") && has(db, UINT64_MAX - 1, "last") && has(db, 2, NULL),
       "a datum is found under its own key only");
    put(db, 1, "another");
    ok(has(db, 1, "another"), "a second put replaces the first");
    ok(!stat(path_in(folder, PF_CACHE_NAME), &st) && (st.st_mode & 0777) == 0600,
       "only the owner of the database can read it");
    struct pf_cache *other = pf_cache_new(folder);
    ok(has(other, 1, "another"), "a second connection finds the datum");
    put(other, 3, "three");
    ok(has(db, 3, "three"), "the first connection finds the datum of the second");
    pf_cache_free(other);
    pf_cache_free(db);
    db = pf_cache_new(folder);
    ok(has(db, 3, "three"), "a later process finds the datum");
    pf_cache_free(db);
}

/* Returns the counter in the database file's header, which each transaction increments. */
static uint32_t transactions(const char *folder)
{
    enum { COUNTER_AT = 24 };
    unsigned char bytes[4] = {0};
    int fd = open(path_in(folder, PF_CACHE_NAME), O_RDONLY);
    if (fd < 0 || pread(fd, bytes, sizeof bytes, COUNTER_AT) != sizeof bytes)
        abort();
    close(fd);
    return (uint32_t)bytes[0] << 24 | (uint32_t)bytes[1] << 16 | (uint32_t)bytes[2] << 8 | bytes[3];
}

static void test_queue(const char *folder)
{
    struct pf_cache *db = pf_cache_new(folder), *other = pf_cache_new(folder);
    put(db, 0, "zero");
    uint32_t before = transactions(folder);
    for (uint64_t key = 1; key < 64; key++)
        queue(db, key, "text");
    ok(transactions(folder) == before && has(other, 1, NULL), "data are queued before they are written");
    queue(db, 64, "text");
    ok(transactions(folder) == before + 1 && has(other, 1, "text") && has(other, 64, "text"),
       "64 data are written in one transaction");
    queue(db, 65, "one");
    queue(db, 65, "two");
    queue(db, 66, "three");
    ok(has(db, 65, "two") && has(db, 66, "three"), "queued data are found, the last one of each key");
    char *long_text = calloc(1, 700001);
    if (!long_text)
        abort();
    memset(long_text, 'x', 700000);
    queue(db, 67, long_text);
    bool queued = has(other, 67, NULL);
    queue(db, 68, long_text);
    ok(queued && has(other, 67, long_text) && has(other, 68, long_text),
       "data of 1 MB are not left in the queue");
    free(long_text);
    queue(db, 69, "text");
    pf_cache_clear(db);
    ok(has(db, 69, NULL), "clearing the cache drops queued data");
    queue(db, 70, "text");
    usleep(1100000);
    queue(db, 71, "text");
    ok(has(other, 70, "text"), "a datum is not queued for more than a second while others are put");
    queue(db, 72, "text");
    pf_cache_free(db);
    ok(has(other, 72, "text"), "queued data are written when the cache is freed");
    pf_cache_free(other);
}

static void test_new_folder(const char *folder)
{
    char path[300];
    snprintf(path, sizeof path, "%s/a/b", folder);
    struct pf_cache *db = pf_cache_new(path);
    put(db, 1, "one");
    ok(has(db, 1, "one"), "the cache's folder is created if needed");
    pf_cache_free(db);
}

static void test_large(const char *folder)
{
    enum { LARGE = 5 << 20 };
    struct pf_cache *db = pf_cache_new(folder), *other = pf_cache_new(folder);
    struct pf_buf value = {0};
    size_t size = 0;
    for (unsigned i = 0; i < LARGE / sizeof i; i++)
        pf_buf_add(&value, (const char *)&i, sizeof i);
    pf_cache_put(db, NULL, 1, PF_DATUM_PASSES, 3, &value);
    char *stored = pf_cache_get(other, 1, PF_DATUM_PASSES, 3, &size, NULL);
    ok(stored && size == value.size && !memcmp(stored, value.data, size),
       "a datum of several parts is read completely");
    free(stored);
    ok(!pf_cache_get(other, 1, PF_DATUM_PASSES, 2, &size, NULL) &&
           !pf_cache_get(other, 1, PF_DATUM_EXCERPT, 3, &size, NULL),
       "a datum is found only under its type and number");
    value.size = 1000;
    pf_cache_put(db, NULL, 1, PF_DATUM_PASSES, 3, &value);
    value.size = LARGE;
    pf_cache_put(db, NULL, 1, PF_DATUM_PASSES, 3, &value);
    stored = pf_cache_get(db, 1, PF_DATUM_PASSES, 3, &size, NULL);
    ok(stored && size == value.size, "a datum of several parts replaces a queued one");
    free(stored);
    value.size = 1000;
    pf_cache_put(other, NULL, 1, PF_DATUM_PASSES, 3, &value);
    pf_cache_flush(other);
    stored = pf_cache_get(db, 1, PF_DATUM_PASSES, 3, &size, NULL);
    ok(stored && size == 1000 && !memcmp(stored, value.data, size),
       "a shorter datum replaces one of several parts");
    free(stored);
    value.size = LARGE;
    pf_cache_put(db, NULL, 1, PF_DATUM_PASSES, 3, &value);
    sqlite3 *sqlite;
    sqlite3_open(path_in(folder, PF_CACHE_NAME), &sqlite);
    sqlite3_exec(sqlite, "DELETE FROM datum WHERE part = 3", NULL, NULL, NULL);
    sqlite3_close(sqlite);
    ok(!pf_cache_get(db, 1, PF_DATUM_PASSES, 3, &size, NULL), "a datum with a missing part is not found");
    pf_buf_free(&value);
    pf_cache_free(db);
    pf_cache_free(other);
}

/* ---- heads -------------------------------------------------------------------------------------- */

/* In these tests, each letter of a head represents an input. True if `head` contains all letters of `other`. */
static bool has_letters(const struct pf_cache_head *head, const struct pf_cache_head *other)
{
    for (size_t i = 0; i < other->size; i++)
        if (!memchr(head->bytes, other->bytes[i], head->size))
            return false;
    return true;
}

static void put_under(struct pf_cache *db, const char *letters, uint64_t number, const char *text)
{
    struct pf_cache_head head = {letters, strlen(letters), has_letters};
    struct pf_buf value = {0};
    pf_buf_str(&value, text);
    pf_cache_put(db, &head, 1, PF_DATUM_EXCERPT, number, &value);
    pf_cache_flush(db);
    pf_buf_free(&value);
}

/* True if the cache holds `text` (NULL: no text) under the number, with a head of these letters. */
static bool has_under(struct pf_cache *db, const char *letters, uint64_t number, const char *text)
{
    size_t size = 0;
    struct pf_buf head = {0};
    char *value = pf_cache_get(db, 1, PF_DATUM_EXCERPT, number, &size, &head);
    bool same = text ? value && size == strlen(text) && !memcmp(value, text, size) &&
                           head.size == strlen(letters) && !memcmp(head.data, letters, head.size)
                     : !value;
    pf_buf_free(&head);
    free(value);
    return same;
}

static void test_heads(const char *folder)
{
    struct pf_cache *db = pf_cache_new(folder), *other = pf_cache_new(folder);
    put_under(db, "ab", 1, "one");
    put_under(other, "b", 2, "two");
    ok(has_under(db, "ab", 1, "one") && has_under(db, "ab", 2, "two"),
       "data that depend on fewer inputs are added under the larger head");
    put_under(other, "cab", 3, "three");
    ok(has_under(db, "cab", 1, "one") && has_under(db, "cab", 3, "three"),
       "data that depend on more inputs bring the larger head with them");
    put_under(db, "ad", 4, "four");
    ok(has_under(db, "", 1, NULL) && has_under(db, "", 3, NULL) && has_under(db, "ad", 4, "four"),
       "data of another version replace all others");
    put(db, 0, "five");
    ok(has_under(db, "", 4, NULL) && has(db, 0, "five"),
       "heads that cannot be compared differ unless they are equal");
    pf_cache_free(other);
    pf_cache_free(db);
}

static void queue_field(struct pf_cache *db, const char *facts, uint64_t number, const char *text)
{
    struct pf_buf fields = {0};
    if (*facts)
        pf_fields_add(&fields, PF_FIELD_FACTS, 0, facts, strlen(facts));
    pf_fields_add(&fields, PF_FIELD_TEXT, number, text, strlen(text));
    pf_cache_put(db, NULL, 1, PF_DATUM_TREE, 0, &fields);
    pf_buf_free(&fields);
}

static void put_field(struct pf_cache *db, const char *facts, uint64_t number, const char *text)
{
    queue_field(db, facts, number, text);
    pf_cache_flush(db);
}

/* Checks the stored fields: `want` has their texts in order, each followed by a space. */
static void fields_are(struct pf_cache *db, const char *want, const char *name)
{
    struct pf_buf fields = {0};
    struct pf_field field;
    char texts[100] = "";
    fields.data = pf_cache_get(db, 1, PF_DATUM_TREE, 0, &fields.size, NULL);
    for (const char *at = NULL; fields.data && (at = pf_fields_next(&fields, at, &field));)
        snprintf(texts + strlen(texts), sizeof texts - strlen(texts), "%.*s ", (int)field.size, at);
    is(texts, want, name);
    free(fields.data);
}

static void test_fields(const char *folder)
{
    struct pf_cache *db = pf_cache_new(folder), *other = pf_cache_new(folder);
    put_field(db, "", 1, "one");
    put_field(other, "", 2, "two");
    fields_are(db, "two one ", "fields of two writers of an origin are merged");
    put_field(db, "", 1, "uno");
    fields_are(other, "uno two ", "a newer field replaces the one with its key");
    put_field(db, "facts", 3, "three");
    fields_are(other, "facts three ", "fields that depend on other facts are replaced");
    put_field(db, "facts", 4, "four");
    fields_are(other, "facts four three ", "fields that depend on the same facts stay");
    queue_field(db, "facts", 3, "tres");
    queue_field(db, "facts", 5, "five");
    fields_are(db, "facts five tres four ", "fields that are written in one transaction are merged");
    pf_cache_free(other);
    pf_cache_free(db);
}

static void test_sound_fields(void)
{
    struct pf_buf fields = {0};
    pf_fields_add(&fields, PF_FIELD_TEXT, 1, "text", 4);
    pf_fields_add(&fields, PF_FIELD_SIZE, 2, "", 0);
    unsigned sound = 0;
    for (size_t size = 1; size <= fields.size; size++)
        sound += pf_fields_are_sound(fields.data, size);
    ok(sound == 2 && pf_fields_are_sound(fields.data, fields.size), "only complete fields are sound");
    memset(fields.data + 12, 0xff, 4);
    ok(!pf_fields_are_sound(fields.data, fields.size), "a field that exceeds the datum is not sound");
    pf_buf_free(&fields);
}

static void test_key(const char *folder)
{
    struct pf_cache *db = pf_cache_new(folder), *other = pf_cache_new(folder);
    uint64_t key = pf_cache_key(db, "origin", 6);
    pf_cache_key(other, "origin", 6);
    ok(files_in(folder) == 0, "a key creates no file");
    queue(db, 1, "one");
    queue(other, 2, "two");
    ok(pf_cache_key(db, "origin", 6) == key && pf_cache_key(other, "origin", 6) == key,
       "after their first puts, processes that start together have the same key of an origin");
    pf_cache_free(other);
    pf_cache_free(db);
    db = pf_cache_new(folder);
    ok(pf_cache_key(db, "origin", 6) == key, "an origin has the same key in each process");
    ok(pf_cache_key(db, "other", 5) != key, "another origin has another key");
    pf_cache_clear(db);
    pf_cache_free(db);
    db = pf_cache_new(folder);
    ok(pf_cache_key(db, "origin", 6) == key && has(db, 1, NULL),
       "an origin has the same key after the cache was cleared");
    pf_cache_free(db);
    db = pf_cache_new(path_in(folder, "elsewhere"));
    ok(pf_cache_key(db, "origin", 6) != key, "an origin has another key in another cache");
    pf_cache_free(db);
}

static void test_nothing_beside(const char *folder)
{
    struct pf_cache *db = pf_cache_new(folder);
    put(db, 1, "one");
    static const char *const beside[] = {PF_CACHE_NAME "-wal", PF_CACHE_NAME "-shm"};
    ok(access(path_in(folder, beside[0]), F_OK) && access(path_in(folder, beside[1]), F_OK),
       "no file next to the database is created");
    /* Drops the POSIX locks of this process, as any close of the file in the same process does. */
    close(open(path_in(folder, PF_CACHE_NAME), O_RDONLY));
    struct pf_cache *other = pf_cache_new(folder);
    put(other, 2, "two");
    put(db, 3, "three");
    ok(has(db, 2, "two") && has(other, 3, "three"),
       "two writers share the database after their locks are lost");
    pf_cache_free(other);
    pf_cache_free(db);
}

static void test_place(const char *folder)
{
    char path[300];
    snprintf(path, sizeof path, "%s/not/there/yet", folder);
    char *location = pf_cache_location(path), *none = pf_cache_location(NULL);
    ok(location && !strcmp(location, path), "on a local disk the database is in the cache's folder");
    ok(!none, "an unusable folder has no database");
    free(location);
    location = pf_cache_location("/proc/self"); /* a local but read-only file system */
    ok(location != NULL, "the cache's folder need not be writable to have a database");
    free(location);
}

/* Overwrites the file while no connection has it open, then uses the cache. */
static void test_damaged(const char *folder)
{
    unsigned wrong = 0, lost = 0;
    char text[2000];
    memset(text, 'x', sizeof text);
    text[sizeof text - 1] = 0;
    for (unsigned n = 0; n < 60; n++) {
        struct pf_cache *db = pf_cache_new(folder);
        for (uint64_t key = 0; key < 20; key++)
            put(db, key, text);
        pf_cache_free(db);
        int fd = open(path_in(folder, PF_CACHE_NAME), O_RDWR);
        off_t size = lseek(fd, 0, SEEK_END);
        if (n % 3 == 2) {
            if (ftruncate(fd, size * (off_t)(n % 7) / 7))
                abort();
        } else {
            for (unsigned i = 0; i < 1 + n % 5; i++) {
                off_t at = (off_t)((n * 7919u + i * 104729u) % (unsigned)size);
                if (pwrite(fd, n % 2 ? "\xff\xff\xff\xff" : "\0", n % 2 ? 4 : 1, at) < 0)
                    abort();
            }
        }
        close(fd);
        db = pf_cache_new(folder);
        for (uint64_t key = 0; key < 20; key++) {
            lost += has(db, key, NULL);
            wrong += !has(db, key, NULL) && !has(db, key, text);
        }
        put(db, 1, "new");
        put(db, 1, "new");
        pf_cache_free(db);
        db = pf_cache_new(folder);
        wrong += !has(db, 1, "new");
        pf_cache_free(db);
    }
    ok(wrong == 0, "a damaged file yields no wrong data, and is recreated if it is unusable: %u", wrong);
    ok(lost > 0, "damage loses some data: %u", lost);
}

static void test_foreign(const char *folder)
{
    sqlite3 *foreign;
    sqlite3_open(path_in(folder, PF_CACHE_NAME), &foreign);
    sqlite3_exec(foreign, "CREATE TABLE kept(key TEXT, value TEXT); INSERT INTO kept VALUES('a', 'b')", NULL,
                 NULL, NULL);
    sqlite3_close(foreign);
    struct pf_cache *db = pf_cache_new(folder);
    ok(has(db, 1, NULL), "no data is read from a foreign database");
    put(db, 1, "one");
    put(db, 1, "one");
    ok(has(db, 1, "one"), "a foreign database is replaced by a new one");
    pf_cache_free(db);
    unlink(path_in(folder, PF_CACHE_NAME));
    make_folder(folder, PF_CACHE_NAME);
    db = pf_cache_new(folder);
    put(db, 1, "one");
    ok(has(db, 1, NULL), "nothing is cached if the path is a folder");
    pf_cache_free(db);
    rmdir(path_in(folder, PF_CACHE_NAME));
    if (symlink("/nonexistent/elsewhere", path_in(folder, PF_CACHE_NAME)))
        abort();
    db = pf_cache_new(folder);
    put(db, 1, "one");
    ok(has(db, 1, NULL), "nothing is cached if the path is a symbolic link");
    pf_cache_free(db);
    unlink(path_in(folder, PF_CACHE_NAME));
}

static void test_locked(const char *folder)
{
    struct pf_cache *db = pf_cache_new(folder);
    put(db, 1, "one");
    sqlite3 *other;
    sqlite3_open(path_in(folder, PF_CACHE_NAME), &other);
    sqlite3_exec(other, "BEGIN IMMEDIATE", NULL, NULL, NULL);
    put(db, 2, "two");
    ok(has(db, 1, "one") && has(db, 2, NULL),
       "while another connection writes, gets succeed and puts stay queued");
    sqlite3_exec(other, "COMMIT; BEGIN EXCLUSIVE", NULL, NULL, NULL);
    ok(has(db, 1, NULL), "while another connection commits, gets miss");
    struct pf_cache *late = pf_cache_new(folder);
    put(late, 3, "three");
    ok(has(late, 3, NULL), "a get does not wait for another connection's lock");
    sqlite3_exec(other, "COMMIT", NULL, NULL, NULL);
    sqlite3_close(other);
    ok(has(db, 1, "one") && has(db, 2, "two"),
       "gets and puts succeed after another connection has unlocked the database");
    pf_cache_free(late);
    pf_cache_free(db);
}

static void test_full_queue(const char *folder)
{
    struct pf_cache *db = pf_cache_new(folder);
    char *text = calloc(1, 800001);
    if (!text)
        abort();
    memset(text, 'x', 800000);
    put(db, 1, "one");
    sqlite3 *other;
    sqlite3_open(path_in(folder, PF_CACHE_NAME), &other);
    sqlite3_exec(other, "BEGIN IMMEDIATE", NULL, NULL, NULL);
    for (uint64_t key = 2; key < 5; key++)
        queue(db, key, text);
    queue(db, 5, text);
    sqlite3_exec(other, "COMMIT", NULL, NULL, NULL);
    sqlite3_close(other);
    ok(has(db, 2, NULL) && has(db, 4, NULL) && has(db, 5, text),
       "while another connection writes, at most 2 MB stay queued");
    free(text);
    pf_cache_free(db);
}

/* Simulates a full disk by limiting the size of files. */
static void test_full(const char *folder)
{
    struct rlimit before, small = {200000, 200000};
    char text[4000];
    memset(text, 'x', sizeof text);
    text[sizeof text - 1] = 0;
    fflush(stdout); /* otherwise the child would print it again */
    pid_t child = fork();
    if (!child) {
        unsigned wrong = 0;
        signal(SIGXFSZ, SIG_IGN);
        getrlimit(RLIMIT_FSIZE, &before);
        small.rlim_max = before.rlim_max;
        setrlimit(RLIMIT_FSIZE, &small);
        struct pf_cache *db = pf_cache_new(folder);
        for (uint64_t key = 0; key < 200; key++)
            put(db, key, text);
        for (uint64_t key = 0; key < 200; key++)
            wrong += !has(db, key, NULL) && !has(db, key, text);
        pf_cache_free(db);
        _exit(wrong ? 1 : 0);
    }
    int status;
    waitpid(child, &status, 0);
    ok(status == 0, "gets from a full disk return right data or none");
    struct pf_cache *db = pf_cache_new(folder);
    put(db, 1000, text);
    ok(has(db, 1000, text), "puts succeed once there is space again");
    pf_cache_free(db);
}

/* Child processes put data until they are killed at arbitrary moments. */
static void test_killed(const char *folder)
{
    unsigned wrong = 0;
    fflush(stdout);
    for (unsigned n = 0; n < 20; n++) {
        pid_t children[2];
        for (unsigned c = 0; c < 2; c++) {
            children[c] = fork();
            if (!children[c]) {
                struct pf_cache *db = pf_cache_new(folder);
                char text[300];
                for (uint64_t key = 0;; key++) {
                    memset(text, 'a' + (int)(key % 26), sizeof text - 1);
                    text[sizeof text - 1] = 0;
                    put(db, key % 500, text);
                }
            }
        }
        usleep(3000 + n * 1000);
        for (unsigned c = 0; c < 2; c++) {
            kill(children[c], SIGKILL);
            waitpid(children[c], NULL, 0);
        }
        struct pf_cache *db = pf_cache_new(folder);
        for (uint64_t key = 0; key < 500; key++) {
            size_t size;
            char *value = pf_cache_get(db, 1 + key, PF_DATUM_EXCERPT, 0, &size, NULL);
            wrong += value && (size != 3 || memcmp(value, "one", 3) != 0) &&
                     (size != 299 || value[0] != value[298]);
            free(value);
        }
        put(db, 1, "one");
        wrong += !has(db, 1, "one");
        pf_cache_free(db);
    }
    ok(wrong == 0, "two writers that are killed at any moment leave no wrong data: %u", wrong);
}

static void test_prune(const char *folder)
{
    uint64_t entries, bytes, before;
    char text[4000];
    memset(text, 'x', sizeof text);
    text[sizeof text - 1] = 0;
    struct pf_cache *db = pf_cache_new(folder);
    for (uint64_t key = 0; key < 500; key++)
        put(db, key, text);
    pf_cache_usage(db, &entries, &before);
    ok(entries == 500 && before > 500 * sizeof text, "the size of the database is known");
    pf_cache_prune(db, 1 << 30, 90);
    pf_cache_usage(db, &entries, &bytes);
    ok(entries == 500, "pruning keeps data below the limit");
    pf_cache_prune(db, 400000, 90);
    pf_cache_usage(db, &entries, &bytes);
    ok(bytes <= 400000 && entries > 50, "pruning evicts data beyond the limit: %llu are left",
       (unsigned long long)entries);
    struct stat st;
    pf_cache_free(db);
    ok(!stat(path_in(folder, PF_CACHE_NAME), &st) && st.st_size < 600000, "pruning shrinks the file");
}

enum { ROWS = 20000 };

struct getter {
    struct pf_cache *db;
    atomic_uint gets, midway;
    atomic_bool stop;
};

static bool is_kept(struct pf_cache *db, uint64_t key)
{
    size_t size;
    char *value = pf_cache_get(db, 1 + key, PF_DATUM_EXCERPT, 0, &size, NULL);
    free(value);
    return value;
}

/* Counts how often the row that is evicted first is missing while a row that is evicted later is still present. */
static void *get_until_stopped(void *arg)
{
    struct getter *getter = arg;
    while (!getter->stop) {
        getter->midway += !is_kept(getter->db, 1) && is_kept(getter->db, ROWS / 2);
        getter->gets++;
    }
    return NULL;
}

/* Prunes several times: a get between two transactions depends on the scheduler. */
static void test_get_during_prune(const char *folder)
{
    enum { ROUNDS = 50 };
    struct getter getter = {.db = pf_cache_new(folder)};
    pthread_t thread;
    bool started = false, pruned = true;
    for (unsigned round = 0; round < ROUNDS && !getter.midway && pruned; round++) {
        for (uint64_t key = 1; key <= ROWS; key++)
            queue(getter.db, key, "some text that is neither very short nor long");
        if (!started && pthread_create(&thread, NULL, get_until_stopped, &getter))
            abort();
        started = true;
        while (!getter.gets)
            usleep(1000);
        pf_cache_prune(getter.db, 50000, 90);
        pruned = !is_kept(getter.db, 1) && !is_kept(getter.db, ROWS / 2);
    }
    getter.stop = true;
    pthread_join(thread, NULL);
    ok(pruned && getter.midway, "gets succeed while the database is pruned: %u times",
       (unsigned)getter.midway);
    pf_cache_free(getter.db);
}

int main(void)
{
    static void (*const tests[])(const char *folder) = {
        test_keeps,           test_queue,   test_new_folder, test_large,
        test_heads,           test_fields,  test_key,        test_nothing_beside,
        test_place,           test_damaged, test_foreign,    test_locked,
        test_full_queue,      test_full,    test_killed,     test_prune,
        test_get_during_prune};
    for (size_t i = 0; i < sizeof tests / sizeof *tests; i++) {
        char folder[64];
        temp_dir_make(folder);
        tests[i](folder);
        temp_dir_remove(folder);
    }
    test_sound_fields();
    return done();
}
