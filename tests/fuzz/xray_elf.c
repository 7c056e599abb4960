/* SPDX-License-Identifier: MIT */
/*
 * Reads any bytes as a program with a map of XRay's functions. Bytes that are not an ELF file are wrapped in one: CONTROL bytes choose
 * its class, its byte order and the sizes of its map, relocations, symbols and strings; the other bytes are the contents of these.
 */
#include <elf.h>

#include "tests/fuzz/xray_maps.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { SECTIONS = 6, CONTROL = 8 };

struct image {
    unsigned char bytes[1 << 16];
    size_t size;
    bool wide, big;
};

static void put(struct image *image, uint64_t value, size_t size)
{
    for (size_t i = 0; i < size; i++)
        image->bytes[image->size + (image->big ? size - 1 - i : i)] = (unsigned char)(value >> 8 * i);
    image->size += size;
}

static void put_word(struct image *image, uint64_t value)
{
    put(image, value, image->wide ? 8 : 4);
}

static void put_section(struct image *image, unsigned name, unsigned type, uint64_t address, uint64_t offset,
                        uint64_t size, unsigned link)
{
    put(image, name, 4);
    put(image, type, 4);
    put_word(image, SHF_ALLOC);
    put_word(image, address);
    put_word(image, offset);
    put_word(image, size);
    put(image, link, 4);
    put(image, 0, 4);
    put_word(image, 8);
    put_word(image, 0);
}

/* Appends section headers. The sizes of all sections but the first and last are control bytes, in units of 16 bytes. */
static void put_sections(struct image *image, const uint8_t *control, size_t room)
{
    static const unsigned types[SECTIONS] = {SHT_NULL,   SHT_PROGBITS, SHT_RELA,
                                             SHT_SYMTAB, SHT_STRTAB,   SHT_STRTAB};
    uint64_t offset = 64;
    for (unsigned i = 0; i < SECTIONS; i++) {
        uint64_t size = i && i < SECTIONS - 1 ? control[i] * UINT64_C(16) : 0;
        size = size < 64 + room - offset ? size : 64 + room - offset;
        if (i == SECTIONS - 1)
            put_section(image, 0, types[i], 0, 64 + room, 16, 0);
        else
            put_section(image, i == 1 ? 0 : 14, types[i], i == 1 ? 0x100 : 0, offset, size, i + 1);
        offset += size;
    }
}

static void wrap(struct image *image, const uint8_t *data, size_t size)
{
    static const char names[16] = "xray_instr_map";
    *image = (struct image){.wide = data[0] & 1, .big = data[0] & 2};
    size_t room = size - CONTROL < 32768 ? size - CONTROL : 32768;
    memcpy(image->bytes, ELFMAG, SELFMAG);
    image->bytes[EI_CLASS] = image->wide ? ELFCLASS64 : ELFCLASS32;
    image->bytes[EI_DATA] = image->big ? ELFDATA2MSB : ELFDATA2LSB;
    image->size = EI_NIDENT;
    put(image, ET_DYN, 2);
    put(image, EM_X86_64, 2);
    put(image, 1, 4);
    put_word(image, 0);
    put_word(image, 0);
    put_word(image, 64 + room + sizeof names);
    put(image, 0, 8);
    put(image, 0, 4);
    put(image, image->wide ? 64 : 40, 2);
    put(image, SECTIONS, 2);
    put(image, SECTIONS - 1, 2);
    image->size = 64;
    memcpy(image->bytes + image->size, data + CONTROL, room);
    memcpy(image->bytes + image->size + room, names, sizeof names);
    image->size += room + sizeof names;
    put_sections(image, data, room);
}

static int read_elf(struct xray_names *names, struct pf_input *input, struct pf_error *error)
{
    bool has;
    return xray_elf_has_map(input, &has, error) ? -1 : xray_elf_map_read(names, input, error);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct image image;
    if (size > SELFMAG && !memcmp(data, ELFMAG, SELFMAG)) {
        read_bytes(data, size, read_elf);
    } else if (size > CONTROL) {
        wrap(&image, data, size);
        read_bytes(image.bytes, image.size, read_elf);
    }
    return 0;
}
