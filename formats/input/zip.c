/* SPDX-License-Identifier: MIT */
#include "formats/input/zip.h"

#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "formats/kit/bytes.h"

/*
 * LOCAL to LOCATOR: sizes of the records' fixed parts. BUFFER exceeds the longest record, which is ENTRY plus three
 * fields of 65535 bytes.
 */
enum { LOCAL = 30, ENTRY = 46, END = 22, END64 = 56, LOCATOR = 20, COMMENT_MAX = 65535, BUFFER = 256 * 1024 };

static bool has_magic(const unsigned char *bytes, const char *magic)
{
    return !memcmp(bytes, magic, 4);
}

/* The archive being read. */
struct zip {
    pf_inflate_source *source;
    void *arg;
    struct pf_error *error;
    unsigned char *bytes; /* a buffer of BUFFER bytes */
};

static ssize_t read_at(const struct zip *zip, size_t size, uint64_t offset)
{
    return zip->source(zip->arg, zip->bytes, size, offset, zip->error);
}

/* ---- a member's header -------------------------------------------------------------------------- */

/*
 * Reads the values of a ZIP64 field. The field holds those values that do not fit into the header's 32 bits, in the
 * header's order. The first of them is the unpacked size if `wide_size` is set.
 */
static void read_zip64(const unsigned char *field, size_t size, bool wide_size, struct pf_zip_entry *entry)
{
    uint64_t *const values[] = {&entry->packed, &entry->header};
    size_t at = wide_size ? 8 : 0;
    for (size_t i = 0; i < 2; i++) {
        if (*values[i] != UINT32_MAX || at + 8 > size)
            continue;
        *values[i] = pf_u64(field + at, false);
        at += 8;
    }
}

/*
 * Reads the UTF-8 name of a member (Info-ZIP extra field 0x7075). The field's checksum shows whether a program that
 * ignores the field has renamed the member.
 */
static void read_unicode_name(const unsigned char *field, size_t size, struct pf_zip_entry *entry)
{
    if (size <= 5 || field[0] != 1 ||
        crc32(0, (const Bytef *)entry->name, (uInt)entry->name_size) != pf_u32(field + 1, false))
        return;
    entry->name = (const char *)field + 5;
    entry->name_size = size - 5;
}

static void read_extra(const unsigned char *extra, size_t size, bool wide_size, struct pf_zip_entry *entry)
{
    for (size_t field; size >= 4; extra += field, size -= field) {
        unsigned id = pf_u16(extra, false);
        field = 4 + (size_t)pf_u16(extra + 2, false);
        if (field > size)
            return;
        if (id == 0x0001)
            read_zip64(extra + 4, field - 4, wide_size, entry);
        else if (id == 0x7075)
            read_unicode_name(extra + 4, field - 4, entry);
    }
}

/*
 * Converts the backslashes of a name without slashes, as libarchive does, since Windows' own programs wrote backslashes
 * for years.
 */
static void turn_backslashes(char *name, size_t size)
{
    for (char *at = memchr(name, '/', size) ? NULL : memchr(name, '\\', size); at;
         at = memchr(at, '\\', size - (size_t)(at - name)))
        *at = '/';
}

/* Parses a header. Returns its size; 0 if the `size` bytes do not contain the whole header. */
static size_t zip_parse(unsigned char *bytes, size_t size, bool local, struct pf_zip_entry *entry)
{
    size_t fixed = local ? LOCAL : ENTRY;
    const unsigned char *at = bytes + (local ? 8 : 10); /* the first field common to both headers */
    if (size < fixed || !has_magic(bytes, local ? "PK\3\4" : "PK\1\2"))
        return 0;
    size_t name = pf_u16(at + 18, false), extra = pf_u16(at + 20, false),
           comment = local ? 0 : pf_u16(bytes + 32, false), whole = fixed + name + extra + comment;
    if (whole > size)
        return 0;
    *entry = (struct pf_zip_entry){.name = (const char *)bytes + fixed,
                                   .name_size = name,
                                   .header = local ? 0 : pf_u32(bytes + 42, false),
                                   .packed = pf_u32(at + 10, false),
                                   .method = pf_u16(at, false)};
    read_extra(bytes + fixed + name, extra, pf_u32(at + 14, false) == UINT32_MAX, entry);
    if (!local && !bytes[5]) /* made by a program for DOS or Windows */
        turn_backslashes((char *)bytes + (entry->name - (const char *)bytes), entry->name_size);
    return whole;
}

/* ---- the central directory ---------------------------------------------------------------------- */

/*
 * The location of the central directory. `shift` is the number of bytes that were prepended to the archive after its
 * offsets were written.
 */
struct directory {
    uint64_t start, end, shift;
};

static bool place_directory(struct directory *directory, uint64_t end, uint64_t size, uint64_t declared)
{
    if (size > end || declared > end - size)
        return false;
    *directory = (struct directory){end - size, end, end - size - declared};
    return true;
}

/*
 * Locates the directory by the ZIP64 record, which precedes the regular record. Returns the same values as
 * find_directory.
 */
static int find_directory64(const struct zip *zip, uint64_t end, struct directory *directory)
{
    unsigned char record[END64];
    if (end < LOCATOR + END64)
        return 0;
    ssize_t got = zip->source(zip->arg, record, LOCATOR, end - LOCATOR, zip->error);
    if (got < LOCATOR || !has_magic(record, "PK\6\7"))
        return got < 0 ? -1 : 0;
    uint64_t at = pf_u64(record + 8, false);
    got = at > end - LOCATOR - END64 ? 0 : zip->source(zip->arg, record, END64, at, zip->error);
    if (got < END64 || !has_magic(record, "PK\6\6"))
        return got < 0 ? -1 : 0;
    return place_directory(directory, at, pf_u64(record + 40, false), pf_u64(record + 48, false));
}

/* Locates the directory. Returns 1 if found, 0 if not, -1 on failure. */
static int find_directory(const struct zip *zip, uint64_t size, struct directory *directory)
{
    uint64_t tail = size < END + COMMENT_MAX ? size : END + COMMENT_MAX;
    ssize_t got = read_at(zip, (size_t)tail, size - tail);
    if (got < END)
        return got < 0 ? -1 : 0;
    for (size_t at = (size_t)got - END + 1; at-- > 0;) {
        const unsigned char *record = zip->bytes + at;
        if (!has_magic(record, "PK\5\6") || pf_u16(record + 20, false) > (size_t)got - END - at)
            continue;
        uint64_t end = size - tail + at, bytes = pf_u32(record + 12, false),
                 declared = pf_u32(record + 16, false);
        /* Some writers add a ZIP64 record without marking it in the regular one. */
        int found = find_directory64(zip, end, directory);
        if (found || place_directory(directory, end, bytes, declared))
            return found ? found : 1;
    }
    return 0;
}

/* Visits the directory's entries that are complete within zip->bytes[0 .. size). Returns the total size of the
 * visited entries; 0 if there is none or if `visit` ended the listing. */
static size_t visit_entries(const struct zip *zip, size_t size, uint64_t shift, pf_zip_entry_visit *visit,
                            void *arg)
{
    struct pf_zip_entry entry;
    size_t at = 0;
    for (size_t whole; (whole = zip_parse(zip->bytes + at, size - at, false, &entry)); at += whole) {
        entry.header += shift;
        if (visit(arg, &entry))
            return 0;
    }
    return at;
}

static int zip_list(const struct zip *zip, uint64_t size, pf_zip_entry_visit *visit, void *arg)
{
    struct directory directory = {0};
    int found = find_directory(zip, size, &directory);
    for (uint64_t at = directory.start; found > 0 && at < directory.end;) {
        uint64_t left = directory.end - at;
        ssize_t got = read_at(zip, left < BUFFER ? (size_t)left : BUFFER, at);
        if (got < 0)
            return -1;
        size_t done = visit_entries(zip, (size_t)got, directory.shift, visit, arg);
        if (!done)
            break;
        at += done;
    }
    return found;
}

static int local(const struct zip *zip, uint64_t offset, pf_zip_entry_visit *visit, void *arg)
{
    struct pf_zip_entry entry;
    ssize_t got = read_at(zip, LOCAL + 2 * UINT16_MAX, offset);
    size_t whole = got < 0 ? 0 : zip_parse(zip->bytes, (size_t)got, true, &entry);
    if (!whole)
        return got < 0 ? -1 : 0;
    entry.header = offset;
    entry.data = offset + whole;
    visit(arg, &entry);
    return 1;
}

int pf_zip_list(pf_inflate_source *source, void *source_arg, uint64_t size, pf_zip_entry_visit *visit,
                void *visit_arg, struct pf_error *error)
{
    struct zip zip = {source, source_arg, error, malloc(BUFFER)};
    int found = zip.bytes ? zip_list(&zip, size, visit, visit_arg) : pf_fail_memory(error);
    free(zip.bytes);
    return found;
}

int pf_zip_local(pf_inflate_source *source, void *source_arg, uint64_t offset, pf_zip_entry_visit *visit,
                 void *visit_arg, struct pf_error *error)
{
    struct zip zip = {source, source_arg, error, malloc(BUFFER)};
    int found = zip.bytes ? local(&zip, offset, visit, visit_arg) : pf_fail_memory(error);
    free(zip.bytes);
    return found;
}
