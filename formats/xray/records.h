/* SPDX-License-Identifier: MIT */
#ifndef PF_XRAY_RECORDS_H
#define PF_XRAY_RECORDS_H

#include "formats/input/source.h"
#include "formats/kit/bytes.h"
#include "formats/kit/table.h"
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

#define XRAY_NO_NUMBER UINT64_MAX

struct xray_decoder {
    struct pf_input *input;
    const struct xray_header *header;
    uint64_t done, total;

    unsigned char *window; /* owned */
    size_t room, held;
    uint64_t base; /* offset in the file of window[0] */

    /* The range that is decoded. */
    uint64_t end; /* offset in the file */
    size_t at;    /* of the next byte in the window; beyond `have` while a payload is being skipped */
    size_t have;  /* where the range's bytes in the window end */
    size_t fast;  /* below: a function record can be decoded without looking any further */

    uint64_t tsc;
    int32_t cpu;      /* -1: not known */
    bool timed;       /* tsc is known */
    bool expecting;   /* an argument may come: the record before was a function's, or another argument */
    bool closed;      /* EndOfBuffer was met (version 1) */
    uint32_t payload; /* bytes of the last event's payload not yet read */

    /* fault_detail: a number, or XRAY_NO_NUMBER. */
    const struct pf_note_kind *fault; /* why the range ended before its end; NULL: it did not */
    uint64_t fault_offset, fault_detail;
    uint64_t untimed; /* records left out because no time was known yet */
    uint64_t strays;  /* arguments that belong to no function record, and preamble records out of place */

    /* Basic logs only. */
    uint32_t function, tid, pid;         /* of the last function record; pid: version 3 only, else 0 */
    uint64_t unknown;                    /* records left out because their type or kind is not known */
    uint64_t first_stray, first_unknown; /* their offsets */
};

/*
 * A decoder without a range, at its end. It allocates when it reads. total: bytes that it will read, which pf_pass_step gets; 0: a
 * cursor's, whose caller reports. The input and the header must live as long.
 */
void xray_decoder_init(struct xray_decoder *decoder, struct pf_input *input, const struct xray_header *header,
                       uint64_t total);
void xray_decoder_free(struct xray_decoder *decoder);

/*
 * Bytes of the file in the decoder's window: at least `want` of them from an offset on, less only at the end of the file;
 * *have: how many. Ends decoding; valid until the next call. NULL with *error filled.
 */
const unsigned char *xray_peek(struct xray_decoder *decoder, uint64_t offset, size_t want, size_t *have,
                               struct pf_error *error);

/* Stand before the first record of the range [body, end) of the file; end must not exceed the file's size. */
void xray_decoder_begin(struct xray_decoder *decoder, uint64_t body, uint64_t end);

/* Stand before the first record of a thread's range of this ordinal. 0, or -1 with *error filled. */
static inline int xray_begin_range(struct xray_decoder *decoder, const struct xray_index *index,
                                   size_t thread, uint64_t ordinal, struct xray_range *range,
                                   struct pf_error *error)
{
    if (xray_index_range(index, index->threads[thread].first + ordinal, range, error))
        return -1;
    xray_decoder_begin(decoder, range->body, range->end);
    return 0;
}

/* Offset in the file of the next record: of what follows the last event and its arguments and payload. */
static inline uint64_t xray_decoder_offset(const struct xray_decoder *decoder)
{
    return decoder->base + decoder->at + decoder->payload;
}

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

/* ---- the light pass ----------------------------------------------------------------------------- */

/* What a light pass over a file works with. */
struct xray_indexing {
    const struct xray_header *header;
    struct xray_decoder decoder; /* tells the pass how far it is, by its `done` */
    uint64_t size;               /* of the file */
    struct pf_notes notes;
    struct xray_index index;
    size_t threads_room, damage_room;
    struct pf_hash_table by_ids; /* threads */
    struct pf_sorter *parts;     /* see parts.c */
};

/* A part of a thread. Those of one thread are in order of their wall time, then TSC, then place in the file. */
struct xray_part {
    struct xray_range range;
    bool has_pid, has_tsc;
    int32_t pid;
    int64_t tid;
    int64_t seconds; /* wall time of an FDR buffer's start, of the monotonic clock */
    int32_t micros;
    uint64_t tsc; /* of its first NewCPUId */
};

/* Bytes of parts, and of ranges, that are held in memory before they spill to a file. */
#define XRAY_INDEX_HELD ((uint64_t)16 << 20)

/* Returns a sorter for parts, which the caller frees; NULL if memory runs out. */
struct pf_sorter *xray_parts_new(void);
/* Adds a part of a thread. The caller compares the time of its first event with index.start. 0, or -1 with *error filled. */
int xray_index_add(struct xray_indexing *indexing, const struct xray_part *part, struct pf_error *error);
/* Adds an offset to index.damage. 0, or -1 with *error filled. */
int xray_index_add_damage(struct xray_indexing *indexing, uint64_t offset, struct pf_error *error);
/* Sorts the parts, drops duplicates, and gives each thread its ranges. 0, or -1 with *error filled. */
int xray_parts_finish(struct xray_indexing *indexing, struct pf_error *error);
/* Finds the parts of a file of its type. 0, or -1 with *error filled. */
typedef int xray_scan(struct xray_indexing *indexing, struct pf_error *error);
xray_scan xray_scan_buffers, xray_scan_blocks;

#endif
