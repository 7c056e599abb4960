/* SPDX-License-Identifier: MIT */
#ifndef PF_PERUN_READ_H
#define PF_PERUN_READ_H

#include "formats/json/json_form.h"
#include "formats/perun/data.h"
#include "formats/perun/paths.h"

/* Properties of a resource or type that are told apart; further ones are left out with a note. */
enum { PERUN_VALUES_MAX = 1024 };

/* A value while its object is read: text stands in the reading's `texts`. */
struct perun_value {
    uint32_t field;
    bool verbatim; /* a number as its text (see pf_json_numeral), which stands where the reader has it */
    struct pf_cell cell;
    size_t text; /* where it begins */
    pf_int128 wide;
};

/* What a member of a resource is. */
enum perun_member {
    PERUN_TRACE_MEMBER,
    PERUN_UID_MEMBER,
    PERUN_TYPE_MEMBER,
    PERUN_SUBTYPE_MEMBER,
    PERUN_SNAPSHOT_MEMBER,
    PERUN_COMMAND_MEMBER, /* this and the following are fields */
    PERUN_FIELD_MEMBER
};

/* The name that a member had in the object before, and what it meant: most objects have the same names in the same
 * order. */
struct perun_known_member {
    char name[24];
    size_t size; /* 0: not known */
    enum perun_member member;
    uint32_t field;
};
enum { PERUN_KNOWN_MEMBERS = 16 };

/* A word of the object before, as a string's number: the same is likely to come again. */
struct perun_last_word {
    uint32_t word; /* PF_NO_STRING: none */
    bool plain;    /* and it stands in JSON as it is */
};

/*
 * A shape that was written a while ago: the words that make it, and where it stands on its tape. Longer ones are written
 * each time.
 */
enum { PERUN_SHAPES = 256, PERUN_SHAPE_WORDS = 20 };
struct perun_known_shape {
    uint64_t offset;
    size_t n_words; /* 0: free */
    uint32_t words[PERUN_SHAPE_WORDS];
};

/* The number of a snapshot that an object names. */
struct perun_named_snapshot {
    bool there;
    int64_t number;
};

/* How an object was written, and what is known of each that is written so. */
struct perun_form {
    bool known;
    struct pf_json_form form;
    size_t values[PF_JSON_FORM_GAPS]; /* of each gap: which value fills it, or PERUN_UID_GAP */
    size_t n_values;
    uint32_t fields[PF_JSON_FORM_GAPS]; /* of each value */
    uint32_t type, subtype;
    struct perun_named_snapshot snapshot;
    size_t then; /* the form that came after it the last time */
    /* The shape of the last one, which has these two words before those that the form knows; see data.h. */
    bool shaped;
    uint32_t snapshot_word, group_word;
    uint64_t shape;
};
enum { PERUN_FORMS = 4 };
#define PERUN_UID_GAP SIZE_MAX

/* The state of the pass over the JSON. */
struct perun_reading {
    struct perun_data *data;
    struct perun_paths *paths;
    struct pf_json *json, *part; /* the file; a piece of it in memory */
    struct pf_input *input;
    uint64_t body; /* offset of the JSON in the input */
    struct pf_pass *pass;
    uint64_t stepped;   /* offset of the last pf_pass_step */
    bool has_resources; /* a region that resources stand in */

    /* The object being read. */
    struct perun_value *values; /* PERUN_VALUES_MAX */
    size_t n_values;
    struct perun_text texts;
    struct perun_raw trace, uid, command;
    struct perun_text trace_text, uid_text, command_text;
    uint32_t context, uid_text_word; /* its place, once it is found */
    uint32_t uid_word;               /* a uid that is a simple text, instead of `uid`; or PF_NO_STRING */
    uint32_t type, subtype;
    uint32_t unit; /* that stands beside its amount, a string, or PF_NO_STRING */
    struct perun_last_word last_uid, last_type, last_subtype;
    struct perun_known_member known[PERUN_KNOWN_MEMBERS];
    struct perun_known_shape *shapes; /* PERUN_SHAPES */
    struct perun_named_snapshot snapshot;

    /* Forms of objects that were read: resources, and entries of resource_type_map. */
    struct perun_form *forms; /* PERUN_FORMS */
    size_t last_form, next_form;
    struct perun_form *form; /* of the object being read; NULL: it was read by tokens */
    uint64_t misses;         /* objects since one had a known form */
};

/* Reads the profile that json stands before. Damage ends it, with a note; -1 with *error filled for all else. */
int perun_read(struct perun_reading *reading, struct pf_error *error);

/* Tells how far the pass is. To be called at least once in a MB of text. */
int perun_step(struct perun_reading *reading, struct pf_error *error);

/* A note at a token's place. */
#define PERUN_NOTE_AT(reading, token, severity, code, ...)                                                   \
    perun_note(&(reading)->data->notes, (int64_t)(token)->line,                                              \
               (int64_t)((reading)->body + (token)->offset), severity, code, __VA_ARGS__)

/*
 * Reads a value whole (objects and lists as JSON text) into a buffer; *raw then points there. What is longer than
 * 16 MB is left out with a note.
 */
int perun_take(struct perun_reading *reading, struct perun_raw *raw, struct perun_text *buffer,
               struct pf_error *error);

/* A number, or a text that holds one for fields of amounts, as a cell; absent, with a note, for anything else. */
int perun_read_value(struct perun_reading *reading, uint32_t field, const struct pf_json_token *token,
                     struct perun_value *value, struct pf_error *error);

/*
 * Reads the members of an object (behind its first token): one resource, or what all rows of a type share. Then
 * perun_find_place reads what it says of its place, which may be damaged, and perun_write_properties puts it on a tape. snapshot and group: of the region it stands in, or PERUN_NONE.
 */
int perun_read_properties(struct perun_reading *reading, struct pf_error *error);
int perun_find_place(struct perun_reading *reading, struct pf_error *error);
int perun_write_properties(struct perun_reading *reading, struct perun_tape *tape, uint32_t snapshot,
                           uint32_t group, struct pf_error *error);

/*
 * The parts of it: begins an object, which has nothing yet; sets value i, which is that of a field, to a number, of which
 * text is that of a verbatim one and is not copied, or to text, which is.
 */
void perun_begin_object(struct perun_reading *reading);
void perun_set_number(struct perun_reading *reading, size_t i, uint32_t field, const struct pf_cell *number);
int perun_set_text(struct perun_reading *reading, size_t i, uint32_t field, const struct pf_cell *text,
                   struct pf_error *error);
enum perun_member perun_member_called(const struct pf_json_token *name);

/*
 * Reads the next value like perun_read_properties if it is an object that is written as one of the last ones. 1; 0: nothing
 * was read; -1: *error filled. An object that was read otherwise (from `start` on, in bytes of the text) is to be learned.
 */
int perun_match_object(struct perun_reading *reading, struct pf_error *error);
void perun_learn_object(struct perun_reading *reading, uint64_t start);

/* The regions `resources` and `resource_type_map`, behind their first token. */
int perun_read_types(struct perun_reading *reading, struct pf_error *error);
int perun_read_entries(struct perun_reading *reading, struct pf_error *error);
/* Finds each type its entry. Once both regions are read. */
int perun_link_types(struct perun_data *data, struct pf_error *error);

/* One model, behind its first token. */
int perun_read_model(struct perun_reading *reading, struct pf_error *error);
/* Names the folders of models. Once all are read. */
int perun_name_models(struct perun_data *data, struct pf_error *error);

/* A top-level member that is shown as properties (regions without measurements, scalars of any name), or passed over. */
int perun_read_shown(struct perun_reading *reading, const struct pf_json_token *name, struct pf_error *error);

/* A region as rows of properties; token is its first. */
int perun_read_properties_of(struct perun_reading *reading, const char *region,
                             const struct pf_json_token *token, struct pf_error *error);

#endif
