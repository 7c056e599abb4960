/* SPDX-License-Identifier: MIT */
#ifndef PF_AFPERF_MODEL_H
#define PF_AFPERF_MODEL_H

#include "formats/afperf/decode.h"
#include "formats/kit/cell.h"
#include "formats/kit/store.h"
#include "formats/kit/strings.h"
#include "formats/kit/tree.h"

/*
 * AFPerf files: records in any order, which refer to each other across the whole file. Parts, in order of dependency
 * (each uses only those above it):
 *   reader.c    bytes -> records and their fields
 *   number.c    fields -> numbers
 *   decode.c    fields -> the meaning of a record
 *   notes.c     kinds of warnings; growing lists; ids as text
 *   time.c      times of events, pauses before a time
 *   index.c     ids -> objects
 *   read.c      the pass over the file: definitions, starts, stops and data, and references by name
 *   names.c     resolves references to runs and sections
 *   pair.c      pairs stops with starts
 *   data.c      owners of data records; checks their values
 *   nest.c      regions of a run -> tree, contexts, times; geometry.c: overlapping regions
 *   sections.c  intervals of sections -> times
 *   model.c     runs these steps in order
 *   tables.c    tables held in rows; spans_tables.c, events_tables.c, measurements.c: tables with cursors
 *   afperf.c    the driver
 */
#define AFPERF_NONE UINT32_MAX

/* ---- runs --------------------------------------------------------------------------------------- */

/* A PauseResume, or several merged ones. */
struct afperf_pause {
    uint64_t start, stop;
    uint64_t before; /* ticks paused in this run before this pause */
    uint32_t run;    /* while reading: a reference */
};

/* The kinds of objects that records name: runs and sections. Both begin with struct afperf_object. */
enum afperf_thing { AFPERF_RUNS, AFPERF_SECTIONS, AFPERF_THINGS };

struct afperf_object {
    uint64_t offset, line; /* of its definition; if implicit, of the first record that needs it */
    struct afperf_id id;
    bool implicit;
    uint32_t tags;   /* string of model->strings */
    uint32_t number; /* temporary, while objects are sorted */
};

struct afperf_run {
    struct afperf_object is;
    uint64_t start, end; /* in ticks; start: not of implicit runs */
    uint32_t units, wallclock, version, application, application_version; /* strings of model->strings */
    bool geometry;
    uint64_t nanoseconds; /* length of a tick; 1 if unknown */

    size_t pauses, n_pauses; /* range in model->pauses */
    size_t events, n_events; /* range in model->timeline */
    size_t nodes;            /* index of the run's first node in model->nodes */
    uint32_t first_section;  /* head of the list of the run's sections; AFPERF_NONE: no sections */
};

/*
 * A reference: how records name a run or section. All records of a segment that name a run by the same id share a
 * reference. Records that name a section by the same id share one until another SectionInfo has this id. References are
 * resolved after the whole file has been read. Reference 0 of runs is the current run before any record has named one.
 */
struct afperf_ref {
    struct afperf_id id;
    uint32_t segment;
    bool told;       /* defined by a RunInfo or SectionInfo of the segment */
    bool maybe;      /* first field of a short SectionInfo: an id, or, if no run has this id, a timestamp */
    uint32_t object; /* resolved run or section, or AFPERF_NONE */
    uint64_t offset, line; /* of the first record that needs it; line 0: not needed */
    uint32_t current;      /* reference of the current run at that record */
};

/* Index that resolves an id at a file offset (index.c). Sorted by owner, value, offset. */
struct afperf_key {
    uint64_t value;  /* an id; if there is no id, the start time */
    uint64_t offset; /* of the record in the file */
    uint32_t owner;  /* scope of the id (0: the file; else a section or run); with AFPERF_NAMELESS: no id */
    uint32_t number;
};
#define AFPERF_NAMELESS (UINT32_C(1) << 31)

struct afperf_index {
    struct afperf_key *keys;
    size_t n;
};

struct afperf_names {
    struct afperf_ref *refs;
    size_t n, room;
    struct afperf_index index; /* one reference per run or section with an id */
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

/* A measurement type: all definitions of an id by one reference; once runs are resolved, by one run. */
struct afperf_measure {
    uint64_t id;
    uint32_t run; /* while reading: a reference */
    struct {
        uint32_t text; /* string of model->strings, or PF_NO_STRING */
        uint64_t line; /* line of the definition that set it */
    } fields[AFPERF_TYPE_FIELDS];
    uint64_t line, definitions; /* line: of the last definition; definitions: their number */
    enum afperf_datatype datatype;
};

/* ---- sections ----------------------------------------------------------------------------------- */

struct afperf_section {
    struct afperf_object is;
    uint32_t ref;   /* reference of its run */
    uint32_t label; /* string of model->strings */
    uint32_t context;
    uint32_t first, count; /* range of numbers of its intervals */
    pf_int128 total, total_net;
    uint64_t covered, covered_net;
    uint32_t next; /* next section of the run, or AFPERF_NONE */
};

/* ---- regions and intervals ---------------------------------------------------------------------- */

/* A span: a region or an interval of a section. A file may have millions, so the struct is kept small. */
struct afperf_span {
    uint64_t id;          /* 0 if anonymous */
    uint64_t start, stop; /* in ticks; stop: valid once closed; of regions, always valid after nesting */
    uint64_t exclusive, exclusive_net; /* regions only: ticks without children, and without pauses */
    uint64_t offset;                   /* of the start record */
    uint32_t line;                     /* of the start record */
    uint32_t owner;  /* region: reference of its run; interval: its section (while reading: a reference) */
    uint32_t label;  /* regions only: string of the tree, or PF_NO_STRING */
    uint32_t parent; /* regions only: parent region, or AFPERF_NONE */
    union {
        uint32_t context; /* of a region, after nesting */
        uint32_t number;  /* of an interval: its row in the table */
    };
    uint8_t flags;
};

enum {
    AFPERF_ANONYMOUS = 1, /* without id */
    AFPERF_CLOSED = 2,    /* stopped by a record */
    AFPERF_TAGGED = 4,    /* its start record has tags */
};

/* Spans in file order. */
struct afperf_spans {
    struct afperf_span *items;
    size_t room;
    uint32_t count;
    bool scoped; /* ids are unique within an owner only */
    struct afperf_index index;
};

/* ---- contexts ----------------------------------------------------------------------------------- */

enum { AFPERF_CALLS, AFPERF_TIME, AFPERF_TIME_INC, AFPERF_TIME_NET, AFPERF_TIME_NET_INC, AFPERF_METRICS };

/* Values of a context in a run: regions of one label path, or sections of one label. */
struct afperf_node {
    uint32_t run, context;
    uint32_t next;                    /* next node of the context, in a later run, plus 1; 0: none */
    pf_int128 values[AFPERF_METRICS]; /* calls and ticks; sections have no exclusive ticks */
};

enum { AFPERF_KIND_REGION, AFPERF_KIND_SECTION };

/* ---- events ------------------------------------------------------------------------------------- */

enum afperf_event_kind {
    AFPERF_EVENT_RUN,            /* number: a reference */
    AFPERF_EVENT_SECTION,        /* number: a section's reference */
    AFPERF_EVENT_REGION_START,   /* number: a region */
    AFPERF_EVENT_REGION_STOP,    /* number: a region, or AFPERF_NO_NUMBER: none, or not paired yet */
    AFPERF_EVENT_INTERVAL_START, /* number: an interval */
    AFPERF_EVENT_INTERVAL_STOP,  /* number: an interval */
    AFPERF_EVENT_LOST_STOP, /* number: a section's reference; the stop matches no interval, or is not paired yet */
    AFPERF_EVENT_PAUSE, /* number: a pause; PAUSE and RESUME occur in the timeline only */
    AFPERF_EVENT_RESUME,
};

/* An event of the log: a record that starts or stops something, or names a run or section. */
struct afperf_event {
    uint32_t kind : 4, number : 28;
};
#define AFPERF_NO_NUMBER ((UINT32_C(1) << 28) - 1)

static inline bool afperf_event_is_region(struct afperf_event event)
{
    return event.kind == AFPERF_EVENT_REGION_START || event.kind == AFPERF_EVENT_REGION_STOP;
}

static inline bool afperf_event_is_interval(struct afperf_event event)
{
    return event.kind == AFPERF_EVENT_INTERVAL_START || event.kind == AFPERF_EVENT_INTERVAL_STOP;
}

/* A stop record. */
struct afperf_stop {
    uint64_t offset, line, time;
    struct afperf_id id;
    uint32_t event; /* index in the log */
    uint32_t owner; /* region without id: reference of the current run; interval: reference of its section */
    bool region;
};

/* ---- data --------------------------------------------------------------------------------------- */

/* A data record. */
struct afperf_data {
    uint64_t offset, line, end; /* end: its last timestamp */
    struct afperf_id object, interval;
    enum afperf_type type;
    bool processed; /* has an aggregation type */
    uint32_t run;   /* reference of the run that it names, else of the current run */
    uint32_t block; /* data without id: index in the log of the event they belong to, plus 1; 0: none */
};

enum afperf_scope {
    AFPERF_SCOPE_RUN,
    AFPERF_SCOPE_REGION,
    AFPERF_SCOPE_SECTION,
    AFPERF_SCOPE_RUN_REGIONS,
    AFPERF_SCOPE_RUN_SECTIONS,
    AFPERF_SCOPE_ORPHAN,
};

/* The resolved owner of a data record. */
struct afperf_target {
    uint64_t offset, line; /* of the data record */
    enum afperf_scope scope;
    uint32_t run;              /* a reference */
    uint32_t object, interval; /* object: region or section; interval: its row number; AFPERF_NONE: none */
};

/* ---- the model ---------------------------------------------------------------------------------- */

struct afperf_model {
    struct pf_input *input;

    struct pf_strings *strings;
    struct pf_tree *tree;
    bool published; /* the profile owns the tree */

    struct afperf_names names[AFPERF_THINGS];
    struct afperf_run *runs;          /* in file order */
    struct afperf_measure *measures;  /* once runs are resolved: sorted by id, then run */
    struct afperf_section *sections;  /* in file order */
    uint64_t *segments;               /* start offset of each segment */
    struct afperf_pause *pauses;      /* once runs are resolved: sorted by run, then start */
    struct afperf_node *nodes;        /* sorted by run; within a run in order of first appearance */
    uint32_t *first_node, *last_node; /* by context: its first and last node, plus 1; 0: none */
    struct afperf_event *log;         /* events in file order; freed once the model is complete */
    struct afperf_stop *stops;        /* freed once the model is complete */
    struct afperf_event *timeline;    /* starts, stops and pauses; sorted by run, then time */
    size_t n_runs, n_measures, n_sections, n_segments, n_pauses, n_nodes, n_log, n_stops, n_timeline;
    size_t runs_room, measures_room, sections_room, segments_room, pauses_room, nodes_room, first_node_room,
        last_node_room, log_room, stops_room;

    struct afperf_spans regions, intervals;
    uint32_t *interval_order; /* row number -> interval */

    struct pf_store *data;    /* items of struct afperf_data; freed once the model is complete */
    struct pf_store *targets; /* one struct afperf_target per data record */
    struct pf_notes notes;
};

/*
 * Reads the file and makes the model. The input is borrowed and must outlive the model. The caller frees the model with
 * afperf_model_free. NULL with *error filled.
 */
struct afperf_model *afperf_model_new(struct pf_input *input, struct pf_error *error);
void afperf_model_free(struct afperf_model *model);

/* Makes room for one more item of an array, up to a limit of 2^28 items. Returns 0, or -1 with *error filled. */
int afperf_grow(void *items, size_t count, size_t *room, size_t size, struct pf_error *error);
#define AFPERF_GROW(model, name, error)                                                                      \
    afperf_grow(&(model)->name, (model)->n_##name, &(model)->name##_room, sizeof *(model)->name, error)

/* Interns text in model->strings. PF_NO_STRING with *error filled if out of memory. */
uint32_t afperf_keep(struct afperf_model *model, struct afperf_text text, struct pf_error *error);

/* Notes a problem of the record at this offset and line. */
void afperf_note(struct afperf_model *model, enum afperf_problem problem, uint64_t offset, uint64_t line);

/* Returns the run that a reference resolves to. */
static inline uint32_t afperf_run_of(const struct afperf_model *model, uint32_t ref)
{
    return model->names[AFPERF_RUNS].refs[ref].object;
}

/* Returns the span that an event of the log starts or stops, and fills *run and *time; NULL for other events. */
const struct afperf_span *afperf_event_span(const struct afperf_model *model, struct afperf_event event,
                                            uint32_t *run, uint64_t *time);

/* Returns the ticks that the run is paused between start and stop. */
uint64_t afperf_paused(const struct afperf_model *model, uint32_t run, uint64_t start, uint64_t stop);

/* Formats an id in hexadecimal, into AFPERF_HEX bytes. Returns the size. */
enum { AFPERF_HEX = 19 };
size_t afperf_hex(uint64_t id, char *text);

/* ---- index.c ------------------------------------------------------------------------------------ */

/* Replaces the keys of an index by room for n keys. Returns 0, or -1 with *error filled. */
int afperf_index_room(struct afperf_index *index, size_t n, struct pf_error *error);
void afperf_index_sort(struct afperf_index *index);

/* Binary search: returns the first position in the index not below (owner, value, offset). */
size_t afperf_bound(const struct afperf_index *index, uint32_t owner, uint64_t value, uint64_t offset);

/*
 * Chooses what an id means at a file offset, from two candidate positions of the index: `before` (defined before the
 * offset) and `behind` (defined after it). Order of preference: `before` in the same segment, `behind` in the same
 * segment, `before`, `behind`. SIZE_MAX if neither has the id.
 */
size_t afperf_choose(const struct afperf_model *model, const struct afperf_index *index, uint32_t owner,
                     uint64_t id, uint64_t offset, size_t before, size_t behind);

/* Returns the number of the object that an id means at a file offset, or AFPERF_NONE. */
uint32_t afperf_find(const struct afperf_model *model, const struct afperf_index *index, uint32_t owner,
                     uint64_t id, uint64_t offset);

/* ---- data.c ------------------------------------------------------------------------------------- */

/*
 * Returns the measurement type of this id: the run's own definition (*own is set), else that of the first run that
 * defines it; NULL if none does.
 */
const struct afperf_measure *afperf_find_measure(const struct afperf_model *model, uint64_t id, uint32_t run,
                                                 bool *own);

/* Reads the record at an offset again. Returns 1; 0 if it no longer exists; -1 with *error filled. */
int afperf_read_again(struct afperf_reader *reader, uint64_t offset, uint64_t line,
                      struct afperf_record *record, struct afperf_decoded *decoded, struct pf_error *error);

/* ---- the steps, in order ------------------------------------------------------------------------ */

/* Each step returns 0, or -1 with *error filled. */
int afperf_read(struct afperf_model *model, struct pf_error *error);
int afperf_resolve_names(struct afperf_model *model, struct pf_error *error);
int afperf_pair_stops(struct afperf_model *model, struct pf_error *error);
int afperf_number_intervals(struct afperf_model *model, struct pf_error *error);
int afperf_find_targets(struct afperf_model *model, struct pf_error *error);
int afperf_number_runs(struct afperf_model *model, struct pf_error *error);
int afperf_check_data(struct afperf_model *model, struct pf_error *error);
int afperf_nest(struct afperf_model *model, struct pf_error *error);

/* ---- parts of steps ----------------------------------------------------------------------------- */

/* Adds to the values of a context in a run. Runs must be processed in order. Returns 0, or -1 with *error filled. */
int afperf_add_values(struct afperf_model *model, uint32_t run, uint32_t context,
                      const pf_int128 values[AFPERF_METRICS], struct pf_error *error);

/* Adds the times of a run's sections. Returns 0, or -1 with *error filled. */
int afperf_time_sections(struct afperf_model *model, uint32_t run, struct pf_error *error);

/*
 * Nests the overlapping regions of a run by their times alone: sorts `regions` so that parents precede their children
 * and siblings are ordered by start, and sets parents and missing stops. Returns 0, or -1 with *error filled.
 */
int afperf_nest_by_geometry(struct afperf_model *model, uint32_t run, uint32_t *regions, size_t n,
                            struct pf_error *error);

#endif
