/* SPDX-License-Identifier: MIT */
#include "fs/sums/readable.h"

#include "formats/kit/print.h"
#include "fs/sums/aggregate_private.h"
#include "fs/text/csv.h"

/* ---- numbers ------------------------------------------------------------------------------------ */

enum { DIGITS = 6, SMALL_DIGITS = 2 };

/* x * 10^power, in steps whose factors are exact as doubles, so that all hosts print the same digits. */
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

/* The first `n` significant digits of x > 0, as an integer; *exponent is the decimal exponent of the first digit. */
static uint32_t significant(double x, int n, int *exponent)
{
    double least = times_power(1, n - 1);
    int e = (int)floor(log10(x));
    while (times_power(x, n - 1 - e) >= least * 10)
        e++;
    while (times_power(x, n - 1 - e) < least)
        e--;
    double digits = floor(times_power(x, n - 1 - e) + 0.5);
    if (digits == least * 10) { /* rounded up to n + 1 digits */
        digits = least;
        e++;
    }
    *exponent = e;
    return (uint32_t)digits;
}

/* Prints digits[0 .. n), the first `whole` of them before the decimal point. If `whole` is negative (at least -3), -whole
 * zeros are printed between the point and the digits. If `whole` is n, no point is printed. */
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

/* Prints x with `digits` significant digits or, if |x| is from 10^5 to 10^15, as a rounded integer. */
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

size_t pf_wider(size_t width, const union pf_number *number, bool real)
{
    char text[PF_NUMBER_MAX];
    size_t length = (size_t)(pf_print_rounded(text, number, real) - text);
    return length > width ? length : width;
}

/* Prints `part` in percent of `whole`, with two decimals. A share that would then be 0.00 is printed with two significant
 * digits, and one that rounds to 100.00 as `100%`. */
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

/* ---- columns and names --------------------------------------------------------------------------- */

void pf_add_right(struct pf_buf *out, const char *text, size_t size, size_t width)
{
    char *at = pf_buf_reserve(out, size < width ? width : size);
    if (!at)
        return;
    size_t blanks = size < width ? width - size : 0;
    memset(at, ' ', blanks);
    memcpy(at + blanks, text, size);
    out->size += blanks + size;
}

void pf_add_number(struct pf_buf *out, const union pf_number *number, bool real, size_t width)
{
    char text[PF_NUMBER_MAX];
    pf_add_right(out, text, (size_t)(pf_print_rounded(text, number, real) - text), width);
}

void pf_add_percent(struct pf_buf *out, double part, double whole, size_t width)
{
    char text[PF_NUMBER_MAX];
    pf_add_right(out, text, (size_t)(print_percent(text, part, whole) - text), width);
}

void pf_add_inclusive(struct pf_buf *out, const union pf_number *number, bool real, bool unknown,
                      double whole, size_t width, size_t blanks)
{
    if (unknown)
        pf_add_right(out, "-", 1, width);
    else
        pf_add_number(out, number, real, width);
    pf_add_right(out, "", 0, blanks);
    if (unknown)
        pf_add_right(out, "-", 1, PF_PERCENT_WIDTH);
    else
        pf_add_percent(out, pf_number_double(number, real), whole, PF_PERCENT_WIDTH);
}

void pf_add_name(struct pf_buf *out, const struct pf_cell *name)
{
    if (name->plain)
        pf_buf_add(out, name->text, name->size);
    else if (name->size)
        pf_escape(out, name->text, name->size);
}

size_t pf_cut_end(struct pf_buf *buf, size_t from, size_t most)
{
    static const char dots[] = "...";
    if (buf->failed || buf->size - from <= most)
        return buf->failed ? 0 : buf->size - from;
    size_t kept = from + (most > strlen(dots) ? most - strlen(dots) : 0);
    while (kept > from && ((unsigned char)buf->data[kept] & 0xc0) == 0x80)
        kept--;
    buf->size = kept;
    pf_buf_str(buf, dots);
    return buf->size - from;
}

size_t pf_cut_front(struct pf_buf *buf, size_t most)
{
    static const char dots[] = "...";
    if (buf->failed || buf->size <= most)
        return 0;
    size_t from = buf->size - (most > strlen(dots) ? most - strlen(dots) : 0);
    while (from < buf->size && ((unsigned char)buf->data[from] & 0xc0) == 0x80)
        from++;
    memcpy(buf->data + from - strlen(dots), dots, strlen(dots));
    return from - strlen(dots);
}

void pf_add_with_unit(struct pf_buf *out, const struct pf_metric *metric, const union pf_number *number,
                      bool real)
{
    struct pf_cell unit = pf_string(metric->unit);
    pf_add_number(out, number, real, 0);
    if (unit.size) {
        pf_buf_char(out, ' ');
        pf_add_name(out, &unit);
    }
}

bool pf_add_sums_missing(struct pf_buf *out, const struct pf_model *model, unsigned m)
{
    const struct pf_metric *metric = &model->metrics[m];
    if (pf_adds_up(metric))
        return false;
    struct pf_cell name = pf_string(metric->name);
    pf_add_name(out, &name);
    pf_buf_str(out, " cannot be summed over ");
    pf_buf_str(out, metric->over_contexts == PF_OVER_NO_CONTEXTS ? "contexts" : model->partitions.plural);
    pf_buf_str(out, "; see contexts.csv\n");
    return true;
}

void pf_add_total_line(struct pf_buf *out, const struct pf_aggregate *aggregate, unsigned metric,
                       unsigned total_metric)
{
    const struct pf_metric_sums *sums = &aggregate->metrics[total_metric];
    pf_add_with_unit(out, &aggregate->model->metrics[metric], &sums->total, sums->real);
    pf_add_readable(out, pf_number_double(&sums->total, sums->real), aggregate->model->metrics[metric].unit);
    pf_buf_str(out, " total\n");
}
