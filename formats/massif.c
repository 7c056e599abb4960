/* SPDX-License-Identifier: MIT */
/*
 * Massif's text: the size of the heap at several moments (snapshots). Some snapshots have a tree of the allocating
 * functions. In the file, the tree is inverted: its root is the allocator, and the children of a function are its
 * callers. The tree is served in call order. See docs/formats/massif.md.
 */
#include <assert.h>
#include <ctype.h>

#include "formats/kit/number.h"
#include "formats/probe.h"
#include "formats/runtime/build.h"

extern const struct pf_driver pf_massif_driver;

/* Fields of a snapshot, in this order. */
enum { TIME, HEAP, EXTRA, STACKS, TREE, FIELDS };
static const char *const keys[FIELDS] = {
    "time=", "mem_heap_B=", "mem_heap_extra_B=", "mem_stacks_B=", "heap_tree="};

static const struct pf_column field_columns[FIELDS] = {
    {"time", PF_PLAIN, 0},         {"mem_heap_B", PF_PLAIN, 0}, {"mem_heap_extra_B", PF_PLAIN, 0},
    {"mem_stacks_B", PF_PLAIN, 0}, {"heap_tree", PF_PLAIN, 0},
};

/*
 * Kinds of contexts. FUNCTION: the node has an address. ALLOCATOR: the root (`(heap allocation functions)
 * malloc/new/new[], --alloc-fns, etc.`). PLACES: a summary of callers with few bytes each (`in 12 places, all below
 * massif's threshold`).
 */
enum { FUNCTION, ALLOCATOR, PLACES };
static const char *const kinds[] = {[FUNCTION] = "function", [ALLOCATOR] = "allocator", [PLACES] = "places"};

/* ---- the text of a node ------------------------------------------------------------------------- */

/*
 * The parts of a place: `0xADDRESS: FUNCTION (FILE:LINE)`, `0xADDRESS: FUNCTION (in OBJECT)` or `0xADDRESS: ???`. Any
 * other text is a name.
 */
struct massif_place {
    struct pf_slice address, name, file, module; /* at NULL: missing */
    uint32_t line;
};

static void split_location(struct massif_place *place, struct pf_slice location)
{
    if (pf_take(&location, "in ")) {
        place->module = location;
        return;
    }
    const char *number = location.end;
    while (number > location.at && isdigit((unsigned char)number[-1]))
        number--;
    place->file = location;
    if (number == location.at || number[-1] != ':' || number == location.end || location.end - number > 9)
        return;
    place->file.end = number - 1;
    while (number < location.end)
        place->line = place->line * 10 + (uint32_t)(*number++ - '0');
}

static struct massif_place massif_split(struct pf_slice text)
{
    struct massif_place place = {.name = text};
    const char *start = text.at;
    if (!pf_take(&text, "0x"))
        return place;
    while (text.at < text.end && isxdigit((unsigned char)*text.at))
        text.at++;
    place.address = (struct pf_slice){start, text.at};
    if (!pf_take(&text, ": ")) {
        place.address = (struct pf_slice){0};
        return place;
    }
    place.name = text;
    /* Names may contain parentheses, so the last pair encloses the location. */
    const char *open = text.end;
    unsigned depth = 0;
    if (open == text.at || open[-1] != ')')
        return place;
    for (; open > text.at && !(open[-1] == '(' && depth == 1); open--)
        depth += (unsigned)(open[-1] == ')') - (open[-1] == '(');
    if (open - text.at < 2 || open[-2] != ' ')
        return place;
    split_location(&place, (struct pf_slice){open, text.end - 1});
    place.name.end = open - 2;
    return place;
}

/* ---- recognising, and the header ---------------------------------------------------------------- */

static const char *const header[][2] = {{"cmd:", "Title"}, {"desc:", "Options"}, {"time_unit:", "Time unit"}};
enum { HEADERS = sizeof header / sizeof *header, LOOK = 8192, TAIL = 4096 };

/* Consumes a keyword of the header. Returns its key for info.txt, NULL if the line is not part of the header. */
static const char *massif_parse_header(struct pf_slice *line)
{
    for (size_t i = 0; i < HEADERS; i++)
        if (pf_take(line, header[i][0]))
            return header[i][1];
    return NULL;
}

static void massif_probe(struct pf_probe *probe, struct pf_probe_result *result)
{
    size_t have;
    bool snapshot = false, known = true;
    const char *head = (const char *)pf_probe_text_head(probe, LOOK, &have);
    struct pf_slice text = pf_slice(head, have < LOOK ? have : LOOK), line;
    while (known && pf_take_line(&text, false, &line)) {
        if (snapshot && pf_begins(line, keys[TIME])) {
            result->confidence = 24;
            return;
        }
        known = line.at == line.end || *line.at == '#' || (!snapshot && massif_parse_header(&line));
        known |= snapshot |= pf_begins(line, "snapshot=");
    }
}

/*
 * Adds the header's lines to the profile's info. Looks for them at the end of the file if `tail` is set, otherwise at
 * its start. Returns true if the info has any lines.
 */
static bool massif_add_info(struct pf_build *build, bool tail)
{
    char bytes[LOOK];
    uint64_t size = pf_input_size(build->input), offset = tail && size > TAIL ? size - TAIL : 0;
    size_t want = tail ? TAIL : LOOK, have = pf_build_peek(build, bytes, want, offset);
    struct pf_slice text = pf_slice(bytes, have), line;
    if (!tail)
        pf_take(&text, PF_BYTE_ORDER_MARK);
    while (pf_take_line(&text, tail || have < want, &line) && (tail || !pf_begins(line, "snapshot="))) {
        const char *key = massif_parse_header(&line);
        if (key)
            pf_build_info(build, key, pf_trimmed(line));
    }
    return pf_rows_count(build->model->info);
}

static const struct pf_column context_columns[] = {{"address", PF_PLAIN, 0}};

static void massif_context_cells(const struct pf_model *model, uint32_t context, struct pf_cell *cells)
{
    struct pf_cell text = pf_interned(model->contexts->strings, model->contexts->key[context]);
    struct pf_slice address = massif_split(pf_slice(text.text, text.size)).address;
    cells[0] = address.at ? pf_plain(address.at, pf_size(address)) : pf_absent();
}

static void massif_open_file(struct pf_build *build)
{
    build->model->context_columns = context_columns;
    build->model->n_context_columns = 1;
    build->model->context_cells = massif_context_cells;
    /* heaptrack_print writes the header at the end. */
    if (!massif_add_info(build, false) && pf_input_size(build->input) != UINT64_MAX)
        massif_add_info(build, true);
}

/* ---- reading ------------------------------------------------------------------------------------ */

/* A node whose callers are being read. */
struct massif_node {
    uint32_t key, name; /* indexes of strings */
    uint8_t kind;
    uint64_t announced, seen; /* numbers of the node's children: declared, and read so far */
    int64_t bytes, below;     /* bytes of the node; bytes of all its children read so far */
};

struct massif {
    struct pf_build *build;
    struct pf_line line; /* the last line read */
    uint32_t metric;     /* index of mem_heap_B, the only metric with a tree; always 0 */

    bool within;        /* inside a snapshot, which the members up to `tree` describe */
    uint32_t partition; /* PF_NO_PARTITION: not added yet */
    uint32_t name;      /* index of a string */
    uint64_t begun;     /* line in which the snapshot begins */
    struct pf_cell fields[FIELDS];
    pf_int128 numbers[FIELDS]; /* storage that `fields` may point to */
    bool tree;                 /* the snapshot declares a tree */

    PF_LIST(struct massif_node) open; /* stack, from the root on */
    uint32_t peak;                    /* partition of the snapshot that is marked as peak */
    uint32_t largest;                 /* partition of the largest snapshot with a tree */
    int64_t most;                     /* bytes of `largest` */
};

static void massif_warn(struct massif *massif, const char *severity, const char *code, const char *what)
{
    pf_build_warn(massif->build, massif->line.number, massif->line.offset, severity, code, "%s", what);
}

/* Adds the snapshot's partition, once the fields before its tree are known. */
static void add_snapshot(struct massif *massif)
{
    struct pf_build *build = massif->build;
    struct pf_cell name = pf_build_named(build, massif->name);
    uint32_t before = pf_build_partitions(build);
    if (!massif->within || massif->partition != PF_NO_PARTITION)
        return;
    for (int i = 0; i < FIELDS; i++)
        if (massif->fields[i].type == PF_ABSENT)
            pf_build_warn(build, massif->begun, -1, "warning", "missing", "snapshot without %.16s",
                          field_columns[i].name);
    massif->partition = pf_build_partition(build, name.text, name.size, massif->fields);
    if (massif->partition < before)
        pf_build_warn(build, massif->begun, -1, "error", "again", "duplicate snapshot number: trees merged");
}

/*
 * Adds `own`, the bytes of the open node at `depth` that its callers do not account for. The context of these bytes is
 * the path from the node, as the outermost function, to the root. The root is not a function: it is a context only for
 * its own bytes. All paths together have fewer contexts than the file has bytes, because a node's line is indented by
 * its depth.
 */
static void add_own(struct massif *massif, size_t depth, int64_t own)
{
    struct pf_build *build = massif->build;
    uint32_t context = PF_NO_CONTEXT;
    size_t last = depth ? 1 : 0;
    if (!own || pf_run_is_full(build->run))
        return;
    for (size_t i = depth + 1; i-- > last;) {
        const struct massif_node *node = &massif->open.at[i];
        context = pf_build_child(build, context, node->key, node->name, node->kind);
    }
    pf_build_add(build, massif->partition, context, massif->metric, pf_int(own));
}

/* Closes all open nodes at `depth` or deeper. All of their callers have been read. */
static void close_nodes(struct massif *massif, size_t depth)
{
    while (massif->open.n > depth) {
        const struct massif_node *node = &massif->open.at[--massif->open.n];
        if (node->below > node->bytes)
            massif_warn(massif, "warning", "sum", "callers have more bytes of mem_heap_B than their callees");
        if (node->seen < node->announced && node->bytes)
            massif_warn(massif, "warning", "fewer-callers", "the tree has fewer nodes than declared");
        add_own(massif, massif->open.n, node->bytes - node->below);
    }
}

static void massif_open_node(struct massif *massif, struct massif_node node, struct pf_slice text)
{
    struct pf_build *build = massif->build;
    struct massif_place place = massif_split(text);
    struct massif_node *above = massif->open.n ? &massif->open.at[massif->open.n - 1] : NULL;
    node.key = pf_build_slice(build, text);
    node.name = pf_build_slice(build, place.name);
    node.kind = !above ? ALLOCATOR : place.address.at ? FUNCTION : PLACES;
    if (above) {
        above->seen++;
        if (__builtin_add_overflow(above->below, node.bytes, &above->below))
            above->below = INT64_MAX;
    } else if (massif->largest == PF_NO_PARTITION || node.bytes > massif->most) {
        massif->largest = massif->partition;
        massif->most = node.bytes;
    }
    struct massif_node *top = PF_PUSH(build->run, massif->open);
    assert(top);
    *top = node;
}

/*
 * Parses `nCALLERS: BYTES ` and the leading blanks, whose number is the node's depth. Returns false if the line is not
 * a node.
 */
static bool take_node(struct pf_slice *line, size_t *depth, struct massif_node *node)
{
    uint64_t bytes;
    for (*depth = 0; pf_take(line, " "); ++*depth)
        ;
    if (!pf_take(line, "n") || !pf_take_number(line, &node->announced) || !pf_take(line, ": ") ||
        !pf_take_number(line, &bytes) || !pf_take(line, " "))
        return false;
    node->bytes = (int64_t)bytes;
    return true;
}

/* Reads a node of the tree. Returns false if the line is not a node. */
static bool massif_read_node(struct massif *massif, struct pf_slice line)
{
    struct massif_node node = {0};
    size_t depth;
    if (!massif->tree || !take_node(&line, &depth, &node))
        return false;
    if (depth > massif->open.n) {
        massif_warn(massif, "error", "depth", "node more than one level below the last: skipped");
        return true;
    }
    close_nodes(massif, depth);
    massif_open_node(massif, node, line);
    return true;
}

static bool massif_is_number(struct pf_slice text)
{
    size_t points = 0;
    for (const char *at = text.at; at < text.end; at++) {
        points += *at == '.';
        if (*at != '.' && !isdigit((unsigned char)*at))
            return false;
    }
    return points < 2 && pf_size(text) > points;
}

static void read_field(struct massif *massif, int field, struct pf_slice text)
{
    struct pf_cell *cell = &massif->fields[field];
    if (field == TREE) {
        *cell = pf_build_named(massif->build, pf_build_slice(massif->build, text));
        massif->tree = !pf_begins(text, "empty");
        add_snapshot(massif);
        if (pf_begins(text, "peak"))
            massif->peak = massif->partition;
    } else if (massif_is_number(text)) {
        *cell = pf_parse_amount(text.at, pf_size(text), &massif->numbers[field]);
    } else {
        massif_warn(massif, "error", "bad-number", "invalid number: skipped");
    }
}

static void end_snapshot(struct massif *massif)
{
    close_nodes(massif, 0);
    add_snapshot(massif);
    memset(massif->fields, 0, sizeof massif->fields);
    massif->within = massif->tree = false;
    massif->partition = PF_NO_PARTITION;
}

/*
 * True if a complete file may end with this line, that is, if it is a line of the header, `heap_tree=empty`, or a node
 * with its whole location.
 */
static bool is_whole(struct pf_slice text)
{
    struct massif_node node;
    size_t depth;
    if (massif_parse_header(&text) || pf_is(text, "heap_tree=empty"))
        return true;
    if (!take_node(&text, &depth, &node))
        return false;
    struct massif_place place = massif_split(text);
    if (place.address.at)
        return place.file.at || place.module.at || pf_is(place.name, "???");
    return pf_size(text) && (text.end[-1] == ')' || text.end[-1] == '.');
}

static void massif_read_line(struct pf_build *build, const struct pf_line *line)
{
    struct massif *massif = build->state;
    struct pf_slice text = pf_slice(line->text, line->size);
    massif->line = *line;
    if (pf_build_line_is_open(massif->build, line)) {
        if (line->continued || !is_whole(text)) {
            massif_warn(massif, "fatal", "cut",
                        "the last line has no newline: line skipped, the file is truncated");
            return;
        }
        massif_warn(massif, "warning", "no-newline",
                    "the last line has no newline: the file may be truncated");
    }
    if (!line->size || *line->text == '#' || line->continued)
        return;
    if (pf_take(&text, "snapshot=")) {
        end_snapshot(massif);
        massif->within = true;
        massif->begun = line->number;
        massif->name = pf_build_slice(massif->build, text);
        return;
    }
    for (int i = 0; i < FIELDS && massif->within && massif->partition == PF_NO_PARTITION; i++)
        if (pf_take(&text, keys[i])) {
            read_field(massif, i, text);
            return;
        }
    if (!massif_parse_header(&text) && !massif_read_node(massif, text))
        massif_warn(massif, "warning", "bad-line", "invalid line: skipped");
}

/*
 * Bytes of different snapshots never add up, so aggregates show one snapshot (massif_read_file). Only mem_heap_B gets
 * values: the other two have no tree, and are columns of the snapshots.
 */
static void massif_add_metrics(struct pf_build *build)
{
    static const char *const names[] = {"mem_heap_B", "mem_heap_extra_B", "mem_stacks_B"};
    static const char *const descriptions[] = {"bytes allocated by the program",
                                               "bytes used by the allocator itself", "bytes of all stacks"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        uint32_t index = pf_build_metric(build, names[i], strlen(names[i]), "bytes");
        struct pf_metric *metric = &build->metrics[index];
        metric->description = descriptions[i];
        metric->over_partitions = PF_OVER_NO_PARTITIONS;
    }
}

/* Sets the source locations of the contexts. */
static void massif_add_places(struct pf_build *build)
{
    struct pf_tree *tree = build->model->contexts;
    pf_run_check(build->run,
                 pf_array_resize(&tree->file, tree->count, sizeof *tree->file, build->run->error));
    pf_run_check(build->run,
                 pf_array_resize(&tree->module, tree->count, sizeof *tree->module, build->run->error));
    pf_run_check(build->run,
                 pf_array_resize(&tree->line, tree->count, sizeof *tree->line, build->run->error));
    for (uint32_t i = 0; i < tree->count; i++) {
        struct pf_cell text = pf_interned(tree->strings, tree->key[i]);
        struct massif_place place = massif_split(pf_slice(text.text, text.size));
        pf_run_check(build->run, pf_pass_check(build->run->error));
        tree->line[i] = place.line;
        tree->file[i] = pf_size(place.file) ? pf_build_slice(build, place.file) : PF_NO_STRING;
        tree->module[i] = pf_size(place.module) ? pf_build_slice(build, place.module) : PF_NO_STRING;
    }
}

static void massif_read_file(struct pf_build *build)
{
    struct massif *massif = build->state;
    massif->build = build;
    massif->partition = massif->peak = massif->largest = PF_NO_PARTITION;
    massif_add_metrics(build);
    pf_build_lines(build, massif_read_line);
    bool warned = pf_run_is_full(build->run);
    end_snapshot(massif);
    if (pf_run_is_full(build->run) && !warned)
        pf_build_warn_of_full(build, -1);
    massif_add_places(build);
    uint32_t shown = massif->peak != PF_NO_PARTITION ? massif->peak : massif->largest;
    if (shown != PF_NO_PARTITION) {
        build->metrics[massif->metric].over_partitions = PF_AT;
        build->metrics[massif->metric].at = shown;
    }
}

static const struct pf_build_format format = {
    .state = sizeof(struct massif),
    .kinds = kinds,
    .singular = "snapshot",
    .plural = "snapshots",
    .fields = field_columns,
    .n_fields = FIELDS,
    .partitioned = true,
    .open = massif_open_file,
    .read = massif_read_file,
};

const struct pf_driver pf_massif_driver = {
    .name = "massif",
    .title = "Massif's heap profiles (valgrind, heaptrack_print)",
    .version = 5,
    .kit = &format,
    .text = true,
    .probe = massif_probe,
    PF_BUILD_OPERATIONS,
};
