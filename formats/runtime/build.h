/* SPDX-License-Identifier: MIT */
#ifndef PF_BUILD_H
#define PF_BUILD_H

#include "formats/input/linereader.h"
#include "formats/kit/ids.h"
#include "formats/kit/slice.h"
#include "formats/kit/stored.h"
#include "formats/kit/sums.h"
#include "formats/runtime/run.h"

/*
 * Builds a model from one pass over a file. The driver adds names, contexts, partitions, metrics, values and rows as it reads of them;
 * values are summed up, and the table "values" is made from the sums. Values are exclusive unless their metric says otherwise.
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
 * A driver has PF_BUILD_OPERATIONS and a struct pf_build_format as its .kit; model->state is the struct pf_build. Its functions run
 * in a struct pf_run (run.h): they do not fail to their caller, and what they own is freed at the end. What a pass has built is
 * immutable once `read` has returned.
 */
struct pf_build;
struct pf_build_format {
    size_t state; /* size of the driver's own struct, build->state, zeroed before `open`; 0: none */
    bool folder;  /* the source is one: build->input is NULL */
    const char *const *kinds;      /* of contexts, see struct pf_tree; NULL: "function" alone */
    const char *singular, *plural; /* what partitions are called; NULL: "thread", "threads" */
    const struct pf_column
        *fields; /* of partitions: identity columns, roles PF_PLAIN, PF_BUILD_FIELDS at most */
    size_t n_fields;
    bool
        partitioned; /* the file tells of partitions; else, and where it tells of none, there is one, "all" */
    bool zeros;      /* sums that are 0 are values too */
    const struct pf_metric *metrics; /* NULL: `read` adds them */
    size_t n_metrics;
    const struct pf_table *
        tables; /* beside "values" and "trace"; of these `read` adds the rows: without ops they are held in build->rows, */
    size_t
        n_tables; /* with those of pf_stored_cursor they may be more than memory holds; PF_BUILD_TABLES at most */
    const char *time_unit; /* of the column `time` of the table "trace"; NULL: there is none */
    bool phased;           /* that table has a column of phases */
    /* Optional: fills the model with what the start of the file says. */
    void (*open)(struct pf_build *build);
    /* Optional, of a format whose partitions a short pass can list: adds them. */
    void (*list)(struct pf_build *build);
    /* The pass over the file; or, without it, what is done with each line. */
    void (*read)(struct pf_build *build);
    void (*line)(struct pf_build *build, const struct pf_line *line);
    /*
     * Optional: frees what the driver's struct holds beyond the pass. Called when the model is closed, and after a pass that failed,
     * before the struct is set back to what `open` has left; a failed `read` after a `list` that succeeded leaves the struct alone.
     */
    void (*clear)(struct pf_build *build);
};

enum { PF_BUILD_TABLES = 8, PF_BUILD_FIELDS = 16 };

/* A metric of the common sort: it adds up over everything. `id` is its index. */
#define PF_EXCLUSIVE(index, called, of_unit, of_type)                                                        \
    {                                                                                                        \
        .id = (index), .name = (called), .unit = (of_unit), .scope = "exclusive", .type = (of_type),         \
        .description = "", .partner = PF_NO_PARTNER                                                          \
    }

struct pf_build {
    struct pf_run *run; /* while one of the format's functions runs */
    struct pf_model *model;
    const struct pf_build_format *format;
    void *state;               /* the driver's own struct */
    struct pf_input *input;    /* the file, or what it inflates to if it is gzip data */
    struct pf_sums *sums;      /* of the values */
    struct pf_stored *trace;   /* rows of "trace" */
    struct pf_metric *metrics; /* those that `read` adds */
    size_t n_metrics, metrics_room;
    bool more_metrics;       /* than PF_BUILD_METRICS */
    struct pf_table *tables; /* "values", "trace", then the format's own */
    struct pf_column values[PF_SUMS_COLUMNS];
    void *opened;                              /* a copy of the driver's struct as `open` has left it */
    uint64_t memory;                           /* run->memory after `list` */
    struct pf_rows *rows[PF_BUILD_TABLES];     /* of the format's own table i, if that has no ops, */
    struct pf_stored *stored[PF_BUILD_TABLES]; /* or those of pf_stored_cursor */

    /* During a pass. */
    struct pf_linereader *lines;
    struct pf_strings *partitions; /* names, numbered as partitions are */
    struct pf_strings *frames;     /* bytes of struct pf_frame */
    struct pf_met_frame *met;      /* the frames looked up last, by name */
    struct pf_ids metric_of;       /* indexes of metrics, by the number of their name */
};

int pf_build_open(struct pf_model *model, struct pf_error *error);
int pf_build_load(struct pf_model *model, enum pf_stage stage, struct pf_error *error);
void pf_build_close(struct pf_model *model);
#define PF_BUILD_OPERATIONS .open = pf_build_open, .load = pf_build_load, .close = pf_build_close

/* The driver's own struct of a model that is built so. */
static inline void *pf_build_state(const struct pf_model *model)
{
    return ((const struct pf_build *)model->state)->state;
}

/* ---- passing over the file ---------------------------------------------------------------------- */

/* Reads up to `size` bytes of the file at an offset: how many there are. */
size_t pf_build_peek(struct pf_build *build, void *bytes, size_t size, uint64_t offset);

/* Reports to the thread's pass that reading has come to this offset of the input. */
void pf_build_step(struct pf_build *build, uint64_t offset);

/*
 * A pass over all lines, which ends with the warning `too-large` if pf_run_is_full. Lines of up to 64 MB come in one piece (see
 * pf_linereader_whole).
 */
void pf_build_lines(struct pf_build *build, void (*take)(struct pf_build *build, const struct pf_line *line));

/* For `take`: true if the file ends with this line, and without an end of it. */
bool pf_build_line_is_open(const struct pf_build *build, const struct pf_line *line);

/* Adds the fatal warning `too-large`, at an offset (-1: nowhere). */
void pf_build_warn_of_full(struct pf_build *build, int64_t offset);

/* ---- what a format adds ------------------------------------------------------------------------- */

/* A row of warnings.csv: line (0: unknown), offset in bytes (-1: unknown), severity, code, a printf format and its arguments. */
#define pf_build_warn(build, line, offset, severity, code, ...)                                              \
    pf_run_warn((build)->run, (severity), (code), (line), (offset), __VA_ARGS__)

/* A line of info.txt, if the text is not empty. */
void pf_build_info(struct pf_build *build, const char *key, struct pf_slice text);

/* A row of the format's own table `table`. Of those that are stored cells may be pf_name. */
void pf_build_row(struct pf_build *build, size_t table, const struct pf_cell *cells);

/* As pf_intern: the number of these bytes in a pool of the driver's own. */
uint32_t pf_build_intern(struct pf_build *build, struct pf_strings *strings, const void *bytes, size_t size);

/* The number of a name, and the name. */
uint32_t pf_build_name(struct pf_build *build, const char *text, size_t size);
static inline uint32_t pf_build_slice(struct pf_build *build, struct pf_slice text)
{
    return pf_build_name(build, text.at, pf_size(text));
}
static inline struct pf_cell pf_build_named(const struct pf_build *build, uint32_t name)
{
    return pf_interned(build->model->contexts->strings, name);
}

/* The index of the partition of this name, added if it is new, with these cells as its fields (NULL: absent ones). */
#define PF_NO_PARTITION UINT32_MAX
uint32_t pf_build_partition(struct pf_build *build, const char *name, size_t size,
                            const struct pf_cell *fields);

/* Adds a partition; if another has its name, its index is appended, as in `name~3`. Returns the index. */
uint32_t pf_build_own_partition(struct pf_build *build, const char *name, size_t size,
                                const struct pf_cell *fields);

/* How many partitions there are. */
uint32_t pf_build_partitions(const struct pf_build *build);

/*
 * The metric of this name, added if it is new: exclusive integers that add up over everything; empty until pf_build_add adds more
 * than 0 to it. Returns its index. `read` may change build->metrics[index] further, except the name. unit is borrowed.
 *
 * A profile has at most PF_BUILD_METRICS of them. Further ones are PF_NO_METRIC, which is warned of once: the index of a spare item of
 * build->metrics that is not served, so that a driver need not tell it apart. pf_build_add adds nothing to it.
 */
enum { PF_BUILD_METRICS = 4096, PF_NO_METRIC = PF_BUILD_METRICS };
uint32_t pf_build_metric(struct pf_build *build, const char *name, size_t size, const char *unit);

/* The index of the metric of this name, or PF_NO_METRIC. */
uint32_t pf_build_find_metric(const struct pf_build *build, const char *name, size_t size);

/* The context of this name below `parent` (PF_NO_CONTEXT: a root), added if it is new. A format calls this one or pf_build_enter. */
uint32_t pf_build_call(struct pf_build *build, uint32_t parent, const char *name, size_t size);

/* What stands in contexts.csv of a context: all of it tells siblings apart. */
struct pf_frame {
    uint32_t name, file, module; /* numbers of names; PF_NO_STRING: none */
    uint32_t line;               /* 0: none */
    uint32_t kind;               /* index into the format's kinds */
    uint32_t apart;              /* not shown: tells frames apart that are equal otherwise */
};

/* The number of a frame, which may be kept and used for many contexts; that of one of which nothing but the name is known. */
uint32_t pf_build_frame(struct pf_build *build, const struct pf_frame *frame);
uint32_t pf_build_named_frame(struct pf_build *build, const char *name, size_t size);
struct pf_frame pf_build_frame_at(const struct pf_build *build, uint32_t frame);

/*
 * The file of each function name, where all functions of that name are in one file. Functions of one name are one function to most
 * tools, and recursion between them counts once; functions.csv has a row per name and file.
 */
struct pf_build_files {
    PF_LIST(uint32_t)
    of; /* by name: the file + 1; UINT32_MAX: several, or one without; 0: no function of the name */
};
/* Adds a function. The list is freed at the end of the pass. */
void pf_build_add_file(struct pf_build *build, struct pf_build_files *files, uint32_t name, uint32_t file);
/* PF_NO_STRING if there is not one file. */
uint32_t pf_build_file_of(const struct pf_build_files *files, uint32_t name);

/* The context of this frame below `parent`, as pf_build_call. */
uint32_t pf_build_enter(struct pf_build *build, uint32_t parent, uint32_t frame);

/* The same of a format that has keys of its own, see pf_tree_child. */
uint32_t pf_build_child(struct pf_build *build, uint32_t parent, uint32_t key, uint32_t name, uint32_t kind);

/* Adds a number, whatever type the cell has. No-op for PF_NO_METRIC. */
void pf_build_add(struct pf_build *build, uint32_t partition, uint32_t context, uint32_t metric,
                  struct pf_cell value);

/* What stands in a row of the time line. Times are numbers of any type. */
struct pf_span_row {
    uint32_t thread, context; /* context: PF_NO_CONTEXT: it stands in no stack, and has no depth either */
    uint32_t name;            /* number of a name */
    char phase;               /* where the table has such a column */
    struct pf_cell time, duration;
};

/* Adds a row of the time line; threads come in order. Returns its number. */
uint64_t pf_build_span(struct pf_build *build, const struct pf_span_row *span);

/* The same of a context that is called as it is. */
uint64_t pf_build_stay(struct pf_build *build, uint32_t thread, uint32_t context, struct pf_cell time,
                       struct pf_cell duration);

/* Says how long what row `number` tells of took. */
void pf_build_lasts(struct pf_build *build, uint64_t number, struct pf_cell duration);

#endif
