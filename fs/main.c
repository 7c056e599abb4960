/* SPDX-License-Identifier: MIT */
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <fuse_lowlevel.h>
#include <malloc.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fs/cli/commands.h"
#include "fs/control/control.h"
#include "fs/exit.h"
#include "fs/fuse/mount.h"
#include "fs/cache/cache.h"
#include "fs/runs/runs.h"
#include "fs/tree/mounts.h"
#include "fs/version.h"

enum {
    CACHE_DEFAULT = 32 << 20,
    UNPACKED_DEFAULT = 1 << 30,
    CACHE_LIMIT_DEFAULT = 1 << 30,
    PASS_THREADS_MIN = 2
};

/* Parsed options. libfuse's parser allocates the strings; free_settings frees them. */
struct settings {
    char *metric, *instr_map, *cache, *cache_dir, *cache_limit;
    char *db_folder; /* owned */
    int only_profiles, no_archives, no_runs, others;
    int foreground, debug, single_thread;
    int help, version;
    char *source, *mountpoint;
};

#define SETTING(text, field, value)                                                                          \
    {                                                                                                        \
        text, offsetof(struct settings, field), value                                                        \
    }

enum { KEEP_ALLOW_OTHER };

static const struct fuse_opt option_table[] = {
    SETTING("metric=%s", metric, 0),
    SETTING("instr_map=%s", instr_map, 0),
    SETTING("cache=%s", cache, 0),
    SETTING("cache_dir=%s", cache_dir, 0),
    SETTING("cache_limit=%s", cache_limit, 0),
    SETTING("only_profiles", only_profiles, 1),
    SETTING("no_archives", no_archives, 1),
    SETTING("no_runs", no_runs, 1),
    SETTING("-f", foreground, 1),
    SETTING("-d", debug, 1),
    SETTING("debug", debug, 1),
    SETTING("-s", single_thread, 1),
    SETTING("-h", help, 1),
    SETTING("--help", help, 1),
    SETTING("-V", version, 1),
    SETTING("--version", version, 1),
    FUSE_OPT_KEY("allow_other", KEEP_ALLOW_OTHER),
    FUSE_OPT_END,
};

/*
 * Ignored options of mount(8) and fstab: they have no effect on a mount that is always ro,nosuid,nodev. Prefixes end in '=' or '-'.
 */
static const char *const ignored_options[] = {
    "defaults", "auto",       "noauto",      "user",          "user=",      "nouser",     "users",
    "nousers",  "owner",      "noowner",     "group",         "nogroup",    "nofail",     "_netdev",
    "rw",       "suid",       "nosuid",      "dev",           "nodev",      "sync",       "async",
    "dirsync",  "atime",      "noatime",     "diratime",      "nodiratime", "relatime",   "norelatime",
    "lazytime", "nolazytime", "strictatime", "nostrictatime", "iversion",   "noiversion", "mand",
    "nomand",   "silent",     "loud",        "symfollow",     "comment=",   "helper=",    "uhelper=",
    "x-",       "X-",         NULL};

/* Options that are passed on to libfuse and the kernel. */
static const char *const fuse_options[] = {
    "ro",          "exec",         "noexec",  "allow_root", "auto_unmount", "default_permissions",
    "max_read=",   "blksize=",     "fsname=", "subtype=",   "context=",     "fscontext=",
    "defcontext=", "rootcontext=", NULL};

static bool word_is_among(const char *const *options, const char *option)
{
    for (; *options; options++) {
        size_t size = strlen(*options);
        bool prefix = strchr("=-", (*options)[size - 1]) != NULL;
        if (prefix ? !strncmp(option, *options, size) : !strcmp(option, *options))
            return true;
    }
    return false;
}

/* Prints libfuse's messages in this program's form, and its debug output unchanged. */
static void log_fuse(enum fuse_log_level level, const char *format, va_list arguments)
{
    char text[512];
    const char *message = text;
    if (level >= FUSE_LOG_DEBUG) {
        vfprintf(stderr, format, arguments);
        return;
    }
    int size = vsnprintf(text, sizeof text, format, arguments);
    if (!strncmp(text, "fuse: ", strlen("fuse: ")))
        message += strlen("fuse: ");
    bool ended = size > 0 && strchr(text, '\n');
    fprintf(stderr, "profilefs: %s%s", message, ended ? "" : "\n");
}

/* Suggests a command if the word is not a file and has the command's first two letters. Returns true after a message. */
static bool suggest_command(const char *word)
{
    const struct pf_command *command = pf_commands;
    if (!word || !access(word, F_OK))
        return false;
    while (command->name && strncmp(command->name, word, 2) != 0)
        command++;
    if (command->name)
        fprintf(stderr, "profilefs: %s: not a file or command; did you mean '%s'?\n", word, command->name);
    return command->name != NULL;
}

static int take_argument(void *data, const char *arg, int key, struct fuse_args *out)
{
    struct settings *settings = data;
    (void)out;
    if (key == KEEP_ALLOW_OTHER)
        return settings->others = 1;
    if (key == FUSE_OPT_KEY_OPT && word_is_among(fuse_options, arg))
        return 1; /* passed on to libfuse */
    if (key == FUSE_OPT_KEY_OPT && word_is_among(ignored_options, arg))
        return 0;
    if (key == FUSE_OPT_KEY_OPT) {
        fprintf(stderr, "profilefs: %s: unknown option; see profilefs --help\n", arg);
        return -1;
    }
    char **operand = !settings->source       ? &settings->source
                     : !settings->mountpoint ? &settings->mountpoint
                                             : NULL;
    if (!operand) {
        fprintf(stderr, "profilefs: %s: too many arguments\n", arg);
        return -1;
    }
    *operand = strdup(arg);
    return *operand ? 0 : -1;
}

static const char exit_statuses[] = "  0  success\n"
                                    "  1  a problem in the data\n"
                                    "  2  invalid usage\n"
                                    "  3  a system error\n";

static void print_help(FILE *out)
{
    fputs("Usage: profilefs [OPTIONS] SOURCE MOUNTPOINT     mount SOURCE, a directory of profiles or one "
          "profile\n"
          "       profilefs [-o OPTIONS] COMMAND ...        without mounting:\n",
          out);
    for (const struct pf_command *command = pf_commands; command->name; command++)
        fprintf(out, "           %-8s %-22s %s\n", command->name, command->usage, command->summary);
    fputs("\n"
          "Options:\n"
          "  -o metric=NAME      the primary metric (default: time)\n"
          "  -o instr_map=FILE   function names for XRay logs: the traced program, or its map in YAML\n"
          "  -o cache=SIZE       memory for blocks and aggregates before they spill to disk, e.g. 64M\n"
          "                      (default: 32M), and for unpacked files, on disk too (default: 1G)\n"
          "  -o cache_dir=DIR    cache directory (default: $XDG_CACHE_HOME/profilefs)\n"
          "  -o cache_limit=SIZE maximum size of the cache (default: 1G)\n"
          "  -o only_profiles    hide files that are not profiles\n"
          "  -o no_archives      show tar and zip archives as files\n"
          "  -o no_runs          no runs/ in folders of several profiles\n"
          "  -f -d -s            foreground; debug output; a single thread for passes\n"
          "  -h --help           this help\n"
          "  -V --version        version\n"
          "  other -o options are passed to FUSE (allow_other, ...); unmount: fusermount3 -u MOUNTPOINT\n",
          out);
}

/* Parses a size like "64M" into bytes. Returns false if it is invalid. */
static bool parse_size(const char *text, uint64_t *size)
{
    char *end;
    errno = 0;
    unsigned long long value = strtoull(text, &end, 10);
    const char *units = "KMGT", *unit = isalpha((unsigned char)*end) ? strchr(units, *end & ~0x20) : NULL;
    if (errno || !isdigit((unsigned char)*text) || (*end && (!unit || end[1])))
        return false;
    unsigned shift = unit ? 10 * (unsigned)(unit - units + 1) : 0;
    *size = value << shift;
    return *size >> shift == value;
}

/* Returns $XDG_CACHE_HOME/profilefs or ~/.cache/profilefs, owned by the caller; NULL without a home. */
static char *default_cache(void)
{
    const char *base = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    char *path = NULL;
    int n = -1;
    if (base && *base == '/')
        n = asprintf(&path, "%s/profilefs", base);
    else if (home && *home == '/')
        n = asprintf(&path, "%s/.cache/profilefs", home);
    return n < 0 ? NULL : path;
}

/* Makes an option's path absolute, since the server changes its working directory. Returns 0, or -1 after a message. */
static int make_absolute(const char *option, char **given)
{
    char *folder = **given == '/' ? NULL : getcwd(NULL, 0), *path = NULL;
    if (**given == '/')
        return 0;
    if (!folder || asprintf(&path, "%s/%s", folder, *given) < 0) {
        free(folder);
        fprintf(stderr, "profilefs: %s=%s: %s\n", option, *given, strerror(errno));
        return -1;
    }
    free(folder);
    free(*given);
    *given = path;
    return 0;
}

/* Determines the cache folder and the maximum size of the cache. */
static int resolve_cache(struct settings *settings, struct pf_fs_options *options)
{
    options->cache_limit = CACHE_LIMIT_DEFAULT;
    if (settings->cache_limit && !parse_size(settings->cache_limit, &options->cache_limit)) {
        fprintf(stderr, "profilefs: cache_limit=%s: invalid size\n", settings->cache_limit);
        return -1;
    }
    if (settings->cache_dir && make_absolute("cache_dir", &settings->cache_dir))
        return -1;
    if (!settings->cache_dir)
        settings->cache_dir = default_cache();
    settings->db_folder = pf_cache_location(settings->cache_dir);
    options->cache_folder = settings->db_folder;
    return 0;
}

static int resolve_map(struct settings *settings)
{
    if (!settings->instr_map)
        return 0;
    if (!access(settings->instr_map, R_OK))
        return make_absolute("instr_map", &settings->instr_map);
    fprintf(stderr, "profilefs: instr_map=%s: %s\n", settings->instr_map, strerror(errno));
    return -1;
}

/* Refuses options whose value is missing, as in `-o metric=`. */
static int refuse_empty(const struct settings *settings)
{
    const struct {
        const char *name, *value;
    } given[] = {{"metric", settings->metric},
                 {"instr_map", settings->instr_map},
                 {"cache", settings->cache},
                 {"cache_dir", settings->cache_dir},
                 {"cache_limit", settings->cache_limit}};
    for (size_t i = 0; i < sizeof given / sizeof *given; i++)
        if (given[i].value && !*given[i].value) {
            fprintf(stderr, "profilefs: %s=: value is missing\n", given[i].name);
            return -1;
        }
    return 0;
}

/* The virtual folders. */
static const struct pf_virtual *const with_runs[] = {&pf_control, &pf_runs, NULL};
static const struct pf_virtual *const without_runs[] = {&pf_control, NULL};

static int options_of(struct settings *settings, struct pf_fs_options *options)
{
    long processors = sysconf(_SC_NPROCESSORS_ONLN);
    if (refuse_empty(settings) || resolve_map(settings))
        return -1;
    *options = (struct pf_fs_options){
        .profile = {.metric = settings->metric, .instr_map = settings->instr_map, .cache = CACHE_DEFAULT},
        .only_profiles = settings->only_profiles,
        .virtuals = settings->no_runs ? without_runs : with_runs,
        .others = settings->others,
        .no_archives = settings->no_archives,
        .unpacked = UNPACKED_DEFAULT,
        .pass_threads = PASS_THREADS_MIN};
    if (settings->single_thread)
        options->pass_threads = 1;
    else if (processors > PASS_THREADS_MIN)
        options->pass_threads = processors > 16 ? 16 : (unsigned)processors;
    if (settings->cache && !parse_size(settings->cache, &options->profile.cache)) {
        fprintf(stderr, "profilefs: cache=%s: invalid size\n", settings->cache);
        return -1;
    }
    if (settings->cache)
        options->unpacked = options->profile.cache;
    return resolve_cache(settings, options);
}

static void free_settings(struct settings *settings)
{
    char *owned[] = {settings->metric,      settings->instr_map, settings->cache,  settings->cache_dir,
                     settings->cache_limit, settings->db_folder, settings->source, settings->mountpoint};
    for (size_t i = 0; i < sizeof owned / sizeof *owned; i++)
        free(owned[i]);
}

static const struct pf_command *command_of(const char *word)
{
    for (const struct pf_command *command = pf_commands; command->name; command++)
        if (!strcmp(command->name, word))
            return command;
    return NULL;
}

/* Returns the index in argv of COMMAND in `profilefs [-o OPTIONS] COMMAND ARGUMENT...`; 0 without a command. */
static int command_at(int argc, char **argv)
{
    int i = 1;
    while (i + 1 < argc && !strncmp(argv[i], "-o", 2))
        i += argv[i][2] ? 1 : 2;
    return i < argc && command_of(argv[i]) ? i : 0;
}

/* Moves `-o OPTIONS` from after the command's word to before it. Returns the word's new index. */
static int options_first(int argc, char **argv, int at)
{
    for (int i = at + 1; i < argc && strcmp(argv[i], "--") != 0; i++) {
        int words = strncmp(argv[i], "-o", 2) != 0 ? 0 : argv[i][2] ? 1 : 2;
        if (i + words > argc)
            break;
        for (int w = 0; w < words; w++, at++) {
            char *word = argv[i + w];
            memmove(argv + at + 1, argv + at, (size_t)(i + w - at) * sizeof *argv);
            argv[at] = word;
        }
        i += words ? words - 1 : 0;
    }
    return at;
}

static void print_usage(FILE *out, const struct pf_command *command)
{
    fprintf(out, "Usage: profilefs [-o OPTIONS] %s %s\n%s\n\nOptions:\n%s", command->name, command->usage,
            command->summary, command->options ? command->options : "");
    fprintf(out,
            "  -o OPTIONS            as for a mount: metric=NAME, cache=SIZE, ...; see profilefs --help\n"
            "  -h --help             this help\n"
            "\nExit status:\n%s%s",
            exit_statuses, command->statuses ? command->statuses : "");
}

/* Checks the options of a command. Returns PF_EXIT_OK to run it, PF_EXIT_USAGE after a message, -1 after printing help. */
static int look_at_flags(const struct pf_command *command, int argc, char **argv)
{
    for (int i = 0; i < argc && strcmp(argv[i], "--") != 0; i++) {
        size_t size = strcspn(argv[i], "=");
        char *flag = argv[i];
        if (!strcmp(flag, "--help") || !strcmp(flag, "-h")) {
            print_usage(stdout, command);
            return -1;
        }
        const char *listed = *flag == '-' && size > 1 ? strstr(command->usage, "[--") : flag;
        while (listed && listed != flag &&
               (strncmp(listed + 1, flag, size) != 0 || !strchr(" ]", listed[1 + size])))
            listed = strstr(listed + 1, "[--");
        if (!listed) {
            fprintf(stderr, "profilefs: %s: unknown option; see profilefs %s --help\n", flag, command->name);
            return PF_EXIT_USAGE;
        }
    }
    return PF_EXIT_OK;
}

static int run_command(int argc, char **argv, int at)
{
    at = options_first(argc, argv, at);
    int seen = look_at_flags(command_of(argv[at]), argc - at - 1, argv + at + 1);
    if (seen)
        return seen < 0 ? PF_EXIT_OK : seen;
    struct settings settings = {0};
    struct pf_fs_options options;
    struct fuse_args args = FUSE_ARGS_INIT(at, argv);
    int status = PF_EXIT_USAGE;
    if (!fuse_opt_parse(&args, &settings, option_table, take_argument) && !options_of(&settings, &options))
        status = command_of(argv[at])->run(&options, argc - at - 1, argv + at + 1);
    fuse_opt_free_args(&args);
    free_settings(&settings);
    return status;
}

static int add_mount_options(struct fuse_args *args, const struct settings *settings)
{
    static const char key[] = "-ofsname=";
    char *name = malloc(sizeof key + 2 * strlen(settings->source)), *to = name;
    if (!name)
        return -1;
    to = stpcpy(to, key);
    /* An unescaped comma would end the option. */
    for (const char *from = settings->source; *from; *to++ = *from++)
        if (*from == ',' || *from == '\\')
            *to++ = '\\';
    *to = '\0';
    int result = fuse_opt_add_arg(args, "-oro,nosuid,nodev,default_permissions,subtype=profilefs") ||
                 fuse_opt_add_arg(args, name);
    if (!result && settings->debug)
        result = fuse_opt_add_arg(args, "-d");
    free(name);
    return result;
}

/* Makes an argument's path absolute and resolves links: the server changes its working directory, and unmounts by this path. */
static int resolve(char **path)
{
    char *resolved = realpath(*path, NULL);
    if (!resolved) {
        fprintf(stderr, "profilefs: %s: %s\n", *path, strerror(errno));
        return -1;
    }
    free(*path);
    *path = resolved;
    return 0;
}

static int resolve_mountpoint(struct settings *settings)
{
    struct stat st;
    if (pf_clear_dead_mount(settings->mountpoint) || resolve(&settings->mountpoint))
        return -1;
    if (stat(settings->mountpoint, &st) || !S_ISDIR(st.st_mode)) {
        fprintf(stderr, "profilefs: %s: %s\n", settings->mountpoint, strerror(errno ? errno : ENOTDIR));
        return -1;
    }
    bool root = false;
    char *source = pf_path_in_source(settings->mountpoint, &root);
    if (source && root)
        fprintf(stderr, "profilefs: %s: %s is already mounted here\n", settings->mountpoint, source);
    free(source);
    return source && root ? -1 : 0;
}

/* Checks that /dev/fuse can be opened. Returns 0, or -1 after a message. */
static int try_fuse(void)
{
    int fd = open("/dev/fuse", O_RDWR | O_CLOEXEC);
    if (fd < 0)
        fprintf(
            stderr,
            "profilefs: failed to open /dev/fuse: %s; `profilefs tree` and `profilefs cat` need no mount\n",
            strerror(errno));
    else
        close(fd);
    return fd < 0 ? -1 : 0;
}

static int run_mount(struct settings *settings, struct fuse_args *args)
{
    struct pf_mount_options options = {.foreground = settings->foreground || settings->debug};
    if (settings->help || settings->version) {
        if (settings->help)
            print_help(stdout);
        else
            printf("profilefs %s (FUSE library %s)\n", PF_VERSION, fuse_pkgversion());
        return PF_EXIT_OK;
    }
    if (suggest_command(settings->source))
        return PF_EXIT_USAGE;
    if (!settings->source) {
        print_help(stderr);
        return PF_EXIT_USAGE;
    }
    if (!settings->mountpoint) {
        fprintf(stderr, "profilefs: MOUNTPOINT is missing; see profilefs --help\n");
        return PF_EXIT_USAGE;
    }
    if (options_of(settings, &options.fs))
        return PF_EXIT_USAGE;
    /* The mount table shows an absolute SOURCE with links unresolved, since mount(8) compares SOURCE with fstab. */
    if ((*settings->source != '/' && resolve(&settings->source)) || add_mount_options(args, settings) ||
        resolve(&settings->source) || resolve_mountpoint(settings) || try_fuse())
        return PF_EXIT_SYSTEM;
    options.source = settings->source;
    options.mountpoint = settings->mountpoint;
    return pf_mount(&options, args);
}

/*
 * Parameters of malloc. Arrays of at least MAPPED_BYTES are mapped: they grow by mremap instead of copying, and freeing them returns the
 * memory to the system. Smaller blocks stay in the heap: probing a file takes some MB for a short time, and returning that memory each
 * time costs as much as probing.
 */
enum { MAPPED_BYTES = 1 << 20, SPARE_BYTES = 4 << 20, STEP_BYTES = 1 << 20, ARENAS = 4 };

int main(int argc, char **argv)
{
    mallopt(M_MMAP_THRESHOLD, MAPPED_BYTES);
    mallopt(M_TRIM_THRESHOLD, SPARE_BYTES);
    mallopt(M_ARENA_MAX, ARENAS);
    mallopt(M_TOP_PAD, STEP_BYTES);
    fuse_set_log_func(log_fuse);
    int at = command_at(argc, argv);
    if (at)
        return run_command(argc, argv, at);
    struct settings settings = {0};
    struct fuse_args args = FUSE_ARGS_INIT(argc, argv);
    int status = PF_EXIT_USAGE;
    if (!fuse_opt_parse(&args, &settings, option_table, take_argument))
        status = run_mount(&settings, &args);
    fuse_opt_free_args(&args);
    free_settings(&settings);
    return status;
}
