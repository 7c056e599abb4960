/* SPDX-License-Identifier: MIT */
#include "formats/xray/notes.h"

#include <inttypes.h>
#include <stdlib.h>

#include "formats/kit/array.h"

/* As many as the profile's warnings take, and one more, so that these tell that some are missing. */
enum { NOTES_MAX = 1001 };

/* The number of a note follows its text. */
static const struct {
    const char *severity, *code, *text;
    bool numbered;
} kinds[XRAY_NOTE_KINDS] = {
    [XRAY_NOTE_FILE_CUT] = {"fatal", "cut-record", "the file ends inside this record", false},
    [XRAY_NOTE_BUFFER_CUT] = {"fatal", "cut-buffer", "the file ends inside this buffer; bytes missing", true},
    [XRAY_NOTE_BEYOND_END] = {"error", "extents-beyond-end",
                              "this buffer is declared to reach beyond the end of the file; declared bytes",
                              true},
    [XRAY_NOTE_OVERLAP] = {"error", "overlapping-buffer",
                           "this buffer starts before the declared end of the one before it", false},
    [XRAY_NOTE_RESYNCHRONISED] = {"error", "resynchronised",
                                  "no buffer starts here; bytes skipped to the next one or to the end", true},
    [XRAY_NOTE_NO_THREAD] = {"error", "buffer-without-thread",
                             "this buffer does not say which thread it is of, and is left out", false},
    [XRAY_NOTE_DUPLICATE] = {"warning", "duplicate-buffer",
                             "this buffer is in the file twice, and is left out once", false},
    [XRAY_NOTE_BUFFER_SIZE] = {"warning", "buffer-size",
                               "the whole file is read as one buffer, because the header's buffer size is",
                               true},
    [XRAY_NOTE_CUT_RECORD] = {"error", "cut-record", "the buffer ends inside this record, which is left out",
                              false},
    [XRAY_NOTE_BAD_FUNCTION] = {"error", "bad-record",
                                "the rest of the buffer is left out: function record of unknown kind", true},
    [XRAY_NOTE_BAD_METADATA] = {"error", "bad-record",
                                "the rest of the buffer is left out: metadata record of kind", true},
    [XRAY_NOTE_BAD_SIZE] = {"error", "event-size",
                            "the rest of the buffer is left out: this event reaches beyond it; bytes", true},
    [XRAY_NOTE_NESTED] = {"error", "overlapping-buffer",
                          "the rest of the buffer is left out: another one starts here", false},
    [XRAY_NOTE_NO_END] = {"warning", "buffer-without-end", "this buffer has no end record", false},
    [XRAY_NOTE_UNTIMED] = {"error", "record-without-time",
                           "left out of this buffer, because they stand before any time stamp; records",
                           true},
    [XRAY_NOTE_STRAY] = {"warning", "stray-record",
                         "ignored in this buffer, because they are out of place; records", true},
    [XRAY_NOTE_STRAY_ARGUMENT] = {"warning", "stray-record",
                                  "ignored, here for the first time: arguments without their call; records",
                                  true},
    [XRAY_NOTE_UNKNOWN] = {"error", "bad-record",
                           "left out, here for the first time: records of unknown type or kind; records",
                           true},
    [XRAY_NOTE_BLOCK_SIZE] = {"error", "block-size",
                              "the rest of the file is left out: this block is too small; bytes", true},
    [XRAY_NOTE_BLOCK_CUT] = {"fatal", "cut-block", "the file ends inside this block; bytes missing", true},
    [XRAY_NOTE_CUT_IN_BLOCK] = {"error", "cut-record", "the block ends inside this record, which is left out",
                                false},
    [XRAY_NOTE_NO_PATH] = {"warning", "record-without-path", "this record names no function, and is left out",
                           false},
    [XRAY_NOTE_LONG_PATH] = {"error", "long-path",
                             "this record is left out, because its path is too long; functions", true},
    [XRAY_NOTE_LONG_PAYLOAD] = {"warning", "long-payload",
                                "the trace shows only the start of this event's payload; bytes left out",
                                true},
    [XRAY_NOTE_MANY_ARGUMENTS] = {"warning", "many-arguments",
                                  "the trace shows only the first arguments of this call; left out", true},
    [XRAY_NOTE_NEGATIVE] = {"warning", "negative-time",
                            "ticks (and time) of a context in a thread are below zero, as of clocks that run "
                            "backwards, so that others may exceed 100 %; how often",
                            true},
};

static bool is_fatal(enum xray_note_kind kind)
{
    return kind == XRAY_NOTE_FILE_CUT || kind == XRAY_NOTE_BUFFER_CUT || kind == XRAY_NOTE_BLOCK_CUT;
}

int xray_note(struct xray_notes *notes, enum xray_note_kind kind, uint64_t offset, uint64_t detail,
              struct pf_error *error)
{
    if (notes->count >= NOTES_MAX && (!is_fatal(kind) || notes->count >= 2 * NOTES_MAX))
        return 0;
    if (pf_array_room(&notes->items, &notes->room, notes->count, sizeof *notes->items, error))
        return -1;
    notes->items[notes->count++] = (struct xray_note){offset, detail, (uint8_t)kind};
    return 0;
}

void xray_notes_free(struct xray_notes *notes)
{
    free(notes->items);
    *notes = (struct xray_notes){0};
}

static int by_offset(const void *left, const void *right)
{
    const struct xray_note *a = left, *b = right;
    if (a->offset != b->offset)
        return a->offset < b->offset ? -1 : 1;
    return a->kind - b->kind;
}

static int tell(const struct xray_note *note, struct pf_profile *profile, struct pf_error *error)
{
    const char *text = kinds[note->kind].text;
    const char *severity = kinds[note->kind].severity, *code = kinds[note->kind].code;
    int64_t offset = (int64_t)note->offset;
    if (kinds[note->kind].numbered)
        return pf_warn(profile, 0, offset, severity, code, error, "%s: %" PRIu64, text, note->detail);
    return pf_warn(profile, 0, offset, severity, code, error, "%s", text);
}

int xray_notes_tell(const struct xray_notes *a, const struct xray_notes *b, struct pf_profile *profile,
                    struct pf_error *error)
{
    struct xray_notes all = {0};
    int failed = 0;
    for (size_t i = 0; i < a->count && !failed; i++)
        failed = xray_note(&all, a->items[i].kind, a->items[i].offset, a->items[i].detail, error);
    for (size_t i = 0; i < b->count && !failed; i++)
        failed = xray_note(&all, b->items[i].kind, b->items[i].offset, b->items[i].detail, error);
    if (all.count)
        qsort(all.items, all.count, sizeof *all.items, by_offset);
    for (size_t i = 0; i < all.count && !failed; i++)
        failed = tell(&all.items[i], profile, error);
    xray_notes_free(&all);
    return failed;
}
