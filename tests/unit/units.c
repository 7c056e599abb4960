/* SPDX-License-Identifier: MIT */
#include <math.h>

#include "fs/sums/units.h"
#include "tests/unit/tap.h"

/* A readable value has two decimals in the largest unit in which it is at least 1. */

static void reads(double value, const char *unit, const char *wanted)
{
    char name[64];
    struct pf_buf out = {0};
    snprintf(name, sizeof name, "%g %s", value, unit);
    pf_add_readable(&out, value, unit);
    pf_buf_char(&out, 0);
    is(out.data, wanted, name);
    pf_buf_free(&out);
}

int main(void)
{
    reads(24630000000, "ns", " (24.63 s)");
    reads(109255721, "ns", " (109.26 ms)");
    reads(999999999, "ns", " (1000.00 ms)");
    reads(1500, "ns", " (1.50 us)");
    reads(-1500, "ns", " (-1.50 us)");
    reads(999, "ns", "");
    reads(0, "ns", "");
    reads(2, "usec", " (2.00 us)");
    reads(0.25, "s", " (250.00 ms)");
    reads(100, "s", "");
    reads(2, "h", " (7200.00 s)");
    reads(1e-12, "s", "");
    reads(42000, "bytes", " (42.00 kB)");
    reads(3.5e12, "B", " (3.50 TB)");
    reads(999, "bytes", "");
    reads(1e9, "", "");
    reads(1e9, "cycles", "");
    reads(NAN, "ns", "");
    reads(INFINITY, "ns", "");
    struct pf_scale scale = pf_scale_of(2500, "us");
    is(scale.name, "ms", "an axis of times has the largest suitable unit");
    ok(scale.factor == 1000 && scale.divisor == 1e6,
       "an axis of times has the factor and divisor of its unit");
    ok(!pf_scale_of(2500, "calls").name, "an axis of other units has no scale");
    ok(pf_unit_ns("min") == 60000000000 && !pf_unit_ns("bytes") && !pf_unit_ns(""),
       "units of time are converted to nanoseconds");
    return done();
}
