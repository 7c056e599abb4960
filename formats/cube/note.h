/* SPDX-License-Identifier: MIT */
#ifndef PF_CUBE_NOTE_H
#define PF_CUBE_NOTE_H

#include <stdint.h>

#include "formats/kit/rows.h"

/*
 * Problems of a file, kept as rows (line, offset, severity, code, text) until they can be told to whoever opened it:
 * a cube is read for a profile of its own or as one of many.
 */
enum { PF_CUBE_NOTE_COLUMNS = 5 };

/* line 0, offset < 0: none. Caps the number of notes. 0, or -1 with *error filled. */
int pf_cube_note(struct pf_rows *notes, uint64_t line, int64_t offset, const char *severity, const char *code,
                 struct pf_error *error, const char *format, ...) __attribute__((format(printf, 7, 8)));

#endif
