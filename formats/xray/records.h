/* SPDX-License-Identifier: MIT */
#ifndef PF_XRAY_RECORDS_H
#define PF_XRAY_RECORDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "formats/input/source.h"
#include "formats/kit/bytes.h"
#include "formats/kit/error.h"
#include "formats/xray/xray.h"

/*
 * Decoding the records of one buffer of an FDR log, or of one run of a basic log, into events. A decoder knows
 * a byte range of the file and the log's header; it knows no calls. It reads through a window of its own, so
 * a buffer may have any length.
 *
 * A record of an FDR log starts with a byte of which one bit tells function records (0: 8 bytes) from
 * metadata (1: 16 bytes); the other seven are the metadata's kind. The bit is the lowest on little-endian
 * machines, the highest on big-endian ones. Nothing is aligned. Records of a basic log have 32 bytes each.
 */
enum {
    XRAY_FUNCTION_SIZE = 8,
    XRAY_METADATA_SIZE = 16,
    XRAY_BASIC_SIZE = 32,
};

/* Types of a basic log's records. */
enum { XRAY_BASIC_FUNCTION, XRAY_BASIC_ARGUMENT };

/* Metadata kinds, as in seven bits of the first byte. */
enum xray_metadata {
    XRAY_NEW_BUFFER,
    XRAY_END_OF_BUFFER,
    XRAY_NEW_CPU,
    XRAY_TSC_WRAP,
    XRAY_WALLTIME,
    XRAY_CUSTOM_EVENT,
    XRAY_CALL_ARGUMENT,
    XRAY_BUFFER_EXTENTS,
    XRAY_TYPED_EVENT,
    XRAY_PID,
};

/* The first byte of a metadata record of this kind. */
static inline unsigned char xray_metadata_byte(enum xray_metadata kind, bool big_endian)
{
    return (unsigned char)(big_endian ? 0x80U | kind : kind << 1 | 1U);
}

/* The first four are the kinds of function records as they stand in the file. */
enum xray_kind { XRAY_ENTER, XRAY_EXIT, XRAY_TAIL_EXIT, XRAY_ENTER_ARG, XRAY_CUSTOM, XRAY_TYPED };

struct xray_event {
    uint64_t tsc;
    uint32_t function; /* of a function record: 28 bits in FDR logs */
    int32_t cpu;       /* -1: not known */
    uint32_t size;     /* of a custom or typed event: bytes of payload, all within the buffer */
    uint16_t type;     /* of a typed event */
    uint8_t kind;      /* enum xray_kind */
    bool arguments;    /* xray_next_argument has something to give */
};

/* Why a buffer ended before its end. */
enum xray_fault {
    XRAY_SOUND,
    XRAY_CUT_RECORD,    /* the buffer ends inside this record */
    XRAY_BAD_FUNCTION,  /* detail: the kind */
    XRAY_BAD_METADATA,  /* detail: the kind */
    XRAY_BAD_SIZE,      /* of an event; detail: the size as it stands there */
    XRAY_NESTED_BUFFER, /* another buffer starts here */
};

struct xray_decoder {
    struct pf_input *input;
    unsigned version;
    bool basic, big_endian;

    unsigned char *window; /* owned */
    size_t room;
    uint64_t base; /* offset in the file of window[0] */
    size_t at;     /* of the next byte in the window; beyond `have` while a payload is being skipped */
    size_t have;   /* bytes of this buffer in the window */
    size_t fast;   /* below: a function record can be decoded without looking any further */
    uint64_t end;  /* of the buffer, offset in the file */

    uint64_t tsc;
    int32_t cpu;      /* -1: not known */
    bool timed;       /* tsc is known */
    bool expecting;   /* a CallArgument may come: the record before was a function's, or another argument */
    bool closed;      /* EndOfBuffer was met (version 1) */
    uint32_t payload; /* bytes of the last event's payload not yet read */

    enum xray_fault fault;
    uint64_t fault_offset, fault_detail;
    uint64_t untimed; /* records left out because no time was known yet */
    uint64_t strays;  /* arguments that belong to no function record, and preamble records out of place */

    /* Basic logs only. */
    uint32_t function, tid, pid;         /* of the last function record; pid: version 3 only, else 0 */
    uint64_t unknown;                    /* records left out because their type or kind is not known */
    uint64_t first_stray, first_unknown; /* their offsets */
};

/* A decoder without a buffer, at its end. It allocates when a buffer is begun. */
void xray_decoder_init(struct xray_decoder *decoder, struct pf_input *input,
                       const struct xray_header *header);
void xray_decoder_free(struct xray_decoder *decoder);

/* Stand before the first record of the range [body, end) of the file; end must not exceed the file's size. */
void xray_decoder_begin(struct xray_decoder *decoder, uint64_t body, uint64_t end);

/* The same with the first bytes of the range at hand; at most 256 of them are used. -1 with *error filled. */
int xray_decoder_begin_with(struct xray_decoder *decoder, uint64_t body, uint64_t end,
                            const unsigned char *bytes, size_t size, struct pf_error *error);

/* Offset in the file of the next record: of what follows the last event and its arguments and payload. */
static inline uint64_t xray_decoder_offset(const struct xray_decoder *decoder)
{
    return decoder->base + decoder->at + decoder->payload;
}

/* Continue at an offset that xray_decoder_offset gave, with the state of then. */
void xray_decoder_resume(struct xray_decoder *decoder, uint64_t offset, uint64_t tsc, int32_t cpu,
                         bool timed);

/* The general case of xray_next_event. */
int xray_next_event_slowly(struct xray_decoder *decoder, struct xray_event *event, struct pf_error *error);

/* The next CallArgument of the last event. 1: *value; 0: no more; -1: *error filled. Those not taken are
 * skipped by xray_next_event. */
int xray_next_argument(struct xray_decoder *decoder, uint64_t *value, struct pf_error *error);

/* The next bytes of the last event's payload, in the decoder's window; *size is 0 at its end. NULL with
 * *error filled. Those not taken are skipped by xray_next_event. */
const unsigned char *xray_next_payload(struct xray_decoder *decoder, size_t *size, struct pf_error *error);

/*
 * The next event of the buffer. 1: *event; 0: no more (decoder->fault tells whether the buffer ended
 * soundly); -1: *error filled.
 *
 * Nearly all records are function records without arguments of a little-endian FDR log, so those are decoded
 * here. Function record: u32 with a zero bit, 3 bits of kind, 28 bits of id; u32 ticks since the record
 * before. Bit 3 is set in invalid kinds alone.
 */
static inline int xray_next_event(struct xray_decoder *decoder, struct xray_event *event,
                                  struct pf_error *error)
{
    if (decoder->at < decoder->fast) {
        const unsigned char *bytes = decoder->window + decoder->at;
        uint32_t word = pf_u32(bytes, false);
        if (!(word & 9) && bytes[XRAY_FUNCTION_SIZE] != xray_metadata_byte(XRAY_CALL_ARGUMENT, false)) {
            decoder->at += XRAY_FUNCTION_SIZE;
            decoder->tsc += pf_u32(bytes + 4, false);
            *event = (struct xray_event){
                .tsc = decoder->tsc, .function = word >> 4, .cpu = decoder->cpu, .kind = word >> 1 & 3};
            return 1;
        }
    }
    struct xray_event general; /* of its own, so that *event can stay in registers */
    int found = xray_next_event_slowly(decoder, &general, error);
    if (found > 0)
        *event = general;
    return found;
}

#endif
