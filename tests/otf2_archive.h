/* SPDX-License-Identifier: MIT */
#ifndef OTF2_ARCHIVE_H
#define OTF2_ARCHIVE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Functions that write OTF2 archives record by record in either byte order. */

#define OTF2_TEST __attribute__((unused)) static

struct bytes {
    unsigned char at[8192];
    size_t size;
    bool big_endian;
    size_t open; /* offset of the payload of the record that is being written */
};

OTF2_TEST void put(struct bytes *file, unsigned byte)
{
    if (file->size == sizeof file->at)
        abort();
    file->at[file->size++] = (unsigned char)byte;
}

OTF2_TEST void put_fixed(struct bytes *file, uint64_t value, unsigned size)
{
    for (unsigned i = 0; i < size; i++)
        put(file, (unsigned)(value >> 8 * (file->big_endian ? size - 1 - i : i)) & 255);
}

OTF2_TEST void put_number(struct bytes *file, uint64_t value)
{
    unsigned size = 0;
    while (size < 8 && value >> 8 * size)
        size++;
    put(file, size);
    put_fixed(file, value, size);
}

OTF2_TEST void put_text(struct bytes *file, const char *text)
{
    for (; *text; text++)
        put(file, (unsigned char)*text);
    put(file, 0);
}

OTF2_TEST void put_order(struct bytes *file)
{
    put(file, 3);
    put(file, file->big_endian ? '#' : 'B');
}

/* Writes a chunk's header: the byte order, and the numbers of its first and last event. */
OTF2_TEST void put_chunk(struct bytes *file, uint64_t first, uint64_t last)
{
    put_order(file);
    put_fixed(file, first, 8);
    put_fixed(file, last, 8);
}

OTF2_TEST void put_begin(struct bytes *file, unsigned type)
{
    put(file, type);
    put(file, 0);
    file->open = file->size;
}

OTF2_TEST void put_end(struct bytes *file)
{
    file->at[file->open - 1] = (unsigned char)(file->size - file->open);
}

OTF2_TEST struct bytes anchor_of(bool big_endian, uint64_t locations)
{
    struct bytes file = {.big_endian = big_endian};
    put_order(&file);
    memcpy(file.at + file.size, "OTF2\0\3\2", 7);
    file.size += 7;
    put(&file, 2);
    put(&file, 3);
    put(&file, 0);
    put_fixed(&file, 256, 8); /* chunks of events */
    put_fixed(&file, 4096, 8);
    put(&file, 1);
    put(&file, 1);
    put_fixed(&file, locations, 8);
    put_fixed(&file, 40, 8);
    put_text(&file, "");
    put_text(&file, "profilefs' tests");
    put_text(&file, "");
    put_fixed(&file, 0, 4);
    return file;
}

OTF2_TEST void put_string(struct bytes *file, uint32_t id, const char *text)
{
    put_begin(file, 10);
    put_number(file, id);
    put_text(file, text);
    put_end(file);
}

OTF2_TEST void put_location(struct bytes *file, uint64_t id, uint32_t name, uint64_t events)
{
    put_begin(file, 14);
    put_number(file, id);
    put_number(file, name);
    put(file, 1);
    put_number(file, events);
    put_number(file, 0);
    put_end(file);
}

OTF2_TEST void put_region(struct bytes *file, uint32_t id, uint32_t name)
{
    put_begin(file, 15);
    put_number(file, id);
    put_number(file, name);
    put_number(file, 0);
    put(file, 0);
    put_number(file, 4); /* file */
    put_number(file, 10 + id);
    put_number(file, 20);
    put_number(file, name);
    put(file, 1);
    put(file, 4); /* MPI */
    put_number(file, 0);
    put_end(file);
}

/* Returns definitions of two locations (0 and 2^32), three regions (1 `main`, 2 `f`, 3 `main` again), two counters (0 is read at each
 * enter and leave, 1 is not) and a communicator of both locations. */
OTF2_TEST struct bytes definitions_of(bool big_endian, const uint64_t announced[2])
{
    static const char *const strings[] = {"",    "main", "f",     "thread", "a.c",
                                          "ctr", "#",    "world", "power",  "W"};
    struct bytes file = {.big_endian = big_endian};
    put_chunk(&file, 0, 0);
    put_begin(&file, 5);
    put_number(&file, 2000000000); /* ticks per second */
    put_number(&file, 100);
    put_number(&file, 1000);
    put_end(&file);
    for (uint32_t i = 0; i < sizeof strings / sizeof *strings; i++)
        put_string(&file, i, strings[i]);
    put_location(&file, 0, 3, announced[0]);
    put_location(&file, UINT64_C(1) << 32, 3, announced[1]);
    put_region(&file, 1, 1);
    put_region(&file, 2, 2);
    put_region(&file, 3, 1);
    for (uint32_t i = 0; i < 2; i++) { /* counters, 0 accumulated, 1 absolute */
        put_begin(&file, 19);
        put_number(&file, i);
        put_number(&file, i ? 8 : 5);
        put_number(&file, 0);
        put(&file, 0);
        put(&file, i ? 17 : 0);
        put(&file, i ? 10 : 4);
        put(&file, 1);
        put_number(&file, 0);
        put_number(&file, i ? 9 : 6);
        put_end(&file);
        put_begin(&file, 20);
        put_number(&file, i);
        put(&file, 1);
        put_number(&file, i);
        put(&file, i ? 2 : 0);
        put(&file, 0);
        put_end(&file);
    }
    for (uint32_t i = 0; i < 2; i++) { /* groups: all locations; a communicator, last location first */
        put_begin(&file, 18);
        put_number(&file, i);
        put_number(&file, 0);
        put(&file, 0);
        put_number(&file, 2);
        put_number(&file, i ? 1 : 0);
        put_number(&file, i ? 0 : UINT64_C(1) << 32);
        put(&file, i ? 5 : 4);
        put(&file, 4);
        put_number(&file, 0);
        put_end(&file);
    }
    put_begin(&file, 22);
    put_number(&file, 0);
    put_number(&file, 7);
    put_number(&file, 1);
    put(&file, 255);
    put_end(&file);
    put(&file, 2);
    put(&file, 1);
    return file;
}

OTF2_TEST void put_time(struct bytes *file, uint64_t ticks)
{
    put(file, 5);
    put_fixed(file, ticks, 8);
}

/* Writes an event of this type: ENTER (12) or LEAVE (13). */
OTF2_TEST void put_call(struct bytes *file, unsigned type, uint32_t region)
{
    put(file, type);
    put_number(file, region);
}

OTF2_TEST void put_reading(struct bytes *file, uint32_t class, unsigned type, uint64_t bits)
{
    put_begin(file, 31);
    put_number(file, class);
    put(file, 1);
    put(file, type);
    put_number(file, bits);
    put_end(file);
}

/* Writes an event of this type: MPI_SEND (14), MPI_ISEND (15), MPI_RECV (18) or MPI_IRECV (19). */
OTF2_TEST void put_message(struct bytes *file, unsigned type, uint32_t rank, uint64_t size)
{
    put_begin(file, type);
    put_number(file, rank);
    put_number(file, 0);
    put_number(file, 77);
    put_number(file, size);
    if (type == 15 || type == 19)
        put_number(file, 5);
    put_end(file);
}

OTF2_TEST void put_end_of_events(struct bytes *file)
{
    put(file, 2);
    put(file, 1);
}

/* Ends the current chunk, pads it to 256 bytes and begins the next chunk. */
OTF2_TEST void put_next_chunk(struct bytes *file, uint64_t first, uint64_t last)
{
    put(file, 1);
    while (file->size % 256)
        put(file, 0);
    put_chunk(file, first, last);
}

#endif
