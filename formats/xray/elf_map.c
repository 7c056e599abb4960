/* SPDX-License-Identifier: MIT */
#include <gelf.h>
#include <libelf.h>
#include <stdlib.h>
#include <string.h>

#include "formats/kit/array.h"
#include "formats/kit/table.h"
#include "formats/xray/names.h"

/*
 * Reader of the section xray_instr_map of ELF files. An entry ("sled") has four words W of the program's word size (4 or 8
 * bytes):
 *   W address, W function, u8 kind, u8 always, u8 version, padding
 * A function has several consecutive entries. Ids number the functions from 1.
 *
 * In versions 0 and 1, address and function are absolute. In a position-independent program, these fields may be zero in
 * the file. Their values are then the addends of relocations without symbol (R_*_RELATIVE). Relocations without addends
 * (REL, RELR) leave the values in the fields. From version 2 on, the values are relative to the fields' own addresses.
 *
 * libelf only translates the byte order of records here. This file reads the records itself, because libelf would hold
 * whole symbol tables in memory.
 */

enum { SECTIONS_MAX = 100000, ENTRIES_MAX = 1 << 24, ENTRY_WORDS = 4 };

struct elf {
    struct pf_input *input;
    bool wide;         /* ELFCLASS64 */
    unsigned encoding; /* ELFDATA2LSB or ELFDATA2MSB */
    uint64_t sections; /* file offset of the section headers */
    size_t n_sections;
    uint64_t section_names; /* file offset of the string table with the sections' names */
};

/* A function of the map; its id is its index + 1. */
struct target {
    uint64_t address;
    uint64_t name;  /* file offset of the symbol's name */
    uint32_t first; /* the first target with this address, which holds the symbol for all such targets */
    uint8_t rank;   /* of the symbol, see take_elf_symbol; 0: no symbol */
};

struct map {
    struct elf elf;
    struct xray_names *names;
    GElf_Shdr section;   /* header of xray_instr_map */
    uint64_t *functions; /* function address of each entry; owned */
    size_t n_entries, entries_room;
    struct target *targets; /* owned */
    size_t n_targets, targets_room;
    struct pf_hash_table by_address; /* address -> first target with this address */
    GElf_Shdr strings;               /* header of the current symbol table's strings */
};

/* ---- reading records ---------------------------------------------------------------------------- */

static size_t elf_record_size(const struct elf *elf, Elf_Type type)
{
    return elf->wide ? elf64_fsize(type, 1, EV_CURRENT) : elf32_fsize(type, 1, EV_CURRENT);
}

/*
 * Reads up to `count` records and translates them to the host's byte order. Returns the number of complete records that
 * were read, or -1 with *error filled.
 */
static ssize_t read_records(const struct elf *elf, Elf_Type type, uint64_t offset, void *records,
                            size_t count, struct pf_error *error)
{
    size_t size = elf_record_size(elf, type);
    ssize_t got = pf_input_read(elf->input, records, count * size, offset, error);
    if (got < 0)
        return -1;
    count = (size_t)got / size;
    Elf_Data data = {
        .d_buf = records, .d_type = type, .d_version = EV_CURRENT, .d_size = count * size, .d_align = 8};
    Elf_Data *translated =
        elf->wide ? elf64_xlatetom(&data, &data, elf->encoding) : elf32_xlatetom(&data, &data, elf->encoding);
    return translated ? (ssize_t)count : 0;
}

/* Handles an item of a table: one record, or the four words of an entry. Returns 0, or -1 with *error filled. */
typedef int take_item(struct map *map, const void *item, struct pf_error *error);

/*
 * Calls `take` for `n` items of `records` records each, from an offset on. Returns 1; 0 if the file ends before the last
 * item; -1 with *error filled.
 */
static int each_elf_item(struct map *map, Elf_Type type, unsigned records, uint64_t offset, uint64_t n,
                         take_item *take, struct pf_error *error)
{
    uint64_t batch[4096];
    size_t size = elf_record_size(&map->elf, type) * records, most = sizeof batch / size;
    while (n) {
        size_t want = n < most ? (size_t)n : most;
        ssize_t got = read_records(&map->elf, type, offset, batch, want * records, error);
        if (got < 0 || pf_pass_step(offset, pf_input_size(map->elf.input), error))
            return -1;
        size_t have = (size_t)got / records;
        for (size_t i = 0; i < have; i++)
            if (take(map, (const char *)batch + i * size, error))
                return -1;
        if (have < want || __builtin_add_overflow(offset, have * size, &offset))
            return 0;
        n -= have;
    }
    return 1;
}

/* Reads section header i. Returns 1; 0 if the file ends before it; -1 with *error filled. */
static int read_section(const struct elf *elf, size_t i, GElf_Shdr *section, struct pf_error *error)
{
    union {
        Elf32_Shdr narrow;
        Elf64_Shdr wide;
    } header;
    uint64_t size = elf_record_size(elf, ELF_T_SHDR), offset;
    if (__builtin_add_overflow(elf->sections, i * size, &offset))
        return 0;
    ssize_t got = read_records(elf, ELF_T_SHDR, offset, &header, 1, error);
    if (got <= 0)
        return (int)got;
    const Elf32_Shdr *narrow = &header.narrow;
    *section = elf->wide ? header.wide
                         : (GElf_Shdr){.sh_name = narrow->sh_name,
                                       .sh_type = narrow->sh_type,
                                       .sh_flags = narrow->sh_flags,
                                       .sh_addr = narrow->sh_addr,
                                       .sh_offset = narrow->sh_offset,
                                       .sh_size = narrow->sh_size,
                                       .sh_link = narrow->sh_link};
    return 1;
}

/* Returns 1 with *elf filled; 0 if the file is not ELF, or its sections cannot be found; -1 with *error filled. */
static int open_elf(struct elf *elf, struct pf_input *input, struct pf_error *error)
{
    union {
        unsigned char bytes[sizeof(Elf64_Ehdr)];
        Elf32_Ehdr narrow;
        Elf64_Ehdr wide;
    } header;
    ssize_t got = pf_input_read(input, header.bytes, EI_NIDENT, 0, error);
    if (got < EI_NIDENT || memcmp(header.bytes, ELFMAG, SELFMAG) != 0)
        return got < 0 ? -1 : 0;
    unsigned class = header.bytes[EI_CLASS], encoding = header.bytes[EI_DATA];
    if ((class != ELFCLASS32 && class != ELFCLASS64) || (encoding != ELFDATA2LSB && encoding != ELFDATA2MSB))
        return 0;
    *elf = (struct elf){.input = input, .wide = class == ELFCLASS64, .encoding = encoding};
    got = read_records(elf, ELF_T_EHDR, 0, &header, 1, error);
    if (got <= 0)
        return (int)got;
    elf->sections = elf->wide ? header.wide.e_shoff : header.narrow.e_shoff;
    elf->n_sections = elf->wide ? header.wide.e_shnum : header.narrow.e_shnum;
    size_t names = elf->wide ? header.wide.e_shstrndx : header.narrow.e_shstrndx;
    /* Counts that do not fit the 16-bit fields of the ELF header are in the first section header. */
    GElf_Shdr section;
    int found = elf->sections ? read_section(elf, 0, &section, error) : 0;
    if (found <= 0)
        return found;
    if (!elf->n_sections)
        elf->n_sections = section.sh_size < SECTIONS_MAX ? (size_t)section.sh_size : SECTIONS_MAX;
    if (names == SHN_XINDEX)
        names = section.sh_link;
    found = names < elf->n_sections ? read_section(elf, names, &section, error) : 0;
    elf->section_names = found > 0 ? section.sh_offset : 0;
    return found;
}

/* Returns 1 if a section is xray_instr_map, by its name; 0 if not; -1 with *error filled. */
static int is_map(const struct elf *elf, const GElf_Shdr *section, struct pf_error *error)
{
    static const char name[] = "xray_instr_map";
    char text[sizeof name];
    uint64_t offset;
    if (section->sh_type != SHT_PROGBITS || section->sh_flags & SHF_COMPRESSED ||
        __builtin_add_overflow(elf->section_names, section->sh_name, &offset))
        return 0;
    ssize_t got = pf_input_read(elf->input, text, sizeof text, offset, error);
    return got < 0 ? -1 : (size_t)got == sizeof text && !memcmp(text, name, sizeof name);
}

/* Opens a program and finds its map. Returns 1 with *section filled; 0 if there is no map; -1 with *error filled. */
static int find_map(struct elf *elf, struct pf_input *input, GElf_Shdr *section, struct pf_error *error)
{
    int more = open_elf(elf, input, error), found = 0;
    for (size_t i = 0; more > 0 && !found && i < elf->n_sections; i++) {
        more = read_section(elf, i, section, error);
        found = more > 0 ? is_map(elf, section, error) : 0;
    }
    return more < 0 ? -1 : found;
}

int xray_elf_has_map(struct pf_input *input, bool *has, struct pf_error *error)
{
    struct elf elf;
    GElf_Shdr section;
    int found = find_map(&elf, input, &section, error);
    *has = found > 0;
    return found < 0 ? -1 : 0;
}

/* ---- the map ------------------------------------------------------------------------------------ */

static int take_entry(struct map *map, const void *item, struct pf_error *error)
{
    const struct elf *elf = &map->elf;
    const Elf64_Addr *wide = item;
    const Elf32_Addr *narrow = item;
    unsigned word = elf->wide ? 8 : 4;
    uint64_t function = elf->wide ? wide[1] : narrow[1], rest = elf->wide ? wide[2] : narrow[2];
    /* The version is byte 2 of the third word, which has the program's byte order. */
    unsigned version = rest >> 8 * (elf->encoding == ELFDATA2LSB ? 2 : word - 3) & 0xff;
    if (version >= 2)
        function += map->section.sh_addr + map->n_entries * ENTRY_WORDS * word + word;
    if (pf_array_room(&map->functions, &map->entries_room, map->n_entries, sizeof *map->functions, error))
        return -1;
    map->functions[map->n_entries++] = elf->wide ? function : (uint32_t)function;
    return 0;
}

static int read_map_entries(struct map *map, struct pf_error *error)
{
    uint64_t size = elf_record_size(&map->elf, ELF_T_ADDR) * ENTRY_WORDS, n = map->section.sh_size / size;
    if (map->section.sh_size % size)
        xray_names_problem(map->names, 0, "the section ends inside an entry");
    if (n > ENTRIES_MAX) {
        xray_names_problem(map->names, 0, "it has more than %u entries; the rest is left out", ENTRIES_MAX);
        n = ENTRIES_MAX;
    }
    int whole = each_elf_item(map, ELF_T_ADDR, ENTRY_WORDS, map->section.sh_offset, n, take_entry, error);
    if (!whole)
        xray_names_problem(map->names, 0, "the file ends inside the map");
    return whole < 0 ? -1 : 0;
}

static int take_relocation(struct map *map, const void *item, struct pf_error *error)
{
    const Elf64_Rela *wide = item;
    const Elf32_Rela *narrow = item;
    size_t word = map->elf.wide ? 8 : 4, size = ENTRY_WORDS * word;
    uint64_t place = map->elf.wide ? wide->r_offset : narrow->r_offset;
    uint64_t symbol = map->elf.wide ? ELF64_R_SYM(wide->r_info) : ELF32_R_SYM(narrow->r_info);
    uint64_t distance = place - map->section.sh_addr;
    (void)error;
    if (!symbol && place >= map->section.sh_addr && distance / size < map->n_entries &&
        distance % size == word)
        map->functions[distance / size] =
            map->elf.wide ? (uint64_t)wide->r_addend : (uint32_t)narrow->r_addend;
    return 0;
}

static int apply_relocations(struct map *map, struct pf_error *error)
{
    GElf_Shdr section;
    uint64_t size = elf_record_size(&map->elf, ELF_T_RELA);
    /*
     * Number of relocations that may still be read. Without this limit, overlapping sections could make a small file
     * expensive.
     */
    uint64_t budget = pf_input_size(map->elf.input) / size;
    int found = 1;
    for (size_t i = 0; i < map->elf.n_sections && found > 0; i++) {
        found = read_section(&map->elf, i, &section, error);
        if (found <= 0 || section.sh_type != SHT_RELA || !(section.sh_flags & SHF_ALLOC))
            continue;
        uint64_t n = section.sh_size / size < budget ? section.sh_size / size : budget;
        budget -= n;
        if (each_elf_item(map, ELF_T_RELA, 1, section.sh_offset, n, take_relocation, error) < 0)
            return -1;
    }
    return found < 0 ? -1 : 0;
}

/* ---- functions ---------------------------------------------------------------------------------- */

static bool has_address(const void *of, uint32_t number, const void *key)
{
    return ((const struct target *)of)[number].address == *(const uint64_t *)key;
}

/* Returns the first target with an address, or PF_NOT_THERE. */
static int64_t target_at(const struct map *map, uint64_t address)
{
    return pf_hash_find(&map->by_address, pf_siphash_number(address), has_address, map->targets, &address);
}

/* Numbers the functions. Consecutive entries with the same address are one function. */
static int make_targets(struct map *map, struct pf_error *error)
{
    for (size_t i = 0; i < map->n_entries; i++) {
        uint64_t address = map->functions[i];
        if (i && address == map->functions[i - 1])
            continue;
        if (map->n_targets > XRAY_NAMES_MAX) /* one more than the limit: xray_names_add reports it */
            return 0;
        int64_t first = target_at(map, address);
        uint32_t number = (uint32_t)map->n_targets;
        if ((number % 4096 == 0 && pf_pass_step(i, map->n_entries, error)) ||
            pf_array_room(&map->targets, &map->targets_room, number, sizeof *map->targets, error) ||
            (first < 0 && pf_hash_add(&map->by_address, pf_siphash_number(address), number, error)))
            return -1;
        map->targets[map->n_targets++] =
            (struct target){.address = address, .first = first < 0 ? number : (uint32_t)first};
    }
    return 0;
}

/*
 * Assigns a symbol to the targets at its address. If an address has several symbols, a global symbol wins over a weak one,
 * and a weak symbol over a local one. Of several symbols of the same binding, the first wins.
 */
static int take_elf_symbol(struct map *map, const void *item, struct pf_error *error)
{
    const Elf64_Sym *wide = item;
    const Elf32_Sym *narrow = item;
    unsigned char info = map->elf.wide ? wide->st_info : narrow->st_info;
    uint16_t section = map->elf.wide ? wide->st_shndx : narrow->st_shndx;
    uint32_t name = map->elf.wide ? wide->st_name : narrow->st_name;
    unsigned binding = GELF_ST_BIND(info);
    uint8_t rank = binding == STB_GLOBAL ? 3 : binding == STB_WEAK ? 2 : 1;
    (void)error;
    if (GELF_ST_TYPE(info) != STT_FUNC || section == SHN_UNDEF || name >= map->strings.sh_size)
        return 0;
    int64_t number = target_at(map, map->elf.wide ? wide->st_value : narrow->st_value);
    if (number >= 0 && map->targets[number].rank < rank) {
        map->targets[number].rank = rank;
        map->targets[number].name = map->strings.sh_offset + name;
    }
    return 0;
}

/* Reads the first symbol table of a type. Returns 1; 0 if there is no such table; -1 with *error filled. */
static int read_symbols(struct map *map, uint32_t type, struct pf_error *error)
{
    GElf_Shdr section;
    int found = 1;
    for (size_t i = 0; i < map->elf.n_sections && found > 0; i++) {
        found = read_section(&map->elf, i, &section, error);
        if (found <= 0 || section.sh_type != type || section.sh_link >= map->elf.n_sections)
            continue;
        found = read_section(&map->elf, section.sh_link, &map->strings, error);
        if (found <= 0)
            break;
        uint64_t n = section.sh_size / elf_record_size(&map->elf, ELF_T_SYM);
        int whole = each_elf_item(map, ELF_T_SYM, 1, section.sh_offset, n, take_elf_symbol, error);
        if (!whole)
            xray_names_problem(map->names, 0, "the file ends inside the symbols");
        return whole < 0 ? -1 : 1;
    }
    return found < 0 ? -1 : 0;
}

/*
 * Reads the text at an offset up to its NUL, at most `room` bytes. Returns its size, or -1 with *error filled. Tries a
 * short read first, since most names are short.
 */
static ssize_t read_elf_text(const struct elf *elf, uint64_t offset, char *text, size_t room,
                             struct pf_error *error)
{
    size_t want = 256;
    ssize_t got = pf_input_read(elf->input, text, want, offset, error);
    if (got == (ssize_t)want && !memchr(text, 0, want))
        got = pf_input_read(elf->input, text, room, offset, error);
    return got < 0 ? -1 : (ssize_t)strnlen(text, (size_t)got);
}

static int add_elf_names(struct map *map, struct pf_error *error)
{
    char *text = malloc(XRAY_SYMBOL_MAX);
    int failed = 0;
    if (!text)
        return pf_fail_memory(error);
    for (size_t i = 0; i < map->n_targets && !failed; i++) {
        const struct target *target = &map->targets[map->targets[i].first];
        ssize_t size =
            target->rank ? read_elf_text(&map->elf, target->name, text, XRAY_SYMBOL_MAX, error) : 0;
        failed = size < 0 ||
                 xray_names_add(map->names, (uint32_t)i + 1, target->address, target->rank ? text : NULL,
                                (size_t)size, error) ||
                 (i % 256 == 0 && pf_pass_step(i, map->n_targets, error));
    }
    free(text);
    return failed ? -1 : 0;
}

static int read_elf_map(struct map *map, struct pf_error *error)
{
    if (read_map_entries(map, error) || apply_relocations(map, error) || make_targets(map, error))
        return -1;
    int found = read_symbols(map, SHT_SYMTAB, error);
    if (!found)
        found = read_symbols(map, SHT_DYNSYM, error);
    return found < 0 ? -1 : add_elf_names(map, error);
}

int xray_elf_map_read(struct xray_names *names, struct pf_input *input, struct pf_error *error)
{
    struct map map = {.names = names};
    int found = find_map(&map.elf, input, &map.section, error);
    if (!found)
        xray_names_problem(names, 0, "it is no program with a section xray_instr_map");
    int failed = found < 0 || (found && read_elf_map(&map, error));
    free(map.functions);
    free(map.targets);
    pf_hash_free(&map.by_address);
    return failed ? -1 : 0;
}
