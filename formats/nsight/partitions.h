/* SPDX-License-Identifier: MIT */
#ifndef PF_NSIGHT_PARTITIONS_H
#define PF_NSIGHT_PARTITIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "formats/nsight/db.h"
#include "formats/nsight/keys.h"

/* Where the call paths come from, the best first. */
enum nsight_origin {
    NSIGHT_RANGES,   /* NVTX ranges of Extra-Prof */
    NSIGHT_SAMPLED,  /* call chains taken at API calls */
    NSIGHT_IMPORTED, /* paths that an import into Extra-P has left */
    NSIGHT_PATHLESS
};

/*
 * What the measurements are partitioned by: the threads by their global ids, then the streams by process, device,
 * context and number; last, if paths are imported ones, what belongs to no known thread.
 */
struct nsight_partitions {
    struct nsight_keys keys;    /* a partition's number is its index */
    uint32_t threads;           /* how many of them are threads */
    uint32_t homeless;          /* index of what belongs to no known thread; NSIGHT_NONE: there is none */
    struct nsight_keys domains; /* process and NVTX domain of Extra-Prof's ranges */
    enum nsight_origin origin;
    bool by_process; /* correlation ids are told apart by the process that they are of */
};

void nsight_partitions_free(struct nsight_partitions *partitions);

/* A global thread id: from the highest, 16 bits of machine and VM, 24 of process, 24 of thread. */
static inline uint64_t nsight_process_of(int64_t global)
{
    return (uint64_t)global >> 24;
}

/* The partition of the row that a scan of API calls or ranges, or of activities, stands at. */
uint32_t nsight_thread_of(const struct nsight_partitions *partitions, int64_t global_tid);
uint32_t nsight_stream_of(const struct nsight_partitions *partitions, const struct nsight_scan *scan);

/* What the row's correlation id belongs to. */
static inline uint64_t nsight_correlation_process(const struct nsight_partitions *partitions, int64_t global)
{
    return partitions->by_process ? nsight_process_of(global) : 0;
}

/* True if the NVTX row is a visit of a function, as Extra-Prof notes it. */
bool nsight_is_visit(const struct nsight_partitions *partitions, const struct nsight_scan *scan);

#endif
