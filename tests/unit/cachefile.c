/* SPDX-License-Identifier: MIT */
#include "fs/profile/cache.h"
#include "fs/text/pack.h"

#include <dirent.h>
#include <pthread.h>
#include <stdatomic.h>

#include "tests/unit/tap.h"
#include "tests/unit/temp_dir.h"

static bool write_file(const char *folder, const char *name, const char *bytes, size_t size)
{
    struct pf_buf payload = {.data = (char *)bytes, .size = size};
    return pf_cachefile_write(folder, name, &payload);
}

static bool reads(const char *folder, const char *name, const char *bytes, size_t size)
{
    size_t have = 12345;
    char *payload = pf_cachefile_read(folder, name, &have);
    bool same = payload && have == size && !memcmp(payload, bytes, size);
    free(payload);
    return same;
}

static bool is_refused(const char *folder, const char *name)
{
    size_t size;
    char *payload = pf_cachefile_read(folder, name, &size);
    free(payload);
    return !payload;
}

/* How many names there are in a folder. */
static int count(const char *folder)
{
    DIR *stream = opendir(folder);
    int n = 0;
    while (stream && readdir(stream))
        n++;
    closedir(stream);
    return n - 2;
}

static void test_round_trip(const char *folder)
{
    const char *cache = path_in(folder, "made/when/needed");
    struct stat st;
    char large[100003];
    for (size_t i = 0; i < sizeof large; i++)
        large[i] = (char)(i * i);
    ok(is_refused(cache, "a.pfc"), "without a folder there is no file");
    ok(write_file(cache, "a.pfc", "payload", 7) && reads(cache, "a.pfc", "payload", 7),
       "what is written is read");
    ok(!stat(cache, &st) && (st.st_mode & 0777) == 0700, "the folder is its owner's alone");
    ok(write_file(cache, "a.pfc", large, sizeof large) && reads(cache, "a.pfc", large, sizeof large),
       "a new file takes the place of the old");
    ok(write_file(cache, "b.pfc", "", 0) && reads(cache, "b.pfc", "", 0), "a payload may be empty");
    ok(count(cache) == 2, "nothing else is left there");
    struct pf_buf failed = {.failed = true};
    ok(!pf_cachefile_write(cache, "a.pfc", &failed) && reads(cache, "a.pfc", large, sizeof large),
       "a payload that memory ran out for is not written");
}

enum { WRITERS = 4, WRITES = 100, LARGE = 300000 };

static void *write_often(void *arg)
{
    static atomic_uint started;
    unsigned number = atomic_fetch_add(&started, 1) % WRITERS;
    size_t size = LARGE + number;
    char *payload = malloc(size);
    memset(payload, 'a' + (int)number, size);
    for (int i = 0; i < WRITES; i++)
        write_file(arg, "shared.pfc", payload, size);
    free(payload);
    return NULL;
}

static void test_two_writers(const char *folder)
{
    const char *cache = strdup(path_in(folder, "shared"));
    pthread_t threads[WRITERS];
    bool whole = write_file(cache, "shared.pfc", "", 0);
    for (int i = 0; i < WRITERS; i++)
        pthread_create(&threads[i], NULL, write_often, (void *)(uintptr_t)cache);
    for (int i = 0; i < WRITES; i++)
        whole &= !is_refused(cache, "shared.pfc");
    for (int i = 0; i < WRITERS; i++)
        pthread_join(threads[i], NULL);
    ok(whole && !is_refused(cache, "shared.pfc"),
       "a file that several threads write at once is one of theirs");
    ok(count(cache) == 1, "and nothing else is left");
    free((void *)(uintptr_t)cache);
}

static void test_damage(const char *folder)
{
    char payload[200], file[300];
    for (size_t i = 0; i < sizeof payload; i++)
        payload[i] = (char)(i * 7);
    write_file(folder, "whole", payload, sizeof payload);
    int fd = open(path_in(folder, "whole"), O_RDONLY);
    ssize_t size = read(fd, file, sizeof file);
    close(fd);
    ok(size == 224, "a file is its payload and 24 bytes");
    bool truncated = true, flipped = true;
    for (ssize_t n = 0; n < size; n++) {
        write_bytes(folder, "bad", file, (size_t)n);
        truncated &= is_refused(folder, "bad");
    }
    ok(truncated, "a file that is cut anywhere is refused");
    for (ssize_t n = 0; n < size; n++)
        for (int bit = 0; bit < 8; bit++) {
            file[n] = (char)(file[n] ^ 1 << bit);
            write_bytes(folder, "bad", file, (size_t)size);
            flipped &= is_refused(folder, "bad");
            file[n] = (char)(file[n] ^ 1 << bit);
        }
    ok(flipped, "so is one with any bit flipped");
    memset(file + size, 0, sizeof file - (size_t)size);
    write_bytes(folder, "bad", file, (size_t)size + 8);
    ok(is_refused(folder, "bad"), "or with bytes behind its end");
    memset(file + 8, 0xff, 8);
    write_bytes(folder, "bad", file, (size_t)size);
    ok(is_refused(folder, "bad"), "or that tells a length of all memory");
    write_bytes(folder, "bad", file, (size_t)size);
    ok(!truncate(path_in(folder, "bad"), INT64_C(1) << 40) && is_refused(folder, "bad"),
       "or is as long as that");
    make_folder(folder, "folder");
    ok(is_refused(folder, "folder"), "a folder is no cache file");
    ok(!symlink("whole", path_in(folder, "link")) && is_refused(folder, "link"), "nor is a link");
    ok(!mkfifo(path_in(folder, "fifo"), 0600) && is_refused(folder, "fifo"),
       "nor a FIFO, which is not waited for");
    ok(reads(folder, "whole", payload, sizeof payload), "the sound one still reads");
}

static void test_no_place(const char *folder)
{
    write_text(folder, "file", "not a folder");
    ok(!write_file(path_in(folder, "file"), "a.pfc", "x", 1), "where no folder can be, nothing is written");
    ok(!write_file(path_in(folder, "file/below"), "a.pfc", "x", 1), "nor below a file");
    ok(!write_file("/proc", "a.pfc", "x", 1), "nor in a folder that can't be written");
    make_folder(folder, "taken");
    make_folder(folder, "taken/a.pfc");
    ok(!write_file(path_in(folder, "taken"), "a.pfc", "x", 1) && count(path_in(folder, "taken")) == 1,
       "a write that fails leaves nothing behind");
}

/* ---- taking apart ------------------------------------------------------------------------------- */

static void test_unpacking(void)
{
    struct pf_buf out = {0};
    pf_pack_u64(&out, 7);
    pf_pack_u64(&out, UINT64_MAX);
    pf_buf_add(&out, "bytes", 5);
    struct pf_unpack in = {out.data, out.data + out.size, false};
    ok(pf_unpack_u64(&in) == 7 && pf_unpack_u64(&in) == UINT64_MAX,
       "numbers are unpacked as they were packed");
    char *array = pf_unpack_array(&in, 5, 1);
    ok(array && !memcmp(array, "bytes", 5) && !in.failed && in.at == in.end, "and runs of bytes");
    free(array);
    ok(pf_unpack_u64(&in) == 0 && in.failed, "past the end there are zeros and a failure");
    in = (struct pf_unpack){out.data, out.data + out.size, false};
    ok(!pf_unpack_array(&in, UINT64_MAX / 4, 8) && in.failed,
       "an array larger than all there is asks for no memory");
    ok(!pf_unpack_bytes(&in, 1) && pf_unpack_u64(&in) == 0, "and nothing is read after a failure");
    in = (struct pf_unpack){out.data, out.data + out.size, false};
    ok(!pf_unpack_bytes(&in, 22) && in.failed, "one byte too many is too many");
    pf_buf_free(&out);
}

int main(void)
{
    char folder[64];
    temp_dir_make(folder);
    test_round_trip(folder);
    test_two_writers(folder);
    test_damage(folder);
    test_no_place(folder);
    test_unpacking();
    temp_dir_remove(folder);
    return done();
}
