/* SPDX-License-Identifier: MIT */
/*
 * A file system that stops answering, for tests. Its only folder has a file NUMBER.folded of collapsed stacks for any number.
 * Usage: hanging MOUNTPOINT CONTROL. A request is never answered if its kind ("lookup", "getattr", "open", "read" or "close") is listed
 * in the file CONTROL when it arrives. All other requests are answered at once. The kernel caches nothing.
 */
#include <errno.h>
#include <fcntl.h>
#include <fuse_lowlevel.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    LISTED = 4, /* files that readdir lists */
    LARGE = 900,
    REPEATED = 1 << 18
};

static const char *control;

static bool hangs(const char *request)
{
    char text[100] = "";
    int fd = open(control, O_RDONLY | O_CLOEXEC);
    ssize_t size = fd < 0 ? 0 : read(fd, text, sizeof text - 1);
    if (fd >= 0)
        close(fd);
    return size > 0 && strstr(text, request);
}

/*
 * Inode n + 2 is the file n.folded. It has one line, which is repeated if n >= LARGE, so that the file is read in pieces. Returns the size
 * of the line, and the size of the file in *size.
 */
static int content(fuse_ino_t ino, char text[64], off_t *size)
{
    int length = snprintf(text, 64, "main;work %lu\n", (unsigned long)ino);
    *size = (off_t)length * (ino - 2 < LARGE ? 1 : REPEATED);
    return length;
}

static struct stat attributes(fuse_ino_t ino)
{
    char text[64];
    struct stat st = {.st_ino = ino, .st_nlink = 1, .st_mode = S_IFREG | 0444};
    content(ino, text, &st.st_size);
    if (ino == FUSE_ROOT_ID)
        st.st_mode = S_IFDIR | 0555;
    st.st_mtime = st.st_ctime = 1000000000;
    return st;
}

static void do_lookup(fuse_req_t req, fuse_ino_t parent, const char *name)
{
    char *end;
    unsigned long number = strtoul(name, &end, 10);
    (void)parent;
    if (hangs("lookup"))
        return;
    if (end == name || strcmp(end, ".folded")) {
        fuse_reply_err(req, ENOENT);
        return;
    }
    struct fuse_entry_param entry = {.ino = number + 2, .attr = attributes(number + 2)};
    fuse_reply_entry(req, &entry);
}

static void do_getattr(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
    (void)fi;
    if (hangs("getattr"))
        return;
    struct stat st = attributes(ino);
    fuse_reply_attr(req, &st, 0);
}

static void do_readdir(fuse_req_t req, fuse_ino_t ino, size_t size, off_t offset, struct fuse_file_info *fi)
{
    char buffer[1024], name[32];
    size_t used = 0;
    (void)ino;
    (void)size;
    (void)fi;
    for (off_t i = offset; i < LISTED; i++) {
        struct stat st = attributes((fuse_ino_t)i + 2);
        snprintf(name, sizeof name, "%d.folded", (int)i);
        used += fuse_add_direntry(req, buffer + used, sizeof buffer - used, name, &st, i + 1);
    }
    fuse_reply_buf(req, buffer, used);
}

static void do_open(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
    (void)ino;
    fi->direct_io = 1;
    if (!hangs("open"))
        fuse_reply_open(req, fi);
}

static void do_read(fuse_req_t req, fuse_ino_t ino, size_t size, off_t offset, struct fuse_file_info *fi)
{
    char text[64], *buffer = malloc(size);
    off_t end;
    size_t length = (size_t)content(ino, text, &end), used = 0;
    (void)fi;
    if (!hangs("read") && buffer) {
        for (off_t at = offset; at < end && used < size; at++)
            buffer[used++] = text[(size_t)at % length];
        fuse_reply_buf(req, buffer, used);
    }
    free(buffer);
}

/* FLUSH, which the kernel sends on close(); close() waits for the reply. */
static void do_flush(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
    (void)ino;
    (void)fi;
    if (!hangs("close"))
        fuse_reply_err(req, 0);
}

int main(int argc, char **argv)
{
    static const struct fuse_lowlevel_ops ops = {.lookup = do_lookup,
                                                 .getattr = do_getattr,
                                                 .readdir = do_readdir,
                                                 .open = do_open,
                                                 .read = do_read,
                                                 .flush = do_flush};
    struct fuse_args args = FUSE_ARGS_INIT(1, argv);
    if (argc != 3)
        return 2;
    control = argv[2];
    struct fuse_session *session = fuse_session_new(&args, &ops, sizeof ops, NULL);
    if (!session || fuse_session_mount(session, argv[1]))
        return 1;
    fuse_session_loop(session);
    fuse_session_unmount(session);
    fuse_session_destroy(session);
    return 0;
}
