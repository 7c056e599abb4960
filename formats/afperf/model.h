/* SPDX-License-Identifier: MIT */
#ifndef PF_AFPERF_MODEL_H
#define PF_AFPERF_MODEL_H

#include "formats/afperf/decode.h"
#include "formats/kit/cell.h"
#include "formats/kit/store.h"
#include "formats/kit/strings.h"
#include "formats/kit/tree.h"

/*
 * AFPerf files: records in any order, which refer to each other over the whole file. The parts, each knowing those before it
 * only:
 *   reader.c    bytes -> records and their fields
 *   number.c    fields -> numbers
 *   decode.c    fields -> the meaning of a record
 *   notes.c     kinds of warnings; growing lists; ids as text
 *   time.c      times of events, pauses before a time
 *   index.c     ids -> objects
 *   read.c      the pass over the file: what is defined, started, stopped and measured, and the names that records use
 *   names.c     which runs and sections these names mean
 *   pair.c      what each stop stops
 *   data.c      what data records belong to, and whether their values are sound
 *   nest.c      regions of a run -> tree, contexts, times; geometry.c: where they overlap
 *   sections.c  intervals of sections -> times
 *   model.c     all of these in turn
 *   tables.c    tables held in rows; spans_tables.c, events_tables.c, measurements.c: those that are walked
 *   afperf.c    the driver
 */
#define AFPERF_NONE UINT32_MAX

/* ---- runs --------------------------------------------------------------------------------------- */

/* A PauseResume, or several that touch. */
struct afperf_pause {
    uint64_t start, stop;
    uint64_t before; /* ticks paused in this run before it */
    uint32_t run;    /* while reading: its reference */
};

/* What records name: runs and sections. This they have in common. */
enum afperf_thing { AFPERF_RUNS, AFPERF_SECTIONS, AFPERF_THINGS };

struct afperf_object {
    uint64_t offset, line; /* of its RunInfo or SectionInfo; implicit: of the first record that needs it */
    struct afperf_id id;
    bool implicit;
    uint32_t tags;   /* in model->strings */
    uint32_t number; /* while they are put in order */
};

struct afperf_run {
    struct afperf_object is;
    uint64_t start, end;                                                  /* ticks; start: unless implicit */
    uint32_t units, wallclock, version, application, application_version; /* in model->strings */
    bool geometry;
    uint64_t nanoseconds; /* in a tick; 1 if unknown */

    size_t pauses, n_pauses; /* in model->pauses */
    size_t events, n_events; /* in model->timeline */
    size_t nodes;            /* where its own start in model->nodes */
    uint32_t first_section;  /* the others are linked; AFPERF_NONE: it has none */
};

/*
 * How records name a run or section. Records of one segment that name a run by its id mean the same one wherever they stand: they
 * share a reference; those that name a section by its id, as long as no further one of this id is told of. What is meant turns out
 * when all has been read. A run's reference 0 is the current run before any record has named one.
 */
struct afperf_ref {
    struct afperf_id id;
    uint32_t segment;
    bool told;       /* a RunInfo or SectionInfo of the segment */
    bool maybe;      /* first field of a short SectionInfo: an id, or if there is no such run a timestamp */
    uint32_t object; /* run or section, or AFPERF_NONE */
    uint64_t offset, line; /* of the first record that needs it; line 0: none does */
    uint32_t current;      /* the current run's reference there */
};

/*
 * An index: what an id means at a place in the file is looked for here (index.c). Sorted by owner, value, offset.
 */
struct afperf_key {
    uint64_t value;  /* an id; of what has none, when it started */
    uint64_t offset; /* where it stands */
    uint32_t
        owner; /* 0: ids count in the whole file; section, run; above AFPERF_NAMELESS of what has no id */
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
    struct afperf_index index; /* a reference of each run or section that has an id */
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
    uint32_t run; /* while reading: a reference */
    struct {
        uint32_t text; /* in model->strings, or PF_NO_STRING */
        uint64_t line; /* that set it */
    } fields[AFPERF_TYPE_FIELDS];
    uint64_t line, definitions; /* the last one's line */
    enum afperf_datatype datatype;
};

/* ---- sections ----------------------------------------------------------------------------------- */

struct afperf_section {
    struct afperf_object is;
    uint32_t ref;   /* of its run */
    uint32_t label; /* in model->strings */
    uint32_t context;
    uint32_t first, count; /* intervals, by number */
    pf_int128 total, total_net;
    uint64_t covered, covered_net;
    uint32_t next; /* in the same run, or AFPERF_NONE */
};

/* ---- regions and intervals ---------------------------------------------------------------------- */

/* A region or a section's interval: what starts and stops. There are as many as a file has room for. */
struct afperf_span {
    uint64_t id;                       /* 0 if anonymous */
    uint64_t start, stop;              /* ticks; stop: once it is closed, for all once regions are nested */
    uint64_t exclusive, exclusive_net; /* of a region: without children, and pauses */
    uint64_t offset;                   /* of the start record in the file */
    uint32_t line;                     /* likewise */
    uint32_t owner;  /* region: its run's reference; interval: its section (while reading: its reference) */
    uint32_t label;  /* of a region, in the tree's strings, or PF_NO_STRING */
    uint32_t parent; /* of a region, or AFPERF_NONE */
    union {
        uint32_t context; /* of a region, once it is nested */
        uint32_t number;  /* of an interval, in its table */
    };
    uint8_t flags;
};

enum {
    AFPERF_ANONYMOUS = 1, /* has no id */
    AFPERF_CLOSED = 2,    /* a record stops it */
    AFPERF_TAGGED = 4,    /* its start record has tags */
};

/* In the order of the file. */
struct afperf_spans {
    struct afperf_span *items;
    size_t room;
    uint32_t count;
    bool scoped; /* ids count within an owner */
    struct afperf_index index;
};

/* ---- contexts ----------------------------------------------------------------------------------- */

enum { AFPERF_CALLS, AFPERF_TIME, AFPERF_TIME_INC, AFPERF_TIME_NET, AFPERF_TIME_NET_INC, AFPERF_METRICS };

/* A context in a run: regions of one label path, or the sections of a label. */
struct afperf_node {
    uint32_t run, context;
    uint32_t next;                    /* of the same context, in a later run, plus 1; 0: none */
    pf_int128 values[AFPERF_METRICS]; /* regions or intervals; ticks, of sections no exclusive ones */
};

enum { AFPERF_KIND_REGION, AFPERF_KIND_SECTION };

/* ---- events ------------------------------------------------------------------------------------- */

enum afperf_event_kind {
    AFPERF_EVENT_RUN,            /* a reference */
    AFPERF_EVENT_SECTION,        /* a section's reference */
    AFPERF_EVENT_REGION_START,   /* a region */
    AFPERF_EVENT_REGION_STOP,    /* likewise, or AFPERF_NO_NUMBER: none, or not known yet */
    AFPERF_EVENT_INTERVAL_START, /* an interval */
    AFPERF_EVENT_INTERVAL_STOP,  /* likewise */
    AFPERF_EVENT_LOST_STOP, /* of a section (its reference), none of whose intervals it stops, or not yet */
    AFPERF_EVENT_PAUSE,     /* a pause; in the timeline alone, as the next */
    AFPERF_EVENT_RESUME,
};

/* A record that starts or stops something, or names a run or section. */
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

/* A record that stops something. */
struct afperf_stop {
    uint64_t offset, line, time;
    struct afperf_id id;
    uint32_t event; /* in the log */
    uint32_t owner; /* region without id: the current run's reference; interval: the section's */
    bool region;
};

/* ---- data --------------------------------------------------------------------------------------- */

/* A data record as it stands in the file. */
struct afperf_data {
    uint64_t offset, line, end; /* end: its last timestamp */
    struct afperf_id object, interval;
    enum afperf_type type;
    bool processed; /* it has an aggregation type */
    uint32_t run;   /* reference: of the run that it names, else of the current one */
    uint32_t block; /* the event of the log that it belongs to if it has no id, plus 1; 0: none */
};

enum afperf_scope {
    AFPERF_SCOPE_RUN,
    AFPERF_SCOPE_REGION,
    AFPERF_SCOPE_SECTION,
    AFPERF_SCOPE_RUN_REGIONS,
    AFPERF_SCOPE_RUN_SECTIONS,
    AFPERF_SCOPE_ORPHAN,
};

/* What a data record belongs to. */
struct afperf_target {
    uint64_t offset, line; /* of the record */
    enum afperf_scope scope;
    uint32_t run;              /* reference */
    uint32_t object, interval; /* object: region or section; interval: its number; AFPERF_NONE: none */
};

/* ---- the model ---------------------------------------------------------------------------------- */

struct afperf_model {
    struct pf_input *input;

    struct pf_strings *strings;
    struct pf_tree *tree;
    bool published; /* the tree belongs to the profile */

    struct afperf_names names[AFPERF_THINGS];
    struct afperf_run *runs;          /* in file order */
    struct afperf_measure *measures;  /* once runs are known: by id, then run */
    struct afperf_section *sections;  /* in file order */
    uint64_t *segments;               /* where each starts */
    struct afperf_pause *pauses;      /* once runs are known: by run, then start */
    struct afperf_node *nodes;        /* by run, in it by first appearance */
    uint32_t *first_node, *last_node; /* of each context, plus 1; 0: none */
    struct afperf_event *log;         /* events in file order; while the model is made */
    struct afperf_stop *stops;        /* likewise */
    struct afperf_event *timeline; /* those that start or stop something, and pauses: by run, in it by time */
    size_t n_runs, n_measures, n_sections, n_segments, n_pauses, n_nodes, n_log, n_stops, n_timeline;
    size_t runs_room, measures_room, sections_room, segments_room, pauses_room, nodes_room, first_node_room,
        last_node_room, log_room, stops_room;

    struct afperf_spans regions, intervals;
    uint32_t *interval_order; /* interval of each number */

    struct pf_store *data;    /* struct afperf_data, while the model is made */
    struct pf_store *targets; /* struct afperf_target of each */
    struct pf_notes notes;
};

/* Makes the model. NULL with *error filled. */
struct afperf_model *afperf_model_new(struct pf_input *input, struct pf_error *error);
void afperf_model_free(struct afperf_model *model);

/* Makes room for one more item of an array, of which there are at most 2^28. 0, or -1 with *error filled. */
int afperf_grow(void *items, size_t count, size_t *room, size_t size, struct pf_error *error);
#define AFPERF_GROW(model, name, error)                                                                      \
    afperf_grow(&(model)->name, (model)->n_##name, &(model)->name##_room, sizeof *(model)->name, error)

/* Text as a string of the model; PF_NO_STRING with *error filled if memory ran out. */
uint32_t afperf_keep(struct afperf_model *model, struct afperf_text text, struct pf_error *error);

/* Notes a problem of the record at this offset, in this line. */
void afperf_note(struct afperf_model *model, enum afperf_problem problem, uint64_t offset, uint64_t line);

/* The run that a reference means. */
static inline uint32_t afperf_run_of(const struct afperf_model *model, uint32_t ref)
{
    return model->names[AFPERF_RUNS].refs[ref].object;
}

/* What an event of the log starts or stops; NULL if it does not. *run, *time: its. */
const struct afperf_span *afperf_event_span(const struct afperf_model *model, struct afperf_event event,
                                            uint32_t *run, uint64_t *time);

/* Ticks from start to stop that the run is paused. */
uint64_t afperf_paused(const struct afperf_model *model, uint32_t run, uint64_t start, uint64_t stop);

/* An id as hexadecimal text; returns the size. */
enum { AFPERF_HEX = 19 };
size_t afperf_hex(uint64_t id, char *text);

/* ---- index.c ------------------------------------------------------------------------------------ */

/* Gives an index room for n keys, in place of those that it has. 0, or -1 with *error filled. */
int afperf_index_room(struct afperf_index *index, size_t n, struct pf_error *error);
void afperf_index_sort(struct afperf_index *index);

/* The first place in the index that is not before this owner, value and offset. */
size_t afperf_bound(const struct afperf_index *index, uint32_t owner, uint64_t value, uint64_t offset);

/*
 * Which of two places, of which one stands before and one behind an offset in the file, a record there means that names this id:
 * the nearest before it in its segment, else the first behind it there, else the nearest before it, else the first behind it.
 * SIZE_MAX if neither has the id.
 */
size_t afperf_choose(const struct afperf_model *model, const struct afperf_index *index, uint32_t owner,
                     uint64_t id, uint64_t offset, size_t before, size_t behind);

/* The number of what a record at this offset means by the id, or AFPERF_NONE. */
uint32_t afperf_find(const struct afperf_model *model, const struct afperf_index *index, uint32_t owner,
                     uint64_t id, uint64_t offset);

/* ---- data.c ------------------------------------------------------------------------------------- */

/* The type of this id as the run defines it, else as the first run does that defines it (*own: the run itself); NULL: none does. */
const struct afperf_measure *afperf_find_measure(const struct afperf_model *model, uint64_t id, uint32_t run,
                                                 bool *own);

/* Reads a record once more. 1; 0: there is none any more; -1: *error filled. */
int afperf_read_again(struct afperf_reader *reader, uint64_t offset, uint64_t line,
                      struct afperf_record *record, struct afperf_decoded *decoded, struct pf_error *error);

/* ---- the steps, in order ------------------------------------------------------------------------ */

/* Each: 0, or -1 with *error filled. */
int afperf_read(struct afperf_model *model, struct pf_error *error);
int afperf_resolve_names(struct afperf_model *model, struct pf_error *error);
int afperf_pair_stops(struct afperf_model *model, struct pf_error *error);
int afperf_number_intervals(struct afperf_model *model, struct pf_error *error);
int afperf_find_targets(struct afperf_model *model, struct pf_error *error);
int afperf_number_runs(struct afperf_model *model, struct pf_error *error);
int afperf_check_data(struct afperf_model *model, struct pf_error *error);
int afperf_nest(struct afperf_model *model, struct pf_error *error);

/* ---- parts of steps ----------------------------------------------------------------------------- */

/* Adds to the values of a context in a run, which are made run by run. 0, or -1 with *error filled. */
int afperf_add_values(struct afperf_model *model, uint32_t run, uint32_t context,
                      const pf_int128 values[AFPERF_METRICS], struct pf_error *error);

/* Adds the times of a run's sections. 0, or -1 with *error filled. */
int afperf_time_sections(struct afperf_model *model, uint32_t run, struct pf_error *error);

/*
 * Nests the regions of a run, which overlap, by their times alone: puts them in an order in which parents come before their
 * children and siblings by their start, and sets parents and missing stops. 0, or -1 with *error filled.
 */
int afperf_nest_by_geometry(struct afperf_model *model, uint32_t run, uint32_t *regions, size_t n,
                            struct pf_error *error);

#endif
