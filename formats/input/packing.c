/* SPDX-License-Identifier: MIT */
#include "formats/input/packing.h"

#include <string.h>
#include <zlib.h>

bool pf_inflate_is_gzip(const unsigned char *bytes, size_t size)
{
    return size >= 3 && bytes[0] == 0x1f && bytes[1] == 0x8b && bytes[2] == Z_DEFLATED;
}

/*
 * True for a header with method 8 (deflate), a window of at most 32 KiB and no preset dictionary. The header's check bits
 * make its two bytes, read as a big-endian number, a multiple of 31.
 */
bool pf_inflate_is_zlib(const unsigned char *bytes, size_t size)
{
    return size >= 2 && (bytes[0] & 15) == Z_DEFLATED && bytes[0] >> 4 <= 7 && !(bytes[1] & 0x20) &&
           (bytes[0] << 8 | bytes[1]) % 31 == 0;
}

static bool packing_ends_with(const char *name, const char *end)
{
    size_t size = strlen(name), tail = strlen(end);
    return size > tail && !strcasecmp(name + size - tail, end);
}

size_t pf_packing_stem(const char *name)
{
    static const char *const ends[] = {".gz", ".zst", ".xz", ".bz2"};
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++)
        if (packing_ends_with(name, ends[i]))
            return strlen(name) - strlen(ends[i]);
    return strlen(name);
}

enum pf_packing_kind pf_packing_kind_of(const unsigned char *head, size_t size)
{
    static const struct {
        const char *bytes;
        size_t size;
        enum pf_packing_kind kind;
    } magics[] = {{"\x1f\x8b\x08", 3, PF_GZIP_PACKED},
                  {"\x28\xb5\x2f\xfd", 4, PF_ZSTD_PACKED},
                  {"\xfd"
                   "7zXZ",
                   6, PF_XZ_PACKED}};
    for (size_t i = 0; i < sizeof magics / sizeof *magics; i++)
        if (size >= magics[i].size && !memcmp(head, magics[i].bytes, magics[i].size))
            return magics[i].kind;
    bool bzip2 = size >= 10 && !memcmp(head, "BZh", 3) && head[3] >= '1' && head[3] <= '9' &&
                 !memcmp(head + 4, "1AY&SY", 6);
    return bzip2 ? PF_BZIP2_PACKED : PF_UNPACKED;
}

uint64_t pf_packing_limit(uint64_t packed)
{
    enum { RATIO_MAX = 250 };
    const uint64_t any = UINT64_C(1) << 30; /* bytes that a file of any size may unpack to */
    return packed < (UINT64_MAX - any) / RATIO_MAX ? any + packed * RATIO_MAX : UINT64_MAX;
}

/* Every tar header written since 1988 contains "ustar". */
static bool is_tar(const unsigned char *head, size_t size)
{
    return size > 262 && !memcmp(head + 257, "ustar", 5);
}

static bool is_zip(const unsigned char *head, size_t size)
{
    return size > 4 && (!memcmp(head, "PK\3\4", 4) || !memcmp(head, "PK\5\6", 4));
}

bool pf_archive_begins(const unsigned char *head, size_t size)
{
    return is_tar(head, size) || is_zip(head, size);
}

enum pf_archive_kind pf_archive_kind_of(const char *name, const unsigned char *head, size_t size)
{
    static const struct {
        const char *end;
        enum pf_archive_kind kind;
    } ends[] = {{".tar", PF_TAR},           {".tar.gz", PF_TAR_PACKED},
                {".tgz", PF_TAR_PACKED},    {".tar.zst", PF_TAR_PACKED},
                {".tar.xz", PF_TAR_PACKED}, {".zip", PF_ZIP}};
    enum pf_archive_kind kind = PF_NO_ARCHIVE;
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++)
        if (packing_ends_with(name, ends[i].end))
            kind = ends[i].kind;
    switch (kind) {
    case PF_TAR:
        return is_tar(head, size) ? PF_TAR : PF_NO_ARCHIVE;
    case PF_TAR_PACKED:
        return size > 6 && (!memcmp(head, "\x1f\x8b", 2) || !memcmp(head, "\x28\xb5\x2f\xfd", 4) ||
                            !memcmp(head,
                                    "\xfd"
                                    "7zXZ",
                                    5))
                   ? PF_TAR_PACKED
                   : PF_NO_ARCHIVE;
    case PF_ZIP:
        return is_zip(head, size) ? PF_ZIP : PF_NO_ARCHIVE;
    default:
        return PF_NO_ARCHIVE;
    }
}
