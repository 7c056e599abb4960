/* SPDX-License-Identifier: MIT */
#ifndef TAP_H
#define TAP_H

#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/single_threaded.h>

/* The unit tests print the Test Anything Protocol. Each check is one line, and the plan comes last. */
static int tap_count, tap_failed;

/* Prints the result of a check; the name states the expected behaviour. Returns `passed`. */
__attribute__((format(printf, 2, 3), unused)) static bool ok(bool passed, const char *name, ...)
{
    va_list args;
    va_start(args, name);
    printf("%s %d - ", passed ? "ok" : "not ok", ++tap_count);
    vprintf(name, args);
    putchar('\n');
    va_end(args);
    tap_failed += !passed;
    return passed;
}

/* Checks for a known bug, described by `issue`: a failed check is reported but does not fail the test. Returns `passed`. */
__attribute__((format(printf, 3, 4), unused)) static bool todo(const char *issue, bool passed,
                                                               const char *name, ...)
{
    va_list args;
    va_start(args, name);
    printf("%s %d - ", passed ? "ok" : "not ok", ++tap_count);
    vprintf(name, args);
    printf(" # TODO issue %s\n", issue);
    va_end(args);
    return passed;
}

/* Checks that two strings are equal; prints both if not. */
__attribute__((unused)) static bool is(const char *have, const char *want, const char *name)
{
    bool same = have && want ? !strcmp(have, want) : have == want;
    if (!ok(same, "%s", name))
        printf("#   have: %s\n#   want: %s\n", have ? have : "(null)", want ? want : "(null)");
    return same;
}

/* Appends the test's name to the file TAP_THREADED if the test has started threads; such tests are run with ThreadSanitizer. */
static void tap_note_threads(void)
{
    const char *path = getenv("TAP_THREADED");
    FILE *list = path && !__libc_single_threaded ? fopen(path, "a") : NULL;
    if (list) {
        fprintf(list, "%s\n", program_invocation_short_name);
        fclose(list);
    }
}

/* Prints the plan. Returns main's exit status. */
__attribute__((unused)) static int done(void)
{
    tap_note_threads();
    printf("1..%d\n", tap_count);
    return tap_failed != 0;
}

#endif
