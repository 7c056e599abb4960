/* SPDX-License-Identifier: MIT */
#include "formats/xray/records.h"

/* Problems of a file. Some messages end in a number. */
static const struct pf_note_kind beyond_end = {
    "error", "extents-beyond-end",
    "this buffer is declared to reach beyond the end of the file; declared bytes"};
static const struct pf_note_kind overlap = {
    "error", "overlapping-buffer", "this buffer starts before the declared end of the one before it"};
static const struct pf_note_kind resynchronised = {
    "error", "resynchronised", "no buffer starts here; bytes skipped to the next one or to the end"};
static const struct pf_note_kind no_thread = {
    "error", "buffer-without-thread", "this buffer does not say which thread it is of, and is left out"};
static const struct pf_note_kind buffer_size = {
    "warning", "buffer-size", "the whole file is read as one buffer, because the header's buffer size is"};

/*
 * The index pass over an FDR log: finds the buffers and their threads. It reads only the start of each buffer, unless
 * the declared size of a buffer is wrong.
 */

/* Bytes of a buffer's first records: BufferExtents, NewBuffer, wall time, process, CPU, and usually the first event. */
enum { PREAMBLE = 160 };

/* Returns at least `want` bytes at an offset, fewer only at the end of the file; NULL with *error filled. */
static const unsigned char *peek(struct xray_indexing *scan, uint64_t offset, size_t want, size_t *have,
                                 struct pf_error *error)
{
    return xray_peek(&scan->decoder, offset, want, have, error);
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
static int take_buffer(struct xray_indexing *scan, uint64_t offset, uint64_t end, struct pf_error *error)
{
    size_t have;
    const unsigned char *bytes = peek(scan, offset, PREAMBLE - XRAY_METADATA_SIZE, &have, error);
    if (!bytes)
        return -1;
    uint64_t body = offset + XRAY_METADATA_SIZE;
    struct xray_part part = {.range = {body, end},
                             .tid = (int32_t)pf_u32(bytes + 1, scan->header->big_endian)};
    have = have < PREAMBLE ? have : PREAMBLE;
    have = have < end - offset ? have : (size_t)(end - offset);
    read_preamble(&part, bytes + XRAY_METADATA_SIZE, have - XRAY_METADATA_SIZE, scan->header->big_endian);
    struct xray_event first;
    xray_decoder_begin(&scan->decoder, body, end);
    int found = xray_next_event(&scan->decoder, &first, error);
    if (found > 0 && first.tsc < scan->index.start)
        scan->index.start = first.tsc;
    return found < 0 ? -1 : xray_index_add(scan, &part, error);
}

/* ---- version 1: buffers of one size ------------------------------------------------------------- */

static int scan_fixed(struct xray_indexing *scan, struct pf_error *error)
{
    uint64_t size = scan->header->buffer_size, left;
    if (size < XRAY_METADATA_SIZE) {
        if (scan->size > XRAY_HEADER_SIZE)
            xray_note_number(&scan->notes, &buffer_size, 16, size);
        size = UINT64_MAX;
    }
    for (uint64_t offset = XRAY_HEADER_SIZE; offset < scan->size; offset += left) {
        size_t have;
        left = scan->size - offset;
        left = left < size ? left : size;
        scan->decoder.done = offset;
        const unsigned char *bytes = peek(scan, offset, PREAMBLE, &have, error);
        if (!bytes)
            return -1;
        if (left < XRAY_METADATA_SIZE)
            xray_note(&scan->notes, &xray_file_cut, offset);
        else if (!is_metadata(scan, bytes[0], XRAY_NEW_BUFFER)) {
            xray_note(&scan->notes, &no_thread, offset);
            if (xray_index_add_damage(scan, offset, error))
                return -1;
        } else if (take_buffer(scan, offset, offset + left, error))
            return -1;
    }
    return 0;
}

/* ---- versions 2 to 5: buffers that tell their length -------------------------------------------- */

static bool starts_buffer(const struct xray_indexing *scan, const unsigned char *bytes)
{
    return is_metadata(scan, bytes[0], XRAY_BUFFER_EXTENTS) &&
           is_metadata(scan, bytes[XRAY_METADATA_SIZE], XRAY_NEW_BUFFER);
}

/*
 * Finds the next BufferExtents that NewBuffer follows, from `offset` on; *found is the end of the file if there is
 * none.
 */
static int find_buffer(struct xray_indexing *scan, uint64_t offset, uint64_t *found, struct pf_error *error)
{
    unsigned char first = xray_metadata_byte(XRAY_BUFFER_EXTENTS, scan->header->big_endian);
    for (*found = scan->size; offset < scan->size && scan->size - offset > XRAY_METADATA_SIZE;) {
        size_t have;
        const unsigned char *bytes = peek(scan, offset, XRAY_METADATA_SIZE + 1, &have, error);
        if (!bytes)
            return -1;
        const unsigned char *at = bytes, *end = bytes + have - XRAY_METADATA_SIZE;
        while ((at = memchr(at, first, (size_t)(end - at))) && !starts_buffer(scan, at))
            at++;
        if (at) {
            *found = offset + (uint64_t)(at - bytes);
            return 0;
        }
        offset += have - XRAY_METADATA_SIZE;
    }
    return 0;
}

/*
 * Returns 1 if the next buffer may begin at `offset`: there is a BufferExtents, or the file ends. 0 if not; -1 with
 * *error filled.
 */
static int goes_on(struct xray_indexing *scan, uint64_t offset, struct pf_error *error)
{
    size_t have;
    const unsigned char *bytes = peek(scan, offset, 1, &have, error);
    return bytes ? !have || is_metadata(scan, bytes[0], XRAY_BUFFER_EXTENTS) : -1;
}

/* Returns 1 if a BufferExtents and a NewBuffer are at `offset`, 0 if not; -1 with *error filled. */
static int buffer_at(struct xray_indexing *scan, uint64_t offset, struct pf_error *error)
{
    size_t have;
    const unsigned char *bytes = peek(scan, offset, XRAY_METADATA_SIZE + 1, &have, error);
    return bytes ? have > XRAY_METADATA_SIZE && starts_buffer(scan, bytes) : -1;
}

/*
 * Finds the end of a buffer whose declared end is wrong: it is beyond the end of the file, or no buffer begins there.
 * The records are decoded up to the first fault. If another buffer begins at the fault, this buffer ends there;
 * otherwise the next buffer is searched for after the fault. *end: where the buffer's records end.
 */
static int find_end(struct xray_indexing *scan, uint64_t offset, uint64_t extents, uint64_t *end,
                    struct pf_error *error)
{
    uint64_t left = scan->size - offset - XRAY_METADATA_SIZE;
    bool beyond = extents > left;
    *end = beyond ? scan->size : offset + XRAY_METADATA_SIZE + extents;
    struct xray_decoder *decoder = &scan->decoder;
    struct xray_event event;
    int more;
    xray_decoder_begin(decoder, offset + 2 * XRAY_METADATA_SIZE, *end);
    while ((more = xray_next_event(decoder, &event, error)) > 0)
        ;
    const struct pf_note_kind *fault = decoder->fault;
    uint64_t fault_offset = decoder->fault_offset;
    int met = more < 0 ? -1 : fault == NULL ? 0 : buffer_at(scan, fault_offset, error);
    if (met < 0)
        return -1;
    if (met)
        *end = fault_offset;
    else if (beyond && fault != NULL && fault != &xray_record_cut &&
             find_buffer(scan, fault_offset + 1, end, error))
        return -1;
    if (beyond && !met && *end == scan->size)
        xray_note_number(&scan->notes, &xray_buffer_cut, offset, extents - left);
    else if (beyond)
        xray_note_number(&scan->notes, &beyond_end, offset, extents);
    if (met)
        xray_note(&scan->notes, &overlap, *end);
    return beyond || met ? xray_index_add_damage(scan, *end, error) : 0;
}

/*
 * Skips a BufferExtents without NewBuffer, whose thread is unknown. Its declared size is used only if another buffer
 * (or the end of the file) follows; otherwise the next buffer is searched for.
 */
static int pass_nobodys(struct xray_indexing *scan, uint64_t offset, uint64_t extents, uint64_t *next,
                        struct pf_error *error)
{
    uint64_t body = offset + XRAY_METADATA_SIZE, left = scan->size - body;
    if (extents > left && left < XRAY_METADATA_SIZE) {
        *next = scan->size;
        xray_note(&scan->notes, &xray_file_cut, body);
        return 0;
    }
    int sound = extents <= left ? goes_on(scan, body + extents, error) : 0;
    if (sound < 0)
        return -1;
    if (!sound || extents) {
        xray_note(&scan->notes, &no_thread, offset);
        if (xray_index_add_damage(scan, offset, error))
            return -1;
    }
    *next = body + extents;
    return sound ? 0 : find_buffer(scan, offset + 1, next, error);
}

/* Reads the buffer that should start at `offset`. *next: where to continue. */
static int scan_buffer(struct xray_indexing *scan, uint64_t offset, uint64_t *next, struct pf_error *error)
{
    size_t have;
    const unsigned char *bytes = peek(scan, offset, PREAMBLE, &have, error);
    if (!bytes)
        return -1;
    if (have < XRAY_METADATA_SIZE) {
        *next = scan->size;
        xray_note(&scan->notes, &xray_file_cut, offset);
        return 0;
    }
    if (!is_metadata(scan, bytes[0], XRAY_BUFFER_EXTENTS)) {
        if (find_buffer(scan, offset + 1, next, error))
            return -1;
        xray_note_number(&scan->notes, &resynchronised, offset, *next - offset);
        return xray_index_add_damage(scan, offset, error);
    }
    /* Size of the buffer's records after this one, in bytes. */
    uint64_t extents = pf_u64(bytes + 1, scan->header->big_endian);
    bool owned = extents >= XRAY_METADATA_SIZE && have > XRAY_METADATA_SIZE && starts_buffer(scan, bytes) &&
                 have >= 2 * (size_t)XRAY_METADATA_SIZE;
    if (!owned)
        return pass_nobodys(scan, offset, extents, next, error);
    int sound = 0;
    if (extents <= scan->size - offset - XRAY_METADATA_SIZE) {
        *next = offset + XRAY_METADATA_SIZE + extents;
        sound = goes_on(scan, *next, error);
    }
    if (sound < 0 || (!sound && find_end(scan, offset, extents, next, error)))
        return -1;
    return take_buffer(scan, offset + XRAY_METADATA_SIZE, *next, error);
}

int xray_scan_buffers(struct xray_indexing *scan, struct pf_error *error)
{
    uint64_t next;
    if (scan->header->version == 1)
        return scan_fixed(scan, error);
    for (uint64_t offset = XRAY_HEADER_SIZE; offset < scan->size; offset = next) {
        scan->decoder.done = offset;
        if (scan_buffer(scan, offset, &next, error))
            return -1;
    }
    return 0;
}
