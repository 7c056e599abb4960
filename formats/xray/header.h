/* SPDX-License-Identifier: MIT */
#ifndef PF_XRAY_HEADER_H
#define PF_XRAY_HEADER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What an XRay file is, told by its first bytes. There are three kinds, each in either byte order. */
enum xray_type { XRAY_BASIC, XRAY_FDR, XRAY_PROFILING };

struct xray_header {
    enum xray_type type;
    bool big_endian;
    uint64_t version; /* FDR: 1 to 5; basic: 1 to 3; profiling: XRAY_PROFILING_VERSION */

    /* Of logs. */
    bool constant_tsc, nonstop_tsc;
    uint64_t frequency;   /* ticks a second; 0: not known */
    uint64_t buffer_size; /* FDR: of one buffer; the layout of version 1, mere information later */

    /* Of profiling files. */
    uint64_t created; /* nanoseconds since 1970 */
    uint64_t pid;
};

/* Bytes of every file's header. */
#define XRAY_HEADER_SIZE ((size_t)32)

#define XRAY_PROFILING_VERSION 0x20180424

/* Bytes that xray_confidence wants to see: the header and what a log starts with. */
#define XRAY_PROBE_SIZE ((size_t)64)

/* Reads the header at the start of bytes; false if there is none. */
bool xray_header_read(struct xray_header *header, const unsigned char *bytes, size_t size);

/* How sure it is, in bits of evidence, that what follows a header follows it: as in struct pf_verdict. */
unsigned xray_confidence(const struct xray_header *header, const unsigned char *bytes, size_t size);

/* The version as info.txt tells it, e.g. "5", "basic 3", "profiling 0x20180424". */
void xray_header_version(const struct xray_header *header, char *text, size_t room);

#endif
