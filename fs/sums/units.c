/* SPDX-License-Identifier: MIT */
#include "fs/sums/units.h"

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

static const struct unit_scale {
    const char *name;
    int64_t ns;        /* 0: bytes */
    const char *shown; /* the readable unit that says the same, so that "1 sec (1.00 s)" is not printed; "": none */
} units[] = {{"ns", 1, "ns"},
             {"nsec", 1, ""},
             {"nanosecond", 1, ""},
             {"nanoseconds", 1, "ns"},
             {"us", 1000, "us"},
             {"usec", 1000, ""},
             {"\xc2\xb5s", 1000, ""},
             {"\xce\xbcs", 1000, ""},
             {"microseconds", 1000, ""},
             {"ms", 1000000, "ms"},
             {"msec", 1000000, ""},
             {"milliseconds", 1000000, ""},
             {"s", 1000000000, "s"},
             {"sec", 1000000000, "s"},
             {"secs", 1000000000, ""},
             {"second", 1000000000, ""},
             {"seconds", 1000000000, "s"},
             {"min", 60000000000, ""},
             {"h", 3600000000000, ""},
             {"B", 0, "B"},
             {"byte", 0, "B"},
             {"bytes", 0, "B"}};

static const struct unit_scale *find_unit(const char *name)
{
    for (size_t i = 0; i < sizeof units / sizeof *units; i++)
        if (!strcmp(name, units[i].name))
            return &units[i];
    return NULL;
}

int64_t pf_unit_ns(const char *unit)
{
    const struct unit_scale *known = find_unit(unit);
    return known ? known->ns : 0;
}

struct pf_scale pf_scale_of(double value, const char *unit)
{
    static const struct pf_scale times[] = {{"s", 1, 1e9}, {"ms", 1, 1e6}, {"us", 1, 1e3}, {"ns", 1, 1}};
    static const struct pf_scale sizes[] = {
        {"TB", 1, 1e12}, {"GB", 1, 1e9}, {"MB", 1, 1e6}, {"kB", 1, 1e3}, {"B", 1, 1}};
    const struct unit_scale *known = find_unit(unit);
    if (!known)
        return (struct pf_scale){NULL, 1, 1};
    const struct pf_scale *scale = known->ns ? times : sizes;
    double factor = known->ns ? (double)known->ns : 1;
    while (scale->divisor > 1 && !(fabs(value) * factor >= scale->divisor))
        scale++;
    return (struct pf_scale){scale->name, factor, scale->divisor};
}

void pf_add_readable(struct pf_buf *out, double value, const char *unit)
{
    const struct unit_scale *known = find_unit(unit);
    struct pf_scale scale = pf_scale_of(value, unit);
    double shown = value * scale.factor / scale.divisor;
    if (known && scale.name && isfinite(shown) && fabs(shown) >= 1 && strcmp(known->shown, scale.name) != 0)
        pf_buf_printf(out, " (%.2f %s)", shown, scale.name);
}
