/* SPDX-License-Identifier: MIT */
#include "formats/xray/records.h"

/* Problems of a file. A number may be appended to the text. */
static const struct pf_note_kind beyond_end = {
    "error", "extents-beyond-end",
    "this buffer is declared to reach beyond the end of the file; declared bytes"};
static const struct pf_note_kind overlap = {
    "error", "overlapping-buffer", "this buffer starts before the declared end of the one before it"};
static const struct pf_note_kind resynchronised = {
    "error", "resynchronised", "no buffer starts here; bytes skipped to the next one or to the end"};
static const struct pf_note_kind no_thread = {"error", "buffer-without-thread",
                                              "the thread of this buffer is unknown: left out"};
static const struct pf_note_kind buffer_size = {
    "warning", "buffer-size", "the whole file is read as one buffer, because the header's buffer size is"};

/*
 * The index pass over an FDR log finds the buffers and their threads. It reads only the start of each buffer, unless the
 * buffer's declared size is wrong.
 */

/*
 * Bytes to read at the start of a buffer, for its first records: BufferExtents, NewBuffer, wall time, process, CPU, and
 * usually the first event.
 */
enum { PREAMBLE = 160 };

/* Returns at least `want` bytes at an offset, fewer only at the end of the file. */
static const unsigned char *peek_index(struct xray_indexing *scan, uint64_t offset, size_t want, size_t *have)
{
    return xray_peek_in(scan->run, &scan->decoder, offset, want, have);
}

/* Returns true if `byte` starts a metadata record of this kind. */
static bool is_metadata(const struct xray_indexing *scan, unsigned char byte, enum xray_metadata kind)
{
    return byte == xray_metadata_byte(kind, scan->header->big_endian);
}

/* ---- one buffer --------------------------------------------------------------------------------- */

/* Reads the preamble: the records after NewBuffer up to the first NewCPUId. */
static void read_preamble(struct xray_part *part, const unsigned char *bytes, size_t size, bool big_endian)
{
    for (; size >= XRAY_METADATA_SIZE; bytes += XRAY_METADATA_SIZE, size -= XRAY_METADATA_SIZE) {
        switch (big_endian ? bytes[0] & 0x7f : bytes[0] >> 1) {
        case XRAY_WALLTIME: /* i64 seconds at 1, i32 microseconds at 9 */
            part->seconds = (int64_t)pf_u64(bytes + 1, big_endian);
            part->micros = (int32_t)pf_u32(bytes + 9, big_endian);
            break;
        case XRAY_PID: /* i32 at 1 */
            part->pid = (int32_t)pf_u32(bytes + 1, big_endian);
            part->has_pid = true;
            break;
        case XRAY_NEW_CPU: /* u64 TSC at 3 */
            part->tsc = pf_u64(bytes + 3, big_endian);
            part->has_tsc = true;
            return;
        default:
            return;
        }
    }
}

/* Adds the buffer whose NewBuffer record is at `offset` and whose records end at `end`. */
static void add_buffer(struct xray_indexing *scan, uint64_t offset, uint64_t end)
{
    size_t have;
    const unsigned char *bytes = peek_index(scan, offset, PREAMBLE - XRAY_METADATA_SIZE, &have);
    uint64_t body = offset + XRAY_METADATA_SIZE;
    struct xray_part part = {.range = {body, end},
                             .tid = (int32_t)pf_u32(bytes + 1, scan->header->big_endian)};
    have = have < PREAMBLE ? have : PREAMBLE;
    have = have < end - offset ? have : (size_t)(end - offset);
    read_preamble(&part, bytes + XRAY_METADATA_SIZE, have - XRAY_METADATA_SIZE, scan->header->big_endian);
    struct xray_event first;
    xray_decoder_begin(&scan->decoder, body, end);
    bool found = pf_run_check(scan->run, xray_next_event(&scan->decoder, &first, scan->run->error));
    if (found && first.tsc < scan->index.start)
        scan->index.start = first.tsc;
    xray_index_add(scan, &part);
}

/* Warns of a buffer whose thread is unknown, and records the damage, because any thread may have lost events. */
static void warn_of_no_thread(struct xray_indexing *scan, uint64_t offset)
{
    xray_note(scan->run, &no_thread, offset);
    xray_index_add_damage(scan, offset);
}

/* ---- version 1: buffers of one size ------------------------------------------------------------- */

static void scan_fixed(struct xray_indexing *scan)
{
    uint64_t size = scan->header->buffer_size, left;
    if (size < XRAY_METADATA_SIZE) {
        if (scan->size > XRAY_HEADER_SIZE)
            xray_note_number(scan->run, &buffer_size, 16, size); /* 16: offset of the field in the header */
        size = UINT64_MAX;
    }
    for (uint64_t offset = XRAY_HEADER_SIZE; offset < scan->size; offset += left) {
        size_t have;
        left = scan->size - offset;
        left = left < size ? left : size;
        scan->decoder.done = offset;
        const unsigned char *bytes = peek_index(scan, offset, PREAMBLE, &have);
        if (left < XRAY_METADATA_SIZE)
            xray_note(scan->run, &xray_file_cut, offset);
        else if (is_metadata(scan, bytes[0], XRAY_NEW_BUFFER))
            add_buffer(scan, offset, offset + left);
        else
            warn_of_no_thread(scan, offset);
    }
}

/* ---- versions 2 to 5: buffers that declare their length ----------------------------------------- */

static bool starts_buffer(const struct xray_indexing *scan, const unsigned char *bytes)
{
    return is_metadata(scan, bytes[0], XRAY_BUFFER_EXTENTS) &&
           is_metadata(scan, bytes[XRAY_METADATA_SIZE], XRAY_NEW_BUFFER);
}

/* Returns the offset of the next buffer (a BufferExtents followed by a NewBuffer) from `offset` on, or the file's size. */
static uint64_t find_buffer(struct xray_indexing *scan, uint64_t offset)
{
    unsigned char first = xray_metadata_byte(XRAY_BUFFER_EXTENTS, scan->header->big_endian);
    while (offset < scan->size && scan->size - offset > XRAY_METADATA_SIZE) {
        size_t have;
        const unsigned char *bytes = peek_index(scan, offset, XRAY_METADATA_SIZE + 1, &have);
        const unsigned char *at = bytes, *end = bytes + have - XRAY_METADATA_SIZE;
        while ((at = memchr(at, first, (size_t)(end - at))) && !starts_buffer(scan, at))
            at++;
        if (at)
            return offset + (uint64_t)(at - bytes);
        offset += have - XRAY_METADATA_SIZE;
    }
    return scan->size;
}

/* Returns true if a buffer may begin at `offset`, since a BufferExtents is there, or if the file ends there. */
static bool may_begin(struct xray_indexing *scan, uint64_t offset)
{
    size_t have;
    const unsigned char *bytes = peek_index(scan, offset, 1, &have);
    return !have || is_metadata(scan, bytes[0], XRAY_BUFFER_EXTENTS);
}

/* Returns true if a BufferExtents and a NewBuffer are at `offset`. */
static bool begins(struct xray_indexing *scan, uint64_t offset)
{
    size_t have;
    const unsigned char *bytes = peek_index(scan, offset, XRAY_METADATA_SIZE + 1, &have);
    return have > XRAY_METADATA_SIZE && starts_buffer(scan, bytes);
}

/*
 * Finds the end of a buffer whose declared end is beyond the end of the file, or is not followed by a buffer. Decodes
 * the records up to the first fault. If another buffer begins at the fault, the buffer ends there. Otherwise it ends at
 * the declared end or, if that is beyond the end of the file, where the next buffer after the fault begins, at the
 * latest at the end of the file.
 */
static uint64_t find_buffer_end(struct xray_indexing *scan, uint64_t offset, uint64_t extents)
{
    struct pf_run *run = scan->run;
    uint64_t left = scan->size - offset - XRAY_METADATA_SIZE;
    bool beyond = extents > left;
    uint64_t end = beyond ? scan->size : offset + XRAY_METADATA_SIZE + extents;
    struct xray_decoder *decoder = &scan->decoder;
    struct xray_event event;
    xray_decoder_begin(decoder, offset + 2 * XRAY_METADATA_SIZE, end);
    while (pf_run_check(run, xray_next_event(decoder, &event, run->error)))
        ;
    const struct pf_note_kind *fault = decoder->fault;
    uint64_t fault_offset = decoder->fault_offset;
    bool overlaps = fault != NULL && begins(scan, fault_offset);
    if (overlaps)
        end = fault_offset;
    else if (beyond && fault != NULL && fault != &xray_record_cut)
        end = find_buffer(scan, fault_offset + 1);
    if (beyond && !overlaps && end == scan->size)
        xray_note_number(run, &xray_buffer_cut, offset, extents - left);
    else if (beyond)
        xray_note_number(run, &beyond_end, offset, extents);
    if (overlaps)
        xray_note(run, &overlap, end);
    if (beyond || overlaps)
        xray_index_add_damage(scan, end);
    return end;
}

/*
 * Skips a buffer without NewBuffer, whose thread is therefore unknown. Returns where to continue: at the buffer's declared
 * end if another buffer may begin there or the file ends there, otherwise at the next buffer that is found.
 */
static uint64_t skip_buffer(struct xray_indexing *scan, uint64_t offset, uint64_t extents)
{
    uint64_t body = offset + XRAY_METADATA_SIZE, left = scan->size - body;
    if (extents > left && left < XRAY_METADATA_SIZE) {
        xray_note(scan->run, &xray_file_cut, body);
        return scan->size;
    }
    bool size_fits = extents <= left && may_begin(scan, body + extents);
    if (!size_fits || extents) /* an empty buffer has lost nothing */
        warn_of_no_thread(scan, offset);
    return size_fits ? body + extents : find_buffer(scan, offset + 1);
}

/* Reads the buffer that should start at `offset`. Returns where to continue. */
static uint64_t scan_buffer(struct xray_indexing *scan, uint64_t offset)
{
    size_t have;
    uint64_t next;
    const unsigned char *bytes = peek_index(scan, offset, PREAMBLE, &have);
    if (have < XRAY_METADATA_SIZE) {
        xray_note(scan->run, &xray_file_cut, offset);
        return scan->size;
    }
    if (!is_metadata(scan, bytes[0], XRAY_BUFFER_EXTENTS)) {
        next = find_buffer(scan, offset + 1);
        xray_note_number(scan->run, &resynchronised, offset, next - offset);
        xray_index_add_damage(scan, offset);
        return next;
    }
    /* The size in bytes of the buffer's records after BufferExtents. */
    uint64_t extents = pf_u64(bytes + 1, scan->header->big_endian);
    bool has_thread =
        extents >= XRAY_METADATA_SIZE && have >= 2 * (size_t)XRAY_METADATA_SIZE && starts_buffer(scan, bytes);
    if (!has_thread)
        return skip_buffer(scan, offset, extents);
    next = offset + XRAY_METADATA_SIZE + extents;
    if (extents > scan->size - offset - XRAY_METADATA_SIZE || !may_begin(scan, next))
        next = find_buffer_end(scan, offset, extents);
    add_buffer(scan, offset + XRAY_METADATA_SIZE, next);
    return next;
}

void xray_scan_buffers(struct xray_indexing *scan)
{
    if (scan->header->version == 1) {
        scan_fixed(scan);
        return;
    }
    for (uint64_t offset = XRAY_HEADER_SIZE; offset < scan->size;) {
        scan->decoder.done = offset;
        offset = scan_buffer(scan, offset);
    }
}
