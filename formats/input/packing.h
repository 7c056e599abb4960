/* SPDX-License-Identifier: MIT */
#ifndef PF_PACKING_H
#define PF_PACKING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "formats/kit/error.h"

/* Recognises compressed files and archives by their first bytes and names. All functions are pure. */

/* A callback that reads compressed bytes as pf_input_read does. Called by the threads that read the unpacked bytes. */
typedef ssize_t pf_inflate_source(void *arg, void *buffer, size_t size, uint64_t offset,
                                  struct pf_error *error);

/* pf_inflate_is_gzip: true if the bytes begin like gzip data. pf_inflate_is_zlib: true if they begin like a zlib
 * stream; its magic number has only two bytes, so other data may match by chance. */
bool pf_inflate_is_gzip(const unsigned char *bytes, size_t size);
bool pf_inflate_is_zlib(const unsigned char *bytes, size_t size);

/*
 * How bytes are compressed. The last two kinds have no magic number. PF_DEFLATED is raw deflate data, as in a zip.
 * PF_SPARSE is a sparse member of a tar, from its header on; it omits the member's holes.
 */
enum pf_packing_kind {
    PF_UNPACKED,
    PF_GZIP_PACKED,
    PF_ZSTD_PACKED,
    PF_XZ_PACKED,
    PF_BZIP2_PACKED,
    PF_DEFLATED,
    PF_SPARSE
};

/* Detects the compression of a file by its first bytes. */
enum pf_packing_kind pf_packing_kind_of(const unsigned char *head, size_t size);
/* The length of a name without its compression suffix (.gz, .zst, .xz, .bz2), if it has one. */
size_t pf_packing_stem(const char *name);

/* The maximum number of bytes to unpack from `packed` compressed bytes; the rest is dropped, with the error
 * PF_PACKING_BEYOND. */
uint64_t pf_packing_limit(uint64_t packed);
#define PF_PACKING_BEYOND "it unpacks to more than is sound: the rest is left out"

enum pf_archive_kind { PF_NO_ARCHIVE, PF_TAR, PF_TAR_PACKED, PF_ZIP };

/* Detects the kind of an archive by the file's name and first bytes. */
enum pf_archive_kind pf_archive_kind_of(const char *name, const unsigned char *head, size_t size);
/* True if the bytes are the beginning of a tar or zip archive, whatever the file's name. */
bool pf_archive_begins(const unsigned char *head, size_t size);

#endif
