/* SPDX-License-Identifier: MIT */
/* Reads any bytes as JSON in pieces and in place, which must give the same tokens, and by values. The first byte chooses the flags. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "formats/json/json.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct text {
    const uint8_t *bytes;
    size_t size;
};

static ssize_t read_text(void *arg, void *buffer, size_t size, uint64_t offset, struct pf_error *error)
{
    const struct text *text = arg;
    (void)error;
    size_t left = offset < text->size ? text->size - (size_t)offset : 0, got = left < size ? left : size;
    if (got)
        memcpy(buffer, text->bytes + offset, got);
    return (ssize_t)got;
}

static uint64_t mix(uint64_t hash, const void *bytes, size_t size)
{
    for (size_t i = 0; i < size; i++)
        hash = (hash ^ ((const uint8_t *)bytes)[i]) * 1099511628211u;
    return hash;
}

static uint64_t mix_token(uint64_t hash, int event, const struct pf_json_token *token)
{
    hash = mix(hash, &event, sizeof event);
    hash = mix(hash, &token->offset, sizeof token->offset);
    return mix(hash, token->text, token->size);
}

/* Hashes the remaining tokens, errors included. */
static uint64_t rest(struct pf_json *json)
{
    struct pf_json_token token;
    struct pf_error error;
    uint64_t hash = 14695981039346656037u;
    int event;
    do {
        event = pf_json_next(json, &token, &error);
        if (event == PF_JSON_NUMBER) {
            pf_int128 wide;
            struct pf_cell cell = pf_json_number(&token, &wide);
            hash = mix(hash, &cell.type, sizeof cell.type);
        }
        if (event >= 0)
            hash = mix_token(hash, event, &token);
    } while (event > 0);
    if (event < 0)
        hash = mix(hash, &error.offset, sizeof error.offset);
    return hash;
}

/* Checks that top-level values whose tokens can be read can be taken as a whole. Reads on after an error, line by line. */
static void skip(struct text *text, unsigned flags)
{
    struct pf_json *json = pf_json_new_reading(read_text, text, flags, 0);
    struct pf_json *other = pf_json_new_reading(read_text, text, flags, 0);
    struct pf_json_token token;
    struct pf_error error;
    struct pf_json_buffer taken = {.limit = 64};
    while (pf_json_next(json, &token, &error) > 0)
        if (pf_json_depth(json) == 0 && pf_json_take(other, &token, &taken, &error) <= 0)
            abort(); /* a value that was read must be taken without an error */
    for (int i = 0; i < 8; i++)
        if (pf_json_next_line(json, &error) < 0 || rest(json) == 0)
            break;
    pf_json_free(json);
    pf_json_free(other);
    free(taken.bytes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (!size)
        return 0;
    unsigned flags = data[0] & 7;
    struct text text = {data + 1, size - 1};
    struct pf_json *json = pf_json_new_reading(read_text, &text, flags, 0);
    uint64_t want = rest(json);
    char *copy = malloc(size);
    memcpy(copy, data + 1, size - 1);
    copy[size - 1] = 0;
    bool mark = size > 3 && !memcmp(copy, "\xef\xbb\xbf", 3); /* only files may begin with a byte order mark */
    pf_json_text(json, copy, size - 1);
    if (!mark && rest(json) != want)
        abort();
    pf_json_free(json);
    free(copy);
    skip(&text, flags);
    return 0;
}
