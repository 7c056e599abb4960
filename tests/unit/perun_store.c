/* SPDX-License-Identifier: MIT */
/* Stored objects and indexes. */
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
       "a stored object is told by its inflated header");
    file_open(&file, &pf_perun_driver, "434b28", object, size, 1 << 20);
    table_is(&file, "values", "all,a,time.amount,3|", "its values are read as those of a file");
    warnings_are(&file, "", "without a complaint");
    ok(pf_extra_of(&file.model)->n_blobs == 1 &&
           file.model.driver->extra->blob_read(&file.model, 0, some, sizeof some, 0, &file.error) ==
               sizeof JSON - 1 &&
           !strcmp(some, JSON),
       "it carries its JSON");
    ok(file.model.driver->extra->blob_read(&file.model, 0, some, 5, 1, &file.error) == 5 &&
           !memcmp(some, "\"head", 5),
       "of which any part can be read");
    file_close(&file);

    object = realloc(object, size + 9);
    memcpy(object + size, "trailing", 9);
    file_open(&file, &pf_perun_driver, "434b28", object, size + 9, 1 << 20);
    warnings_are(&file, "warning trailing-bytes|", "bytes behind the stream are told");
    file_close(&file);
    file_open(&file, &pf_perun_driver, "434b28", object, size - 20, 1 << 20);
    warnings_are(&file, "fatal bad-stream|warning no-entry|",
                 "a stream that is cut off is told, and what lacks its other half");
    file_close(&file);
    free(object);
}

static void test_bad_headers(void)
{
    unsigned char *object;
    struct file file;
    size_t size = stored_object("time", JSON, 17, &object);
    file_open(&file, &pf_perun_driver, "x", object, size, 1 << 20);
    table_is(&file, "values", "all,a,time.amount,3|", "a wrong length is no reason to show nothing");
    warnings_are(&file, "error bad-length|", "but told");
    file_close(&file);
    free(object);
    size = stored_object("", JSON, 17, &object);
    ok(sureness(&pf_perun_driver, "x", object, size) == 24, "a damaged header is Perun's, but broken");
    file_open(&file, &pf_perun_driver, "x", object, size, 1 << 20);
    ok(!file.opened && file.error.code == EBADMSG, "and cannot be opened");
    file_close(&file);
    free(object);
    uLongf packed = 1000;
    object = malloc(packed);
    if (compress(object, &packed, (const unsigned char *)JSON, sizeof JSON - 1) != Z_OK)
        abort();
    ok(!sureness(&pf_perun_driver, "x", object, packed), "a stream of bare JSON is no object");
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

/* Writes an index entry; strings NULL: an entry of version 1. */
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
       "an index is told by its magic number");
    struct file file = index_file("b3a33047", &bytes);
    table_is(&file, "index",
             "0,100," SHA("11") ",time,w,,time,filter normalizer,ls,a.perf|1,4294967295," SHA(
                 "22") ",time,w,,time,filter normalizer,ls,b.perf|",
             "the entries of version 2");
    ok(pf_extra_of(&file.model)->n_links == 2, "and a link for each");
    is(pf_extra_of(&file.model)->links[0].name, "a.perf", "called as its path");
    is(pf_extra_of(&file.model)->links[0].target, "../11/11111111111111111111111111111111111111",
       "that leads to the object");
    ok(!file.model.partitions.plural, "there are no measurements");
    warnings_are(&file, "", "nor anything wrong");
    file_close(&file);

    bytes = index_of(2, 1);
    put_entry(&bytes, 100, '\x11', "a.perf", six);
    file = index_file("AD", &bytes);
    table_is(&file, "index", "0,100," SHA("11") ",time,w,a label,time,,ls,a.perf|",
             "the layout with a label is found");
    file_close(&file);
    bytes = index_of(1, 2);
    put_entry(&bytes, 100, '\x11', "a.perf", NULL);
    put_entry(&bytes, 101, '\x33', "a.perf", NULL);
    file = index_file("AD", &bytes);
    table_is(&file, "index", "0,100," SHA("11") ",,,,,,,a.perf|1,101," SHA("33") ",,,,,,,a.perf|",
             "and version 1");
    is(pf_extra_of(&file.model)->links[1].name, "a.perf~1", "of equal paths the later ones have a number");
    file_close(&file);
    bytes = index_of(2, 0);
    file = index_file("AD", &bytes);
    table_is(&file, "index", "", "an index may be empty");
    warnings_are(&file, "", "which is no damage");
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
       "entries of jobs lead to the files beside the index, and nowhere else");
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
       "of an index cut off, the whole entries are kept");
    warnings_are(&file, "fatal cut-entry|", "and the end is told");
    file_close(&file);
    bytes = index_of(1, 1);
    put_entry(&bytes, 1, '\x11', "a.perf", NULL);
    put(&bytes, "more", 4);
    file = index_file("x", &bytes);
    warnings_are(&file, "error bytes-left|", "so are bytes behind the last entry");
    file_close(&file);
    bytes = index_of(2, UINT32_MAX);
    put_number(&bytes, UINT32_MAX);
    file = index_file("x", &bytes);
    warnings_are(&file, "fatal cut-entry|", "a negative number of entries is more than there are");
    file_close(&file);
    bytes = index_of(2, INT32_MAX);
    put_number(&bytes, UINT32_MAX);
    file = index_file("x", &bytes);
    warnings_are(&file, "fatal cut-entry|", "numbers that are too large are no harm");
    file_close(&file);
    bytes = index_of(7, 0);
    file = index_file("x", &bytes);
    ok(!file.opened && file.error.offset == 4, "an unknown version is not opened");
    file_close(&file);
    bytes.size = 6;
    file = index_file("x", &bytes);
    ok(!file.opened && sureness(&pf_perun_index_driver, "x", bytes.at, 6) == 32,
       "nor half a header, which is told");
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
