/* SPDX-License-Identifier: MIT */
#ifndef PF_BUILD_H
#define PF_BUILD_H

#include "formats/input/linereader.h"
#include "formats/kit/ids.h"
#include "formats/kit/slice.h"
#include "formats/runtime/run.h"
#include "formats/runtime/stored.h"
#include "formats/runtime/sums.h"

/*
 * Builds a model from one pass over a file. The driver adds names, contexts, partitions, metrics, values and rows while it reads. The
 * builder sums the values by partition, context and metric, and makes the table "values" from the sums. Values are exclusive unless the
 * metric has another scope.
 *
 *     static void read_line(struct pf_build *build, const struct pf_line *line)
 *     {
 *         uint32_t context = pf_build_call(build, PF_NO_CONTEXT, line->text, line->size);
 *         pf_build_add(build, 0, context, 0, pf_int(1));
 *     }
 *     static const struct pf_metric metrics[] = {PF_EXCLUSIVE(0, "lines", "", "int")};
 *     static const struct pf_build_format format = {.metrics = metrics, .n_metrics = 1, .line = read_line};
 *     const struct pf_driver pf_lines_driver = {..., .kit = &format, PF_BUILD_OPERATIONS};
 *
 * A driver has PF_BUILD_OPERATIONS and a struct pf_build_format as its .kit; model->state is the struct pf_build. The format's
 * functions run in a struct pf_run (run.h): on failure they jump out instead of returning an error, and the run frees the memory it owns
 * at its end. Functions that take a struct pf_build may be called only from the format's functions, on the same thread. Once loaded, the
 * model is immutable.
 */
struct pf_build;
struct pf_build_format {
    size_t state; /* size of the driver's own struct, build->state, zeroed before `open`; 0: none */
    bool folder;  /* the source is a directory: build->input is NULL */
    const char *const *kinds;      /* of contexts, see struct pf_tree; NULL: only "function" */
    const char *singular, *plural; /* names of the partitions' axis; NULL: "thread", "threads" */
    /* Further columns of the partitions' table, of role PF_PLAIN or PF_GROUP; at most PF_BUILD_FIELDS. */
    const struct pf_column *fields;
    size_t n_fields;
    /*
     * The format has partitions. If this is false, or if there is no `list` and `read` adds no partitions, the model
     * has a single partition, "all".
     */
    bool partitioned;
    bool without_all;                /* if `read` adds no partitions, the model has none, not even "all" */
    bool zeros;                      /* sums that are 0 are kept as values */
    const struct pf_metric *metrics; /* NULL: `read` adds them */
    size_t n_metrics;
    /*
     * The format's own tables, at most PF_BUILD_TABLES, in addition to "values" and "trace". `read` adds their rows. The rows of a table
     * without ops are held in memory; the rows of a table with pf_stored_cursor.ops may exceed memory. Other ops read the driver's own
     * data.
     */
    const struct pf_table *tables;
    size_t n_tables;
    const char *time_unit; /* of the column `time` of the table "trace"; NULL: no such table */
    bool phased;           /* "trace" has a column `phase` */
    /* Optional: fills the parts of the model that the start of the file holds (PF_OPENED). */
    void (*open)(struct pf_build *build);
    /* Optional, for formats whose partitions a short pass can list: adds the partitions (PF_PARTITIONED). */
    void (*list)(struct pf_build *build);
    /* The pass over the file. If NULL, the pass calls `line` for each line. */
    void (*read)(struct pf_build *build);
    void (*line)(struct pf_build *build, const struct pf_line *line);
    /*
     * Optional: frees the memory that the driver's struct still owns after the pass. Called when the model is closed and after a failed
     * pass. After a failed pass, the struct is then reset to its contents at the end of `open`. If `read` fails after `list` has
     * succeeded, the struct is neither cleared nor reset.
     */
    void (*clear)(struct pf_build *build);
};

enum { PF_BUILD_TABLES = 8, PF_BUILD_FIELDS = 16 };

/* Initialises an exclusive metric that can be summed over all contexts and partitions. `index` is also its id. */
#define PF_EXCLUSIVE(index, called, of_unit, of_type)                                                        \
    {                                                                                                        \
        .id = (index), .name = (called), .unit = (of_unit), .scope = "exclusive", .type = (of_type),         \
        .description = "", .partner = PF_NO_PARTNER                                                          \
    }

struct pf_build {
    struct pf_run *run; /* not NULL while one of the format's functions runs */
    struct pf_model *model;
    const struct pf_build_format *format;
    void *state;               /* the driver's own struct */
    struct pf_input *input;    /* the file, unpacked if it is compressed */
    struct pf_sums *sums;      /* the sums of the values */
    struct pf_stored *trace;   /* rows of "trace" */
    struct pf_metric *metrics; /* the metrics that `read` adds */
    size_t n_metrics, metrics_room;
    bool more_metrics;       /* `read` added more than PF_BUILD_METRICS; a warning was added */
    struct pf_table *tables; /* "values", "trace", then the format's own */
    struct pf_column values[PF_SUMS_COLUMNS];
    void *opened;                              /* a copy of the driver's struct as it was after `open` */
    uint64_t memory;                           /* run->memory after `list` */
    struct pf_rows *rows[PF_BUILD_TABLES];     /* of the format's own table i, if it has no ops */
    struct pf_stored *stored[PF_BUILD_TABLES]; /* of table i, if it has pf_stored_cursor.ops */

    /* During a pass. */
    struct pf_linereader *lines;
    struct pf_strings *partitions; /* names; a name's number is the partition's index */
    struct pf_strings *frames;     /* pool of frames; each string has the bytes of a struct pf_frame */
    struct pf_met_frame *met;      /* cache of the frames looked up last, by name */
    struct pf_ids metric_of;       /* number of a metric's name -> the metric's index */
};

/* Implement `open`, `load` and `close` of struct pf_driver. */
int pf_build_open(struct pf_model *model, struct pf_error *error);
int pf_build_load(struct pf_model *model, enum pf_stage stage, struct pf_error *error);
void pf_build_close(struct pf_model *model);
/* Like pf_build_open, but reads `input` (borrowed), which is another file of the source. */
int pf_build_open_input(struct pf_model *model, struct pf_input *input, struct pf_error *error);
#define PF_BUILD_OPERATIONS .open = pf_build_open, .load = pf_build_load, .close = pf_build_close

/* Returns the driver's own struct (pf_build_format.state) of a model that pf_build_open opened. */
static inline void *pf_build_state(const struct pf_model *model)
{
    return ((const struct pf_build *)model->state)->state;
}

/* ---- passing over the file ---------------------------------------------------------------------- */

/* Reads up to `size` bytes of the file at an offset. Returns their number, which is smaller only at the end of the file. */
size_t pf_build_peek(struct pf_build *build, void *bytes, size_t size, uint64_t offset);

/* Reports to the thread's pass that an offset of the input has been reached. Fails if the pass is cancelled. */
void pf_build_step(struct pf_build *build, uint64_t offset);

/*
 * Calls `take` for each line of the file. Ends early, with the fatal warning `too-large`, if pf_run_is_full. Lines of up to 64 MB are
 * passed in one piece (see pf_linereader_whole).
 */
void pf_build_lines(struct pf_build *build, void (*take)(struct pf_build *build, const struct pf_line *line));

/* Returns true if this is the last line of the file and has no line feed. Called by `take` only. */
bool pf_build_line_is_open(const struct pf_build *build, const struct pf_line *line);

/* Adds the fatal warning `too-large` at an offset in bytes (-1: unknown). */
void pf_build_warn_of_full(struct pf_build *build, int64_t offset);

/* ---- what a format adds ------------------------------------------------------------------------- */

/* Adds a row to warnings.csv: line (0: unknown), offset in bytes (-1: unknown), severity, code, a printf format and its arguments. */
#define pf_build_warn(build, line, offset, severity, code, ...)                                              \
    pf_run_warn((build)->run, (severity), (code), (line), (offset), __VA_ARGS__)

/* Adds a line to info.txt unless the text is empty. */
void pf_build_info(struct pf_build *build, const char *key, struct pf_slice text);

/*
 * Adds a row to the format's own table number `table`. In a table with pf_stored_cursor.ops, cells may be made by
 * pf_name.
 */
void pf_build_row(struct pf_build *build, size_t table, const struct pf_cell *cells);

/*
 * Like pf_intern, for a pool of the driver: returns the number of these bytes, and adds them if they are new. Fails if
 * memory runs out.
 */
uint32_t pf_build_intern(struct pf_build *build, struct pf_strings *strings, const void *bytes, size_t size);

/*
 * pf_build_name and pf_build_slice return the number of a name and add the name if it is new. pf_build_named returns
 * the name.
 */
uint32_t pf_build_name(struct pf_build *build, const char *text, size_t size);
static inline uint32_t pf_build_slice(struct pf_build *build, struct pf_slice text)
{
    return pf_build_name(build, text.at, pf_size(text));
}
static inline struct pf_cell pf_build_named(const struct pf_build *build, uint32_t name)
{
    return pf_interned(build->model->contexts->strings, name);
}

/*
 * Returns the index of the partition of this name. If there is none, adds one with these `fields` (NULL: all absent).
 */
#define PF_NO_PARTITION UINT32_MAX
uint32_t pf_build_partition(struct pf_build *build, const char *name, size_t size,
                            const struct pf_cell *fields);

/* Adds a partition. While the name is taken, appends `~` and the partition's index to it: `name~3`. Returns the index. */
uint32_t pf_build_own_partition(struct pf_build *build, const char *name, size_t size,
                                const struct pf_cell *fields);

/* Returns the number of partitions added so far. */
uint32_t pf_build_partitions(const struct pf_build *build);

/*
 * Returns the index of the metric of this name. A new one is added as PF_EXCLUSIVE of type "int"; it is marked empty until
 * pf_build_add adds a value other than 0. `read` may change build->metrics[index], except the name. `unit` is borrowed.
 *
 * A profile has at most PF_BUILD_METRICS metrics. For further ones the function returns PF_NO_METRIC and adds a warning once.
 * build->metrics[PF_NO_METRIC] is then a valid spare item that is not served, so drivers may use it like any other index.
 */
enum { PF_BUILD_METRICS = 4096, PF_NO_METRIC = PF_BUILD_METRICS };
uint32_t pf_build_metric(struct pf_build *build, const char *name, size_t size, const char *unit);

/* Returns the index of the metric of this name, or PF_NO_METRIC. */
uint32_t pf_build_find_metric(const struct pf_build *build, const char *name, size_t size);

/*
 * Returns the context of this name below `parent` (PF_NO_CONTEXT: a root), adding it if it is new. A format uses either this function or
 * pf_build_enter, not both: contexts are identified by the number of a name here, by the number of a frame there.
 */
uint32_t pf_build_call(struct pf_build *build, uint32_t parent, const char *name, size_t size);

/* The fields of a context in contexts.csv. Siblings that differ in any of them are different contexts. */
struct pf_frame {
    uint32_t name, file, module; /* numbers of names; PF_NO_STRING: none */
    uint32_t line;               /* 0: none */
    uint32_t kind;               /* index into the format's kinds */
    uint32_t apart;              /* not shown: distinguishes frames that are otherwise equal */
};

/*
 * Return the number of a frame, adding it if it is new; pf_build_named_frame makes a frame with only a name. The number is valid until
 * the pass ends and may be used for any number of contexts.
 */
uint32_t pf_build_frame(struct pf_build *build, const struct pf_frame *frame);
uint32_t pf_build_named_frame(struct pf_build *build, const char *name, size_t size);
/* Returns a copy of the frame with this number. */
struct pf_frame pf_build_frame_at(const struct pf_build *build, uint32_t frame);

/*
 * Maps a function name to its file if all functions of that name are in one file. Drivers show no file for other names,
 * because most tools treat functions of one name as one function and count recursion between them once, while
 * functions.csv has a row per name and file.
 */
struct pf_build_files {
    /* Indexed by name: the file + 1. UINT32_MAX: several files, or a function without a file. 0: no such function. */
    PF_LIST(uint32_t) of;
};
/* Adds a function (file PF_NO_STRING: unknown). The list is freed at the end of the pass. */
void pf_build_add_file(struct pf_build *build, struct pf_build_files *files, uint32_t name, uint32_t file);
/* Returns the file of a function name, or PF_NO_STRING if it is unknown or ambiguous. */
uint32_t pf_build_file_of(const struct pf_build_files *files, uint32_t name);

/* Like pf_build_call, for a frame: returns the context below `parent`, adding it if it is new. */
uint32_t pf_build_enter(struct pf_build *build, uint32_t parent, uint32_t frame);

/* Like pf_build_call, for formats with keys of their own: siblings are distinguished by `key` only (see pf_tree_child). */
uint32_t pf_build_child(struct pf_build *build, uint32_t parent, uint32_t key, uint32_t name, uint32_t kind);

/* Adds the number in a cell of any numeric type to the sum of a partition, context and metric. No-op for PF_NO_METRIC. */
void pf_build_add(struct pf_build *build, uint32_t partition, uint32_t context, uint32_t metric,
                  struct pf_cell value);

/* A row of the table "trace". Times are in the format's time_unit, in cells of any numeric type. */
struct pf_span_row {
    uint32_t thread, context; /* context PF_NO_CONTEXT: the row is not part of a stack, and context and depth are absent */
    uint32_t name;            /* number of a name */
    char phase;               /* if the table has that column */
    struct pf_cell time, duration;
};

/* Adds a row to the table "trace". Rows are added thread by thread, in the threads' order. Returns the row's number. */
uint64_t pf_build_span(struct pf_build *build, const struct pf_span_row *span);

/* Like pf_build_span, for a row that has the name of its context. */
uint64_t pf_build_stay(struct pf_build *build, uint32_t thread, uint32_t context, struct pf_cell time,
                       struct pf_cell duration);

/* Sets the duration of the row `number` of the table "trace". */
void pf_build_lasts(struct pf_build *build, uint64_t number, struct pf_cell duration);

#endif
