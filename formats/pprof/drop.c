/* SPDX-License-Identifier: MIT */
#include "formats/pprof/pprof.h"

#include <stdlib.h>

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

enum {
    PATTERN_MAX = 64 * 1024, /* maximum size of a pattern in bytes */
    STEPS_MAX = 100 * 1000,  /* match limit of PCRE2 */
    HEAP_MAX = 4 * 1024,     /* heap limit of PCRE2, in KB */
    GIVEN_UP_MAX = 50,       /* matches that may exceed a limit before matching is disabled */
};

struct pprof_drop {
    pcre2_code *drop, *keep; /* keep: NULL if not given */
    pcre2_match_data *match;
    pcre2_match_context *limits;
    unsigned given_up;
};

static pcre2_code *compile(struct pf_cell text)
{
    int code;
    PCRE2_SIZE at;
    if (text.size > PATTERN_MAX)
        return NULL;
    return pcre2_compile((PCRE2_SPTR)text.text, text.size, PCRE2_ANCHORED | PCRE2_ENDANCHORED, &code, &at,
                         NULL);
}

static bool compile_both(struct pprof_drop *drop, struct pf_cell dropped, struct pf_cell kept)
{
    drop->drop = compile(dropped);
    drop->keep = kept.size ? compile(kept) : NULL;
    if (!drop->drop || (kept.size && !drop->keep))
        return false;
    drop->match = pcre2_match_data_create(1, NULL);
    drop->limits = pcre2_match_context_create(NULL);
    if (!drop->match || !drop->limits)
        return false;
    pcre2_set_match_limit(drop->limits, STEPS_MAX);
    pcre2_set_heap_limit(drop->limits, HEAP_MAX);
    return true;
}

struct pprof_drop *pprof_drop_new(struct pf_cell dropped, struct pf_cell kept, const char **wrong)
{
    *wrong = NULL;
    if (!dropped.size)
        return NULL;
    struct pprof_drop *drop = calloc(1, sizeof *drop);
    if (drop && compile_both(drop, dropped, kept))
        return drop;
    pprof_drop_free(drop);
    *wrong = "invalid expression in drop_frames or keep_frames: nothing dropped";
    return NULL;
}

void pprof_drop_free(struct pprof_drop *drop)
{
    if (!drop)
        return;
    pcre2_code_free(drop->drop);
    pcre2_code_free(drop->keep);
    pcre2_match_data_free(drop->match);
    pcre2_match_context_free(drop->limits);
    free(drop);
}

/* Returns the part of a name that is matched, as in pprof: without a leading dot, and without parameters. */
static struct pf_cell simplified(struct pf_cell name)
{
    static const char *const reserved[] = {"(anonymous namespace)", "operator()"};
    if (name.size && name.text[0] == '.') {
        name.text++;
        name.size--;
    }
    for (uint32_t i = 0; i < name.size; i++) {
        size_t skip = 0;
        for (size_t r = 0; r < sizeof reserved / sizeof *reserved; r++)
            if (name.size - i >= strlen(reserved[r]) &&
                !memcmp(name.text + i, reserved[r], strlen(reserved[r])))
                skip = strlen(reserved[r]);
        if (skip)
            i += (uint32_t)skip - 1;
        else if (name.text[i] == '(')
            name.size = i;
    }
    return name;
}

static bool matches(struct pprof_drop *drop, const pcre2_code *code, struct pf_cell name)
{
    if (drop->given_up > GIVEN_UP_MAX)
        return false;
    int got = pcre2_match(code, (PCRE2_SPTR)name.text, name.size, 0, 0, drop->match, drop->limits);
    if (got < 0 && got != PCRE2_ERROR_NOMATCH)
        drop->given_up++;
    return got >= 0;
}

bool pprof_drops(struct pprof_drop *drop, struct pf_cell name)
{
    name = simplified(name);
    return matches(drop, drop->drop, name) && !(drop->keep && matches(drop, drop->keep, name));
}

bool pprof_drop_gave_up(const struct pprof_drop *drop)
{
    return drop->given_up != 0;
}
