/* SPDX-License-Identifier: MIT */
#include "formats/input/access.h"

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "tests/unit/tap.h"

enum { READER = 1000 };

static struct stat file(uid_t uid, gid_t gid, mode_t mode)
{
    return (struct stat){.st_uid = uid, .st_gid = gid, .st_mode = S_IFREG | mode};
}

/* Checks the attributes of a virtual file that is derived from files `a` and `b`. */
static void both(struct stat a, struct stat b, uid_t uid, gid_t gid, mode_t mode, const char *name)
{
    struct pf_access access = pf_access_of(&a), further = pf_access_of(&b);
    pf_access_restrict(&access, &further, READER);
    ok(access.uid == uid && access.gid == gid && access.mode == mode, "%s: %u:%u %03o", name, access.uid,
       access.gid, access.mode);
}

static bool may(const struct stat *st, uid_t uid, gid_t gid)
{
    mode_t bit = uid == st->st_uid ? 0400 : gid == st->st_gid ? 0040 : 0004;
    return st->st_mode & bit;
}

/*
 * For all owners, groups and modes of two files, a user who may not read both of them may not read the file derived from them. The user
 * who mounted is an exception.
 */
static void test_never_more(void)
{
    size_t wider = 0, tried = 0;
    for (mode_t a = 0; a < 8; a++)
        for (mode_t b = 0; b < 8; b++)
            for (unsigned owners = 0; owners < 4; owners++) {
                mode_t modes[2];
                for (int i = 0; i < 2; i++) {
                    mode_t bits = i ? b : a;
                    modes[i] = (bits & 4) << 6 | (bits & 2) << 4 | (bits & 1) << 2;
                }
                struct stat one = file(1, 11, modes[0]),
                            two = file(1 + (owners & 1), 11 + (owners >> 1), modes[1]);
                struct pf_access access = pf_access_of(&one), further = pf_access_of(&two);
                pf_access_restrict(&access, &further, READER);
                struct stat shown = file(access.uid, access.gid, access.mode);
                for (uid_t uid = 1; uid < 4; uid++)
                    for (gid_t gid = 11; gid < 14; gid++, tried++)
                        wider += may(&shown, uid, gid) && !(may(&one, uid, gid) && may(&two, uid, gid));
            }
    ok(tried == 2304 && wider == 0, "no permission is widened by putting two files together (%zu of %zu)",
       wider, tried);
}

static void test_pairs(void)
{
    both(file(1, 11, 0644), file(2, 12, 0644), 1, 11, 0444, "two files that everyone may read");
    both(file(1, 11, 0644), file(1, 11, 0600), 1, 11, 0400, "a private file of the same owner");
    both(file(1, 11, 0644), file(2, 12, 0640), 2, 12, 0440, "a private file of another owner belongs to that owner");
    both(file(1, 11, 0640), file(1, 11, 0640), 1, 11, 0440, "two files of one group");
    both(file(1, 11, 0640), file(2, 11, 0640), READER, 11, 0440, "two files of one group with different owners");
    both(file(1, 11, 0640), file(1, 12, 0640), 1, 11, 0400, "two groups");
    both(file(1, 11, 0600), file(2, 12, 0600), READER, 11, 0400,
         "two private files of two owners belong to the reader");
    struct stat folder = {.st_uid = 1, .st_gid = 11, .st_mode = S_IFDIR | 0744};
    ok(pf_access_of(&folder).mode == 0400,
       "a user who may list a folder but not enter it cannot read its files");
    folder.st_mode = S_IFDIR | 0711;
    ok(pf_access_of(&folder).mode == 0400 && pf_access_through(&folder).mode == 0444,
       "a user who may enter a folder but not list it can open its files by name");
}

static void test_lists(void)
{
    char path[] = "/tmp/profilefs-access.XXXXXX", command[128];
    int fd = mkstemp(path), folder = open("/tmp", O_PATH | O_DIRECTORY);
    const char *name = strrchr(path, '/') + 1;
    fchmod(fd, 0644);
    ok(pf_mode_without_list(folder, name, S_IFREG | 0644) == (S_IFREG | 0644),
       "the mode applies if there is no ACL");
    snprintf(command, sizeof command, "setfacl -m u:2:r %s 2>/dev/null", path);
    if (system(command) == 0) { /* NOLINT(cert-env33-c): setfacl, as users call it */
        ok(pf_mode_without_list(folder, name, S_IFREG | 0644) == (S_IFREG | 0604) &&
               pf_mode_without_list(fd, "", S_IFREG | 0644) == (S_IFREG | 0604),
           "an ACL that admits a user clears the group's bits");
        snprintf(command, sizeof command, "setfacl -m u:2:- %s", path);
        ok(system(command) == 0 && /* NOLINT(cert-env33-c) */
               pf_mode_without_list(folder, name, S_IFREG | 0644) == (S_IFREG | 0600),
           "an ACL that excludes a user also clears the others' bits");
    }
    close(folder);
    close(fd);
    unlink(path);
}

int main(void)
{
    test_pairs();
    test_never_more();
    test_lists();
    return done();
}
