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

/* The same appends, writes and reads, whatever the limit. */
static void check_store(const char *name, uint64_t limit)
{
    struct pf_error error = {0};
    struct pf_store *store = pf_store_new(limit);
    char block[1000], zeros[512] = {0};
    bool appended = true, right = true;
    ok(pf_store_size(store) == 0 && !pf_store_read(store, 0, block, 0, &error), "%s: a store begins empty",
       name);
    for (int i = 0; i < 200; i++) {
        memset(block, 'a' + i % 26, sizeof block);
        appended &= !pf_store_append(store, block, (size_t)i * 5, &error);
    }
    uint64_t size = pf_store_size(store), at = 0;
    ok(appended && size == 199 * 200 / 2 * 5, "%s: what is appended counts", name);
    for (int i = 0; i < 200; at += (uint64_t)i++ * 5) {
        memset(block, 'a' + i % 26, sizeof block);
        right &= holds(store, at, block, (size_t)i * 5);
    }
    ok(right, "%s: and reads as it was", name);
    ok(!pf_store_write(store, 100, "0123456789", 10, &error) && pf_store_size(store) == size &&
           holds(store, 100, "0123456789", 10),
       "%s: bytes can be overwritten", name);
    ok(!pf_store_write(store, size + 512, "end", 3, &error) && pf_store_size(store) == size + 515 &&
           holds(store, size, zeros, 512) && holds(store, size + 512, "end", 3),
       "%s: writing beyond the end leaves zeros between", name);
    ok(pf_store_read(store, size + 510, block, 6, &error) && error.code == EIO,
       "%s: reading beyond the end is an error", name);
    ok(pf_store_read(store, UINT64_MAX - 2, block, 6, &error) && error.code == EIO,
       "%s: also where the offset is huge", name);
    ok(pf_store_write(store, UINT64_MAX - 2, "overflow", 8, &error) && error.code == EFBIG,
       "%s: a position beyond all files is refused", name);
    ok((pf_store_memory(store) != NULL) == (limit > size + 515), "%s: in memory only below the limit", name);
    bool expected =
        !pf_store_expect(store, 1, &error) && (pf_store_memory(store) != NULL) == (limit > size + 515);
    ok(expected && !pf_store_expect(store, UINT64_MAX, &error) && !pf_store_memory(store),
       "%s: what it is told to expect counts", name);
    ok(holds(store, size + 512, "end", 3) && !pf_store_append(store, "more", 4, &error) &&
           holds(store, size + 515, "more", 4),
       "%s: and moves what it has, to be read and appended to as before", name);
    pf_store_free(store);
}

static void test_folders(void)
{
    struct pf_error error = {0};
    struct stat st;
    setenv("TMPDIR", "/nowhere/at/all", 1);
    ok(pf_spill_file(&error) < 0 && error.code == ENOENT,
       "without a folder for it there is no temporary file");
    struct pf_store *store = pf_store_new(10);
    ok(!pf_store_append(store, "0123456789", 10, &error), "what fits in memory needs none");
    ok(pf_store_append(store, "x", 1, &error) && pf_store_size(store) == 10 &&
           holds(store, 0, "0123456789", 10),
       "a failed append leaves the store as it was");
    setenv("TMPDIR", "/tmp", 1);
    ok(!pf_store_append(store, "x", 1, &error) && holds(store, 0, "0123456789x", 11), "and can be repeated");
    pf_store_free(store);
    int fd = pf_spill_file(&error);
    ok(fd >= 0 && !fstat(fd, &st) && st.st_nlink == 0, "temporary files have no name");
    close(fd);
}

int main(void)
{
    check_store("in memory", 1 << 20);
    check_store("spilled half-way", 40000);
    check_store("spilled at once", 0);
    test_folders();
    return done();
}
