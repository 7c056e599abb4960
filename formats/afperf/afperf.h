/* SPDX-License-Identifier: MIT */
#ifndef PF_AFPERF_H
#define PF_AFPERF_H

#include "formats/afperf/decode.h"
#include "formats/driver_extra.h"
#include "formats/kit/sorter.h"
#include "formats/kit/store.h"
#include "formats/kit/strings.h"
#include "formats/kit/tree.h"
#include "formats/runtime/run.h"
#include "formats/runtime/stored.h"
#include "formats/runtime/sums.h"

/*
 * AFPerf files. A file consists of records in any order, which refer to each other by ids across the whole file. A run has regions, which
 * nest, and sections, which have intervals. The source files; each depends only on those listed before it:
 *
 *   reader.c     bytes -> records and their fields
 *   number.c     fields -> numbers
 *   decode.c     fields -> the meaning of a record
 *   model.c      memory, warnings, ids as text, ticks paused in a run
 *   read.c       the pass over the file: definitions, references, pauses -> memory; starts, stops, data -> model->events
 *   names.c      resolves references to runs and sections
 *   match.c      finds the start of each stop, and the region or interval of data; result: one link per event
 *   targets.c    events and links -> ends of runs, the owner of each data record, types of values
 *   stack.c      open regions -> contexts, times of regions, sums
 *   sections.c   intervals of sections -> times
 *   geometry.c   nests regions that overlap, by their times only
 *   nest.c       events and links of a run, by time -> contexts, times of regions, the trace
 *   rows.c       fills the tables other than values, trace and measurements
 *   cursors.c    tables with cursors: trace, measurements
 *   afperf.c     the driver
 *
 * The following are held in memory: runs, sections, types, pauses, references and contexts; open regions and intervals; stops and data
 * whose start has not been found yet. All other data are in stores and sorters, which spill to disk. Each step passes once over the events,
 * in the order that it needs.
 */
#define AFPERF_NONE UINT32_MAX

/* ---- runs --------------------------------------------------------------------------------------- */

/* A pause of a run: a PauseResume record, or several merged ones. */
struct afperf_pause {
    uint64_t start, stop;
    uint64_t before; /* ticks paused in this run before this pause */
    uint32_t run;    /* reference of the run; from afperf_number_runs on, its index in model->runs */
};

/* The kinds of objects that a struct afperf_ref stands for. */
enum afperf_thing { AFPERF_RUNS, AFPERF_SECTIONS, AFPERF_THINGS };

/* The first member of struct afperf_run and struct afperf_section. */
struct afperf_object {
    uint64_t offset, line; /* of its definition; if implicit, of the first record that needs it */
    struct afperf_id id;
    bool implicit;   /* no record defines it */
    uint32_t tags;   /* string of model->strings */
    uint32_t number; /* index before sorting; for put_in_file_order only */
};

struct afperf_run {
    struct afperf_object is;
    uint64_t start, end; /* in ticks; implicit runs have no start */
    uint32_t units, wallclock, version, application, application_version; /* strings of model->strings */
    bool geometry;        /* its regions overlap, so geometry.c nests them */
    uint64_t nanoseconds; /* length of a tick; 1 if unknown */

    size_t pauses, n_pauses;              /* range in model->pauses */
    uint64_t events, n_events, n_regions; /* range in TIMELINE; number of regions in this range */
    uint32_t first_section;               /* its first section; AFPERF_NONE: it has no sections */
};

/*
 * A reference stands for the run or section that records name. All records of a segment that name a run by the same id share a reference.
 * Records that name a section by the same id share a reference until a further SectionInfo defines this id. References are resolved to
 * objects after the whole file has been read. Reference 0 of runs is the current run before any record has named a run.
 */
struct afperf_ref {
    struct afperf_id id;
    uint32_t segment;
    bool defined;          /* a RunInfo or SectionInfo of the segment defines it */
    bool maybe;            /* the id is run_or_time of a SectionInfo (decode.h): a timestamp if no run has this id */
    uint32_t object;       /* the run or section that it is resolved to, or AFPERF_NONE */
    uint64_t offset, line; /* of the first record that needs it; line 0: no record needs it */
    uint32_t current;      /* reference of the run that is current at that record */
};

/* An explicit or implicit definition of an id. */
struct afperf_meaning {
    uint64_t id, offset; /* `offset` is that of the definition */
    uint32_t ref;        /* the reference that it defines */
};

struct afperf_names {
    struct afperf_ref *refs;
    size_t n, room;
    struct afperf_meaning *meanings; /* the definitions of ids, sorted by id, then offset */
    size_t n_meanings;
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

/* A measurement type, which combines all definitions of an id that belong to one run. */
struct afperf_measure {
    uint64_t id;
    uint32_t run; /* reference of the run; from afperf_number_runs on, its index in model->runs */
    struct {
        uint32_t text; /* string of model->strings, or PF_NO_STRING */
        uint64_t line; /* line of the definition that set the text */
    } fields[AFPERF_TYPE_FIELDS];
    uint64_t line, definitions; /* line of the last definition, and number of definitions */
    enum afperf_datatype datatype;
};

/* ---- sections ----------------------------------------------------------------------------------- */

struct afperf_section {
    struct afperf_object is;
    uint32_t ref;   /* reference of its run */
    uint32_t label; /* string of model->strings */
    uint32_t context;
    uint32_t first, count;         /* its intervals have the numbers first to first + count - 1 */
    pf_int128 total, total_net;    /* ticks of all intervals; total_net excludes the run's pauses */
    uint64_t covered, covered_net; /* ticks that some interval covers; covered_net excludes pauses */
    uint32_t next;                 /* next section of the run, or AFPERF_NONE */
};

/* ---- metrics ------------------------------------------------------------------------------------ */

enum { AFPERF_CALLS, AFPERF_TIME, AFPERF_TIME_INC, AFPERF_TIME_NET, AFPERF_TIME_NET_INC, AFPERF_METRICS };

/* Sums of a context in the run that is being nested. */
struct afperf_sums {
    pf_int128 values[AFPERF_METRICS]; /* calls and ticks; sections have no exclusive ticks */
    bool used;                        /* something has been added */
};

enum { AFPERF_KIND_REGION, AFPERF_KIND_SECTION };

/* ---- events ------------------------------------------------------------------------------------- */

enum afperf_event_kind {
    AFPERF_EVENT_REGION_START,
    AFPERF_EVENT_REGION_STOP,
    AFPERF_EVENT_INTERVAL_START,
    AFPERF_EVENT_INTERVAL_STOP,
    AFPERF_EVENT_PAUSE, /* PAUSE and RESUME occur in the timeline only */
    AFPERF_EVENT_RESUME,
    AFPERF_EVENT_DATA, /* only in model->events */
};

/* A start, a stop or a data record. model->events has them in file order. */
struct afperf_event {
    uint64_t offset, line; /* of the record */
    uint64_t time;         /* time of the event; of data, the last timestamp of the record */
    uint64_t id;           /* id of the region or interval; of data, id of the region, section or run */
    uint64_t other;        /* tags of a region that starts, see afperf_tags; of data, id of the interval */
    uint32_t owner;        /* reference of the run; in an event of an interval, reference of the section */
    uint32_t label;        /* label of a region that starts, a string of the tree or PF_NO_STRING */
    uint8_t kind, type;    /* enum afperf_event_kind; of data, enum afperf_type */
    bool id_given, other_given;
    bool processed; /* only of data: the record has an aggregation type */
    bool apart;     /* only of data: no start or stop is between the last RunInfo, or the file's start, and this record */
};

enum { AFPERF_NUMBERS_MAX = (1 << 28) - 1 };
#define AFPERF_EVENTS_MAX UINT32_MAX /* a macro, because enumerators are of type int */

enum afperf_found { AFPERF_NOT_FOUND, AFPERF_STOPPED_ALREADY, AFPERF_FOUND };

/*
 * The link of an event to its counterpart. The counterpart of a start is its stop. The counterpart of a stop or of data
 * is the start. Regions and intervals are numbered in the order of the rows of "regions" and "intervals".
 */
struct afperf_link {
    uint64_t time;   /* time of the counterpart */
    uint32_t number; /* number of the region or interval */
    uint32_t owner;  /* `owner` of the start's struct afperf_event */
    uint32_t index;  /* index of the counterpart in model->events */
    uint32_t found;  /* enum afperf_found */
};

/* A link as a record of a sorter. In sorted order, the links become model->links. */
struct afperf_link_record {
    uint64_t index; /* of the event */
    struct afperf_link link;
};

/* An event of a run's timeline, which is sorted by time. The start of a region comes before its stop, even if both have the same time. */
struct afperf_moment {
    uint64_t run, time;
    uint64_t stop;        /* start of a region: time of its stop, if it is closed */
    uint64_t tags;        /* start of a region: its tags, see afperf_tags */
    uint32_t name;        /* start of a region: string of the tree */
    uint32_t number : 28; /* number of the region, or of the interval's section */
    uint32_t kind : 3;    /* enum afperf_event_kind */
    uint32_t closed : 1;  /* start of a region: the file has its stop */
};

/* The result of nesting a region. */
struct afperf_nested {
    uint64_t number;          /* number of the region */
    uint32_t context, parent; /* `parent` is the number of a region, or AFPERF_NONE */
    uint64_t stop, exclusive, exclusive_net, overlaps; /* `overlaps` is as in struct afperf_open */
};

/* A row of the table "intervals". */
struct afperf_interval {
    uint64_t row, start, stop, id, line;
    uint32_t section;
    bool closed, id_given;
};

/* The kind of a data record's owner. RUN_REGIONS is all regions of a run, RUN_SECTIONS all its sections, and ORPHAN an unknown owner. */
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
    uint32_t run;              /* reference of the run */
    uint32_t object, interval; /* numbers of the region or section, and of the interval; AFPERF_NONE: none */
};

/* ---- the model ---------------------------------------------------------------------------------- */

/* The tables. rows.c fills those from FIRST_STORED on. */
enum afperf_table {
    VALUES,
    TRACE,
    MEASUREMENTS,
    REGIONS,
    FIRST_STORED = REGIONS,
    INTERVALS,
    TAGS,
    TYPES,
    SECTIONS,
    PAUSES,
    TABLES
};

/*
 * Stores that outlive the pass. They hold, in this order: the text of tags (see afperf_tags), the moments, the context
 * of each region, and the target of each data record.
 */
enum afperf_store { TAG_TEXTS, TIMELINE, CONTEXTS, TARGETS, STORES };

struct afperf_model {
    struct pf_run *run;       /* of the pass; later invalid */
    struct pf_model *profile; /* its partitions, contexts and warnings are filled by the pass */
    struct pf_input *input;
    uint64_t limit; /* maximum memory of each store and sorter, in bytes */

    struct pf_strings *strings;
    struct pf_tree *tree; /* of the profile */

    struct afperf_names names[AFPERF_THINGS];
    struct afperf_run *runs;         /* in file order */
    struct afperf_measure *measures; /* sorted by id, then run, once runs are resolved */
    struct afperf_section *sections; /* in file order */
    /* A segment begins at a version header, since files may be concatenated. Ids refer to objects of their own segment first. */
    struct afperf_segment {
        uint64_t offset; /* of its header */
        uint64_t events; /* number of events before it */
    } * segments;
    struct afperf_pause *pauses; /* sorted by run, then start, once runs are resolved */
    size_t n_runs, n_measures, n_sections, n_segments, n_pauses;
    size_t runs_room, measures_room, sections_room, segments_room, pauses_room;

    /* Valid during the pass only; `run` owns them. */
    struct pf_store *events, *links;     /* struct afperf_event, and for each a struct afperf_link */
    struct pf_sorter *nested;            /* struct afperf_nested, one per region, by number */
    struct pf_sorter *intervals;         /* struct afperf_interval, by row */
    struct pf_sorter *covers;            /* intervals by section and start, see sections.c */
    PF_LIST(struct afperf_sums) sums_of; /* by context */
    PF_LIST(uint32_t) touched;           /* contexts to which something has been added */

    struct pf_store *stores[STORES];
    struct pf_table tables[TABLES];
    struct pf_sums *values;
    struct pf_stored *stored[TABLES]; /* of REGIONS, INTERVALS, TAGS */
    struct pf_rows *rows[TABLES];     /* of TYPES, SECTIONS, PAUSES */
    struct pf_model_extra extra;
};

/*
 * The functions that take a non-const model belong to the pass. One thread calls them, and a failure ends model->run (run.h). After the
 * pass, the model is immutable, and cursors call only the other functions.
 */

/* ---- model.c ------------------------------------------------------------------------------------ */

/*
 * Makes room for item number `count` of an array that the model owns. `items` is the address of the pointer to the
 * array, `size` the size of an item. Fails if `count` is AFPERF_NUMBERS_MAX or more.
 */
void afperf_grow(struct afperf_model *model, void *items, size_t count, size_t *room, size_t size);
#define AFPERF_GROW(model, name)                                                                             \
    afperf_grow((model), &(model)->name, (model)->n_##name, &(model)->name##_room, sizeof *(model)->name)

/* Intern a text, and return its number: afperf_keep in model->strings, afperf_name in the tree's strings. */
uint32_t afperf_keep(struct afperf_model *model, struct afperf_text text);
uint32_t afperf_name(struct afperf_model *model, const char *text, size_t size);

/* Adds a warning about the record at this offset and line. */
void afperf_note(struct afperf_model *model, enum afperf_problem problem, uint64_t offset, uint64_t line);

/* Creates a store; model->run owns it. */
struct pf_store *afperf_new_store(struct afperf_model *model);
/* Creates a sorter of records of `size` bytes by their first `keys` words of 64 bits. model->run owns it. */
struct pf_sorter *afperf_new_sorter(struct afperf_model *model, size_t size, unsigned keys);

/* Appends an item of `size` bytes to a store. */
void afperf_append(struct afperf_model *model, struct pf_store *store, const void *item, size_t size);
/* Adds a record to a sorter. */
void afperf_sort(struct afperf_model *model, struct pf_sorter *sorter, const void *record);

/*
 * Copies item number `index` to *item. The items of the window's store have `size` bytes each. Calls pf_pass_check
 * first, as afperf_sorted does.
 */
void afperf_item(struct afperf_model *model, struct pf_store_window *window, uint64_t index, void *item,
                 size_t size);

/* Creates a window on a store. model->run frees it. */
struct pf_store_window *afperf_window(struct afperf_model *model, const struct pf_store *store);

/* Returns the next record of a sorter; NULL at the end. */
const void *afperf_sorted(struct afperf_model *model, struct pf_sorter *sorter);

/* Marks a reference as needed, and records the earliest record that needs it. */
static inline void afperf_need(struct afperf_ref *ref, uint64_t offset, uint64_t line)
{
    if (ref->line && ref->line <= line)
        return;
    ref->line = line;
    ref->offset = offset;
}

/* Returns the index in model->runs that reference `ref` resolves to. */
static inline uint32_t afperf_run_of(const struct afperf_model *model, uint32_t ref)
{
    return model->names[AFPERF_RUNS].refs[ref].object;
}

static inline uint32_t afperf_run_of_section(const struct afperf_model *model, uint32_t section)
{
    return afperf_run_of(model, model->sections[section].ref);
}

/* Returns for how many ticks the run is paused between start and stop. */
uint64_t afperf_paused(const struct afperf_model *model, uint32_t run, uint64_t start, uint64_t stop);

/* Size of the buffer for an id in hexadecimal: 0x, 16 digits and a NUL. */
enum { AFPERF_HEX = 19 };
/* Writes an id in hexadecimal to `text`, a buffer of AFPERF_HEX bytes. Returns the length. */
size_t afperf_hex(uint64_t id, char *text);

/* Returns an id as a cell that borrows `text`, a buffer of AFPERF_HEX bytes; absent if the id is not given. */
struct pf_cell afperf_id_cell(bool given, uint64_t id, char *text);

/* Returns a string of model->strings as a cell; absent if it is empty. */
struct pf_cell afperf_text_cell(const struct afperf_model *model, uint32_t string);

/* Returns a non-negative number as a cell. If it exceeds 64 bits, the cell borrows *value. */
static inline struct pf_cell afperf_wide_cell(const pf_int128 *value)
{
    return *value <= UINT64_MAX ? pf_uint((uint64_t)*value) : pf_wide(value);
}

/*
 * The tags of a region are a range of the store TAG_TEXTS, given as one number. The low AFPERF_TAGS_BITS bits of the
 * number are the range's size, and the bits above are its offset. The number 0 means that there are no tags. The size
 * fits, since a record of 1 MiB has at most 3 MiB of text once invalid bytes are replaced.
 */
enum { AFPERF_TAGS_BITS = 22 };

/* Sets *cell to the tags, borrowed from the window; absent if there are none. Returns 0, or -1 with *error filled. */
int afperf_tags(struct pf_store_window *window, uint64_t tags, struct pf_cell *cell, struct pf_error *error);

/* ---- the steps of the pass, in order ------------------------------------------------------------ */

void afperf_read(struct afperf_model *model);
void afperf_resolve_names(struct afperf_model *model);
void afperf_match(struct afperf_model *model, struct pf_sorter *links);
void afperf_find_targets(struct afperf_model *model, struct pf_sorter *links);
void afperf_number_runs(struct afperf_model *model);
void afperf_check_data(struct afperf_model *model);
void afperf_nest(struct afperf_model *model);
void afperf_fill_rows(struct afperf_model *model);

/* ---- names.c ------------------------------------------------------------------------------------ */

/*
 * Returns the reference that an id means at a file offset, or AFPERF_NONE if nothing defines the id. The id means the
 * last definition before the offset in the same segment, else the first one after it in the same segment, else the last
 * one before it, else the first one after it.
 */
uint32_t afperf_find(const struct afperf_model *model, enum afperf_thing thing, uint64_t id, uint64_t offset);

/*
 * Returns the last segment that begins neither after file offset `offset` nor after event number `event`. If there is
 * none, returns the first segment.
 */
size_t afperf_segment(const struct afperf_model *model, uint64_t offset, uint64_t event);

/* ---- match.c ------------------------------------------------------------------------------------ */

/* A pass over the events in file order. It is before the first event if all members but `model` are zero. */
struct afperf_walk {
    struct afperf_model *model;
    struct pf_store_window *events, *links;
    uint64_t next; /* index of the next event */
    struct afperf_event event;
    struct afperf_link link; /* set after afperf_find_targets */
};
/* Goes to the next event. Returns false at the end. */
bool afperf_walk(struct afperf_walk *walk);

/*
 * Returns the section that `data` belong to: the one with their id or, if they have no id and are not apart, the section of `block`, the
 * last start or stop before them. Returns AFPERF_NONE if there is no such section.
 */
uint32_t afperf_section_of(const struct afperf_model *model, const struct afperf_event *data,
                           const struct afperf_event *block);

/* ---- targets.c ---------------------------------------------------------------------------------- */

/*
 * Returns the measurement type `id` of `run`, and sets *own to true. If the run does not define the id, sets *own to
 * false, and returns the type of the first run that does, or NULL if none does.
 */
const struct afperf_measure *afperf_find_measure(const struct afperf_model *model, uint64_t id, uint32_t run,
                                                 bool *own);

/* Reads the record at an offset again. Returns 1; 0 if there is no record any more; -1 with *error filled. */
int afperf_read_again(struct afperf_reader *reader, uint64_t offset, uint64_t line,
                      struct afperf_record *record, struct afperf_decoded *decoded, struct pf_error *error);

/* ---- stack.c ------------------------------------------------------------------------------------ */

/* A region of a run, while it is open. */
struct afperf_open {
    uint64_t start, stop;          /* `stop` is set once it is known */
    uint64_t covered, covered_net; /* ticks that the children cover; covered_net excludes the run's pauses */
    uint64_t covered_to;           /* end of the part that the children cover */
    uint32_t number, name, context;
    uint32_t overlaps; /* number of regions that started before this one and stop inside it */
    bool closed;       /* the file has its stop */
};

struct afperf_stack {
    struct afperf_model *model;
    uint32_t run;
    PF_LIST(struct afperf_open) open;
};

/* Pushes a region onto the stack. Its context is the child of its parent's context with the region's name. */
void afperf_enter(struct afperf_stack *stack, const struct afperf_open *region);

/*
 * Pops the region at the top of the stack. The region's `stop` must be set. Adds the region's times to the sums of its context
 * and to the covered ticks of its parent. Adds a struct afperf_nested to model->nested. Siblings must be popped in the order of
 * their starts.
 */
void afperf_leave(struct afperf_stack *stack);

/* Like pf_tree_child in model->tree. A failure ends the run. */
uint32_t afperf_context(struct afperf_model *model, uint32_t parent, uint32_t key, uint32_t name,
                        uint8_t kind, uint8_t flags);

/* Adds to the sums of a context in the run that is being nested. */
void afperf_add(struct afperf_model *model, uint32_t context, const pf_int128 values[AFPERF_METRICS]);

/* Moves the sums of all contexts to model->values, as values of this run. */
void afperf_end_sums(struct afperf_model *model, uint32_t run);

/* ---- sections.c --------------------------------------------------------------------------------- */

/*
 * afperf_begin_intervals creates the sorters model->intervals and model->covers. afperf_sort_interval adds the interval that starts at the
 * walk's event to both sorters. An interval without stop ends with the run.
 */
void afperf_begin_intervals(struct afperf_model *model);
void afperf_sort_interval(struct afperf_model *model, const struct afperf_walk *walk);

/* Sums up the intervals of all sections. Afterwards, model->intervals yields the intervals in the order of their rows. */
void afperf_time_intervals(struct afperf_model *model);

/* Creates the contexts of a run's sections, and adds the times of the sections to them. */
void afperf_time_sections(struct afperf_model *model, uint32_t run);

/* ---- geometry.c --------------------------------------------------------------------------------- */

/*
 * Returns a sorter that yields the regions of all runs whose `geometry` is set, by run and start. A region without stop gets a computed
 * one.
 */
struct pf_sorter *afperf_sort_extents(struct afperf_model *model);

/* Nests the regions of the stack's run by their times only. They must be the next records that `extents` yields. */
void afperf_nest_by_geometry(struct afperf_stack *stack, struct pf_sorter *extents);

/* ---- rows.c, cursors.c -------------------------------------------------------------------------- */

/* Initialises the columns of a struct pf_table with the array `list`. */
#define AFPERF_COLUMNS(list) .columns = list, .n_columns = sizeof list / sizeof *list

/* The tables that rows.c fills (from FIRST_STORED on), and the columns of runs. */
extern const struct pf_table afperf_row_tables[TABLES];
extern const struct pf_column afperf_run_columns[];
extern const size_t afperf_n_run_columns;

extern const struct pf_table afperf_trace_table, afperf_measurements_table;

#endif
