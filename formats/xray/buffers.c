/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdlib.h>

#include "formats/xray/records.h"

/*
 * The light pass over an FDR log: which buffers it has, of which threads. Only the start of each buffer is read, unless the
 * file is damaged there.
 */

enum {
    /* Extents, NewBuffer, wall time, process, CPU, and usually the first event. */
    PREAMBLE = 160,
    /* Where buffers lie closer than NEAR one large read is cheaper than many small ones. */
    NEAR = 4096,
    CHUNK = 64 * 1024,
};

struct scan {
    const struct xray_header *header;
    struct pf_input *input;
    struct pf_pass *pass;
    struct xray_indexing *indexing;
    struct pf_notes *notes;
    struct xray_decoder decoder;
    uint64_t size;        /* of the file */
    uint64_t base;        /* offset in the file of bytes[0] */
    size_t have;          /* in bytes[] */
    unsigned char *bytes; /* CHUNK of them, owned */
};

/* At least `want` bytes at offset (up to CHUNK), less only at the end of the file; *have: how many. */
static const unsigned char *peek(struct scan *scan, uint64_t offset, size_t want, size_t *have,
                                 struct pf_error *error)
{
    uint64_t left = scan->size - offset;
    if (want > left)
        want = (size_t)left;
    uint64_t held = scan->base + scan->have;
    if (offset < scan->base || offset > held || held - offset < want) {
        bool near = offset >= scan->base && offset <= held + NEAR;
        size_t size = near ? (size_t)CHUNK : want;
        scan->have = 0;
        ssize_t n = pf_input_read(scan->input, scan->bytes, size, offset, error);
        if (n < 0)
            return NULL;
        scan->base = offset;
        scan->have = (size_t)n;
        if (scan->have < want) {
            pf_fail_at(error, ESTALE, (int64_t)offset, "the file has become shorter");
            return NULL;
        }
    }
    *have = (size_t)(scan->base + scan->have - offset);
    return scan->bytes + (offset - scan->base);
}

/* Whether a metadata record of this kind starts with this byte. */
static bool is_metadata(const struct scan *scan, unsigned char byte, enum xray_metadata kind)
{
    return byte == xray_metadata_byte(kind, scan->header->big_endian);
}

static int step(struct scan *scan, uint64_t offset, struct pf_error *error)
{
    return pf_pass_step(scan->pass, offset, scan->size, error);
}

/* ---- one buffer --------------------------------------------------------------------------------- */

/* What a buffer says about itself before its first event. */
struct preamble {
    struct xray_part part;
    int32_t pid, tid;
    bool has_pid;
};

/* Reads the records after NewBuffer up to the first NewCPUId. */
static void read_preamble(struct preamble *preamble, const unsigned char *bytes, size_t size, bool big_endian)
{
    for (; size >= XRAY_METADATA_SIZE; bytes += XRAY_METADATA_SIZE, size -= XRAY_METADATA_SIZE) {
        switch (big_endian ? bytes[0] & 0x7f : bytes[0] >> 1) {
        case XRAY_WALLTIME: /* i64 seconds at 1, i32 microseconds at 9 */
            preamble->part.seconds = (int64_t)pf_u64(bytes + 1, big_endian);
            preamble->part.micros = (int32_t)pf_u32(bytes + 9, big_endian);
            break;
        case XRAY_PID: /* i32 at 1 */
            preamble->pid = (int32_t)pf_u32(bytes + 1, big_endian);
            preamble->has_pid = true;
            break;
        case XRAY_NEW_CPU: /* u64 TSC at 3 */
            preamble->part.tsc = pf_u64(bytes + 3, big_endian);
            preamble->part.has_tsc = true;
            return;
        default:
            return;
        }
    }
}

/* Takes the buffer whose NewBuffer record stands at offset and whose records end at `end`. */
static int take_buffer(struct scan *scan, uint64_t offset, uint64_t end, struct pf_error *error)
{
    size_t have;
    const unsigned char *bytes = peek(scan, offset, PREAMBLE - XRAY_METADATA_SIZE, &have, error);
    if (!bytes)
        return -1;
    bool big_endian = scan->header->big_endian;
    uint64_t body = offset + XRAY_METADATA_SIZE;
    struct preamble preamble = {.part.range = {body, end}, .tid = (int32_t)pf_u32(bytes + 1, big_endian)};
    bytes += XRAY_METADATA_SIZE;
    have -= XRAY_METADATA_SIZE;
    if (have > end - body)
        have = (size_t)(end - body);
    read_preamble(&preamble, bytes, have, big_endian);
    struct xray_event first;
    if (xray_decoder_begin_with(&scan->decoder, body, end, bytes, have, error))
        return -1;
    int found = xray_next_event(&scan->decoder, &first, error);
    if (found > 0)
        xray_index_start(scan->indexing, first.tsc);
    return found < 0 ? -1
                     : xray_index_add(scan->indexing, preamble.has_pid, preamble.pid, preamble.tid,
                                      &preamble.part, error);
}

/* ---- version 1: buffers of one size ------------------------------------------------------------- */

static int scan_fixed(struct scan *scan, struct pf_error *error)
{
    uint64_t size = scan->header->buffer_size, left;
    if (size < XRAY_METADATA_SIZE) {
        if (scan->size > XRAY_HEADER_SIZE)
            xray_note_number(scan->notes, XRAY_BUFFER_SIZE, 16, size);
        size = UINT64_MAX;
    }
    for (uint64_t offset = XRAY_HEADER_SIZE; offset < scan->size; offset += left) {
        left = scan->size - offset;
        if (left > size)
            left = size;
        size_t have;
        const unsigned char *bytes = peek(scan, offset, PREAMBLE, &have, error);
        if (!bytes || step(scan, offset, error))
            return -1;
        if (left < XRAY_METADATA_SIZE)
            xray_note(scan->notes, XRAY_FILE_CUT, offset);
        else if (!is_metadata(scan, bytes[0], XRAY_NEW_BUFFER))
            xray_note(scan->notes, XRAY_NO_THREAD, offset);
        else if (take_buffer(scan, offset, offset + left, error))
            return -1;
    }
    return 0;
}

/* ---- versions 2 to 5: buffers that tell their length -------------------------------------------- */

static bool starts_buffer(const struct scan *scan, const unsigned char *bytes)
{
    return is_metadata(scan, bytes[0], XRAY_BUFFER_EXTENTS) &&
           is_metadata(scan, bytes[XRAY_METADATA_SIZE], XRAY_NEW_BUFFER);
}

/* The first place from `offset` on where BufferExtents is followed by NewBuffer, or the end of the file. */
static int find_buffer(struct scan *scan, uint64_t offset, uint64_t *found, struct pf_error *error)
{
    while (offset < scan->size && scan->size - offset > XRAY_METADATA_SIZE) {
        size_t have;
        const unsigned char *bytes = peek(scan, offset, XRAY_METADATA_SIZE + 1, &have, error);
        if (!bytes || step(scan, offset, error))
            return -1;
        size_t places = have - XRAY_METADATA_SIZE;
        for (const unsigned char *at = bytes;; at++) {
            size_t left = places - (size_t)(at - bytes);
            at = memchr(at, xray_metadata_byte(XRAY_BUFFER_EXTENTS, scan->header->big_endian), left);
            if (!at)
                break;
            if (starts_buffer(scan, at)) {
                *found = offset + (uint64_t)(at - bytes);
                return 0;
            }
        }
        offset += places;
    }
    *found = scan->size;
    return 0;
}

/* Whether buffers go on at offset: BufferExtents, or the end of the file. -1 with *error filled. */
static int goes_on(struct scan *scan, uint64_t offset, struct pf_error *error)
{
    size_t have;
    if (offset == scan->size)
        return 1;
    const unsigned char *bytes = peek(scan, offset, 1, &have, error);
    if (!bytes)
        return -1;
    return is_metadata(scan, bytes[0], XRAY_BUFFER_EXTENTS);
}

/* Whether a buffer and its thread are at offset. -1 with *error filled. */
static int buffer_at(struct scan *scan, uint64_t offset, struct pf_error *error)
{
    size_t have;
    const unsigned char *bytes = peek(scan, offset, XRAY_METADATA_SIZE + 1, &have, error);
    if (!bytes)
        return -1;
    return have > XRAY_METADATA_SIZE && starts_buffer(scan, bytes);
}

/* Decodes a range of records until it ends or something is wrong; tells in scan->decoder. */
static int decode_all(struct scan *scan, uint64_t body, uint64_t end, struct pf_error *error)
{
    struct xray_event event;
    int more;
    xray_decoder_begin(&scan->decoder, body, end);
    for (uint64_t events = 1; (more = xray_next_event(&scan->decoder, &event, error)) > 0; events++)
        if (events % 65536 == 0 && step(scan, xray_decoder_offset(&scan->decoder), error))
            return -1;
    return more;
}

/*
 * A buffer whose declared end cannot be right: it lies beyond the end of the file, or no buffer starts
 * there. Its records tell where it ends: where they meet another buffer. *end: of the buffer's records;
 * *next: where to go on.
 */
static int find_end(struct scan *scan, uint64_t offset, uint64_t extents, uint64_t *end, uint64_t *next,
                    struct pf_error *error)
{
    uint64_t body = offset + 2 * XRAY_METADATA_SIZE;
    bool beyond = extents > scan->size - offset - XRAY_METADATA_SIZE;
    uint64_t declared = beyond ? scan->size : offset + XRAY_METADATA_SIZE + extents;
    *end = *next = declared;
    if (decode_all(scan, body, declared, error))
        return -1;
    enum xray_fault fault = scan->decoder.fault;
    uint64_t fault_offset = scan->decoder.fault_offset;
    int met = fault == XRAY_SOUND ? 0 : buffer_at(scan, fault_offset, error);
    if (met < 0)
        return -1;
    if (met) {
        *end = *next = fault_offset;
        if (beyond)
            xray_note_number(scan->notes, XRAY_BEYOND_END, offset, extents);
        xray_note(scan->notes, XRAY_OVERLAP, *next);
        return 0;
    }
    if (!beyond)
        return 0;
    bool damaged = fault != XRAY_SOUND && fault != XRAY_CUT_RECORD;
    if (damaged && find_buffer(scan, fault_offset + 1, next, error))
        return -1;
    *end = *next;
    if (*next == scan->size)
        xray_note_number(scan->notes, XRAY_BUFFER_CUT, offset,
                         extents - (scan->size - offset - XRAY_METADATA_SIZE));
    else
        xray_note_number(scan->notes, XRAY_BEYOND_END, offset, extents);
    return 0;
}

/* A BufferExtents without NewBuffer: nobody's. Its extents are believed only if they lead to another. */
static int pass_nobodys(struct scan *scan, uint64_t offset, uint64_t extents, uint64_t *next,
                        struct pf_error *error)
{
    uint64_t body = offset + XRAY_METADATA_SIZE, left = scan->size - body;
    if (extents > left && left < XRAY_METADATA_SIZE) {
        *next = scan->size;
        xray_note(scan->notes, XRAY_FILE_CUT, body);
        return 0;
    }
    if (extents <= left) {
        int sound = goes_on(scan, body + extents, error);
        *next = body + extents;
        if (sound < 0)
            return -1;
        if (sound && !extents)
            return 0;
        xray_note(scan->notes, XRAY_NO_THREAD, offset);
        if (sound)
            return 0;
    } else {
        xray_note(scan->notes, XRAY_NO_THREAD, offset);
    }
    return find_buffer(scan, offset + 1, next, error);
}

/* What stands at offset, where a buffer should start; *next: where to go on. */
static int scan_buffer(struct scan *scan, uint64_t offset, uint64_t *next, struct pf_error *error)
{
    size_t have;
    const unsigned char *bytes = peek(scan, offset, PREAMBLE, &have, error);
    if (!bytes)
        return -1;
    if (have < XRAY_METADATA_SIZE) {
        *next = scan->size;
        xray_note(scan->notes, XRAY_FILE_CUT, offset);
        return 0;
    }
    if (!is_metadata(scan, bytes[0], XRAY_BUFFER_EXTENTS)) {
        if (find_buffer(scan, offset + 1, next, error))
            return -1;
        xray_note_number(scan->notes, XRAY_RESYNCHRONISED, offset, *next - offset);
        return 0;
    }
    uint64_t extents =
        pf_u64(bytes + 1, scan->header->big_endian); /* bytes of the buffer after this record */
    bool owned = extents >= XRAY_METADATA_SIZE && have >= 2 * (size_t)XRAY_METADATA_SIZE &&
                 is_metadata(scan, bytes[XRAY_METADATA_SIZE], XRAY_NEW_BUFFER);
    if (!owned)
        return pass_nobodys(scan, offset, extents, next, error);
    int sound = 0;
    uint64_t end = 0;
    if (extents <= scan->size - offset - XRAY_METADATA_SIZE) {
        end = *next = offset + XRAY_METADATA_SIZE + extents;
        sound = goes_on(scan, end, error);
    }
    if (sound < 0 || (!sound && find_end(scan, offset, extents, &end, next, error)))
        return -1;
    return take_buffer(scan, offset + XRAY_METADATA_SIZE, end, error);
}

static int scan_extents(struct scan *scan, struct pf_error *error)
{
    uint64_t next;
    for (uint64_t offset = XRAY_HEADER_SIZE; offset < scan->size; offset = next)
        if (step(scan, offset, error) || scan_buffer(scan, offset, &next, error))
            return -1;
    return 0;
}

/* ---- the whole ---------------------------------------------------------------------------------- */

int xray_scan_buffers(struct xray_indexing *indexing, const struct xray_header *header,
                      struct pf_input *input, struct pf_notes *notes, struct pf_pass *pass,
                      struct pf_error *error)
{
    struct scan scan = {.header = header,
                        .input = input,
                        .pass = pass,
                        .indexing = indexing,
                        .notes = notes,
                        .size = pf_input_size(input),
                        .bytes = malloc(CHUNK)};
    if (!scan.bytes)
        return pf_fail_memory(error);
    xray_decoder_init(&scan.decoder, input, header);
    int failed = header->version == 1 ? scan_fixed(&scan, error) : scan_extents(&scan, error);
    xray_decoder_free(&scan.decoder);
    free(scan.bytes);
    return failed;
}
