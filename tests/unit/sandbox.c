/* SPDX-License-Identifier: MIT */
#include <linux/fs.h>
#include <pthread.h>
#include <sched.h>
#include <seccomp.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>

#include "fs/cache/cache.h"
#include "fs/fuse/sandbox.h"
#include "fs/text/buf.h"
#include "fs/tree/vfs.h"
#include "tests/unit/tap.h"
#include "tests/unit/temp_dir.h"

/* Attacks that an exploited parser would try first. Each function returns the result of its system call. */

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
    const int unix_family = 1, stream = 1; /* values of AF_UNIX and SOCK_STREAM: <sys/socket.h> clashes with names of cells */
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

/* ---- other processes, whose values are set to what they already are ----------- */

static long limit_parent(const char *folder)
{
    struct rlimit limit;
    (void)folder;
    getrlimit(RLIMIT_CORE, &limit);
    return prlimit(getppid(), RLIMIT_CORE, &limit, NULL);
}

static long read_limits_of_parent(const char *folder)
{
    struct rlimit limit;
    (void)folder;
    return prlimit(getppid(), RLIMIT_CORE, NULL, &limit);
}

static long renice_parent(const char *folder)
{
    (void)folder;
    return setpriority(PRIO_PROCESS, (id_t)getppid(), 0);
}

static long renice_user(const char *folder)
{
    (void)folder;
    return syscall(SYS_setpriority, PRIO_USER, 65534, 0); /* fails with ESRCH if that user has no processes */
}

static long pin_parent(const char *folder)
{
    cpu_set_t set;
    (void)folder;
    sched_getaffinity(0, sizeof set, &set);
    return sched_setaffinity(getppid(), sizeof set, &set);
}

static long schedule_parent(const char *folder)
{
    const struct sched_param param = {0};
    (void)folder;
    return sched_setscheduler(getppid(), SCHED_OTHER, &param);
}

static long prioritise_io_of_parent(const char *folder)
{
    (void)folder;
    return syscall(SYS_ioprio_set, 1, getppid(), 0);
}

/* ---- files of SOURCE, opened for reading ---- */

static int open_file(const char *folder)
{
    return open(path_in(folder, "file"), O_RDONLY | O_CLOEXEC);
}

static long set_times(const char *folder)
{
    const struct timespec times[2] = {{.tv_sec = 1}, {.tv_sec = 1}};
    return futimens(open_file(folder), times);
}

static long touch(const char *folder)
{
    return futimens(open_file(folder), NULL);
}

static long set_flags(const char *folder)
{
    int flags = 0, fd = open_file(folder);
    ioctl(fd, FS_IOC_GETFLAGS, &flags);
    return ioctl(fd, FS_IOC_SETFLAGS, &flags);
}

static long set_file_attributes(const char *folder)
{
    struct fsxattr attributes = {0};
    int fd = open_file(folder);
    ioctl(fd, FS_IOC_FSGETXATTR, &attributes);
    return ioctl(fd, FS_IOC_FSSETXATTR, &attributes);
}

static long lock_file(const char *folder)
{
    return flock(open_file(folder), LOCK_SH);
}

static long lease_file(const char *folder)
{
    return fcntl(open_file(folder), F_SETLEASE, F_RDLCK);
}

/* ---- signals and input through descriptors ---- */

static long own_file(const char *folder)
{
    return fcntl(open_file(folder), F_SETOWN, getppid());
}

static long own_file_as_thread(const char *folder)
{
    struct f_owner_ex owner = {F_OWNER_PID, getppid()};
    return fcntl(open_file(folder), F_SETOWN_EX, &owner);
}

static long choose_signal(const char *folder)
{
    return fcntl(open_file(folder), F_SETSIG, SIGKILL);
}

static long type_into_terminal(const char *folder)
{
    (void)folder;
    return ioctl(STDIN_FILENO, TIOCSTI, "x");
}

static long paste_into_console(const char *folder)
{
    char selection[16] = {2};
    (void)folder;
    return ioctl(STDIN_FILENO, TIOCLINUX, selection);
}

/* ---- System V objects of any program, found by their numbers --- */

#define SYSTEM_V(call)                                                                                       \
    static long use_##call(const char *folder)                                                               \
    {                                                                                                        \
        (void)folder;                                                                                        \
        return syscall(SYS_##call, -1, 0, NULL, 0, 0);                                                       \
    }
SYSTEM_V(msgget)
SYSTEM_V(msgsnd)
SYSTEM_V(msgrcv)
SYSTEM_V(msgctl)
SYSTEM_V(semget)
SYSTEM_V(semtimedop)
SYSTEM_V(semctl)
SYSTEM_V(shmget)
SYSTEM_V(shmat)
SYSTEM_V(shmctl)

static long add_filter(const char *folder)
{
    (void)folder;
    return syscall(SYS_seccomp, 0, 0, NULL) < 0 && errno != EPERM ? 0 : -1;
}

/* ---- what the program needs ---- */

static long read_own_limits(const char *folder)
{
    struct rlimit limit;
    (void)folder;
    return getrlimit(RLIMIT_NOFILE, &limit);
}

static long renice_thread(const char *folder)
{
    (void)folder;
    return setpriority(PRIO_PROCESS, 0, 19);
}

static long name_thread(const char *folder)
{
    (void)folder;
    return -pthread_setname_np(pthread_self(), "reader");
}

static long lock_spill(const char *folder)
{
    struct flock lock = {.l_type = F_WRLCK};
    const char *spills = getenv("TMPDIR");
    (void)folder;
    return fcntl(open(spills ? spills : "/var/tmp", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600), F_SETLK, &lock);
}

static long signal_itself(const char *folder)
{
    (void)folder;
    signal(SIGUSR1, SIG_IGN);
    return raise(SIGUSR1);
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
    return open(spills ? spills : "/var/tmp", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
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
    bool landlock; /* the attempt is refused only if the kernel has Landlock */
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
    {"limit a process", limit_parent, false, false},
    {"read the limits of a process", read_limits_of_parent, false, false},
    {"change the priority of a process", renice_parent, false, false},
    {"change the priority of a user", renice_user, false, false},
    {"pin a process to processors", pin_parent, false, false},
    {"choose the scheduler of a process", schedule_parent, false, false},
    {"choose the I/O priority of a process", prioritise_io_of_parent, false, false},
    {"set the times of an open file", set_times, false, false},
    {"touch an open file", touch, false, false},
    {"set the flags of an open file", set_flags, false, false},
    {"set the attributes of an open file", set_file_attributes, false, false},
    {"lock a whole file", lock_file, false, false},
    {"take a lease on a file", lease_file, false, false},
    {"direct a file's signals to a process", own_file, false, false},
    {"direct a file's signals to a thread", own_file_as_thread, false, false},
    {"choose a file's signal", choose_signal, false, false},
    {"type into a terminal", type_into_terminal, false, false},
    {"paste into a console", paste_into_console, false, false},
    {"call msgget", use_msgget, false, false},
    {"call msgsnd", use_msgsnd, false, false},
    {"call msgrcv", use_msgrcv, false, false},
    {"call msgctl", use_msgctl, false, false},
    {"call semget", use_semget, false, false},
    {"call semtimedop", use_semtimedop, false, false},
    {"call semctl", use_semctl, false, false},
    {"call shmget", use_shmget, false, false},
    {"call shmat", use_shmat, false, false},
    {"call shmctl", use_shmctl, false, false},
    {"add a filter", add_filter, false, false},
    {"read SOURCE", read_folder, true, false},
    {"read /proc", read_status, true, false},
    {"make a spill file", spill, true, false},
    {"start a thread", start_thread, true, false},
    {"read its own limits", read_own_limits, true, false},
    {"lower the priority of a thread", renice_thread, true, false},
    {"name a thread", name_thread, true, false},
    {"lock a part of a file", lock_spill, true, false},
    {"signal itself", signal_itself, true, false},
};

static void try_all(const char *folder, bool landlock)
{
    for (size_t i = 0; i < sizeof attempts / sizeof *attempts; i++) {
        errno = 0;
        bool done = attempts[i].attempt(folder) >= 0, denied = errno == EACCES || errno == EPERM;
        if (attempts[i].allowed)
            ok(done, "the sandbox allows to %s", attempts[i].what);
        else if (landlock || !attempts[i].landlock)
            ok(!done && denied, "the sandbox refuses to %s", attempts[i].what);
    }
}

/* Unknown calls must fail with ENOSYS, on which the C library falls back to older calls. */
static void test_newer_calls(void)
{
    static const int calls[] = {470, 500, 1000, 100000};
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++)
        ok(syscall(calls[i], 0, 0, 0) == -1 && errno == ENOSYS, "unknown system call %d returns ENOSYS",
           calls[i]);
    ok(syscall(SYS_clone3, NULL, 0) == -1 && errno == ENOSYS, "clone3 returns ENOSYS");
}

static bool is_kept(struct pf_cache *cache, uint64_t source)
{
    size_t size = 0;
    char *value = pf_cache_get(cache, source, PF_DATUM_EXCERPT, 0, &size, NULL);
    bool kept = value && size == 4 && !memcmp(value, "text", 4);
    free(value);
    return kept;
}

static void keep(struct pf_cache *cache, uint64_t source)
{
    struct pf_buf text = {0};
    pf_buf_str(&text, "text");
    pf_cache_put(cache, NULL, source, PF_DATUM_EXCERPT, 0, &text);
    pf_buf_free(&text);
}

static void test_cache(const char *folder)
{
    struct pf_cache *cache = pf_cache_new(folder);
    ok(is_kept(cache, 1), "the cache can be read in the sandbox");
    keep(cache, 2);
    ok(is_kept(cache, 2), "the cache can be written in the sandbox");
    pf_cache_prune(cache, 0, 0);
    ok(!is_kept(cache, 1), "the cache can be pruned in the sandbox");
    pf_cache_free(cache);
}

static struct pf_sandbox *enter(char *folder, const struct pf_fs_options *options)
{
    struct pf_error error = {0};
    struct pf_sandbox *sandbox = pf_sandbox_new(&folder, 1, options, &error);
    ok(sandbox && !pf_sandbox_enter(sandbox, &error), "the sandbox is entered");
    printf("# %s\n", sandbox ? pf_sandbox_text(sandbox) : error.what);
    return sandbox;
}

static bool has_seccomp(const struct pf_sandbox *sandbox)
{
    const char *text = pf_sandbox_text(sandbox);
    return strncmp(text, "none", 4) != 0 && !strstr(text, "no seccomp");
}

static void test_sandbox(char *folder, char *cache)
{
    struct pf_sandbox *sandbox = enter(folder, &(struct pf_fs_options){.cache_folder = cache});
    if (has_seccomp(sandbox)) {
        try_all(folder, !strstr(pf_sandbox_text(sandbox), "no Landlock"));
        test_newer_calls();
    }
    test_cache(cache);
    pf_sandbox_free(sandbox);
}

enum { NO_FILTER = 77 };

static void *call_as_x32(void *arg)
{
    syscall(0x40000000 | 39); /* getpid of the x32 ABI */
    return arg;
}

/* The whole process must be killed, because requests of a single killed thread would never be answered. */
static void test_other_architecture(char *folder, char *cache)
{
    pthread_t thread;
    (void)cache;
    struct pf_error error = {0};
    struct pf_sandbox *sandbox = pf_sandbox_new(&folder, 1, &(struct pf_fs_options){0}, &error);
    if (pf_sandbox_enter(sandbox, &error) || !has_seccomp(sandbox))
        _exit(NO_FILTER);
    if (!pthread_create(&thread, NULL, call_as_x32, NULL))
        pthread_join(thread, NULL);
    pf_sandbox_free(sandbox);
}

/* Simulates a kernel without Landlock. */
static void hide_landlock(void)
{
    scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ALLOW);
    seccomp_rule_add(filter, SCMP_ACT_ERRNO(ENOSYS), SCMP_SYS(landlock_create_ruleset), 0);
    if (seccomp_load(filter))
        abort();
    seccomp_release(filter);
}

static void test_root_without_landlock(char *folder, char *cache)
{
    (void)cache;
    hide_landlock();
    struct pf_sandbox *sandbox = enter(folder, &(struct pf_fs_options){0});
    if (has_seccomp(sandbox)) {
        const char *name = path_in(folder, "file");
        ok(strstr(pf_sandbox_text(sandbox), "no Landlock ("), "the sandbox reports that Landlock is missing");
        ok(open(name, O_WRONLY | O_CLOEXEC) < 0 && errno == EACCES,
           "without Landlock, root's mount cannot write root's files");
        ok(open(path_in(folder, "new"), O_WRONLY | O_CREAT | O_CLOEXEC, 0600) < 0 && errno == EACCES,
           "without Landlock, root's mount cannot create files in root's folders");
        ok(open(name, O_RDONLY | O_CLOEXEC) >= 0, "without Landlock, root's mount can read root's files");
        ok(syscall(SYS_setresuid, -1, 0, -1) && syscall(SYS_setreuid, -1, 0),
           "without Landlock, root's mount cannot become root again");
        ok(spill(folder) >= 0, "without Landlock, root's mount can create temporary files");
        ok(getuid() == 0, "without Landlock, the real user of root's mount is still root");
    }
    pf_sandbox_free(sandbox);
}

/* Runs a test in a child process, because the sandbox cannot be left. Returns the exit status. */
static int run_apart(void (*test)(char *folder, char *cache), char *folder, char *cache)
{
    int ends[2], status = -1, counts[2];
    if (pipe(ends))
        abort();
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        test(folder, cache);
        counts[0] = tap_count, counts[1] = tap_failed;
        fflush(stdout);
        _exit(write(ends[1], counts, sizeof counts) != sizeof counts);
    }
    close(ends[1]);
    if (read(ends[0], counts, sizeof counts) == sizeof counts)
        tap_count = counts[0], tap_failed = counts[1];
    close(ends[0]);
    waitpid(child, &status, 0);
    return status;
}

int main(void)
{
    char folder[64], cache[64];
    temp_dir_make(folder);
    temp_dir_make(cache);
    write_text(folder, "file", "text");
    chmod(path_in(folder, "file"), 0600);
    struct pf_cache *kept = pf_cache_new(cache);
    keep(kept, 1);
    pf_cache_free(kept);
    ok(run_apart(test_sandbox, folder, cache) == 0, "a process in the sandbox exits by itself");
#ifdef __x86_64__
    int status = run_apart(test_other_architecture, folder, cache);
    if (!WIFEXITED(status) || WEXITSTATUS(status) != NO_FILTER)
        ok(WIFSIGNALED(status) && WTERMSIG(status) == SIGSYS,
           "a system call of another architecture kills the whole process");
#endif
    /* A user namespace may not map the user that replaces root. */
    if (getuid() == 0 && !chown(cache, 65534, 65534))
        ok(run_apart(test_root_without_landlock, folder, cache) == 0,
           "root's process without Landlock exits by itself");
    temp_dir_remove(folder);
    temp_dir_remove(cache);
    return done();
}
