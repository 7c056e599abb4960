/* SPDX-License-Identifier: MIT */
/* Reading, unpacking and sorting stop when the current pass of their thread is cancelled, and can be repeated. */
#include "formats/kit/pass.h"

#include <fcntl.h>
#include <unistd.h>
#include <zlib.h>

#include "formats/input/source.h"
#include "formats/input/unpacked.h"
#include "formats/kit/sorter.h"
#include "tests/unit/tap.h"
#include "tests/unit/temp_dir.h"
#include "tests/unit/workload.h"

enum { TEXT = 1 << 20, PIECES = 4 };

static struct pf_pass stopped = {.stop = true};
static unsigned char text[TEXT];

static void checking(void)
{
    struct pf_pass going = {0};
    struct pf_error error = {0};
    ok(!pf_pass_now() && !pf_pass_check(&error) && !pf_pass_step(1, 2, &error),
       "a thread without a pass is not cancelled");
    struct pf_pass *before = pf_pass_begin(&going);
    ok(!pf_pass_check(&error) && !pf_pass_step(1, 2, &error), "a pass with a waiter continues");
    ok(atomic_load(&going.done) == 1 && atomic_load(&going.total) == 2,
       "a step reports the progress of the thread's pass");
    struct pf_pass *outer = pf_pass_begin(&stopped);
    ok(outer == &going && pf_pass_check(&error) && error.code == ECANCELED, "a stopped pass is cancelled");
    ok(pf_pass_step(3, 4, &error) && error.code == ECANCELED, "a step of a stopped pass fails");
    pf_pass_end(outer);
    ok(!pf_pass_check(&error) && pf_pass_now() == &going, "leaving a pass restores the previous one");
    pf_pass_end(before);
}

/* ---- reading ------------------------------------------------------------------------------------ */

static void reading_an_input(const char *folder, const char *name)
{
    struct pf_error error = {0};
    unsigned char byte;
    int directory = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    struct pf_source *source = pf_source_new(directory, name, &error);
    struct pf_input *input;
    if (!source || pf_source_open(source, NULL, PF_UNPACK, &input, &error))
        abort();
    struct pf_pass *before = pf_pass_begin(&stopped);
    ok(pf_input_read(input, &byte, 1, TEXT / 2, &error) < 0 && error.code == ECANCELED,
       "%s: a read is cancelled", name);
    pf_pass_end(before);
    ok(pf_input_read(input, &byte, 1, TEXT / 2, &error) == 1 && byte == text[TEXT / 2],
       "%s: the next read is not cancelled", name);
    pf_source_free(source);
    close(directory);
}

struct packed {
    unsigned char bytes[2 * TEXT];
    size_t size;
    unsigned from_start; /* number of reads at offset 0 */
};

static ssize_t read_packed(void *arg, void *buffer, size_t size, uint64_t offset, struct pf_error *error)
{
    struct packed *packed = arg;
    size_t left = offset < packed->size ? packed->size - (size_t)offset : 0, n = size < left ? size : left;
    (void)error;
    packed->from_start += offset == 0;
    memcpy(buffer, packed->bytes + offset, n);
    return (ssize_t)n;
}

static void unpacking(struct packed *packed)
{
    struct pf_error error = {0};
    unsigned char byte = 0;
    struct pf_unpacked *unpacked =
        pf_unpacked_new(NULL, PF_GZIP_PACKED, read_packed, packed, 0, packed->size, UINT64_MAX);
    if (!unpacked || pf_unpacked_read(unpacked, &byte, 1, TEXT / 4, &error) != 1)
        abort();
    struct pf_pass *before = pf_pass_begin(&stopped);
    ok(pf_unpacked_read(unpacked, &byte, 1, TEXT - 1, &error) < 0 && error.code == ECANCELED,
       "unpacking is cancelled");
    ok(pf_unpacked_read(unpacked, &byte, 1, TEXT / 4, &error) == 1 && byte == text[TEXT / 4],
       "data that is already unpacked can be read");
    pf_pass_end(before);
    ok(pf_unpacked_read(unpacked, &byte, 1, TEXT - 1, &error) == 1 && byte == text[TEXT - 1] &&
           packed->from_start == 1,
       "unpacking resumes where it was cancelled");
    pf_unpacked_release(unpacked);
}

static void sorting(void)
{
    struct pf_error error = {0};
    struct pf_sorter *sorter = pf_sorter_new(1, 1, 0);
    for (uint64_t i = 0; i < 1000; i++)
        if (!sorter || pf_sorter_add(sorter, &(uint64_t){1000 - i}, &error))
            abort();
    struct pf_pass *before = pf_pass_begin(&stopped);
    ok(pf_sorter_finish(sorter, &error) && error.code == ECANCELED, "sorting is cancelled");
    int result = 0;
    for (uint64_t i = 0; i < 100000 && !result; i++)
        result = pf_sorter_add(sorter, &i, &error);
    ok(result && error.code == ECANCELED, "adding more records than fit in memory is cancelled");
    pf_pass_end(before);
    pf_sorter_free(sorter);
}

/* ---- threads ------------------------------------------------------------------------------------ */

struct work {
    struct workload load; /* first member, for casts */
    struct pf_pass *pass;
    struct pf_pass *of[PIECES];
};

static void look(void *arg, size_t i)
{
    struct work *work = arg;
    work->of[i] = pf_pass_now();
}

static int run(struct pf_owner *owner, uint64_t number, struct pf_error *error)
{
    struct work *work = (struct work *)owner;
    (void)number, (void)error;
    work->pass = pf_pass_now();
    pf_pool_split(owner->pool, PIECES, look, work);
    return pf_pass_now() == work->pass ? 0 : -1;
}

static void threads(void)
{
    const struct pf_work split = {"split", PF_WORK_SIZES, NULL, run};
    struct work work;
    struct pf_op op = PF_OP;
    struct pf_pool *pool = pf_pool_new(3);
    workload_init(&work.load, pool, true);
    bool same = !pf_need(&op, &split, &work.load.owner, 0) && work.pass;
    for (size_t i = 0; i < PIECES; i++)
        same = same && work.of[i] == work.pass;
    ok(same, "the pieces of a loop belong to its pass, on any thread");
    pf_pool_free(pool);
}

int main(void)
{
    static struct packed packed;
    char folder[64];
    uLongf size = sizeof packed.bytes;
    uint32_t random = 1;
    for (size_t i = 0; i < TEXT; i++)
        text[i] = (unsigned char)((random = random * 1103515245 + 12345) >> 24);
    if (compress(packed.bytes, &size, text, TEXT) != Z_OK)
        abort();
    packed.size = size;
    temp_dir_make(folder);
    write_bytes(folder, "plain", text, TEXT);
    gzFile file = gzopen(path_in(folder, "packed.gz"), "wb");
    if (!file || gzwrite(file, text, TEXT) != TEXT || gzclose(file) != Z_OK)
        abort();
    checking();
    reading_an_input(folder, "plain");
    reading_an_input(folder, "packed.gz");
    unpacking(&packed);
    sorting();
    threads();
    temp_dir_remove(folder);
    return done();
}
