/* SPDX-License-Identifier: MIT */
/* Any text makes a valid file name from which the text can be recognised, and siblings never share a name. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "fs/profile/names.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool holds)
{
    if (!holds)
        abort();
}

struct sibling {
    const char *text;
    size_t size;
    uint64_t id;
    bool suffix;
    char name[PF_NAME_MAX + 1];
    size_t length;
};

static unsigned hex_value(char c)
{
    return c >= '0' && c <= '9' ? (unsigned)(c - '0') : c >= 'A' && c <= 'F' ? (unsigned)(c - 'A') + 10 : 16;
}

/* Decodes the escapes %XX of a name. Returns the number of bytes written. */
static size_t decoded(char *out, const char *name, size_t size)
{
    size_t n = 0;
    for (size_t i = 0; i < size; i++) {
        bool escaped =
            name[i] == '%' && i + 2 < size && hex_value(name[i + 1]) < 16 && hex_value(name[i + 2]) < 16;
        out[n++] = escaped ? (char)(hex_value(name[i + 1]) << 4 | hex_value(name[i + 2])) : name[i];
        i += escaped ? 2 : 0;
    }
    return n;
}

static void is_a_file_name(const struct sibling *it)
{
    require(it->length > 0 && it->length <= PF_NAME_MAX && it->name[it->length] == '\0');
    require(it->name[0] != '.');
    for (size_t i = 0; i < it->length; i++) {
        uint8_t byte = (uint8_t)it->name[i];
        require(byte >= 0x20 && byte != 0x7f && byte != '/');
    }
}

/* A name without a suffix decodes to the whole text. A name with a suffix decodes to a prefix of the text; the suffix holds the id. */
static void tells_its_origin(const struct sibling *it)
{
    uint64_t id;
    size_t kept = it->length;
    bool suffix = pf_name_id(it->name, it->length, &id);
    if (suffix) {
        require(id == it->id);
        while (it->name[kept - 1] != '~')
            kept--;
        kept--;
    }
    char text[PF_NAME_MAX];
    size_t size = decoded(text, it->name, kept);
    require(size <= it->size && (size == 0 || !memcmp(text, it->text, size)));
    require(suffix || (size == it->size && !it->suffix));
}

static void make(struct sibling *it)
{
    it->length = pf_name(it->name, it->text, it->size, it->id, it->suffix);
    is_a_file_name(it);
    tells_its_origin(it);
}

static void differ(const struct sibling *a, const struct sibling *b)
{
    bool same_name = a->length == b->length && !memcmp(a->name, b->name, a->length);
    bool same_text = a->size == b->size && !memcmp(a->text, b->text, a->size);
    require(!same_name || (same_text && !a->suffix && !b->suffix));
}

/* Byte 0 divides the rest of the input into two texts. Bytes 1 and 2 are their ids; bits 0 and 1 of byte 3 request suffixes. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 4)
        return 0;
    const char *text = (const char *)data + 4;
    size -= 4;
    size_t first = size * data[0] / 255;
    struct sibling a = {.text = text, .size = first, .id = data[1] * UINT64_C(0x0101010101010101)};
    struct sibling b = {.text = text + first, .size = size - first, .id = data[2]};
    a.suffix = data[3] & 1;
    b.suffix = data[3] & 2;
    b.id += a.id == b.id;
    make(&a);
    make(&b);
    differ(&a, &b);
    return 0;
}
