/* SPDX-License-Identifier: MIT */
#include "formats/hpctoolkit/kept.h"

#include "tests/unit/hpctoolkit_db.h"

/* The block that is kept while it is read. What comes from the file shows by what the file holds by then. */

enum { BLOCK = 100000, FILE_SIZE = 2 * BLOCK };

struct kept_file {
    struct copy copy;
    int folder;
    struct pf_source *source;
    struct pf_input *input;
};

static void fill(const struct kept_file *file, int byte)
{
    char *bytes = malloc(FILE_SIZE);
    if (!bytes)
        die("malloc");
    memset(bytes, byte, FILE_SIZE);
    put_file(&file->copy, "profile.db", bytes, FILE_SIZE);
    free(bytes);
}

/* The file's content changes in place: the input stays the same. */
static void overwrite(const struct kept_file *file, char byte)
{
    char path[100], bytes[4096];
    memset(bytes, byte, sizeof bytes);
    snprintf(path, sizeof path, "%s/db/profile.db", file->copy.folder);
    int fd = open(path, O_WRONLY);
    for (off_t at = 0; at < FILE_SIZE; at += (off_t)sizeof bytes) {
        size_t size = FILE_SIZE - at < (off_t)sizeof bytes ? (size_t)(FILE_SIZE - at) : sizeof bytes;
        if (fd < 0 || pwrite(fd, bytes, size, at) != (ssize_t)size)
            die(path);
    }
    close(fd);
}

static void open_file(struct kept_file *file)
{
    struct pf_error error;
    make_folder(&file->copy);
    fill(file, 'a');
    file->folder = open(file->copy.folder, O_RDONLY | O_DIRECTORY);
    file->source = pf_source_new(file->folder, "db", &error);
    if (!file->source || pf_source_open(file->source, "profile.db", &file->input, &error))
        die("pf_source_open");
}

static void close_file(struct kept_file *file)
{
    pf_source_free(file->source);
    close(file->folder);
    remove_copy(&file->copy);
}

/* The byte that all of a range has; '?' if they differ or are not there. */
static char all_of(struct hpc_kept *kept, const struct kept_file *file, uint64_t offset, size_t size)
{
    static char bytes[FILE_SIZE];
    struct pf_error error;
    if (hpc_kept_read(kept, file->input, bytes, size, offset, &error) != (ssize_t)size)
        return '?';
    for (size_t i = 1; i < size; i++)
        if (bytes[i] != bytes[0])
            return '?';
    return bytes[0];
}

int main(void)
{
    struct kept_file file;
    struct hpc_kept *kept = hpc_kept_new(BLOCK);
    open_file(&file);
    hpc_kept_claim(kept, 10, BLOCK);
    ok(all_of(kept, &file, 10, BLOCK) == 'a', "a block is read through what is kept");
    overwrite(&file, 'b');
    ok(all_of(kept, &file, 10, BLOCK) == 'a' && all_of(kept, &file, 70000, 1000) == 'a',
       "and is not read from the file again");
    ok(all_of(kept, &file, BLOCK + 10, 100) == 'b' && all_of(kept, &file, 0, 10) == 'b',
       "what lies beside it is");
    ok(all_of(kept, &file, BLOCK, 20) == 'b', "so is what lies across its end");
    hpc_kept_claim(kept, 10, BLOCK);
    ok(all_of(kept, &file, 10, 10) == 'a', "claiming it again forgets nothing");
    hpc_kept_claim(kept, 0, BLOCK + 1);
    ok(all_of(kept, &file, 10, 10) == 'a', "a block that is too large takes nobody's place");
    hpc_kept_claim(kept, 20, BLOCK);
    ok(all_of(kept, &file, 30, 10) == 'b', "another block does");
    hpc_kept_claim(kept, FILE_SIZE - 5, 50);
    ok(all_of(kept, &file, FILE_SIZE - 5, 5) == 'b' && all_of(kept, &file, FILE_SIZE - 5, 6) == '?',
       "of a block that the file has not in full there is what the file has");
    hpc_kept_free(kept);
    close_file(&file);
    return done();
}
