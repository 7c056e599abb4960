/* SPDX-License-Identifier: MIT */
#include "formats/perf_script/line.h"

#include "formats/kit/number.h"
#include "formats/perf_script/words.h"

enum {
    COMM_MAX = 256,     /* longest command accepted in a header */
    WEAK_COMM_MAX = 15, /* maximum length of a command name in Linux */
    WEAK_LINE_MAX = 16 * 1024,
    WEAK_WORDS_MAX = 32, /* maximum number of words up to the address: a guest's prefix, a command, all fields */
};

/*
 * Widths to which perf 3 to 6 (tools/perf/builtin-script.c) pads numbers on the left. Where other fields are not printed, only the width
 * distinguishes the numbers.
 */
enum {
    TID_WIDTH = 5,      /* "%5d"; newer versions of perf 6: "%7d" */
    BARE_CPU_WIDTH = 3, /* "%3d", of `perf script -L` only */
    PERIOD_WIDTH = 10,  /* "%10lu" */
    ADDRESS_WIDTH = 16, /* "%16lx" */
};

/* ---- headers ------------------------------------------------------------------------------------ */

/* Takes a tid or pid/tid: `12`, `-1`, `11/12`, `11/  12` */
static bool take_ids(struct pf_slice *text, struct perf_header *header)
{
    struct pf_slice word = pf_take_word(text);
    const char *slash = memchr(word.at, '/', pf_size(word));
    header->pid = (struct pf_slice){word.at, slash ? slash : word.at};
    header->tid = (struct pf_slice){slash ? slash + 1 : word.at, word.end};
    if (slash && !pf_size(header->tid))
        header->tid = pf_take_word(text);
    return is_signed(header->tid) && (!slash || is_signed(header->pid));
}

/*
 * Takes the event's name: a word that ends in a colon, or two words, such as `raw 0x1a8:`. If no time precedes it, the
 * name must start with a letter.
 */
static bool perf_take_event(struct pf_slice *text, bool timed, struct perf_header *header)
{
    struct pf_slice left = *text, word;
    bool raw = pf_take(&left, "raw ") && pf_begins(left, "0x");
    left = raw ? left : *text;
    word = pf_take_word(&left);
    if (pf_size(word) < 2 || word.end[-1] != ':' || (!timed && !isalpha((unsigned char)*word.at)))
        return false;
    header->event = (struct pf_slice){text->at, word.end - 1};
    *text = left;
    return true;
}

/* Returns true if the word consists of letters that `perf script -F misc` prints. */
static bool is_mode(struct pf_slice word)
{
    const char *at = word.at;
    while (at < word.end && memchr("KUHGgMESp", *at, 9))
        at++;
    return at == word.end;
}

/* Takes a CPU: `[002]`, or a number without brackets that follows a tid and precedes the time. */
static bool take_cpu(const char *line, struct pf_slice tid, struct pf_slice *text)
{
    struct pf_slice left = *text, word = pf_take_word(&left), next = left;
    bool bare = pf_size(tid) && columns(line, tid) > TID_WIDTH && perf_is_number(word) &&
                columns(tid.end, word) == 1 + BARE_CPU_WIDTH && is_time(pf_take_word(&next));
    if (!bare && !is_cpu(word))
        return false;
    *text = left;
    return true;
}

/*
 * Takes the flags of `-F misc`, after ids (a tid or CPU) or a command. Sets header->rest to the remaining text. A word
 * that is not such a flag, for example `call`, belongs to the rest, unless a time follows it.
 */
static void take_misc(bool has_ids, struct pf_slice *text, struct perf_header *header)
{
    struct pf_slice left = *text, word = pf_take_word(&left);
    bool mode = is_mode(word), misc = is_misc(word) && (has_ids || (pf_size(header->comm) && mode));
    header->rest = misc && mode ? left : *text;
    *text = misc ? left : *text;
}

static void take_date_and_clock(struct pf_slice *text)
{
    struct pf_slice left = *text;
    if (!is_date(pf_take_word(&left)))
        return;
    pf_take_word(&left);
    *text = left;
}

/* Takes the time. Sets header->rest to the remaining text. */
static bool take_event_time(struct pf_slice *text, struct perf_header *header)
{
    struct pf_slice left = *text, word = pf_take_word(&left);
    if (!is_time(word))
        return false;
    header->time = (struct pf_slice){word.at, word.end - 1};
    header->rest = *text = left;
    return true;
}

/*
 * Takes the fields after the ids. Takes a period only if an event follows it. Sets header->rest to the remaining text.
 */
static void take_fields(const char *line, struct pf_slice text, struct perf_header *header)
{
    header->time = header->period = header->event = (struct pf_slice){text.at, text.at};
    bool has_cpu = take_cpu(line, header->tid, &text);
    take_misc(has_cpu || pf_size(header->tid), &text, header);
    take_date_and_clock(&text);
    bool timed = take_event_time(&text, header);
    struct pf_slice after_period = text, period = pf_take_word(&after_period);
    if (perf_is_number(period) && perf_take_event(&after_period, timed, header)) {
        header->period = period;
        header->rest = after_period;
    } else if (perf_take_event(&text, timed, header)) {
        header->rest = text;
    }
}

/*
 * Takes a period that no event follows: a number in fewer columns than an address, after which the line ends or has a
 * frame. In a weak header, the number must also be padded like a period.
 */
static void take_last_period(const char *line, bool weak, struct perf_header *header)
{
    struct perf_frame frame;
    struct pf_slice left = header->rest, word = pf_take_word(&left);
    size_t width = columns(line, word);
    if (pf_size(header->event) || !perf_is_number(word) || width > ADDRESS_WIDTH ||
        (weak && width <= PERIOD_WIDTH) || (pf_size(left) && !perf_header_frame(line, left, &frame)))
        return;
    header->period = word;
    header->rest = left;
}

/*
 * Returns true if the rest of a header is empty, starts with an address in perf's column or, unless the header is weak,
 * has a frame.
 */
static bool is_rest(const char *line, bool weak, struct pf_slice rest)
{
    /* Maximum number of blanks before the ADDRESS_WIDTH columns of an address. */
    enum { BLANKS = 7 };
    struct perf_frame frame;
    struct pf_slice left = rest, word = pf_take_word(&left);
    size_t width = columns(line, word);
    if (!pf_size(rest) || (is_address(word) && width > ADDRESS_WIDTH && width <= BLANKS + ADDRESS_WIDTH))
        return true;
    return !weak && perf_header_frame(line, rest, &frame);
}

/* Takes a period without an event after it. Returns true if the remaining text is valid as the rest of a header. */
static bool take_end(const char *line, bool weak, struct perf_header *header)
{
    take_last_period(line, weak, header);
    return is_rest(line, weak, header->rest);
}

/* Skips a guest's `VM: 123 VCPU:001 ` and the blanks before the command. */
static struct pf_slice skip_guest(struct pf_slice line)
{
    pf_skip_blanks(&line);
    if (pf_take(&line, "VM:")) {
        pf_skip_blanks(&line);
        pf_take_word(&line);
        if (pf_begins(line, "VCPU:"))
            pf_take_word(&line);
    }
    return line;
}

/* True if the tid is a period: it is padded like one, at the start of a line without a time. */
static bool is_period(const char *line, const struct perf_header *header)
{
    return pf_size(header->tid) && !pf_size(header->comm) && !pf_size(header->time) &&
           columns(line, header->tid) == PERIOD_WIDTH;
}

/* Sets the command, without the blanks at its end. */
static void set_comm(struct perf_header *header, const char *start, const char *end)
{
    while (end > start && pf_is_blank(end[-1]))
        end--;
    header->comm = (struct pf_slice){start, end};
}

/*
 * Takes the fields of a header. A command may contain blanks and numbers, so the tid is the first number after which
 * take_fields finds a time or an event.
 */
static bool perf_parse_header(struct pf_slice line, struct perf_header *header)
{
    header->line = line.at;
    if (!memchr(line.at, ':', pf_size(line))) /* a time or an event ends in a colon */
        return false;
    struct pf_slice text = skip_guest(line);
    const char *start = text.at;
    while (pf_size(text) && text.at - start <= COMM_MAX) {
        struct pf_slice rest = text, word = pf_take_word(&text);
        if (is_time(word))
            return false;
        if ((!isdigit((unsigned char)*word.at) && *word.at != '-') || !take_ids(&rest, header))
            continue;
        set_comm(header, start, word.at);
        take_fields(line.at, rest, header);
        if (is_period(line.at, header))
            return false;
        if (pf_size(header->time))
            return pf_size(header->event) || take_end(line.at, false, header);
        if (pf_size(header->event))
            return true;
    }
    return false;
}

bool perf_weak_header(struct pf_slice line, struct perf_header *header)
{
    header->line = line.at;
    struct pf_slice text = skip_guest(line);
    const char *start = text.at;
    if (pf_size(line) > WEAK_LINE_MAX)
        return false;
    while (pf_size(line) && *line.at != '\t' && text.at - start <= WEAK_COMM_MAX + 16) {
        set_comm(header, start, text.at);
        if (pf_size(header->comm) > WEAK_COMM_MAX)
            return false;
        for (int with_ids = 1; with_ids >= 0; with_ids--) {
            struct pf_slice rest = text;
            if (with_ids && !take_ids(&rest, header))
                continue;
            if (!with_ids) {
                header->pid = header->tid = (struct pf_slice){text.at, text.at};
                rest = text;
            }
            take_fields(line.at, rest, header);
            if (!is_period(line.at, header) && take_end(line.at, true, header) && header->rest.at > start)
                return true;
        }
        if (!pf_size(text))
            return false;
        pf_take_word(&text);
    }
    return false;
}

bool perf_has_wide_address(struct pf_slice line)
{
    struct pf_slice text = line;
    pf_skip_blanks(&text);
    if (pf_size(line) && *line.at == '\t') /* a weak header does not begin with a tab */
        return false;
    for (int i = 0; i < WEAK_WORDS_MAX && pf_size(text); i++) {
        struct pf_slice word = pf_take_word(&text);
        bool right_aligned = pf_size(word) == ADDRESS_WIDTH || (word.at - line.at > 1 && word.at[-2] == ' ');
        if (right_aligned && is_address(word) && columns(line.at, word) > ADDRESS_WIDTH)
            return true;
    }
    return false;
}

/*
 * Returns true for a side-band record or a metric. The record's name (or `metric:`) follows fields of a header, of which only the time
 * ends in a colon. Fills header->time or header->tid if that field directly precedes the name; other fields are not filled.
 */
static bool is_record(struct pf_slice line, struct perf_header *header)
{
    struct pf_slice text = skip_guest(line), ids;
    const char *start = text.at;
    bool colon = false;
    if (!line_holds(line, "PERF_RECORD_", 'P') && !line_holds(line, "\tmetric:", '\t'))
        return false;
    header->time = header->tid = (struct pf_slice){start, start};
    while (pf_size(text) && text.at - start <= COMM_MAX) {
        struct pf_slice word = ids = pf_take_word(&text);
        if ((pf_size(header->time) || !colon) &&
            (pf_begins(word, "PERF_RECORD_") ||
             (word.at > line.at && word.at[-1] == '\t' && pf_begins(word, "metric:"))))
            return true;
        header->time =
            is_time(word) ? (struct pf_slice){word.at, word.end - 1} : (struct pf_slice){start, start};
        if (!take_ids(&ids, header))
            header->tid = (struct pf_slice){start, start};
        colon = colon || word.end[-1] == ':';
    }
    return false;
}

/* ---- frames ------------------------------------------------------------------------------------- */

/* Returns the parenthesis that closes the one at `open`, or NULL. */
static const char *closing(const char *open, const char *end)
{
    size_t depth = 0;
    for (const char *at = open; at < end; at++) {
        depth += *at == '(';
        if (*at == ')' && !--depth)
            return at;
    }
    return NULL;
}

/*
 * Returns the start of the parenthesised group at the end of the text. NULL if there is none, or if a character other
 * than a blank precedes it.
 */
static const char *last_group(struct pf_slice text)
{
    size_t open = 0;
    if (!pf_size(text) || text.end[-1] != ')')
        return NULL;
    for (const char *at = text.end; at > text.at; at--) {
        open += at[-1] == ')';
        if (at[-1] == '(' && !--open)
            return at - 1 == text.at || pf_is_blank(at[-2]) ? at - 1 : NULL;
    }
    return NULL;
}

/* Returns the end of an offset, such as `+0x1f`, at the start of the text, or NULL. */
static const char *offset_end(const char *at, const char *end)
{
    if (end - at < 4 || memcmp(at, "+0x", 3) != 0)
        return NULL;
    for (at += 3; at < end && isxdigit((unsigned char)*at);)
        at++;
    return at[-1] == 'x' ? NULL : at;
}

/* Returns the text without an offset, such as `+0x1f`, at its end. */
static struct pf_slice without_offset(struct pf_slice text)
{
    const char *plus = memrchr(text.at, '+', pf_size(text));
    return plus && offset_end(plus, text.end) == text.end ? (struct pf_slice){text.at, plus} : text;
}

/*
 * Returns the opening parenthesis of the dso, or NULL. This parenthesis follows the symbol's offset or `[unknown]`, or precedes a path or
 * `[`. Any other parenthesis belongs to the symbol, unless its group ends the text.
 */
static const char *find_dso(struct pf_slice text)
{
    const char *after;
    for (const char *at = text.at; at < text.end; at++) {
        if (*at == '+' && (after = offset_end(at, text.end)) && text.end - after >= 2 &&
            !memcmp(after, " (", 2))
            return after + 1;
        if (*at == '(' && (at == text.at || pf_is_blank(at[-1])) &&
            ((text.end - at > 1 && (at[1] == '/' || at[1] == '[')) ||
             (at - text.at == 10 && pf_begins(text, "[unknown] ("))))
            return at;
    }
    return last_group(text);
}

/* Returns the symbol at the start of a text without a dso, up to the symbol's offset or to further fields. */
static struct pf_slice before_fields(struct pf_slice text)
{
    static const char *const fields[] = {"  ", " ABI:", " ilen: ", " insn: ", " 0x"};
    const char *after;
    bool branches = has_branch(text);
    if (pf_begins(text, "[unknown]"))
        text.end = text.at + strlen("[unknown]");
    for (const char *at = text.at; at < text.end; at++)
        if ((after = offset_end(at, text.end)) && (after == text.end || *after == ' ' || branches))
            text.end = at;
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++) {
        const char *found = memmem(text.at, pf_size(text), fields[i], strlen(fields[i]));
        text.end = found ? found : text.end;
    }
    return text;
}

/* Parses the text after the address of a frame. */
static void perf_parse_symbol(struct pf_slice text, struct perf_frame *frame)
{
    static const char unknown[] = "[unknown]", inlined[] = "inlined";
    const char *tab = memchr(text.at, '\t', pf_size(text)), *open, *close;
    text.end = tab ? tab : text.end;
    text = pf_trimmed(text);
    open = find_dso(text);
    *frame = (struct perf_frame){.symbol = text};
    if (open) {
        /* Parentheses in a path may be unbalanced. No field after a path ends in `)`, so a `)` at the end closes the path. */
        bool path = text.end - open > 1 && open[1] == '/';
        close = path && text.end[-1] == ')' ? text.end - 1 : closing(open, text.end);
        frame->symbol.end = open;
        frame->cut = !close;
        frame->has_dso = close;
        if (close) {
            frame->dso = without_offset((struct pf_slice){open + 1, close});
            frame->inlined = pf_size(frame->dso) == strlen(inlined) && pf_begins(frame->dso, inlined);
        }
    }
    frame->symbol = open ? without_offset(pf_trimmed(frame->symbol)) : before_fields(text);
    frame->has_symbol = pf_size(frame->symbol);
    if (!frame->has_symbol)
        frame->symbol = (struct pf_slice){unknown, unknown + sizeof unknown - 1};
}

/* Parses a line of a call chain: an address, one blank, then the symbol and the dso. */
static bool perf_read_frame(struct pf_slice text, struct perf_frame *frame)
{
    text = pf_trimmed(text);
    struct pf_slice address = pf_take_word(&text);
    if (!is_address(address))
        return false;
    perf_parse_symbol(text, frame);
    return true;
}

/* Returns the text before the target of a branch. The target is ` => ` and an address. */
static struct pf_slice before_target(struct pf_slice text)
{
    for (const char *at = text.at; (at = memmem(at, pf_size((struct pf_slice){at, text.end}), "=> ", 3));
         at++) {
        struct pf_slice left = {at + 3, text.end};
        pf_skip_blanks(&left);
        if ((at == text.at || pf_is_blank(at[-1])) && is_address(pf_take_word(&left)))
            return (struct pf_slice){text.at, at};
    }
    return text;
}

/*
 * The rest of a header holds data addresses, the sampled address and a physical address, in this order. They are
 * right-aligned, so two blanks before them, or 16 digits, distinguish them from the words of a symbol. The sampled
 * address is the one with a symbol and a dso, otherwise one with a dso, otherwise one with a symbol; the last if there
 * are several. A short address without a dso must be right-aligned, since a tracepoint's text may begin with a word
 * like "a".
 */
bool perf_header_frame(const char *line, struct pf_slice rest, struct perf_frame *frame)
{
    struct pf_slice text = pf_trimmed(before_target(rest)), address = {NULL, NULL};
    const char *start = text.at, *passed = start;
    int best = 0;
    bool plain = true; /* no `=` or `:` precedes the address; a tracepoint's text contains these */
    for (bool more = true; more;) {
        struct pf_slice word = pf_take_word(&text), symbol = {address.end, word.at};
        more = pf_size(word);
        if (more && !(is_address(word) &&
                      (word.at == start || pf_size(word) == ADDRESS_WIDTH || pf_is_blank(word.at[-2]))))
            continue;
        for (; address.at && passed < address.at; passed++)
            plain = plain && *passed != '=' && *passed != ':';
        if (address.at) {
            struct perf_frame found;
            perf_parse_symbol(symbol, &found);
            bool has_symbol = found.has_symbol && !is_page_size(found.symbol);
            bool likely = plain && (pf_size(address) > 5 || columns(line, address) >= ADDRESS_WIDTH);
            int rank = found.has_dso ? 3 + has_symbol : likely ? 1 + has_symbol : 0;
            if (rank && rank >= best) {
                best = rank;
                *frame = found;
            }
        }
        address = word;
    }
    return best;
}

/* ---- lines -------------------------------------------------------------------------------------- */

/* Returns the place `file.c:12` of a source line without the text after it; empty if the line does not start with two blanks. */
static struct pf_slice source_text(struct pf_slice text)
{
    static const char *const ends[] = {" (discriminator ", " (inlined)", "  "};
    if (!pf_begins(text, "  "))
        return pf_slice(text.at, 0);
    text = pf_trimmed(text);
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        const char *found = memmem(text.at, pf_size(text), ends[i], strlen(ends[i]));
        text.end = found ? found : text.end;
    }
    return text;
}

/* Returns the digits at the end of the text if a colon precedes them; empty otherwise. */
static struct pf_slice line_digits(struct pf_slice text)
{
    const char *at = text.end;
    while (at > text.at && isdigit((unsigned char)at[-1]))
        at--;
    return at > text.at && at[-1] == ':' ? (struct pf_slice){at, text.end} : pf_slice(text.end, 0);
}

/*
 * True for a source line: `  file.c:12`, `  libc.so[27b25]`, `  file.c:12 (discriminator 2)`, `  file.c:12 (inlined)`.
 */
static bool is_source_line(struct pf_slice line)
{
    size_t size = pf_size(line);
    if (!memchr(line.at, ':', size) && !memchr(line.at, ']', size) && !memchr(line.at, '?', size))
        return false;
    struct pf_slice text = source_text(line);
    return pf_size(text) && (text.end[-1] == ']' || text.end[-1] == '?' || pf_size(line_digits(text)));
}

bool perf_source_place(struct pf_slice line, struct pf_slice *file, uint32_t *number)
{
    struct pf_slice text = source_text(line), digits = line_digits(text);
    pf_int128 value = 0;
    *file = (struct pf_slice){text.at, pf_size(digits) ? digits.at - 1 : text.at};
    bool known = pf_size(*file) && pf_parse_fixed(digits.at, pf_size(digits), 0, &value) && value > 0 &&
                 value <= UINT32_MAX;
    *number = known ? (uint32_t)value : 0;
    return known;
}

/* True for a register and its value, such as `AX:0x1`. */
static bool is_register(struct pf_slice word)
{
    const char *at = word.at;
    while (at < word.end && isalnum((unsigned char)*at))
        at++;
    return at > word.at && at - word.at <= 8 && pf_begins((struct pf_slice){at, word.end}, ":0x");
}

/*
 * True for a line of a listing of branches (-F brstackinsn), such as `\tADDRESS\tinsn: 48 89` or `\tsymbol+12:`. Like a
 * frame, it is indented by a tab.
 */
static bool perf_is_listing(struct pf_slice text)
{
    static const char *const notes[] = {"... not reaching sample ...", "mismatch of LBR data and executable"};
    const char *tab;
    text.at++;
    text = pf_trimmed(text);
    tab = memchr(text.at, '\t', pf_size(text));
    text.end = tab ? tab : text.end;
    for (size_t i = 0; i < sizeof notes / sizeof *notes; i++)
        if (pf_begins(text, notes[i]))
            return true;
    if (tab && is_address(text))
        return true;
    return pf_size(text) && text.end[-1] == ':' && !is_address(pf_take_word(&text));
}

/* True for a line that begins with the name of a further field of a sample. */
static bool is_named_field(struct pf_slice line)
{
    static const char *const names[] = {"ABI:", "ilen:", "insn:", "IPC:", "=>", "BPF"};
    struct pf_slice text = pf_trimmed(line), word = pf_take_word(&text);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (*line.at == ' ' && pf_begins(word, names[i]))
            return true;
    return is_register(word);
}

/* True for fields of a sample that are printed after its call chain, or after the source line of its only frame. */
static bool is_fields(struct pf_slice line)
{
    static const char *const inner[] = {" ABI:", " ilen: ", " insn: "};
    struct pf_slice text = pf_trimmed(line), left = text, word = pf_take_word(&left);
    if (*line.at == '\t')
        return perf_is_listing(line);
    if (has_branch(text))
        return true;
    if (*line.at != ' ')
        return false;
    for (size_t i = 0; i < sizeof inner / sizeof *inner; i++)
        if (line_holds(text, inner[i], ':'))
            return true;
    if (pf_size(word) == 5 && word.end[-1] == ':' && is_address((struct pf_slice){word.at, word.end - 1}))
        return true; /* a line of BPF output */
    if (is_address(word) && word.end - line.at < ADDRESS_WIDTH)
        return false; /* a tid */
    while (pf_size(word) && (is_address(word) || is_page_size(word)))
        word = pf_take_word(&left);
    return !pf_size(word);
}

/*
 * True for the text of a source line, `|12      text`. With -F srccode, it follows a sample or is between the lines of
 * a listing.
 */
static bool is_source_text(struct pf_slice line)
{
    struct pf_slice word = pf_take_word(&line);
    return pf_size(word) > 1 && *word.at == '|' && perf_is_number((struct pf_slice){word.at + 1, word.end});
}

/*
 * Frames are indented by a tab, which copied text may have lost. A line without a tab is therefore a frame only if it
 * has a dso.
 */
enum perf_kind perf_line(struct pf_slice line, struct perf_header *header, struct perf_frame *frame)
{
    struct pf_slice text = pf_trimmed(line);
    if (!pf_size(text) || *line.at == '#' || is_source_text(line))
        return PERF_NOTHING;
    bool tab = *line.at == '\t';
    if (!tab && is_record(line, header))
        return PERF_RECORD;
    if (!tab && is_named_field(line))
        return PERF_FIELDS;
    if (!tab && perf_parse_header(line, header))
        return PERF_HEADER;
    if (is_fields(line))
        return PERF_FIELDS;
    if (perf_read_frame(line, frame) && (tab || frame->has_dso))
        return PERF_FRAME;
    return is_source_line(line) ? PERF_SOURCE_LINE : PERF_UNKNOWN;
}
