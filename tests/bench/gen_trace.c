/* SPDX-License-Identifier: MIT */
/*
 * gen_trace OUT MEGABYTES [FANOUT [one]]: writes an XRay FDR trace (version 5) of a common shape: 8 threads, 50 functions, calls at most 12
 * deep, buffers of 16 KiB, threads interleaved buffer by buffer. FANOUT is the number of functions that each function calls. The default 2
 * gives some thousand contexts; with 50, any function calls any other, which gives millions of contexts. With `one`, the trace has a single
 * thread in 12 large buffers. `llvm-xray account` sorts buffers with an unstable sort, which reorders them only if there are more than 16, so it
 * accepts this trace without errors. The same arguments give the same bytes.
 */
#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { THREADS = 8, FUNCTIONS = 50, DEPTH = 12, BUFFER = 16384, LARGE_BUFFERS = 12, PID = 70000 };
static const uint64_t FREQUENCY = 2000000000;

struct thread {
    int32_t tid;
    uint64_t clock, random;
    unsigned depth;
    uint32_t stack[DEPTH];
};

struct buffer {
    unsigned char *bytes; /* room + 16 */
    size_t size, room;
};

/* xorshift64* */
static uint32_t next_random(struct thread *thread)
{
    uint64_t x = thread->random;
    x ^= x >> 12;
    x ^= x << 25;
    x ^= x >> 27;
    thread->random = x;
    return (uint32_t)((x * UINT64_C(2685821657736338717)) >> 32);
}

/* Starts a metadata record of one byte of kind and 15 bytes of data. The whole file is little-endian. */
static unsigned char *metadata(struct buffer *buffer, unsigned kind)
{
    unsigned char *record = buffer->bytes + buffer->size;
    memset(record, 0, 16);
    record[0] = (unsigned char)(kind << 1 | 1);
    buffer->size += 16;
    return record + 1;
}

static void preamble(struct buffer *buffer, const struct thread *thread)
{
    uint64_t seconds = thread->clock / FREQUENCY;
    uint32_t microseconds = (uint32_t)(thread->clock % FREQUENCY * 1000000 / FREQUENCY);
    uint16_t cpu = (uint16_t)(thread->tid % THREADS);
    int32_t pid = PID;

    buffer->size = 0;
    metadata(buffer, 7); /* the extents, filled in when the buffer is complete */
    memcpy(metadata(buffer, 0), &thread->tid, 4);
    unsigned char *wall = metadata(buffer, 4);
    memcpy(wall, &seconds, 8);
    memcpy(wall + 8, &microseconds, 4);
    memcpy(metadata(buffer, 9), &pid, 4);
    unsigned char *processor = metadata(buffer, 2);
    memcpy(processor, &cpu, 2);
    memcpy(processor + 2, &thread->clock, 8);
}

static void function_record(struct buffer *buffer, uint32_t kind, uint32_t function, uint32_t delta)
{
    uint32_t word = function << 4 | kind << 1;
    memcpy(buffer->bytes + buffer->size, &word, 4);
    memcpy(buffer->bytes + buffer->size + 4, &delta, 4);
    buffer->size += 8;
}

/* Writes one entry or exit of a random walk over the stack, which goes down as often as up and stays above depth DEPTH. */
static void step(struct buffer *buffer, struct thread *thread, unsigned fanout)
{
    uint32_t roll = next_random(thread);
    uint32_t delta = roll % 32 ? 40 + roll % 400 : 3000 + roll % 100000;
    bool enter = !thread->depth || (thread->depth < DEPTH && roll >> 31);

    thread->clock += delta;
    if (enter) {
        uint32_t caller = thread->depth ? thread->stack[thread->depth - 1] : 0;
        uint32_t callee = (caller * 7 + 1 + next_random(thread) % fanout) % FUNCTIONS + 1;
        thread->stack[thread->depth++] = callee;
        function_record(buffer, 0, callee, delta);
    } else {
        function_record(buffer, 1, thread->stack[--thread->depth], delta);
    }
}

static bool write_buffer(FILE *out, struct buffer *buffer)
{
    uint64_t extents = buffer->size - 16;
    memcpy(buffer->bytes + 1, &extents, 8);
    return fwrite(buffer->bytes, buffer->size, 1, out) == 1;
}

static bool write_header(FILE *out, size_t buffer_size)
{
    static const uint16_t kind[2] = {5, 1}; /* version 5, flight data recorder */
    uint64_t header[4] = {0, FREQUENCY, buffer_size, 0};

    memcpy(header, kind, sizeof kind);
    header[0] |= UINT64_C(3) << 32; /* constant and nonstop clock */
    return fwrite(header, sizeof header, 1, out) == 1;
}

static bool write_buffers(FILE *out, uint64_t bytes, unsigned fanout, unsigned n_threads,
                          struct buffer *buffer)
{
    struct thread threads[THREADS];
    bool good = write_header(out, buffer->room);

    for (int i = 0; i < THREADS; i++) {
        threads[i] = (struct thread){.tid = PID + i,
                                     .clock = UINT64_C(1000000000000) + (uint64_t)i * 40000,
                                     .random = UINT64_C(88172645463325252) + (uint64_t)i * 977};
    }
    for (uint64_t written = 0; good && written < bytes; written += buffer->size) {
        struct thread *thread = &threads[written / (buffer->room - 8) % n_threads];
        preamble(buffer, thread);
        while (buffer->size + 8 <= buffer->room)
            step(buffer, thread, fanout);
        good = write_buffer(out, buffer);
    }
    return good;
}

static bool write_trace(FILE *out, uint64_t bytes, unsigned fanout, bool one)
{
    struct buffer buffer = {.room = one ? (bytes / LARGE_BUFFERS + 16) & ~(size_t)7 : BUFFER};
    buffer.bytes = malloc(buffer.room + 16);
    bool good = buffer.bytes && write_buffers(out, bytes, fanout, one ? 1 : THREADS, &buffer);
    free(buffer.bytes);
    return good;
}

int main(int argc, char **argv)
{
    uint64_t megabytes = argc > 2 ? strtoull(argv[2], NULL, 10) : 0;
    unsigned fanout = argc > 3 ? (unsigned)strtoul(argv[3], NULL, 10) : 2;
    bool one = argc == 5 && !strcmp(argv[4], "one");
    if (!megabytes || !fanout || argc > 5 || (argc == 5 && !one)) {
        fprintf(stderr, "usage: gen_trace OUT MEGABYTES [FANOUT [one]]\n");
        return 2;
    }
    FILE *out = fopen(argv[1], "wb");
    bool good = out && write_trace(out, megabytes * 1000000, fanout, one);
    if (!out || fclose(out) || !good) {
        perror(argv[1]);
        return 3;
    }
    return 0;
}
