/* SPDX-License-Identifier: MIT */
#include "fs/fuse/sandbox.h"

#include <asm/termbits.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <seccomp.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "fs/cache/cache.h"
#include "fs/tree/vfs.h"

/* ---- Landlock: own definitions, since headers of the build machine may be older than the kernel --- */

enum {
    RULE_PATH_BENEATH = 1,
    ASK_VERSION = 1,
    ABI_REFER = 2,
    ABI_TRUNCATE = 3,
    ABI_NET = 4,
    ABI_IOCTL = 5,
    ABI_SCOPE = 6,
};

/* Access rights to files, with the kernel's bits. */
#define EXECUTE                   UINT64_C(0x0001)
#define WRITE_FILE                UINT64_C(0x0002)
#define READ_FILE                 UINT64_C(0x0004)
#define READ_DIR                  UINT64_C(0x0008)
#define REMOVE_DIR                UINT64_C(0x0010)
#define REMOVE_FILE               UINT64_C(0x0020)
#define MAKE_DIR                  UINT64_C(0x0080)
#define MAKE_REG                  UINT64_C(0x0100)
#define FIRST_RIGHTS              UINT64_C(0x1fff) /* all rights of Landlock's first version */
#define REFER                     UINT64_C(0x2000)
#define TRUNCATE                  UINT64_C(0x4000)
#define IOCTL_DEV                 UINT64_C(0x8000)
#define NET_BIND_AND_CONNECT      UINT64_C(3)
#define SCOPE_SOCKETS_AND_SIGNALS UINT64_C(3)

#define MAY_READ  (READ_FILE | READ_DIR)
#define MAY_WRITE (MAY_READ | WRITE_FILE | REMOVE_DIR | REMOVE_FILE | MAKE_DIR | MAKE_REG | REFER | TRUNCATE)
#define OF_A_FILE (EXECUTE | WRITE_FILE | READ_FILE | TRUNCATE | IOCTL_DEV)

struct ruleset {
    uint64_t files, net, scope;
};

struct path_rule {
    uint64_t rights;
    int32_t parent;
} __attribute__((packed));

struct pf_sandbox {
    int abi;         /* version of Landlock; 0: not supported */
    int rules;       /* descriptor of the ruleset, or -1 */
    uint64_t rights; /* access rights that the ruleset handles */
    const char *why; /* reason why Landlock is missing or incomplete */
    char text[200];
};

static uint64_t rights_of(int abi)
{
    return FIRST_RIGHTS | (abi >= ABI_REFER ? REFER : 0) | (abi >= ABI_TRUNCATE ? TRUNCATE : 0) |
           (abi >= ABI_IOCTL ? IOCTL_DEV : 0);
}

static void make_rules(struct pf_sandbox *sandbox)
{
    struct ruleset ruleset = {0};
    long abi = syscall(SYS_landlock_create_ruleset, NULL, 0, ASK_VERSION);
    if (abi > 0) {
        ruleset.files = sandbox->rights = rights_of((int)abi);
        ruleset.net = abi >= ABI_NET ? NET_BIND_AND_CONNECT : 0;
        ruleset.scope = abi >= ABI_SCOPE ? SCOPE_SOCKETS_AND_SIGNALS : 0;
        size_t size = abi >= ABI_SCOPE ? sizeof ruleset
                      : abi >= ABI_NET ? 2 * sizeof(uint64_t)
                                       : sizeof(uint64_t);
        sandbox->rules = (int)syscall(SYS_landlock_create_ruleset, &ruleset, size, 0);
    }
    sandbox->abi = sandbox->rules >= 0 ? (int)abi : 0;
    if (sandbox->rules < 0)
        sandbox->why = strerror(errno);
}

void pf_sandbox_free(struct pf_sandbox *sandbox)
{
    if (!sandbox)
        return;
    if (sandbox->rules >= 0)
        close(sandbox->rules);
    free(sandbox);
}

/* Allows rights below a path. No-op if the path is NULL or does not exist. */
static void allow(struct pf_sandbox *sandbox, const char *path, uint64_t rights)
{
    struct stat st;
    int fd = path && sandbox->abi ? open(path, O_PATH | O_CLOEXEC) : -1;
    if (fd < 0)
        return;
    struct path_rule rule = {.rights = sandbox->rights & rights, .parent = fd};
    if (!fstat(fd, &st) && !S_ISDIR(st.st_mode))
        rule.rights &= OF_A_FILE;
    if (syscall(SYS_landlock_add_rule, sandbox->rules, RULE_PATH_BENEATH, &rule, 0))
        sandbox->why = strerror(errno); /* a missing rule only denies access */
    close(fd);
}

/* ---- paths ------------------------------------------------------------------------------------------- */

/*
 * Allows writing a subfolder of $TMPDIR or /var/tmp that only this user can access, and sets $TMPDIR to it. A rule for all of
 * /var/tmp would allow the files of other users. The subfolder is kept for later mounts; it is not used if other users can access
 * it.
 */
static void choose_spill_folder(struct pf_sandbox *sandbox)
{
    const char *above = getenv("TMPDIR");
    char *path;
    if (!sandbox->abi)
        return;
    if (asprintf(&path, "%s/profilefs-%u", above && *above == '/' ? above : "/var/tmp", (unsigned)geteuid()) <
        0)
        return;
    if (pf_cache_is_private(path)) {
        setenv("TMPDIR", path, 1);
        allow(sandbox, path, MAY_WRITE);
    }
    free(path);
}

static void allow_source(struct pf_sandbox *sandbox, const char *source)
{
    struct stat st;
    char *path = realpath(source, NULL);
    if (path && !stat(path, &st) && !S_ISDIR(st.st_mode)) {
        char *slash = strrchr(path, '/');
        slash[slash == path] = 0;
    }
    allow(sandbox, path, MAY_READ);
    free(path);
}

struct pf_sandbox *pf_sandbox_new(char *const *sources, size_t n, const struct pf_fs_options *options,
                                  struct pf_error *error)
{
    struct pf_sandbox *sandbox = calloc(1, sizeof *sandbox);
    if (!sandbox) {
        pf_fail_memory(error);
        return NULL;
    }
    sandbox->rules = -1;
    make_rules(sandbox);
    for (size_t i = 0; i < n; i++)
        allow_source(sandbox, sources[i]);
    allow(sandbox, "/proc", MAY_READ);
    if (options->cache_folder)
        pf_cache_make_folder(options->cache_folder);
    allow(sandbox, options->cache_folder, MAY_WRITE);
    allow(sandbox, options->profile.instr_map, MAY_READ);
    choose_spill_folder(sandbox);
    return sandbox;
}

/* ---- system calls ----------------------------------------------------------------------------------- */

/* System calls that are allowed with any arguments. An item is negative if the architecture does not have the call. */
static const int allowed[] = {
    /* access to files by name; Landlock restricts it to allowed files */
    SCMP_SYS(openat),
    SCMP_SYS(openat2),
    SCMP_SYS(newfstatat),
    SCMP_SYS(statx),
    SCMP_SYS(statfs),
    SCMP_SYS(access),
    SCMP_SYS(faccessat),
    SCMP_SYS(faccessat2),
    SCMP_SYS(readlink),
    SCMP_SYS(readlinkat),
    SCMP_SYS(getxattr),
    SCMP_SYS(lgetxattr),
    SCMP_SYS(getcwd),
    SCMP_SYS(mkdir),
    SCMP_SYS(mkdirat),
    SCMP_SYS(rename),
    SCMP_SYS(renameat),
    SCMP_SYS(renameat2),
    SCMP_SYS(unlink),
    SCMP_SYS(unlinkat),
    /* open files */
    SCMP_SYS(read),
    SCMP_SYS(pread64),
    SCMP_SYS(write),
    SCMP_SYS(writev),
    SCMP_SYS(pwrite64),
    SCMP_SYS(lseek),
    SCMP_SYS(fstat),
    SCMP_SYS(fstatfs),
    SCMP_SYS(getdents64),
    SCMP_SYS(ftruncate),
    SCMP_SYS(fallocate),
    SCMP_SYS(fsync),
    SCMP_SYS(fdatasync),
    SCMP_SYS(dup),
    SCMP_SYS(dup2),
    SCMP_SYS(dup3),
    SCMP_SYS(close),
    SCMP_SYS(close_range),
    SCMP_SYS(pipe2),
    SCMP_SYS(splice),
    SCMP_SYS(vmsplice),
    SCMP_SYS(poll),
    SCMP_SYS(ppoll),
    /* memory */
    SCMP_SYS(brk),
    SCMP_SYS(mmap),
    SCMP_SYS(mprotect),
    SCMP_SYS(mremap),
    SCMP_SYS(munmap),
    SCMP_SYS(madvise),
    /* threads */
    SCMP_SYS(set_robust_list),
    SCMP_SYS(rseq),
    SCMP_SYS(futex),
    SCMP_SYS(sched_yield),
    SCMP_SYS(restart_syscall),
    SCMP_SYS(exit),
    SCMP_SYS(exit_group),
    SCMP_SYS(wait4),
    /* signals */
    SCMP_SYS(rt_sigaction),
    SCMP_SYS(rt_sigprocmask),
    SCMP_SYS(rt_sigreturn),
    /* time, identity, the system */
    SCMP_SYS(clock_gettime),
    SCMP_SYS(clock_nanosleep),
    SCMP_SYS(nanosleep),
    SCMP_SYS(gettimeofday),
    SCMP_SYS(time),
    SCMP_SYS(getpid),
    SCMP_SYS(gettid),
    SCMP_SYS(getuid),
    SCMP_SYS(geteuid),
    SCMP_SYS(getgid),
    SCMP_SYS(getegid),
    SCMP_SYS(getrandom),
    SCMP_SYS(sysinfo),
    /* installs the second filter, which denies this call */
    SCMP_SYS(seccomp),
};

/* Compares only the lower half of an argument of type int, since the kernel ignores the upper half. */
static struct scmp_arg_cmp equals(unsigned argument, uint32_t value)
{
    return (struct scmp_arg_cmp){argument, SCMP_CMP_MASKED_EQ, UINT32_MAX, value};
}

#ifdef __s390x__
enum { CLONE_FLAGS = 1 };
#else
enum { CLONE_FLAGS = 0 };
#endif

/* Allows some calls only with certain values of their arguments. Returns 0, or a negative errno value. */
static int allow_some(scmp_filter_ctx filter)
{
    const struct {
        int call;
        struct scmp_arg_cmp arguments[2];
    } some[] = {
        {SCMP_SYS(clone), {{CLONE_FLAGS, SCMP_CMP_MASKED_EQ, CLONE_THREAD, CLONE_THREAD}}},
        {SCMP_SYS(setpriority), {equals(0, PRIO_PROCESS), equals(1, 0)}}, /* of the calling thread */
        {SCMP_SYS(sched_getaffinity), {equals(0, 0)}},
        {SCMP_SYS(prlimit64), {equals(0, 0), {2, SCMP_CMP_EQ, 0, 0}}}, /* reads own limits, sets none */
        {SCMP_SYS(tgkill), {equals(0, (uint32_t)getpid())}},
        {SCMP_SYS(prctl), {equals(0, PR_SET_NAME)}}, /* of the calling thread: libfuse 3.18 */
        {SCMP_SYS(fcntl), {equals(1, F_DUPFD_CLOEXEC)}},
        {SCMP_SYS(fcntl), {equals(1, F_GETFD)}},
        {SCMP_SYS(fcntl), {equals(1, F_SETFD)}},
        {SCMP_SYS(fcntl), {equals(1, F_GETFL)}},
        {SCMP_SYS(fcntl), {equals(1, F_GETLK)}},
        {SCMP_SYS(fcntl), {equals(1, F_SETLK)}},
        {SCMP_SYS(fcntl), {equals(1, F_SETPIPE_SZ)}},
        {SCMP_SYS(ioctl), {equals(1, TCGETS)}}, /* isatty */
#ifdef TCGETS2
        {SCMP_SYS(ioctl), {equals(1, TCGETS2)}},
#endif
    };
    int result = 0;
    for (size_t i = 0; i < sizeof some / sizeof *some && !result; i++)
        result = seccomp_rule_add_array(filter, SCMP_ACT_ALLOW, some[i].call, some[i].arguments[1].op ? 2 : 1,
                                        some[i].arguments);
    return result;
}

static int add_rules(scmp_filter_ctx filter)
{
    int result = allow_some(filter);
    for (size_t i = 0; i < sizeof allowed / sizeof *allowed && !result; i++)
        if (allowed[i] >= 0)
            result = seccomp_rule_add(filter, SCMP_ACT_ALLOW, allowed[i], 0);
    /* The flags of clone3 are in memory, where no filter sees them. The C library falls back to clone. */
    return result ? result : seccomp_rule_add(filter, SCMP_ACT_ERRNO(ENOSYS), SCMP_SYS(clone3), 0);
}

/*
 * Number of file_setattr, the newest call of Linux 6.17; the lists above do not consider newer calls. From pidfd_send_signal (424) on,
 * all architectures give calls the same numbers, except that MIPS adds an offset.
 */
#define NEWEST_CALL (SCMP_SYS(pidfd_send_signal) + 469 - 424)

/*
 * Adds a second filter, since libseccomp has no ranges of numbers. It makes calls after NEWEST_CALL fail with ENOSYS, so that the C
 * library falls back to older calls. If both filters fail a call, the errno of the second filter wins. The second filter also denies
 * seccomp, so that no third filter can be added.
 */
static int deny_newer_calls(void)
{
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JGT | BPF_K, NEWEST_CALL, 2, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SCMP_SYS(seccomp), 2, 0),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
    };
    const struct sock_fprog program = {sizeof code / sizeof *code, code};
    return syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) ? -errno : 0;
}

/* Installs both filters. Returns 0, or a negative errno value. */
static int filter_calls(void)
{
    scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ERRNO(EPERM));
    if (!filter)
        return -ENOMEM;
    seccomp_attr_set(filter, SCMP_FLTATR_CTL_OPTIMIZE, 2); /* a tree: faster than a list */
    seccomp_attr_set(filter, SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_KILL_PROCESS);
    int result = add_rules(filter);
    if (!result)
        result = seccomp_load(filter);
    seccomp_release(filter);
    return result ? result : deny_newer_calls();
}

/* ---- privileges ------------------------------------------------------------------------------------- */

enum { NOBODY = 65534 };

/* The state of each layer of the sandbox. */
struct layers {
    int landlock, seccomp; /* 0: active; otherwise an errno value */
    uid_t user;            /* user that accesses files instead of root; 0: unchanged */
    bool reads_all;        /* CAP_DAC_READ_SEARCH is kept */
};

/*
 * Changes the effective and saved user from root to a user that owns no files: without Landlock, root could write root's files even
 * without capabilities. The real user stays the mounter, who owns the generated files. Only seccomp prevents a return to root, so this
 * function is a no-op on a kernel without seccomp. It is also a no-op in a user namespace that lacks the other user, since root of
 * such a namespace is an ordinary user outside. Returns 0, or -1 with errno.
 */
static int stop_being_root(struct layers *layers)
{
    if (geteuid() != 0 || prctl(PR_GET_SECCOMP, 0, 0, 0, 0) < 0)
        return 0;
    if (setresgid((gid_t)-1, NOBODY, NOBODY) || setgroups(0, NULL) || setresuid((uid_t)-1, NOBODY, NOBODY))
        return errno == EINVAL ? 0 : -1;
    layers->user = NOBODY;
    return 0;
}

/* Drops all capabilities except CAP_DAC_READ_SEARCH, if the mounter has it. Returns 0, or -1 with errno. */
static int drop_privileges(const struct pf_sandbox *sandbox, struct layers *layers)
{
    struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3] = {{0}},
                                  less[_LINUX_CAPABILITY_U32S_3] = {{0}};
    if (syscall(SYS_capget, &head, data))
        return -1;
    prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
    for (int cap = 0; prctl(PR_CAPBSET_READ, cap, 0, 0, 0) >= 0; cap++)
        if (cap != CAP_DAC_READ_SEARCH)
            prctl(PR_CAPBSET_DROP, cap, 0, 0,
                  0); /* best effort: the bounding set matters only to execve, which seccomp denies */
    if ((!sandbox->abi || layers->landlock) && stop_being_root(layers))
        return -1;
    less[0].effective = less[0].permitted = data[0].permitted & CAP_TO_MASK(CAP_DAC_READ_SEARCH);
    layers->reads_all = less[0].effective != 0;
    return (int)syscall(SYS_capset, &head, less);
}

/* ---- entering --------------------------------------------------------------------------------------- */

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define HAS_SANITIZER 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) || __has_feature(memory_sanitizer)
#define HAS_SANITIZER 1
#endif
#endif

static void describe_sandbox(struct pf_sandbox *sandbox, const struct layers *layers)
{
    char first[64], user[32] = "";
    int seccomp = layers->seccomp;
    if (sandbox->abi && !layers->landlock)
        snprintf(first, sizeof first, "Landlock %d", sandbox->abi);
    else
        snprintf(first, sizeof first, "no Landlock (%s)",
                 sandbox->why ? sandbox->why : strerror(layers->landlock));
    if (layers->user)
        snprintf(user, sizeof user, "user %u instead of root, ", (unsigned)layers->user);
    snprintf(sandbox->text, sizeof sandbox->text, "%s, %s%s%s%s, no new privileges, %s", first, user,
             seccomp ? "no seccomp (" : "seccomp", seccomp ? strerror(seccomp) : "", seccomp ? ")" : "",
             layers->reads_all ? "no capability except DAC_READ_SEARCH" : "no capabilities");
}

int pf_sandbox_enter(struct pf_sandbox *sandbox, struct pf_error *error)
{
#ifdef HAS_SANITIZER
    (void)error, (void)drop_privileges, (void)filter_calls, (void)describe_sandbox;
    strcpy(sandbox->text, "none (built with a sanitizer, which must write reports)");
    return 0;
#else
    struct layers layers = {0};
    /* Load libgcc_s before the sandbox denies it. The C library needs it to cancel a thread, as libfuse does at shutdown. */
    dlopen("libgcc_s.so.1", RTLD_NOW);
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
        return pf_fail(error, errno, "cannot set no_new_privs: %s", strerror(errno));
    if (sandbox->abi && syscall(SYS_landlock_restrict_self, sandbox->rules, 0))
        layers.landlock = errno;
    if (drop_privileges(sandbox, &layers))
        return pf_fail(error, errno, "cannot drop privileges: %s", strerror(errno));
    layers.seccomp = -filter_calls();
    if (layers.seccomp == ENOMEM)
        return pf_fail_memory(error);
    describe_sandbox(sandbox, &layers);
    return 0;
#endif
}

const char *pf_sandbox_text(const struct pf_sandbox *sandbox)
{
    return sandbox->text;
}
