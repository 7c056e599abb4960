/* SPDX-License-Identifier: MIT */
#ifndef PF_PERUN_FLAT_H
#define PF_PERUN_FLAT_H

#include "formats/json/json.h"

/* Text that grows; zeroed it is empty. */
struct perun_text {
    char *at; /* owned */
    size_t size, room;
};

int perun_text_add(struct perun_text *text, const char *bytes, size_t size, struct pf_error *error);
/* A NUL behind it that does not count. */
int perun_text_end(struct perun_text *text, struct pf_error *error);
void perun_text_free(struct perun_text *text);

/* What a flattened object says of a place in the source besides. */
struct perun_frame {
    bool has_func, has_function;
    uint32_t line;          /* 0: none */
    size_t file, file_size; /* where in `out` its source stands; size 0: none */
};

/*
 * Appends to `out` what a uid or frame comes to as one text: a scalar itself; an object's values joined by
 * colons in the order of what their keys mean (binary, file, module, class, function, line, instruction, others); a list's
 * joined by commas. `token` is the value's first token; the reader is left behind the value. frame may be
 * NULL. Deeper containers are left out. -1 with *error filled.
 */
int perun_flatten(struct pf_json *json, const struct pf_json_token *token, struct perun_text *out,
                  struct perun_frame *frame, struct pf_error *error);

#endif
