/* SPDX-License-Identifier: MIT */
#include "formats/kit/store.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/unit/tap.h"

static bool holds(const struct pf_store *store, uint64_t offset, const char *bytes, size_t size)
{
    struct pf_error error;
    char *have = malloc(size + 1);
    bool same = !pf_store_read(store, offset, have, size, &error) && !memcmp(have, bytes, size);
    free(have);
    return same;
}

/* The same appends, writes and reads give the same result with any limit. */
static void check_store(const char *name, uint64_t limit)
{
    struct pf_error error = {0};
    struct pf_store *store = pf_store_new(limit);
    char block[1000], zeros[512] = {0};
    bool appended = true, right = true;
    ok(pf_store_size(store) == 0 && !pf_store_read(store, 0, block, 0, &error), "%s: a new store is empty",
       name);
    for (int i = 0; i < 200; i++) {
        memset(block, 'a' + i % 26, sizeof block);
        appended &= !pf_store_append(store, block, (size_t)i * 5, &error);
    }
    uint64_t size = pf_store_size(store), at = 0;
    ok(appended && size == 199 * 200 / 2 * 5, "%s: the size of the store is the number of appended bytes",
       name);
    for (int i = 0; i < 200; at += (uint64_t)i++ * 5) {
        memset(block, 'a' + i % 26, sizeof block);
        right &= holds(store, at, block, (size_t)i * 5);
    }
    ok(right, "%s: appended bytes can be read", name);
    ok(!pf_store_write(store, 100, "0123456789", 10, &error) && pf_store_size(store) == size &&
           holds(store, 100, "0123456789", 10),
       "%s: bytes can be overwritten", name);
    ok(!pf_store_write(store, size + 512, "end", 3, &error) && pf_store_size(store) == size + 515 &&
           holds(store, size, zeros, 512) && holds(store, size + 512, "end", 3),
       "%s: a write beyond the end fills the gap with zeros", name);
    ok(pf_store_read(store, size + 510, block, 6, &error) && error.code == EIO,
       "%s: a read beyond the end fails", name);
    ok(pf_store_read(store, UINT64_MAX - 2, block, 6, &error) && error.code == EIO,
       "%s: a read at a huge offset fails", name);
    ok(pf_store_write(store, UINT64_MAX - 2, "overflow", 8, &error) && error.code == EFBIG,
       "%s: a write beyond the largest file size is refused", name);
    ok((pf_store_memory(store) != NULL) == (limit > size + 515),
       "%s: a store is in memory only below its limit", name);
    bool expected =
        !pf_store_expect(store, 1, &error) && (pf_store_memory(store) != NULL) == (limit > size + 515);
    ok(expected && !pf_store_expect(store, UINT64_MAX, &error) && !pf_store_memory(store),
       "%s: a store that is told to expect more bytes than its limit moves to a file", name);
    ok(holds(store, size + 512, "end", 3) && !pf_store_append(store, "more", 4, &error) &&
           holds(store, size + 515, "more", 4),
       "%s: a store that has moved to a file can be read and appended to", name);
    pf_store_free(store);
}

static void test_folders(void)
{
    struct pf_error error = {0};
    struct stat st;
    setenv("TMPDIR", "/nowhere/at/all", 1);
    ok(pf_spill_file(&error) < 0 && error.code == ENOENT,
       "creating a temporary file without a folder for it fails");
    struct pf_store *store = pf_store_new(10);
    ok(!pf_store_append(store, "0123456789", 10, &error),
       "an append that fits in memory needs no temporary file");
    ok(pf_store_append(store, "x", 1, &error) && pf_store_size(store) == 10 &&
           holds(store, 0, "0123456789", 10),
       "a failed append leaves the store as it was");
    setenv("TMPDIR", "/tmp", 1);
    ok(!pf_store_append(store, "x", 1, &error) && holds(store, 0, "0123456789x", 11),
       "a failed append can be repeated");
    pf_store_free(store);
    int fd = pf_spill_file(&error);
    ok(fd >= 0 && !fstat(fd, &st) && st.st_nlink == 0, "temporary files have no name");
    close(fd);
}

/* Returns the number of read calls of this process; 0 if the kernel does not count them. */
static unsigned long reads(void)
{
    char line[64];
    unsigned long count = 0;
    FILE *io = fopen("/proc/self/io", "r");
    while (io && fgets(line, sizeof line, io))
        sscanf(line, "syscr: %lu", &count);
    if (io)
        fclose(io);
    return count;
}

enum { ROWS = 100000 };

/* Reads three rows like a binary search that ends at `row`. */
static bool look_at_row(const struct pf_store *store, uint32_t row)
{
    struct pf_error error;
    struct pf_store_window window = {.store = store};
    uint32_t numbers[3], wanted[] = {ROWS / 2, row / 2, row};
    bool right = true;
    for (size_t i = 0; i < 3; i++) {
        const void *at = pf_store_at(&window, (uint64_t)wanted[i] * sizeof numbers, sizeof numbers, &error);
        right &= at != NULL;
        if (at)
            memcpy(numbers, at, sizeof numbers);
        right &= at && numbers[0] == wanted[i] && numbers[2] == wanted[i];
    }
    pf_store_window_free(&window);
    return right;
}

static void test_windows(void)
{
    struct pf_error error = {0};
    struct pf_store *store = pf_store_new(1000);
    bool right = store != NULL;
    for (uint32_t i = 0; i < ROWS && right; i++)
        right = !pf_store_append(store, (uint32_t[]){i, 0, i}, 12, &error);
    unsigned long before = reads();
    for (uint32_t i = 0; i < ROWS && right; i++)
        right = look_at_row(store, i);
    ok(right, "a window shows the bytes that were appended");
    ok(reads() - before < ROWS / 20, "windows on neighbouring rows share what they read");

    struct pf_store_window window = {.store = store}, other = {.store = store};
    uint32_t wide = 7;
    const unsigned char *held = pf_store_at(&window, 0, 12, &error);
    for (uint32_t i = 0; i < ROWS; i += 1000)
        right &= pf_store_at(&other, (uint64_t)i * 12, 12, &error) != NULL;
    ok(right && held && !memcmp(held, (uint32_t[]){0, 0, 0}, 12),
       "a window keeps its bytes while other windows are read");
    const unsigned char *large = pf_store_at(&window, 12, 12 * (ROWS - 1), &error);
    ok(large && !memcmp(large + (ROWS - 2) * 12, (uint32_t[]){ROWS - 1, 0, ROWS - 1}, 12),
       "a window may show a whole store");
    pf_store_window_free(&window);
    ok(!pf_store_write(store, 4, &wide, sizeof wide, &error) &&
           (held = pf_store_at(&window, 0, 12, &error)) && !memcmp(held, (uint32_t[]){0, 7, 0}, 12),
       "a window that is opened after a write shows what was written");
    ok(!pf_store_at(&window, (uint64_t)ROWS * 12 - 4, 8, &error) && error.code == EIO,
       "a window beyond the end fails");
    pf_store_window_free(&window);
    pf_store_window_free(&other);
    pf_store_free(store);
}

int main(void)
{
    test_windows();
    check_store("in memory", 1 << 20);
    check_store("spilled half-way", 40000);
    check_store("spilled at once", 0);
    test_folders();
    return done();
}
