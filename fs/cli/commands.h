/* SPDX-License-Identifier: MIT */
#ifndef PF_COMMANDS_H
#define PF_COMMANDS_H

#include <sys/stat.h>

#include "fs/tree/vfs.h"

/*
 * The commands that need no mount. Each prints to standard output, its errors as `profilefs: PATH: reason`,
 * and returns the exit status.
 */
struct pf_command {
    const char *name, *usage, *summary;
    int (*run)(const struct pf_fs_options *options, int argc, char **argv);
    const char *options;  /* lines for --help; NULL: none of its own */
    const char *statuses; /* lines for --help, of exit statuses that only this command has; NULL: none */
};

/* All of them; name NULL at the end. */
extern const struct pf_command pf_commands[];

/* `ls`, `cat`, `summary`, `stat`, `tree` (browse.c); `index`, `check`, `formats` (commands.c); `cache`; `compare`. */
int pf_command_ls(const struct pf_fs_options *options, int argc, char **argv);
int pf_command_cat(const struct pf_fs_options *options, int argc, char **argv);
int pf_command_summary(const struct pf_fs_options *options, int argc, char **argv);
int pf_command_stat(const struct pf_fs_options *options, int argc, char **argv);
int pf_command_tree(const struct pf_fs_options *options, int argc, char **argv);
int pf_command_index(const struct pf_fs_options *options, int argc, char **argv);
int pf_command_check(const struct pf_fs_options *options, int argc, char **argv);
int pf_command_cache(const struct pf_fs_options *options, int argc, char **argv);
int pf_command_compare(const struct pf_fs_options *options, int argc, char **argv);
int pf_command_formats(const struct pf_fs_options *options, int argc, char **argv);

/* The length of the longest part of a path that exists on disk, with its attributes in *st; 0: none. Changes nothing in the path. */
size_t pf_existing_part(char *path, struct stat *st);

/* The path on disk of a profile: if `path` lies in a mount of this program, the path below its SOURCE; else the same. The caller frees it.
 * NULL with errno. */
char *pf_path_on_disk(const char *path);

/* Enters the sandbox of the sources of a command. 0, or the exit status: the error has been printed. */
int pf_confine(const struct pf_fs_options *options, char *const *sources, size_t n);

#endif
