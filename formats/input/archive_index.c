/* SPDX-License-Identifier: MIT */
#include "formats/input/archive_index.h"

#include <archive.h>
#include <archive_entry.h>
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "formats/input/unpacked.h"
#include "formats/input/zip.h"
#include "formats/kit/array.h"
#include "formats/kit/pass.h"

enum { WINDOW = 128 * 1024, HEADERS = 4096, PROBLEMS_MAX = 100 };

static int problem(struct pf_archive_tree *tree, struct pf_error *error, const char *severity,
                   const char *code, const char *format, ...) __attribute__((format(printf, 5, 6)));
static int problem(struct pf_archive_tree *tree, struct pf_error *error, const char *severity,
                   const char *code, const char *format, ...)
{
    char text[512];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    struct pf_cell cells[] = {pf_string(severity), pf_string(code), pf_string(text)};
    return pf_rows_count(tree->problems) < PROBLEMS_MAX ? pf_rows_add(tree->problems, cells, error) : 0;
}

/* ---- reading ------------------------------------------------------------------------------------ */

ssize_t pf_archive_read_file(void *arg, void *buffer, size_t size, uint64_t offset, struct pf_error *error)
{
    const struct pf_archive_bytes *bytes = arg;
    uint64_t all = (uint64_t)bytes->file->st.st_size;
    uint64_t left = offset < all ? all - offset : 0;
    return pf_opened_read(bytes->file, buffer, size < left ? size : (size_t)left, offset, error);
}

ssize_t pf_archive_read(void *arg, void *buffer, size_t size, uint64_t offset, struct pf_error *error)
{
    const struct pf_archive_bytes *bytes = arg;
    return bytes->unpacked ? pf_unpacked_read(bytes->unpacked, buffer, size, offset, error)
                           : pf_archive_read_file(arg, buffer, size, offset, error);
}

/* The input of libarchive: the bytes of the archive, unpacked if it is a compressed tar. */
struct range {
    struct pf_archive_bytes from;
    uint64_t size, at;
    /* Size of the next read. It is small after a skip, since a header usually follows, and doubles after each read. */
    size_t want;
    struct pf_error error;
    char bytes[WINDOW];
};

/* Reports progress. In a compressed tar, unpacks up to the offset of the next read. */
static int step(const struct range *range, struct pf_error *error)
{
    return range->from.unpacked ? pf_unpacked_reach(range->from.unpacked, range->at, error)
                                : pf_pass_step(range->at, range->size, error);
}

static la_ssize_t index_read_range(struct archive *reader, void *arg, const void **bytes)
{
    struct range *range = arg;
    uint64_t left = range->size - range->at;
    size_t size = left < range->want ? (size_t)left : range->want;
    ssize_t got = step(range, &range->error)
                      ? -1
                      : pf_archive_read(&range->from, range->bytes, size, range->at, &range->error);
    if (got < 0)
        archive_set_error(reader, range->error.code, "%s", range->error.what);
    else
        range->at += (uint64_t)got;
    range->want = range->want < WINDOW ? 2 * range->want : WINDOW;
    *bytes = range->bytes;
    return got;
}

static la_int64_t skip_range(struct archive *reader, void *arg, la_int64_t bytes)
{
    struct range *range = arg;
    uint64_t left = range->size - range->at, skipped = bytes < 0                ? 0
                                                       : (uint64_t)bytes < left ? (uint64_t)bytes
                                                                                : left;
    (void)reader;
    range->at += skipped;
    range->want = HEADERS;
    return (la_int64_t)skipped;
}

static la_int64_t seek_range(struct archive *reader, void *arg, la_int64_t offset, int whence)
{
    struct range *range = arg;
    la_int64_t from = whence == SEEK_SET ? 0 : (la_int64_t)(whence == SEEK_CUR ? range->at : range->size);
    (void)reader;
    if (offset < -from || offset > (la_int64_t)range->size - from)
        return ARCHIVE_FATAL;
    range->at = (uint64_t)(from + offset);
    range->want = HEADERS;
    return from + offset;
}

static struct archive *reader_of(struct range *range, struct pf_error *error)
{
    struct archive *reader = archive_read_new();
    if (!reader || archive_read_set_read_callback(reader, index_read_range) ||
        archive_read_set_skip_callback(reader, skip_range) ||
        archive_read_set_seek_callback(reader, seek_range) || archive_read_set_callback_data(reader, range)) {
        archive_read_free(reader);
        pf_fail_memory(error);
        return NULL;
    }
    return reader;
}

/* ---- names in a zip ----------------------------------------------------------------------------- */

/*
 * libarchive returns neither names nor link targets that the locale cannot represent, or that are declared UTF-8 but
 * invalid. Such a name is looked up by the member's offset, in the central directory or, in a truncated archive, in the
 * member's local header.
 */
struct zip_name {
    uint64_t header, data, packed;
    uint32_t name; /* string number */
    unsigned method;
};

struct zip_names {
    struct range *range;
    struct pf_strings *strings; /* NULL: not read yet */
    struct zip_name *all;       /* sorted by header */
    size_t count, room;
    bool failed;
    struct pf_error *error;
};

static int add_zip_name(void *arg, const struct pf_zip_entry *entry)
{
    struct zip_names *names = arg;
    struct range *range = names->range;
    names->failed =
        pf_array_room(&names->all, &names->room, names->count, sizeof *names->all, names->error) ||
        (names->count % 1024 == 0 && pf_pass_step(range->at, range->size, names->error));
    uint32_t name =
        names->failed ? PF_NO_STRING : pf_intern(names->strings, entry->name, entry->name_size, names->error);
    names->failed = name == PF_NO_STRING;
    if (!names->failed)
        names->all[names->count++] =
            (struct zip_name){entry->header, entry->data, entry->packed, name, entry->method};
    return names->failed;
}

static int by_header(const void *a, const void *b)
{
    uint64_t x = ((const struct zip_name *)a)->header, y = ((const struct zip_name *)b)->header;
    return (x > y) - (x < y);
}

static int read_zip_names(struct zip_names *names)
{
    struct range *range = names->range;
    if (names->strings)
        return 0;
    names->strings = pf_strings_new();
    if (!names->strings)
        return pf_fail_memory(names->error);
    if (pf_zip_list(pf_archive_read_file, &range->from, range->size, add_zip_name, names, names->error) < 0 ||
        names->failed)
        return -1;
    if (names->count)
        qsort(names->all, names->count, sizeof *names->all, by_header);
    return 0;
}

/* The last member whose header is before `place`, the offset up to which libarchive has read; NULL if there is none. */
static const struct zip_name *zip_name_before(const struct zip_names *names, uint64_t place)
{
    size_t low = 0, high = names->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (names->all[middle].header < place)
            low = middle + 1;
        else
            high = middle;
    }
    return low ? &names->all[low - 1] : NULL;
}

/* Finds the member that libarchive has just read. Returns 1 with *name, 0 if not found, -1 with *error filled. */
static int find_zip_name(struct zip_names *names, struct archive *reader, struct zip_name *name)
{
    if (read_zip_names(names))
        return -1;
    const struct zip_name *found = zip_name_before(names, (uint64_t)archive_filter_bytes(reader, 0));
    size_t listed = names->count;
    int result = found != NULL;
    if (!found) {
        uint64_t header = (uint64_t)archive_read_header_position(reader);
        result = pf_zip_local(pf_archive_read_file, &names->range->from, header, add_zip_name, names,
                              names->error);
        found = names->count > listed ? &names->all[listed] : NULL;
        names->count = listed;
    }
    if (result < 0 || names->failed)
        return -1;
    if (found)
        *name = *found;
    return found != NULL;
}

static int set_data(void *arg, const struct pf_zip_entry *entry)
{
    *(uint64_t *)arg = entry->data;
    return 0;
}

/* Reads the target of a symbolic link, which is the member's data. Returns the same values as find_zip_name. */
static int read_zip_target(struct zip_names *names, const struct zip_name *name, char target[PATH_MAX])
{
    struct pf_archive_bytes *from = &names->range->from;
    uint64_t data = name->data;
    if (name->method != PF_ZIP_STORED || name->packed >= PATH_MAX)
        return 0;
    int found =
        data ? 1 : pf_zip_local(pf_archive_read_file, from, name->header, set_data, &data, names->error);
    if (found <= 0)
        return found;
    ssize_t got = pf_archive_read_file(from, target, (size_t)name->packed, data, names->error);
    target[got < 0 ? 0 : got] = 0;
    return got < 0 ? -1 : 1;
}

static void free_zip_names(struct zip_names *names)
{
    pf_strings_free(names->strings);
    free(names->all);
}

/* ---- members ------------------------------------------------------------------------------------ */

/* Escapes control characters as %XX. Returns the size of the result; 0 if it exceeds 255 bytes. */
static size_t clean_name(const char *name, size_t size, char clean[256])
{
    size_t n = 0;
    for (size_t i = 0; i < size; i++) {
        unsigned char c = (unsigned char)name[i];
        bool control = c < 0x20 || c == 0x7f;
        if (n + (control ? 3 : 1) > 255)
            return 0;
        n += control ? (size_t)sprintf(clean + n, "%%%02X", c) : (clean[n] = (char)c, (size_t)1);
    }
    return n;
}

/* Replaces a member by a later one of the same name. The content of a file or link that becomes a folder is lost. */
static int replace(struct pf_archive_tree *tree, uint32_t at, uint8_t type, const char *path, const char *end,
                   struct pf_error *error)
{
    struct pf_member *member = &tree->members[at];
    bool lost = type == DT_DIR && member->type != DT_DIR;
    if (member->type != type) {
        member->size = 0;
        member->method = PF_MEMBER_PLAIN;
        member->link = PF_NO_STRING;
    }
    member->type = type;
    return lost ? problem(tree, error, "warning", "replaced",
                          "%.*s: a later folder has the same name: skipped",
                          (int)(end - path < 200 ? end - path : 200), path)
                : 0;
}

/* Finds or adds the member at a path, with its parent folders. `..` cannot leave the archive. The last of two members
 * with one name wins, but a folder with members stays a folder. Returns PF_NO_MEMBER with error->code 0 if the path is
 * empty or a name is too long, and with *error filled on failure. */
static uint32_t place_member(struct pf_archive_tree *tree, const char *path, uint8_t type,
                             struct pf_error *error)
{
    const char *whole = path;
    uint32_t at = 0;
    error->code = 0;
    for (size_t size; *path; path += size + (path[size] == '/')) {
        char clean[256];
        size = strcspn(path, "/");
        if (!size || (size == 1 && *path == '.'))
            continue;
        if (size == 2 && path[0] == '.' && path[1] == '.') {
            at = at ? tree->members[at].parent : 0;
            continue;
        }
        size_t n = clean_name(path, size, clean);
        if (!n)
            return PF_NO_MEMBER;
        bool last = path[size + strspn(path + size, "/")] == 0;
        uint32_t number = pf_intern(tree->strings, clean, n, error),
                 child = pf_archive_tree_child(tree, at, clean, n);
        if (number == PF_NO_STRING)
            return PF_NO_MEMBER;
        if (child == PF_NO_MEMBER)
            child = pf_archive_tree_add(tree, at, number, last ? type : DT_DIR, error);
        else if ((!last || tree->members[child].first == PF_NO_MEMBER) &&
                 replace(tree, child, last ? type : DT_DIR, whole, path + size, error))
            return PF_NO_MEMBER;
        if (child == PF_NO_MEMBER)
            return PF_NO_MEMBER;
        at = child;
    }
    return at ? at : PF_NO_MEMBER;
}

/* The compression method of a zip's member; libarchive reports it only as text. */
static uint8_t method_of(struct archive *reader)
{
    const char *name = archive_format_name(reader);
    return name && strstr(name, "(uncompressed)") ? PF_MEMBER_PLAIN
           : name && strstr(name, "(deflation)")  ? PF_MEMBER_DEFLATED
                                                  : PF_MEMBER_UNREADABLE;
}

static uint8_t index_type_of(struct archive_entry *entry)
{
    mode_t type = archive_entry_filetype(entry);
    return archive_entry_hardlink(entry) ? DT_REG
           : type == AE_IFDIR            ? DT_DIR
           : type == AE_IFREG            ? DT_REG
           : type == AE_IFLNK            ? DT_LNK
                                         : DT_UNKNOWN;
}

/* Makes `member` a hard link to the earlier member with the path `target`. */
static int add_alias(struct pf_archive_tree *tree, struct pf_member *member, const char *target,
                     const char *path, struct pf_error *error)
{
    uint32_t original = pf_archive_tree_find(tree, 0, target + strspn(target, "/"));
    if (original == PF_NO_MEMBER || tree->members[original].type != DT_REG) {
        member->method = PF_MEMBER_UNREADABLE;
        return problem(tree, error, "warning", "no-target", "%.200s: link to a missing member: skipped",
                       path);
    }
    const struct pf_member *is = &tree->members[original];
    member->start = is->start;
    member->size = is->size;
    member->method = is->method;
    return 0;
}

static int fill_file(struct pf_archive_tree *tree, struct archive *reader, struct archive_entry *entry,
                     bool zip, struct pf_member *member, const char *path, struct pf_error *error)
{
    int64_t size = archive_entry_size(entry), start = archive_filter_bytes(reader, 0);
    member->start = start < 0 ? 0 : (uint64_t)start;
    member->size = size < 0 ? 0 : (uint64_t)size;
    member->method = zip ? method_of(reader) : PF_MEMBER_PLAIN;
    if (archive_entry_is_encrypted(entry))
        member->method = PF_MEMBER_UNREADABLE;
    if (archive_entry_sparse_count(entry) > 0) {
        member->method = PF_MEMBER_SPARSE;
        member->start = (uint64_t)archive_read_header_position(reader);
    }
    if (member->method == PF_MEMBER_UNREADABLE)
        return problem(tree, error, "error", "unreadable",
                       "%.200s: encrypted, or compressed by an unsupported method", path);
    uint64_t left = member->start < tree->size ? tree->size - member->start : 0;
    if (member->method != PF_MEMBER_PLAIN || member->size <= left)
        return 0;
    member->size = left;
    return problem(tree, error, "fatal", "cut", "%.200s: truncated by the end of the archive", path);
}

/* The name of an entry and its link targets; NULL if absent. */
struct labels {
    const char *path, *hard, *soft;
    char target[PATH_MAX];
};

/* Looks up the names that libarchive does not return for a zip's member. Returns 0, or -1 with *error filled. */
static int find_labels(struct zip_names *names, struct archive *reader, uint8_t type, struct labels *labels)
{
    struct zip_name name;
    bool target = type == DT_LNK && !labels->soft;
    if (labels->path && !target)
        return 0;
    int found = find_zip_name(names, reader, &name);
    if (found <= 0)
        return found;
    if (!labels->path)
        labels->path = pf_interned(names->strings, name.name).text;
    found = target ? read_zip_target(names, &name, labels->target) : 0;
    if (found > 0)
        labels->soft = labels->target;
    return found < 0 ? -1 : 0;
}

static int index_add_link(struct pf_archive_tree *tree, struct pf_member *member, const struct labels *labels,
                          struct pf_error *error)
{
    const char *target = labels->soft ? labels->soft : "";
    member->size = strlen(target);
    member->link = pf_intern(tree->strings, target, member->size, error);
    if (member->link == PF_NO_STRING)
        return -1;
    return labels->soft ? 0
                        : problem(tree, error, "error", "unreadable",
                                  "%.200s: unreadable link target: left empty", labels->path);
}

static int add_entry(struct pf_archive_tree *tree, struct archive *reader, struct archive_entry *entry,
                     struct zip_names *names, struct pf_error *error)
{
    struct labels labels = {.path = archive_entry_pathname(entry),
                            .hard = archive_entry_hardlink(entry),
                            .soft = archive_entry_symlink(entry)};
    uint8_t type = index_type_of(entry);
    if (names && find_labels(names, reader, type, &labels))
        return -1;
    const char *path = labels.path;
    if (!path)
        return problem(tree, error, "warning", "no-name", "member without a name: skipped");
    if (type == DT_UNKNOWN)
        return problem(tree, error, "warning", "no-file", "%.200s: neither file, folder nor link: skipped",
                       path);
    size_t size = strlen(path);
    if (size >= PATH_MAX)
        return problem(tree, error, "warning", "bad-name",
                       "%.200s...: path of %zu bytes exceeds the maximum of %d: skipped", path,
                       size, PATH_MAX - 1);
    if (names && type == DT_REG && size &&
        path[size - 1] == '/') /* libarchive did not get the name and reports a file */
        type = DT_DIR;
    uint32_t at = place_member(tree, path, type, error);
    if (at == PF_NO_MEMBER && error->code)
        return -1;
    if (at == PF_NO_MEMBER)
        return type == DT_DIR ? 0
                              : problem(tree, error, "warning", "bad-name",
                                        "%.200s: invalid name: skipped", path);
    struct pf_member *member = &tree->members[at];
    if (member->type != type)
        return problem(tree, error, "warning", "folder", "%.200s: also a folder: file skipped",
                       path);
    member->mtime = archive_entry_mtime(entry);
    if (type == DT_DIR)
        return 0;
    return type == DT_LNK ? index_add_link(tree, member, &labels, error)
           : labels.hard  ? add_alias(tree, member, labels.hard, path, error)
                          : fill_file(tree, reader, entry, names != NULL, member, path, error);
}

static int add_entries(struct pf_archive_tree *tree, struct archive *reader, struct zip_names *names,
                       struct pf_error *error)
{
    struct archive_entry *entry;
    int got;
    while ((got = archive_read_next_header(reader, &entry)) == ARCHIVE_OK || got == ARCHIVE_WARN)
        if (add_entry(tree, reader, entry, names, error))
            return -1;
    return got == ARCHIVE_EOF ? 0
                              : problem(tree, error, "fatal", "damaged", "reading of members ends here: %.200s",
                                        archive_error_string(reader));
}

static int index_members(struct pf_archive_tree *tree, struct range *range, bool zip, struct pf_error *error)
{
    int failed = -1;
    struct zip_names names = {.range = range, .error = error};
    struct archive *reader = reader_of(range, error);
    if (!reader)
        return -1;
    if (zip ? archive_read_support_format_zip(reader) : archive_read_support_format_tar(reader))
        pf_fail(error, ENOTSUP, "%.150s", archive_error_string(reader));
    else if (archive_read_open1(reader))
        failed = problem(tree, error, "fatal", "damaged", "%.200s", archive_error_string(reader));
    else
        failed = add_entries(tree, reader, zip ? &names : NULL, error);
    archive_read_free(reader);
    free_zip_names(&names);
    if (!failed && pf_is_transient(range->error.code)) {
        *error = range->error;
        return -1;
    }
    return failed;
}

/* Sets the size of a compressed tar's tree, which is known now, and truncates members that exceed it. Adds problems. */
static int cut_members(struct pf_archive_tree *tree, struct pf_unpacked *unpacked, struct pf_error *error)
{
    struct pf_error damage;
    int failed = 0;
    if (pf_unpacked_damage(unpacked, &damage))
        failed =
            problem(tree, error, "fatal", damage.code == EFBIG ? "too-large" : "damaged", "%s", damage.what);
    tree->size = pf_unpacked_size(unpacked);
    for (uint32_t i = 0; i < tree->count && !failed; i++) {
        struct pf_member *member = &tree->members[i];
        uint64_t left = member->start < tree->size ? tree->size - member->start : 0;
        if (member->type != DT_REG || member->method != PF_MEMBER_PLAIN || member->size <= left)
            continue;
        member->size = left;
        failed = problem(tree, error, "fatal", "cut", "%.200s: truncated by the end of the archive",
                         pf_interned(tree->strings, member->name).text);
    }
    return failed;
}

int pf_archive_index(struct pf_archive_tree *tree, const struct pf_archive_bytes *bytes,
                     enum pf_archive_kind kind, struct pf_error *error)
{
    struct range *range = malloc(sizeof *range);
    if (!range)
        return pf_fail_memory(error);
    *range = (struct range){.from = *bytes, .size = tree->size, .want = WINDOW};
    int failed = pf_archive_tree_add(tree, PF_NO_MEMBER, PF_NO_STRING, DT_DIR, error) == PF_NO_MEMBER ||
                 index_members(tree, range, kind == PF_ZIP, error) ||
                 (bytes->unpacked && cut_members(tree, bytes->unpacked, error));
    free(range);
    return failed ? -1 : 0;
}
