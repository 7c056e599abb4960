/* SPDX-License-Identifier: MIT */
#include <stdio.h>

#include "formats/kit/bytes.h"
#include "formats/xray/records.h"
#include "formats/xray/xray.h"

/* ---- reading ------------------------------------------------------------------------------------ */

/* u64 magic, u64 version, u64 nanoseconds since 1970, u64 process. */
static bool read_profiling(struct xray_header *header, const unsigned char *bytes, bool big_endian)
{
    static const uint64_t magic = UINT64_C(0x7872617970726f66); /* "xrayprof" */
    if (pf_u64(bytes, big_endian) != magic)
        return false;
    *header = (struct xray_header){
        .type = XRAY_PROFILING,
        .big_endian = big_endian,
        .version = pf_u64(bytes + 8, big_endian),
        .created = pf_u64(bytes + 16, big_endian),
        .pid = pf_u64(bytes + 24, big_endian),
    };
    return header->version == XRAY_PROFILING_VERSION;
}

/*
 * u16 version, u16 type, flags, u64 ticks a second, u64 size of one buffer, 8 bytes of anything. The flags
 * are bit fields: constant_tsc and nonstop_tsc are the lowest bits of byte 4, or the highest on big-endian
 * machines.
 */
static bool read_log(struct xray_header *header, const unsigned char *bytes, bool big_endian)
{
    enum { BASIC_VERSIONS = 3, FDR_VERSIONS = 5 };
    unsigned flags = big_endian ? bytes[4] >> 7 | (bytes[4] >> 5 & 2) : bytes[4] & 3;
    uint16_t type = pf_u16(bytes + 2, big_endian);
    *header = (struct xray_header){
        .type = type == XRAY_FDR ? XRAY_FDR : XRAY_BASIC,
        .big_endian = big_endian,
        .version = pf_u16(bytes, big_endian),
        .constant_tsc = flags & 1,
        .nonstop_tsc = flags & 2,
        .frequency = pf_u64(bytes + 8, big_endian),
        .buffer_size = pf_u64(bytes + 16, big_endian),
    };
    unsigned versions = type == XRAY_FDR ? FDR_VERSIONS : BASIC_VERSIONS;
    return type <= XRAY_FDR && header->version >= 1 && header->version <= versions;
}

bool xray_header_read(struct xray_header *header, const unsigned char *bytes, size_t size)
{
    /* The two orders cannot be confused: versions and types are small, and no version is 0. */
    return size >= XRAY_HEADER_SIZE &&
           (read_profiling(header, bytes, false) || read_profiling(header, bytes, true) ||
            read_log(header, bytes, false) || read_log(header, bytes, true));
}

/* ---- recognising -------------------------------------------------------------------------------- */

/* A log has no magic number, but 4 bytes with five possible values, and the kind of the first record. One
 * whose first record is damaged is still told by the flags that every runtime sets. */
static unsigned fdr_confidence(const struct xray_header *header, const unsigned char *bytes, size_t size)
{
    enum xray_metadata first = header->version == 1 ? XRAY_NEW_BUFFER : XRAY_BUFFER_EXTENTS;
    if (size == XRAY_HEADER_SIZE || bytes[XRAY_HEADER_SIZE] == xray_metadata_byte(first, header->big_endian))
        return 32;
    uint32_t flags = pf_u32(bytes + 4, false), usual = header->big_endian ? 0xc0 : 3;
    return flags == usual ? 16 : 0;
}

/*
 * The first bytes of basic logs are those of many another format: a TrueType font begins as a big-endian one
 * of version 1, and 1, 2, 3 are popular numbers to begin with. So the clock's frequency must be that of a
 * clock, and the first record one that a runtime can have written.
 */
static unsigned basic_confidence(const struct xray_header *header, const unsigned char *bytes, size_t size)
{
    const uint64_t slowest = 1000, fastest = UINT64_C(1000000000000); /* Hz */
    bool known = header->frequency >= slowest && header->frequency <= fastest;
    if (size == XRAY_HEADER_SIZE)
        return known ? 8 : 0;
    if ((header->frequency && !known) || size < XRAY_HEADER_SIZE + XRAY_BASIC_SIZE)
        return 0;
    const unsigned char *record = bytes + XRAY_HEADER_SIZE;
    bool big_endian = header->big_endian;
    bool sound = pf_u16(record, big_endian) == XRAY_BASIC_FUNCTION && record[3] <= XRAY_ENTER_ARG &&
                 pf_u32(record + 4, big_endian) && pf_u64(record + 8, big_endian) &&
                 pf_u32(record + 16, big_endian);
    return sound ? 24 : 0;
}

unsigned xray_confidence(const struct xray_header *header, const unsigned char *bytes, size_t size)
{
    switch (header->type) {
    case XRAY_FDR:
        return fdr_confidence(header, bytes, size);
    case XRAY_BASIC:
        return basic_confidence(header, bytes, size);
    default:
        return 64;
    }
}

void xray_header_version(const struct xray_header *header, char *text, size_t room)
{
    if (header->type == XRAY_PROFILING)
        snprintf(text, room, "profiling 0x%" PRIx64, header->version);
    else
        snprintf(text, room, "%s%" PRIu64, header->type == XRAY_BASIC ? "basic " : "", header->version);
}

/* ---- what is wrong ------------------------------------------------------------------------------ */

/* A number follows some texts. */
const struct pf_note_kind xray_note_kinds[XRAY_NOTE_KINDS] = {
    [XRAY_FILE_CUT] = {"fatal", "cut-record", "the file ends inside this record"},
    [XRAY_BUFFER_CUT] = {"fatal", "cut-buffer", "the file ends inside this buffer; bytes missing"},
    [XRAY_BEYOND_END] = {"error", "extents-beyond-end",
                         "this buffer is declared to reach beyond the end of the file; declared bytes"},
    [XRAY_OVERLAP] = {"error", "overlapping-buffer",
                      "this buffer starts before the declared end of the one before it"},
    [XRAY_RESYNCHRONISED] = {"error", "resynchronised",
                             "no buffer starts here; bytes skipped to the next one or to the end"},
    [XRAY_NO_THREAD] = {"error", "buffer-without-thread",
                        "this buffer does not say which thread it is of, and is left out"},
    [XRAY_DUPLICATE] = {"warning", "duplicate-buffer",
                        "this buffer is in the file twice, and is left out once"},
    [XRAY_BUFFER_SIZE] = {"warning", "buffer-size",
                          "the whole file is read as one buffer, because the header's buffer size is"},
    [XRAY_RECORD_CUT] = {"error", "cut-record", "the buffer ends inside this record, which is left out"},
    [XRAY_FUNCTION_KIND] = {"error", "bad-record",
                            "the rest of the buffer is left out: function record of unknown kind"},
    [XRAY_METADATA_KIND] = {"error", "bad-record",
                            "the rest of the buffer is left out: metadata record of kind"},
    [XRAY_EVENT_SIZE] = {"error", "event-size",
                         "the rest of the buffer is left out: this event reaches beyond it; bytes"},
    [XRAY_NESTED] = {"error", "overlapping-buffer",
                     "the rest of the buffer is left out: another one starts here"},
    [XRAY_NO_END] = {"warning", "buffer-without-end", "this buffer has no end record"},
    [XRAY_UNTIMED] = {"error", "record-without-time",
                      "left out of this buffer, because they stand before any time stamp; records"},
    [XRAY_STRAY] = {"warning", "stray-record",
                    "ignored in this buffer, because they are out of place; records"},
    [XRAY_STRAY_ARGUMENT] = {"warning", "stray-record",
                             "ignored, here for the first time: arguments without their call; records"},
    [XRAY_UNKNOWN] = {"error", "bad-record",
                      "left out, here for the first time: records of unknown type or kind; records"},
    [XRAY_BLOCK_SIZE] = {"error", "block-size",
                         "the rest of the file is left out: this block is too small; bytes"},
    [XRAY_BLOCK_CUT] = {"fatal", "cut-block", "the file ends inside this block; bytes missing"},
    [XRAY_CUT_IN_BLOCK] = {"error", "cut-record", "the block ends inside this record, which is left out"},
    [XRAY_NO_PATH] = {"warning", "record-without-path", "this record names no function, and is left out"},
    [XRAY_LONG_PATH] = {"error", "long-path",
                        "this record is left out, because its path is too long; functions"},
    [XRAY_LONG_PAYLOAD] = {"warning", "long-payload",
                           "the trace shows only the start of this event's payload; bytes left out"},
    [XRAY_MANY_ARGUMENTS] = {"warning", "many-arguments",
                             "the trace shows only the first arguments of this call; left out"},
    [XRAY_NEGATIVE] = {"warning", "negative-time",
                       "ticks (and time) of a context in a thread are below zero, as of clocks that run "
                       "backwards, so that others may exceed 100 %; how often"},
};
