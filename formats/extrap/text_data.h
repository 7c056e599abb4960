/* SPDX-License-Identifier: MIT */
#ifndef PF_XTEXT_DATA_H
#define PF_XTEXT_DATA_H

#include "formats/extrap/text_grammar.h"
#include "formats/input/linereader.h"

/* Walks DATA lines and the numbers in them; what the two cursors are made of. */
struct pf_xtext_data {
    struct pf_linereader *reader; /* owned */
    struct pf_line line;          /* the piece being read, if `inside` */
    const char *at;               /* in it: what is not read yet */
    bool inside;                  /* of a DATA line */
};

/* Before the start of `input`. 0, or -1 with *error filled; pf_xtext_data_close in either case. */
int pf_xtext_data_open(struct pf_xtext_data *data, struct pf_input *input, struct pf_error *error);
void pf_xtext_data_close(struct pf_xtext_data *data);

/* Go to the start of a line, or (inside) into a DATA line behind its keyword. */
int pf_xtext_data_seek(struct pf_xtext_data *data, uint64_t offset, bool inside, struct pf_error *error);

/* Where the next number or line is looked for; with data->inside, what pf_xtext_data_seek takes. */
uint64_t pf_xtext_data_tell(const struct pf_xtext_data *data);

/* Goes on to the next DATA line. 1; 0: there is none; -1: *error filled. */
int pf_xtext_data_line(struct pf_xtext_data *data, struct pf_error *error);

/* The next piece of the line, or what a bad number leaves of it. See pf_xtext_data_value. */
int pf_xtext_data_more(struct pf_xtext_data *data, bool bad, struct pf_error *error);

/* The next number of the line. 1: *value; 0: no more, or none that can be read; -1: *error filled. */
static inline int pf_xtext_data_value(struct pf_xtext_data *data, double *value, struct pf_error *error)
{
    while (data->inside) {
        enum pf_xtext_got got = pf_xtext_next_value(&data->at, data->line.text + data->line.size, value);
        if (got == PF_XTEXT_VALUE)
            return 1;
        if (pf_xtext_data_more(data, got == PF_XTEXT_BAD, error) < 0)
            return -1;
    }
    return 0;
}

#endif
