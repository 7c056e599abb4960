/* SPDX-License-Identifier: MIT */
#ifndef PF_FOLDER_H
#define PF_FOLDER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>

#include "formats/kit/error.h"

/*
 * A folder of SOURCE, be it one of the file system or one in an archive (a tar or zip that is entered as if its members lay
 * there), and files in it. Nobody else needs to know the difference. No symbolic link is ever followed, no folder left but by
 * its entries. Functions return 0 or an errno value, those that make something NULL with errno. Safe to read from many threads.
 */
struct pf_folder;
struct pf_archive;
struct pf_archives;
struct pf_unpacked;

/* The folder behind an open descriptor, which is taken over. archives: those that may be entered below it; NULL: none are. */
struct pf_folder *pf_folder_new(int fd, struct pf_archives *archives);
/* What stands in an archive at a path in that folder of the file system: it is entered when something in it is asked for. */
struct pf_folder *pf_folder_below(const struct pf_folder *folder, const char *archive);
/* False if the folder lies in an archive whose file has changed since, or gone. */
bool pf_folder_is_current(const struct pf_folder *folder);
/* A folder below: a path of names, or "." for the same once more. */
struct pf_folder *pf_folder_open(const struct pf_folder *folder, const char *path);
void pf_folder_free(struct pf_folder *folder);

/* The same, where indexes of archives that are entered on the way, and through the folder later, are made in this pass. */
struct pf_pass;
struct pf_folder *pf_folder_open_in(const struct pf_folder *folder, const char *path, struct pf_pass *pass);

/* How much must be unpacked before the first `bytes` of a file in the folder can be read. */
uint64_t pf_folder_distance(const struct pf_folder *folder, const char *name, uint64_t bytes);

/* What bounds all that is unpacked; NULL: nothing does. */
struct pf_unpackings;
struct pf_unpackings *pf_folder_unpackings(const struct pf_folder *folder);

/* The descriptor of a folder of the file system; -1 in an archive, or below one. */
int pf_folder_fd(const struct pf_folder *folder);

/* Attributes of an entry, a link's its own; "." for the folder's. A folder's change with what is in it. */
int pf_folder_stat(const struct pf_folder *folder, const char *path, struct stat *st);
/* Where a link leads, with a NUL behind it. */
int pf_folder_link(const struct pf_folder *folder, const char *name, char *target, size_t room);

/* Nonzero ends the listing. type is one of readdir's DT_ values. */
typedef int pf_folder_visit(void *arg, const char *name, unsigned char type);
/* All entries but `.` and `..`, in no order. What `each` has returned is no error. */
int pf_folder_list(const struct pf_folder *folder, pf_folder_visit *each, void *arg);

/* What is wrong with the archive that the folder is, if it is the topmost one of an archive, until `each` returns nonzero. A row
 * has three cells: severity, code, text. */
struct pf_cell;
typedef int pf_folder_problem(void *arg, const struct pf_cell *row);
void pf_folder_problems(const struct pf_folder *folder, pf_folder_problem *each, void *arg);

/* A regular file that is open for reading: bytes of a descriptor, or of what something unpacks to, from `start` on. */
struct pf_opened {
    int fd; /* -1: there is none, but */
    struct pf_unpacked *unpacked;
    struct pf_archive *archive; /* that it is made of, held; NULL: none */
    uint64_t start;
    struct stat st;  /* the file's; a member's, if it is one */
    unsigned within; /* how many archives it lies in: if any, its size is st.st_size for good */
};
int pf_folder_file(const struct pf_folder *folder, const char *path, struct pf_opened *opened);
void pf_opened_close(struct pf_opened *opened);
/* Attributes of what the bytes stand in, in the file system: a member's archive. 0, or -1 with errno. */
int pf_opened_stat(const struct pf_opened *opened, struct stat *st);
/* The same once more: 0 or an errno value. */
int pf_opened_copy(const struct pf_opened *opened, struct pf_opened *copy);
/*
 * Up to `size` bytes at an offset of the file, fewer only where what is open ends, which for a member may be beyond it; -1 with
 * *error filled.
 */
ssize_t pf_opened_read(const struct pf_opened *opened, void *buffer, size_t size, uint64_t offset,
                       struct pf_error *error);

#endif
