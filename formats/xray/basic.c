/* SPDX-License-Identifier: MIT */
#include "formats/xray/basic.h"

/* The run that is being read. */
struct open_run {
    struct xray_range range;
    uint32_t thread, tid, pid;
    bool open;
};

struct scan {
    struct xray_decoder decoder;
    struct xray_threads threads;
    struct xray_runs runs;
    struct open_run run;
    bool has_pid;
    uint64_t start; /* the smallest TSC */
};

/* Ends the open run, if there is one, at this offset. */
static int end_run(struct scan *scan, uint64_t end, struct pf_error *error)
{
    struct open_run *run = &scan->run;
    if (!run->open)
        return 0;
    run->open = false;
    run->range.end = end;
    return xray_runs_add(&scan->runs, run->thread, &run->range, error);
}

/* A function record of another thread than the one before. What is no function record belongs to the run
 * that it stands in. */
static int begin_run(struct scan *scan, uint64_t offset, struct pf_error *error)
{
    const struct xray_decoder *decoder = &scan->decoder;
    if (end_run(scan, offset, error))
        return -1;
    scan->run =
        (struct open_run){.range.body = offset, .tid = decoder->tid, .pid = decoder->pid, .open = true};
    return xray_threads_find(&scan->threads, scan->has_pid, (int32_t)decoder->pid, decoder->tid,
                             &scan->run.thread, error);
}

static int scan_records(struct scan *scan, uint64_t size, struct pf_pass *pass, struct pf_error *error)
{
    enum { EVENTS_PER_STEP = 16384 };
    struct xray_decoder *decoder = &scan->decoder;
    const struct open_run *run = &scan->run;
    struct xray_event event;
    int more;
    xray_decoder_begin(decoder, XRAY_HEADER_SIZE, size);
    for (uint64_t events = 1; (more = xray_next_event(decoder, &event, error)) > 0; events++) {
        uint64_t offset = xray_decoder_offset(decoder) - XRAY_BASIC_SIZE;
        bool same = run->open && run->tid == decoder->tid && run->pid == decoder->pid;
        if (!same && begin_run(scan, offset, error))
            return -1;
        if (event.tsc < scan->start)
            scan->start = event.tsc;
        if (events % EVENTS_PER_STEP == 0 && pf_pass_step(pass, offset, size, error))
            return -1;
    }
    return more < 0 ? -1 : end_run(scan, size - size % XRAY_BASIC_SIZE, error);
}

/* All records have been seen, so everything that is wrong with them is told here. */
static int note_problems(struct xray_notes *notes, const struct xray_decoder *decoder, struct pf_error *error)
{
    if (decoder->fault == XRAY_CUT_RECORD &&
        xray_note(notes, XRAY_NOTE_FILE_CUT, decoder->fault_offset, 0, error))
        return -1;
    if (decoder->unknown &&
        xray_note(notes, XRAY_NOTE_UNKNOWN, decoder->first_unknown, decoder->unknown, error))
        return -1;
    return decoder->strays
               ? xray_note(notes, XRAY_NOTE_STRAY_ARGUMENT, decoder->first_stray, decoder->strays, error)
               : 0;
}

int xray_basic_index(struct xray_index *index, const struct xray_header *header, struct pf_input *input,
                     struct pf_pass *pass, struct pf_error *error)
{
    struct scan scan = {.has_pid = header->version >= 3, .start = UINT64_MAX};
    if (xray_index_init(index, error) || xray_runs_init(&scan.runs, error))
        return -1;
    xray_decoder_init(&scan.decoder, input, header);
    int failed = scan_records(&scan, pf_input_size(input), pass, error) ||
                 note_problems(&index->notes, &scan.decoder, error);
    index->start = scan.start;
    index->threads = xray_threads_take(&scan.threads, &index->n_threads);
    if (!failed)
        failed = xray_runs_sort(&scan.runs, index, pass, error);
    xray_runs_free(&scan.runs);
    xray_decoder_free(&scan.decoder);
    return failed ? -1 : 0;
}
