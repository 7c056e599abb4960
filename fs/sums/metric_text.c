/* SPDX-License-Identifier: MIT */
#include "formats/kit/print.h"
#include "fs/sums/aggregate_private.h"
#include "fs/text/csv.h"

/* The views of a metric for eyes and for flame graphs: hot.txt, tree.txt, stacks.folded. */

/* ---- numbers for eyes --------------------------------------------------------------------------- */

enum { DIGITS = 6, SMALL_DIGITS = 2 };

/* x * 10^power; in steps that stay within what a double holds exactly, so that no host differs. */
static double times_power(double x, int power)
{
    static const double powers[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
                                    1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
    for (; power > 22; power -= 22)
        x *= 1e22;
    for (; power < -22; power += 22)
        x /= 1e22;
    return power < 0 ? x / powers[-power] : x * powers[power];
}

/* The first `n` significant digits of x > 0 as an integer; *exponent is that of the first digit. */
static uint32_t significant(double x, int n, int *exponent)
{
    double least = times_power(1, n - 1);
    int e = (int)floor(log10(x));
    while (times_power(x, n - 1 - e) >= least * 10)
        e++;
    while (times_power(x, n - 1 - e) < least)
        e--;
    double digits = floor(times_power(x, n - 1 - e) + 0.5);
    if (digits == least * 10) { /* 999999.5 and more */
        digits = least;
        e++;
    }
    *exponent = e;
    return (uint32_t)digits;
}

/* digits[0 .. n) with the point after the first `whole` of them, `whole` from -3 (zeros in front) to n. */
static char *print_with_point(char *out, const char *digits, int n, int whole)
{
    if (whole <= 0) {
        *out++ = '0';
        *out++ = '.';
        for (; whole < 0; whole++)
            *out++ = '0';
        whole = -1;
    }
    for (int i = 0; i < n; i++) {
        if (i == whole)
            *out++ = '.';
        *out++ = digits[i];
    }
    return out;
}

static char *print_significant(char *out, double x, int n)
{
    int e, most = n;
    char digits[PF_NUMBER_MAX];
    pf_print_uint(digits, significant(x, n, &e));
    while (n > 1 && digits[n - 1] == '0' && (n > e + 1 || e >= most))
        n--;
    if (e >= -4 && e < most)
        return print_with_point(out, digits, n, e + 1);
    out = print_with_point(out, digits, n, 1);
    *out++ = 'e';
    *out++ = e < 0 ? '-' : '+';
    e = e < 0 ? -e : e;
    if (e < 10)
        *out++ = '0';
    return pf_print_int(out, e);
}

/* With `digits` significant digits, all of them before the point. */
static char *print_rounded_double(char *out, double x, int digits)
{
    if (x == 0) {
        *out++ = '0';
        return out;
    }
    if (!isfinite(x))
        return pf_print_double(out, x);
    if (x < 0) {
        *out++ = '-';
        x = -x;
    }
    if (x >= 1e5 && x < 1e15)
        return pf_print_int(out, (int64_t)floor(x + 0.5));
    return print_significant(out, x, digits);
}

char *pf_print_rounded(char *out, const union pf_number *number, bool real)
{
    return real ? print_rounded_double(out, pf_number_double(number, true), DIGITS)
                : pf_print_wide(out, number->i);
}

/* A share with two decimals, what rounds to 100% without; one that would round to 0% has two digits. */
static char *print_percent(char *out, double part, double whole)
{
    double percent = whole == 0 ? 0 : part / whole * 100;
    double hundredths = floor(fabs(percent) * 100 + 0.5);
    if (!(hundredths >= 1 && hundredths < 1e15)) {
        out = print_rounded_double(out, percent, hundredths < 1 ? SMALL_DIGITS : DIGITS);
    } else {
        int64_t n = (int64_t)hundredths;
        if (percent < 0)
            *out++ = '-';
        out = pf_print_int(out, n / 100);
        if (n != 10000) {
            *out++ = '.';
            *out++ = (char)('0' + n / 10 % 10);
            *out++ = (char)('0' + n % 10);
        }
    }
    *out++ = '%';
    return out;
}

static void add_right(struct pf_buf *out, const char *text, size_t size, size_t width)
{
    char *at = pf_buf_reserve(out, size < width ? width : size);
    if (!at)
        return;
    size_t blanks = size < width ? width - size : 0;
    memset(at, ' ', blanks);
    memcpy(at + blanks, text, size);
    out->size += blanks + size;
}

static void add_number(struct pf_buf *out, const union pf_number *number, bool real, size_t width)
{
    char text[PF_NUMBER_MAX];
    add_right(out, text, (size_t)(pf_print_rounded(text, number, real) - text), width);
}

static void add_percent(struct pf_buf *out, double part, double whole, size_t width)
{
    char text[PF_NUMBER_MAX];
    add_right(out, text, (size_t)(print_percent(text, part, whole) - text), width);
}

/* ---- names on one line -------------------------------------------------------------------------- */

static void add_name(struct pf_buf *out, const struct pf_cell *name)
{
    if (name->plain)
        pf_buf_add(out, name->text, name->size);
    else if (name->size)
        pf_escape(out, name->text, name->size);
}

/* Where the blank stands before a number that the name ends in; the name's size if there is none. */
static size_t blank_before_number(const struct pf_cell *name)
{
    size_t at = name->size;
    while (at && ((name->text[at - 1] >= '0' && name->text[at - 1] <= '9') || name->text[at - 1] == '.'))
        at--;
    return at && at < name->size && name->text[at - 1] == ' ' ? at - 1 : name->size;
}

/*
 * A frame of a folded stack: no semicolons, no blanks where a reader would strip them, or would take what follows for
 * a value (flamegraph.pl takes two numbers at a line's end for a difference).
 */
void pf_folded_frame(struct pf_buf *out, const struct pf_cell *name)
{
    size_t from = 0, blank = blank_before_number(name);
    for (size_t i = 0; i < name->size; i++) {
        bool edge = i == 0 || i + 1 == name->size || i == blank;
        if (name->text[i] != ';' && !(name->text[i] == ' ' && edge))
            continue;
        pf_escape(out, name->text + from, i - from);
        pf_buf_str(out, name->text[i] == ';' ? ":" : "\\x20");
        from = i + 1;
    }
    pf_escape(out, name->text + from, name->size - from);
}

/* ---- what the texts begin with ------------------------------------------------------------------ */

/* True of a metric that does not add up; that is then all there is to say. */
static bool ends_without_sums(struct pf_metric_walk *walk, struct pf_buf *out)
{
    const struct pf_metric *metric = &walk->model->metrics[walk->metric];
    if (pf_adds_up(metric))
        return false;
    struct pf_cell name = pf_string(metric->name);
    add_name(out, &name);
    pf_buf_str(out, " does not add up over ");
    pf_buf_str(out,
               metric->over_contexts == PF_OVER_NO_CONTEXTS ? "contexts" : walk->model->partitions.plural);
    pf_buf_str(out, ": its values stand in contexts.csv\n");
    walk->lines.position = walk->end;
    return true;
}

static void add_with_unit(const struct pf_metric_walk *walk, const union pf_number *number, bool real,
                          struct pf_buf *out)
{
    struct pf_cell unit = pf_string(walk->model->metrics[walk->metric].unit);
    add_number(out, number, real, 0);
    if (unit.size) {
        pf_buf_char(out, ' ');
        add_name(out, &unit);
    }
}

static void add_total(const struct pf_metric_walk *walk, struct pf_buf *out)
{
    const struct pf_metric_sums *sums = &walk->aggregate->metrics[walk->arranged->total_of];
    add_with_unit(walk, &sums->total, sums->real, out);
    pf_add_readable(out, pf_number_double(&sums->total, sums->real), walk->model->metrics[walk->metric].unit);
    pf_buf_str(out, " total\n");
}

static size_t column_width(const struct pf_metric_walk *walk)
{
    return walk->arranged->width < 10 ? 10 : walk->arranged->width;
}

enum { PERCENT_WIDTH = 7 }; /* of "100.00%" */

/* An inclusive value and its share, with some blanks between them; dashes where there is none. */
static void add_inclusive(const struct pf_metric_walk *walk, const union pf_number *number, bool lacking,
                          const char *blanks, struct pf_buf *out)
{
    const struct pf_arranged *arranged = walk->arranged;
    if (lacking)
        add_right(out, "-", 1, column_width(walk));
    else
        add_number(out, number, arranged->inclusive_real, column_width(walk));
    pf_buf_str(out, blanks);
    if (lacking)
        add_right(out, "-", 1, PERCENT_WIDTH);
    else
        add_percent(out, pf_number_double(number, arranged->inclusive_real), arranged->roots, PERCENT_WIDTH);
}

/* ---- hot.txt ------------------------------------------------------------------------------------ */

static void add_hot_head(const struct pf_metric_walk *walk, struct pf_buf *out)
{
    static const union pf_number zero;
    const struct pf_arranged *arranged = walk->arranged;
    const union pf_number *shown =
        arranged->n_functions ? &arranged->functions[arranged->n_functions - 1].running : &zero;
    pf_buf_str(out, "Showing nodes accounting for ");
    add_with_unit(walk, shown, arranged->exclusive_real, out);
    pf_buf_str(out, ", ");
    add_percent(out, pf_number_double(shown, arranged->exclusive_real), arranged->total, 0);
    pf_buf_str(out, " of ");
    add_total(walk, out);
    add_right(out, "flat", 4, column_width(walk));
    pf_buf_str(out, "   flat%    sum% ");
    add_right(out, "cum", 3, column_width(walk));
    pf_buf_str(out, "    cum%  name\n");
}

bool pf_hot_record(struct pf_metric_walk *walk, struct pf_buf *out)
{
    const struct pf_arranged *arranged = walk->arranged;
    if (ends_without_sums(walk, out))
        return true;
    uint64_t at = walk->lines.position++;
    if (!at) {
        add_hot_head(walk, out);
        return true;
    }
    const struct pf_function *function = &arranged->functions[at - 1];
    struct pf_cell name = pf_interned(walk->model->contexts->strings, function->name);
    add_number(out, &function->exclusive, arranged->exclusive_real, column_width(walk));
    pf_buf_char(out, ' ');
    add_percent(out, pf_number_double(&function->exclusive, arranged->exclusive_real), arranged->total,
                PERCENT_WIDTH);
    pf_buf_char(out, ' ');
    add_percent(out, pf_number_double(&function->running, arranged->exclusive_real), arranged->total,
                PERCENT_WIDTH);
    pf_buf_char(out, ' ');
    add_inclusive(walk, &function->inclusive, function->lacking, " ", out);
    pf_buf_str(out, "  ");
    add_name(out, &name);
    pf_buf_char(out, '\n');
    return true;
}

/* ---- tree.txt ----------------------------------------------------------------------------------- */

enum { INDENT = 2, LEVELS_MAX = 64 };

static void add_indentation(struct pf_buf *out, uint32_t depth)
{
    size_t levels = depth < LEVELS_MAX ? depth : LEVELS_MAX;
    add_right(out, "", 0, levels * INDENT);
    if (depth <= LEVELS_MAX)
        return;
    char text[PF_NUMBER_MAX];
    pf_buf_str(out, "[depth ");
    pf_buf_add(out, text, (size_t)(pf_print_uint(text, depth) - text));
    pf_buf_str(out, "] ");
}

static void add_tree_head(const struct pf_metric_walk *walk, struct pf_buf *out)
{
    add_total(walk, out);
    add_right(out, "inclusive", 9, column_width(walk));
    pf_buf_str(out, "    incl% ");
    add_right(out, "exclusive", 9, column_width(walk));
    pf_buf_str(out, "  context\n");
}

bool pf_tree_record(struct pf_metric_walk *walk, struct pf_buf *out)
{
    const struct pf_arranged *arranged = walk->arranged;
    const struct pf_tree *tree = walk->model->contexts;
    if (ends_without_sums(walk, out))
        return true;
    uint64_t at = walk->lines.position++;
    if (!at) {
        add_tree_head(walk, out);
        return true;
    }
    uint32_t context = arranged->order[at - 1];
    struct pf_cell name = pf_interned(tree->strings, tree->name[context]);
    add_inclusive(walk, &arranged->inclusive[context], arranged->lacking && arranged->lacking[context], "  ",
                  out);
    pf_buf_char(out, ' ');
    add_number(out, &arranged->exclusive[context], arranged->exclusive_real, column_width(walk));
    pf_buf_str(out, "  ");
    add_indentation(out, tree->depth[context]);
    add_name(out, &name);
    pf_buf_char(out, '\n');
    return true;
}

/* ---- stacks.folded ------------------------------------------------------------------------------ */

struct pf_folding pf_folding(const struct pf_model *model, unsigned m)
{
    const struct pf_metric *metric = &model->metrics[m];
    int exclusive = pf_twins_of(model, m).exclusive;
    bool real = !strcmp(model->metrics[exclusive < 0 ? (int)m : exclusive].type, "double");
    int64_t ns = pf_unit_ns(metric->unit);
    bool large =
        metric->most * (double)(ns ? ns : 1) >= 0x1p62; /* far enough from 64 bits for a rounded sum */
    if (!pf_adds_up(metric))
        return (struct pf_folding){.factor = 1, .part = "", .unit = ""};
    if (ns)
        return (struct pf_folding){ns, "", "ns", real, real || large};
    return (struct pf_folding){real ? 1000000 : 1, real ? "1e-6" : "", metric->unit, real, real || large};
}

/* A positive value as a whole number: true with *folded, or else it is the rounded *large. */
static bool fold(const struct pf_folding *folding, const union pf_number *number, bool real,
                 pf_int128 *folded, double *large)
{
    if (!real && !__builtin_mul_overflow(number->i, folding->factor, folded))
        return true;
    *large = floor(pf_number_double(number, real) * (double)folding->factor + 0.5);
    if (fabs(*large) < 0x1p63)
        *folded = (int64_t)*large;
    else if (fabs(*large) < 0x1p100)
        *folded = (pf_int128)*large;
    else
        return false;
    return true;
}

bool pf_is_folded(const struct pf_folding *folding, const union pf_number *number, bool real)
{
    pf_int128 folded;
    double large;
    return fold(folding, number, real, &folded, &large) ? folded > 0 : large > 0 && isfinite(large);
}

uint32_t pf_folded_value(const struct pf_folding *folding, const union pf_number *number, bool real)
{
    pf_int128 folded;
    double large;
    return fold(folding, number, real, &folded, &large) && folded <= UINT32_MAX ? (uint32_t)folded : 0;
}

int pf_folded_left_out(struct pf_aggregate *aggregate, unsigned metric, uint64_t *left_out,
                       struct pf_error *error)
{
    struct pf_arranged *arranged = pf_arranged_get(aggregate, metric, PF_BY_STACK, error);
    if (!arranged)
        return -1;
    *left_out = arranged->left_out;
    pf_arranged_put(aggregate, arranged);
    return 0;
}

/* A folded value is an integer in digits: the readers of these files know nothing else. */
static void add_value(const struct pf_folding *folding, const union pf_number *number, bool real,
                      struct pf_buf *out)
{
    pf_int128 folded;
    double large;
    char *at = pf_buf_reserve(out, 400); /* what pf_print_double_plain may take */
    if (!at)
        return;
    char *end = fold(folding, number, real, &folded, &large) ? pf_print_wide(at, folded)
                                                             : pf_print_double_plain(at, large);
    out->size += (size_t)(end - at);
}

/* The line at the walk's position, which it moves on; its stack is set. */
static const struct pf_folded_line *next_folded(struct pf_metric_walk *walk)
{
    const struct pf_tree *tree = walk->model->contexts;
    struct pf_stack *stack = walk->stack;
    uint64_t at = walk->lines.position++;
    const struct pf_folded_line *line = &walk->arranged->folded[at];
    /* A caller that has a line stands before this one, and all between them stand below it. */
    if (walk->stands_at == at && line->depth <= stack->n && line->depth < 2 * PF_STACK_HALF)
        pf_stack_add(stack, tree, line->context, line->name, line->depth);
    else
        pf_stack_set(stack, tree, walk->arranged->outer, line->context);
    walk->stands_at = at + 1;
    return line;
}

bool pf_folded_record(struct pf_metric_walk *walk, struct pf_buf *out)
{
    const struct pf_arranged *arranged = walk->arranged;
    const struct pf_folded_line *line = next_folded(walk);
    const struct pf_buf *stack = &walk->stack->text;
    char *at = pf_buf_reserve(out, stack->size + PF_NUMBER_MAX + 2);
    if (!at || stack->failed) {
        out->failed = true;
        return true;
    }
    memcpy(at, stack->data, stack->size);
    at += stack->size;
    *at++ = ' ';
    if (line->value)
        at = pf_print_uint(at, line->value);
    out->size = (size_t)(at - out->data);
    if (!line->value)
        add_value(&walk->folding, &arranged->exclusive[line->context], arranged->exclusive_real, out);
    pf_buf_char(out, '\n');
    return true;
}

int pf_folded_measure(struct pf_lines *lines, uint64_t *size, struct pf_error *error)
{
    struct pf_metric_walk *walk = (struct pf_metric_walk *)lines;
    const struct pf_arranged *arranged = walk->arranged;
    if (lines->position >= walk->end)
        return 0;
    const struct pf_folded_line *line = next_folded(walk);
    struct pf_buf large = {0};
    if (!line->value)
        add_value(&walk->folding, &arranged->exclusive[line->context], arranged->exclusive_real, &large);
    *size += walk->stack->text.size + 2 + (line->value ? pf_uint_size(line->value) : large.size);
    bool failed = walk->stack->text.failed || large.failed;
    pf_buf_free(&large);
    return failed ? pf_fail_memory(error) : 1;
}
