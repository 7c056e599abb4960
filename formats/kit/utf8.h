/* SPDX-License-Identifier: MIT */
#ifndef PF_UTF8_H
#define PF_UTF8_H

#include <stddef.h>
#include <stdint.h>

/*
 * Returns the length of the UTF-8 character at `at`, by table 3-7 of the Unicode standard; `left` (> 0) is the number
 * of bytes from `at` on. Returns 0 if the character is ill-formed; *wrong is then the number of bytes that one
 * replacement character stands for. Thread-safe.
 */
size_t pf_utf8(const unsigned char *at, size_t left, size_t *wrong);

/* Returns the size of a prefix of the text that has at most `most` bytes and does not split a UTF-8 character.
 * Thread-safe. */
size_t pf_utf8_cut(const char *text, size_t size, size_t most);

/* Writes a code point as UTF-8 and returns the number of bytes, at most 4. */
size_t pf_utf8_put(char *to, uint32_t code);

#endif
