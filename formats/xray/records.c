/* SPDX-License-Identifier: MIT */
#include "formats/xray/records.h"

#include <errno.h>
#include <stdlib.h>

/* The window is small at first, for those who want the first events of a buffer only. */
enum { WINDOW_MIN = 16 * 1024, WINDOW_MAX = 256 * 1024, FIRST_BYTES = 256 };

void xray_decoder_init(struct xray_decoder *decoder, struct pf_input *input, const struct xray_header *header)
{
    *decoder = (struct xray_decoder){.input = input,
                                     .version = (unsigned)header->version,
                                     .basic = header->type == XRAY_BASIC,
                                     .big_endian = header->big_endian,
                                     .cpu = -1};
}

void xray_decoder_free(struct xray_decoder *decoder)
{
    free(decoder->window);
    decoder->window = NULL;
}

void xray_decoder_begin(struct xray_decoder *decoder, uint64_t body, uint64_t end)
{
    *decoder = (struct xray_decoder){.input = decoder->input,
                                     .version = decoder->version,
                                     .basic = decoder->basic,
                                     .big_endian = decoder->big_endian,
                                     .window = decoder->window,
                                     .room = decoder->room,
                                     .base = body,
                                     .end = end,
                                     .cpu = -1};
}

void xray_decoder_resume(struct xray_decoder *decoder, uint64_t offset, uint64_t tsc, int32_t cpu, bool timed)
{
    decoder->base = offset;
    decoder->at = decoder->have = decoder->fast = 0;
    decoder->tsc = tsc;
    decoder->cpu = cpu;
    decoder->timed = timed;
}

/* ---- the window --------------------------------------------------------------------------------- */

/* A function record at window[at] is decoded fast if the byte after it is there too: it tells whether an
 * argument follows. Only the little-endian FDR logs of all common machines are. */
static void set_fast(struct xray_decoder *decoder)
{
    bool ready = decoder->timed && !decoder->payload && decoder->have > XRAY_FUNCTION_SIZE &&
                 !decoder->big_endian && !decoder->basic;
    decoder->fast = ready ? decoder->have - XRAY_FUNCTION_SIZE : 0;
}

/* A buffer of at least `want` bytes, or of all that is left of the decoder's range. */
static int make_room(struct xray_decoder *decoder, uint64_t want, struct pf_error *error)
{
    size_t room = decoder->room ? decoder->room : WINDOW_MIN;
    while (room < want && room < WINDOW_MAX)
        room *= 2;
    if (room == decoder->room)
        return 0;
    unsigned char *window = malloc(room);
    if (!window)
        return pf_fail_memory(error);
    free(decoder->window);
    decoder->window = window;
    decoder->room = room;
    return 0;
}

/* Fill the window from the current place on. */
static int refill(struct xray_decoder *decoder, struct pf_error *error)
{
    uint64_t from = decoder->base + decoder->at, left = decoder->end - from;
    /* Who has read one window through will read the next: larger steps. */
    uint64_t want = decoder->have ? 2 * (uint64_t)decoder->room : WINDOW_MIN;
    if (make_room(decoder, want < left ? want : left, error))
        return -1;
    size_t size = left < decoder->room ? (size_t)left : decoder->room;
    decoder->base = from;
    decoder->at = decoder->have = decoder->fast = 0;
    ssize_t have = pf_input_read(decoder->input, decoder->window, size, from, error);
    if (have < 0)
        return -1;
    if ((size_t)have < size)
        return pf_fail_at(error, ESTALE, (int64_t)from, "the file has become shorter");
    decoder->have = size;
    return 0;
}

/* Make the bytes of a record and those that tell whether an argument follows available, or all that are left:
 * a metadata record and one more byte, or two records of a basic log. */
static int look_ahead(struct xray_decoder *decoder, struct pf_error *error)
{
    size_t want = decoder->basic ? 2 * XRAY_BASIC_SIZE : XRAY_METADATA_SIZE + 1;
    bool enough = decoder->at + want <= decoder->have;
    if (!enough && decoder->base + decoder->have < decoder->end)
        return refill(decoder, error);
    return 0;
}

int xray_decoder_begin_with(struct xray_decoder *decoder, uint64_t body, uint64_t end,
                            const unsigned char *bytes, size_t size, struct pf_error *error)
{
    xray_decoder_begin(decoder, body, end);
    if (size > end - body)
        size = (size_t)(end - body);
    if (size > FIRST_BYTES)
        size = FIRST_BYTES;
    if (make_room(decoder, FIRST_BYTES, error))
        return -1;
    memcpy(decoder->window, bytes, size);
    decoder->have = size;
    return 0;
}

/* ---- records ------------------------------------------------------------------------------------ */

static uint16_t get16(const struct xray_decoder *decoder, const unsigned char *bytes)
{
    return pf_u16(bytes, decoder->big_endian);
}

static uint32_t get32(const struct xray_decoder *decoder, const unsigned char *bytes)
{
    return pf_u32(bytes, decoder->big_endian);
}

static uint64_t get64(const struct xray_decoder *decoder, const unsigned char *bytes)
{
    return pf_u64(bytes, decoder->big_endian);
}

/* What a record turned out to be. */
enum outcome { FAILED = -1, ENDED, EVENT, PASSED };

static enum outcome fault(struct xray_decoder *decoder, enum xray_fault what, uint64_t detail)
{
    decoder->fault = what;
    decoder->fault_offset = decoder->base + decoder->at;
    decoder->fault_detail = detail;
    /* Nothing more comes of this buffer: what follows cannot be told from payload. */
    decoder->end = decoder->fault_offset;
    decoder->have = decoder->at;
    return ENDED;
}

static bool argument_follows(const struct xray_decoder *decoder)
{
    return decoder->at < decoder->have &&
           decoder->window[decoder->at] == xray_metadata_byte(XRAY_CALL_ARGUMENT, decoder->big_endian);
}

/* The u32 of a function record has, from the lowest bit on, a zero, 3 bits of kind and 28 of id; big-endian
 * machines fill bit fields from the highest bit on. */
static enum outcome function_record(struct xray_decoder *decoder, struct xray_event *event)
{
    if (decoder->have - decoder->at < XRAY_FUNCTION_SIZE)
        return fault(decoder, XRAY_CUT_RECORD, 0);
    const unsigned char *bytes = decoder->window + decoder->at;
    uint32_t word = get32(decoder, bytes);
    uint32_t kind = word >> (decoder->big_endian ? 28 : 1) & 7;
    uint32_t function = decoder->big_endian ? word & 0x0fffffff : word >> 4;
    if (kind > XRAY_ENTER_ARG)
        return fault(decoder, XRAY_BAD_FUNCTION, kind);
    decoder->at += XRAY_FUNCTION_SIZE;
    decoder->expecting = true;
    if (!decoder->timed) {
        decoder->untimed++;
        return PASSED;
    }
    decoder->tsc += get32(decoder, bytes + 4);
    *event = (struct xray_event){.tsc = decoder->tsc,
                                 .function = function,
                                 .cpu = decoder->cpu,
                                 .kind = (uint8_t)kind,
                                 .arguments = argument_follows(decoder)};
    return EVENT;
}

/*
 * Custom events: i32 size at 1; versions 1 to 4: u64 absolute TSC at 5, version 4: u16 CPU at 13; version 5:
 * i32 ticks since the record before at 5. Typed events have the same, and a u16 type at 13 (versions 2 to 4)
 * or 9 (version 5). Only version 5's move the buffer's time.
 */
static enum outcome event_record(struct xray_decoder *decoder, struct xray_event *event, bool typed)
{
    const unsigned char *bytes = decoder->window + decoder->at;
    int32_t size = (int32_t)get32(decoder, bytes + 1);
    uint64_t left = decoder->end - (decoder->base + decoder->at) - XRAY_METADATA_SIZE;
    if (size < 0 || (uint32_t)size > left)
        return fault(decoder, XRAY_BAD_SIZE, (uint32_t)size);
    decoder->at += XRAY_METADATA_SIZE;
    decoder->payload = (uint32_t)size;
    *event = (struct xray_event){
        .size = (uint32_t)size, .kind = typed ? XRAY_TYPED : XRAY_CUSTOM, .cpu = decoder->cpu};
    if (decoder->version < 5) {
        event->tsc = get64(decoder, bytes + 5);
        if (typed)
            event->type = get16(decoder, bytes + 13);
        else if (decoder->version == 4)
            event->cpu = get16(decoder, bytes + 13);
        return EVENT;
    }
    if (!decoder->timed) {
        decoder->untimed++;
        return PASSED;
    }
    decoder->tsc += (uint64_t)(int64_t)(int32_t)get32(decoder, bytes + 5);
    event->tsc = decoder->tsc;
    if (typed)
        event->type = get16(decoder, bytes + 9);
    return EVENT;
}

static void set_time(struct xray_decoder *decoder, const unsigned char *tsc)
{
    decoder->tsc = get64(decoder, tsc);
    decoder->timed = true;
}

/* A CallArgument that nobody has asked for. */
static void skip_argument(struct xray_decoder *decoder, bool expected)
{
    decoder->expecting = expected;
    decoder->strays += !expected;
}

static enum outcome metadata_record(struct xray_decoder *decoder, struct xray_event *event)
{
    if (decoder->have - decoder->at < XRAY_METADATA_SIZE)
        return fault(decoder, XRAY_CUT_RECORD, 0);
    const unsigned char *bytes = decoder->window + decoder->at;
    unsigned kind = decoder->big_endian ? bytes[0] & 0x7f : bytes[0] >> 1;
    bool expected = decoder->expecting;
    decoder->expecting = false;
    switch (kind) {
    case XRAY_NEW_CPU: /* u16 CPU at 1, u64 TSC at 3 */
        decoder->cpu = get16(decoder, bytes + 1);
        set_time(decoder, bytes + 3);
        break;
    case XRAY_TSC_WRAP: /* u64 TSC at 1 */
        set_time(decoder, bytes + 1);
        break;
    case XRAY_WALLTIME: /* of the preamble: read when the buffer was found */
    case XRAY_PID:
        decoder->strays += decoder->timed;
        break;
    case XRAY_CALL_ARGUMENT:
        skip_argument(decoder, expected);
        break;
    case XRAY_CUSTOM_EVENT:
        return event_record(decoder, event, false);
    case XRAY_TYPED_EVENT:
        if (decoder->version == 1)
            return fault(decoder, XRAY_BAD_METADATA, kind);
        return event_record(decoder, event, true);
    case XRAY_BUFFER_EXTENTS:
        return fault(decoder, decoder->version == 1 ? XRAY_BAD_METADATA : XRAY_NESTED_BUFFER, kind);
    case XRAY_END_OF_BUFFER:
        if (decoder->version == 1) {
            fault(decoder, XRAY_SOUND, 0);
            decoder->closed = true;
            return ENDED;
        }
        return fault(decoder, XRAY_BAD_METADATA, kind);
    default: /* also NewBuffer: what follows would belong to another thread */
        return fault(decoder, XRAY_BAD_METADATA, kind);
    }
    decoder->at += XRAY_METADATA_SIZE;
    return PASSED;
}

/* ---- records of basic logs ---------------------------------------------------------------------- */

/*
 * Argument record: u16 type; i32 function at 4, u32 thread at 8, u32 process at 12 (version 3), u64 value at
 * 16. It belongs to the function record just before: runtimes write the arguments of calls too deep to be
 * recorded themselves.
 */
static bool own_argument_follows(const struct xray_decoder *decoder)
{
    const unsigned char *bytes = decoder->window + decoder->at;
    return decoder->expecting && decoder->have - decoder->at >= XRAY_BASIC_SIZE &&
           get16(decoder, bytes) == XRAY_BASIC_ARGUMENT && get32(decoder, bytes + 4) == decoder->function &&
           get32(decoder, bytes + 8) == decoder->tid &&
           (decoder->version < 3 || get32(decoder, bytes + 12) == decoder->pid);
}

/* Leaves out a record: an argument that nobody has asked for, one that nobody owns, or what is not known. */
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

/* Function record: u16 type, u8 CPU, u8 kind, i32 function, u64 TSC, u32 thread, u32 process (version 3). */
static enum outcome basic_record(struct xray_decoder *decoder, struct xray_event *event)
{
    if (decoder->have - decoder->at < XRAY_BASIC_SIZE)
        return fault(decoder, XRAY_CUT_RECORD, 0);
    const unsigned char *bytes = decoder->window + decoder->at;
    uint16_t type = get16(decoder, bytes);
    if (type != XRAY_BASIC_FUNCTION || bytes[3] > XRAY_ENTER_ARG)
        return pass_basic(decoder, type);
    decoder->function = get32(decoder, bytes + 4);
    decoder->tid = get32(decoder, bytes + 16);
    decoder->pid = decoder->version < 3 ? 0 : get32(decoder, bytes + 20);
    decoder->at += XRAY_BASIC_SIZE;
    decoder->expecting = true;
    *event = (struct xray_event){.tsc = get64(decoder, bytes + 8),
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
    *value = get64(decoder, decoder->window + decoder->at + 16);
    decoder->at += XRAY_BASIC_SIZE;
    return 1;
}

/* ---- reading ------------------------------------------------------------------------------------ */

static bool starts_metadata(const struct xray_decoder *decoder)
{
    return decoder->window[decoder->at] & (decoder->big_endian ? 0x80 : 1);
}

/* Step over what is left of a payload, without reading it. */
static void skip_payload(struct xray_decoder *decoder)
{
    size_t held = decoder->have - decoder->at;
    if (decoder->payload > held) {
        decoder->base += decoder->at + decoder->payload;
        decoder->at = decoder->have = 0;
    } else {
        decoder->at += decoder->payload;
    }
    decoder->payload = 0;
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
        outcome = decoder->basic             ? basic_record(decoder, event)
                  : starts_metadata(decoder) ? metadata_record(decoder, event)
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
    if (decoder->basic)
        return next_basic_argument(decoder, value);
    bool whole = decoder->have - decoder->at >= XRAY_METADATA_SIZE;
    if (!argument_follows(decoder) || !whole) {
        set_fast(decoder);
        return 0;
    }
    *value = get64(decoder, decoder->window + decoder->at + 1);
    decoder->at += XRAY_METADATA_SIZE;
    return 1;
}

const unsigned char *xray_next_payload(struct xray_decoder *decoder, size_t *size, struct pf_error *error)
{
    bool empty = decoder->at == decoder->have;
    if (decoder->payload && empty && refill(decoder, error))
        return NULL;
    size_t held = decoder->have - decoder->at;
    *size = held < decoder->payload ? held : decoder->payload;
    const unsigned char *bytes = decoder->window + decoder->at;
    decoder->at += *size;
    decoder->payload -= (uint32_t)*size;
    return bytes;
}
