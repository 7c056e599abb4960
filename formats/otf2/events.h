/* SPDX-License-Identifier: MIT */
#ifndef OTF2_EVENTS_H
#define OTF2_EVENTS_H

#include <pthread.h>

#include "formats/otf2/definitions.h"
#include "formats/otf2/reader.h"

/*
 * The events of one location: its file, and what a second one says of its clock and of ids. There may be 100,000 locations:
 * their files are open only while somebody reads them.
 */

/* The files of events, each shared by all who read it. */
struct otf2_files {
    struct pf_source *source;
    const char *archive; /* NAME of the archive, and of its folder */
    uint64_t event_chunk, definition_chunk;
    pthread_mutex_t lock; /* guards users */
    unsigned *users;      /* by location */
};

int otf2_files_open(struct otf2_files *files, struct pf_source *source, const char *archive,
                    const struct otf2_anchor *anchor, uint32_t locations, struct pf_error *error);
void otf2_files_close(struct otf2_files *files);

enum {
    OTF2_FLUSH = 10,
    OTF2_ENTER = 12,
    OTF2_LEAVE = 13,
    OTF2_SEND = 14,
    OTF2_ISEND = 15,
    OTF2_RECV = 18,
    OTF2_IRECV = 19,
    OTF2_METRIC = 31,
};

/* A correction of the clock, from this time on. */
struct otf2_offset {
    uint64_t time;
    int64_t offset;
};

/* Kinds of ids that a location may have of its own. */
enum otf2_mapped { OTF2_MAP_REGION, OTF2_MAP_METRIC, OTF2_MAP_COMM, OTF2_MAPS };

struct otf2_events {
    const struct otf2_definitions *definitions;
    struct otf2_files *files;
    uint32_t location; /* place */
    struct pf_input *input;
    struct otf2_reader reader;
    struct otf2_offset *offsets;
    size_t n_offsets, offsets_room, interval;
    struct pf_map maps[OTF2_MAPS]; /* an id as the events have it -> that of the definitions, plus 1 */
    uint64_t stamp;                /* of the last time record, as it stands in the file */
};

struct otf2_event {
    uint8_t type;
    uint64_t ticks;            /* corrected */
    uint64_t offset;           /* in the file */
    struct otf2_fields fields; /* what has not been taken yet; valid until the next event */
};

/*
 * Stands before the first event of a location. 0; -1 with *error filled: ENOENT if it has no file, EINVAL if that is none.
 * otf2_events_close is due in either case.
 */
int otf2_events_open(struct otf2_events *events, const struct otf2_definitions *definitions,
                     struct otf2_files *files, uint32_t location, struct pf_error *error);
void otf2_events_close(struct otf2_events *events);

/* The next event. 1; 0: no more; -1 with *error filled: EINVAL if the file is damaged from here on. */
int otf2_events_next(struct otf2_events *events, struct otf2_event *event, struct pf_error *error);

/* Goes on behind an event. */
void otf2_events_seek(struct otf2_events *events, uint64_t offset, uint64_t stamp);

/* An id that is taken from an event, as the definitions have it. */
uint32_t otf2_mapped(const struct otf2_events *events, enum otf2_mapped what, uint32_t id);

/* Ticks as ns since the archive's beginning, rounded down. */
pf_int128 otf2_ns(const struct otf2_definitions *definitions, uint64_t ticks);

#endif
