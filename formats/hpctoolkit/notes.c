/* SPDX-License-Identifier: MIT */
#include "formats/hpctoolkit/notes.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "formats/hpctoolkit/memory.h"
#include "formats/kit/array.h"

/* One more than the profile's warnings take, so that these tell that some are missing. */
enum { NOTES_MAX = 1001 };

struct hpc_note {
    int64_t line, offset;
    const char *severity, *code; /* literals */
    char text[200];
};

int hpc_note(struct hpc_notes *notes, int64_t line, int64_t offset, const char *severity, const char *code,
             struct pf_error *error, const char *format, ...)
{
    if (notes->count >= NOTES_MAX)
        return 0;
    if (pf_array_room(&notes->items, &notes->room, notes->count, sizeof *notes->items, error))
        return -1;
    struct hpc_note *note = &notes->items[notes->count++];
    *note = (struct hpc_note){.line = line, .offset = offset, .severity = severity, .code = code};
    va_list args;
    va_start(args, format);
    vsnprintf(note->text, sizeof note->text, format, args);
    va_end(args);
    return 0;
}

int hpc_notes_tell(const struct hpc_notes *notes, struct pf_profile *profile, struct pf_error *error)
{
    for (size_t i = 0; i < notes->count; i++) {
        const struct hpc_note *note = &notes->items[i];
        if (pf_warn(profile, note->line, note->offset, note->severity, note->code, error, "%s", note->text))
            return -1;
    }
    return 0;
}

void hpc_notes_free(struct hpc_notes *notes)
{
    free(notes->items);
    *notes = (struct hpc_notes){0};
}
