/* SPDX-License-Identifier: MIT */
#include "formats/extrap/saved.h"

#include <archive.h>
#include <archive_entry.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "formats/input/unpacker.h"

/*
 * BLOCK is the size of a read in bytes. HELD is the maximum number of bytes of an unpacked member that are held in
 * memory. The rest is spilled.
 */
enum { BLOCK = 64 * 1024 };
#define HELD ((uint64_t)1 << 20)

/* ---- finding members ---------------------------------------------------------------------------- */

/* State of libarchive's read callbacks. They must return to libarchive, so they do not end the run but set `failed`. */
struct source {
    struct pf_study *study;
    bool failed; /* run->error is filled */
    uint64_t at;
    unsigned char bytes[BLOCK];
};

static la_ssize_t read_source(struct archive *reader, void *arg, const void **bytes)
{
    struct source *source = arg;
    struct pf_study *study = source->study;
    ssize_t got =
        pf_input_read(study->input, source->bytes, sizeof source->bytes, source->at, study->run->error);
    source->failed |= got < 0;
    if (got < 0)
        archive_set_error(reader, EIO, "the archive cannot be read");
    source->at += got > 0 ? (uint64_t)got : 0;
    *bytes = source->bytes;
    return got;
}

static la_int64_t seek_source(struct archive *reader, void *arg, la_int64_t offset, int whence)
{
    struct source *source = arg;
    int64_t size = (int64_t)pf_input_size(source->study->input);
    int64_t from = whence == SEEK_SET ? 0 : whence == SEEK_CUR ? (int64_t)source->at : size;
    (void)reader;
    if (offset < -from || offset > size - from)
        return ARCHIVE_FATAL;
    source->at = (uint64_t)(from + offset);
    return from + offset;
}

/* Describes a member. libarchive reports the member's compression only as text. */
static struct pf_zip_member member_of(struct archive *reader, struct archive_entry *entry)
{
    const char *method = archive_format_name(reader);
    int64_t start = archive_filter_bytes(reader, 0);
    bool deflated = method && strstr(method, "(deflation)"),
         stored = method && strstr(method, "(uncompressed)");
    return (struct pf_zip_member){
        .start = start < 0 ? 0 : (uint64_t)start,
        .size = archive_entry_size_is_set(entry) ? (uint64_t)archive_entry_size(entry) : UINT64_MAX,
        .deflated = deflated,
        .readable = (deflated || stored) && !archive_entry_is_encrypted(entry)};
}

/*
 * Calls `visit` for each member until `visit` returns false. If `directory` is false, the walk ends at a member of
 * unknown size, since only unpacking this member would find the next one. Returns true if there is a member.
 */
static bool visit_members(struct archive *reader, bool directory, const struct source *source,
                          pf_zip_visit *visit, void *arg)
{
    struct archive_entry *entry;
    bool any = false, more = true;
    int got = ARCHIVE_OK;
    while (more && ((got = archive_read_next_header(reader, &entry)) == ARCHIVE_OK || got == ARCHIVE_WARN)) {
        const char *name = archive_entry_pathname(entry);
        struct pf_zip_member member = member_of(reader, entry);
        any = true;
        more = (!name || visit(arg, name, &member)) && (directory || member.size != UINT64_MAX);
    }
    pf_run_check(source->study->run, source->failed ? -1 : 0);
    return any;
}

static void free_archive_reader(void *reader)
{
    archive_read_free(reader);
}

/* Visits the members by the central directory if `directory`, otherwise by the local headers. Returns true if there is a member. */
static bool walk_members(struct source *source, bool directory, pf_zip_visit *visit, void *arg)
{
    struct pf_run *run = source->study->run;
    struct archive *reader = pf_own(run, archive_read_new(), free_archive_reader);
    source->at = 0;
    if (archive_read_set_read_callback(reader, read_source) ||
        archive_read_set_seek_callback(reader, seek_source) ||
        archive_read_set_callback_data(reader, source) ||
        (directory ? archive_read_support_format_zip_seekable(reader)
                   : archive_read_support_format_zip_streamable(reader)))
        pf_run_check(run, pf_fail_memory(run->error));
    bool opened = archive_read_open1(reader) == ARCHIVE_OK;
    pf_run_check(run, source->failed ? -1 : 0);
    bool any = opened && visit_members(reader, directory, source, visit, arg);
    free_archive_reader(pf_disown(run, reader));
    return any;
}

bool pf_zip_walk(struct pf_study *study, pf_zip_visit *visit, void *arg)
{
    struct source *source = PF_OWN(study->run, malloc(sizeof *source), free);
    source->study = study;
    source->failed = false;
    if (walk_members(source, true, visit, arg))
        return false;
    walk_members(source, false, visit, arg);
    return true;
}

/* ---- unpacking ---------------------------------------------------------------------------------- */

static ssize_t read_zip_packed(void *arg, void *buffer, size_t size, uint64_t offset, struct pf_error *error)
{
    struct pf_study *study = arg;
    return pf_input_read(study->input, buffer, size, offset, error);
}

/* Unpacks a member. Tries to unpack one byte more than its declared size, to detect that it is longer. */
static void unpack_member(struct pf_zip_file *file, const struct pf_zip_member *member, uint64_t most,
                          uint64_t *left)
{
    struct pf_study *study = file->study;
    struct pf_run *run = study->run;
    uint64_t declared = member->size, wanted = declared < most ? declared + 1 : most,
             room = wanted < *left ? wanted : *left;
    struct pf_unpacker *unpacker = PF_OWN(run,
                                          pf_unpacker_new(PF_DEFLATED, read_zip_packed, study, member->start,
                                                          pf_input_size(study->input), run->error),
                                          pf_unpacker_free);
    const void *bytes;
    size_t size;
    int got = 1;
    file->unpacked = pf_run_memory(run, pf_store_new(HELD));
    while (file->size < room &&
           (got = pf_run_check(run, pf_unpacker_next(unpacker, &bytes, &size, &file->damage, run->error)))) {
        pf_run_step(run, 0, 1);
        size = size < room - file->size ? size : (size_t)(room - file->size);
        file->size += size;
        pf_run_check(run, pf_store_append(file->unpacked, bytes, size, run->error));
    }
    *left -= file->size;
    const char *what = file->size > declared        ? "a member is longer than the archive says"
                       : file->damage.code          ? NULL
                       : got && file->size < wanted ? "the archive inflates to more than 200 times its size"
                       : declared != UINT64_MAX && file->size < declared && file->size < most
                           ? "a member is shorter than the archive says"
                           : NULL;
    if (what)
        pf_fail_at(&file->damage, EBADMSG, (int64_t)pf_unpacker_packed(unpacker), "%s", what);
    file->size = file->size < declared ? file->size : declared;
    pf_unpacker_free(pf_disown(run, unpacker));
}

void pf_zip_open(struct pf_zip_file *file, struct pf_study *study, const struct pf_zip_member *member,
                 uint64_t most, uint64_t *left)
{
    uint64_t size = pf_input_size(study->input), there = member->start < size ? size - member->start : 0;
    *file = (struct pf_zip_file){.study = study, .start = member->start};
    if (member->deflated) {
        unpack_member(file, member, most, left);
        return;
    }
    file->size = member->size < there ? member->size : there;
    file->size = file->size < *left ? file->size : *left;
    *left -= file->size;
    if (member->size > there)
        pf_fail_at(&file->damage, ENODATA, (int64_t)size, "the archive is cut off inside a member");
}

void pf_zip_close(struct pf_zip_file *file)
{
    pf_store_free(file->unpacked);
    *file = (struct pf_zip_file){0};
}

size_t pf_zip_read(const struct pf_zip_file *file, void *buffer, size_t size, uint64_t offset)
{
    struct pf_study *study = file->study;
    struct pf_run *run = study->run;
    uint64_t there = offset < file->size ? file->size - offset : 0;
    size_t want = there < size ? (size_t)there : size;
    if (want && !file->unpacked)
        return pf_run_read(run, study->input, buffer, want, file->start + offset);
    if (want)
        pf_run_check(run, pf_store_read(file->unpacked, offset, buffer, want, run->error));
    return want;
}
