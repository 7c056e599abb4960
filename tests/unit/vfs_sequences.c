/* SPDX-License-Identifier: MIT */
#include "formats/driver.h"

/*
 * Random sequences of operations on the tree, while files of SOURCE are written, replaced and deleted, idle profiles are unloaded, the clock
 * jumps and allocations fail. A model predicts the allowed answers. SEQUENCES=N runs more sequences.
 */
extern const struct pf_driver pf_collapsed_driver;
#define FURTHER_DRIVERS &pf_collapsed_driver,

#include "tests/unit/background.h"
#include "tests/unit/faults.h"
#include "tests/unit/vfs_fixture.h"

enum { PROFILES = 4, CONTEXTS = 12, NUMBERS = 24, HANDLES = 8, STEPS = 400, SEQUENCES = 40 };

static const char *const files[] = {"info.txt", "tables/values.csv", "metrics/samples/functions.csv",
                                    "tables/contexts.csv"};
enum { FILES = sizeof files / sizeof *files };

/* An inode number that was looked up, its profile and file, and the version that the profile had at the look-up. */
struct number {
    uint64_t ino; /* 0: unused */
    int profile, file;
    unsigned version;
};

struct open_file {
    struct pf_handle *handle; /* NULL: not open */
    struct number of;
    unsigned contexts; /* in the version that was opened */
};

struct sequence {
    struct pf_fs *fs;
    const char *folder;
    uint64_t random;
    unsigned version[PROFILES];  /* incremented by each change */
    unsigned contexts[PROFILES]; /* 0: the file does not exist */
    struct number numbers[NUMBERS];
    struct open_file handles[HANDLES];
    const char *wrong; /* the first answer that the model does not allow, or NULL */
};

/* The expected text of each file, by number of contexts, read from a new filesystem. */
static char *expected[CONTEXTS + 1][FILES];

static unsigned pick(struct sequence *sequence, unsigned n)
{
    sequence->random ^= sequence->random << 13;
    sequence->random ^= sequence->random >> 7;
    sequence->random ^= sequence->random << 17;
    return (unsigned)(sequence->random >> 33) % n;
}

static void check(struct sequence *sequence, bool holds, const char *what)
{
    if (!holds && !sequence->wrong)
        sequence->wrong = what;
}

/* True if an operation failed because of an allocation failure that was injected. */
static bool lacked_memory(int result)
{
    return result == ENOMEM && atomic_load(&allocation_failed);
}

static void name_of(int profile, char name[16])
{
    snprintf(name, 16, "p%d.log", profile);
}

enum { TEXT_MAX = 20 * CONTEXTS };

/* The profiles are collapsed stacks, so that the handling of failed allocations in a real driver is tested too. */
static void text_of(unsigned contexts, char text[TEXT_MAX])
{
    size_t size = 0;
    for (unsigned c = 1; c <= contexts; c++)
        size += (size_t)snprintf(text + size, TEXT_MAX - size, "main;f%u %u\n", c, c);
}

/* ---- steps -------------------------------------------------------------------------------------- */

static void change_profile(struct sequence *sequence)
{
    char name[16], text[TEXT_MAX];
    int profile = (int)pick(sequence, PROFILES);
    unsigned how = pick(sequence, 5), contexts = 1 + pick(sequence, CONTEXTS);
    name_of(profile, name);
    text_of(contexts, text);
    if (how == 0 && sequence->contexts[profile]) {
        unlink(path_in(sequence->folder, name));
        contexts = 0;
    } else if (how < 3) {
        replace_text(sequence->folder, name, text);
    } else {
        write_text(sequence->folder, name, text);
    }
    sequence->contexts[profile] = contexts;
    sequence->version[profile]++;
}

static void look_up_path(struct sequence *sequence)
{
    char name[16], path[64];
    struct pf_attr attr;
    struct number *number = &sequence->numbers[pick(sequence, NUMBERS)];
    int profile = (int)pick(sequence, PROFILES), file = (int)pick(sequence, FILES);
    if (number->ino)
        return;
    name_of(profile, name);
    snprintf(path, sizeof path, "%s/%s", name, files[file]);
    int result = find_path(sequence->fs, path, &attr);
    if (lacked_memory(result))
        return;
    if (!sequence->contexts[profile]) {
        check(sequence, result == ENOENT, "a file that does not exist is found");
        return;
    }
    check(sequence, !result, "a file that exists is not found");
    if (result)
        return;
    check(sequence, attr.st.st_size == (off_t)strlen(expected[sequence->contexts[profile]][file]),
          "the size is not that of the current version");
    for (size_t i = 0; i < NUMBERS; i++) {
        const struct number *other = &sequence->numbers[i];
        bool same =
            other->profile == profile && other->file == file && other->version == sequence->version[profile];
        if (other->ino)
            check(sequence, (other->ino == attr.st.st_ino) == same,
                  "equal files of one version have different inodes, or others have equal inodes");
    }
    *number = (struct number){attr.st.st_ino, profile, file, sequence->version[profile]};
}

static void forget_number(struct sequence *sequence)
{
    struct number *number = &sequence->numbers[pick(sequence, NUMBERS)];
    if (number->ino)
        pf_fs_forget(sequence->fs, number->ino, 1);
    number->ino = 0;
}

static void get_attributes(struct sequence *sequence)
{
    struct pf_attr attr;
    const struct number *number = &sequence->numbers[pick(sequence, NUMBERS)];
    if (!number->ino)
        return;
    int result = attr_of(sequence->fs, number->ino, &attr);
    if (lacked_memory(result))
        return;
    bool present = number->version == sequence->version[number->profile];
    check(sequence, !result || (!present && result == ESTALE),
          "attributes of a file of the current version are refused");
}

static void open_number(struct sequence *sequence)
{
    struct open_file *to = &sequence->handles[pick(sequence, HANDLES)];
    const struct number *number = &sequence->numbers[pick(sequence, NUMBERS)];
    if (to->handle || !number->ino)
        return;
    int result = open_file(sequence->fs, number->ino, &to->handle);
    if (result)
        to->handle = NULL;
    if (lacked_memory(result))
        return;
    bool present =
        number->version == sequence->version[number->profile] && sequence->contexts[number->profile];
    check(sequence, result == (present ? 0 : ESTALE), "an inode opens a version other than its own");
    to->of = *number;
    to->contexts = sequence->contexts[number->profile];
}

static void read_open_file(struct sequence *sequence)
{
    struct open_file *at = &sequence->handles[pick(sequence, HANDLES)];
    struct pf_buf out = {0};
    size_t got;
    if (!at->handle)
        return;
    const char *want = expected[at->contexts][at->of.file];
    size_t size = strlen(want), offset = pick(sequence, (unsigned)size);
    int result = read_handle(sequence->fs, at->handle, offset, 100, &out, &got);
    bool present = at->of.version == sequence->version[at->of.profile];
    if (lacked_memory(result) || out.failed) {
        pf_buf_free(&out);
        return;
    }
    check(sequence, !result || (!present && result == ESTALE),
          "a file of the current version cannot be read");
    size_t wanted = size - offset < 100 ? size - offset : 100;
    if (!result)
        check(sequence, got >= wanted && !memcmp(out.data, want + offset, wanted),
              "the bytes are those of another version");
    pf_buf_free(&out);
}

static void close_open_file(struct sequence *sequence)
{
    struct open_file *at = &sequence->handles[pick(sequence, HANDLES)];
    if (at->handle)
        pf_fs_close(at->handle);
    at->handle = NULL;
}

static void unload_idle_profiles(struct sequence *sequence)
{
    pf_reaper_relieve(sequence->fs, &(uint64_t){0});
}

static void list_root(struct sequence *sequence)
{
    struct pf_dir *dir;
    struct pf_dirent entry;
    struct pf_op op = PF_OP;
    bool listed[PROFILES] = {false};
    int more, result = open_dir(sequence->fs, PF_ROOT_INO, &dir);
    if (lacked_memory(result))
        return;
    check(sequence, !result, "the root cannot be opened");
    if (result)
        return;
    for (uint64_t offset = 0; (more = pf_fs_readdir(dir, offset, &entry, false, NULL, &op)) > 0;
         offset = entry.next)
        for (int p = 0; p < PROFILES; p++) {
            char name[16];
            name_of(p, name);
            listed[p] |= !strcmp(entry.name, name);
        }
    pf_fs_closedir(dir);
    if (lacked_memory(-more))
        return;
    check(sequence, !more, "the root cannot be listed");
    for (int p = 0; p < PROFILES; p++)
        check(sequence, listed[p] == (sequence->contexts[p] > 0),
              "the listing differs from the files that exist");
}

static void move_clock(struct sequence *sequence)
{
    clock_advance(pick(sequence, 15000));
}

/* Runs a step during which an allocation fails. After the back-off, the same step answers as if nothing had failed. */
static void fail_allocation(struct sequence *sequence)
{
    static void (*const steps[])(struct sequence *) = {look_up_path, get_attributes, open_number,
                                                       read_open_file, list_root};
    void (*step)(struct sequence *) = steps[pick(sequence, sizeof steps / sizeof *steps)];
    int n = 1 + (int)pick(sequence, 60);
    uint64_t random = sequence->random;
    faults_arm(n);
    step(sequence);
    faults_disarm();
    atomic_store(&allocation_failed, false);
    clock_advance((PF_BACK_OFF_SECONDS + 1) * 1000);
    sequence->random = random;
    step(sequence);
}

/* ---- sequences ---------------------------------------------------------------------------------- */

static void forget_all(struct sequence *sequence)
{
    for (size_t i = 0; i < HANDLES; i++)
        if (sequence->handles[i].handle)
            pf_fs_close(sequence->handles[i].handle);
    for (size_t i = 0; i < NUMBERS; i++)
        if (sequence->numbers[i].ino)
            pf_fs_forget(sequence->fs, sequence->numbers[i].ino, 1);
}

/* True if only the root inode is left, and no version or loaded profile. */
static bool is_empty(struct pf_fs *fs)
{
    pf_lock_take(&fs->lock);
    bool empty = fs->entries.count == 1 && !fs->versions.count && !fs->loaded_profiles && !fs->idle.count &&
                 !fs->idle.with_files;
    pf_lock_drop(&fs->lock);
    return empty;
}

static const char *run_sequence(const char *folder, uint64_t seed)
{
    static void (*const steps[])(struct sequence *) = {
        change_profile, look_up_path, look_up_path,    look_up_path,    forget_number,
        get_attributes, open_number,  read_open_file,  close_open_file, unload_idle_profiles,
        list_root,      move_clock,   fail_allocation, fail_allocation};
    struct sequence sequence = {
        .fs = fs_of(folder, false), .folder = folder, .random = seed * 2654435761 + 1};
    for (int p = 0; p < PROFILES; p++)
        change_profile(&sequence);
    for (int i = 0; i < STEPS && !sequence.wrong; i++)
        steps[pick(&sequence, sizeof steps / sizeof *steps)](&sequence);
    forget_all(&sequence);
    for (int i = 0; i < 500 && !is_empty(sequence.fs); i++) {
        unload_idle_profiles(&sequence);
        usleep(10000);
    }
    check(&sequence, is_empty(sequence.fs), "an inode, a version or a profile is held after the last use");
    pf_fs_free(sequence.fs);
    for (int p = 0; p < PROFILES; p++) {
        char name[16];
        name_of(p, name);
        unlink(path_in(folder, name));
    }
    return sequence.wrong;
}

static void test_sequences(void)
{
    char folder[64], text[TEXT_MAX], path[64];
    const char *more = getenv("SEQUENCES"), *wrong = NULL;
    unsigned long n = more ? strtoul(more, NULL, 10) : SEQUENCES, seed;
    temp_dir_make(folder);
    for (unsigned c = 1; c <= CONTEXTS; c++) {
        text_of(c, text);
        write_text(folder, "only.log", text);
        struct pf_fs *fs = fs_of(folder, false);
        for (int f = 0; f < FILES; f++) {
            snprintf(path, sizeof path, "only.log/%s", files[f]);
            expected[c][f] = text_at(fs, path);
        }
        pf_fs_free(fs);
    }
    unlink(path_in(folder, "only.log"));
    control = (struct control){0};
    for (seed = 1; seed <= n && !wrong; seed++)
        wrong = run_sequence(folder, seed);
    ok(!wrong, "%lu sequences of %d operations give the answers of the model%s%s", seed - 1, STEPS,
       wrong ? ": " : "", wrong ? wrong : "");
    temp_dir_remove(folder);
}

/* ---- an endless pass ---------------------------------------------------------------------------- */

enum { OTHERS = 20, OPERATIONS = 1000 };

static int look_up_held(void *arg, struct pf_op *op)
{
    struct pf_attr attr;
    struct pf_fs *fs = arg;
    uint64_t top = ino_of(fs, "held.log/metrics");
    return pf_fs_lookup(fs, top, "time", true, &attr, op);
}

static void test_held_pass(void)
{
    char folder[64], name[64];
    struct gate gate = GATE_CLOSED;
    struct background held;
    int good = 0;
    temp_dir_make(folder);
    write_text(folder, "held.log", "2 3 10");
    for (int i = 0; i < OTHERS; i++) {
        snprintf(name, sizeof name, "%d.folded", i);
        write_text(folder, name, "main;f 3\nmain;g 4\n");
    }
    struct pf_fs *fs = fs_of(folder, false);
    control = (struct control){.gate[PF_MODELLED] = &gate};
    background_start(&held, look_up_held, fs);
    gate_await(&gate, 1);
    for (int i = 0; i < OPERATIONS; i++) {
        snprintf(name, sizeof name, "%d.folded/%s", i % OTHERS, i % 2 ? "tables/values.csv" : "info.txt");
        char *text = text_at(fs, name);
        good += *text != 0;
        free(text);
        if (i % 100 == 0)
            pf_reaper_relieve(fs, &(uint64_t){0});
    }
    ok(good == OPERATIONS, "%d operations on other profiles complete while a pass is blocked", OPERATIONS);
    gate_open(&gate);
    ok(!background_result(&held), "an operation that waits for a blocked pass succeeds when the pass ends");
    control = (struct control){0};
    pf_fs_free(fs);
    temp_dir_remove(folder);
}

int main(void)
{
    alarm(HANG_SECONDS);
    test_sequences();
    test_held_pass();
    return done();
}
