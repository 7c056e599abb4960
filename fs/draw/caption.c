/* SPDX-License-Identifier: MIT */
#include "fs/draw/caption.h"

#include "fs/sums/units.h"

void caption_metric(struct pf_buf *out, const char *name, const char *unit)
{
    pf_buf_str(out, name);
    if (*unit) {
        pf_buf_str(out, ", ");
        pf_buf_str(out, unit);
    }
}

void caption_value(struct pf_buf *out, double value, const char *unit)
{
    svg_number(out, value);
    pf_add_readable(out, value, unit);
}

/* Returns the text after `key` in the profile's info.txt; absent if there is no such line. */
static struct pf_cell find_info_value(const struct pf_model *model, const char *key)
{
    for (size_t i = 0; i < pf_rows_count(model->info); i++) {
        const struct pf_cell *row = pf_rows_at(model->info, i);
        if (row[0].size == strlen(key) && !memcmp(row[0].text, key, row[0].size) && row[1].type == PF_TEXT &&
            row[1].size)
            return row[1];
    }
    return pf_absent();
}

void caption_subject(struct pf_buf *out, const struct pf_model *model)
{
    struct pf_cell about = find_info_value(model, "Command");
    if (about.type != PF_TEXT)
        about = find_info_value(model, "Title");
    if (about.type != PF_TEXT)
        about = pf_string(model->driver->title);
    pf_buf_str(out, model->driver->name);
    if (*model->version) {
        pf_buf_char(out, ' ');
        pf_buf_str(out, model->version);
    }
    pf_buf_str(out, ": ");
    pf_buf_add(out, about.text, about.size);
}
