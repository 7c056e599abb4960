/* SPDX-License-Identifier: MIT */
#include "formats/kit/utf8.h"

size_t pf_utf8(const unsigned char *at, size_t left, size_t *wrong)
{
    unsigned char first = at[0], low = 0x80, high = 0xbf;
    size_t size = first < 0xc2 ? 1 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : first < 0xf5 ? 4 : 1;
    *wrong = 1;
    if (first < 0x80)
        return 1;
    if (size == 1)
        return 0;
    if (first == 0xe0)
        low = 0xa0;
    else if (first == 0xed)
        high = 0x9f;
    else if (first == 0xf0)
        low = 0x90;
    else if (first == 0xf4)
        high = 0x8f;
    for (size_t i = 1; i < size; i++, low = 0x80, high = 0xbf) {
        *wrong = i;
        if (i == left || at[i] < low || at[i] > high)
            return 0;
    }
    return size;
}

size_t pf_utf8_cut(const char *text, size_t size, size_t most)
{
    if (size <= most)
        return size;
    while (most && ((unsigned char)text[most] & 0xc0) == 0x80)
        most--;
    return most;
}

size_t pf_utf8_put(char *to, uint32_t code)
{
    static const unsigned char first[] = {0, 0, 0xc0, 0xe0, 0xf0};
    size_t size = code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
    for (size_t i = size; i-- > 1; code >>= 6)
        to[i] = (char)(0x80 | (code & 0x3f));
    to[0] = (char)(first[size] | code);
    return size;
}
