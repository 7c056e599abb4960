/* SPDX-License-Identifier: MIT */
#ifndef EXTRAP_ZIP_H
#define EXTRAP_ZIP_H

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

/* A ZIP archive that is being written: `bytes` holds the members, `directory` the central directory that follows them. */
struct archive {
    unsigned char bytes[1 << 20];
    size_t size;
    unsigned char directory[4096];
    size_t directory_size;
    unsigned members;
};

static void put(unsigned char *to, size_t *size, uint64_t value, int bytes)
{
    for (int i = 0; i < bytes; i++)
        to[(*size)++] = (unsigned char)(value >> 8 * i);
}

/* Writes the fields common to a local and a central header, beginning with the version. `said` is the declared uncompressed size. */
static void put_common(unsigned char *to, size_t *size, int method, size_t packed, uint64_t said, size_t name)
{
    put(to, size, 20, 2);
    put(to, size, 0, 2);
    put(to, size, (uint64_t)method, 2);
    put(to, size, 0, 8); /* time, date, checksum: ignored by the reader */
    put(to, size, packed, 4);
    put(to, size, said, 4);
    put(to, size, name, 2);
    put(to, size, 0, 2);
}

static size_t pack(const void *text, size_t size, unsigned char *to, size_t room)
{
    z_stream z = {0};
    deflateInit2(&z, 9, Z_DEFLATED, -MAX_WBITS, 9, Z_DEFAULT_STRATEGY);
    z.next_in = (Bytef *)(uintptr_t)text;
    z.avail_in = (uInt)size;
    z.next_out = to;
    z.avail_out = (uInt)room;
    deflate(&z, Z_FINISH);
    deflateEnd(&z);
    return z.total_out;
}

/* Adds a member, deflated or stored. `said` is the declared uncompressed size, which may be wrong. */
static void add_member(struct archive *archive, const char *name, const void *text, size_t size, int deflated,
                       uint64_t said)
{
    static unsigned char packed[1 << 20];
    size_t packed_size = size, length = strlen(name), header = archive->size;
    if (deflated)
        packed_size = pack(text, size, packed, sizeof packed);
    put(archive->bytes, &archive->size, 0x04034b50, 4);
    put_common(archive->bytes, &archive->size, deflated ? 8 : 0, packed_size, said, length);
    memcpy(archive->bytes + archive->size, name, length);
    archive->size += length;
    memcpy(archive->bytes + archive->size, deflated ? packed : text, packed_size);
    archive->size += packed_size;

    put(archive->directory, &archive->directory_size, 0x02014b50, 4);
    put(archive->directory, &archive->directory_size, 20, 2);
    put_common(archive->directory, &archive->directory_size, deflated ? 8 : 0, packed_size, said, length);
    put(archive->directory, &archive->directory_size, 0, 8); /* comment, disk, attributes */
    put(archive->directory, &archive->directory_size, 0, 2);
    put(archive->directory, &archive->directory_size, header, 4);
    memcpy(archive->directory + archive->directory_size, name, length);
    archive->directory_size += length;
    archive->members++;
}

static void finish_archive(struct archive *archive)
{
    size_t start = archive->size;
    memcpy(archive->bytes + start, archive->directory, archive->directory_size);
    archive->size += archive->directory_size;
    put(archive->bytes, &archive->size, 0x06054b50, 4);
    put(archive->bytes, &archive->size, 0, 4);
    put(archive->bytes, &archive->size, archive->members, 2);
    put(archive->bytes, &archive->size, archive->members, 2);
    put(archive->bytes, &archive->size, archive->directory_size, 4);
    put(archive->bytes, &archive->size, start, 4);
    put(archive->bytes, &archive->size, 0, 2);
}

#endif
