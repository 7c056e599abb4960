/* SPDX-License-Identifier: MIT */

#include <gelf.h>
#include <libelf.h>
#include <stdlib.h>
#include <string.h>

#include "formats/kit/array.h"
#include "formats/xray/names.h"

/*
 * Entries ("sleds") of xray_instr_map, in words of the program (W: 4 or 8 bytes):
 *   W address, W function, u8 kind, u8 always, u8 version, padding to 4 W (32 or 16 bytes)
 * Versions 0 and 1 hold addresses; in a program that can be loaded anywhere they are zero in the file, and
 * the addend of a relocation against no symbol (R_*_RELATIVE) stands for them. Where relocations have no
 * addends of their own (REL, RELR) the fields hold them. Later versions hold the distance from the field.
 * A function has several entries in a row; ids count functions from 1.
 *
 * libelf translates the records, which are read here: it would keep whole symbol tables in memory.
 */

enum { BATCH = 512, SECTIONS_MAX = 100000 };

struct elf {
    struct pf_input *input;
    bool wide;         /* 64 bits */
    unsigned encoding; /* ELFDATA2LSB, ELFDATA2MSB */
    uint64_t sections; /* offset of the section headers */
    size_t n_sections;
    uint64_t section_names; /* offset of the string table of sections' names */
};

/* A function of the map. */
struct target {
    uint64_t address;
    uint64_t name; /* offset of the symbol's name in the file */
    uint32_t id;
    uint8_t rank; /* of the symbol; 0: none */
};

struct map {
    struct elf elf;
    struct xray_names *names;
    struct pf_pass *pass;
    GElf_Shdr section;   /* xray_instr_map */
    uint64_t *functions; /* of each entry */
    size_t n_entries;
    struct target *targets; /* a function each; by address while symbols are read */
    size_t n_targets;
};

/* ---- reading records ---------------------------------------------------------------------------- */

static size_t record_size(const struct elf *elf, Elf_Type type)
{
    return elf->wide ? elf64_fsize(type, 1, EV_CURRENT) : elf32_fsize(type, 1, EV_CURRENT);
}

/*
 * Reads up to `count` records as the file has them and translates them to the machine's byte order. Returns
 * how many are there in whole, -1 with *error filled.
 */
static ssize_t read_records(const struct elf *elf, Elf_Type type, uint64_t offset, void *records,
                            size_t count, struct pf_error *error)
{
    size_t size = record_size(elf, type);
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

/* 1: *section is header i; 0: the file ends before it; -1: *error filled. */
static int read_section(const struct elf *elf, size_t i, GElf_Shdr *section, struct pf_error *error)
{
    union {
        Elf32_Shdr narrow;
        Elf64_Shdr wide;
    } header;
    uint64_t size = record_size(elf, ELF_T_SHDR), offset;
    if (__builtin_add_overflow(elf->sections, i * size, &offset))
        return 0;
    ssize_t got = read_records(elf, ELF_T_SHDR, offset, &header, 1, error);
    if (got <= 0)
        return (int)got;
    if (elf->wide) {
        *section = header.wide;
        return 1;
    }
    *section = (GElf_Shdr){.sh_name = header.narrow.sh_name,
                           .sh_type = header.narrow.sh_type,
                           .sh_flags = header.narrow.sh_flags,
                           .sh_addr = header.narrow.sh_addr,
                           .sh_offset = header.narrow.sh_offset,
                           .sh_size = header.narrow.sh_size,
                           .sh_link = header.narrow.sh_link,
                           .sh_info = header.narrow.sh_info};
    return 1;
}

/* 1: *elf is filled; 0: no ELF file, or none whose sections can be found; -1: *error filled. */
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
    *elf = (struct elf){.input = input, .encoding = header.bytes[EI_DATA]};
    unsigned class = header.bytes[EI_CLASS];
    elf->wide = class == ELFCLASS64;
    if ((class != ELFCLASS32 && class != ELFCLASS64) ||
        (elf->encoding != ELFDATA2LSB && elf->encoding != ELFDATA2MSB))
        return 0;
    got = read_records(elf, ELF_T_EHDR, 0, &header, 1, error);
    if (got <= 0)
        return (int)got;
    elf->sections = elf->wide ? header.wide.e_shoff : header.narrow.e_shoff;
    elf->n_sections = elf->wide ? header.wide.e_shnum : header.narrow.e_shnum;
    size_t names = elf->wide ? header.wide.e_shstrndx : header.narrow.e_shstrndx;
    /* Numbers that do not fit the header's 16 bits stand in the first section header. */
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

static int has_name(const struct elf *elf, const GElf_Shdr *section, const char *name, struct pf_error *error)
{
    char text[32];
    size_t size = strlen(name) + 1;
    uint64_t offset;
    if (__builtin_add_overflow(elf->section_names, section->sh_name, &offset))
        return 0;
    ssize_t got = pf_input_read(elf->input, text, size, offset, error);
    return got < 0 ? -1 : (size_t)got == size && !memcmp(text, name, size);
}

/* 1: *section is the map's; 0: there is none; -1: *error filled. */
static int find_map(const struct elf *elf, GElf_Shdr *section, struct pf_error *error)
{
    for (size_t i = 0; i < elf->n_sections; i++) {
        int found = read_section(elf, i, section, error);
        if (found <= 0)
            return found;
        if (section->sh_type != SHT_PROGBITS || section->sh_flags & SHF_COMPRESSED)
            continue;
        found = has_name(elf, section, "xray_instr_map", error);
        if (found)
            return found;
    }
    return 0;
}

int xray_elf_has_map(struct pf_input *input, bool *has, struct pf_error *error)
{
    struct elf elf;
    GElf_Shdr section;
    int found = open_elf(&elf, input, error);
    if (found > 0)
        found = find_map(&elf, &section, error);
    *has = found > 0;
    return found < 0 ? -1 : 0;
}

/* ---- the map ------------------------------------------------------------------------------------ */

static uint64_t word_at(const struct elf *elf, const unsigned char *bytes)
{
    bool little = elf->encoding == ELFDATA2LSB;
    uint64_t word = 0;
    unsigned size = elf->wide ? 8 : 4;
    for (unsigned i = 0; i < size; i++)
        word |= (uint64_t)bytes[i] << 8 * (little ? i : size - 1 - i);
    return word;
}

static size_t entry_size(const struct elf *elf)
{
    return elf->wide ? 32 : 16;
}

/* The function of the entry at an address, as the file has it. */
static uint64_t function_of(const struct elf *elf, const unsigned char *entry, uint64_t address)
{
    unsigned word = elf->wide ? 8 : 4, version = entry[2 * word + 2];
    uint64_t function = word_at(elf, entry + word);
    if (version >= 2)
        function += address + word;
    return elf->wide ? function : (uint32_t)function;
}

static int add_entry(struct map *map, size_t *room, uint64_t function, struct pf_error *error)
{
    if (pf_array_room(&map->functions, room, map->n_entries, sizeof *map->functions, error))
        return -1;
    map->functions[map->n_entries++] = function;
    return 0;
}

static int step(const struct map *map, uint64_t offset, struct pf_error *error)
{
    return pf_pass_step(map->pass, offset, pf_input_size(map->elf.input), error);
}

static int read_entries(struct map *map, struct pf_error *error)
{
    enum { ENTRIES_MAX = 1 << 24 };
    unsigned char bytes[BATCH * 32];
    size_t size = entry_size(&map->elf), room = 0;
    uint64_t left = map->section.sh_size / size;
    if (map->section.sh_size % size)
        xray_names_problem(map->names, 0, "the section ends inside an entry");
    if (left > ENTRIES_MAX) {
        xray_names_problem(map->names, 0, "it has more than %u entries; the rest is left out", ENTRIES_MAX);
        left = ENTRIES_MAX;
    }
    while (left) {
        size_t want = left < BATCH ? (size_t)left : BATCH;
        uint64_t offset;
        if (__builtin_add_overflow(map->section.sh_offset, map->n_entries * size, &offset))
            offset = UINT64_MAX;
        ssize_t got = pf_input_read(map->elf.input, bytes, want * size, offset, error);
        if (got < 0 || step(map, offset, error))
            return -1;
        size_t n = (size_t)got / size;
        for (size_t i = 0; i < n; i++) {
            uint64_t address = map->section.sh_addr + map->n_entries * size;
            if (add_entry(map, &room, function_of(&map->elf, bytes + i * size, address), error))
                return -1;
        }
        if (n < want) {
            xray_names_problem(map->names, 0, "the file ends inside the map");
            return 0;
        }
        left -= n;
    }
    return 0;
}

/* ---- relocations -------------------------------------------------------------------------------- */

static void relocate(struct map *map, uint64_t place, uint64_t addend)
{
    size_t size = entry_size(&map->elf);
    uint64_t distance = place - map->section.sh_addr;
    if (place < map->section.sh_addr || distance / size >= map->n_entries || distance % size != size / 4)
        return;
    map->functions[distance / size] = map->elf.wide ? addend : (uint32_t)addend;
}

/* *budget: bytes of relocations still to be read. Sections that overlap would make a small file a long read. */
static int read_relocations(struct map *map, const GElf_Shdr *section, uint64_t *budget,
                            struct pf_error *error)
{
    union {
        Elf32_Rela narrow[BATCH];
        Elf64_Rela wide[BATCH];
    } records;
    const struct elf *elf = &map->elf;
    size_t size = record_size(elf, ELF_T_RELA);
    uint64_t offset = section->sh_offset;
    uint64_t left = (section->sh_size < *budget ? section->sh_size : *budget) / size;
    *budget -= left * size;
    while (left) {
        ssize_t got =
            read_records(elf, ELF_T_RELA, offset, &records, left < BATCH ? (size_t)left : BATCH, error);
        if (got <= 0 || step(map, offset, error))
            return got == 0 ? 0 : -1;
        for (ssize_t i = 0; i < got; i++) {
            if (elf->wide && !ELF64_R_SYM(records.wide[i].r_info))
                relocate(map, records.wide[i].r_offset, (uint64_t)records.wide[i].r_addend);
            else if (!elf->wide && !ELF32_R_SYM(records.narrow[i].r_info))
                relocate(map, records.narrow[i].r_offset, (uint64_t)records.narrow[i].r_addend);
        }
        left -= (uint64_t)got;
        offset += (uint64_t)got * size;
    }
    return 0;
}

static int apply_relocations(struct map *map, struct pf_error *error)
{
    GElf_Shdr section;
    uint64_t budget = pf_input_size(map->elf.input);
    int found = 1;
    for (size_t i = 0; i < map->elf.n_sections && found > 0; i++) {
        found = read_section(&map->elf, i, &section, error);
        if (found > 0 && section.sh_type == SHT_RELA && section.sh_flags & SHF_ALLOC &&
            read_relocations(map, &section, &budget, error))
            return -1;
    }
    return found < 0 ? -1 : 0;
}

/* ---- symbols ------------------------------------------------------------------------------------ */

static int by_address(const void *left, const void *right)
{
    const struct target *a = left, *b = right;
    if (a->address != b->address)
        return a->address < b->address ? -1 : 1;
    return a->id < b->id ? -1 : a->id > b->id;
}

static int by_id(const void *left, const void *right)
{
    const struct target *a = left, *b = right;
    return a->id < b->id ? -1 : a->id > b->id;
}

/* The functions, numbered: a new one wherever the entries' function changes. */
static int make_targets(struct map *map, struct pf_error *error)
{
    size_t n = 0;
    for (size_t i = 0; i < map->n_entries; i++)
        n += !i || map->functions[i] != map->functions[i - 1];
    if (n > XRAY_NAMES_MAX) {
        xray_names_problem(map->names, 0, "it has more than %zu functions; the rest is left out",
                           XRAY_NAMES_MAX);
        n = XRAY_NAMES_MAX;
    }
    map->targets = malloc((n + 1) * sizeof *map->targets);
    if (!map->targets)
        return pf_fail_memory(error);
    for (size_t i = 0; i < map->n_entries && map->n_targets < n; i++)
        if (!i || map->functions[i] != map->functions[i - 1]) {
            uint32_t id = (uint32_t)map->n_targets + 1;
            map->targets[map->n_targets++] = (struct target){.address = map->functions[i], .id = id};
        }
    return 0;
}

/* Of several symbols at one address a global one is preferred to a weak one, that to a local one; of those
 * the first. */
static void name_targets(struct map *map, uint64_t address, unsigned binding, uint64_t name)
{
    uint8_t rank = binding == STB_GLOBAL ? 3 : binding == STB_WEAK ? 2 : 1;
    size_t low = 0, high = map->n_targets;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (map->targets[middle].address < address)
            low = middle + 1;
        else
            high = middle;
    }
    /* A function whose entries do not follow each other has several ids. They share the symbol; only the first
     * is looked at, so that no file can make this quadratic. */
    if (low < map->n_targets && map->targets[low].address == address && map->targets[low].rank < rank) {
        map->targets[low].rank = rank;
        map->targets[low].name = name;
    }
}

static void take_symbol(struct map *map, const GElf_Sym *symbol, const GElf_Shdr *strings)
{
    if (GELF_ST_TYPE(symbol->st_info) != STT_FUNC || symbol->st_shndx == SHN_UNDEF ||
        symbol->st_name >= strings->sh_size)
        return;
    name_targets(map, symbol->st_value, GELF_ST_BIND(symbol->st_info), strings->sh_offset + symbol->st_name);
}

static int read_symbols(struct map *map, const GElf_Shdr *section, const GElf_Shdr *strings,
                        struct pf_error *error)
{
    union {
        Elf32_Sym narrow[BATCH];
        Elf64_Sym wide[BATCH];
    } records;
    const struct elf *elf = &map->elf;
    size_t size = record_size(elf, ELF_T_SYM);
    uint64_t offset = section->sh_offset;
    for (uint64_t left = section->sh_size / size; left;) {
        ssize_t got =
            read_records(elf, ELF_T_SYM, offset, &records, left < BATCH ? (size_t)left : BATCH, error);
        if (got == 0)
            xray_names_problem(map->names, 0, "the file ends inside the symbols");
        if (got <= 0 || step(map, offset, error))
            return got == 0 ? 0 : -1;
        for (ssize_t i = 0; i < got; i++) {
            const Elf32_Sym *narrow = &records.narrow[i];
            GElf_Sym symbol = elf->wide ? records.wide[i]
                                        : (GElf_Sym){.st_name = narrow->st_name,
                                                     .st_info = narrow->st_info,
                                                     .st_shndx = narrow->st_shndx,
                                                     .st_value = narrow->st_value};
            take_symbol(map, &symbol, strings);
        }
        left -= (uint64_t)got;
        offset += (uint64_t)got * size;
    }
    return 0;
}

/* 1: there is a table of symbols of this type, and it has been read; 0: there is none; -1: *error filled. */
static int find_symbols(struct map *map, uint32_t type, struct pf_error *error)
{
    GElf_Shdr section = {0}, strings;
    int found = 1;
    for (size_t i = 0; i < map->elf.n_sections && found > 0; i++) {
        found = read_section(&map->elf, i, &section, error);
        if (found <= 0 || section.sh_type != type || section.sh_link >= map->elf.n_sections)
            continue;
        found = read_section(&map->elf, section.sh_link, &strings, error);
        if (found > 0)
            return read_symbols(map, &section, &strings, error) ? -1 : 1;
    }
    return found < 0 ? -1 : 0;
}

/* ---- names -------------------------------------------------------------------------------------- */

/* The text at an offset up to its NUL, at most `room` bytes. Most names are short: a long one is read twice.
 */
static ssize_t read_text(const struct elf *elf, uint64_t offset, char *text, size_t room,
                         struct pf_error *error)
{
    size_t want = 256;
    ssize_t got = pf_input_read(elf->input, text, want, offset, error);
    if (got == (ssize_t)want && !memchr(text, 0, want))
        got = pf_input_read(elf->input, text, room, offset, error);
    return got < 0 ? -1 : (ssize_t)strnlen(text, (size_t)got);
}

static int add_names(struct map *map, char *text, struct pf_error *error)
{
    /* Ids of one address take over what the first of them has found. */
    for (size_t i = 1; i < map->n_targets; i++)
        if (map->targets[i].address == map->targets[i - 1].address) {
            map->targets[i].rank = map->targets[i - 1].rank;
            map->targets[i].name = map->targets[i - 1].name;
        }
    qsort(map->targets, map->n_targets, sizeof *map->targets, by_id);
    for (size_t i = 0; i < map->n_targets; i++) {
        const struct target *target = &map->targets[i];
        ssize_t size = 0;
        if (target->rank && (size = read_text(&map->elf, target->name, text, XRAY_SYMBOL_MAX, error)) < 0)
            return -1;
        if (xray_names_add(map->names, target->id, target->address, target->rank ? text : NULL, (size_t)size,
                           error) ||
            (i % 256 == 0 && step(map, target->name, error)))
            return -1;
    }
    return 0;
}

static int read_map(struct map *map, struct pf_error *error)
{
    if (read_entries(map, error) || apply_relocations(map, error) || make_targets(map, error))
        return -1;
    qsort(map->targets, map->n_targets, sizeof *map->targets, by_address);
    int found = find_symbols(map, SHT_SYMTAB, error);
    if (!found)
        found = find_symbols(map, SHT_DYNSYM, error);
    if (found < 0)
        return -1;
    char *text = malloc(XRAY_SYMBOL_MAX);
    if (!text)
        return pf_fail_memory(error);
    int failed = add_names(map, text, error);
    free(text);
    return failed;
}

int xray_elf_map_read(struct xray_names *names, struct pf_input *input, struct pf_pass *pass,
                      struct pf_error *error)
{
    struct map map = {.names = names, .pass = pass};
    int found = open_elf(&map.elf, input, error);
    if (found > 0)
        found = find_map(&map.elf, &map.section, error);
    if (found < 0)
        return -1;
    if (!found) {
        xray_names_problem(names, 0, "it is no program with a section xray_instr_map");
        return 0;
    }
    int failed = read_map(&map, error);
    free(map.functions);
    free(map.targets);
    return failed;
}
