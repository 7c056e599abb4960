/* SPDX-License-Identifier: MIT */
/* Tests how names of an XRay log's functions are read from a program or a YAML map, and how the map of a log is chosen. */
#include <dirent.h>
#include <elf.h>
#include <sys/stat.h>

#include "formats/xray/names.h"
#include "tests/unit/xray_log.h"

/* ---- writing programs --------------------------------------------------------------------------- */

enum { MAP_ADDRESS = 0x9000, SYMBOLS_MAX = 8 };

struct symbol {
    const char *name;
    uint64_t address;
    unsigned binding, type;
    bool undefined;
};

/* A program whose map has two entries for each of three functions. */
struct program {
    bool wide, big;
    unsigned version; /* of the map */
    bool relocated;   /* the addresses in its map are 0 in the file and filled by relocations */
    bool dynamic;     /* its symbols are in .dynsym */
    uint64_t functions[3];
    struct symbol symbols[SYMBOLS_MAX]; /* ends at the first one without a name */
};

static const struct program plain = {.wide = true,
                                     .version = 2,
                                     .functions = {0x1000, 0x2000, 0x3000},
                                     .symbols = {{"main", 0x1000, STB_GLOBAL, STT_FUNC, false},
                                                 {"_ZN3app3ackEii", 0x2000, STB_LOCAL, STT_FUNC, false}}};

struct image {
    unsigned char bytes[8192];
    size_t size;
    bool wide, big;
};

static void put_bytes(struct image *image, uint64_t value, size_t size)
{
    for (size_t i = 0; i < size; i++)
        image->bytes[image->size + (image->big ? size - 1 - i : i)] = (unsigned char)(value >> 8 * i);
    image->size += size;
}

static void put_word(struct image *image, uint64_t value)
{
    put_bytes(image, value, image->wide ? 8 : 4);
}

static void put_text(struct image *image, const char *text)
{
    memcpy(image->bytes + image->size, text, strlen(text) + 1);
    image->size += strlen(text) + 1;
}

static void put_map(struct image *image, const struct program *program)
{
    size_t word = image->wide ? 8 : 4;
    for (unsigned i = 0; i < 6; i++) {
        uint64_t place = MAP_ADDRESS + 4 * word * i, function = program->functions[i / 2];
        bool relative = program->version >= 2;
        uint64_t address = function + i % 2 * 16;
        put_word(image, program->relocated ? 0 : relative ? address - place : address);
        put_word(image, program->relocated ? 0 : relative ? function - place - word : function);
        put_bytes(image, i % 2, 1);
        put_bytes(image, 1, 1);
        put_bytes(image, program->version, 1);
        for (size_t filled = 2 * word + 3; filled < 4 * word; filled++)
            put_bytes(image, 0xaa, 1);
    }
}

/* Writes two relative relocations, which have no symbol, for each entry of the map, then one relocation of another type. */
static void put_relocations(struct image *image, const struct program *program)
{
    size_t word = image->wide ? 8 : 4;
    uint64_t relative = R_X86_64_RELATIVE, other = image->wide ? ELF64_R_INFO(1, 1) : ELF32_R_INFO(1, 1);
    for (unsigned i = 0; i < 12; i++) {
        put_word(image, MAP_ADDRESS + 4 * word * (i / 2) + i % 2 * word);
        put_word(image, relative);
        put_word(image, program->functions[i / 4] + (i % 2 ? 0 : i / 2 % 2 * 16));
    }
    put_word(image, MAP_ADDRESS + word);
    put_word(image, other);
    put_word(image, 0x6666);
}

static void put_symbol(struct image *image, const struct symbol *symbol, size_t name)
{
    unsigned info = symbol->binding << 4 | symbol->type, section = symbol->undefined ? SHN_UNDEF : 1;
    put_bytes(image, name, 4);
    if (!image->wide) {
        put_word(image, symbol->address);
        put_word(image, 8);
    }
    put_bytes(image, info, 1);
    put_bytes(image, 0, 1);
    put_bytes(image, section, 2);
    if (image->wide) {
        put_word(image, symbol->address);
        put_word(image, 8);
    }
}

struct section {
    const char *name;
    unsigned type, link;
    uint64_t flags, address, offset, size;
};

static void put_section(struct image *image, const struct section *section, size_t name)
{
    put_bytes(image, name, 4);
    put_bytes(image, section->type, 4);
    put_word(image, section->flags);
    put_word(image, section->address);
    put_word(image, section->offset);
    put_word(image, section->size);
    put_bytes(image, section->link, 4);
    put_bytes(image, 0, 4);
    put_word(image, 8);
    put_word(image, 0);
}

static void put_elf_header(struct image *image, uint64_t sections, unsigned count)
{
    static const unsigned char magic[EI_NIDENT] = {0x7f, 'E', 'L', 'F'};
    size_t end = image->size;
    image->size = 0;
    memcpy(image->bytes, magic, sizeof magic);
    image->bytes[EI_CLASS] = image->wide ? ELFCLASS64 : ELFCLASS32;
    image->bytes[EI_DATA] = image->big ? ELFDATA2MSB : ELFDATA2LSB;
    image->bytes[EI_VERSION] = EV_CURRENT;
    image->size = EI_NIDENT;
    put_bytes(image, ET_DYN, 2);
    put_bytes(image, EM_X86_64, 2);
    put_bytes(image, EV_CURRENT, 4);
    put_word(image, 0x1000);
    put_word(image, 0);
    put_word(image, sections);
    put_bytes(image, 0, 4);
    put_bytes(image, image->wide ? 64 : 52, 2);
    put_bytes(image, 0, 4);
    put_bytes(image, image->wide ? 64 : 40, 2);
    put_bytes(image, count, 2);
    put_bytes(image, count - 1, 2);
    image->size = end;
}

static void put_names(struct image *image, const struct program *program)
{
    put_text(image, "");
    for (const struct symbol *symbol = program->symbols; symbol->name; symbol++)
        put_text(image, symbol->name);
}

static void put_symbols(struct image *image, const struct program *program)
{
    size_t name = 1;
    put_symbol(image, &(struct symbol){.undefined = true}, 0);
    for (const struct symbol *symbol = program->symbols; symbol->name; symbol++) {
        put_symbol(image, symbol, name);
        name += strlen(symbol->name) + 1;
    }
}

static void put_section_names(struct image *image, const struct section *sections, size_t count)
{
    for (size_t i = 0; i < count; i++)
        put_text(image, sections[i].name);
}

static void write_program(struct image *image, const struct program *program)
{
    enum { NONE, MAP, RELOCATIONS, SYMBOLS, STRINGS, NAMES, SECTIONS };
    struct section sections[SECTIONS] = {
        [NONE] = {.name = ""},
        [MAP] = {"xray_instr_map", SHT_PROGBITS, 0, SHF_ALLOC, MAP_ADDRESS, 0, 0},
        [RELOCATIONS] = {".rela.dyn", SHT_RELA, 0, SHF_ALLOC, 0, 0, 0},
        [SYMBOLS] = {program->dynamic ? ".dynsym" : ".symtab", program->dynamic ? SHT_DYNSYM : SHT_SYMTAB,
                     STRINGS, 0, 0, 0, 0},
        [STRINGS] = {".strtab", SHT_STRTAB, 0, 0, 0, 0, 0},
        [NAMES] = {".shstrtab", SHT_STRTAB, 0, 0, 0, 0, 0},
    };
    *image = (struct image){.size = 64, .wide = program->wide, .big = program->big};
    for (unsigned i = MAP; i < SECTIONS; i++) {
        sections[i].offset = image->size;
        if (i == MAP)
            put_map(image, program);
        else if (i == RELOCATIONS && program->relocated)
            put_relocations(image, program);
        else if (i == SYMBOLS)
            put_symbols(image, program);
        else if (i == STRINGS)
            put_names(image, program);
        else if (i == NAMES)
            put_section_names(image, sections, SECTIONS);
        sections[i].size = image->size - sections[i].offset;
    }
    size_t headers = image->size, name = 0;
    for (unsigned i = 0; i < SECTIONS; i++) {
        put_section(image, &sections[i], name);
        name += strlen(sections[i].name) + 1;
    }
    put_elf_header(image, headers, SECTIONS);
}

/* ---- folders with a log ------------------------------------------------------------------------- */

/* A log of calls of functions 1 to 4. */
static void put_calls(struct log *log)
{
    put_header(log, 5, 1000000000, 4096);
    open_buffer(log, 1, 0, 1000);
    for (uint32_t id = 1; id <= 4; id++) {
        put_function(log, ENTER, id, 1);
        put_function(log, EXIT, id, id);
    }
    close_buffer(log);
}

struct place {
    char folder[64], path[128];
    int directory;
};

static void put_file(struct place *place, const char *name, const void *bytes, size_t size)
{
    int fd = openat(place->directory, name, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    if (fd < 0 || write(fd, bytes, size) != (ssize_t)size)
        abort();
    close(fd);
}

static void put_yaml(struct place *place, const char *name, const char *text)
{
    put_file(place, name, text, strlen(text));
}

static void put_program(struct place *place, const char *name, const struct program *program)
{
    struct image image;
    write_program(&image, program);
    put_file(place, name, image.bytes, image.size);
}

/* Makes a folder that holds only a log with this name. */
static struct place new_place(const char *log_name)
{
    static struct log log;
    struct place place = {.folder = "/tmp/xray-names.XXXXXX"};
    if (!mkdtemp(place.folder))
        abort();
    place.directory = open(place.folder, O_RDONLY | O_DIRECTORY);
    put_calls(&log);
    put_file(&place, log_name, log.bytes, log.size);
    return place;
}

static void remove_place(struct place *place)
{
    DIR *listing = fdopendir(place->directory);
    for (struct dirent *entry; (entry = readdir(listing));)
        unlinkat(place->directory, entry->d_name, 0);
    closedir(listing);
    rmdir(place->folder);
}

/* Loads a log of a folder with the option instr_map. */
static void load_log(struct opened *opened, struct place *place, const char *name, const char *instr_map)
{
    *opened = (struct opened){.options = {.cache = 1 << 20, .instr_map = instr_map}};
    if (profile_open(&opened->model, &pf_xray_driver, place->directory, name, &opened->options,
                     &opened->error) ||
        load(opened, PF_DERIVED))
        abort();
}

static void unload_log(struct opened *opened)
{
    profile_close(&opened->model);
}

/* Checks the names of the log's functions by id, each followed by a semicolon. */
static void names_are(const struct opened *opened, const char *want, const char *name)
{
    struct pf_buf text = {0};
    const struct pf_tree *tree = opened->model.contexts;
    for (uint32_t i = 0; i < tree->count; i++) {
        struct pf_cell cell = pf_interned(tree->strings, tree->name[i]);
        pf_buf_add(&text, cell.text, cell.size);
        pf_buf_char(&text, ';');
    }
    pf_buf_char(&text, '\0');
    is(text.data, want, name);
    pf_buf_free(&text);
}

static void calls_are(struct place *place, const char *log, const char *instr_map, const char *want,
                      const char *name)
{
    struct opened opened;
    load_log(&opened, place, log, instr_map);
    names_are(&opened, want, name);
    unload_log(&opened);
}

#define LOG "xray-log.prog.Ab12Cd"

/* ---- programs ----------------------------------------------------------------------------------- */

#define PLAIN_NAMES "main;app::ack(int, int);@(3000);#4;"

static void program_is(const struct program *program, const char *want, const char *name)
{
    struct place place = new_place(LOG);
    put_program(&place, "prog", program);
    calls_are(&place, LOG, NULL, want, name);
    remove_place(&place);
}

static void reads_every_kind_of_program(void)
{
    for (unsigned kind = 0; kind < 12; kind++) {
        struct program program = plain;
        program.wide = kind & 1;
        program.big = kind & 2;
        program.version = kind / 4;
        char name[80];
        snprintf(name, sizeof name, "%d bits, %s-endian, map of version %u", program.wide ? 64 : 32,
                 program.big ? "big" : "little", program.version);
        program_is(&program, PLAIN_NAMES, name);
        program.relocated = program.version < 2;
        snprintf(name, sizeof name, "%d bits, %s-endian, map of version %u: relocated",
                 program.wide ? 64 : 32, program.big ? "big" : "little", program.version);
        if (program.relocated)
            program_is(&program, PLAIN_NAMES, name);
    }
}

static void chooses_symbols(void)
{
    struct program program = plain;
    program.dynamic = true;
    program_is(&program, PLAIN_NAMES, "symbols of a program without .symtab are those of .dynsym");
    static const struct symbol symbols[SYMBOLS_MAX] = {
        {"data", 0x1000, STB_GLOBAL, STT_OBJECT, false}, {"elsewhere", 0x1000, STB_GLOBAL, STT_FUNC, true},
        {"local", 0x1000, STB_LOCAL, STT_FUNC, false},   {"weak", 0x1000, STB_WEAK, STT_FUNC, false},
        {"global", 0x1000, STB_GLOBAL, STT_FUNC, false}, {"alias", 0x1000, STB_GLOBAL, STT_FUNC, false},
        {"inside", 0x2004, STB_GLOBAL, STT_FUNC, false}};
    program = plain;
    memcpy(program.symbols, symbols, sizeof symbols);
    program_is(&program, "global;@(2000);@(3000);#4;",
               "the first global symbol of a function is its name; data and undefined symbols are not names");
    program = plain;
    program.functions[2] = 0x1000;
    program_is(&program, "main;app::ack(int, int);main;#4;", "a function may have several ids");
    program = plain;
    program.functions[1] = 0x1000;
    program_is(&program, "main;@(3000);#3;#4;", "consecutive entries of one function share an id");
}

/* The log is served whatever the damage of the program. */
static void survives_damaged_programs(void)
{
    struct place place = new_place(LOG);
    struct image image;
    struct opened opened;
    struct program program = plain;
    program.version = 0;
    program.relocated = true;
    write_program(&image, &program);
    for (size_t size = 0; size < image.size; size += size < 128 ? 8 : 61) {
        put_file(&place, "prog", image.bytes, size);
        load_log(&opened, &place, LOG, NULL);
        unload_log(&opened);
    }
    ok(true, "a program truncated anywhere leaves the log readable");
    for (size_t at = EI_NIDENT; at < image.size; at += 23) {
        struct image damaged = image;
        memset(damaged.bytes + at, 0xff, 4);
        put_file(&place, "prog", damaged.bytes, damaged.size);
        load_log(&opened, &place, LOG, NULL);
        unload_log(&opened);
    }
    ok(true, "a program with wrong numbers leaves the log readable");
    remove_place(&place);
}

/* ---- maps in YAML ------------------------------------------------------------------------------- */

static void yaml_is(const char *text, const char *want, const char *warnings, const char *name)
{
    struct place place = new_place(LOG);
    struct opened opened;
    char about[256];
    put_yaml(&place, "prog.yaml", text);
    load_log(&opened, &place, LOG, NULL);
    names_are(&opened, want, name);
    snprintf(about, sizeof about, "%s: the warnings are those expected", name);
    if (warnings)
        columns_are(opened.model.warnings, "0234", warnings, about);
    unload_log(&opened);
    remove_place(&place);
}

static void reads_yaml(void)
{
    yaml_is("# made by hand\n---\n"
            "- { id: 1, address: 0x10, function: 0x10, kind: function-enter, function-name: main }\n"
            "- { id: 1, address: 0x20, function: 0x10, kind: function-exit, function-name: main }\n"
            "- { id: 2, function: 0x30, function-name: 'f<a, ''b'' #1>(int)', version: 2 } # a comment\n"
            "- { id: 3, function: 0x40, kind: typed-event }\n"
            "- { id: 4, address: 0x50, function: 0x50, function-name: \"say \\\"\\u00e9\\x21\\\"\" }\n",
            "main;f<a, 'b' #1>(int);@(40);say \"\303\251!\";", "",
            "a name may be plain, quoted, missing or with escapes");
    yaml_is("-   {  id:  4 ,\r\n   function:\t0xAB,\n\n  function-name: 'a\n    b' }\n"
            "- {function: 1, id: 2, always-instrument: true, function-name: _ZN1f1gEv}\n",
            "#1;f::g();#3;a b;", NULL,
            "mappings may span lines, ids may be in any order, and C++ symbols are demangled");
    yaml_is("[{ id: 1, function: 16, function-name: a }, { id: 2, function: 32, function-name: b },\n"
            " { id: 1, function: 48, function-name: c }, { id: 4, function: 5 }]\n",
            "a;b;#3;@(5);", "", "a map may be a list in brackets, and the first name of an id is used");
}

static void reports_damaged_yaml(void)
{
    yaml_is("- { id: 1, function: 0x10, function-name: a }\n- { id: 2, function: 0x20, function-name: b\n",
            "a;#2;#3;#4;",
            "3,warning,bad-map,\"the instrumentation map prog.yaml: did not find expected ',' or '}'; the "
            "rest is "
            "not read\"\n",
            "a truncated entry ends the map");
    yaml_is("- { id: 1, function: 0x10, function-name: a }\nid: 2\n", "a;#2;#3;#4;",
            "2,warning,bad-map,the instrumentation map prog.yaml: did not find expected '-' indicator; the "
            "rest is "
            "not read\n",
            "a value that is not a list of entries ends the map");
    yaml_is("- { id: 1, function: 0x10, function-name: a }\n- { id: 268435456, function: 1 }\n",
            "a;#2;#3;#4;",
            "2,warning,bad-map,the instrumentation map prog.yaml: the function id is not a number; the "
            "rest is not read\n",
            "an id of more than 28 bits ends the map");
    yaml_is("- { id: 268435455, function: 1, function-name: z }\n", "#1;#2;#3;#4;", "",
            "a map may begin with any id");
    yaml_is("- { id: 1, function: 0x10, function-name: a }\n- { id: 3, function: 0x20 }\n", "a;#2;@(20);#4;",
            ",warning,short-map,\"the log has a function #4, but the instrumentation map prog.yaml ends "
            "with #3: it may be that of another program\"\n",
            "a log with functions beyond the map is reported");
}

static void cuts_long_names(void)
{
    enum { LONG = 300000 };
    static char text[LONG + 200];
    struct opened opened;
    struct place place = new_place(LOG);
    int size = snprintf(text, sizeof text, "- { id: 1, function: 1, function-name: ");
    memset(text + size, 'x', LONG);
    strcpy(text + size + LONG, " }\n- { id: 2, function: 2, function-name: b }\n");
    put_yaml(&place, "prog.yaml", text);
    load_log(&opened, &place, LOG, NULL);
    const struct pf_tree *tree = opened.model.contexts;
    ok(pf_interned(tree->strings, tree->name[0]).size == XRAY_SYMBOL_MAX, "a name is cut to 64 KB");
    ok(pf_interned(tree->strings, tree->name[1]).size == 1, "the name after a truncated name is read");
    unload_log(&opened);
    remove_place(&place);
}

/* ---- choice of the map -------------------------------------------------------------------------- */

#define YAML(name) "- { id: 1, function: 0x10, function-name: " name " }\n"

static void finds_maps_by_name(void)
{
    struct place place = new_place(LOG);
    put_yaml(&place, "other.yaml", YAML("other"));
    put_yaml(&place, "prog.instr_map.yaml", YAML("mine"));
    calls_are(&place, LOG, NULL, "mine;#2;#3;#4;", "a map with the name of the log's program is used");
    put_program(&place, "prog", &plain);
    calls_are(&place, LOG, NULL, PLAIN_NAMES, "of a program and a map with fewer names, the program is used");
    put_yaml(&place, "prog.yaml",
             YAML("y1") "- { id: 2, function: 2, function-name: y2 }\n"
                        "- { id: 3, function: 3, function-name: y3 }\n");
    calls_are(&place, LOG, NULL, "y1;y2;y3;#4;", "of a program and a map with more names, the map is used");
    snprintf(place.path, sizeof place.path, "%s/other.yaml", place.folder);
    calls_are(&place, LOG, place.path, "other;#2;#3;#4;", "the map of the option precedes all others");
    remove_place(&place);
}

static void takes_the_only_map(void)
{
    struct place place = new_place("some.log");
    put_yaml(&place, "notes.txt", "- nothing { of the kind }\n");
    put_yaml(&place, "map.yaml", YAML("only"));
    calls_are(&place, "some.log", NULL, "only;#2;#3;#4;", "the only map next to a log is used");
    put_yaml(&place, "xray-log.not.a.map", YAML("log"));
    calls_are(&place, "some.log", NULL, "only;#2;#3;#4;", "files with names of logs are not used as maps");
    put_yaml(&place, "map2.yaml", YAML("second"));
    calls_are(&place, "some.log", NULL, "#1;#2;#3;#4;", "of two unrelated maps, none is used");
    unlinkat(place.directory, "map2.yaml", 0);
    put_program(&place, "a.out", &plain);
    calls_are(&place, "some.log", NULL, "#1;#2;#3;#4;",
              "of a program and the map of another program, none is used");
    put_yaml(&place, "map.yaml",
             "- { id: 1, function: 0x1000 }\n- { id: 2, function: 0x2000 }\n- { id: 3, function: 0x3000 }\n");
    calls_are(&place, "some.log", NULL, PLAIN_NAMES,
              "of a program and its own map, the one with more names is used");
    unlinkat(place.directory, "map.yaml", 0);
    unlinkat(place.directory, "a.out", 0);
    if (symlinkat("/proc/self/exe", place.directory, "prog") || symlinkat("notes.txt", place.directory, "l"))
        abort();
    calls_are(&place, "some.log", NULL, "#1;#2;#3;#4;", "symbolic links are not followed");
    remove_place(&place);
}

/* Checks info.txt's line about the map once the log is open, before the map is read. */
static void map_is(struct place *place, const char *instr_map, const char *want, const char *name)
{
    struct opened opened;
    load_log(&opened, place, LOG, instr_map);
    const struct pf_rows *info = opened.model.info;
    const struct pf_cell *last = pf_rows_at(info, pf_rows_count(info) - 1);
    struct pf_buf text = {0};
    pf_csv_cell(&text, &last[0]);
    pf_buf_str(&text, ": ");
    pf_csv_cell(&text, &last[1]);
    pf_buf_char(&text, '\0');
    is(text.data, want, name);
    pf_buf_free(&text);
    unload_log(&opened);
}

static void tells_the_map(void)
{
    struct place place = new_place(LOG);
    map_is(&place, NULL, "Instrumentation map: none found", "info.txt of a log without a map says so");
    put_yaml(&place, "other.yaml", YAML("other"));
    map_is(&place, NULL, "Instrumentation map: other.yaml", "info.txt names the only map next to a log");
    put_program(&place, "prog", &plain);
    map_is(&place, NULL, "Instrumentation map: prog",
           "info.txt names the log's program rather than an unrelated map");
    put_yaml(&place, "prog.yaml", YAML("mine"));
    map_is(&place, NULL, "Instrumentation map: prog or prog.yaml",
           "info.txt names both the program and the map with the program's name");
    map_is(&place, "/absent/map", "Instrumentation map: /absent/map",
           "info.txt names the file of the option as given");
    remove_place(&place);
}

/* The shared objects of the program are instrumented too. An id consists of the numbers of an object and of a function, here 2 and 5. */
static void tells_shared_objects(void)
{
    static struct log log;
    struct place place = new_place(LOG);
    put_calls(&log);
    open_buffer(&log, 2, 0, 2000);
    put_function(&log, ENTER, 2 << 24 | 5, 1);
    put_function(&log, EXIT, 2 << 24 | 5, 1);
    close_buffer(&log);
    put_file(&place, LOG, log.bytes, log.size);
    struct opened opened;
    load_log(&opened, &place, LOG, NULL);
    columns_are(opened.model.warnings, "23", "", "shared objects are not reported without a map");
    unload_log(&opened);
    put_yaml(&place, "prog.yaml", YAML("one") "- { id: 4, function: 4, function-name: four }\n");
    load_log(&opened, &place, LOG, NULL);
    names_are(&opened, "one;#2;#3;four;#33554437;", "functions of a shared object have their ids as names");
    columns_are(opened.model.warnings, "23", "warning,shared-objects\n",
                "shared objects are reported, and are no sign of another program's map");
    unload_log(&opened);
    put_yaml(&place, "prog.yaml", YAML("one"));
    load_log(&opened, &place, LOG, NULL);
    columns_are(opened.model.warnings, "23", "warning,shared-objects\nwarning,short-map\n",
                "functions of the program beyond the map are reported");
    unload_log(&opened);
    put_yaml(&place, "prog.yaml", YAML("one") "- { id: 33554437, function: 9, function-name: far }\n");
    calls_are(&place, LOG, NULL, "one;#2;#3;#4;far;",
              "a map with ids of shared objects names their functions");
    remove_place(&place);
}

static size_t open_files(void)
{
    size_t count = 0;
    DIR *listing = opendir("/proc/self/fd");
    while (listing && readdir(listing))
        count++;
    if (listing)
        closedir(listing);
    return count;
}

static void keeps_no_file_open(void)
{
    struct place place = new_place("some.log");
    struct opened opened;
    size_t before = open_files();
    for (char name[] = "file-a"; name[5] <= 'z'; name[5]++)
        put_yaml(&place, name, "text\n");
    put_program(&place, "map", &plain);
    load_log(&opened, &place, "some.log", NULL);
    names_are(&opened, PLAIN_NAMES, "a map is found among other files");
    ok(open_files() <= before + 2, "only the log and its folder stay open");
    unload_log(&opened);
    remove_place(&place);
}

static void reports_bad_options(void)
{
    struct place place = new_place(LOG);
    struct opened opened;
    snprintf(place.path, sizeof place.path, "%s/absent", place.folder);
    load_log(&opened, &place, LOG, place.path);
    names_are(&opened, "#1;#2;#3;#4;", "a missing file of the option leaves functions without names");
    columns_are(opened.model.warnings, "23", "warning,bad-map\n", "a missing file of the option is reported");
    ok(!pf_source_check(opened.model.source, &opened.error),
       "a log with a missing file of the option is unchanged while the file is missing");
    put_yaml(&place, "absent", YAML("late"));
    ok(pf_source_check(opened.model.source, &opened.error),
       "a log changes when the missing file of the option appears");
    unload_log(&opened);
    calls_are(&place, LOG, place.path, "late;#2;#3;#4;",
              "the file of the option is read after it has appeared");
    put_yaml(&place, "absent", "neither\n");
    load_log(&opened, &place, LOG, place.path);
    columns_are(opened.model.warnings, "23", "warning,bad-map\n",
                "a file of the option that is not a map is reported");
    unload_log(&opened);
    remove_place(&place);
}

/* ---- changes ------------------------------------------------------------------------------------ */

static bool is_current(struct opened *opened)
{
    return !pf_source_check(opened->model.source, &opened->error);
}

static void notices_changes(void)
{
    struct place place = new_place(LOG);
    struct opened opened;
    load_log(&opened, &place, LOG, NULL);
    ok(is_current(&opened), "a log without a map is unchanged while no map appears");
    put_program(&place, "prog", &plain);
    ok(!is_current(&opened), "a log changes when its program appears");
    unload_log(&opened);

    load_log(&opened, &place, LOG, NULL);
    ok(is_current(&opened), "a log with its program is unchanged at first");
    put_yaml(&place, "unrelated", "text\n");
    ok(is_current(&opened), "a log with its program is unchanged by other files");
    put_yaml(&place, "prog", YAML("new"));
    ok(!is_current(&opened), "a log changes when its program changes");
    unload_log(&opened);

    load_log(&opened, &place, LOG, NULL);
    unlinkat(place.directory, "prog", 0);
    ok(!is_current(&opened), "a log changes when its program is deleted");
    unload_log(&opened);

    remove_place(&place);
    place = new_place("some.log");
    load_log(&opened, &place, "some.log", NULL);
    put_yaml(&place, "xray-log.prog.Zz9999", "text\n");
    put_yaml(&place, "p7.xray", "text\n");
    ok(is_current(&opened), "a log without a program of its own is unchanged by other logs");
    put_yaml(&place, "anything", YAML("map"));
    ok(!is_current(&opened),
       "a log without a program of its own changes when a file appears that may be its map");
    unload_log(&opened);
    remove_place(&place);
}

/* ---- demangling --------------------------------------------------------------------------------- */

static void demangles(const char *symbol, const char *want, const char *name)
{
    char text[16384];
    size_t size = xray_demangle(symbol, strlen(symbol), text, sizeof text - 1);
    text[size] = 0;
    is(text, want, name);
}

static void demangles_symbols(void)
{
    demangles("_ZNSt6vectorIiSaIiEE9push_backERKi",
              "std::vector<int, std::allocator<int> >::push_back(int const&)", "a C++ symbol is demangled");
    demangles("main", "", "a C symbol is not a mangled name");
    demangles("_Z", "", "the prefix of mangled names alone is not a mangled name");
    /* Each argument consists of two copies of the previous one, so about 300 bytes describe 2^30 arguments. */
    char symbol[512] = "_Z1f1TIiiE";
    for (int i = 0; i < 30; i++) {
        char part[16], number = (char)(i < 10 ? '0' + i : 'A' + i - 10);
        snprintf(part, sizeof part, "S_IS%c_S%c_E", number, number);
        strcat(symbol, part);
    }
    demangles(symbol, "", "a symbol that would expand to gigabytes is not demangled");
    char deep[3000] = "_Z1f";
    memset(deep + 4, 'P', sizeof deep - 6);
    deep[sizeof deep - 2] = 'i';
    demangles(deep, "", "a symbol that would need a deep stack is not demangled");
}

int main(void)
{
    reads_every_kind_of_program();
    chooses_symbols();
    survives_damaged_programs();
    reads_yaml();
    reports_damaged_yaml();
    cuts_long_names();
    finds_maps_by_name();
    takes_the_only_map();
    tells_the_map();
    tells_shared_objects();
    keeps_no_file_open();
    reports_bad_options();
    notices_changes();
    demangles_symbols();
    return done();
}
