/* SPDX-License-Identifier: MIT */
#ifndef PF_PPROF_H
#define PF_PPROF_H

#include "formats/kit/ids.h"
#include "formats/kit/sorter.h"
#include "formats/runtime/build.h"
#include "formats/runtime/line_sums.h"

/* The parts of the reader of pprof's profiles, each knowing those before it only; pprof.c is the driver. */

/* ---- wire.c ------------------------------------------------------------------------------------- */

/* Protocol buffers as they are written: fields with a number, a wire type and a value. */

enum pprof_wire { WIRE_VARINT = 0, WIRE_8 = 1, WIRE_BYTES = 2, WIRE_4 = 5 };

struct pprof_field {
    uint64_t number;
    enum pprof_wire wire;
    uint64_t value;             /* WIRE_VARINT */
    const unsigned char *bytes; /* WIRE_BYTES: of the message; valid until the stream goes on */
    size_t size;
    uint64_t offset; /* of the field in the file; in a message in memory 0 */
};

/* What a kind of message holds. */
struct pprof_form {
    const char *what;   /* it is called in warnings */
    const char *fields; /* by number: a number (n), several (l), text (s), a message (m), nothing (-) */
    const struct pprof_form *const *of; /* the messages' forms, by number */
};
extern const struct pprof_form pprof_file_form;

/* What a field of this number is: see struct pprof_form; 0: it is not known. */
static inline char pprof_is(const struct pprof_form *form, uint64_t number)
{
    return (char)(number < strlen(form->fields) ? form->fields[number] : 0);
}

/* True if the field is of a wire type for that. */
bool pprof_fits(const struct pprof_form *form, const struct pprof_field *field);

/* A message in memory, less what has been read of it. */
struct pprof_message {
    const unsigned char *at, *end;
};

static inline struct pprof_message pprof_in(const struct pprof_field *field)
{
    return (struct pprof_message){field->bytes, field->bytes + field->size};
}

/* Takes a number off the front; false if there is none of at most 10 bytes. */
bool pprof_varint(struct pprof_message *message, uint64_t *value);

/* Numbers, of which a field has one or, packed, several. */
struct pprof_numbers {
    uint64_t *at;
    size_t n, room;
};

/* Appends those of a field, as far as they can be read, and held (pf_build_is_full). False: one does not end. */
bool pprof_numbers(struct pf_build *build, struct pprof_numbers *numbers, const struct pprof_field *field);

/* The next field. 1: *field filled; 0: no more; -1: *wrong says what is wrong. */
int pprof_next(struct pprof_message *message, struct pprof_field *field, const char **wrong);

/*
 * A message that a file is, or what it inflates to. One field at a time is in memory. Zeroed but for the input it stands at the
 * start; `buffer` is the caller's to free.
 */
struct pprof_stream {
    struct pf_input *input;
    unsigned char *buffer;
    size_t room, start, end; /* what of the buffer is filled and not yet read */
    uint64_t base;           /* offset of buffer[0] in the file */
    bool ended;              /* nothing follows buffer[end] */
    const char *wrong;       /* why reading has ended before the file does; NULL: it has not */
};

/* The next field. 1: *field filled; 0: no more, stream->wrong tells why; -1: *error filled. */
int pprof_stream_next(struct pprof_stream *stream, struct pprof_field *field, struct pf_error *error);

/* ---- drop.c ------------------------------------------------------------------------------------- */

/*
 * Which functions are taken out of stacks with all that they call: those that one expression (drop_frames) matches and another
 * (keep_frames) does not. Both come from the file: time is bounded, and what RE2 would not take is no expression.
 */
struct pprof_drop;

/* Expressions that have a size of 0 are none. *wrong says why nothing is dropped, or is NULL. NULL: nothing is. */
struct pprof_drop *pprof_drop_new(struct pf_cell drop, struct pf_cell keep, const char **wrong);
void pprof_drop_free(struct pprof_drop *drop);

/* True if a function of this name is dropped. */
bool pprof_drops(struct pprof_drop *drop, struct pf_cell name);

/* True if some name took so long that it was not looked at to the end. */
bool pprof_drop_gave_up(const struct pprof_drop *drop);

/* ---- tables.c ----------------------------------------------------------------------------------- */

/*
 * All of a pprof profile but its samples: strings, functions, mappings, locations, types of samples. They may stand anywhere in
 * the file, also behind the samples that speak of them.
 */

/* What stands in the message that a file is. */
enum {
    PPROF_SAMPLE_TYPE = 1,
    PPROF_SAMPLE,
    PPROF_MAPPING,
    PPROF_LOCATION,
    PPROF_FUNCTION,
    PPROF_STRING,
    PPROF_DROP_FRAMES,
    PPROF_KEEP_FRAMES,
    PPROF_TIME,
    PPROF_DURATION,
    PPROF_PERIOD_TYPE,
    PPROF_PERIOD,
    PPROF_COMMENT,
    PPROF_DEFAULT_TYPE,
    PPROF_DOC_URL,
    PPROF_FIELDS
};

/* Strings are numbers into the string table, as the file has them, until pprof_resolve has made names of them. */
struct pprof_function {
    uint64_t name, system, file;
    uint32_t named, filed; /* names; PF_NO_STRING: none */
    uint32_t shown;        /* the file, if all functions of the name are in it */
    bool dropped;
    uint64_t offset; /* in the file */
};

struct pprof_mapping {
    uint64_t file;
    uint32_t filed, bracketed; /* names: the file, and what frames without a function are called after it */
};

struct pprof_line {
    uint64_t function, line;
    uint32_t frame; /* see pf_build_frame */
};

struct pprof_location {
    uint64_t id, mapping, address;
    uint32_t first,
        lines;    /* of struct pprof_line, innermost first; it has at least one once it is resolved */
    uint32_t cut; /* so many of its innermost lines are dropped, */
    bool dropped; /* or all of it */
};

struct pprof_type {
    uint64_t type, unit; /* strings */
    uint32_t metric;
};

/* The format's own tables. */
enum { PPROF_LABEL_COLUMNS = 6 };
enum { PPROF_LOCATIONS, PPROF_LABELS, PPROF_PROPERTIES, PPROF_LINES };

struct pprof {
    struct pf_build *build;
    struct pprof_stream stream; /* of the pass that is under way */
    PF_LIST(uint32_t) strings;  /* their names */
    struct pf_ids functions, mappings,
        locations;           /* places of those with an id, which may be any number but 0 */
    struct pf_ids bracketed; /* by the name of a mapping's file: see struct pprof_mapping */
    struct pf_ids missing;   /* ids of mappings that locations have, and the file has not */
    PF_LIST(struct pprof_function) function;
    PF_LIST(struct pprof_function) unnumbered; /* those of the id 0 */
    struct pf_build_files files;
    PF_LIST(uint8_t)
    drops; /* by name: 1: functions of that name are not dropped, 2: they are; 0: not looked at yet */
    PF_LIST(char) text; /* a name being put together */
    PF_LIST(struct pprof_mapping) mapping;
    PF_LIST(struct pprof_location) location;
    PF_LIST(struct pprof_line) lines;
    PF_LIST(struct pprof_type) types;
    struct pprof_numbers comments; /* strings */
    uint64_t header[PPROF_FIELDS]; /* fields that are numbers, strings among them */
    struct pprof_type period;
    size_t samples;         /* how many there are */
    uint32_t unknown_frame; /* of what is in no location */
    const char *refused;    /* why this is no profile */
};

/* pf_pass_step for the first or the second pass over the file (part 0 or 1), at an offset. */
void pprof_step(struct pprof *pprof, int part, uint64_t offset);

/*
 * The next field of a message that is as its form says. What is not known is passed over, what is of another type with a
 * warning, at `offset`. 1; 0: no more; -1: *wrong says what is wrong.
 */
int pprof_take_field(struct pprof *pprof, struct pprof_message *message, const struct pprof_form *form,
                     uint64_t offset, struct pprof_field *field, const char **wrong);

/* Takes a field of the file; samples are only counted. */
void pprof_take(struct pprof *pprof, const struct pprof_field *field);

/* Once all fields are taken: names, frames, metrics, what is dropped. */
void pprof_resolve(struct pprof *pprof);

/* What has this id; NULL: nothing. */
static inline const struct pprof_location *pprof_location(const struct pprof *pprof, uint64_t id)
{
    uint32_t place = pf_ids_find(&pprof->locations, id);
    return place == PF_NO_ID ? NULL : &pprof->location.at[place];
}

static inline const struct pprof_function *pprof_function(const struct pprof *pprof, uint64_t id)
{
    uint32_t place = pf_ids_find(&pprof->functions, id);
    return place == PF_NO_ID ? NULL : &pprof->function.at[place];
}

static inline const struct pprof_mapping *pprof_mapping(const struct pprof *pprof, uint64_t id)
{
    uint32_t place = pf_ids_find(&pprof->mappings, id);
    return place == PF_NO_ID ? NULL : &pprof->mapping.at[place];
}

/* The name of string `index`; if there is none, PF_NO_STRING, told of as `what` it was to be. */
uint32_t pprof_string(struct pprof *pprof, uint64_t index, const char *what);

/* Says that something in a field or record is wrong, PPROF_NOWHERE in particular: a warning. */
#define PPROF_NOWHERE UINT64_MAX
#define pprof_warn(pprof, offset, code, ...)                                                                 \
    pf_build_warn((pprof)->build, 0, offset, "error", code, __VA_ARGS__)

/* ---- stacks.c ----------------------------------------------------------------------------------- */

/* The samples: their stacks as contexts, their values, what their labels tell of threads and else. */
struct pprof_stacks;

/* The tables are resolved. It lasts as long as the pass. */
struct pprof_stacks *pprof_stacks_new(struct pprof *pprof);

/* Takes the field of a sample. False: no further one is to be taken. */
bool pprof_stacks_take(struct pprof_stacks *stacks, const struct pprof_field *field);

/* Makes the tables of what samples add up to by label and by line, once all are taken. */
void pprof_stacks_end(struct pprof_stacks *stacks);

#endif
