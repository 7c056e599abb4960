/* SPDX-License-Identifier: MIT */
#include "formats/kit/error.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>

static int error_fail(struct pf_error *error, int code, int64_t offset, int64_t line, const char *format,
                      va_list args)
{
    *error = (struct pf_error){.code = code, .offset = offset, .line = line};
    vsnprintf(error->what, sizeof error->what, format, args);
    return -1;
}

int pf_fail(struct pf_error *error, int code, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    error_fail(error, code, -1, 0, format, args);
    va_end(args);
    return -1;
}

int pf_fail_at(struct pf_error *error, int code, int64_t offset, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    error_fail(error, code, offset, 0, format, args);
    va_end(args);
    return -1;
}

int pf_fail_line(struct pf_error *error, int code, int64_t line, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    error_fail(error, code, -1, line, format, args);
    va_end(args);
    return -1;
}

bool pf_is_out_of_resources(int code)
{
    return code == ENOMEM || code == EMFILE || code == ENFILE || code == ENOSPC || code == EDQUOT;
}

bool pf_is_transient(int code)
{
    switch (code) {
    case 0:
    case ENOENT:
    case ENOTDIR:
    case EISDIR:
    case EACCES:
    case EPERM:
    case ELOOP:
    case ENAMETOOLONG:
    case EXDEV:
    case ENXIO: /* a socket */
    case EINVAL:
    case EBADMSG:
    case EILSEQ:
    case ENODATA:
    case E2BIG:
    case EFBIG:
    case EOVERFLOW:
    case ERANGE:
    case ENOTSUP:
    case ENOSYS:
        return false;
    default:
        return code > 0;
    }
}

int pf_fail_memory(struct pf_error *error)
{
    return pf_fail(error, ENOMEM, "out of memory");
}
