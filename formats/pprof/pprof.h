/* SPDX-License-Identifier: MIT */
#ifndef PF_PPROF_H
#define PF_PPROF_H

#include "formats/kit/ids.h"
#include "formats/kit/sorter.h"
#include "formats/runtime/build.h"
#include "formats/runtime/line_sums.h"

/*
 * Parts of the reader of pprof's profiles, in order of dependency: each uses only those above it. pprof.c is the
 * driver.
 */

/* ---- wire.c ------------------------------------------------------------------------------------- */

/* The wire format of protocol buffers: fields with a number, a wire type and a value. */

enum pprof_wire { WIRE_VARINT = 0, WIRE_8 = 1, WIRE_BYTES = 2, WIRE_4 = 5 };

struct pprof_field {
    uint64_t number;
    enum pprof_wire wire;
    uint64_t value;             /* WIRE_VARINT */
    const unsigned char *bytes; /* WIRE_BYTES: the content; valid until the stream is read further */
    size_t size;
    uint64_t offset; /* file offset; pprof_next sets 0, pprof_take_field the passed offset */
};

/* The form of a message type. */
struct pprof_form {
    const char *what;   /* name of the message type in warnings */
    const char *fields; /* by field number, the type: n number, l list of numbers, s text, m message, - unused */
    const struct pprof_form *const *of; /* forms of message fields, by field number */
};
extern const struct pprof_form pprof_file_form;

/* Returns the type of a field number, as in struct pprof_form; 0 if unknown. */
static inline char pprof_is(const struct pprof_form *form, uint64_t number)
{
    return (char)(number < strlen(form->fields) ? form->fields[number] : 0);
}

/* Returns true if the field's wire type is valid for its type. */
bool pprof_fits(const struct pprof_form *form, const struct pprof_field *field);

/* The unread rest of a message in memory. */
struct pprof_message {
    const unsigned char *at, *end;
};

static inline struct pprof_message pprof_in(const struct pprof_field *field)
{
    return (struct pprof_message){field->bytes, field->bytes + field->size};
}

/* Reads a varint of at most 10 bytes. Returns false if the message does not continue with one. */
bool pprof_varint(struct pprof_message *message, uint64_t *value);

/* A list of numbers. A field has one number or, if packed, any number of them. */
struct pprof_numbers {
    uint64_t *at;
    size_t n, room;
};

/*
 * Appends the numbers of a field, up to the first incomplete one or the memory limit (pf_run_is_full). Returns false if
 * a number is incomplete.
 */
bool pprof_numbers(struct pf_build *build, struct pprof_numbers *numbers, const struct pprof_field *field);

/* Reads the next field. Returns 1 with *field filled; 0 at the end; -1 with *wrong describing the damage. */
int pprof_next(struct pprof_message *message, struct pprof_field *field, const char **wrong);

/*
 * The message that makes up a (decompressed) file; one field at a time is in memory. Initialize to zero except `input`
 * (borrowed). The caller frees `buffer`. Not thread-safe.
 */
struct pprof_stream {
    struct pf_input *input;
    unsigned char *buffer;
    size_t room, start, end; /* buffer[start .. end) is filled and unread */
    uint64_t base;           /* file offset of buffer[0] */
    bool ended;              /* the file ends at buffer[end] */
    const char *wrong;       /* why reading ended early; NULL: it did not */
};

/*
 * Reads the next field. Returns 1 with *field filled; 0 at the end (stream->wrong is set if it is premature); -1 with
 * *error filled.
 */
int pprof_stream_next(struct pprof_stream *stream, struct pprof_field *field, struct pf_error *error);

/* ---- drop.c ------------------------------------------------------------------------------------- */

/*
 * Selects functions to drop from stacks, together with their callees. These are the functions whose names match drop_frames but not
 * keep_frames. Both patterns come from the file, so matching time is bounded.
 */
struct pprof_drop;

/*
 * Compiles the patterns; an empty pattern is absent. Returns NULL if nothing is to be dropped; *wrong is the reason if
 * a pattern is invalid, else NULL. The caller frees the result with pprof_drop_free.
 */
struct pprof_drop *pprof_drop_new(struct pf_cell drop, struct pf_cell keep, const char **wrong);
void pprof_drop_free(struct pprof_drop *drop);

/* Returns true if functions of this name are dropped. */
bool pprof_drops(struct pprof_drop *drop, struct pf_cell name);

/* Returns true if some match exceeded a limit and was aborted. */
bool pprof_drop_gave_up(const struct pprof_drop *drop);

/* ---- tables.c ----------------------------------------------------------------------------------- */

/*
 * The tables of a profile are everything except the samples: strings, functions, mappings, locations and sample types.
 * They may be anywhere in the file, even after the samples that refer to them.
 */

/* Field numbers of the top-level message. */
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

/* A function. pprof_resolve sets the fields from `named` to `dropped`. */
struct pprof_function {
    uint64_t name, system, file; /* indexes in the string table */
    uint32_t named, filed; /* name and file, interned; PF_NO_STRING: none */
    uint32_t shown;        /* the file, if all functions of this name are in it */
    bool dropped;
    uint64_t offset; /* file offset */
};

struct pprof_mapping {
    uint64_t file;
    uint32_t filed, bracketed; /* interned: the file; the name of frames without function */
};

struct pprof_line {
    uint64_t function, line;
    uint32_t frame; /* result of pf_build_frame */
};

struct pprof_location {
    uint64_t id, mapping, address;
    uint32_t first, lines; /* range of struct pprof_line, innermost first; not empty after pprof_resolve */
    uint32_t cut;          /* number of innermost lines that are dropped */
    bool dropped;          /* the whole location is dropped */
};

struct pprof_type {
    uint64_t type, unit; /* indexes in the string table */
    uint32_t metric;
};

/* Tables specific to the format. */
enum { PPROF_LABEL_COLUMNS = 6 };
enum { PPROF_LOCATIONS, PPROF_LABELS, PPROF_PROPERTIES, PPROF_LINES };

struct pprof {
    struct pf_build *build;
    struct pprof_stream stream;                   /* of the current pass */
    PF_LIST(uint32_t) strings;                    /* string table index -> interned string */
    struct pf_ids functions, mappings, locations; /* id -> index; an id may be any number except 0 */
    struct pf_ids bracketed; /* interned file of a mapping -> name of its frames without function */
    struct pf_ids missing;   /* ids of undefined mappings that locations refer to */
    PF_LIST(struct pprof_function) function;
    PF_LIST(struct pprof_function) unnumbered; /* functions with id 0 */
    struct pf_build_files files;
    PF_LIST(uint8_t) drops; /* by name: 1: kept, 2: dropped, 0: not matched yet */
    PF_LIST(char) text;     /* buffer for composing a name */
    PF_LIST(struct pprof_mapping) mapping;
    PF_LIST(struct pprof_location) location;
    PF_LIST(struct pprof_line) lines;
    PF_LIST(struct pprof_type) types;
    struct pprof_numbers comments; /* indexes in the string table */
    uint64_t header[PPROF_FIELDS]; /* the profile's number fields; a string is an index in the string table */
    struct pprof_type period;
    size_t samples;         /* number of samples */
    uint32_t unknown_frame; /* frame of undefined locations */
    const char *refused;    /* why the file is not accepted as a profile */
};

/* Reports progress by pf_pass_step: pass 0 or 1 (`part`) has reached a file offset. */
void pprof_step(struct pprof *pprof, int part, uint64_t offset);

/*
 * Reads the next field that fits the form of a message. Unknown fields are skipped silently; fields of a wrong wire
 * type are skipped with a warning at `offset`. Returns 1; 0 at the end; -1 with *wrong describing the damage.
 */
int pprof_take_field(struct pprof *pprof, struct pprof_message *message, const struct pprof_form *form,
                     uint64_t offset, struct pprof_field *field, const char **wrong);

/* Takes a field of the file in the first pass; samples are only counted. */
void pprof_take(struct pprof *pprof, const struct pprof_field *field);

/* Resolves names, frames, metrics and dropped functions, after all fields have been taken. */
void pprof_resolve(struct pprof *pprof);

/* Returns the location with this id; NULL if undefined. */
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

/*
 * Returns the interned string at an index of the string table. If the index is invalid, warns and returns PF_NO_STRING;
 * `what` names the string in the warning.
 */
uint32_t pprof_string(struct pprof *pprof, uint64_t index, const char *what);

/* Warns of a problem in the field at an offset; PPROF_NOWHERE: no particular field. */
#define PPROF_NOWHERE UINT64_MAX
#define pprof_warn(pprof, offset, code, ...)                                                                 \
    pf_build_warn((pprof)->build, 0, offset, "error", code, __VA_ARGS__)

/* ---- stacks.c ----------------------------------------------------------------------------------- */

/* The second pass: turns samples into contexts, values, threads (from labels) and sums by label. */
struct pprof_stacks;

/* Starts the second pass; the tables must be resolved. The run owns the result. */
struct pprof_stacks *pprof_stacks_new(struct pprof *pprof);

/* Takes the field of a sample. Returns false if reading should stop. */
bool pprof_stacks_take(struct pprof_stacks *stacks, const struct pprof_field *field);

/* Makes the tables of sums by label and by line, after all samples have been taken. */
void pprof_stacks_end(struct pprof_stacks *stacks);

#endif
