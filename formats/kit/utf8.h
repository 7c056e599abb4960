/* SPDX-License-Identifier: MIT */
#ifndef PF_UTF8_H
#define PF_UTF8_H

#include <stddef.h>
#include <stdint.h>

/*
 * How many of the `left` (> 0) bytes from `at` on the UTF-8 character there has, as the Unicode standard's table 3-7 allows; 0 if
 * it is none, and then *wrong tells how many bytes one replacement stands for. Safe from any thread.
 */
size_t pf_utf8(const unsigned char *at, size_t left, size_t *wrong);

/* Writes a code point as UTF-8, up to 4 bytes; how many. */
size_t pf_utf8_put(char *to, uint32_t code);

#endif
