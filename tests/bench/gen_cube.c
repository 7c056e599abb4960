/* SPDX-License-Identifier: MIT */
/*
 * gen_cube OUT MEGABYTES [LOCATIONS [packed] [sparse]]: writes a Cube 4 file (.cubex) like that of Score-P for LOCATIONS threads (default: 256,
 * 4 in each process). The metrics are visits, time (stored inclusive), minimum and maximum times, and bytes sent. Their matrices take MEGABYTES
 * in all. With `packed`, each row is a zlib stream. With `sparse`, every second call path has no row, except for time. The same arguments give
 * the same bytes.
 */
#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

enum { METRICS = 5, TIME = 1, REGIONS = 500, DEPTH_MAX = 12, BLOCK = 512, THREADS = 4 };

static const struct {
    const char *name, *dtype, *type, *unit;
} metrics[METRICS] = {
    {"visits", "UINT64", "EXCLUSIVE", "occ"},       {"time", "DOUBLE", "INCLUSIVE", "sec"},
    {"min_time", "MINDOUBLE", "EXCLUSIVE", "sec"},  {"max_time", "MAXDOUBLE", "EXCLUSIVE", "sec"},
    {"bytes_sent", "UINT64", "EXCLUSIVE", "bytes"},
};

struct shape {
    uint32_t locations, paths;
    uint32_t *parent, *depth, *wide; /* by call path, in the document's order; wide: its row in inclusive metrics */
    bool packed, sparse;
    uint64_t random;
};

static void die(const char *what)
{
    perror(what);
    exit(1);
}

static void *allot(size_t n, size_t size)
{
    void *memory = calloc(n + 1, size);
    if (!memory)
        die("gen_cube");
    return memory;
}

static void put(FILE *out, const void *bytes, size_t size)
{
    if (fwrite(bytes, 1, size, out) != size)
        die("gen_cube");
}

/* xorshift64* */
static uint32_t next_random(struct shape *shape)
{
    uint64_t x = shape->random;
    x ^= x >> 12;
    x ^= x << 25;
    x ^= x >> 27;
    shape->random = x;
    return (uint32_t)((x * UINT64_C(2685821657736338717)) >> 32);
}

/* Builds a call tree: each call path is a child of the previous one or of one of its ancestors. */
static void make_tree(struct shape *shape)
{
    uint32_t above[DEPTH_MAX] = {0}, next = 1;
    shape->parent = allot(shape->paths, sizeof *shape->parent);
    shape->depth = allot(shape->paths, sizeof *shape->depth);
    shape->wide = allot(shape->paths, sizeof *shape->wide);
    for (uint32_t i = 1; i < shape->paths; i++) {
        uint32_t most = shape->depth[i - 1] + 1 < DEPTH_MAX ? shape->depth[i - 1] + 1 : DEPTH_MAX - 1;
        shape->depth[i] = 1 + next_random(shape) % most;
        shape->parent[i] = above[shape->depth[i] - 1];
        above[shape->depth[i]] = i;
    }
    /* Inclusive metrics have the rows of a call path's children side by side, in the order of the document. */
    uint32_t *children = allot(shape->paths, sizeof *children);
    for (uint32_t i = 1; i < shape->paths; i++)
        children[shape->parent[i]]++;
    for (uint32_t i = 0; i < shape->paths; i++) {
        uint32_t first = next;
        next += children[i];
        children[i] = first;
    }
    for (uint32_t i = 1; i < shape->paths; i++)
        shape->wide[i] = children[shape->parent[i]]++;
    free(children);
}

/* ---- the archive -------------------------------------------------------------------------------- */

static void put_header(FILE *out, const char *name, uint64_t size)
{
    char block[BLOCK] = {0};
    unsigned sum = 0;
    snprintf(block, 100, "%s", name);
    snprintf(block + 100, 8, "0000600");
    snprintf(block + 124, 12, "%011" PRIo64, size);
    memset(block + 148, ' ', 8);
    block[156] = '0';
    memcpy(block + 257, "ustar\00000", 8);
    for (size_t i = 0; i < BLOCK; i++)
        sum += (unsigned char)block[i];
    snprintf(block + 148, 8, "%06o", sum);
    put(out, block, BLOCK);
}

/* Pads like Cube: if the size is a multiple of the block size, one more block of zeros follows. */
static void put_padding(FILE *out, uint64_t size)
{
    static const char zeros[BLOCK];
    put(out, zeros, BLOCK - size % BLOCK);
}

/* ---- rows --------------------------------------------------------------------------------------- */

static bool has_row(const struct shape *shape, int metric, uint32_t path)
{
    return metric == TIME || !shape->sparse || path % 2 == 0;
}

static void fill_row(struct shape *shape, int metric, uint64_t *row)
{
    for (uint32_t l = 0; l < shape->locations; l++) {
        double seconds = next_random(shape) * 1e-9;
        if (strstr(metrics[metric].dtype, "DOUBLE"))
            memcpy(&row[l], &seconds, sizeof seconds);
        else
            row[l] = 1 + next_random(shape) % (metric ? 100000 : 1000);
    }
}

static void add_row(uint32_t locations, uint64_t *sum, const uint64_t *row)
{
    for (uint32_t l = 0; l < locations; l++) {
        double a, b;
        memcpy(&a, &sum[l], sizeof a);
        memcpy(&b, &row[l], sizeof b);
        a += b;
        memcpy(&sum[l], &a, sizeof a);
    }
}

/* Returns the rows of a metric as its data file has them. Fills positions[0 .. *count) for its index file. */
static uint64_t *make_rows(struct shape *shape, int metric, uint32_t *positions, uint32_t *count)
{
    size_t n = shape->locations;
    uint64_t *rows = allot((size_t)shape->paths * n, sizeof *rows);
    *count = 0;
    for (uint32_t i = 0; i < shape->paths; i++) {
        if (!has_row(shape, metric, i))
            continue;
        fill_row(shape, metric, rows + (metric == TIME ? shape->wide[i] : *count) * n);
        positions[(*count)++] = i;
    }
    for (uint32_t i = shape->paths; metric == TIME && i-- > 1;)
        add_row(shape->locations, rows + shape->wide[shape->parent[i]] * n, rows + shape->wide[i] * n);
    return rows;
}

static void put_index(FILE *out, int metric, const uint32_t *positions, uint32_t count)
{
    char name[32];
    const uint32_t order = 1;
    uint64_t size = 22 + (uint64_t)count * 4;
    snprintf(name, sizeof name, "%d.index", metric);
    put_header(out, name, size);
    put(out, "CUBEX.INDEX", 11);
    put(out, &order, sizeof order);
    put(out, "\0\0\1", 3); /* version 0, sparse */
    put(out, &count, sizeof count);
    put(out, positions, (size_t)count * sizeof *positions);
    put_padding(out, size);
}

static void put_plain(FILE *out, const char *name, const uint64_t *rows, uint64_t bytes)
{
    put_header(out, name, 10 + bytes);
    put(out, "CUBEX.DATA", 10);
    put(out, rows, bytes);
    put_padding(out, 10 + bytes);
}

/* Writes a table with each row's offset, size and compressed size, then one zlib stream per row. */
static void put_packed(FILE *out, const char *name, const uint64_t *rows, uint64_t row_size, uint64_t count)
{
    uint64_t(*table)[3] = allot(count, sizeof *table), end = 0, room = compressBound(row_size) * (count + 1);
    unsigned char *streams = allot(room, 1);
    for (uint64_t i = 0; i < count; i++) {
        uLongf size = room - end;
        const unsigned char *row = (const unsigned char *)rows + i * row_size;
        if (compress2(streams + end, &size, row, row_size, 6) != Z_OK)
            die("gen_cube");
        table[i][0] = i * row_size;
        table[i][1] = end;
        table[i][2] = size;
        end += size;
    }
    uint64_t size = 19 + count * sizeof *table + end;
    put_header(out, name, size);
    put(out, "ZCUBEX.DATA", 11);
    put(out, &count, sizeof count);
    put(out, table, count * sizeof *table);
    put(out, streams, end);
    put_padding(out, size);
    free(streams);
    free(table);
}

static void put_metric(FILE *out, struct shape *shape, int metric)
{
    char name[32];
    uint32_t *positions = allot(shape->paths, sizeof *positions), count;
    uint64_t *rows = make_rows(shape, metric, positions, &count), row_size = shape->locations * UINT64_C(8);
    snprintf(name, sizeof name, "%d.data", metric);
    put_index(out, metric, positions, count);
    if (shape->packed)
        put_packed(out, name, rows, row_size, count);
    else
        put_plain(out, name, rows, row_size * count);
    free(rows);
    free(positions);
}

/* ---- anchor.xml --------------------------------------------------------------------------------- */

static void print_metrics(FILE *out)
{
    fputs("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<cube version=\"4.4\">\n<metrics>\n", out);
    for (int m = 0; m < METRICS; m++)
        fprintf(out,
                "<metric id=\"%d\" "
                "type=\"%s\">\n<uniq_name>%s</uniq_name>\n<dtype>%s</dtype>\n<uom>%s</uom>\n</metric>\n",
                m, metrics[m].type, metrics[m].name, metrics[m].dtype, metrics[m].unit);
    fputs("</metrics>\n", out);
}

static void print_program(FILE *out, const struct shape *shape)
{
    fputs("<program>\n", out);
    /* A quarter of the names need quoting, as in C++ programs. */
    for (int r = 0; r < REGIONS; r++)
        fprintf(out,
                "<region id=\"%d\" mod=\"src/part%d.cc\" begin=\"%d\" end=\"-1\">\n"
                "<name>void solver::step%d(Mesh&amp;%s)</name>\n<role>function</role>\n</region>\n",
                r, r % 40, r * 10 + 1, r, r % 4 ? "" : ", unsigned");
    for (uint32_t i = 0; i < shape->paths; i++) {
        uint32_t next = i + 1 < shape->paths ? shape->depth[i + 1] : 0;
        fprintf(out, "<cnode id=\"%u\" calleeId=\"%u\">\n", i, i % REGIONS);
        for (uint32_t level = shape->depth[i] + 1; level > next; level--)
            fputs("</cnode>\n", out);
    }
    fputs("</program>\n", out);
}

static void print_system(FILE *out, const struct shape *shape)
{
    fputs("<system>\n<systemtreenode Id=\"0\">\n<name>cluster</name>\n<class>machine</class>\n", out);
    for (uint32_t l = 0; l < shape->locations; l++) {
        if (l % THREADS == 0)
            fprintf(out,
                    "<locationgroup Id=\"%u\">\n<name>MPI Rank "
                    "%u</name>\n<rank>%u</rank>\n<type>process</type>\n",
                    l / THREADS, l / THREADS, l / THREADS);
        fprintf(out,
                "<location Id=\"%u\">\n<name>OMP thread "
                "%u</name>\n<rank>%u</rank>\n<type>thread</type>\n</location>\n",
                l, l % THREADS, l % THREADS);
        if (l % THREADS == THREADS - 1 || l + 1 == shape->locations)
            fputs("</locationgroup>\n", out);
    }
    fputs("</systemtreenode>\n</system>\n</cube>\n", out);
}

static void put_anchor(FILE *out, const struct shape *shape)
{
    char *text = NULL;
    size_t size = 0;
    FILE *anchor = open_memstream(&text, &size);
    if (!anchor)
        die("gen_cube");
    print_metrics(anchor);
    print_program(anchor, shape);
    print_system(anchor, shape);
    if (fclose(anchor))
        die("gen_cube");
    put_header(out, "anchor.xml", size);
    put(out, text, size);
    put_padding(out, size);
    free(text);
}

int main(int argc, char **argv)
{
    struct shape shape = {.locations = argc > 3 ? (uint32_t)strtoul(argv[3], NULL, 10) : 256,
                          .random = 88172645463325252};
    FILE *out = argc > 2 ? fopen(argv[1], "wb") : NULL;
    for (int i = 4; i < argc; i++) {
        shape.packed |= !strcmp(argv[i], "packed");
        shape.sparse |= !strcmp(argv[i], "sparse");
    }
    if (!out || !shape.locations || shape.locations > 1000000) {
        fputs("usage: gen_cube OUT MEGABYTES [LOCATIONS [packed] [sparse]]\n", stderr);
        return 2;
    }
    shape.paths = (uint32_t)(strtoul(argv[2], NULL, 10) * 1000000 / METRICS / 8 / shape.locations) + 1;
    make_tree(&shape);
    for (int m = 0; m < METRICS; m++)
        put_metric(out, &shape, m);
    put_anchor(out, &shape);
    put(out, (char[2 * BLOCK]){0}, (size_t)2 * BLOCK);
    free(shape.parent);
    free(shape.depth);
    free(shape.wide);
    if (fclose(out))
        die("gen_cube");
    return 0;
}
