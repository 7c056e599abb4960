/* SPDX-License-Identifier: MIT */
#include "fs/sums/sections.h"
#include "formats/kit/array.h"
#include "tests/unit/fake_model.h"

/* The sections of summary.md. */

static const struct pf_section_limits limits = {96, 64, 160};

static char *sections_text(struct fake *fake, unsigned metric, const struct pf_section_limits *most)
{
    struct pf_error error;
    struct pf_buf text = {0};
    struct pf_sections *sections = pf_sections_new(fake->aggregate, metric, &error);
    must(sections);
    pf_sections_add_total(sections, &text);
    pf_sections_add(sections, most, &text);
    pf_sections_free(sections);
    pf_buf_char(&text, '\0');
    must(!text.failed);
    return text.data;
}

static void shows_sections(struct fake *fake, unsigned metric, const char *want, const char *behaviour)
{
    char *text = sections_text(fake, metric, &limits);
    is(text, want, behaviour);
    free(text);
}

static unsigned begin(struct fake *fake, int threads)
{
    fake_init(fake, threads);
    return fake_metric(fake, "time", "int", PF_OVER_ALL, PF_SUM);
}

static uint32_t add(struct fake *fake, uint32_t parent, const char *name, unsigned metric, int64_t value)
{
    uint32_t context =
        fake_context(fake, parent, name, parent == PF_NO_CONTEXT ? PF_ROOT | PF_FRAME : PF_FRAME);
    fake_value(fake, 0, context, metric, value);
    return context;
}

#define TABLE                                                                                                \
    "\n## Hottest functions\n\n| exclusive | inclusive | value | function | where "                          \
    "|\n|---:|---:|---:|---|---|\n"

static void all_sections(void)
{
    struct fake fake;
    struct pf_error error;
    unsigned m = begin(&fake, 3);
    uint32_t top = add(&fake, PF_NO_CONTEXT, "main", m, 1000);
    uint32_t f = add(&fake, top, "f|x", m, 4000);
    uint32_t inner = add(&fake, f, "f|x", m, 2000);
    fake_value(&fake, 1, inner, m, 1000);
    add(&fake, top, "g", m, 2000);
    struct pf_tree *tree = fake.model.contexts;
    must(!pf_array_resize(&tree->line, tree->count, sizeof *tree->line, &error) &&
         !pf_array_resize(&tree->file, tree->count, sizeof *tree->file, &error));
    uint32_t file = pf_intern(tree->strings, "a.c", 3, &error);
    for (uint32_t i = 0; i < tree->count; i++) {
        tree->file[i] = file;
        tree->line[i] = i;
    }
    fake_finish(&fake);
    shows_sections(
        &fake, m,
        "- Total: 10000 ns (10.00 us)\n" TABLE "| 70.00% | 70.00% | 7000 (7.00 us) | `f\\|x` | `a.c` |\n"
        "| 20.00% | 20.00% | 2000 (2.00 us) | `g` | `a.c:3` |\n"
        "| 10.00% | 100% | 1000 (1.00 us) | `main` | `a.c` |\n"
        "\n## Hot path\n\n- 100% `main`\n- 70.00% `f|x`\n"
        "\n## Callers\n\n- `f|x`: `main` 70.00%, `f|x` 30.00%\n- `g`: `main` 20.00%\n- `main`: no callers\n"
        "\n## Balance\n\n- threads: `t0` has 9000 (9.00 us), 1.80 times the mean of 2 (5000 (5.00 us))\n",
        "summary.md has hottest functions, hot path, callers and balance");
    fake_free(&fake);
}

static void long_paths_and_names(void)
{
    struct fake fake;
    unsigned m = begin(&fake, 1);
    uint32_t context = PF_NO_CONTEXT;
    for (int i = 0; i < 20; i++) {
        char name[] = "abcdefghijklmnopq.."; /* room for two digits at the end */
        snprintf(name + sizeof name - 3, 3, "%02d", i);
        context = add(&fake, context, name, m, i == 19);
    }
    fake_finish(&fake);
    const struct pf_section_limits narrow = {8, 8, 8};
    char *text = sections_text(&fake, m, &narrow);
    static const char step[] = "- 100% `abcde...`\n";
    char *path = strstr(text, "## Hot path\n\n"), *end = path ? strstr(path, "\n\n## Callers") : NULL;
    size_t size = sizeof step - 1;
    ok(path && end &&
           end + 1 - path ==
               (ptrdiff_t)(strlen("## Hot path\n\n") + 16 * size + strlen("- ... (4 more) ...\n")),
       "the first and last eight steps of a long path are shown");
    ok(path && !strncmp(path + strlen("## Hot path\n\n") + 8 * size, "- ... (4 more) ...\n", 19),
       "the other steps of a long path are counted");
    ok(strstr(text, "| `abcde...` |"), "names are cut to the limit");
    free(text);
    fake_free(&fake);
}

static void nothing_to_show(void)
{
    struct fake fake;
    unsigned m = begin(&fake, 1);
    unsigned none = fake_metric(&fake, "stddev", "double", PF_OVER_NO_CONTEXTS, PF_SUM);
    fake_value(&fake, 0, fake_context(&fake, PF_NO_CONTEXT, "f", PF_ROOT), m, -5);
    fake_finish(&fake);
    shows_sections(&fake, m, "- Total: -5 ns\n", "sections that would be empty are left out");
    shows_sections(&fake, none, "\nstddev cannot be summed over contexts; see contexts.csv\n",
                   "a metric that does not add up has a sentence for its total");
    fake_free(&fake);
}

static void code(const char *text, const char *want)
{
    struct pf_buf out = {0};
    pf_add_code(&out, text, strlen(text), true);
    pf_buf_char(&out, '\0');
    is(out.data, want, want);
    pf_buf_free(&out);
}

int main(void)
{
    all_sections();
    long_paths_and_names();
    nothing_to_show();
    code("f()", "`f()`");
    code("", "`[unnamed]`");
    code("a|b", "`a\\|b`");
    code("a`b", "``a`b``");
    code("`a``", "``` `a`` ```");
    code(" a ", "`  a  `");
    code("  ", "`  `");
    return done();
}
