/* SPDX-License-Identifier: MIT */
#ifndef PF_COMMANDS_H
#define PF_COMMANDS_H

#include <sys/stat.h>

#include "fs/tree/vfs.h"

/* Commands that need no mount. Each prints its results to standard output and errors as `profilefs: PATH: reason` to
 * standard error, and returns the exit status. */
struct pf_command {
    const char *name, *usage, *summary;
    int (*run)(const struct pf_fs_options *options, int argc, char **argv);
    const char *options;  /* lines for --help; NULL: no options */
    const char *statuses; /* lines for --help about exit statuses that only this command has; NULL: none */
};

/* All commands, terminated by name NULL. */
extern const struct pf_command pf_commands[];

/* The commands `ls`, `cat`, `summary`, `stat` and `tree` are in browse.c, `compare` is in compare.c. */
int pf_command_ls(const struct pf_fs_options *options, int argc, char **argv);
int pf_command_cat(const struct pf_fs_options *options, int argc, char **argv);
int pf_command_summary(const struct pf_fs_options *options, int argc, char **argv);
int pf_command_stat(const struct pf_fs_options *options, int argc, char **argv);
int pf_command_tree(const struct pf_fs_options *options, int argc, char **argv);
int pf_command_compare(const struct pf_fs_options *options, int argc, char **argv);

/* Returns the length of the longest prefix of a path that exists on disk, and sets *st to the prefix's attributes; 0 if no
 * prefix exists. `path` is modified only during the call. */
size_t pf_existing_prefix(char *path, struct stat *st);

/* Returns the location of a profile on disk, which the caller frees: if `path` is in a mount of this program, the corresponding
 * path below the mount's SOURCE; otherwise a copy of `path`. NULL with errno. */
char *pf_path_on_disk(const char *path);

/* Enters the sandbox, which permits access to the sources of a command. Returns 0, or the exit status after printing the error. */
int pf_enter_sandbox(const struct pf_fs_options *options, char *const *sources, size_t n);

#endif
