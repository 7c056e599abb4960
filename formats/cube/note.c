/* SPDX-License-Identifier: MIT */
#include "formats/cube/note.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* A file that is wrong everywhere must not fill the memory with the same complaint. */
enum { NOTES_MAX = 1000 };

int pf_cube_note(struct pf_rows *notes, uint64_t line, int64_t offset, const char *severity, const char *code,
                 struct pf_error *error, const char *format, ...)
{
    char text[256];
    if (pf_rows_count(notes) >= NOTES_MAX && strcmp(severity, "fatal") != 0)
        return 0;
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    struct pf_cell cells[PF_CUBE_NOTE_COLUMNS] = {line ? pf_uint(line) : pf_absent(),
                                                  offset >= 0 ? pf_int(offset) : pf_absent(),
                                                  pf_string(severity), pf_string(code), pf_string(text)};
    return pf_rows_add(notes, cells, error);
}
