/* SPDX-License-Identifier: MIT */
#include "formats/input/linereader.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "formats/input/source.h"
#include "tests/unit/tap.h"

/* A file, alone in a temporary folder, that is read through a source. */
struct fixture {
    char folder[32];
    int directory;
    struct pf_source *source;
    struct pf_input *input;
    struct pf_linereader *reader;
};

static void set_up(struct fixture *fixture, const char *text, size_t size)
{
    struct pf_error error = {0};
    strcpy(fixture->folder, "/tmp/linereader.XXXXXX");
    fixture->directory = mkdtemp(fixture->folder) ? open(fixture->folder, O_RDONLY | O_DIRECTORY) : -1;
    int fd = openat(fixture->directory, "lines.txt", O_WRONLY | O_CREAT, 0600);
    bool written = write(fd, text, size) == (ssize_t)size;
    /* Sources wait up to 20 ms before they open a file that was just written; a future mtime avoids this. */
    struct timespec times[2] = {{.tv_sec = INT32_MAX}, {.tv_sec = INT32_MAX}};
    futimens(fd, times);
    close(fd);
    fixture->source = pf_source_new(fixture->directory, "lines.txt", &error);
    if (!written || !fixture->source || pf_source_open(fixture->source, NULL, PF_RAW, &fixture->input, &error) < 0 ||
        !(fixture->reader = pf_linereader_new(fixture->input))) {
        printf("Bail out! no test file: %s\n", error.what);
        exit(1);
    }
}

static void tear_down(struct fixture *fixture)
{
    pf_linereader_free(fixture->reader);
    pf_source_free(fixture->source);
    unlinkat(fixture->directory, "lines.txt", 0);
    close(fixture->directory);
    rmdir(fixture->folder);
}

/* Returns all lines from the reader's position on, as `number@offset:text|`. */
static char *lines_of(struct pf_linereader *reader)
{
    char *out = NULL;
    size_t size;
    FILE *stream = open_memstream(&out, &size);
    struct pf_line line;
    struct pf_error error;
    int got;
    while ((got = pf_linereader_next(reader, &line, &error)) > 0)
        fprintf(stream, "%ju@%ju:%.*s|", (uintmax_t)line.number, (uintmax_t)line.offset, (int)line.size,
                line.text);
    if (got < 0)
        fprintf(stream, "error %s", error.what);
    fclose(stream);
    return out;
}

static void check_lines(const char *text, const char *want, const char *name)
{
    struct fixture fixture;
    set_up(&fixture, text, strlen(text));
    char *have = lines_of(fixture.reader);
    is(have, want, name);
    free(have);
    tear_down(&fixture);
}

static void check_seek(void)
{
    struct fixture fixture;
    set_up(&fixture, "one\ntwo\nthree\n", 14);
    free(lines_of(fixture.reader));
    pf_linereader_seek(fixture.reader, 4, 2);
    char *have = lines_of(fixture.reader);
    is(have, "2@4:two|3@8:three|", "a seek to the offset of a line reads it");
    free(have);
    pf_linereader_seek(fixture.reader, 10, 7);
    have = lines_of(fixture.reader);
    is(have, "7@10:ree|", "a seek into a line reads the rest as one line");
    free(have);
    pf_linereader_seek(fixture.reader, 1000, 1);
    have = lines_of(fixture.reader);
    is(have, "", "a seek after the end reads no line");
    free(have);
    tear_down(&fixture);
}

/* In a large file of numbered lines of many lengths, no line is lost or split at the end of a window. */
static void check_many_lines(void)
{
    enum { LINES = 60000 };
    char *text = NULL;
    size_t size;
    FILE *stream = open_memstream(&text, &size);
    for (int i = 0; i < LINES; i++)
        fprintf(stream, "%d %*s\n", i, i % 97, "");
    fclose(stream);

    struct fixture fixture;
    struct pf_line line;
    struct pf_error error;
    set_up(&fixture, text, size);
    int right = 0;
    uint64_t offset = 0;
    while (pf_linereader_next(fixture.reader, &line, &error) > 0) {
        int number = atoi(line.text);
        right += number == right && line.number == (uint64_t)number + 1 && line.offset == offset &&
                 !line.more && !line.continued &&
                 memchr(line.text, '\n', line.size + 1) == line.text + line.size;
        offset += line.size + 1;
    }
    ok(right == LINES, "every line of a file of %zu bytes is returned complete, with its number and offset", size);
    ok(offset == size && pf_linereader_tell(fixture.reader) == size,
       "the reader is at the end after the last line");
    tear_down(&fixture);
    free(text);
}

/* Checks that the pieces of a long line, which repeats `word`, add up to the line; a short line follows it. */
static void check_long_line(const char *word, size_t words, const char *end, bool torn, const char *name)
{
    size_t length = strlen(word), size = words * length;
    char *text = malloc(size + 16), *joined = malloc(size + 16);
    for (size_t i = 0; i < words; i++)
        memcpy(text + i * length, word, length);
    strcpy(text + size, end);
    strcat(text + size, "next");

    struct fixture fixture;
    struct pf_line line;
    struct pf_error error;
    set_up(&fixture, text, strlen(text));
    size_t used = 0, pieces = 0;
    bool marked = true, at_blank = true;
    do {
        if (pf_linereader_next(fixture.reader, &line, &error) <= 0)
            break;
        marked &= line.continued == (pieces > 0) && line.number == 1 && line.offset == used;
        memcpy(joined + used, line.text, line.size);
        used += line.size;
        at_blank &= !line.more || line.text[line.size - 1] == ' ';
        pieces++;
    } while (line.more);
    ok(used == size && !memcmp(joined, text, size) && pieces > 1, "%s: the pieces are the line", name);
    ok(marked && at_blank == !torn, "%s: pieces are marked%s", name, torn ? "" : " and no word is torn");
    ok(pf_linereader_next(fixture.reader, &line, &error) == 1 && line.number == 2 && line.size == 4 &&
           !memcmp(line.text, "next", 4),
       "%s: the next line is read", name);
    tear_down(&fixture);
    free(text);
    free(joined);
}

/* If the file ends exactly at the end of a window, the line still has a last piece. */
static void check_window_end(void)
{
    char *text = malloc(PF_LINE_WINDOW);
    memset(text, 'x', PF_LINE_WINDOW);
    struct fixture fixture;
    struct pf_line line = {.more = true};
    struct pf_error error;
    set_up(&fixture, text, PF_LINE_WINDOW);
    size_t used = 0;
    while (line.more && pf_linereader_next(fixture.reader, &line, &error) > 0)
        used += line.size;
    ok(used == PF_LINE_WINDOW && !line.more, "a line that fills the window up to the end of the file ends");
    ok(pf_linereader_next(fixture.reader, &line, &error) == 0,
       "no line follows a line that fills the window");
    tear_down(&fixture);
    free(text);
}

/* In whole mode, a line longer than the window is returned as one piece, up to a limit. */
static void check_whole_line(void)
{
    size_t size = 3 * PF_LINE_WINDOW;
    char *text = malloc(size + 8);
    memset(text, 'x', size);
    memcpy(text + size / 2, "word", 4);
    strcpy(text + size, "\r\nb\n");
    struct fixture fixture;
    struct pf_line line = {0};
    struct pf_error error;
    set_up(&fixture, text, size + 4);
    int got = pf_linereader_whole(fixture.reader, size, &line, &error);
    ok(got == 1 && line.size == size && !line.more && line.number == 1 && !memcmp(line.text, text, size),
       "a long line is returned complete if requested");
    got = pf_linereader_whole(fixture.reader, size, &line, &error);
    ok(got == 1 && line.size == 1 && line.number == 2 && !line.continued,
       "the line after a long line is complete");
    pf_linereader_seek(fixture.reader, 0, 1);
    got = pf_linereader_whole(fixture.reader, PF_LINE_WINDOW + 1, &line, &error);
    ok(got == 1 && line.more && line.size < size && !memcmp(line.text, text, line.size),
       "the start of a line that is too long is returned");
    got = pf_linereader_whole(fixture.reader, PF_LINE_WINDOW + 1, &line, &error);
    ok(got == 1 && line.continued, "the rest of a line that is too long is returned in pieces");
    tear_down(&fixture);
    free(text);
}

int main(void)
{
    check_lines("", "", "an empty file has no lines");
    check_lines("\n", "1@0:|", "a line may be empty");
    check_lines("a\nb\n", "1@0:a|2@2:b|", "lines have numbers from 1 and offsets from 0");
    check_lines("a\nb", "1@0:a|2@2:b|", "the last line needs no newline");
    check_lines("a\r\n\r\nb\r\n", "1@0:a|2@3:|3@5:b|", "CR LF ends a line as LF does");
    check_lines("a\rb\r\r\nc\r", "1@0:a\rb\r|2@6:c|", "only the CR right before the end is dropped");
    check_lines("\xef\xbb\xbfone\n\xef\xbb\xbf\n", "1@3:one|2@7:\xef\xbb\xbf|",
                "a byte order mark is skipped at the start of the file only");
    check_lines("\xef\xbb\xbf\r\nb", "1@3:|2@5:b|", "a byte order mark is skipped before an empty line");
    check_seek();
    check_many_lines();
    check_long_line("12345 ", 200000, "\n", false, "a line of words longer than the window");
    check_long_line("12345 ", 200000, "\r\n", false, "a long line that ends in CR LF");
    check_long_line("x", 3 * PF_LINE_WINDOW, "\n", true, "a word longer than the window");
    check_long_line("x", PF_LINE_WINDOW - 1, "\r\n", true, "a CR that ends the window");
    check_window_end();
    check_whole_line();
    return done();
}
