/* SPDX-License-Identifier: MIT */
/* Tests how names of folders of measurements are parsed as points. */
#include "formats/extrap/points.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "formats/probe.h"
#include "tests/unit/tap.h"

/* Returns `x=1 y=2.5`, or the error. */
static const char *point_of(const char *name)
{
    static char text[512];
    struct pf_pointdir point;
    const char *problem = pf_pointdir_parse(name, &point);
    size_t at = 0;
    if (problem)
        return problem;
    for (unsigned i = 0; i < point.count; i++)
        at += (size_t)snprintf(text + at, sizeof text - at, "%s%.*s=%g", i ? " " : "",
                               (int)point.parameters[i].size, point.parameters[i].name,
                               point.parameters[i].value);
    return text;
}

static void test_names(void)
{
    is(point_of("mm.x25.y50.z1.r1"), "x=25 y=50 z=1", "dots separate parameters");
    is(point_of("mm.x1.1,y1,1,z1.1.r1"), "x=1.1 y=1.1 z=1.1", "dots and commas may be decimal points");
    is(point_of("fastest.p16.size131072.r1"), "p=16 size=131072", "names may be words");
    is(point_of("x10y1z1"), "x=10 y=1 z=1", "a name without a dot has no prefix");
    is(point_of("mm.p1_n2"), "p=1 _n=2", "a character that is not part of a number is part of a name");
    is(point_of("mm.x1e5"), "x=1 e=5", "numbers have no exponents");
    is(point_of("mm.x-1"), "x-=1", "numbers have no signs");
    is(point_of("mm.x1..y2"), "x=1 y=2", "a dot after a value separates values");
    is(point_of("mm.x1.r1.y2"), "x=1", "a point ends where the repetition begins");
}

static void test_refused(void)
{
    is(point_of("mm.ranks4.r1"), "has no parameters",
       "a parameter that begins with r counts as the repetition");
    is(point_of("run.r1"), "has no parameters", "a name with a repetition only is not a point");
    is(point_of("x1.5y2"), "has a value without a name", "decimals need a prefix");
    is(point_of("a.b.x1"), "has a value that is not a number", "a prefix has one dot");
    is(point_of("mm.x1.2.3"), "has a value that is not a number", "a number has one dot");
    is(point_of("1x2"), "has a value without a name", "a point begins with a name");
    is(point_of("mm.x1y"), "has a name without a value", "a point ends with a value");
    is(point_of("mm"), "has a name without a value", "a name without a value is not a point");
    is(point_of("."), "has no parameters", "an empty name is not a point");
    is(point_of("m.a1b1c1d1e1f1g1h1i1j1k1l1m1n1o1p1q1"), "has too many parameters",
       "a point has at most sixteen parameters");
}

static struct pf_pointdirs folder_of(const char *const *names)
{
    struct pf_pointdirs dirs = {0};
    struct pf_error error;
    for (; *names; names++)
        if (pf_pointdirs_add(&dirs, *names, &error))
            abort();
    pf_pointdirs_finish(&dirs);
    return dirs;
}

static void test_folder(void)
{
    struct pf_pointdirs dirs =
        folder_of((const char *[]){"m.x100y1.r2", "m.x20y1.r1", "m.x100y1.r1", "other", "m.z1y1", NULL});
    ok(dirs.points == 3 && dirs.count == 5, "folders that are not points are not counted as points");
    ok(dirs.parameters == 1, "a parameter with the same value everywhere is left out");
    ok(dirs.numbers[0] == 0, "the first point determines the parameters");
    is(dirs.entries[0].name, "m.x20y1.r1", "points are ordered by their values");
    is(dirs.entries[1].name, "m.x100y1.r1", "equal points are ordered by name");
    ok(dirs.entries[2].point.parameters[0].value == 100, "each point has its values");
    is(dirs.entries[3].problem, "has other parameters than those before it",
       "a point with other parameters is reported");
    is(dirs.entries[4].problem, "has a name without a value", "a folder that is not a point is reported");
    pf_pointdirs_free(&dirs);

    dirs = folder_of((const char *[]){"m.x1y2.r1", "m.x1y2.r2", NULL});
    ok(dirs.parameters == 2, "all parameters stay if none varies");
    pf_pointdirs_free(&dirs);
}

static void touch(int folder, const char *name)
{
    int fd = openat(folder, name, O_WRONLY | O_CREAT, 0600);
    if (fd < 0)
        abort();
    close(fd);
}

static void test_probe(void)
{
    char path[] = "/tmp/pointdirs.XXXXXX";
    int folder = mkdtemp(path) ? open(path, O_RDONLY | O_DIRECTORY) : -1;
    if (folder < 0 || mkdirat(folder, "m.x1", 0700) || mkdirat(folder, "m.x2", 0700) ||
        mkdirat(folder, "notes", 0700))
        abort();
    touch(folder, "m.x1/profile.cubex");
    touch(folder, "m.x2/.hidden.cubex");
    touch(folder, "notes/profile.cubex");
    struct pf_probe probe = {.name = "study", .directory = true, .fd = folder};
    ok(pf_points_probe(&probe, ".cubex", 1), "a point's folder with a file of the type is counted");
    ok(!pf_points_probe(&probe, ".cubex", 2), "hidden files and folders that are not points are not counted");
    ok(!pf_points_probe(&probe, ".sqlite", 1), "files of another type are not counted");
    touch(folder, "m.x2/profile.cubex");
    ok(pf_points_probe(&probe, ".cubex", 2), "a second point's folder is counted");
    struct pf_probe fresh = {.name = "study", .directory = true, .fd = folder};
    ok(!pf_points_probe(&fresh, ".sqlite", 1) && pf_points_probe(&fresh, ".cubex", 2),
       "each driver that probes the folder counts its own type of files");
    const char *const files[] = {"m.x1/profile.cubex", "m.x2/.hidden.cubex", "notes/profile.cubex",
                                 "m.x2/profile.cubex"};
    for (size_t i = 0; i < sizeof files / sizeof *files; i++)
        unlinkat(folder, files[i], 0);
    unlinkat(folder, "m.x1", AT_REMOVEDIR);
    unlinkat(folder, "m.x2", AT_REMOVEDIR);
    unlinkat(folder, "notes", AT_REMOVEDIR);
    close(folder);
    rmdir(path);
}

int main(void)
{
    test_names();
    test_refused();
    test_folder();
    test_probe();
    return done();
}
