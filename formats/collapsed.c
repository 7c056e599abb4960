/* SPDX-License-Identifier: MIT */
/*
 * Collapsed stacks, the input of flamegraph.pl and similar tools: one line such as `main;solve;sweep 12` per stack. See
 * docs/formats/collapsed.md.
 */
#include <ctype.h>
#include <string.h>

#include "formats/kit/number.h"
#include "formats/probe.h"
#include "formats/runtime/build.h"

extern const struct pf_driver pf_collapsed_driver;

/*
 * The metrics. Most files have only the first one. difffolded.pl writes two counts per line: before and after a change.
 */
enum { AFTER, BEFORE, COUNTS };
/* A metric whose sums may exceed 64 bits. */
#define COUNT(index, called, of_type)                                                                        \
    {                                                                                                        \
        .id = (index), .name = (called), .unit = "", .scope = "exclusive", .type = (of_type),                \
        .description = "", .partner = PF_NO_PARTNER, .most = INFINITY                                        \
    }
/* Variants of the metrics, by the form of the counts in the file's head. */
enum { WHOLE, REAL };
static const struct pf_metric metrics[][COUNTS] = {
    [WHOLE] = {COUNT(0, "samples", "int"), COUNT(1, "samples (before)", "int")},
    [REAL] = {COUNT(0, "samples", "double"), COUNT(1, "samples (before)", "double")},
};

struct collapsed_stack {
    struct pf_slice text;
    struct pf_cell count;
    pf_int128 whole; /* storage that `count` may point to */
};

/*
 * Parses a count at the end of stack->text, and removes the count and one blank before it from the text. Returns false and leaves *stack
 * unchanged if there is no count.
 */
static bool take_count(struct collapsed_stack *stack)
{
    const char *end = pf_trimmed(stack->text).end, *start = stack->text.at, *at;
    size_t points = 0;
    for (at = end; at > start && (isdigit((unsigned char)at[-1]) || at[-1] == '.'); at--)
        points += at[-1] == '.';
    if (at == end || at == start || points > 1 || *at == '.' || !pf_is_blank(at[-1]))
        return false;
    stack->text.end = at - 1;
    stack->count = pf_parse_amount(at, (size_t)(end - at), &stack->whole);
    return true;
}

/* True for an empty line or a comment. A stack may also begin with `#`: `#<Class:Foo>#bar` is a method. */
static bool is_empty_or_comment(struct pf_slice text)
{
    return !pf_size(text) || (*text.at == '#' && (pf_size(text) == 1 || memchr(" \t!", text.at[1], 3)));
}

/*
 * True if a text looks like a stack: frames separated by `;`. Rejects prose (a blank follows `;`), lines with a comment
 * after ` # `, and tables of numbers (`05D0 05D1;0;1 1 2`).
 */
static bool is_stack(struct pf_slice slice)
{
    size_t size = pf_size(slice), numbers = 0;
    const char *text = slice.at, *frame = memchr(text, ';', size);
    while (numbers < size && memchr("0123456789ABCDEFabcdefx; ", text[numbers], 25))
        numbers++;
    return frame && frame + 1 < text + size && !memmem(text, size, "; ", 2) &&
           !memmem(text, size, ";\t", 2) && !memmem(text, size, " # ", 3) &&
           memcmp(text + size - 2, " #", 2) != 0 && (numbers < size || !memchr(text, ' ', size));
}

/* Properties of the lines in a file's head, without empty lines and comments. */
struct collapsed_evidence {
    unsigned lines;   /* number of lines */
    unsigned counted; /* number of lines with a count */
    unsigned twice;   /* number of lines with two counts */
    unsigned stacks;  /* number of lines with a count after a text that looks like a stack */
    bool real;        /* some count has a decimal point */
};

static struct collapsed_evidence collapsed_examine(const char *at, size_t size, bool all)
{
    struct collapsed_evidence look = {0};
    struct pf_slice text = pf_slice(at, size), line;
    while (pf_take_line(&text, all, &line)) { /* ignores a line truncated by the head's end */
        struct collapsed_stack stack = {.text = line};
        if (is_empty_or_comment(line) || !++look.lines || !take_count(&stack))
            continue;
        look.counted++;
        look.stacks += is_stack(stack.text);
        look.real |= stack.count.type == PF_DOUBLE;
        look.twice += take_count(&stack);
    }
    return look;
}

static void collapsed_probe(struct pf_probe *probe, struct pf_probe_result *result)
{
    size_t have;
    const char *head = (const char *)pf_probe_text_head(probe, PF_HEAD_MAX, &have);
    bool named = strcasestr(probe->name, ".folded") || strcasestr(probe->name, ".collapsed") ||
                 strcasestr(probe->name, ".stacks");
    if (!named && !memchr(head, ';', have)) /* no stack */
        return;
    struct collapsed_evidence look =
        collapsed_examine(head, have, have == probe->size || have < PF_PLAIN_HEAD_MAX);
    bool stacks = look.stacks && 10 * look.stacks >= 3 * look.counted;
    bool deep = named && !look.lines && have == PF_HEAD_MAX; /* the first line is longer than the head */
    if (!memchr(head, 0, have) &&
        (deep || (look.counted && 2 * look.counted >= look.lines && (stacks || named))))
        result->confidence = 4;
}

/*
 * The first of two numbers may belong to the name of the last frame (`main;read 4 12`). So the file counts as a difference of two profiles
 * only if all lines of its head that have a count have two.
 */
static void collapsed_open_file(struct pf_build *build)
{
    char head[PF_HEAD_MAX];
    size_t got = pf_build_peek(build, head, sizeof head, 0);
    struct collapsed_evidence look = collapsed_examine(head, got, got < sizeof head);
    build->model->metrics = metrics[look.real ? REAL : WHOLE];
    build->model->n_metrics = look.counted && look.twice == look.counted ? COUNTS : 1;
}

/* Adds the contexts of a stack. Returns the innermost one. */
static uint32_t collapsed_context_of(struct pf_build *build, struct pf_slice stack)
{
    uint32_t context = PF_NO_CONTEXT;
    while (pf_size(stack) && stack.end[-1] == ';')
        stack.end--; /* empty frames at the end are ignored */
    for (const char *end; stack.at <= stack.end && !pf_run_is_full(build->run); stack.at = end + 1) {
        end = memchr(stack.at, ';', pf_size(stack));
        end = end ? end : stack.end;
        context = pf_build_call(build, context, stack.at, (size_t)(end - stack.at));
    }
    return context;
}

static void collapsed_read_line(struct pf_build *build, const struct pf_line *line)
{
    struct collapsed_stack after = {.text = pf_slice(line->text, line->size)}, before;
    bool twice = build->model->n_metrics == COUNTS;
    if (line->continued || is_empty_or_comment(after.text))
        return;
    bool good = !line->more && take_count(&after);
    before = after;
    if (!good || (twice && !take_count(&before))) {
        pf_build_warn(build, line->number, line->offset, "error", "bad-line",
                      "not a stack and a count: line skipped");
        return;
    }
    if (!pf_size(before.text))
        pf_build_warn(build, line->number, line->offset, "warning", "no-stack",
                      "count without a stack: assigned to a context without a name");
    uint32_t context = collapsed_context_of(build, before.text);
    if (pf_run_is_full(build->run))
        return;
    pf_build_add(build, 0, context, AFTER, after.count);
    if (twice)
        pf_build_add(build, 0, context, BEFORE, before.count);
}

static const struct pf_build_format format = {
    .metrics = metrics[0], .n_metrics = 1, .open = collapsed_open_file, .line = collapsed_read_line};

const struct pf_driver pf_collapsed_driver = {.name = "collapsed",
                                              .title = "collapsed stacks, as flamegraph.pl reads them",
                                              .version = 3,
                                              .kit = &format,
                                              .text = true,
                                              .probe = collapsed_probe,
                                              PF_BUILD_OPERATIONS};
