/* SPDX-License-Identifier: MIT */
#ifndef PF_ERROR_H
#define PF_ERROR_H

#include <stdbool.h>
#include <stdint.h>

/*
 * An error: what is wrong, and where. A function that can fail takes a `struct pf_error *` as its last argument, fills
 * it and returns -1 (or NULL); only the front ends print errors. The caller owns the struct, which has no pointers and
 * may be copied.
 */
struct pf_error {
    /*
     * An errno value. Damaged data give EBADMSG, ENODATA (premature end of file), EINVAL, EFBIG or E2BIG, but never
     * EIO, which means that a read failed. ESTALE means that the source has changed, ECANCELED that the pass was
     * stopped.
     */
    int code;
    int64_t offset; /* byte offset in the file; -1: unknown */
    int64_t line;   /* line number from 1; 0: unknown */
    char where[96]; /* the file, relative to the profile; empty for the profile's main file */
    char what[192]; /* one sentence without full stop */
};

/* Fills *error, without a location. Always returns -1, so that callers can `return pf_fail(...)`. */
int pf_fail(struct pf_error *error, int code, const char *format, ...) __attribute__((format(printf, 3, 4)));

/* Like pf_fail, with a byte offset or a line number (from 1). */
int pf_fail_at(struct pf_error *error, int code, int64_t offset, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
int pf_fail_line(struct pf_error *error, int code, int64_t line, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* True if an errno value reports a temporary shortage of the system's resources (memory, descriptors, disk space)
 * rather than a property of the data. */
bool pf_is_out_of_resources(int code);

/*
 * True if an errno value is a transient error, which does not depend on the file: a shortage, an I/O error, an
 * unresponsive server, a stopped pass, a file that changed while it was read. The call may be retried, so such a
 * failure is never cached. False for 0, for errors of a path (ENOENT, EACCES, ELOOP, ...) and for damaged data.
 */
bool pf_is_transient(int code);

/* Fills *error with ENOMEM and a fixed text. Returns -1. */
int pf_fail_memory(struct pf_error *error);

#endif
