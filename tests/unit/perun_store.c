/* SPDX-License-Identifier: MIT */
/* Tests the stored objects and indexes of Perun. */
#include <errno.h>

#include "formats/driver_extra.h"
#include "formats/kit/pass.h"
#include "tests/unit/perun_file.h"

#define JSON                                                                                                 \
    "{\"header\":{\"type\":\"time\"},\"resources\":{\"a#0\":{\"amount\":[1,2]}},\"resource_type_map\":{\"a#" \
    "0\":{\"uid\":\"a\"}}}"

/* ---- objects ------------------------------------------------------------------------------------ */

static void test_object(void)
{
    unsigned char *object;
    struct file file;
    char some[300] = {0};
    size_t size = stored_object("time", JSON, strlen(JSON), &object);
    ok(sureness(&pf_perun_driver, "434b28", object, size) == 32,
       "a stored object is recognised by its inflated header");
    file_open(&file, &pf_perun_driver, "434b28", object, size, 1 << 20);
    table_is(&file, "values", "all,a,time.amount,3|",
             "values of a stored object are read like those of a file");
    warnings_are(&file, "", "a stored object has no warnings");
    ok(pf_extra_of(&file.model)->n_blobs == 1 &&
           file.model.driver->extra->blob_read(&file.model, 0, some, sizeof some, 0, &file.error) ==
               sizeof JSON - 1 &&
           !strcmp(some, JSON),
       "a stored object carries its JSON");
    ok(file.model.driver->extra->blob_read(&file.model, 0, some, 5, 1, &file.error) == 5 &&
           !memcmp(some, "\"head", 5),
       "any part of the carried JSON can be read");
    file_close(&file);

    object = realloc(object, size + 9);
    memcpy(object + size, "trailing", 9);
    file_open(&file, &pf_perun_driver, "434b28", object, size + 9, 1 << 20);
    warnings_are(&file, "warning trailing-bytes|", "bytes after the stream are reported");
    file_close(&file);
    file_open(&file, &pf_perun_driver, "434b28", object, size - 20, 1 << 20);
    warnings_are(&file, "fatal bad-stream|warning no-entry|",
                 "a truncated stream is reported, and so is the missing half of a resource");
    file_close(&file);
    free(object);
}

static void test_bad_headers(void)
{
    unsigned char *object;
    struct file file;
    size_t size = stored_object("time", JSON, 17, &object);
    file_open(&file, &pf_perun_driver, "x", object, size, 1 << 20);
    table_is(&file, "values", "all,a,time.amount,3|", "values of an object with a wrong length are read");
    warnings_are(&file, "error bad-length|", "a wrong length is reported");
    file_close(&file);
    free(object);
    size = stored_object("", JSON, 17, &object);
    ok(sureness(&pf_perun_driver, "x", object, size) == 24, "an object with a damaged header is recognised");
    file_open(&file, &pf_perun_driver, "x", object, size, 1 << 20);
    ok(!file.opened && file.error.code == EBADMSG, "an object with a damaged header cannot be opened");
    file_close(&file);
    free(object);
    uLongf packed = 1000;
    object = malloc(packed);
    if (compress(object, &packed, (const unsigned char *)JSON, sizeof JSON - 1) != Z_OK)
        abort();
    ok(!sureness(&pf_perun_driver, "x", object, packed), "a stream of JSON without a header is rejected");
    free(object);
}

/* ---- indexes ------------------------------------------------------------------------------------ */

struct bytes {
    unsigned char at[2000];
    size_t size;
};

static void put(struct bytes *bytes, const void *more, size_t size)
{
    memcpy(bytes->at + bytes->size, more, size);
    bytes->size += size;
}

static void put_number(struct bytes *bytes, uint32_t number)
{
    unsigned char little[] = {(unsigned char)number, (unsigned char)(number >> 8),
                              (unsigned char)(number >> 16), (unsigned char)(number >> 24)};
    put(bytes, little, sizeof little);
}

static struct bytes index_of(uint32_t version, uint32_t entries)
{
    struct bytes bytes = {.size = 0};
    put(&bytes, "pidx", 4);
    put_number(&bytes, version);
    put_number(&bytes, entries);
    return bytes;
}

/* Writes an index entry: of version 2 with these strings, or if `strings` is NULL, of version 1, which has none. */
static void put_entry(struct bytes *bytes, uint32_t time, char object, const char *path,
                      const char *const *strings)
{
    unsigned char sha[20];
    memset(sha, object, sizeof sha);
    put_number(bytes, time);
    put(bytes, sha, sizeof sha);
    put(bytes, path, strlen(path) + 1);
    for (; strings && *strings; strings++) {
        put_number(bytes, (uint32_t)strlen(*strings));
        put(bytes, *strings, strlen(*strings));
    }
}

static struct file index_file(const char *name, const struct bytes *bytes)
{
    struct file file;
    file_open(&file, &pf_perun_index_driver, name, bytes->at, bytes->size, 1 << 20);
    return file;
}

#define SHA(x) x x x x x x x x x x x x x x x x x x x x

static void test_index(void)
{
    static const char *const five[] = {"time", "ls", "w", "time", "filter normalizer", NULL};
    static const char *const six[] = {"time", "ls", "w", "a label", "time", "", NULL};
    struct bytes bytes = index_of(2, 2);
    put_entry(&bytes, 100, '\x11', "a.perf", five);
    put_entry(&bytes, 4294967295u, '\x22', "b.perf", five);
    ok(sureness(&pf_perun_index_driver, "x", bytes.at, bytes.size) == 32,
       "an index is recognised by its magic number");
    struct file file = index_file("b3a33047", &bytes);
    table_is(&file, "index",
             "0,100," SHA("11") ",time,w,,time,filter normalizer,ls,a.perf|1,4294967295," SHA(
                 "22") ",time,w,,time,filter normalizer,ls,b.perf|",
             "an index of version 2 lists its entries");
    ok(pf_extra_of(&file.model)->n_links == 2, "each entry has a link");
    is(pf_extra_of(&file.model)->links[0].name, "a.perf", "a link has the name of the entry's path");
    is(pf_extra_of(&file.model)->links[0].target, "../11/11111111111111111111111111111111111111",
       "a link leads to the entry's object");
    ok(!file.model.partitions.plural, "an index has no measurements");
    warnings_are(&file, "", "a valid index has no warnings");
    file_close(&file);

    bytes = index_of(2, 1);
    put_entry(&bytes, 100, '\x11', "a.perf", six);
    file = index_file("AD", &bytes);
    table_is(&file, "index", "0,100," SHA("11") ",time,w,a label,time,,ls,a.perf|",
             "an index with labels is recognised and lists them");
    file_close(&file);
    bytes = index_of(1, 2);
    put_entry(&bytes, 100, '\x11', "a.perf", NULL);
    put_entry(&bytes, 101, '\x33', "a.perf", NULL);
    file = index_file("AD", &bytes);
    table_is(&file, "index", "0,100," SHA("11") ",,,,,,,a.perf|1,101," SHA("33") ",,,,,,,a.perf|",
             "an index of version 1 lists its entries");
    is(pf_extra_of(&file.model)->links[1].name, "a.perf~1", "links of equal paths have suffixes");
    file_close(&file);
    bytes = index_of(2, 0);
    file = index_file("AD", &bytes);
    table_is(&file, "index", "", "an index may be empty");
    warnings_are(&file, "", "an empty index has no warnings");
    file_close(&file);
}

static void test_jobs(void)
{
    static const char *const five[] = {"time", "ls", "w", "time", "", NULL};
    struct bytes bytes = index_of(2, 3);
    put_entry(&bytes, 1, '\x11', "a.perf", five);
    put_entry(&bytes, 1, '\x11', "../../etc/passwd", five);
    put_entry(&bytes, 1, '\x11', "..", five);
    struct file file = index_file(".index", &bytes);
    ok(pf_extra_of(&file.model)->n_links == 1 && !strcmp(pf_extra_of(&file.model)->links[0].target, "a.perf"),
       "entries of an index of jobs lead to files next to it, and nowhere else");
    file_close(&file);
}

static void test_damaged_index(void)
{
    static const char *const five[] = {"time", "ls", "w", "time", "", NULL};
    struct bytes bytes = index_of(2, 3);
    put_entry(&bytes, 1, '\x11', "a.perf", five);
    put_entry(&bytes, 1, '\x22', "b.perf", five);
    struct file file = index_file("x", &bytes);
    ok(file.opened && pf_extra_of(&file.model)->n_links == 2,
       "whole entries of a truncated index are kept");
    warnings_are(&file, "fatal cut-entry|", "the end of a truncated index is reported");
    file_close(&file);
    bytes = index_of(1, 1);
    put_entry(&bytes, 1, '\x11', "a.perf", NULL);
    put(&bytes, "more", 4);
    file = index_file("x", &bytes);
    warnings_are(&file, "error bytes-left|", "bytes after the last entry are reported");
    file_close(&file);
    bytes = index_of(2, UINT32_MAX);
    put_number(&bytes, UINT32_MAX);
    file = index_file("x", &bytes);
    warnings_are(&file, "fatal cut-entry|", "a negative number of entries is reported");
    file_close(&file);
    bytes = index_of(2, INT32_MAX);
    put_number(&bytes, UINT32_MAX);
    file = index_file("x", &bytes);
    warnings_are(&file, "fatal cut-entry|", "a number of entries that is too large is reported");
    file_close(&file);
    bytes = index_of(7, 0);
    file = index_file("x", &bytes);
    ok(!file.opened && file.error.offset == 4, "an index of an unknown version is not opened");
    file_close(&file);
    bytes.size = 6;
    file = index_file("x", &bytes);
    ok(!file.opened && sureness(&pf_perun_index_driver, "x", bytes.at, 6) == 32,
       "an index that ends in its header is recognised, but not opened");
    file_close(&file);
}

static void test_long_index(void)
{
    enum { ENTRIES = 5000, SIZE = 26, ALL = 12 + ENTRIES * SIZE };
    struct pf_pass pass = {0}, *before;
    struct bytes bytes = index_of(1, ENTRIES);
    unsigned char *all = calloc(1, ALL);
    struct file file;
    memcpy(all, bytes.at, bytes.size);
    for (size_t i = 0; i < ENTRIES; i++)
        all[bytes.size + i * SIZE + 24] = 'x'; /* the path */
    before = pf_pass_begin(&pass);
    file_open(&file, &pf_perun_index_driver, "b3", all, ALL, 1 << 20);
    pf_pass_end(before);
    ok(file.opened && atomic_load(&pass.total) == ALL && atomic_load(&pass.done) > 0,
       "reading of a long index can be cancelled");
    file_close(&file);
    free(all);
}

int main(void)
{
    test_object();
    test_bad_headers();
    test_index();
    test_jobs();
    test_damaged_index();
    test_long_index();
    return done();
}
