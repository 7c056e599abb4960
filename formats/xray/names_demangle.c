/* SPDX-License-Identifier: MIT */
#include <libiberty/demangle.h>
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>

#include "formats/xray/names.h"

/*
 * Demangling by libiberty, whose callback variant holds everything on the stack, a kilobyte of symbol taking
 * about one of 100 KB. (The function of the C++ runtime returns memory of its own, and would bring that
 * runtime in.) A symbol of a hundred bytes can stand for a name of gigabytes, because parts of it may refer
 * to other parts; and the callback cannot say that it has had enough. So it jumps out: nothing is allocated
 * below it that could be lost.
 */
struct output {
    char *text;
    size_t size, room;
    jmp_buf enough;
};

static void take(const char *part, size_t size, void *opaque)
{
    struct output *output = opaque;
    if (size > output->room - output->size)
        longjmp(output->enough, 1);
    memcpy(output->text + output->size, part, size);
    output->size += size;
}

size_t xray_demangle(const char *symbol, size_t size, char *out, size_t room)
{
    /* libiberty refuses longer ones too, unless told to use any amount of stack. */
    enum { MANGLED_MAX = 1024 };
    char mangled[MANGLED_MAX + 1];
    if (size < 3 || size > MANGLED_MAX || memcmp(symbol, "_Z", 2) != 0 || memchr(symbol, 0, size))
        return 0;
    memcpy(mangled, symbol, size);
    mangled[size] = 0;
    struct output output = {.text = out, .room = room};
    if (setjmp(output.enough))
        return 0;
    return cplus_demangle_v3_callback(mangled, DMGL_PARAMS | DMGL_ANSI, take, &output) ? output.size : 0;
}
