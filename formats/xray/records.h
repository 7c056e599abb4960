/* SPDX-License-Identifier: MIT */
#ifndef PF_XRAY_RECORDS_H
#define PF_XRAY_RECORDS_H

#include "formats/input/source.h"
#include "formats/kit/bytes.h"
#include "formats/kit/table.h"
#include "formats/xray/xray.h"

/*
 * A decoder turns the records of one buffer of an FDR log, or of one run of a basic log, into events. It does not track
 * calls. It reads through a window of its own, so a buffer may have any length. One thread at a time uses a decoder.
 *
 * One bit of the first byte of an FDR log's record distinguishes function records (0), which have 8 bytes, from metadata
 * records (1), which have 16. The other seven bits of a metadata record's first byte are its kind. The distinguishing bit
 * is the lowest bit on little-endian machines, and the highest on big-endian ones. Records are not aligned. Records of a
 * basic log have 32 bytes each.
 */
enum {
    XRAY_FUNCTION_SIZE = 8,
    XRAY_METADATA_SIZE = 16,
    XRAY_BASIC_SIZE = 32,
};

/* Record types of a basic log. */
enum { XRAY_BASIC_FUNCTION, XRAY_BASIC_ARGUMENT };

/* Kinds of metadata records. */
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

/* Returns the first byte of a metadata record of this kind. */
static inline unsigned char xray_metadata_byte(enum xray_metadata kind, bool big_endian)
{
    return (unsigned char)(big_endian ? 0x80U | kind : kind << 1 | 1U);
}

/* Kinds of events. The first four have the values of function records in the file. */
enum xray_kind { XRAY_ENTER, XRAY_EXIT, XRAY_TAIL_EXIT, XRAY_ENTER_ARG, XRAY_CUSTOM, XRAY_TYPED };

struct xray_event {
    uint64_t tsc;
    uint32_t function; /* function records only; 28 bits in FDR logs */
    int32_t cpu;       /* -1: unknown */
    uint32_t size;     /* custom and typed events: payload size in bytes, all inside the buffer */
    uint16_t type;     /* typed events only */
    uint8_t kind;      /* enum xray_kind */
    bool arguments;    /* an argument record follows, which may be cut off */
};

#define XRAY_NO_NUMBER UINT64_MAX

struct xray_decoder {
    struct pf_input *input;
    const struct xray_header *header;
    uint64_t done, total; /* bytes read so far, and bytes to read, for progress reports */

    unsigned char *window; /* owned */
    size_t room, held;     /* size of the window, and bytes of the file in it */
    uint64_t base;         /* file offset of window[0] */

    /* The range being decoded. */
    uint64_t end; /* file offset */
    size_t at;    /* index of the next byte in the window; beyond `have` while a payload is being skipped */
    size_t have;  /* index after the last byte of the range in the window */
    size_t fast;  /* the fast path may decode a function record that starts below this index */

    uint64_t tsc;
    int32_t cpu;      /* -1: unknown */
    bool timed;       /* tsc is known */
    bool expecting;   /* an argument may follow, since the last record was a function record or argument */
    bool closed;      /* EndOfBuffer has been read (version 1) */
    uint32_t payload; /* unread bytes of the last event's payload */

    const struct pf_note_kind *fault;    /* why decoding of the range ended early; NULL: it did not */
    uint64_t fault_offset, fault_detail; /* `fault_detail` is a number for the message, or XRAY_NO_NUMBER */
    uint64_t untimed;                    /* number of records skipped before the time was known */
    uint64_t strays; /* number of arguments without a function record, and of misplaced preamble records */

    /* Basic logs only. */
    uint32_t function, tid, pid;         /* of the last function record; `pid` is 0 before version 3 */
    uint64_t unknown;                    /* number of records of unknown type or kind, which are skipped */
    uint64_t first_stray, first_unknown; /* offsets of the first stray and the first unknown record */
};

/*
 * Initialises a decoder without a range. Borrows the input and the header. If `total` is not 0, it is the number of bytes
 * that the decoder will read, and the decoder reports its progress by pf_pass_step. Reading allocates memory, so the caller
 * calls xray_decoder_free.
 */
void xray_decoder_init(struct xray_decoder *decoder, struct pf_input *input, const struct xray_header *header,
                       uint64_t total);
void xray_decoder_free(struct xray_decoder *decoder);

/*
 * Returns the bytes from a file offset on, in the decoder's window, or NULL with *error filled. Sets *have to their number,
 * which is less than `want` only at the end of the file. They are valid until the next call on this decoder. The current
 * range cannot be decoded further, since the window may have moved.
 */
const unsigned char *xray_peek(struct xray_decoder *decoder, uint64_t offset, size_t want, size_t *have,
                               struct pf_error *error);

/* Like xray_peek, in a run. */
static inline const unsigned char *xray_peek_in(struct pf_run *run, struct xray_decoder *decoder,
                                                uint64_t offset, size_t want, size_t *have)
{
    const unsigned char *bytes = xray_peek(decoder, offset, want, have, run->error);
    if (!bytes)
        pf_run_fail(run);
    return bytes;
}

/* Starts decoding the range [body, end) of the file; `end` must not exceed the file's size. */
void xray_decoder_begin(struct xray_decoder *decoder, uint64_t body, uint64_t end);

/* Starts decoding range number `ordinal` of a thread, and sets *range to it. Returns 0, or -1 with *error filled. */
static inline int xray_begin_range(struct xray_decoder *decoder, const struct xray_index *index,
                                   size_t thread, uint64_t ordinal, struct xray_range *range,
                                   struct pf_error *error)
{
    if (xray_index_range(index, index->threads[thread].first + ordinal, range, error))
        return -1;
    xray_decoder_begin(decoder, range->body, range->end);
    return 0;
}

/* Returns the file offset of the next record. Skips unread payload, but not unread arguments, which are records. */
static inline uint64_t xray_decoder_offset(const struct xray_decoder *decoder)
{
    return decoder->base + decoder->at + decoder->payload;
}

/* Slow path of xray_next_event. */
int xray_next_event_slowly(struct xray_decoder *decoder, struct xray_event *event, struct pf_error *error);

/*
 * Reads the next CallArgument of the last event. Returns 1 with *value filled; 0 at the end; -1 with *error filled.
 * xray_next_event skips unread arguments.
 */
int xray_next_argument(struct xray_decoder *decoder, uint64_t *value, struct pf_error *error);

/*
 * Returns the next bytes of the last event's payload, in the decoder's window; *size is 0 at its end. NULL with *error
 * filled. xray_next_event skips unread payload.
 */
const unsigned char *xray_next_payload(struct xray_decoder *decoder, size_t *size, struct pf_error *error);

/*
 * Reads the next event of the range. Returns 1 with *event filled; 0 at the end (decoder->fault is set if the range
 * ended early); -1 with *error filled.
 *
 * The fast path is for the most frequent records: function records without arguments in little-endian FDR logs. Such a
 * record is a u32 of a zero bit, 3 bits of kind and 28 bits of id, and u32 ticks since the previous record. Bit 3 of the
 * first u32 is set in invalid kinds only.
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
    struct xray_event general; /* a separate variable, so that *event can stay in registers */
    int found = xray_next_event_slowly(decoder, &general, error);
    if (found > 0)
        *event = general;
    return found;
}

/* ---- the index pass ----------------------------------------------------------------------------- */

/* State of the index pass over a file. */
struct xray_indexing {
    struct pf_run *run;
    const struct xray_header *header;
    struct xray_decoder decoder; /* its `done` counts the bytes for progress reports */
    uint64_t size;               /* of the file, in bytes */
    struct xray_index index;
    struct pf_rows *items; /* the partitions */
    size_t threads_room, damage_room;
    struct pf_hash_table by_ids; /* the threads, by their ids */
    struct pf_sorter *parts;     /* see parts.c */
};

/* A part of a thread. The parts of a thread are sorted by wall time, then TSC, then file offset. */
struct xray_part {
    struct xray_range range;
    bool has_pid, has_tsc;
    int32_t pid;
    int64_t tid;
    int64_t seconds; /* of XRAY_WALLTIME: monotonic time at the start of an FDR buffer */
    int32_t micros;
    uint64_t tsc; /* of an FDR buffer's first NewCPUId */
};

/* Maximum bytes of parts, and of ranges, that are held in memory. The rest is spilled. */
#define XRAY_INDEX_HELD ((uint64_t)16 << 20)

/* Returns a sorter for parts, which the caller frees; NULL if memory runs out. */
struct pf_sorter *xray_parts_new(void);
/* Adds a part of a thread. The caller lowers index.start to the TSC of the part's first event. */
void xray_index_add(struct xray_indexing *indexing, const struct xray_part *part);
/* Adds an offset to index.damage. */
void xray_index_add_damage(struct xray_indexing *indexing, uint64_t offset);
/* Sorts the parts, drops duplicates, and gives each thread its ranges. */
void xray_parts_finish(struct xray_indexing *indexing);
/* Finds the parts of a file, one function per file type. */
typedef void xray_scan(struct xray_indexing *indexing);
xray_scan xray_scan_buffers, xray_scan_blocks;

#endif
