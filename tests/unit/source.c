/* SPDX-License-Identifier: MIT */
#include "formats/input/source.h"

#include <dirent.h>
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "formats/driver.h"
#include "formats/input/folder.h"
#include "formats/recognise.h"
#include "tests/unit/gate.h"
#include "tests/unit/tap.h"
#include "tests/unit/temp_dir.h"

/* A folder with a file `log`, a database `db` with a file `a`, and entries that are not regular files. */
struct place {
    char path[64];
    int fd;
};

static void set_up(struct place *place)
{
    temp_dir_make(place->path);
    write_text(place->path, "log", "0123456789");
    make_folder(place->path, "db");
    write_text(place->path, "db/a", "in the database");
    make_folder(place->path, "db/sub");
    write_text(place->path, "db/sub/b", "deeper");
    if (symlink("log", path_in(place->path, "link")) || symlink("../log", path_in(place->path, "db/out")) ||
        symlink("sub", path_in(place->path, "db/alias")) || mkfifo(path_in(place->path, "fifo"), 0600))
        abort();
    place->fd = open(place->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

static void tear_down(struct place *place)
{
    close(place->fd);
    temp_dir_remove(place->path);
}

static struct pf_source *source_of(const struct place *place, const char *name)
{
    struct pf_error error;
    return pf_source_new(place->fd, name, &error);
}

/* Returns the error code of opening an input, or 0. */
static int open_code(struct pf_source *source, const char *name)
{
    struct pf_error error = {0};
    struct pf_input *input;
    return pf_source_open(source, name, PF_RAW, &input, &error) ? error.code : 0;
}

static int check_code(struct pf_source *source)
{
    struct pf_error error = {0};
    return pf_source_check(source, &error) ? error.code : 0;
}

/* ---- reading ------------------------------------------------------------------------------------ */

static void test_reading(void)
{
    struct place place;
    struct pf_error error = {0};
    struct pf_input *input = NULL, *again = NULL;
    char bytes[32] = {0};
    set_up(&place);
    struct pf_source *source = source_of(&place, "log");
    is(pf_source_name(source), "log", "a source has the name of its entry");
    ok(!pf_source_open(source, NULL, PF_RAW, &input, &error) && pf_input_size(input) == 10,
       "the source itself is an input");
    ok(pf_input_read(input, bytes, sizeof bytes, 0, &error) == 10 && !strcmp(bytes, "0123456789"),
       "a read returns the bytes of the file");
    ok(pf_input_read(input, bytes, 3, 5, &error) == 3 && !memcmp(bytes, "567", 3),
       "a read may start at any offset");
    ok(pf_input_read(input, bytes, 3, 10, &error) == 0 &&
           pf_input_read(input, bytes, 3, UINT64_MAX, &error) == 0,
       "a read after the end returns nothing");
    ok(!pf_source_open(source, NULL, PF_RAW, &again, &error) && again == input &&
           pf_source_input_count(source) == 1,
       "an input that is opened twice is one input");
    ok(!pf_source_open(source, "db/a", PF_RAW, &again, &error) && pf_input_size(again) == 15,
       "names of a file's inputs are relative to its folder");
    struct pf_stamp stamp;
    is(pf_source_input_at(source, 1, &stamp), "db/a", "inputs are listed by the names they were opened by");
    ok(stamp.size == 15 && pf_source_matches(source, "db/a", &stamp),
       "inputs are listed with their attributes");
    ok(!pf_source_input_at(source, 0, &stamp) && stamp.size == 10, "the source itself has no name");
    pf_source_free(source);

    source = source_of(&place, "db");
    ok(open_code(source, "a") == 0 && open_code(source, "sub/b") == 0,
       "names of inputs of a directory are relative to the directory");
    ok(open_code(source, NULL) == EINVAL, "a folder cannot be opened as a file");
    pf_source_free(source);
    ok(!pf_source_new(place.fd, "absent", &error) && error.code == ENOENT,
       "a source that does not exist is not created");
    pf_source_free(NULL);
    tear_down(&place);
}

/* ---- what is refused ---------------------------------------------------------------------------- */

static void check_refusals(const struct place *place, const char *how)
{
    struct pf_source *file = source_of(place, "log"), *database = source_of(place, "db");
    const char *const links[] = {"out", "alias/b", "alias"};
    bool refused = true;
    for (size_t i = 0; i < 3; i++)
        refused &= open_code(database, links[i]) != 0;
    ok(refused, "%s: symbolic links are not followed anywhere in a path", how);
    ok(open_code(database, "../log") != 0 && open_code(database, "sub/../../log") != 0 &&
           open_code(file, "..") != 0 && open_code(database, "..") != 0,
       "%s: paths with .. are refused", how);
    ok(open_code(database, "/etc/passwd") != 0, "%s: absolute paths are refused", how);
    ok(open_code(file, "fifo") == EINVAL, "%s: a FIFO is refused without waiting", how);
    ok(open_code(database, "sub") == EINVAL, "%s: a folder is refused as a file", how);
    ok(open_code(database, "none") == ENOENT && open_code(database, "none/at/all") == ENOENT,
       "%s: opening a missing file returns ENOENT", how);
    ok(open_code(database, "sub//b") == 0 && open_code(database, "./a") == 0,
       "%s: paths with // and . are accepted", how);
    struct pf_error error = {0};
    struct pf_source *link = pf_source_new(place->fd, "link", &error);
    ok(!link || open_code(link, NULL) != 0, "%s: a symbolic link is not a source", how);
    pf_source_free(link);
    ok(check_code(file) == 0 && check_code(database) == 0, "%s: refused names do not count as changes", how);
    pf_source_free(file);
    pf_source_free(database);
}

/* Makes openat2 fail as on an old kernel. */
static bool forbid_openat2(void)
{
    struct sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_openat2, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {.len = 4, .filter = filter};
    return !prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) && !prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}

/* ---- changes ------------------------------------------------------------------------------------ */

struct change {
    const char *name;
    void (*make)(const char *folder);
    bool keeps_bytes; /* after the change, an open input still reads the old bytes */
};

static void rewrite(const char *folder)
{
    write_text(folder, "log", "abcdefghij");
}

static void grow(const char *folder)
{
    write_text(folder, "log", "0123456789 and more");
}

static void cut(const char *folder)
{
    write_text(folder, "log", "01234");
}

static void replace(const char *folder)
{
    replace_text(folder, "log", "0123456789");
}

static void delete (const char *folder)
{
    unlink(path_in(folder, "log"));
}

static void make_a_folder(const char *folder)
{
    delete (folder);
    make_folder(folder, "log");
}

static void appear(const char *folder)
{
    write_text(folder, "log.extra", "");
}

static void vanish(const char *folder)
{
    unlink(path_in(folder, "db/a"));
}

static void check_change(const struct change *change)
{
    struct place place;
    struct pf_error error = {0};
    struct pf_input *input, *other;
    char bytes[16];
    set_up(&place);
    struct pf_source *source = source_of(&place, "log");
    pf_source_open(source, NULL, PF_RAW, &input, &error);
    pf_source_open(source, "log.extra", PF_RAW, &other, &error);
    pf_source_open(source, "db/a", PF_RAW, &other, &error);
    ok(check_code(source) == 0 && pf_source_intact(source), "%s: before the change the source is unchanged",
       change->name);
    change->make(place.path);
    ok(check_code(source) == ESTALE, "%s: the change is detected", change->name);
    ok(pf_source_intact(source) == change->keeps_bytes, "%s: an open input %s", change->name,
       change->keeps_bytes ? "reads the old bytes" : "no longer reads the old bytes");
    ssize_t n = pf_input_read(input, bytes, 10, 0, &error);
    ok(change->keeps_bytes ? n == 10 && !memcmp(bytes, "0123456789", 10) : n == 10 || error.code == ESTALE,
       "%s: a read returns all bytes or an error", change->name);
    pf_source_free(source);
    tear_down(&place);
}

static void test_changes(void)
{
    static const struct change changes[] = {
        {"rewritten at once", rewrite, false},
        {"grown", grow, false},
        {"truncated", cut, false},
        {"replaced by an equal file", replace, true},
        {"deleted", delete, true},
        {"made a folder", make_a_folder, true},
        {"absent sibling appears", appear, true},
        {"second input deleted", vanish, true},
    };
    for (size_t i = 0; i < sizeof changes / sizeof *changes; i++)
        check_change(&changes[i]);
}

/* ---- closed sources ----------------------------------------------------------------------------- */

static void must(bool holds)
{
    if (!holds)
        abort();
}

static int nothing(void *arg, const char *name, unsigned char type)
{
    (void)arg, (void)name, (void)type;
    return 0;
}

static bool is_yaml(const char *name)
{
    size_t size = strlen(name);
    return size > 5 && !strcmp(name + size - 5, ".yaml");
}

/* Returns the number of descriptors that are open in the process. */
static size_t descriptors(void)
{
    DIR *folder = opendir("/proc/self/fd");
    size_t n = 0;
    while (folder && readdir(folder))
        n++;
    if (folder)
        closedir(folder);
    return n;
}

/* Returns a closed source that has recorded all inputs of another one. */
static struct pf_source *closed_like(const struct pf_folder *top, const char *path, bool within,
                                     struct pf_source *other)
{
    struct pf_error error = {0};
    struct pf_source *source = pf_source_at(top, path, within, &error);
    pf_source_set_matters(source, is_yaml);
    for (size_t i = 0; i < pf_source_input_count(other); i++) {
        struct pf_stamp stamp;
        const char *name = pf_source_input_at(other, i, &stamp);
        must(pf_source_matches(source, name, &stamp) == 1 && !pf_source_record(source, name, &stamp, &error));
    }
    return source;
}

static void test_closed(void)
{
    struct place place;
    struct pf_error error = {0};
    struct pf_stamp stamp = {0};
    set_up(&place);
    struct pf_folder *top = pf_folder_new(dup(place.fd), NULL);
    struct pf_source *file = source_of(&place, "log"), *database = source_of(&place, "db");
    pf_source_set_matters(file, is_yaml);
    pf_source_set_matters(database, is_yaml);
    must(!open_code(file, NULL) && open_code(file, "map.yaml") == ENOENT &&
         !pf_source_list(file, nothing, NULL, &error));
    must(!open_code(database, "a") && !open_code(database, "sub/b") &&
         !pf_source_list_folders(database, nothing, NULL, &error) &&
         !pf_source_list_in(database, "sub", nothing, NULL, &error));
    size_t before = descriptors();
    struct pf_source *one = closed_like(top, "log", false, file);
    struct pf_source *many = closed_like(top, "db", true, database);
    ok(!check_code(one) && !check_code(many), "closed sources detect no change");
    ok(descriptors() == before, "closed sources have no descriptor");

    write_text(place.path, "other", "of no interest");
    ok(!check_code(one), "a new entry that was not looked up is no change");
    write_text(place.path, "map.yaml", "names");
    ok(check_code(one) == ESTALE, "an entry that was looked up and appears is a change");
    must(pf_source_input_at(file, 0, &stamp) == NULL && pf_source_matches(many, "sub/b", &stamp) == 0);

    ok(!pf_source_reopen(many, &error) && open_code(many, "a") == 0 && pf_source_input_count(many) == 4,
       "recorded inputs can be opened after the source is opened again");
    pf_source_close(many);
    ok(descriptors() == before && !check_code(many), "a source can be closed again");
    write_text(place.path, "db/sub/c", "new");
    ok(check_code(many) == ESTALE, "a new entry in a recorded folder is a change");
    unlink(path_in(place.path, "db/sub/c"));

    struct pf_source *again = pf_source_at(top, "db", true, &error);
    pf_source_input_at(database, 0, &stamp);
    must(!pf_source_record(again, "a", &stamp, &error));
    ok(!check_code(again), "a recorded input that is unchanged is no change");
    write_text(place.path, "db/a", "rewritten in place");
    ok(check_code(again) == ESTALE,
       "a recorded input that was written in place is a change, although its folder is unchanged");
    ok(!pf_source_reopen(again, &error) && open_code(again, "a") == ESTALE,
       "an input that has changed cannot be opened");

    struct pf_source *const all[] = {file, database, one, many, again};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        pf_source_free(all[i]);
    pf_folder_free(top);
    tear_down(&place);
}

/* Returns a source below a folder, open, with the input `a` read. */
static struct pf_source *open_below(const struct pf_folder *top, struct pf_input **input)
{
    struct pf_error error;
    struct pf_source *source = pf_source_at(top, "db", true, &error);
    must(source && !pf_source_reopen(source, &error) && !pf_source_open(source, "a", PF_RAW, input, &error));
    return source;
}

static void test_close_files(void)
{
    struct place place;
    struct pf_error error;
    struct pf_input *input;
    char bytes[8];
    set_up(&place);
    struct pf_folder *top = pf_folder_new(dup(place.fd), NULL);
    size_t before = descriptors();
    struct pf_source *source = open_below(top, &input);
    must(!pf_source_hold_files(source, &error));
    pf_source_close_files(source);
    ok(pf_input_read(input, bytes, 1, 0, &error) == 1, "files of a source that are held stay open");
    pf_source_release_files(source);
    pf_source_close_files(source);
    ok(descriptors() == before, "files of a source that are not held are closed");
    ok(!check_code(source) && pf_source_intact(source), "closing the files is no change");
    ok(!pf_source_hold_files(source, &error) && pf_input_read(input, bytes, 1, 0, &error) == 1,
       "holding the files again reopens the same input");
    pf_source_release_files(source);
    pf_source_close_files(source);
    replace_text(place.path, "db/a", "another file");
    ok(pf_source_hold_files(source, &error) && error.code == ESTALE,
       "holding the files fails if a file was replaced");
    ok(descriptors() == before, "a failed hold leaves no descriptor open");
    unlink(path_in(place.path, "db/a"));
    ok(pf_source_hold_files(source, &error) && error.code == ESTALE,
       "holding the files fails if a file was deleted");
    pf_source_free(source);
    pf_folder_free(top);
    tear_down(&place);
}

static void test_counted(void)
{
    struct place place;
    struct pf_error error;
    struct pf_input *first, *second = NULL;
    char byte;
    set_up(&place);
    struct pf_source *source = source_of(&place, "db");
    must(!pf_source_open(source, "a", PF_COUNTED, &first, &error) &&
         !pf_source_open(source, "a", PF_COUNTED, &second, &error) && first == second);
    ok(!pf_input_done(first, &error) && pf_input_read(second, &byte, 1, 0, &error) == 1,
       "a file that was opened twice and counted stays open until its second use is done");
    ok(!pf_input_done(second, &error) && pf_input_read(second, &byte, 1, 0, &error) == -1,
       "a file that was opened twice and counted is closed after its second use");
    ok(!pf_source_open(source, "a", PF_COUNTED, &first, &error) &&
           pf_input_read(first, &byte, 1, 0, &error) == 1,
       "a counted file can be opened again after it was closed");
    pf_source_free(source);
    tear_down(&place);
}

/* ---- probing ------------------------------------------------------------------------------------ */

static void test_probing(void)
{
    struct place place;
    static unsigned char head[PF_HEAD_MAX];
    static char large[3 * PF_HEAD_MAX];
    size_t have;
    set_up(&place);
    memset(large, 'x', sizeof large);
    write_bytes(place.path, "large", large, sizeof large);
    struct pf_probe probe = {
        .name = "large", .size = sizeof large, .fd = openat(place.fd, "large", O_RDONLY), .bytes = head};
    ok(pf_probe_head(&probe, 8, &have) == head && have >= 8, "a probe sees the first bytes");
    pf_probe_head(&probe, SIZE_MAX, &have);
    ok(have == PF_HEAD_MAX && head[PF_HEAD_MAX - 1] == 'x',
       "a probe sees at most PF_HEAD_MAX bytes, whatever the driver requests");
    close(probe.fd);
    probe = (struct pf_probe){
        .name = "log", .size = 100000, .fd = openat(place.fd, "log", O_RDONLY), .bytes = head};
    pf_probe_head(&probe, 50, &have);
    ok(have == 10, "a probe of a file that has shrunk sees the bytes that are left");
    ok(!pf_probe_has(&probe, "log"), "a probe finds no entries in a file");
    close(probe.fd);
    probe = (struct pf_probe){.name = "db", .directory = true, .fd = openat(place.fd, "db", O_RDONLY)};
    pf_probe_head(&probe, 50, &have);
    ok(have == 0 && pf_probe_has(&probe, "a") && !pf_probe_has(&probe, "b"),
       "a probe of a folder sees entries and no bytes");
    close(probe.fd);
    struct pf_probe_result result;
    probe =
        (struct pf_probe){.name = "log", .size = 10, .fd = openat(place.fd, "log", O_RDONLY), .bytes = head};
    ok(!pf_recognise(&probe, &result) && result.confidence == 0, "a file that no driver recognises is not a profile");
    close(probe.fd);
    tear_down(&place);
}

/* ---- threads ------------------------------------------------------------------------------------ */

struct opener {
    struct pf_source *source;
    int failures;
};

static void *open_many(void *arg)
{
    struct opener *opener = arg;
    char name[16];
    for (int i = 0; i < 200; i++) {
        snprintf(name, sizeof name, "f%d", i % 50);
        opener->failures += open_code(opener->source, name) != (i % 50 < 25 ? 0 : ENOENT);
        opener->failures += !pf_source_intact(opener->source);
        for (size_t k = 0; k < pf_source_input_count(opener->source); k += 7)
            pf_source_input_at(opener->source, k, &(struct pf_stamp){0});
    }
    return NULL;
}

static void test_threads(void)
{
    struct place place;
    char name[16];
    set_up(&place);
    for (int i = 0; i < 25; i++) {
        snprintf(name, sizeof name, "db/f%d", i);
        write_text(place.path, name, "x");
    }
    usleep(30000);
    struct pf_source *source = source_of(&place, "db");
    struct opener openers[3] = {{source, 0}, {source, 0}, {source, 0}};
    pthread_t threads[3];
    for (int t = 0; t < 3; t++)
        pthread_create(&threads[t], NULL, open_many, &openers[t]);
    int failures = 0;
    for (int t = 0; t < 3; t++) {
        pthread_join(threads[t], NULL);
        failures += openers[t].failures;
    }
    ok(failures == 0 && pf_source_input_count(source) == 50,
       "inputs may be opened concurrently, and each is recorded once");
    pf_source_free(source);
    tear_down(&place);
}

/* Runs in a child process, because the seccomp filter cannot be removed; the parent fails if the child does. */
static void test_old_kernel(const struct place *place)
{
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        if (!forbid_openat2())
            _exit(77);
        tap_failed = 0;
        freopen("/dev/null", "w", stdout);
        check_refusals(place, "without openat2");
        _exit(tap_failed != 0);
    }
    int status = 0;
    waitpid(child, &status, 0);
    if (WEXITSTATUS(status) == 77)
        fprintf(stderr, "# no openat2: skipped, seccomp is not available\n");
    else
        ok(status == 0, "without openat2 the same paths are refused");
}

int main(void)
{
    struct place place;
    alarm(HANG_SECONDS);
    test_reading();
    set_up(&place);
    check_refusals(&place, "with openat2");
    test_old_kernel(&place);
    tear_down(&place);
    test_changes();
    test_closed();
    test_close_files();
    test_counted();
    test_probing();
    test_threads();
    return done();
}
