/* SPDX-License-Identifier: MIT */
#ifndef PF_AFPERF_SPANS_H
#define PF_AFPERF_SPANS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "formats/kit/error.h"

/*
 * Regions and section intervals: what starts and stops. There are as many as a file has room for, so what is kept
 * of one is small (56 bytes, and 4 in an index), and the pass, the pairing of stops and the nesting share fields.
 */
struct afperf_span {
    uint64_t id;          /* 0 if anonymous */
    uint64_t start, stop; /* ticks; stop: once it is closed, for all once regions are nested */
    union {
        uint64_t exclusive;      /* ticks without children, of a region that has been nested */
        uint64_t covered;        /* while nesting: ticks that its children cover */
        struct {                 /* before: */
            uint32_t open_below; /* the next older open one of this id, plus 1; 0: none */
            uint32_t next;       /* region: the next that the same reference starts, plus 1; 0: none */
        };
    };
    union {
        uint64_t exclusive_net; /* the same without pauses */
        uint64_t covered_net;
        struct {               /* of a region before that: */
            uint32_t label;    /* in the tree's strings, or PF_NO_STRING */
            uint32_t data_end; /* no data of it stand in this block of the file or a later one */
        };
    };
    uint32_t offset_low; /* of the start record in the file */
    uint16_t offset_high;
    uint8_t flags;
    uint32_t
        owner; /* region: its run's reference, then its node; interval: its section's reference, then section */
    uint32_t parent; /* region: the one around it, or AFPERF_NONE; interval: its number in the table */
};

enum {
    AFPERF_ANONYMOUS = 1,  /* has no id */
    AFPERF_CLOSED = 2,     /* a record stops it */
    AFPERF_TAGGED = 4,     /* its start record has tags */
    AFPERF_UNLABELLED = 8, /* and no label */
    AFPERF_EARLY_STOP =
        16,               /* has no length, and the record that stops it stands before that which starts it */
    AFPERF_SHADOWED = 32, /* another of its id has been started before it was stopped */
    AFPERF_EARLY_DATA = 64, /* data of it stand before its start record */
};

enum { AFPERF_CHUNK = 16384 }; /* spans */

struct afperf_spans {
    struct afperf_span **chunks; /* never moved */
    size_t n_chunks, room;
    uint32_t count;
    bool scoped;     /* ids count within an owner */
    bool indexed;    /* the index has been made */
    uint32_t *order; /* by owner (if scoped), anonymous last, id, offset; NULL: that is how they stand */
};

static inline struct afperf_span *afperf_span(const struct afperf_spans *spans, uint32_t i)
{
    return &spans->chunks[i / AFPERF_CHUNK][i % AFPERF_CHUNK];
}

static inline uint64_t afperf_span_offset(const struct afperf_span *span)
{
    return (uint64_t)span->offset_high << 32 | span->offset_low;
}

void afperf_spans_free(struct afperf_spans *spans);

/* A new span, all zero but its offset; NULL with *error filled. */
struct afperf_span *afperf_spans_add(struct afperf_spans *spans, uint64_t offset, struct pf_error *error);

/* Makes the index that the functions below need, unless that has been done. 0, or -1 with *error filled. */
int afperf_spans_index(struct afperf_spans *spans, struct pf_error *error);

/* The i-th in the order of the index. */
static inline uint32_t afperf_spans_at(const struct afperf_spans *spans, uint32_t i)
{
    return spans->order ? spans->order[i] : i;
}

/* A part of the file, from one header to the next. */
struct afperf_segment {
    uint64_t start, end; /* offsets */
};

/* Those with this id (and owner, if scoped): in the order of the index from *first to before *end. */
void afperf_spans_group(const struct afperf_spans *spans, uint32_t owner, uint64_t id, uint32_t *first,
                        uint32_t *end);

/*
 * Of several with the same id the one that a record means: the nearest before it in its segment, else the first behind it
 * there, else the nearest before it, else the first behind it. AFPERF_NONE if there is none.
 */
uint32_t afperf_spans_find(const struct afperf_spans *spans, uint32_t owner, uint64_t id, uint64_t offset,
                           const struct afperf_segment *segment);

/* The same among those that are still open, which it takes out. */
struct afperf_open;
struct afperf_open *afperf_open_new(const struct afperf_spans *spans, struct pf_error *error);
void afperf_open_free(struct afperf_open *open);
uint32_t afperf_open_take(struct afperf_open *open, uint32_t owner, uint64_t id, uint64_t offset,
                          const struct afperf_segment *segment);

#endif
