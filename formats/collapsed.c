/* SPDX-License-Identifier: MIT */
/* Collapsed stacks, as flamegraph.pl and its kin read them: `main;solve;sweep 12` a line. See docs/formats/collapsed.md. */
#include <ctype.h>
#include <string.h>

#include "formats/kit/parse.h"
#include "formats/kit/samples.h"

extern const struct pf_driver pf_collapsed_driver;

enum { AFTER, BEFORE, COUNTS };
static const struct pf_metric metrics[][COUNTS] = {
    {PF_EXCLUSIVE(0, "samples", "", "int"), PF_EXCLUSIVE(1, "samples (before)", "", "int")},
    {PF_EXCLUSIVE(0, "samples", "", "double"), PF_EXCLUSIVE(1, "samples (before)", "", "double")},
};

struct stack {
    const char *text;
    size_t size;
    struct pf_cell count;
    pf_int128 whole; /* what the count may point to */
};

static bool is_blank(char c)
{
    return c == ' ' || c == '\t';
}

/* Takes a count and the one blank before it off the end. False if there is none; *stack is as it was then. */
static bool take_count(struct stack *stack)
{
    const char *text = stack->text;
    size_t end = stack->size, at, points = 0;
    while (end && is_blank(text[end - 1]))
        end--;
    for (at = end; at && (isdigit((unsigned char)text[at - 1]) || text[at - 1] == '.'); at--)
        points += text[at - 1] == '.';
    if (at == end || !at || points > 1 || text[at] == '.' || !is_blank(text[at - 1]))
        return false;
    stack->size = at - 1;
    stack->count = pf_parse_amount(text + at, end - at, &stack->whole);
    return true;
}

/* A stack may begin with the same character: `#<Class:Foo>#bar` is a method. */
static bool is_nothing(const char *text, size_t size)
{
    return !size || (text[0] == '#' && (size == 1 || memchr(" \t!", text[1], 3)));
}

/*
 * Frames stand behind `;` without a blank; prose has one there, and tables may have comments that end in a number. Lists of
 * numbers (`05D0 05D1;0;1 1 2`) are no names.
 */
static bool is_stack(const char *text, size_t size)
{
    const char *frame = memchr(text, ';', size);
    size_t numbers = 0;
    while (numbers < size && memchr("0123456789ABCDEFabcdefx; ", text[numbers], 25))
        numbers++;
    return frame && frame + 1 < text + size && !memmem(text, size, "; ", 2) &&
           !memmem(text, size, ";\t", 2) && !memmem(text, size, " # ", 3) &&
           memcmp(text + size - 2, " #", 2) != 0 && (numbers < size || !memchr(text, ' ', size));
}

/* What the lines of a file's head are: such with a count, with two of them, with a `;` in the stack. */
struct look {
    unsigned lines, counted, twice, stacks;
    bool real;
};

static struct look look_at(const char *at, size_t size, bool all)
{
    struct look look = {0};
    for (const char *end = at + size, *newline; at < end; at = newline + 1) {
        newline = memchr(at, '\n', (size_t)(end - at));
        if (!newline && !all)
            break; /* cut by the head's end */
        newline = newline ? newline : end;
        struct stack stack = {.text = at, .size = (size_t)(newline - at)};
        stack.size -= stack.size && newline[-1] == '\r';
        if (is_nothing(at, stack.size) || !++look.lines || !take_count(&stack))
            continue;
        look.counted++;
        look.stacks += is_stack(at, stack.size);
        look.real |= stack.count.type == PF_DOUBLE;
        look.twice += take_count(&stack);
    }
    return look;
}

static void probe(struct pf_probe *probe, struct pf_verdict *verdict)
{
    size_t have;
    const char *head = (const char *)pf_samples_head(probe, PF_HEAD_MAX, &have);
    struct look look = look_at(head, have, have == probe->size || have < PF_PLAIN_HEAD_MAX);
    bool stacks = look.stacks && 10 * look.stacks >= 3 * look.counted;
    const char *name = probe->name;
    bool called =
        strcasestr(name, ".folded") || strcasestr(name, ".collapsed") || strcasestr(name, ".stacks");
    bool deep = called && !look.lines && have == PF_HEAD_MAX; /* the head is not even the first line */
    if (!memchr(head, 0, have) &&
        (deep || (look.counted && 2 * look.counted >= look.lines && (stacks || called))))
        verdict->confidence = 4;
}

/* Two numbers may be a count and a frame that ends in one: only where all lines have two is it a difference. */
static int open_file(struct pf_profile *profile, struct pf_error *error)
{
    char head[PF_HEAD_MAX];
    const struct pf_samples *samples = profile->state;
    ssize_t got = pf_input_read(samples->input, head, sizeof head, 0, error);
    struct look look = look_at(head, got > 0 ? (size_t)got : 0, (size_t)got < sizeof head);
    profile->metrics = metrics[look.real];
    profile->n_metrics = look.counted && look.twice == look.counted ? COUNTS : 1;
    return got < 0 ? -1 : 0;
}

/* The context that a stack ends in; PF_NO_CONTEXT with *error filled. */
static uint32_t context_of(struct pf_profile *profile, const char *at, size_t size, struct pf_error *error)
{
    uint32_t context = PF_NO_CONTEXT;
    while (size && at[size - 1] == ';')
        size--; /* empty frames at the end are none */
    for (const char *end = at + size, *next; at <= end; at = next + 1) {
        next = memchr(at, ';', (size_t)(end - at));
        next = next ? next : end;
        context = pf_samples_call(profile, context, at, (size_t)(next - at), error);
        if (context == PF_NO_CONTEXT)
            break;
    }
    return context;
}

static int read_line(struct pf_profile *profile, const struct pf_line *line, struct pf_error *error)
{
    struct stack after = {.text = line->text, .size = line->size}, before;
    if (line->continued || is_nothing(after.text, after.size))
        return 0;
    bool good = !line->more && take_count(&after);
    before = after;
    if (!good || (profile->n_metrics == COUNTS && !take_count(&before)))
        return pf_warn(profile, (int64_t)line->number, (int64_t)line->offset, "error", "bad-line", error,
                       "not a stack and a count: the line is left out");
    if (!before.size && pf_warn(profile, (int64_t)line->number, (int64_t)line->offset, "warning", "no-stack",
                                error, "a count without a stack: kept in a context without a name"))
        return -1;
    uint32_t context = context_of(profile, before.text, before.size, error);
    if (context == PF_NO_CONTEXT || pf_samples_add(profile, 0, context, AFTER, after.count, error))
        return -1;
    return profile->n_metrics < COUNTS ? 0 : pf_samples_add(profile, 0, context, BEFORE, before.count, error);
}

static int read_file(struct pf_profile *profile, struct pf_pass *pass, struct pf_error *error)
{
    return pf_samples_lines(profile, pass, read_line, error);
}

static const struct pf_samples_format format = {
    .metrics = metrics[0], .n_metrics = 1, .open = open_file, .read = read_file};

const struct pf_driver pf_collapsed_driver = {.name = "collapsed",
                                              .title = "collapsed stacks, as flamegraph.pl reads them",
                                              .version = 1,
                                              .kit = &format,
                                              .probe = probe,
                                              .open = pf_samples_open,
                                              .load = pf_samples_load,
                                              .close = pf_samples_close};
