/* SPDX-License-Identifier: MIT */
#include "formats/runtime/notes.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "formats/kit/array.h"
#include "formats/kit/utf8.h"

enum { MORE_MAX = 200 };

/*
 * Returns the counter of a code, adding it if it is new; NULL: out of memory. A linear search is enough, since codes
 * are few.
 */
static struct pf_note_count *count_of(struct pf_notes *notes, const char *code)
{
    struct pf_error error;
    size_t i = 0;
    while (i < notes->n_counts && strcmp(notes->counts[i].code, code) != 0)
        i++;
    if (i < notes->n_counts)
        return &notes->counts[i];
    if (pf_array_room(&notes->counts, &notes->counts_room, i, sizeof *notes->counts, &error))
        return NULL;
    notes->counts[notes->n_counts++] = (struct pf_note_count){code, 0};
    return &notes->counts[i];
}

/* Returns true if a note is to be kept. Counts the note in its code's counter or in left_out. */
static bool is_kept(struct pf_notes *notes, const struct pf_note_kind *kind)
{
    bool fatal = !strcmp(kind->severity, "fatal");
    if (notes->count >= PF_NOTES_MAX && !fatal) {
        notes->left_out++;
        return false;
    }
    struct pf_note_count *alike = count_of(notes, kind->code);
    notes->failed |= !alike;
    if (!alike || (alike->notes == PF_NOTES_ALIKE && !fatal) || alike->notes == PF_NOTES_MAX) {
        notes->left_out++;
        return false;
    }
    alike->notes++;
    return true;
}

/* Returns the length of a UTF-8 text, not counting an incomplete last character, which vsnprintf may leave. */
static size_t whole_characters(const char *text)
{
    size_t size = strlen(text), at = 0, wrong;
    for (size_t step; at < size; at += step)
        if (!(step = pf_utf8((const unsigned char *)text + at, size - at, &wrong))) {
            if (at + wrong == size)
                return at;
            step = wrong;
        }
    return size;
}

void pf_note(struct pf_notes *notes, const struct pf_note_kind *kind, int64_t line, int64_t offset,
             const char *more, ...)
{
    char text[MORE_MAX] = "";
    struct pf_error error;
    if (!is_kept(notes, kind))
        return;
    if (more) {
        va_list args;
        va_start(args, more);
        vsnprintf(text, sizeof text, more, args);
        va_end(args);
    }
    char *copy = *text ? strndup(text, whole_characters(text)) : NULL;
    if ((*text && !copy) ||
        pf_array_room(&notes->items, &notes->room, notes->count, sizeof *notes->items, &error)) {
        free(copy);
        notes->failed = true;
        return;
    }
    notes->items[notes->count] = (struct pf_note){*kind, line, offset, (uint32_t)notes->count, copy};
    notes->count++;
}

static int by_place(const void *left, const void *right)
{
    const struct pf_note *a = left, *b = right;
    if (a->offset != b->offset)
        return a->offset < b->offset ? -1 : 1;
    if (a->line != b->line)
        return a->line < b->line ? -1 : 1;
    return a->number < b->number ? -1 : a->number > b->number;
}

void pf_notes_sort(struct pf_notes *notes)
{
    if (notes->count)
        qsort(notes->items, notes->count, sizeof *notes->items, by_place);
}

static int add_warning(struct pf_model *model, const struct pf_note *note, const char *text,
                       struct pf_error *error)
{
    struct pf_cell cells[] = {note->line > 0 ? pf_int(note->line) : pf_absent(),
                              note->offset >= 0 ? pf_int(note->offset) : pf_absent(),
                              pf_string(note->kind.severity), pf_string(note->kind.code), pf_string(text)};
    return pf_rows_add(model->warnings, cells, error);
}

int pf_notes_publish(const struct pf_notes *notes, struct pf_model *model, struct pf_error *error)
{
    static const struct pf_note more = {.kind = {"warning", "more", NULL}, .offset = -1};
    char text[256];
    if (notes->failed)
        return pf_fail_memory(error);
    for (size_t i = 0; i < notes->count; i++) {
        const struct pf_note *note = &notes->items[i];
        const char *first = note->kind.text ? note->kind.text : "", *added = note->more ? note->more : "";
        snprintf(text, sizeof text, "%s%s%s", first, *first && *added ? ": " : "", added);
        if (add_warning(model, note, text, error))
            return -1;
    }
    snprintf(text, sizeof text, "%" PRIu64 " further problems are not listed", notes->left_out);
    return notes->left_out ? add_warning(model, &more, text, error) : 0;
}

void pf_notes_free(struct pf_notes *notes)
{
    for (size_t i = 0; i < notes->count; i++)
        free(notes->items[i].more);
    free(notes->items);
    free(notes->counts);
    *notes = (struct pf_notes){0};
}
