/* SPDX-License-Identifier: MIT */
#ifndef PF_AFPERF_MODEL_H
#define PF_AFPERF_MODEL_H

#include <stdbool.h>
#include <stdint.h>

#include "formats/afperf/decode.h"
#include "formats/afperf/notes.h"
#include "formats/afperf/reader.h"
#include "formats/kit/store.h"
#include "formats/kit/strings.h"
#include "formats/kit/tree.h"

__extension__ typedef unsigned __int128 afperf_uint128;

/*
 * AFPerf files: records in any order, which refer to each other over the whole file. The parts, each knowing those before it
 * only:
 *   reader.c    bytes -> records and their fields
 *   number.c    fields -> numbers; decode.c: fields -> what a record says; notes.c: what is wrong with the file
 *   read.c, read_spans.c   the one pass over the file -> the model, as far as it can be known by then
 *   names.c     which runs and sections the ids in it mean
 *   spans.c     regions and intervals by their ids; pair.c: stops whose start was not known yet
 *   data.c      measurements in the file -> what they belong to
 *   nest.c      regions of a run -> tree, contexts, times; geometry.c: where they overlap
 *   sections.c  intervals of sections -> times
 *   model.c     all of these in turn
 *   tables.c    short tables; values.c, spans_tables.c, measurements.c, trace.c: the others
 *   afperf.c    the driver
 */
#define AFPERF_NONE UINT32_MAX

/* ---- runs --------------------------------------------------------------------------------------- */

/*
 * Where in the file data stand that belong to something: in blocks of it, from first to before end. A table of the data of one
 * run or context is looked for there alone.
 */
enum { AFPERF_BLOCK = 32 * 1024 };
struct afperf_extent {
    uint32_t first, end; /* end 0: there are none */
};

static inline uint32_t afperf_block_of(uint64_t offset)
{
    return (uint32_t)(offset / AFPERF_BLOCK); /* files are smaller than 2^47 bytes */
}

/* Makes an extent hold another. */
static inline void afperf_extend(struct afperf_extent *extent, struct afperf_extent by)
{
    if (!by.end)
        return;
    if (!extent->end || by.first < extent->first)
        extent->first = by.first;
    if (by.end > extent->end)
        extent->end = by.end;
}

/* That of a record at this offset. */
static inline struct afperf_extent afperf_extent_at(uint64_t offset)
{
    uint32_t block = afperf_block_of(offset);
    return (struct afperf_extent){block, block + 1};
}

/* A PauseResume, or several that touch. */
struct afperf_pause {
    uint64_t start, stop;
    uint64_t before; /* ticks paused in this run before it; while reading: a run's reference */
};

struct afperf_run {
    uint64_t offset, line; /* of its RunInfo; implicit: of the first record that needs it */
    struct afperf_id id;
    uint64_t start, end; /* ticks; start: unless implicit */
    struct afperf_extent data;
    uint32_t units, wallclock, version, application, application_version, tags; /* in model->strings */
    uint32_t segment;
    bool implicit, geometry;
    uint64_t nanoseconds; /* in a tick; 1 if unknown */

    uint32_t pauses, n_pauses; /* in model->pauses */
    uint32_t events, n_events; /* in model->timeline */
    size_t nodes, n_nodes;     /* in model->nodes */
};

/*
 * How records name a run, as known while reading; which run that is, once all has been read. Records of one segment that
 * name a run by its id mean the same one wherever they stand.
 */
enum afperf_ref_kind {
    AFPERF_REF_NONE,  /* reference 0: the current run before any record has named one */
    AFPERF_REF_RUN,   /* a RunInfo */
    AFPERF_REF_ID,    /* an id that no RunInfo of the segment has (yet) */
    AFPERF_REF_MAYBE, /* first field of a short SectionInfo: an id, or if there is no such run a timestamp */
};

struct afperf_ref {
    enum afperf_ref_kind kind;
    uint32_t segment;
    uint64_t id;
    uint32_t fallback;     /* MAYBE: reference of the run that is meant if it is no id */
    uint32_t run;          /* RUN: in model->runs; of all once runs are known */
    uint64_t offset, line; /* of the first record that needs the run; line 0: none does */
    uint64_t end;          /* largest timestamp of data and pauses */
    struct afperf_extent data;
};

/* ---- measurement types -------------------------------------------------------------------------- */

enum afperf_type_field {
    AFPERF_NAME,
    AFPERF_DATATYPE,
    AFPERF_UNITS,
    AFPERF_SUMMARY,
    AFPERF_DESCRIPTION,
    AFPERF_TYPE_FIELDS
};

/* All definitions that one reference has made of an id; once runs are known, that a run has. */
struct afperf_measure {
    uint64_t id;
    uint32_t run; /* a reference, later a run */
    struct {
        uint32_t text; /* in model->strings, or PF_NO_STRING */
        uint64_t line; /* that set it */
    } fields[AFPERF_TYPE_FIELDS];
    uint64_t line, definitions; /* the last one's line */
    enum afperf_datatype datatype;
    bool used; /* a value has been held against the datatype */
};

/* ---- sections ----------------------------------------------------------------------------------- */

struct afperf_section {
    uint64_t offset, line; /* of its SectionInfo; implicit: of the first SectionStart */
    struct afperf_id id;
    uint32_t run; /* a reference, later a run */
    uint32_t label, tags;
    bool implicit;
    uint32_t context;
    uint32_t first, count; /* intervals, by number */
    afperf_uint128 total, total_net;
    uint64_t covered, covered_net;
    struct afperf_extent data;
    uint32_t next;                   /* in the same run, or AFPERF_NONE */
    uint32_t anonymous, n_anonymous; /* while pairing: its open intervals without id */
};

/* A run or section that has an id. */
struct afperf_named {
    uint64_t id, offset;
    uint32_t number;
};

/* How records name a section. */
struct afperf_section_ref {
    bool known; /* `section` is it */
    bool by_id; /* else: the one of this id, which the segment does not have (yet) */
    uint64_t id;
    uint32_t segment, section;
    uint64_t offset, line; /* of the first SectionStart; line 0: there is none */
    uint32_t run;          /* the current run's reference there */
};

/* ---- regions and intervals ---------------------------------------------------------------------- */

/* A region or a section's interval: what starts and stops. There are as many as a file has room for. */
struct afperf_span {
    uint64_t id;          /* 0 if anonymous */
    uint64_t start, stop; /* ticks; stop: once it is closed, for all once regions are nested */
    uint64_t exclusive,
        exclusive_net; /* of a region, without children, and pauses; while nesting: what its children cover */
    uint64_t offset;   /* of the start record in the file */
    union {
        uint32_t label; /* of a region, in the tree's strings, or PF_NO_STRING; until regions are nested, */
        uint32_t stop_event; /* from then on: in the timeline; AFPERF_NONE: no record stops it */
    };
    uint32_t
        owner; /* region: its run's reference, then its node; interval: its section's reference, then section */
    uint32_t parent; /* region: the one around it, or AFPERF_NONE; interval: its number in the table */
    union {
        uint32_t open_below;  /* while pairing: the next older open one of this id, plus 1; 0: none */
        uint32_t start_event; /* once regions are nested: in the timeline */
    };
    uint32_t data_end; /* no data of a region stand in this block of the file or a later one */
    uint8_t flags;
};

enum {
    AFPERF_ANONYMOUS = 1,   /* has no id */
    AFPERF_CLOSED = 2,      /* a record stops it */
    AFPERF_TAGGED = 4,      /* its start record has tags */
    AFPERF_UNLABELLED = 8,  /* and no label */
    AFPERF_EARLY_DATA = 16, /* data of it stand before its start record */
};

/* In the order of the file. */
struct afperf_spans {
    struct afperf_span *items;
    size_t room;
    uint32_t count;
    bool scoped;     /* ids count within an owner */
    uint32_t *order; /* by owner (if scoped), anonymous last, id, number; NULL: there is no index yet */
};

/* ---- contexts ----------------------------------------------------------------------------------- */

/* A context in a run: regions of one label path, or the sections of a label. */
struct afperf_node {
    uint32_t run, context;
    uint32_t next;  /* of the same context, in a later run, or AFPERF_NONE */
    uint32_t calls; /* regions; intervals */
    afperf_uint128 inclusive, exclusive, inclusive_net,
        exclusive_net; /* ticks; of sections no exclusive ones */
    uint32_t first_region, last_region;
    struct afperf_extent data;
};

enum { AFPERF_KIND_REGION, AFPERF_KIND_SECTION };

/* ---- events ------------------------------------------------------------------------------------- */

/* A record that starts or stops something, or names a run or section: a kind above 29 bits of a number. */
enum afperf_event {
    AFPERF_EVENT_RUN,            /* a reference */
    AFPERF_EVENT_SECTION,        /* a section's reference */
    AFPERF_EVENT_REGION_START,   /* a region */
    AFPERF_EVENT_REGION_STOP,    /* likewise, or AFPERF_NO_NUMBER */
    AFPERF_EVENT_INTERVAL_START, /* an interval */
    AFPERF_EVENT_INTERVAL_STOP,  /* likewise */
    AFPERF_EVENT_LOST_STOP, /* of a section (its reference), none of whose intervals it stops, or not yet */
};
enum { AFPERF_NUMBER_BITS = 29 };
#define AFPERF_NO_NUMBER ((UINT32_C(1) << AFPERF_NUMBER_BITS) - 1)

static inline uint32_t afperf_event(enum afperf_event kind, uint32_t number)
{
    return (uint32_t)kind << AFPERF_NUMBER_BITS | number;
}

static inline enum afperf_event afperf_event_kind(uint32_t event)
{
    return (enum afperf_event)(event >> AFPERF_NUMBER_BITS);
}

static inline uint32_t afperf_event_number(uint32_t event)
{
    return event & AFPERF_NO_NUMBER;
}

static inline bool afperf_event_is_region(uint32_t event)
{
    return afperf_event_kind(event) == AFPERF_EVENT_REGION_START ||
           afperf_event_kind(event) == AFPERF_EVENT_REGION_STOP;
}

static inline bool afperf_event_is_interval(uint32_t event)
{
    return afperf_event_kind(event) == AFPERF_EVENT_INTERVAL_START ||
           afperf_event_kind(event) == AFPERF_EVENT_INTERVAL_STOP;
}

/* A place in the file before a record, with what the record's meaning depends on. */
struct afperf_place {
    uint64_t offset, line;
    uint32_t events;  /* of the log that stand before it */
    uint32_t block;   /* the last of them that is no section's name, plus 1; 0: none */
    uint32_t segment; /* it stands in */
    uint32_t run;     /* the current run, AFPERF_NONE: none has been named; while reading: its reference */
};

/* A stop whose start was not known when it was read. */
struct afperf_stop {
    uint64_t offset, line, time;
    struct afperf_id id;
    uint32_t event; /* in the log */
    uint32_t owner; /* region without id: the current run's reference; interval: the section's */
    bool region;
};

/* ---- the model ---------------------------------------------------------------------------------- */

/* Bytes of each of the model's lists of stops and doubts that are held in memory before they spill. */
#define AFPERF_LIST_HELD ((uint64_t)4 << 20)

struct afperf_model {
    struct pf_input *input;
    uint64_t end; /* reading ended before this offset */

    struct pf_strings *strings;
    struct pf_tree *tree;
    bool published; /* the tree belongs to the profile */

    struct afperf_run *runs; /* in file order */
    struct afperf_ref *refs;
    struct afperf_measure *measures; /* once runs are known: by id, then run */
    struct afperf_section *sections; /* in file order */
    struct afperf_section_ref *section_refs;
    struct afperf_named *sections_by_id, *runs_by_id; /* those that have one; by id, then offset */
    uint64_t *segments;                               /* where each starts */
    struct afperf_place *marks;                       /* one every AFPERF_BLOCK bytes; `run` is a reference */
    struct afperf_pause *pauses;
    struct afperf_node *nodes;        /* by run, in it by first appearance */
    uint32_t *first_node, *last_node; /* of each context, or AFPERF_NONE */
    uint32_t *log;                    /* events in file order */
    uint32_t *timeline;               /* those that start or stop something, by run, in it by time */
    size_t n_runs, n_refs, n_measures, n_sections, n_section_refs, n_sections_by_id, n_runs_by_id, n_segments,
        n_marks, n_pauses, n_nodes, n_contexts, n_log;
    size_t runs_room, refs_room, measures_room, sections_room, section_refs_room, segments_room, marks_room,
        pauses_room, nodes_room, first_node_room, last_node_room, log_room;

    struct afperf_spans regions, intervals;
    uint32_t *interval_order; /* interval of each number */

    struct pf_store *stops;    /* struct afperf_stop: to be paired when all is read */
    struct pf_store *doubtful; /* struct afperf_place: of data records that must be looked at again */
    bool doubt_all;            /* a datatype has changed, or what stops belong to: look at all */
    bool nested;               /* the owner of a region is a node */
    bool initial_used;         /* something belongs to the run of reference 0 */
    struct pf_notes notes;
};

/* Makes the model, but for what only some tables need. NULL with *error filled. */
struct afperf_model *afperf_model_new(struct pf_input *input, struct pf_pass *pass, struct pf_error *error);

/* Makes the rest: the index of ids. 0, or -1 with *error filled; then it may be tried again. */
int afperf_model_complete(struct afperf_model *model, struct pf_error *error);
void afperf_model_free(struct afperf_model *model);

/* Makes room for one more item of an array, of which there are at most 2^29. 0, or -1 with *error filled. */
int afperf_grow(void *items, size_t count, size_t *room, size_t size, struct pf_error *error);
#define AFPERF_GROW(model, name, error)                                                                      \
    afperf_grow(&(model)->name, (model)->n_##name, &(model)->name##_room, sizeof *(model)->name, error)

/* Text as a string of the model; PF_NO_STRING with *error filled if memory ran out. */
uint32_t afperf_keep(struct afperf_model *model, struct afperf_text text, struct pf_error *error);

/* Notes a problem of the record at this offset, in this line (0: to be counted later). */
void afperf_note(struct afperf_model *model, enum afperf_problem problem, uint64_t offset, uint64_t line);

/* A part of the file, from one header to the next. */
struct afperf_segment {
    uint64_t start, end; /* offsets */
};
struct afperf_segment afperf_segment(const struct afperf_model *model, uint32_t number);

/* The number of that which an offset stands in. */
uint32_t afperf_segment_at(const struct afperf_model *model, uint64_t offset);

/* The last mark that does not stand behind the offset, as a place for a walk. */
struct afperf_place afperf_place_before(const struct afperf_model *model, uint64_t offset);

/* Puts a reader before the line that starts at the offset. */
int afperf_go_to_line(const struct afperf_model *model, struct afperf_reader *reader, uint64_t offset,
                      struct pf_error *error);

/*
 * Of several things with the same id, the one that a record means: the nearest before it in its segment, else the first behind
 * it there, else the nearest before it, else the first behind it. Each is its offset, UINT64_MAX for none; true: the one before.
 */
bool afperf_means_before(uint64_t before, uint64_t behind, const struct afperf_segment *segment);

/* The number of the named one that a record at this offset means, or AFPERF_NONE. */
uint32_t afperf_find_named(const struct afperf_named *all, size_t n, uint64_t id, uint64_t offset,
                           const struct afperf_segment *segment);

/* The run of a region or an interval, once runs are known. */
uint32_t afperf_region_run(const struct afperf_model *model, const struct afperf_span *region);
uint32_t afperf_interval_run(const struct afperf_model *model, const struct afperf_span *interval);

/* What an event starts or stops; NULL if it does not. *run, *time: its. */
const struct afperf_span *afperf_event_span(const struct afperf_model *model, uint32_t event, uint32_t *run,
                                            uint64_t *time);

/* Ticks from start to stop that the run is paused. */
uint64_t afperf_paused(const struct afperf_model *model, const struct afperf_run *run, uint64_t start,
                       uint64_t stop);

/* Room for "0x" and 16 digits. Returns the size. */
enum { AFPERF_HEX = 18 };
size_t afperf_hex(uint64_t id, char *text);

/* ---- spans.c ------------------------------------------------------------------------------------ */

/* A new span, all zero but its offset; NULL with *error filled. Valid until the next. */
struct afperf_span *afperf_spans_add(struct afperf_spans *spans, uint64_t offset, struct pf_error *error);
void afperf_spans_free(struct afperf_spans *spans);

/* Closes a span at this time, at its start if that is later; this is noted. */
void afperf_close_span(struct afperf_model *model, struct afperf_span *span, uint64_t time);

/* Makes the index that the functions below need, unless that has been done. 0, or -1 with *error filled. */
int afperf_spans_index(struct afperf_spans *spans, struct pf_error *error);

/* The span with this id (and owner, if scoped) that a record at this offset means, or AFPERF_NONE. */
uint32_t afperf_spans_find(const struct afperf_spans *spans, uint32_t owner, uint64_t id, uint64_t offset,
                           const struct afperf_segment *segment);

/* The same among those that are still open, which it takes out. *any: there are some with the id, open or not. */
struct afperf_open;
struct afperf_open *afperf_open_new(const struct afperf_spans *spans, struct pf_error *error);
void afperf_open_free(struct afperf_open *open);
uint32_t afperf_open_take(struct afperf_open *open, uint32_t owner, uint64_t id, uint64_t offset,
                          const struct afperf_segment *segment, bool *any);

/* ---- the steps, in order ------------------------------------------------------------------------ */

/* Each: 0, or -1 with *error filled. */
int afperf_read(struct afperf_model *model, struct pf_pass *pass, struct pf_error *error);
int afperf_resolve_names(struct afperf_model *model, struct pf_error *error);
int afperf_drop_unused_run(struct afperf_model *model, struct pf_error *error);
int afperf_pair_stops(struct afperf_model *model, struct pf_pass *pass, struct pf_error *error);
int afperf_look_again(struct afperf_model *model, struct pf_pass *pass, struct pf_error *error);
int afperf_make_timeline(struct afperf_model *model, struct pf_error *error);
int afperf_nest(struct afperf_model *model, struct pf_pass *pass, struct pf_error *error);
int afperf_number_intervals(struct afperf_model *model, struct pf_error *error);

/* Adds the times of a run's sections, which are linked from the first on. */
int afperf_time_sections(struct afperf_model *model, uint32_t first, struct pf_error *error);

/* ---- nodes (nest.c) ------------------------------------------------------------------------------ */

/* The node of a context in the first run that has it, from which the others are linked; AFPERF_NONE: no run has it. */
uint32_t afperf_first_node(const struct afperf_model *model, uint32_t context);

/* The node of a context in the run whose nodes are being made, or AFPERF_NONE with *error filled. */
uint32_t afperf_node_of(struct afperf_model *model, uint32_t run, uint32_t context, struct pf_error *error);

/* Gives a region, whose parent is known and has been entered, its node. 0, or -1 with *error filled. */
int afperf_enter(struct afperf_model *model, uint32_t number, uint32_t run, struct pf_error *error);

/* Adds a region to its node: its stop and what its children cover are known. */
void afperf_leave(struct afperf_model *model, uint32_t number);

/* Nests the regions of a run by their times alone (geometry.c). 0, or -1 with *error filled. */
int afperf_nest_by_geometry(struct afperf_model *model, uint32_t run, struct pf_error *error);

#endif
