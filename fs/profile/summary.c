/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <string.h>

#include "fs/profile/profile_private.h"
#include "fs/profile/views.h"
#include "fs/sums/sections.h"
#include "fs/text/csv.h"

/*
 * summary.md: one page about one metric of a profile, with data that other files show in full. The page lists the
 * sizes of these files, so they are measured first (pf_summary_file).
 */

enum { PAGE_MAX = 8192, WARNINGS = 3 };

/* Files that the page refers to. */
static const struct lead {
    const char *name; /* NULL: the table of partitions */
    bool sums;        /* useful only if the metric is additive */
    const char *what;
} leads[] = {
    {"hot.txt", true, "the hottest functions"},
    {"bottom_up.txt", true, "the hottest functions and their callers"},
    {"tree.txt", true, "the calling-context tree"},
    {"callers.csv", true, "who calls whom"},
    {"lines.csv", true, "by source line"},
    {"contexts.csv", false, "per calling context, over partitions"},
    {NULL, false, "per partition, over contexts"},
    {"scaling.txt", false, "growth with the experiment's parameters"},
};
enum { LEADS = sizeof leads / sizeof *leads };

/* ---- the files that the page names -------------------------------------------------------------- */

static const char *lead_name(const struct pf_model *model, const struct lead *lead,
                             char room[PF_NAME_MAX + 1])
{
    if (lead->name)
        return lead->name;
    snprintf(room, PF_NAME_MAX + 1, "%s.csv", model->partitions.plural);
    return room;
}

bool pf_summary_file(struct pf_profile *profile, struct pf_node summary, size_t i, struct pf_node *file)
{
    char room[PF_NAME_MAX + 1];
    const struct pf_model *model = pf_profile_model(profile);
    *file = (struct pf_node){PF_WARNINGS_CSV, 0};
    if (i < LEADS && !pf_folder_find(profile, (struct pf_node){PF_METRIC_DIR, summary.item},
                                     lead_name(model, &leads[i], room), file))
        *file = (struct pf_node){PF_INFO, 0}; /* no such file: measure info.txt instead, which is cheap */
    return i <= LEADS;
}

static void add_lead(struct pf_profile *profile, struct pf_node file, const char *name, const char *what,
                     struct pf_buf *out)
{
    uint64_t size;
    if (!pf_profile_size_now(profile, file, &size)) {
        out->failed = true;
        return;
    }
    pf_buf_printf(out, "- `%s`, %llu bytes: %s\n", name, (unsigned long long)size, what);
}

static void add_leads(struct pf_profile *profile, uint32_t metric, bool adds, uint64_t warnings,
                      struct pf_buf *out)
{
    char room[PF_NAME_MAX + 1];
    struct pf_node file;
    pf_buf_str(out, "\n## Where next\n\n");
    for (size_t i = 0; i < LEADS; i++) {
        const char *name = lead_name(pf_profile_model(profile), &leads[i], room);
        if ((adds || !leads[i].sums) &&
            pf_folder_find(profile, (struct pf_node){PF_METRIC_DIR, metric}, name, &file))
            add_lead(profile, file, name, leads[i].what, out);
    }
    if (warnings)
        add_lead(profile, (struct pf_node){PF_WARNINGS_CSV, 0}, "../../tables/warnings.csv",
                 "damage of the file", out);
}

/* ---- sections ----------------------------------------------------------------------------------- */

static struct pf_cell info_value(const struct pf_model *model, const char *key)
{
    for (size_t i = 0; i < pf_rows_count(model->info); i++) {
        const struct pf_cell *row = pf_rows_at(model->info, i);
        if (row[0].type == PF_TEXT && row[0].size == strlen(key) && !memcmp(row[0].text, key, row[0].size))
            return row[1];
    }
    return pf_absent();
}

static void add_fact(struct pf_buf *out, const char *key, struct pf_cell value, size_t most)
{
    if (value.type == PF_ABSENT || (value.type == PF_TEXT && !value.size))
        return;
    pf_buf_printf(out, "- %s: ", key);
    pf_add_code_cell(out, &value, most, false);
    pf_buf_char(out, '\n');
}

static void add_facts(const struct pf_model *model, size_t most, struct pf_buf *out)
{
    struct pf_cell title = info_value(model, "Title");
    const char *plural = model->partitions.plural;
    pf_buf_printf(out, "- Format: %s%s", model->driver->name, *model->version ? " " : "");
    pf_escape(out, model->version, strlen(model->version));
    pf_buf_char(out, '\n');
    add_fact(out, "Title", title.type != PF_ABSENT ? title : pf_string(model->driver->title), most);
    add_fact(out, "Command", info_value(model, "Command"), most);
    pf_buf_printf(out, "- %c%s: %zu\n- Contexts: %u\n", plural[0] - 'a' + 'A', plural + 1,
                  pf_rows_count(model->partitions.items), model->contexts ? model->contexts->count : 0);
}

static void add_damage(struct pf_profile *profile, size_t most, struct pf_buf *out)
{
    static const char *const severities[] = {"fatal", "error", "warning"};
    uint64_t n = pf_warning_count(profile), counts[3] = {0};
    struct pf_cell cells[PF_WARNING_COLUMNS];
    struct pf_buf scratch = {0};
    const char *before = "";
    if (!n)
        return;
    for (uint64_t i = 0; i < n; i++) {
        pf_warning_cells(profile, i, cells, &scratch);
        for (int s = 0; s < 3; s++)
            counts[s] += cells[2].size == strlen(severities[s]) &&
                         !memcmp(cells[2].text, severities[s], cells[2].size);
    }
    pf_buf_str(out, "\n## Damage\n\n");
    for (int s = 0; s < 3; s++)
        if (counts[s]) {
            pf_buf_printf(out, "%s%s %llu", before, severities[s], (unsigned long long)counts[s]);
            before = ", ";
        }
    pf_buf_str(out, "\n\n");
    for (uint64_t i = 0; i < n && i < WARNINGS; i++) {
        pf_warning_cells(profile, i, cells, &scratch);
        pf_buf_str(out, "- ");
        pf_buf_add(out, cells[2].text, cells[2].size);
        pf_buf_char(out, ' ');
        pf_escape(out, cells[3].text, cells[3].size);
        pf_buf_str(out, ": ");
        pf_add_code_cell(out, &cells[4], most, false);
        pf_buf_char(out, '\n');
    }
    out->failed |= scratch.failed;
    pf_buf_free(&scratch);
}

/* ---- the page ----------------------------------------------------------------------------------- */

static void add_summary_page(struct pf_profile *profile, uint32_t m, const struct pf_sections *sections,
                             const struct pf_section_limits *limits, struct pf_buf *out)
{
    const struct pf_model *model = pf_profile_model(profile);
    const struct pf_metric *metric = &model->metrics[m];
    pf_buf_str(out, "# ");
    pf_add_cut(out, metric->name, limits->name);
    if (*metric->unit) {
        pf_buf_str(out, " (");
        pf_escape(out, metric->unit, strlen(metric->unit));
        pf_buf_char(out, ')');
    }
    pf_buf_str(out, "\n\n");
    add_facts(model, limits->text, out);
    pf_sections_add_total(sections, out);
    pf_sections_add(sections, limits, out);
    add_damage(profile, limits->text, out);
    add_leads(profile, m, pf_adds_up(metric), pf_warning_count(profile), out);
}

struct pf_walk *pf_summary_walk(struct pf_profile *profile, struct pf_node node, struct pf_error *error)
{
    struct pf_buf out = {0};
    struct pf_sections *sections = pf_sections_new(pf_profile_aggregate_now(profile, -1), node.item, error);
    if (!sections)
        return NULL;
    /* Halve the limits until the page fits or limits.where is too small. */
    struct pf_section_limits limits = {96, 64, 160};
    do {
        out.size = 0;
        add_summary_page(profile, node.item, sections, &limits, &out);
        limits = (struct pf_section_limits){limits.name / 2, limits.where / 2, limits.text / 2};
    } while (out.size > PAGE_MAX && limits.where > 3);
    pf_sections_free(sections);
    return pf_walk_of_text(&out, error);
}
