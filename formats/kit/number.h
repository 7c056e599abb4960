/* SPDX-License-Identifier: MIT */
#ifndef PF_NUMBER_H
#define PF_NUMBER_H

#include <ctype.h>
#include <endian.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "formats/kit/cell.h"
#include "formats/kit/slice.h"

/* Parses numbers in text. All functions are thread-safe and independent of the locale. */

/*
 * Parses all of text[0 .. size) as a double, correctly rounded. Accepts the grammar of Python's float(): an optional
 * sign, any number of digits with an optional point anywhere (`.5`, `5.`) and an optional exponent; or `inf`,
 * `infinity` or `nan` in any case. Single underscores may separate digits. Hexadecimal numbers and surrounding blanks
 * are not accepted. Returns false, with *value unchanged, if the text is not a number.
 */
bool pf_parse_double(const char *text, size_t size, double *value);

/*
 * Parses a number. A text of digits only, whose value has at most 127 bits, gives an exact PF_WIDE cell that points to
 * *whole. Any other text that pf_parse_double accepts gives a PF_DOUBLE cell. Returns an absent cell if the text is not
 * a number.
 */
struct pf_cell pf_parse_amount(const char *text, size_t size, pf_int128 *whole);

/*
 * Parses all of text[0 .. size) as a number (optional sign, digits with an optional point, optional exponent),
 * multiplies it by 10^places and rounds toward zero. For instance, with places = 3 it converts microseconds to
 * nanoseconds exactly, where a double would lose digits. Returns false, with *value unchanged, if the text is not such
 * a number or the result has more than 127 bits.
 */
bool pf_parse_fixed(const char *text, size_t size, int places, pf_int128 *value);

/* The double nearest to value / 10^places; places is at most 38. */
double pf_fixed_double(pf_int128 value, unsigned places);

/*
 * Consumes all decimal digits, or 0x and all hex digits, at the front of the text. Returns false if there are none, or
 * if the number has more than 127 bits; then some characters may have been consumed.
 */
bool pf_take_digits(struct pf_slice *text, pf_int128 *number);

/* Like pf_take_digits, for digits of this base (2 to 16), without a prefix. */
bool pf_take_base(struct pf_slice *text, unsigned base, pf_int128 *number);

/* Consumes 1 to 18 decimal digits. Returns false, without consuming, if there is no digit. */
static inline bool pf_take_number(struct pf_slice *slice, uint64_t *number)
{
    const char *first = slice->at;
    for (*number = 0; slice->at < slice->end && isdigit((unsigned char)*slice->at) && slice->at - first < 18;)
        *number = *number * 10 + (uint64_t)(*slice->at++ - '0');
    return slice->at > first;
}

/* ---- eight digits at a time --------------------------------------------------------------------- */

/* Loads eight bytes as a little-endian word on any host. */
static inline uint64_t pf_digits_load(const char *text)
{
    uint64_t word;
    memcpy(&word, text, sizeof word);
    return le64toh(word);
}

/*
 * Returns the number of leading digits. XOR removes the high half (0x3) that all digits share, which leaves 0 to 9.
 * Adding 0x76 then sets bit 7 of every byte that is not a digit.
 */
static inline unsigned pf_digits_count(uint64_t word)
{
    const uint64_t threes = UINT64_C(0x3030303030303030), high = UINT64_C(0x8080808080808080);
    uint64_t rest = word ^ threes;
    uint64_t others = (((rest & ~high) + UINT64_C(0x7676767676767676)) | rest) & high;
    return others ? (unsigned)__builtin_ctzll(others) / 8 : 8;
}

/*
 * Returns the value of the first n bytes, which are digits (n is 1 to 8). The digits are shifted up, which puts zeros
 * in front of them. They are then joined to pairs, fours and eights, in lanes that double each time, without branches
 * that could be mispredicted.
 */
static inline uint64_t pf_digits_join(uint64_t word, unsigned n)
{
    word = (word << (64 - 8 * n)) & UINT64_C(0x0f0f0f0f0f0f0f0f);
    word = (word * 10 + (word >> 8)) & UINT64_C(0x00ff00ff00ff00ff);
    word = (word * 100 + (word >> 16)) & UINT64_C(0x0000ffff0000ffff);
    return (word * 10000 + (word >> 32)) & UINT64_C(0xffffffff);
}

#endif
