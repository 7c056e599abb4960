/* SPDX-License-Identifier: MIT */
#include "formats/extrap/text_data.h"

int pf_xtext_data_open(struct pf_xtext_data *data, struct pf_input *input, struct pf_error *error)
{
    *data = (struct pf_xtext_data){.reader = pf_linereader_new(input)};
    return data->reader ? 0 : pf_fail_memory(error);
}

void pf_xtext_data_close(struct pf_xtext_data *data)
{
    pf_linereader_free(data->reader);
}

/* Makes a piece the one being read. A word longer than the reader's window is no number: its line ends there.
 */
static int enter(struct pf_xtext_data *data, const char *rest, struct pf_error *error)
{
    const struct pf_line *line = &data->line;
    data->inside = true;
    data->at = rest;
    if (line->more && line->size && !pf_xtext_is_blank(line->text[line->size - 1]))
        return pf_xtext_data_more(data, true, error);
    return 0;
}

int pf_xtext_data_seek(struct pf_xtext_data *data, uint64_t offset, bool inside, struct pf_error *error)
{
    pf_linereader_seek(data->reader, offset, 1);
    data->inside = false;
    if (!inside)
        return 0;
    int got = pf_linereader_next(data->reader, &data->line, error);
    return got > 0 ? enter(data, data->line.text, error) : got;
}

uint64_t pf_xtext_data_tell(const struct pf_xtext_data *data)
{
    if (data->inside)
        return data->line.offset + (uint64_t)(data->at - data->line.text);
    return pf_linereader_tell(data->reader);
}

int pf_xtext_data_line(struct pf_xtext_data *data, struct pf_error *error)
{
    data->inside = false;
    for (;;) {
        int got = pf_linereader_next(data->reader, &data->line, error);
        if (got <= 0)
            return got;
        if (data->line.continued)
            continue;
        struct pf_xtext_split split = pf_xtext_split(data->line.text, data->line.size);
        if (split.word == PF_XTEXT_DATA)
            return enter(data, split.rest, error) < 0 ? -1 : 1;
    }
}

int pf_xtext_data_more(struct pf_xtext_data *data, bool bad, struct pf_error *error)
{
    while (data->line.more) {
        int got = pf_linereader_next(data->reader, &data->line, error);
        if (got < 0)
            return -1;
        if (got && !bad)
            return enter(data, data->line.text, error);
    }
    data->inside = false;
    return 0;
}
