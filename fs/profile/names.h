/* SPDX-License-Identifier: MIT */
#ifndef PF_NAMES_H
#define PF_NAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * File names for what profiles call things. One function makes them for listing and for look-up alike.
 *  - UTF-8 stays; `/`, NUL, control characters (C0, DEL, C1 as U+0080..U+009F), invalid bytes and a `%`
 * before two hex digits become %XX; a leading `.` becomes %2E.
 *  - Longer than 255 bytes: cut at a character boundary (never inside %XX either), then ~<id>, together at
 * most 255 bytes.
 *  - An empty name is ~<id>. `suffix` asks for ~<id> anyway (siblings with equal names, names of our own
 * files); names that themselves end like a suffix (~ and digits) get one always, so that the text after the
 * last ~ is an id whenever it is digits.
 */
#define PF_NAME_MAX 255

/* Writes the name (NUL-terminated) into out[PF_NAME_MAX + 1]; returns its length. */
size_t pf_name(char *out, const char *text, size_t size, uint64_t id, bool suffix);

/* If name ends in ~<id> (decimal without leading zeros, fits 64 bits), true with *id. */
bool pf_name_id(const char *name, size_t size, uint64_t *id);

#endif
