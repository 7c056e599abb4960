/* SPDX-License-Identifier: MIT */
#include "formats/xray/records.h"

#include <errno.h>
#include <stdlib.h>

#include "formats/kit/array.h"

/* Problems of a file. A number may be appended to the text. */
const struct pf_note_kind xray_file_cut = {"fatal", "cut-record", "the file ends inside this record"};
const struct pf_note_kind xray_buffer_cut = {"fatal", "cut-buffer",
                                             "the file ends inside this buffer; bytes missing"};
const struct pf_note_kind xray_record_cut = {"error", "cut-record",
                                             "the buffer ends inside this record, which is left out"};
static const struct pf_note_kind function_kind = {
    "error", "bad-record", "the rest of the buffer is left out: function record of unknown kind"};
static const struct pf_note_kind metadata_kind = {
    "error", "bad-record", "the rest of the buffer is left out: metadata record of kind"};
static const struct pf_note_kind event_size = {
    "error", "event-size", "the rest of the buffer is left out: this event reaches beyond it; bytes"};
static const struct pf_note_kind nested = {"error", "overlapping-buffer",
                                           "the rest of the buffer is left out: another one starts here"};

/*
 * Sizes of the window. It starts small, since some callers read only the first events of a buffer. A peek that begins in
 * the window, or within NEAR bytes after it, reads a CHUNK: one large read is cheaper than many small ones.
 */
enum { WINDOW_MIN = 16 * 1024, WINDOW_MAX = 256 * 1024, CHUNK = 64 * 1024, NEAR = 4096 };

void xray_decoder_init(struct xray_decoder *decoder, struct pf_input *input, const struct xray_header *header,
                       uint64_t total)
{
    *decoder = (struct xray_decoder){.input = input, .header = header, .total = total, .cpu = -1};
}

void xray_decoder_free(struct xray_decoder *decoder)
{
    free(decoder->window);
    decoder->window = NULL;
}

/* ---- the window --------------------------------------------------------------------------------- */

/*
 * Sets the end of the fast path. The fast path decodes a function record only if the byte after the record is in the
 * window too, since that byte shows whether an argument follows. It is for little-endian FDR logs, which all common
 * machines write.
 */
static void set_fast(struct xray_decoder *decoder)
{
    bool ready = decoder->timed && !decoder->payload && decoder->have > XRAY_FUNCTION_SIZE &&
                 !decoder->header->big_endian && decoder->header->type == XRAY_FDR;
    decoder->fast = ready ? decoder->have - XRAY_FUNCTION_SIZE : 0;
}

/* Fills the window with `size` bytes from a file offset on. The bytes must be inside the file. */
static int fill_window(struct xray_decoder *decoder, uint64_t offset, size_t size, struct pf_error *error)
{
    decoder->base = offset;
    decoder->held = decoder->at = decoder->have = decoder->fast = 0;
    if (size >= decoder->room) { /* size + 1, so that an empty window is not NULL */
        if (pf_array_resize(&decoder->window, size + 1, 1, error))
            return -1;
        decoder->room = size + 1;
    }
    ssize_t held = pf_input_read(decoder->input, decoder->window, size, offset, error);
    if (held < 0)
        return -1;
    if ((size_t)held < size)
        return pf_fail_at(error, ESTALE, (int64_t)offset, "the file has become shorter");
    decoder->held = size;
    decoder->done += size;
    return decoder->total ? pf_pass_step(decoder->done, decoder->total, error) : pf_pass_check(error);
}

const unsigned char *xray_peek(struct xray_decoder *decoder, uint64_t offset, size_t want, size_t *have,
                               struct pf_error *error)
{
    uint64_t left = pf_input_size(decoder->input) - offset, window_end = decoder->base + decoder->held;
    want = want < left ? want : (size_t)left;
    if (offset < decoder->base || offset > window_end || window_end - offset < want) {
        bool near = offset >= decoder->base && offset <= window_end + NEAR;
        size_t size = near && want < CHUNK ? (size_t)CHUNK : want;
        if (fill_window(decoder, offset, size < left ? size : (size_t)left, error))
            return NULL;
    }
    *have = (size_t)(decoder->base + decoder->held - offset);
    return decoder->window + (offset - decoder->base);
}

void xray_decoder_begin(struct xray_decoder *decoder, uint64_t body, uint64_t end)
{
    struct xray_decoder begun = {.input = decoder->input,
                                 .header = decoder->header,
                                 .done = decoder->done,
                                 .total = decoder->total,
                                 .window = decoder->window,
                                 .room = decoder->room,
                                 .base = body,
                                 .end = end,
                                 .cpu = -1};
    /* Bytes already peeked at are not read again. */
    if (body >= decoder->base && body - decoder->base <= decoder->held) {
        begun.base = decoder->base;
        begun.held = decoder->held;
        begun.at = (size_t)(body - decoder->base);
        begun.have = end - decoder->base < decoder->held ? (size_t)(end - decoder->base) : decoder->held;
    }
    *decoder = begun;
}

/* Refills the window from the current position. Its size doubles each time up to WINDOW_MAX, for sequential readers. */
static int refill_window(struct xray_decoder *decoder, struct pf_error *error)
{
    uint64_t from = decoder->base + decoder->at, left = decoder->end - from;
    size_t size = decoder->have ? 2 * decoder->held : decoder->room;
    size = size < WINDOW_MIN ? WINDOW_MIN : size > WINDOW_MAX ? WINDOW_MAX : size;
    if (fill_window(decoder, from, size < left ? size : (size_t)left, error))
        return -1;
    decoder->have = decoder->held;
    return 0;
}

/*
 * Makes the next record available in the window, together with the bytes after it that show whether an argument
 * follows. In an FDR log, the size of a metadata record and one more byte suffice; in a basic log, two records. Near the
 * end of the range, all bytes left are made available.
 */
static int look_ahead(struct xray_decoder *decoder, struct pf_error *error)
{
    size_t want = decoder->header->type == XRAY_BASIC ? 2 * XRAY_BASIC_SIZE : XRAY_METADATA_SIZE + 1;
    bool enough = decoder->at + want <= decoder->have;
    if (!enough && decoder->base + decoder->have < decoder->end)
        return refill_window(decoder, error);
    return 0;
}

/* ---- records ------------------------------------------------------------------------------------ */

/*
 * The result of decoding a record. ENDED: the range has no further record. EVENT: *event is filled. PASSED: the record
 * yields no event. FAILED: *error is filled.
 */
enum outcome { FAILED = -1, ENDED, EVENT, PASSED };

/* Ends decoding of the buffer at the current record. `what` is the problem, or NULL if the buffer ends regularly. */
static enum outcome fault(struct xray_decoder *decoder, const struct pf_note_kind *what, uint64_t detail)
{
    decoder->fault = what;
    decoder->fault_offset = decoder->base + decoder->at;
    decoder->fault_detail = detail;
    /* Nothing after this is decoded, since records after an unknown record cannot be distinguished from payload. */
    decoder->end = decoder->fault_offset;
    decoder->have = decoder->at;
    return ENDED;
}

static bool argument_follows(const struct xray_decoder *decoder)
{
    return decoder->at < decoder->have &&
           decoder->window[decoder->at] ==
               xray_metadata_byte(XRAY_CALL_ARGUMENT, decoder->header->big_endian);
}

/*
 * Decodes a function record. From the lowest bit, its first u32 has a zero, 3 bits of kind and 28 bits of id. On
 * big-endian machines, these bit fields begin at the highest bit. A second u32 has the ticks since the previous record.
 */
static enum outcome function_record(struct xray_decoder *decoder, struct xray_event *event)
{
    if (decoder->have - decoder->at < XRAY_FUNCTION_SIZE)
        return fault(decoder, &xray_record_cut, XRAY_NO_NUMBER);
    const unsigned char *bytes = decoder->window + decoder->at;
    uint32_t word = pf_u32(bytes, decoder->header->big_endian);
    uint32_t kind = word >> (decoder->header->big_endian ? 28 : 1) & 7;
    uint32_t function = decoder->header->big_endian ? word & 0x0fffffff : word >> 4;
    if (kind > XRAY_ENTER_ARG)
        return fault(decoder, &function_kind, kind);
    decoder->at += XRAY_FUNCTION_SIZE;
    decoder->expecting = true;
    if (!decoder->timed) {
        decoder->untimed++;
        return PASSED;
    }
    decoder->tsc += pf_u32(bytes + 4, decoder->header->big_endian);
    *event = (struct xray_event){.tsc = decoder->tsc,
                                 .function = function,
                                 .cpu = decoder->cpu,
                                 .kind = (uint8_t)kind,
                                 .arguments = argument_follows(decoder)};
    return EVENT;
}

/*
 * Decodes the record of a custom or typed event. Both have an i32 size at offset 1 and, at 5, a u64 TSC (versions 1 to 4)
 * or i32 ticks since the previous record (version 5). Custom events of version 4 have a u16 CPU at 13. Typed events have
 * a u16 type at 13 (versions 2 to 4) or 9 (version 5). Only events of version 5 advance the buffer's time.
 */
static enum outcome event_record(struct xray_decoder *decoder, struct xray_event *event, bool typed)
{
    const unsigned char *bytes = decoder->window + decoder->at;
    int32_t size = (int32_t)pf_u32(bytes + 1, decoder->header->big_endian);
    uint64_t left = decoder->end - (decoder->base + decoder->at) - XRAY_METADATA_SIZE;
    if (size < 0 || (uint32_t)size > left)
        return fault(decoder, &event_size, (uint32_t)size);
    decoder->at += XRAY_METADATA_SIZE;
    decoder->payload = (uint32_t)size;
    *event = (struct xray_event){
        .size = (uint32_t)size, .kind = typed ? XRAY_TYPED : XRAY_CUSTOM, .cpu = decoder->cpu};
    if (decoder->header->version < 5) {
        event->tsc = pf_u64(bytes + 5, decoder->header->big_endian);
        if (typed)
            event->type = pf_u16(bytes + 13, decoder->header->big_endian);
        else if (decoder->header->version == 4)
            event->cpu = pf_u16(bytes + 13, decoder->header->big_endian);
        return EVENT;
    }
    if (!decoder->timed) {
        decoder->untimed++;
        return PASSED;
    }
    decoder->tsc += (uint64_t)(int64_t)(int32_t)pf_u32(bytes + 5, decoder->header->big_endian);
    event->tsc = decoder->tsc;
    if (typed)
        event->type = pf_u16(bytes + 9, decoder->header->big_endian);
    return EVENT;
}

static void set_time(struct xray_decoder *decoder, const unsigned char *tsc)
{
    decoder->tsc = pf_u64(tsc, decoder->header->big_endian);
    decoder->timed = true;
}

/* Skips a CallArgument that the caller has not read. Counts it as a stray unless it was `expected`, after its call. */
static void skip_argument(struct xray_decoder *decoder, bool expected)
{
    decoder->expecting = expected;
    decoder->strays += !expected;
}

static enum outcome metadata_record(struct xray_decoder *decoder, struct xray_event *event)
{
    if (decoder->have - decoder->at < XRAY_METADATA_SIZE)
        return fault(decoder, &xray_record_cut, XRAY_NO_NUMBER);
    const unsigned char *bytes = decoder->window + decoder->at;
    unsigned kind = decoder->header->big_endian ? bytes[0] & 0x7f : bytes[0] >> 1;
    bool expected = decoder->expecting;
    decoder->expecting = false;
    switch (kind) {
    case XRAY_NEW_CPU: /* u16 CPU at 1, u64 TSC at 3 */
        decoder->cpu = pf_u16(bytes + 1, decoder->header->big_endian);
        set_time(decoder, bytes + 3);
        break;
    case XRAY_TSC_WRAP: /* u64 TSC at 1 */
        set_time(decoder, bytes + 1);
        break;
    case XRAY_WALLTIME: /* this and XRAY_PID belong to the preamble, which the index pass has read */
    case XRAY_PID:
        decoder->strays += decoder->timed;
        break;
    case XRAY_CALL_ARGUMENT:
        skip_argument(decoder, expected);
        break;
    case XRAY_CUSTOM_EVENT:
        return event_record(decoder, event, false);
    case XRAY_TYPED_EVENT:
        if (decoder->header->version == 1)
            return fault(decoder, &metadata_kind, kind);
        return event_record(decoder, event, true);
    case XRAY_BUFFER_EXTENTS:
        return decoder->header->version == 1 ? fault(decoder, &metadata_kind, kind)
                                             : fault(decoder, &nested, XRAY_NO_NUMBER);
    case XRAY_END_OF_BUFFER:
        if (decoder->header->version == 1) {
            fault(decoder, NULL, XRAY_NO_NUMBER);
            decoder->closed = true;
            return ENDED;
        }
        return fault(decoder, &metadata_kind, kind);
    default: /* among them NewBuffer, after which records would belong to another thread */
        return fault(decoder, &metadata_kind, kind);
    }
    decoder->at += XRAY_METADATA_SIZE;
    return PASSED;
}

/* ---- records of basic logs ---------------------------------------------------------------------- */

/*
 * Returns true if an argument record of the last function record follows. It is u16 type, i32 function at 4, u32 thread
 * at 8, in version 3 u32 process at 12, and u64 value at 16. Function, thread and process must match the function
 * record, because runtimes also write the arguments of calls that were too deep to be recorded.
 */
static bool own_argument_follows(const struct xray_decoder *decoder)
{
    const unsigned char *bytes = decoder->window + decoder->at;
    return decoder->expecting && decoder->have - decoder->at >= XRAY_BASIC_SIZE &&
           pf_u16(bytes, decoder->header->big_endian) == XRAY_BASIC_ARGUMENT &&
           pf_u32(bytes + 4, decoder->header->big_endian) == decoder->function &&
           pf_u32(bytes + 8, decoder->header->big_endian) == decoder->tid &&
           (decoder->header->version < 3 || pf_u32(bytes + 12, decoder->header->big_endian) == decoder->pid);
}

/*
 * Skips a record: an argument that the caller has not read, an argument without its call, or a record of unknown type.
 */
static enum outcome pass_basic(struct xray_decoder *decoder, uint16_t type)
{
    uint64_t offset = decoder->base + decoder->at;
    bool own = own_argument_follows(decoder);
    if (type != XRAY_BASIC_ARGUMENT && !decoder->unknown++)
        decoder->first_unknown = offset;
    if (type == XRAY_BASIC_ARGUMENT && !own && !decoder->strays++)
        decoder->first_stray = offset;
    decoder->expecting = own;
    decoder->at += XRAY_BASIC_SIZE;
    return PASSED;
}

/*
 * Decodes a record of a basic log. A function record is u16 type, u8 CPU, u8 kind, i32 function, u64 TSC, u32 thread
 * and, in version 3, u32 process.
 */
static enum outcome basic_record(struct xray_decoder *decoder, struct xray_event *event)
{
    if (decoder->have - decoder->at < XRAY_BASIC_SIZE)
        return fault(decoder, &xray_record_cut, XRAY_NO_NUMBER);
    const unsigned char *bytes = decoder->window + decoder->at;
    uint16_t type = pf_u16(bytes, decoder->header->big_endian);
    if (type != XRAY_BASIC_FUNCTION || bytes[3] > XRAY_ENTER_ARG)
        return pass_basic(decoder, type);
    decoder->function = pf_u32(bytes + 4, decoder->header->big_endian);
    decoder->tid = pf_u32(bytes + 16, decoder->header->big_endian);
    decoder->pid = decoder->header->version < 3 ? 0 : pf_u32(bytes + 20, decoder->header->big_endian);
    decoder->at += XRAY_BASIC_SIZE;
    decoder->expecting = true;
    *event = (struct xray_event){.tsc = pf_u64(bytes + 8, decoder->header->big_endian),
                                 .function = decoder->function,
                                 .cpu = bytes[2],
                                 .kind = bytes[3],
                                 .arguments = own_argument_follows(decoder)};
    return EVENT;
}

static int next_basic_argument(struct xray_decoder *decoder, uint64_t *value)
{
    if (!own_argument_follows(decoder))
        return 0;
    *value = pf_u64(decoder->window + decoder->at + 16, decoder->header->big_endian);
    decoder->at += XRAY_BASIC_SIZE;
    return 1;
}

/* ---- reading ------------------------------------------------------------------------------------ */

static bool starts_metadata(const struct xray_decoder *decoder)
{
    return decoder->window[decoder->at] & (decoder->header->big_endian ? 0x80 : 1);
}

/* Skips the unread rest of a payload without reading it from the file. */
static void skip_payload(struct xray_decoder *decoder)
{
    decoder->at += decoder->payload;
    decoder->payload = 0;
    if (decoder->at > decoder->have) {
        decoder->base += decoder->at;
        decoder->at = decoder->have = decoder->held = 0;
    }
}

int xray_next_event_slowly(struct xray_decoder *decoder, struct xray_event *event, struct pf_error *error)
{
    enum outcome outcome = PASSED;
    decoder->fast = 0;
    while (outcome == PASSED) {
        skip_payload(decoder);
        if (look_ahead(decoder, error))
            return FAILED;
        if (decoder->at == decoder->have)
            return ENDED;
        outcome = decoder->header->type == XRAY_BASIC ? basic_record(decoder, event)
                  : starts_metadata(decoder)          ? metadata_record(decoder, event)
                                                      : function_record(decoder, event);
    }
    set_fast(decoder);
    return outcome;
}

int xray_next_argument(struct xray_decoder *decoder, uint64_t *value, struct pf_error *error)
{
    if (!decoder->expecting)
        return 0;
    if (look_ahead(decoder, error))
        return -1;
    if (decoder->header->type == XRAY_BASIC)
        return next_basic_argument(decoder, value);
    bool whole = decoder->have - decoder->at >= XRAY_METADATA_SIZE;
    if (!argument_follows(decoder) || !whole) {
        set_fast(decoder);
        return 0;
    }
    *value = pf_u64(decoder->window + decoder->at + 1, decoder->header->big_endian);
    decoder->at += XRAY_METADATA_SIZE;
    return 1;
}

const unsigned char *xray_next_payload(struct xray_decoder *decoder, size_t *size, struct pf_error *error)
{
    bool empty = decoder->at == decoder->have;
    if (decoder->payload && empty && refill_window(decoder, error))
        return NULL;
    size_t held = decoder->have - decoder->at;
    *size = held < decoder->payload ? held : decoder->payload;
    const unsigned char *bytes = decoder->window + decoder->at;
    decoder->at += *size;
    decoder->payload -= (uint32_t)*size;
    return bytes;
}
