/* SPDX-License-Identifier: MIT */
/* Tests which notes about damage in a file are kept, in what order, and which warnings are made from them. */
#include "formats/runtime/notes.h"
#include "tests/unit/tap.h"

static const struct pf_note_kind cut = {"fatal", "cut", "the file ends here"},
                                 odd = {"warning", "odd", "an odd number"}, other = {"error", "other", NULL};

/* Returns the warnings made from the notes, as `line offset severity code text|`. */
static char *told(const struct pf_notes *notes)
{
    char *text = NULL;
    size_t size;
    struct pf_error error;
    FILE *out = open_memstream(&text, &size);
    struct pf_model model = {.warnings = pf_rows_new(5)};
    if (!model.warnings || pf_notes_publish(notes, &model, &error))
        abort();
    for (size_t i = 0; i < pf_rows_count(model.warnings); i++) {
        const struct pf_cell *row = pf_rows_at(model.warnings, i);
        for (int k = 0; k < 2; k++)
            fprintf(out, row[k].type == PF_ABSENT ? "- " : "%jd ", (intmax_t)row[k].i);
        for (int k = 2; k < 5; k++)
            fprintf(out, "%.*s%s", (int)row[k].size, row[k].text, k < 4 ? " " : "|");
    }
    pf_rows_free(model.warnings);
    fclose(out);
    return text;
}

static void tells(const struct pf_notes *notes, const char *want, const char *name)
{
    char *have = told(notes);
    is(have, want, name);
    free(have);
}

static void test_texts(void)
{
    struct pf_notes notes = {0};
    tells(&notes, "", "without notes there are no warnings");
    pf_note(&notes, &odd, 3, 70, NULL);
    pf_note(&notes, &odd, 0, 20, "%d of %s", 5, "f");
    pf_note(&notes, &other, 1, -1, "call path '%s'", "x");
    tells(&notes,
          "3 70 warning odd an odd number|- 20 warning odd an odd number: 5 of f|1 - error other call path "
          "'x'|",
          "a warning is the text of its kind and the added text");
    pf_notes_sort(&notes);
    tells(&notes,
          "1 - error other call path 'x'|- 20 warning odd an odd number: 5 of f|3 70 warning odd an odd "
          "number|",
          "notes can be sorted in the order of the file");
    pf_notes_free(&notes);
    char umlauts[300] = "x";
    for (int i = 0; i < 140; i++)
        strcat(umlauts, "\xc3\xa4");
    pf_note(&notes, &other, 0, -1, "%s", umlauts);
    char *have = told(&notes);
    ok(strlen(have) == strlen("- - error other ") + 199 + strlen("|"),
       "a long text is cut between characters");
    free(have);
    pf_notes_free(&notes);
}

static size_t count_of(const char *text, const char *word)
{
    size_t count = 0;
    while ((text = strstr(text, word))) {
        count++;
        text++;
    }
    return count;
}

static void test_limits(void)
{
    struct pf_notes notes = {0};
    for (int i = 0; i < 100000; i++)
        pf_note(&notes, &odd, i, i, NULL);
    for (int i = 0; i < 3; i++)
        pf_note(&notes, &other, 0, i, "also this");
    pf_note(&notes, &cut, 0, 100000, NULL);
    char *have = told(&notes);
    ok(count_of(have, "warning odd") == PF_NOTES_ALIKE,
       "a limited number of occurrences of one problem is reported");
    ok(count_of(have, " other ") == 3, "other problems are reported after many occurrences of one");
    ok(strstr(have, "fatal cut") && strstr(have, "99500 further problems are not listed"),
       "the end of reading and the number of further problems are reported");
    free(have);
    for (int i = 0; i < 1000; i++)
        pf_note(&notes, &other, 0, i, "many");
    pf_note(&notes, &cut, 0, 100001, NULL);
    ok(notes.count == PF_NOTES_MAX + 1, "the total is limited, except for fatal problems");
    pf_notes_free(&notes);
}

/* Adds a number of notes, each third one of another code. */
static void add_notes(struct pf_notes *notes, int count)
{
    static const struct pf_note_kind third = {"warning", "third", NULL};
    const struct pf_note_kind *const kinds[] = {&odd, &other, &third};
    for (int i = 0; i < count; i++)
        pf_note(notes, kinds[i % 3], i, i, "one");
}

static void test_last_row(void)
{
    static const struct {
        int notes, fatal, more;
        const char *last, *name;
    } cases[] = {
        {999, 0, 0, "998 998 ", "999 notes are all listed"},
        {1000, 0, 0, "999 999 ", "1000 notes are all listed"},
        {1001, 0, 0, "- - warning more 1 further problems", "the last row counts the note after 1000"},
        {999, 1, 1, "- - warning more 1 further problems", "a fatal note is one of 1000"},
        {1000, 1, 0, "999 999 ", "1000 notes are all listed with a fatal one among them"},
        {1000, 1, 1, "- - warning more 1 further problems", "the note after a fatal one is counted"},
        {400, 700, 3, "- - warning more 3 further problems", "notes after many fatal ones are counted"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct pf_notes notes = {0};
        add_notes(&notes, cases[i].notes);
        for (int k = 0; k < cases[i].fatal; k++)
            pf_note(&notes, &cut, 0, 5, NULL);
        add_notes(&notes, cases[i].more);
        pf_notes_sort(&notes);
        char *have = told(&notes), *last = have;
        for (char *at = have; *at; at++)
            last = *at == '|' && at[1] ? at + 1 : last;
        ok(!strncmp(last, cases[i].last, strlen(cases[i].last)), "%s", cases[i].name);
        free(have);
        pf_notes_free(&notes);
    }
}

int main(void)
{
    test_texts();
    test_last_row();
    test_limits();
    return done();
}
