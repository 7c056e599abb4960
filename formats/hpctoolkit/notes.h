/* SPDX-License-Identifier: MIT */
#ifndef PF_HPC_NOTES_H
#define PF_HPC_NOTES_H

#include "formats/driver.h"

/*
 * What is wrong with a database, collected while a stage is loaded and told once it is: a pass that is stopped
 * must leave no trace in the profile. All zero is empty.
 */
struct hpc_notes {
    struct hpc_note *items;
    size_t count, room;
};

/*
 * A row of the warnings; as pf_warn: line 0 or offset < 0 is empty. The text names the file. 0, or -1 with ENOMEM. Holds a
 * bounded number.
 */
int hpc_note(struct hpc_notes *notes, int64_t line, int64_t offset, const char *severity, const char *code,
             struct pf_error *error, const char *format, ...) __attribute__((format(printf, 7, 8)));

/* Adds them to the profile's warnings, in the order they were made. */
int hpc_notes_tell(const struct hpc_notes *notes, struct pf_profile *profile, struct pf_error *error);
void hpc_notes_free(struct hpc_notes *notes);

#endif
