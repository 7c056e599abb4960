/* SPDX-License-Identifier: MIT */
#ifndef FUZZ_PROFILE_H
#define FUZZ_PROFILE_H

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "formats/model.h"
#include "formats/probe.h"
#include "tests/profile.h"
#include "tests/sound.h"

/*
 * The common part of the drivers' fuzz targets. It writes the input to a file in tmpfs, probes, opens and loads the file, and checks that
 * the profile keeps all promises of formats/driver.h, by the functions of tests/sound.h.
 */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define FUZZ __attribute__((unused)) static

/* Flags of a fuzz target: failures that abort it, and an exception from the checks. */
enum fuzz_rules {
    FUZZ_MAY_FAIL = 0,
    FUZZ_OPENS = 1, /* aborts if an input cannot be opened */
    FUZZ_LOADS = 2, /* aborts if an input can be opened but not loaded */
    FUZZ_TWICE = 4, /* allows values by context to differ from values by partition, if the file stores both */
};

/* Maximum number of rows per walk; more rows reach no further code. */
enum { FUZZ_ROWS = 400 };

/* A file to which an input is being written. */
struct fuzz_file {
    const char *name;
    int fd;
};

static char fuzz_path[] = "/dev/shm/fuzz.XXXXXX";

FUZZ void fuzz_leave(void)
{
    char command[sizeof fuzz_path + 16];
    snprintf(command, sizeof command, "rm -rf %s", fuzz_path);
    if (system(command))
        perror(command);
}

/* Returns the folder into which all inputs are written, one after the other. */
FUZZ int fuzz_folder(void)
{
    static int folder = -1;
    if (folder < 0) {
        folder = mkdtemp(fuzz_path) ? open(fuzz_path, O_RDONLY | O_DIRECTORY) : -1;
        if (folder < 0 || atexit(fuzz_leave))
            abort();
    }
    return folder;
}

FUZZ struct fuzz_file fuzz_create(int folder, const char *name)
{
    struct fuzz_file file = {name, openat(folder, name, O_RDWR | O_CREAT | O_TRUNC, 0600)};
    if (file.fd < 0)
        abort();
    return file;
}

FUZZ void fuzz_put(struct fuzz_file file, const void *bytes, size_t size)
{
    if (size && write(file.fd, bytes, size) != (ssize_t)size)
        abort();
}

/* Sets future times of the file and its folder, because sources would wait before they read a file that has just been written. */
FUZZ void fuzz_finish(int folder, struct fuzz_file file)
{
    static const struct timespec times[2] = {{.tv_sec = INT32_MAX}, {.tv_sec = INT32_MAX}};
    if (futimens(file.fd, times) || futimens(folder, times) || close(file.fd))
        abort();
}

FUZZ void fuzz_write(int folder, const char *name, const void *bytes, size_t size)
{
    struct fuzz_file file = fuzz_create(folder, name);
    fuzz_put(file, bytes, size);
    fuzz_finish(folder, file);
}

/* Removes the input's first byte and returns it: the choice of the items that cursors are restricted to, of the positions at which
 * cursors resume, and of the memory limit. */
FUZZ unsigned fuzz_choice(const uint8_t **data, size_t *size)
{
    unsigned choice = *size ? (*data)[0] : 0;
    *data += *size != 0;
    *size -= *size != 0;
    return choice;
}

FUZZ void fuzz_probe(const struct pf_driver *driver, int folder, const char *name)
{
    static unsigned char head[PF_HEAD_MAX];
    static struct pf_probe probe;
    struct pf_probe_result result = {0};
    struct stat st;
    int fd = openat(folder, name, O_RDONLY);
    if (fd < 0 || fstat(fd, &st))
        abort();
    bool directory = S_ISDIR(st.st_mode);
    probe = (struct pf_probe){.name = name,
                              .directory = directory,
                              .size = directory ? 0 : (uint64_t)st.st_size,
                              .fd = fd,
                              .bytes = head};
    driver->probe(&probe, &result);
    close(fd);
}

/* Returns the chosen item of this axis, or -1 if the axis is empty. */
FUZZ int64_t fuzz_item(const struct pf_model *model, enum pf_role role, unsigned choice)
{
    int64_t items = sound_items(model, role);
    return items > 0 ? (int64_t)choice % items : -1;
}

FUZZ void fuzz_look(struct pf_model *model, unsigned choice, enum fuzz_rules rules)
{
    struct sound_limits limits = {
        .rows = FUZZ_ROWS, .hop = 1 + choice / 8, .resumes = 4, .twice = rules & FUZZ_TWICE};
    struct pf_restriction only = {fuzz_item(model, PF_PARTITION, choice),
                                  fuzz_item(model, PF_CONTEXT, choice), fuzz_item(model, PF_METRIC, choice),
                                  fuzz_item(model, PF_KEY, choice)};
    const char *wrong = sound_profile(model, only, limits);
    if (!wrong)
        return;
    fprintf(stderr, "not sound: %s\n", wrong);
    abort();
}

/* Reads the file or directory with this name. */
FUZZ void fuzz_read(const struct pf_driver *driver, int folder, const char *name, unsigned choice,
                    enum fuzz_rules rules)
{
    struct pf_error error = {0};
    /* Sometimes little memory, so that sums and sorters spill. */
    struct pf_options options = {.cache = choice & 8 ? 4096 : 1 << 20};
    struct pf_model model;
    fuzz_probe(driver, folder, name);
    bool opened = profile_open(&model, driver, folder, name, &options, &error) == 0;
    bool loaded = opened && !pf_model_load(&model, PF_DERIVED, &error);
    if ((!opened && (rules & FUZZ_OPENS)) || (opened && !loaded && (rules & FUZZ_LOADS))) {
        fprintf(stderr, "not %s: %s\n", opened ? "loaded" : "opened", error.what);
        abort();
    }
    if (loaded)
        fuzz_look(&model, choice, rules);
    profile_close(&model);
}

/* Writes these bytes to a file and reads it with the driver. Returns 0. */
FUZZ int fuzz_bytes(const struct pf_driver *driver, const char *name, const uint8_t *data, size_t size,
                    unsigned choice, enum fuzz_rules rules)
{
    fuzz_write(fuzz_folder(), name, data, size);
    fuzz_read(driver, fuzz_folder(), name, choice, rules);
    return 0;
}

#endif
