/* SPDX-License-Identifier: MIT */
#ifndef PF_ERROR_H
#define PF_ERROR_H

#include <stdbool.h>
#include <stdint.h>

/*
 * What went wrong and where. Functions that can fail take a `struct pf_error *` as their last argument, fill
 * it and return -1 (or NULL); nothing below the front ends prints. Callers own the struct; it holds no memory
 * of its own, so it may be copied freely.
 */
struct pf_error {
    /* An errno value. Damaged data: EBADMSG, ENODATA (the file ends too early), EINVAL, EFBIG; never EIO, which means that the
     * system could not read. ESTALE: the source has changed. ECANCELED: the pass was stopped. */
    int code;
    int64_t offset; /* byte offset in the file, -1 if not known */
    int64_t line;   /* line number from 1, 0 if not known */
    char where[96]; /* the file, relative to the profile; empty for the profile's main file */
    char what[192]; /* one sentence, without full stop */
};

/* Fill *error without a place. Always returns -1, so that callers can `return pf_fail(...)`. */
int pf_fail(struct pf_error *error, int code, const char *format, ...) __attribute__((format(printf, 3, 4)));

/* The same with a byte offset, or with a line number (from 1). */
int pf_fail_at(struct pf_error *error, int code, int64_t offset, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
int pf_fail_line(struct pf_error *error, int code, int64_t line, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* True if an errno value tells what the system lacks at the moment (memory, descriptors, room on a disk), and nothing of
 * the data. */
bool pf_is_lack(int code);

/*
 * True if an errno value says nothing about the file: a shortage, an I/O error, a server that does not answer, a stopped pass, a
 * file that changed while it was read. The same call may succeed a moment later, so such a failure is never kept as a fact about the
 * file. False for 0, for what a path leads to (ENOENT, EACCES, ELOOP, ...) and for damaged data.
 */
bool pf_is_transient(int code);

/* ENOMEM, with the same sentence everywhere. */
int pf_fail_memory(struct pf_error *error);

#endif
