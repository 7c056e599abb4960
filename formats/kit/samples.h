/* SPDX-License-Identifier: MIT */
#ifndef PF_SAMPLES_H
#define PF_SAMPLES_H

#include "formats/input/linereader.h"
#include "formats/kit/sums.h"

/*
 * What drivers share whose profiles are samples or spans with call stacks: names, contexts, partitions and metrics are
 * added as the file tells of them, values are added up, and "values" is served from the sums. Values are exclusive.
 *
 * Such a driver has .open, .load and .close of this kit, a struct pf_samples_format as its .kit, and a profile->state
 * that begins with a struct pf_samples. It reads its file in one pass, in `read`, where alone the functions below may be
 * called. (Reading is for one thread; what it has made is immutable afterwards.)
 */
struct pf_samples_format {
    size_t state;                  /* size of the driver's own struct; 0: it is a struct pf_samples */
    const char *const *kinds;      /* of contexts, see struct pf_tree; NULL: "function" alone */
    const char *singular, *plural; /* what partitions are called; NULL: "thread", "threads" */
    const struct pf_column
        *fields; /* of partitions: identity columns, roles PF_PLAIN, PF_SAMPLES_FIELDS at most */
    size_t n_fields;
    bool
        partitioned; /* the file tells of partitions; else, and where it tells of none, there is one, "all" */
    bool zeros;      /* sums that are 0 are values too */
    const struct pf_metric *metrics; /* NULL: `read` adds them */
    size_t n_metrics;
    const struct pf_table *
        tables; /* beside "values"; those without ops are in rows that the kit makes, PF_SAMPLES_TABLES at most */
    size_t n_tables;
    const char *time_unit; /* of the column `time` of a table "trace"; NULL: there is none */
    /* Optional: what a look at the file's start tells (info, version, which metrics). The profile is filled else. */
    int (*open)(struct pf_profile *profile, struct pf_error *error);
    int (*read)(struct pf_profile *profile, struct pf_pass *pass, struct pf_error *error);
    /*
     * Optional: frees what `read` has left in the driver's own struct, which is zeroed then. Called when it has failed, and at
     * the end.
     */
    void (*clear)(struct pf_profile *profile);
};

enum { PF_SAMPLES_TABLES = 8, PF_SAMPLES_FIELDS = 16 };

/* A metric of the common sort: it adds up over everything. `id` is its index. */
#define PF_EXCLUSIVE(index, called, of_unit, of_type)                                                        \
    {                                                                                                        \
        .id = (index), .name = (called), .unit = (of_unit), .scope = "exclusive", .type = (of_type),         \
        .description = "", .partner = PF_NO_PARTNER                                                          \
    }

struct pf_samples {
    struct pf_sums_state sums; /* first: the cursor looks here */
    const struct pf_samples_format *format;
    struct pf_input *input;        /* the file, or what it inflates to if it is gzip data */
    struct pf_strings *partitions; /* names, numbered as partitions are */
    struct pf_strings *frames;     /* bytes of struct pf_frame */
    struct pf_met_frame *met;      /* those asked for last, by name */
    struct pf_metric *metrics;     /* those that `read` adds */
    size_t n_metrics, metrics_room;
    struct pf_table *tables; /* "values", then the format's own */
    struct pf_column values[PF_SUMS_COLUMNS];
    struct pf_rows *rows[PF_SAMPLES_TABLES]; /* of the format's own table i, if that has no ops */
};

/* For a driver's struct. */
int pf_samples_open(struct pf_profile *profile, struct pf_error *error);
int pf_samples_load(struct pf_profile *profile, enum pf_stage stage, struct pf_pass *pass,
                    struct pf_error *error);
void pf_samples_close(struct pf_profile *profile);
#define PF_SAMPLES_OPERATIONS .open = pf_samples_open, .load = pf_samples_load, .close = pf_samples_close

/* For probing: the first bytes of the file, or of what it inflates to if it is gzip data; see pf_probe_head. */
const unsigned char *pf_samples_head(struct pf_probe *probe, size_t want, size_t *have);

/* pf_pass_step for a pass that stands at this offset of the input. */
int pf_samples_step(struct pf_profile *profile, struct pf_pass *pass, uint64_t offset,
                    struct pf_error *error);

/*
 * A pass over all lines: calls `take` for each, which gives 0, or -1 with *error filled. A byte-order mark at the start is left
 * out, lines of up to 64 MB come in one piece (see pf_linereader_whole). 0, or -1 with *error filled.
 */
int pf_samples_lines(struct pf_profile *profile, struct pf_pass *pass,
                     int (*take)(struct pf_profile *profile, const struct pf_line *line,
                                 struct pf_error *error),
                     struct pf_error *error);

/* The number of a name; PF_NO_STRING with *error filled. */
uint32_t pf_samples_string(struct pf_profile *profile, const char *text, size_t size, struct pf_error *error);

/*
 * The partition of this name, added if it is new, with these cells as its fields (NULL: absent ones). Returns its index,
 * or PF_NO_PARTITION with *error filled.
 */
#define PF_NO_PARTITION UINT32_MAX
uint32_t pf_samples_partition(struct pf_profile *profile, const char *name, size_t size,
                              const struct pf_cell *fields, struct pf_error *error);

/* A further partition, whatever others are called: its index comes behind a name that is taken, as `name~3`. As above. */
uint32_t pf_samples_own_partition(struct pf_profile *profile, const char *name, size_t size,
                                  const struct pf_cell *fields, struct pf_error *error);

/*
 * The metric of this name, added if it is new: exclusive integers that add up over everything. Returns its index, or -1 with
 * *error filled. `read` may change samples->metrics[index] further. unit is borrowed.
 */
int pf_samples_metric(struct pf_profile *profile, const char *name, size_t size, const char *unit,
                      struct pf_error *error);

/*
 * The context of this name below `parent` (PF_NO_CONTEXT: a root), added if it is new. Returns its index, or PF_NO_CONTEXT
 * with *error filled. A format calls this one or the next, not both.
 */
uint32_t pf_samples_call(struct pf_profile *profile, uint32_t parent, const char *name, size_t size,
                         struct pf_error *error);

/* What stands in contexts.csv of a context: all of it tells siblings apart. */
struct pf_frame {
    uint32_t name, file, module; /* numbers of names; PF_NO_STRING: none */
    uint32_t line;               /* 0: none */
    uint32_t kind;               /* index into the format's kinds */
};

/* The number of a frame, which may be kept and used for many contexts; PF_NO_STRING with *error filled. */
uint32_t pf_samples_frame(struct pf_profile *profile, const struct pf_frame *frame, struct pf_error *error);

/* The same of one of which nothing but the name is known. */
uint32_t pf_samples_named_frame(struct pf_profile *profile, const char *name, size_t size,
                                struct pf_error *error);

/* The context of this frame below `parent`, as pf_samples_call. */
uint32_t pf_samples_enter(struct pf_profile *profile, uint32_t parent, uint32_t frame,
                          struct pf_error *error);

/* Adds a number, whatever type the cell has. 0, or -1 with *error filled. */
int pf_samples_add(struct pf_profile *profile, uint32_t partition, uint32_t context, uint32_t metric,
                   struct pf_cell value, struct pf_error *error);

#endif
