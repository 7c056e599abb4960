/* SPDX-License-Identifier: MIT */
#include "formats/xray/reading.h"

#include <string.h>

#include "formats/xray/buffers.h"
#include "formats/xray/records.h"

/*
 * The events of a thread as calls:
 *  - An entry opens a call in the context of the calls around it.
 *  - An exit (or tail exit, which carries the id of the function that is left) closes the nearest open call
 *    of its function, and every call above it: those have been left by an exception or a jump. An exit of a
 *    function that is not open is ignored.
 *  - Calls open at the thread's end have no duration; what calls inside them took is in their inclusive time.
 */
struct reader {
    const struct xray_state *state;
    struct pf_pass *pass;
    _Atomic uint64_t *done; /* bytes of ranges, of all threads */
    struct xray_decoder decoder;
    struct xray_reading *reading;
};

/* ---- what is wrong ------------------------------------------------------------------------------ */

static int note(struct reader *reader, enum xray_note_kind kind, uint64_t offset, uint64_t detail,
                struct pf_error *error)
{
    return xray_note(&reader->reading->notes, kind, offset, detail, error);
}

static int note_fault(struct reader *reader, const struct xray_range *range, struct pf_error *error)
{
    const struct xray_decoder *decoder = &reader->decoder;
    bool at_end = range->end == pf_input_size(reader->state->input);
    switch (decoder->fault) {
    case XRAY_CUT_RECORD:
        return note(reader, at_end ? XRAY_NOTE_FILE_CUT : XRAY_NOTE_CUT_RECORD, decoder->fault_offset, 0,
                    error);
    case XRAY_BAD_FUNCTION:
        return note(reader, XRAY_NOTE_BAD_FUNCTION, decoder->fault_offset, decoder->fault_detail, error);
    case XRAY_BAD_METADATA:
        return note(reader, XRAY_NOTE_BAD_METADATA, decoder->fault_offset, decoder->fault_detail, error);
    case XRAY_BAD_SIZE:
        return note(reader, XRAY_NOTE_BAD_SIZE, decoder->fault_offset, decoder->fault_detail, error);
    case XRAY_NESTED_BUFFER:
        return note(reader, XRAY_NOTE_NESTED, decoder->fault_offset, 0, error);
    case XRAY_SOUND:
        break;
    }
    return 0;
}

/* Version 1: a buffer that the file ends in has no EndOfBuffer, nor has one that was damaged. */
static int note_end(struct reader *reader, const struct xray_range *range, struct pf_error *error)
{
    const struct xray_header *header = &reader->state->header;
    if (header->version != 1 || reader->decoder.closed || reader->decoder.fault != XRAY_SOUND)
        return 0;
    uint64_t offset = xray_buffer_offset(header, range->body), size = range->end - offset;
    if (size < header->buffer_size)
        return note(reader, XRAY_NOTE_BUFFER_CUT, offset, header->buffer_size - size, error);
    return note(reader, XRAY_NOTE_NO_END, offset, 0, error);
}

/* Of FDR logs: the light pass over a basic log has seen all records, and has told everything. */
static int note_problems(struct reader *reader, const struct xray_range *range, struct pf_error *error)
{
    const struct xray_header *header = &reader->state->header;
    const struct xray_decoder *decoder = &reader->decoder;
    if (header->type == XRAY_BASIC)
        return 0;
    uint64_t offset = xray_buffer_offset(header, range->body);
    if (note_fault(reader, range, error) || note_end(reader, range, error))
        return -1;
    if (decoder->untimed && note(reader, XRAY_NOTE_UNTIMED, offset, decoder->untimed, error))
        return -1;
    return decoder->strays ? note(reader, XRAY_NOTE_STRAY, offset, decoder->strays, error) : 0;
}

/* Arguments and payloads matter to the trace only, but what it leaves out is told here. */
static int check_extras(struct reader *reader, const struct xray_event *event, uint64_t offset,
                        struct pf_error *error)
{
    if (event->kind > XRAY_ENTER_ARG)
        return event->size > XRAY_PAYLOAD_SHOWN
                   ? note(reader, XRAY_NOTE_LONG_PAYLOAD, offset, event->size - XRAY_PAYLOAD_SHOWN, error)
                   : 0;
    uint64_t value, n = 0;
    int more;
    while ((more = xray_next_argument(&reader->decoder, &value, error)) > 0)
        n++;
    if (more == 0 && n > XRAY_ARGUMENTS_SHOWN)
        return note(reader, XRAY_NOTE_MANY_ARGUMENTS, offset, n - XRAY_ARGUMENTS_SHOWN, error);
    return more;
}

/* ---- events ------------------------------------------------------------------------------------- */

static inline int take_event(struct xray_contexts *contexts, const struct xray_event *event,
                             struct pf_error *error)
{
    switch (event->kind) {
    case XRAY_ENTER:
    case XRAY_ENTER_ARG:
        return xray_contexts_enter(contexts, event->function, event->tsc, error);
    case XRAY_EXIT:
    case XRAY_TAIL_EXIT:
        xray_contexts_leave(contexts, event->function, event->tsc);
        return 0;
    default: /* a custom or typed event: it happens in the innermost call, and changes nothing */
        return 0;
    }
}

/* Says that the range has been read up to here, from where it was said last (which moves on). */
static int step(struct reader *reader, uint64_t *said, uint64_t here, struct pf_error *error)
{
    uint64_t more = here - *said;
    uint64_t done = atomic_fetch_add_explicit(reader->done, more, memory_order_relaxed) + more;
    *said = here;
    return pf_pass_step(reader->pass, done, reader->state->index.bytes, error);
}

static int read_range(struct reader *reader, const struct xray_range *range, struct pf_error *error)
{
    enum { EVENTS_PER_STEP = 32768 };
    struct xray_decoder *decoder = &reader->decoder;
    struct xray_reading *reading = reader->reading;
    struct xray_event event;
    int more;
    uint64_t events = 0, said = range->body;
    xray_decoder_begin(decoder, range->body, range->end);
    while ((more = xray_next_event(decoder, &event, error)) > 0) {
        if (!reading->events && !events)
            reading->first_tsc = event.tsc;
        reading->last_tsc = event.tsc;
        if (++events % EVENTS_PER_STEP == 0 && step(reader, &said, xray_decoder_offset(decoder), error))
            return -1;
        if (take_event(&reading->contexts, &event, error))
            return -1;
        if ((event.arguments || event.kind > XRAY_ENTER_ARG) &&
            check_extras(reader, &event, decoder->base + decoder->at, error))
            return -1;
    }
    reading->events += events;
    if (more < 0 || step(reader, &said, range->end, error))
        return -1;
    return note_problems(reader, range, error);
}

static int read_ranges(struct reader *reader, const struct xray_thread *thread, struct pf_error *error)
{
    for (uint64_t i = 0; i < thread->count; i++) {
        struct xray_range range;
        if (xray_index_range(&reader->state->index, thread->first + i, &range, error) ||
            read_range(reader, &range, error))
            return -1;
    }
    return 0;
}

int xray_read_thread(struct xray_reading *reading, const struct xray_state *state,
                     const struct xray_thread *thread, struct pf_pass *pass, _Atomic uint64_t *done,
                     struct pf_error *error)
{
    struct reader reader = {.state = state, .pass = pass, .done = done, .reading = reading};
    *reading = (struct xray_reading){0};
    if (xray_contexts_init(&reading->contexts, error))
        return -1;
    xray_decoder_init(&reader.decoder, state->input, &state->header);
    int failed = read_ranges(&reader, thread, error);
    xray_decoder_free(&reader.decoder);
    return failed;
}

void xray_reading_free(struct xray_reading *reading)
{
    xray_contexts_free(&reading->contexts);
    xray_notes_free(&reading->notes);
}
