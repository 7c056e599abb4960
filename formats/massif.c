/* SPDX-License-Identifier: MIT */
/*
 * Massif's text: the heap at some moments, of some of them with a tree of who has allocated it. The tree stands on its head:
 * its root is the allocator, below a function stand its callers. See docs/formats/massif.md.
 */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "formats/input/linereader.h"
#include "formats/kit/array.h"
#include "formats/kit/parse.h"
#include "formats/kit/samples.h"

extern const struct pf_driver pf_massif_driver;

/* A file's main part repeats these, in this order. */
enum { TIME, HEAP, EXTRA, STACKS, TREE, FIELDS };
static const char *const keys[FIELDS] = {
    "time=", "mem_heap_B=", "mem_heap_extra_B=", "mem_stacks_B=", "heap_tree="};

static const struct pf_column field_columns[FIELDS] = {
    {"time", PF_PLAIN, 0},         {"mem_heap_B", PF_PLAIN, 0}, {"mem_heap_extra_B", PF_PLAIN, 0},
    {"mem_stacks_B", PF_PLAIN, 0}, {"heap_tree", PF_PLAIN, 0},
};

enum { FUNCTION, ALLOCATOR, PLACES };
static const char *const kinds[] = {[FUNCTION] = "function", [ALLOCATOR] = "allocator", [PLACES] = "places"};

/* ---- what a node says --------------------------------------------------------------------------- */

struct text {
    const char *at;
    size_t size;
};

/* `0xADDRESS: FUNCTION (FILE:LINE)`, `0xADDRESS: FUNCTION (in OBJECT)`, `0xADDRESS: ???`; else all of it is a name. */
struct place {
    struct text address, name, file, module;
    uint32_t line;
};

static void split_location(struct place *place, struct text location)
{
    size_t colon = location.size;
    if (location.size > 3 && !memcmp(location.at, "in ", 3)) {
        place->module = (struct text){location.at + 3, location.size - 3};
        return;
    }
    while (colon && isdigit((unsigned char)location.at[colon - 1]))
        colon--;
    place->file = location;
    if (!colon || location.at[colon - 1] != ':' || colon == location.size || location.size - colon > 9)
        return;
    place->file.size = colon - 1;
    for (; colon < location.size; colon++)
        place->line = place->line * 10 + (uint32_t)(location.at[colon] - '0');
}

static struct place split(struct text text)
{
    struct place place = {.name = text};
    size_t at = 2;
    if (text.size < 5 || text.at[0] != '0' || text.at[1] != 'x')
        return place;
    while (at < text.size && isxdigit((unsigned char)text.at[at]))
        at++;
    if (at + 2 > text.size || text.at[at] != ':' || text.at[at + 1] != ' ')
        return place;
    place.address = (struct text){text.at, at};
    place.name = (struct text){text.at + at + 2, text.size - at - 2};
    /* Names have brackets of their own: the last one is the place. */
    size_t open = place.name.size, depth = 0;
    if (!open || place.name.at[open - 1] != ')')
        return place;
    for (; open && !(place.name.at[open - 1] == '(' && depth == 1); open--)
        depth += (size_t)(place.name.at[open - 1] == ')') - (place.name.at[open - 1] == '(');
    if (open < 2 || place.name.at[open - 2] != ' ')
        return place;
    split_location(&place, (struct text){place.name.at + open, place.name.size - open - 1});
    place.name.size = open - 2;
    return place;
}

/* ---- recognising, and the header ---------------------------------------------------------------- */

static const char *const header[][2] = {{"cmd:", "Title"}, {"desc:", "Options"}, {"time_unit:", "Time unit"}};
enum { HEADERS = sizeof header / sizeof *header, LOOK = 8192, TAIL = 4096 };

static bool begins(struct text line, const char *word)
{
    size_t size = strlen(word);
    return line.size >= size && !memcmp(line.at, word, size);
}

/* The next line of some text; false if there is none, or it is cut. */
static bool take_line(struct text *text, struct text *line)
{
    const char *end = text->size ? memchr(text->at, '\n', text->size) : NULL;
    if (!end)
        return false;
    *line = (struct text){text->at, (size_t)(end - text->at)};
    text->size -= line->size + 1;
    text->at = end + 1;
    line->size -= line->size && end[-1] == '\r';
    return true;
}

static void probe(struct pf_probe *probe, struct pf_verdict *verdict)
{
    size_t have;
    bool snapshot = false, known = true;
    const char *head = (const char *)pf_samples_head(probe, LOOK, &have);
    struct text text = {head, have < LOOK ? have : LOOK}, line;
    while (known && take_line(&text, &line)) {
        if (snapshot && begins(line, keys[TIME])) {
            verdict->confidence = 24;
            return;
        }
        known = !line.size || *line.at == '#';
        for (size_t i = 0; i < HEADERS; i++)
            known |= !snapshot && begins(line, header[i][0]);
        known |= snapshot |= begins(line, "snapshot=");
    }
}

/* The header's lines are kept for info.txt. */
static int add_info(struct pf_profile *profile, struct text line, struct pf_error *error)
{
    for (size_t i = 0; i < HEADERS; i++) {
        size_t size = strlen(header[i][0]);
        if (!begins(line, header[i][0]))
            continue;
        while (size < line.size && line.at[size] == ' ')
            size++;
        struct pf_cell cells[] = {pf_string(header[i][1]), pf_text(line.at + size, line.size - size)};
        return size < line.size ? pf_rows_add(profile->info, cells, error) : 0;
    }
    return 0;
}

static int open_file(struct pf_profile *profile, struct pf_error *error)
{
    struct pf_samples *samples = profile->state;
    char bytes[LOOK];
    ssize_t have = pf_input_read(samples->input, bytes, LOOK, 0, error);
    struct text text = {bytes, have > 0 ? (size_t)have : 0}, line;
    while (take_line(&text, &line) && !begins(line, "snapshot="))
        if (add_info(profile, line, error))
            return -1;
    /* heaptrack_print writes its header at the end. */
    uint64_t size = pf_input_size(samples->input);
    if (have < 0 || pf_rows_count(profile->info) || size == UINT64_MAX)
        return have < 0 ? -1 : 0;
    have = pf_input_read(samples->input, bytes, TAIL, size > TAIL ? size - TAIL : 0, error);
    text = (struct text){bytes, have > 0 ? (size_t)have : 0};
    while (take_line(&text, &line))
        if (add_info(profile, line, error))
            return -1;
    return have < 0 ? -1 : 0;
}

/* ---- reading ------------------------------------------------------------------------------------ */

/* A node whose callers are being read. */
struct node {
    uint32_t context;
    uint64_t announced, seen; /* nodes below it */
    int64_t bytes, below;
};

struct reader {
    struct pf_profile *profile;
    struct pf_error *error;
    struct pf_linereader *lines;
    struct pf_line line;
    int metric;

    bool within;        /* a snapshot, whose name and fields follow */
    uint32_t partition; /* PF_NO_PARTITION: not added yet */
    uint32_t name;      /* number of a string */
    uint64_t begun;     /* line */
    struct pf_cell fields[FIELDS];
    pf_int128 numbers[FIELDS]; /* what they may point to */
    bool tree;                 /* one is announced */

    struct node *open; /* from the root on */
    size_t n_open, room;
    uint32_t peak, largest; /* partitions */
    int64_t most;           /* bytes of the largest snapshot with a tree */
};

static int complain(struct reader *reader, const char *severity, const char *code, const char *what)
{
    return pf_warn(reader->profile, (int64_t)reader->line.number, (int64_t)reader->line.offset, severity,
                   code, reader->error, "%s", what);
}

static uint32_t intern(struct reader *reader, struct text text)
{
    return pf_samples_string(reader->profile, text.at, text.size, reader->error);
}

/* The snapshot's row, once all is known that stands before its tree. */
static int add_snapshot(struct reader *reader)
{
    struct pf_cell name = pf_interned(reader->profile->contexts->strings, reader->name);
    if (!reader->within || reader->partition != PF_NO_PARTITION)
        return 0;
    for (int i = 0; i < FIELDS; i++)
        if (reader->fields[i].type == PF_ABSENT &&
            pf_warn(reader->profile, (int64_t)reader->begun, -1, "warning", "missing", reader->error,
                    "a snapshot without %.16s", field_columns[i].name))
            return -1;
    uint64_t before = pf_rows_count(reader->profile->partitions.items);
    reader->partition =
        pf_samples_partition(reader->profile, name.text, name.size, reader->fields, reader->error);
    if (reader->partition < before)
        return pf_warn(reader->profile, (int64_t)reader->begun, -1, "error", "again", reader->error,
                       "a snapshot of a number that another has: its tree is added to that one's");
    return reader->partition == PF_NO_PARTITION ? -1 : 0;
}

/* Of the innermost open node all callers are known: what none of them accounts for is its own. */
static int close_node(struct reader *reader)
{
    const struct node *node = &reader->open[--reader->n_open];
    if (node->below > node->bytes &&
        complain(reader, "warning", "sum", "callers with more bytes of mem_heap_B than what they call"))
        return -1;
    if (node->seen < node->announced && node->bytes &&
        complain(reader, "warning", "fewer-callers", "the tree has fewer nodes than it announces"))
        return -1;
    return pf_samples_add(reader->profile, reader->partition, node->context, (uint32_t)reader->metric,
                          pf_int(node->bytes - node->below), reader->error);
}

static int close_nodes(struct reader *reader, size_t depth)
{
    while (reader->n_open > depth)
        if (close_node(reader))
            return -1;
    return 0;
}

static int open_node(struct reader *reader, const struct node *announced, struct text text)
{
    struct pf_tree *tree = reader->profile->contexts;
    struct place place = split(text);
    uint32_t key = intern(reader, text), name = intern(reader, place.name);
    if (key == PF_NO_STRING || name == PF_NO_STRING ||
        pf_array_room(&reader->open, &reader->room, reader->n_open, sizeof *reader->open, reader->error) ||
        !reader->open)
        return -1;
    struct node *above = reader->n_open ? &reader->open[reader->n_open - 1] : NULL;
    uint8_t kind = !above ? ALLOCATOR : place.address.size ? FUNCTION : PLACES;
    uint8_t flags = above ? PF_FRAME : PF_FRAME | PF_ROOT;
    struct node node = *announced;
    node.context =
        pf_tree_child(tree, above ? above->context : PF_NO_CONTEXT, key, name, kind, flags, reader->error);
    if (node.context == PF_NO_CONTEXT)
        return -1;
    if (above) {
        above->seen++;
        if (__builtin_add_overflow(above->below, node.bytes, &above->below))
            above->below = INT64_MAX;
    } else if (reader->largest == PF_NO_PARTITION || node.bytes > reader->most) {
        reader->largest = reader->partition;
        reader->most = node.bytes;
    }
    reader->open[reader->n_open++] = node;
    return 0;
}

/* Takes a number of at most 18 digits, and what stands behind it. */
static bool take_number(struct text *text, const char *behind, uint64_t *number)
{
    size_t digits = 0;
    for (*number = 0; digits < text->size && digits < 18 && isdigit((unsigned char)text->at[digits]);
         digits++)
        *number = *number * 10 + (uint64_t)(text->at[digits] - '0');
    struct text rest = {text->at + digits, text->size - digits};
    if (!digits || !begins(rest, behind))
        return false;
    *text = (struct text){rest.at + strlen(behind), rest.size - strlen(behind)};
    return true;
}

/* A node is `nCALLERS: BYTES TEXT` behind as many blanks as it is deep. 1: the line is none. */
static int read_node(struct reader *reader, struct text line)
{
    size_t depth = 0;
    uint64_t announced, bytes;
    while (depth < line.size && line.at[depth] == ' ')
        depth++;
    struct text text = {line.at + depth, line.size - depth};
    if (!reader->tree || !begins(text, "n"))
        return 1;
    text = (struct text){text.at + 1, text.size - 1};
    if (!take_number(&text, ": ", &announced) || !take_number(&text, " ", &bytes))
        return 1;
    if (depth > reader->n_open)
        return complain(reader, "error", "depth", "a node deeper than one below the last: left out");
    if (close_nodes(reader, depth))
        return -1;
    return open_node(reader, &(struct node){.announced = announced, .bytes = (int64_t)bytes}, text);
}

static bool is_number(struct text text)
{
    size_t points = 0;
    for (size_t i = 0; i < text.size; i++) {
        points += text.at[i] == '.';
        if (text.at[i] != '.' && !isdigit((unsigned char)text.at[i]))
            return false;
    }
    return points < 2 && text.size > points;
}

static int read_field(struct reader *reader, int field, struct text text)
{
    struct pf_cell *cell = &reader->fields[field];
    if (field == TREE) {
        uint32_t word = intern(reader, text);
        if (word == PF_NO_STRING)
            return -1;
        *cell = pf_interned(reader->profile->contexts->strings, word);
        reader->tree = !begins(text, "empty");
        if (add_snapshot(reader))
            return -1;
        if (begins(text, "peak"))
            reader->peak = reader->partition;
        return 0;
    }
    if (!is_number(text))
        return complain(reader, "error", "bad-number", "a number that is none: left out");
    *cell = pf_parse_amount(text.at, text.size, &reader->numbers[field]);
    return 0;
}

static int end_snapshot(struct reader *reader)
{
    if (close_nodes(reader, 0) || add_snapshot(reader))
        return -1;
    memset(reader->fields, 0, sizeof reader->fields);
    reader->within = reader->tree = false;
    reader->partition = PF_NO_PARTITION;
    return 0;
}

static int begin_snapshot(struct reader *reader, struct text name)
{
    reader->within = true;
    reader->begun = reader->line.number;
    reader->name = intern(reader, name);
    return reader->name == PF_NO_STRING ? -1 : 0;
}

static int read_line(struct reader *reader)
{
    struct text line = {reader->line.text, reader->line.size};
    if (pf_linereader_tell(reader->lines) == reader->line.offset + reader->line.size && !reader->line.more)
        return complain(reader, "fatal", "cut", "the last line has no end: it is left out, the file is cut");
    if (!line.size || *line.at == '#' || reader->line.continued)
        return 0;
    if (begins(line, "snapshot="))
        return end_snapshot(reader) || begin_snapshot(reader, (struct text){line.at + 9, line.size - 9}) ? -1
                                                                                                         : 0;
    for (int i = 0; i < FIELDS && reader->within && reader->partition == PF_NO_PARTITION; i++) {
        size_t size = strlen(keys[i]);
        if (begins(line, keys[i]))
            return read_field(reader, i, (struct text){line.at + size, line.size - size});
    }
    for (size_t i = 0; i < HEADERS; i++)
        if (begins(line, header[i][0]))
            return 0;
    int node = read_node(reader, line);
    return node > 0 ? complain(reader, "warning", "bad-line", "a line that is not understood is left out")
                    : node;
}

static int read_lines(struct reader *reader, struct pf_pass *pass)
{
    int more;
    while ((more = pf_linereader_next(reader->lines, &reader->line, reader->error)) > 0)
        if ((reader->line.number % 4096 == 0 &&
             pf_samples_step(reader->profile, pass, reader->line.offset, reader->error)) ||
            read_line(reader))
            return -1;
    return more < 0 ? -1 : end_snapshot(reader);
}

/* Bytes of different snapshots never add up: what is shown of all is the peak. The other two have no tree. */
static int add_metrics(struct reader *reader)
{
    struct pf_samples *samples = reader->profile->state;
    static const char *const names[] = {"mem_heap_B", "mem_heap_extra_B", "mem_stacks_B"};
    static const char *const descriptions[] = {"bytes that the program has allocated",
                                               "bytes that the allocator takes for itself",
                                               "bytes of the stacks"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        int metric = pf_samples_metric(reader->profile, names[i], strlen(names[i]), "bytes", reader->error);
        if (metric < 0)
            return -1;
        samples->metrics[metric].description = descriptions[i];
        samples->metrics[metric].over_partitions = PF_OVER_NO_PARTITIONS;
        samples->metrics[metric].empty = i > 0;
    }
    return 0;
}

/* Where the contexts' functions stand. */
static int add_places(struct reader *reader)
{
    struct pf_tree *tree = reader->profile->contexts;
    if (pf_array_resize(&tree->file, tree->count, sizeof *tree->file, reader->error) ||
        pf_array_resize(&tree->module, tree->count, sizeof *tree->module, reader->error) ||
        pf_array_resize(&tree->line, tree->count, sizeof *tree->line, reader->error))
        return -1;
    for (uint32_t i = 0; i < tree->count; i++) {
        struct pf_cell text = pf_interned(tree->strings, tree->key[i]);
        struct place place = split((struct text){text.text, text.size});
        tree->line[i] = place.line;
        tree->file[i] = place.file.size ? intern(reader, place.file) : PF_NO_STRING;
        tree->module[i] = place.module.size ? intern(reader, place.module) : PF_NO_STRING;
        if ((place.file.size && tree->file[i] == PF_NO_STRING) ||
            (place.module.size && tree->module[i] == PF_NO_STRING))
            return -1;
    }
    return 0;
}

static int read_file(struct pf_profile *profile, struct pf_pass *pass, struct pf_error *error)
{
    struct pf_samples *samples = profile->state;
    struct reader reader = {.profile = profile,
                            .error = error,
                            .lines = pf_linereader_new(samples->input),
                            .partition = PF_NO_PARTITION,
                            .peak = PF_NO_PARTITION,
                            .largest = PF_NO_PARTITION};
    int failed = !reader.lines ? pf_fail_memory(error)
                               : add_metrics(&reader) || read_lines(&reader, pass) || add_places(&reader);
    free(reader.open);
    pf_linereader_free(reader.lines);
    if (failed)
        return -1;
    uint32_t shown = reader.peak != PF_NO_PARTITION ? reader.peak : reader.largest;
    if (shown != PF_NO_PARTITION) {
        samples->metrics[reader.metric].over_partitions = PF_AT;
        samples->metrics[reader.metric].at = shown;
    }
    return 0;
}

/* ---- the driver --------------------------------------------------------------------------------- */

static const struct pf_column context_columns[] = {{"address", PF_PLAIN, 0}};

static void context_cells(const struct pf_profile *profile, uint32_t context, struct pf_cell *cells)
{
    struct pf_cell text = pf_interned(profile->contexts->strings, profile->contexts->key[context]);
    struct place place = split((struct text){text.text, text.size});
    cells[0] = place.address.size ? pf_plain(place.address.at, place.address.size) : pf_absent();
}

static int open_profile(struct pf_profile *profile, struct pf_error *error)
{
    profile->context_columns = context_columns;
    profile->n_context_columns = 1;
    profile->context_cells = context_cells;
    return open_file(profile, error);
}

static const struct pf_samples_format format = {
    .kinds = kinds,
    .singular = "snapshot",
    .plural = "snapshots",
    .fields = field_columns,
    .n_fields = FIELDS,
    .partitioned = true,
    .open = open_profile,
    .read = read_file,
};

const struct pf_driver pf_massif_driver = {
    .name = "massif",
    .title = "Massif's heap profiles (valgrind, heaptrack_print)",
    .version = 1,
    .kit = &format,
    .probe = probe,
    .open = pf_samples_open,
    .load = pf_samples_load,
    .close = pf_samples_close,
};
