/* SPDX-License-Identifier: MIT */
#ifndef PF_BUILD_H
#define PF_BUILD_H

#include <setjmp.h>

#include "formats/input/linereader.h"
#include "formats/kit/array.h"
#include "formats/kit/ids.h"
#include "formats/kit/slice.h"
#include "formats/kit/stored.h"
#include "formats/kit/sums.h"

/*
 * Builds a profile from one pass over a file: names, contexts, partitions, metrics and rows of the time line are added as the file tells
 * of them, values are added up, and "values" is served from the sums. Values are exclusive unless their metric says otherwise.
 *
 * Such a driver has PF_BUILD_OPERATIONS, a struct pf_build_format as its .kit, and a profile->state that begins with a
 * struct pf_build. What it builds is immutable once `read` has returned.
 *
 * Nothing here fails to its caller. What lacks memory, meets a failing disk or is no longer waited for ends the driver's function
 * by a jump out of it (pf_build_fail). So no function of a driver holds memory of its own: pf_build_own and PF_PUSH remember what is
 * to be freed at the end of the pass. Damage in the file is no failure: it is warned of.
 */
struct pf_build_format {
    size_t state;                  /* size of the driver's own struct; 0: it is a struct pf_build */
    bool folder;                   /* the source is one: build->input is NULL */
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
    /* These are given the driver's struct. Optional: fills the profile with what a look at the file's start tells. */
    void (*open)(void *state);
    /* Optional: adds the partitions, where a light pass tells them. */
    void (*list)(void *state);
    void (*read)(void *state);
    void (*line)(void *state,
                 const struct pf_line *line); /* each one of the file, where there is no `read` */
    /*
     * Optional: frees what is to outlive the pass. Called at the end, and when a pass has failed; the driver's own struct is
     * as `open` has left it then, unless it was `read` behind a `list` that has succeeded.
     */
    void (*clear)(void *state);
};

enum { PF_BUILD_TABLES = 8, PF_BUILD_FIELDS = 16 };

/* A metric of the common sort: it adds up over everything. `id` is its index. */
#define PF_EXCLUSIVE(index, called, of_unit, of_type)                                                        \
    {                                                                                                        \
        .id = (index), .name = (called), .unit = (of_unit), .scope = "exclusive", .type = (of_type),         \
        .description = "", .partner = PF_NO_PARTNER                                                          \
    }

struct pf_build {
    struct pf_sums *sums;
    struct pf_model *model;
    const struct pf_build_format *format;
    struct pf_input *input;    /* the file, or what it inflates to if it is gzip data */
    struct pf_stored *trace;   /* rows of "trace" */
    struct pf_metric *metrics; /* those that `read` adds */
    size_t n_metrics, metrics_room;
    bool more_metrics;            /* than PF_BUILD_METRICS */
    uint64_t memory, memory_most; /* see pf_build_is_full */
    struct pf_table *tables;      /* "values", "trace", then the format's own */
    struct pf_column values[PF_SUMS_COLUMNS];
    void *opened;                              /* the driver's own struct as `open` has left it */
    struct pf_rows *rows[PF_BUILD_TABLES];     /* of the format's own table i, if that has no ops, */
    struct pf_stored *stored[PF_BUILD_TABLES]; /* or those of pf_stored_cursor */

    /* While one of the driver's functions runs. */
    struct pf_error *error;
    jmp_buf failed;
    struct pf_owned *owned; /* what the end of the pass frees */
    size_t n_owned, owned_room;
    struct pf_linereader *lines;
    struct pf_strings *partitions; /* names, numbered as partitions are */
    struct pf_strings *frames;     /* bytes of struct pf_frame */
    struct pf_met_frame *met;      /* those asked for last, by name */
    struct pf_ids metric_of;       /* indexes of metrics, by the number of their name */
};

/* For a driver's struct. */
int pf_build_open(struct pf_model *model, struct pf_error *error);
int pf_build_load(struct pf_model *model, enum pf_stage stage, struct pf_error *error);
void pf_build_close(struct pf_model *model);
#define PF_BUILD_OPERATIONS .open = pf_build_open, .load = pf_build_load, .close = pf_build_close

/* For probing: the first bytes of the file, or of what it inflates to if it is gzip data; see pf_probe_head. */
const unsigned char *pf_build_bytes(struct pf_probe *probe, size_t want, size_t *have);

/* The same for text: a UTF-8 byte order mark at the start is skipped. */
const unsigned char *pf_build_head(struct pf_probe *probe, size_t want, size_t *have);

/* ---- failing, and what is freed then ------------------------------------------------------------ */

/* Ends the driver's function: *build->error says why. */
_Noreturn void pf_build_fail(struct pf_build *build);

/* What a function of another part of the kit has returned, which is -1 if it has failed. */
static inline int pf_build_check(struct pf_build *build, int got)
{
    if (got < 0)
        pf_build_fail(build);
    return got;
}

/* Ends `open`: the file is none of the format, or of a form that is not read. line 0: nowhere. */
_Noreturn void pf_build_refuse(struct pf_build *build, int64_t line, const char *what);

/* Frees the thing at the end of the pass; it is lack of memory if it is NULL. Returns it. */
void *pf_build_own(struct pf_build *build, void *thing, void (*free_thing)(void *));
#define PF_OWN(build, thing, free_thing) pf_build_own((build), (thing), (void (*)(void *))(free_thing))

/* The same of memory from malloc that the pointer at this address points to then, if it is not NULL. */
void pf_build_own_items(struct pf_build *build, void *array);

/* A list that grows, in the driver's struct, and is freed at the end of the pass. */
#define PF_LIST(type)                                                                                        \
    struct {                                                                                                 \
        type *at;                                                                                            \
        size_t n, room;                                                                                      \
    }

/* One more item of a list, which is not initialised. */
#define PF_PUSH(build, list)                                                                                 \
    (pf_build_room((build), &(list).at, &(list).room, (list).n, sizeof *(list).at), &(list).at[(list).n++])

/* The item of this index, before which and at which new ones are zeroed; the list's n does not tell of them. */
#define PF_ITEM(build, list, index)                                                                          \
    (pf_build_reach((build), &(list).at, &(list).room, (index), sizeof *(list).at), &(list).at[index])

void pf_build_grow(struct pf_build *build, void *array, size_t *room, size_t index, size_t item, bool zeroed);

static inline void pf_build_room(struct pf_build *build, void *array, size_t *room, size_t count, size_t item)
{
    if (count >= *room)
        pf_build_grow(build, array, room, count, item, false);
}

static inline void pf_build_reach(struct pf_build *build, void *array, size_t *room, size_t index,
                                  size_t item)
{
    if (index >= *room)
        pf_build_grow(build, array, room, index, item, true);
}

/* Up to `size` bytes of the file at an offset: how many there are. */
size_t pf_build_peek(struct pf_build *build, void *bytes, size_t size, uint64_t offset);

/* ---- memory ------------------------------------------------------------------------------------- */

/*
 * A few bytes of a compressed file can make many contexts, names, rows or list items. The memory of the build and its lists is estimated,
 * and bounded by a multiple of the file's bytes on disk, or of 64 MB if that is more.
 *
 * Returns true once the bound is exceeded: the driver should then end its pass with what it has. A driver that goes on fails with EFBIG
 * at twice as much.
 */
static inline bool pf_build_is_full(const struct pf_build *build)
{
    return build->memory > build->memory_most;
}

/* Adds the fatal warning `too-large`, at an offset (-1: nowhere). */
void pf_build_warn_of_full(struct pf_build *build, int64_t offset);
#define PF_BUILD_FULL "what is read of the file takes more memory than one of its size may"

/* ---- passing over the file ---------------------------------------------------------------------- */

/* pf_pass_step for a pass that stands at this offset of the input. */
void pf_build_step(struct pf_build *build, uint64_t offset);

/* A pass over all lines. Lines of up to 64 MB come in one piece (see pf_linereader_whole). */
void pf_build_lines(struct pf_build *build, void (*take)(void *state, const struct pf_line *line));

/* For `take`: true if the file ends with this line, and without an end of it. */
bool pf_build_line_is_open(const struct pf_build *build, const struct pf_line *line);

/* ---- what a format adds ------------------------------------------------------------------------- */

/* A row of warnings.csv: see pf_warn. */
#define pf_build_warn(build, line, offset, severity, code, ...)                                              \
    ((void)pf_build_check((build), pf_warn((build)->model, (int64_t)(line), (int64_t)(offset), (severity),   \
                                           (code), (build)->error, __VA_ARGS__)))

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

/* The partition of this name, added if it is new, with these cells as its fields (NULL: absent ones): its index. */
#define PF_NO_PARTITION UINT32_MAX
uint32_t pf_build_thread(struct pf_build *build, const char *name, size_t size, const struct pf_cell *fields);

/* A further partition, whatever others are called: its index comes behind a name that is taken, as `name~3`. */
uint32_t pf_build_own_thread(struct pf_build *build, const char *name, size_t size,
                             const struct pf_cell *fields);

uint32_t pf_build_threads(const struct pf_build *build);

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
void pf_build_add(struct pf_build *build, uint32_t thread, uint32_t context, uint32_t metric,
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
