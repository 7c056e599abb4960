/* SPDX-License-Identifier: MIT */
#include <pthread.h>
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "fs/fuse/sandbox.h"
#include "fs/tree/vfs.h"
#include "tests/unit/tap.h"
#include "tests/unit/temp_dir.h"

/* What a parser that has been taken over would try first. Each returns what the system call did. */

static long read_elsewhere(const char *folder)
{
    (void)folder;
    return open("/etc/passwd", O_RDONLY | O_CLOEXEC);
}

static long list_elsewhere(const char *folder)
{
    (void)folder;
    return open("/etc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

static long read_by_proc(const char *folder)
{
    (void)folder;
    return open("/proc/self/root/etc/passwd", O_RDONLY | O_CLOEXEC);
}

static long write_source(const char *folder)
{
    int at = open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC);
    return openat(at, "profilefs-sandbox-test", O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
}

static long write_elsewhere(const char *folder)
{
    (void)folder;
    return open("/tmp/profilefs-sandbox-test", O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
}

static long change_mode(const char *folder)
{
    return chmod(folder, 0700);
}

static long cut_file(const char *folder)
{
    (void)folder;
    return truncate("/dev/null", 0);
}

static long run_program(const char *folder)
{
    char name[] = "/bin/true", *argv[] = {name, NULL};
    (void)folder;
    return execv(name, argv);
}

static long fork_process(const char *folder)
{
    (void)folder;
    pid_t child = fork();
    if (child == 0)
        _exit(0);
    return child;
}

static long make_socket(const char *folder)
{
    (void)folder;
    const int unix_family = 1, stream = 1; /* the C library's header has names that cells have, too */
    return syscall(SYS_socket, unix_family, stream, 0);
}

static long trace_parent(const char *folder)
{
    (void)folder;
    return ptrace(PTRACE_ATTACH, getppid(), NULL, NULL);
}

static long signal_parent(const char *folder)
{
    (void)folder;
    return kill(getppid(), 0);
}

static long open_handle(const char *folder)
{
    struct {
        struct file_handle head;
        char room[128];
    } handle = {.head.handle_bytes = sizeof handle.room};
    int mount, at = open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (name_to_handle_at(at, "", &handle.head, &mount, AT_EMPTY_PATH))
        memset(handle.room, 0, sizeof handle.room);
    return open_by_handle_at(at, &handle.head, O_RDONLY);
}

static long start_ring(const char *folder)
{
    (void)folder;
    return syscall(SYS_io_uring_setup, 1, NULL);
}

static long make_namespace(const char *folder)
{
    (void)folder;
    return syscall(SYS_unshare, 0);
}

static long read_folder(const char *folder)
{
    return open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

static long read_status(const char *folder)
{
    (void)folder;
    return open("/proc/self/status", O_RDONLY | O_CLOEXEC);
}

static long spill(const char *folder)
{
    (void)folder;
    const char *spills = getenv("TMPDIR");
    return spills ? open(spills, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600) : -1;
}

static void *do_nothing(void *arg)
{
    return arg;
}

static long start_thread(const char *folder)
{
    pthread_t thread;
    (void)folder;
    errno = pthread_create(&thread, NULL, do_nothing, NULL);
    return errno ? -1 : pthread_join(thread, NULL);
}

static const struct {
    const char *what;
    long (*attempt)(const char *folder);
    bool allowed;
    bool landlock; /* it takes that to refuse it */
} attempts[] = {
    {"read a file elsewhere", read_elsewhere, false, true},
    {"list a folder elsewhere", list_elsewhere, false, true},
    {"read a file elsewhere by way of /proc", read_by_proc, false, true},
    {"write into SOURCE", write_source, false, true},
    {"write elsewhere", write_elsewhere, false, true},
    {"change a mode", change_mode, false, false},
    {"truncate a file", cut_file, false, false},
    {"run a program", run_program, false, false},
    {"fork", fork_process, false, false},
    {"make a socket", make_socket, false, false},
    {"trace a process", trace_parent, false, false},
    {"signal a process", signal_parent, false, false},
    {"open a file by its handle", open_handle, false, false},
    {"start an io_uring", start_ring, false, false},
    {"make a namespace", make_namespace, false, false},
    {"read SOURCE", read_folder, true, false},
    {"read /proc", read_status, true, false},
    {"make a spill file", spill, true, false},
    {"start a thread", start_thread, true, false},
};

static void try_all(const char *folder, bool landlock)
{
    for (size_t i = 0; i < sizeof attempts / sizeof *attempts; i++) {
        errno = 0;
        bool done = attempts[i].attempt(folder) >= 0, denied = errno == EACCES || errno == EPERM;
        if (attempts[i].allowed)
            ok(done, "it allows to %s", attempts[i].what);
        else if (landlock || !attempts[i].landlock)
            ok(!done && denied, "the sandbox refuses to %s", attempts[i].what);
    }
}

static int test_sandbox(char *folder)
{
    struct pf_fs_options options = {.cache_folder = NULL};
    struct pf_error error = {0};
    struct pf_sandbox *sandbox = pf_sandbox_new(&folder, 1, &options, &error);
    if (!ok(sandbox && !pf_sandbox_enter(sandbox, &error), "the sandbox is entered"))
        return done();
    const char *text = pf_sandbox_text(sandbox);
    printf("# %s\n", text);
    if (strncmp(text, "none", 4) != 0)
        try_all(folder, !strstr(text, "no Landlock"));
    pf_sandbox_free(sandbox);
    return done();
}

/* In a process of its own: who is in there cannot even take the folder away. */
int main(void)
{
    char folder[64];
    int status = 1;
    temp_dir_make(folder);
    pid_t child = fork();
    if (child == 0) {
        int result = test_sandbox(folder);
        fflush(stdout);
        _exit(result);
    }
    waitpid(child, &status, 0);
    temp_dir_remove(folder);
    return status != 0;
}
