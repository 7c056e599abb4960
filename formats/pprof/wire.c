/* SPDX-License-Identifier: MIT */
#include "formats/pprof/pprof.h"

#include <stdlib.h>
#include <string.h>

#include "formats/kit/array.h"

enum {
    VARINT_MAX = 10,           /* maximum size of a varint */
    HEAD_MAX = 2 * VARINT_MAX, /* maximum size of a field without its content */
    READ_SIZE = 256 * 1024,
    FIELD_MAX = 64 * 1024 * 1024,
};

/* ---- forms -------------------------------------------------------------------------------------- */

static const struct pprof_form type = {"type", "-nn", NULL}, line = {"line", "-nnn", NULL},
                               label = {"label", "-nnnn", NULL}, mapping = {"mapping", "-nnnnnnnnnn", NULL},
                               function = {"function", "-nnnnn", NULL};
static const struct pprof_form sample = {"sample", "-llm", (const struct pprof_form *const[]){[3] = &label}};
static const struct pprof_form location = {"location", "-nnnmn",
                                           (const struct pprof_form *const[]){[4] = &line}};

static const struct pprof_form *const messages[PPROF_FIELDS] = {
    [PPROF_SAMPLE_TYPE] = &type,  [PPROF_SAMPLE] = &sample,     [PPROF_MAPPING] = &mapping,
    [PPROF_LOCATION] = &location, [PPROF_FUNCTION] = &function, [PPROF_PERIOD_TYPE] = &type,
};
const struct pprof_form pprof_file_form = {"profile", "-mmmmmsnnnnmnlnn", messages};

bool pprof_fits(const struct pprof_form *form, const struct pprof_field *field)
{
    char is = pprof_is(form, field->number);
    return (field->wire == WIRE_VARINT && (is == 'n' || is == 'l')) ||
           (field->wire == WIRE_BYTES && (is == 'l' || is == 's' || is == 'm'));
}

/* ---- messages ----------------------------------------------------------------------------------- */

bool pprof_varint(struct pprof_message *message, uint64_t *value)
{
    const unsigned char *at = message->at;
    *value = 0;
    for (unsigned shift = 0; at < message->end && shift < 7 * VARINT_MAX; shift += 7) {
        *value |= shift < 64 ? (uint64_t)(*at & 0x7f) << shift : 0;
        if (*at++ < 0x80) {
            message->at = at;
            return true;
        }
    }
    return false;
}

bool pprof_numbers(struct pf_build *build, struct pprof_numbers *numbers, const struct pprof_field *field)
{
    struct pprof_message packed = pprof_in(field);
    uint64_t number;
    if (field->wire == WIRE_VARINT)
        *PF_PUSH(build->run, *numbers) = field->value;
    while (packed.at < packed.end && !pf_run_is_full(build->run)) {
        if (!pprof_varint(&packed, &number))
            return false;
        *PF_PUSH(build->run, *numbers) = number;
    }
    return true;
}

/* Reads a field up to its content, and sets field->size to the content's size. Returns NULL, or a description of the damage. */
static const char *pprof_read_head(struct pprof_message *message, struct pprof_field *field)
{
    uint64_t tag, size = 0;
    if (!pprof_varint(message, &tag))
        return "not a field";
    *field = (struct pprof_field){.number = tag >> 3, .wire = tag & 7};
    if (!field->number)
        return "field number 0";
    switch (field->wire) {
    case WIRE_VARINT:
        return pprof_varint(message, &field->value) ? NULL : "unterminated number";
    case WIRE_BYTES:
        if (!pprof_varint(message, &size))
            return "unterminated number";
        field->size = size;
        return NULL;
    case WIRE_8:
    case WIRE_4:
        field->size = field->wire == WIRE_8 ? 8 : 4;
        return NULL;
    }
    return "unknown field type";
}

int pprof_next(struct pprof_message *message, struct pprof_field *field, const char **wrong)
{
    if (message->at == message->end)
        return 0;
    *wrong = pprof_read_head(message, field);
    if (!*wrong && field->size > (size_t)(message->end - message->at))
        *wrong = "field exceeds the rest of the file";
    if (*wrong)
        return -1;
    field->bytes = message->at;
    message->at += field->size;
    return 1;
}

/* ---- the file ----------------------------------------------------------------------------------- */

/*
 * Reads until `want` bytes are buffered or the file ends. The buffer grows with the bytes actually read, not with a
 * declared size.
 */
static int pprof_fill(struct pprof_stream *stream, size_t want, struct pf_error *error)
{
    while (stream->end - stream->start < want && !stream->ended) {
        if (stream->start) {
            memmove(stream->buffer, stream->buffer + stream->start, stream->end - stream->start);
            stream->base += stream->start;
            stream->end -= stream->start;
            stream->start = 0;
        }
        size_t wanted = stream->end + READ_SIZE;
        if (wanted > stream->room && pf_array_grow(&stream->buffer, &stream->room, wanted, 1, error))
            return -1;
        ssize_t got = pf_input_read(stream->input, stream->buffer + stream->end, stream->room - stream->end,
                                    stream->base + stream->end, error);
        if (got < 0)
            return -1;
        stream->ended = (size_t)got < stream->room - stream->end;
        stream->end += (size_t)got;
    }
    return 0;
}

static struct pprof_message rest(const struct pprof_stream *stream)
{
    return (struct pprof_message){stream->buffer + stream->start, stream->buffer + stream->end};
}

int pprof_stream_next(struct pprof_stream *stream, struct pprof_field *field, struct pf_error *error)
{
    if (stream->wrong)
        return 0;
    if (pprof_fill(stream, HEAD_MAX, error))
        return -1;
    if (stream->start == stream->end)
        return 0;
    struct pprof_message message = rest(stream);
    stream->wrong = pprof_read_head(&message, field);
    field->offset = stream->base + stream->start;
    size_t head = (size_t)(message.at - (stream->buffer + stream->start));
    if (!stream->wrong && field->size > FIELD_MAX)
        stream->wrong = "field exceeds 64 MB";
    if (stream->wrong)
        return 0;
    if (pprof_fill(stream, head + field->size, error))
        return -1;
    message = rest(stream);
    if ((size_t)(message.end - message.at) < head + field->size) {
        stream->wrong = "field exceeds the rest of the file";
        return 0;
    }
    field->bytes = message.at + head;
    stream->start += head + field->size;
    return 1;
}
