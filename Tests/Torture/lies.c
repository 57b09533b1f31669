/* System calls that tell lies, preloaded: what servers of network file systems and lost replies make of them.
 *
 * LIES is a list such as "renameat=ENOENT*3 flock=0": every third renameat is made and says ENOENT all the same, and no
 * flock is made and each says that it was. "renameat2!EINVAL" is not made and says EINVAL. Counts are per process.
 * "unlinkat~1000" takes a thousand microseconds longer and tells the truth. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct lie {
    int code;
    int made;
    unsigned every;
};

static const struct {
    const char *name;
    int code;
} errors[] = {{"0", 0},           {"ENOENT", ENOENT}, {"EEXIST", EEXIST}, {"EINVAL", EINVAL}, {"ESTALE", ESTALE},
              {"ENOLCK", ENOLCK}, {"ENOSYS", ENOSYS}, {"EOPNOTSUPP", EOPNOTSUPP}, {"EIO", EIO}};

/* Whether this call is one of those that lie. */
static int lies(const char *call, atomic_uint *count, struct lie *lie) {
    const char *list = getenv("LIES");
    const size_t length = strlen(call);
    for (const char *word = list; word && *word; word = strchr(word, ' ') ? strchr(word, ' ') + 1 : NULL) {
        if (strncmp(word, call, length) || !strchr("=!~", word[length])) continue;
        if (word[length] == '~') {
            usleep((useconds_t)atoi(word + length + 1));
            continue;
        }
        lie->made = word[length] == '=';
        lie->every = 1;
        const char *name = word + length + 1;
        const size_t end = strcspn(name, "* ");
        if (name[end] == '*') lie->every = (unsigned)atoi(name + end + 1);
        for (size_t index = 0; index < sizeof errors / sizeof *errors; index++)
            if (strlen(errors[index].name) == end && !strncmp(name, errors[index].name, end))
                lie->code = errors[index].code;
        return (atomic_fetch_add(count, 1) + 1) % lie->every == 0;
    }
    return 0;
}

#define real(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

#define LYING(name, parameters, ...)                            \
    int name parameters {                                       \
        static atomic_uint count;                               \
        struct lie lie = {0};                                   \
        if (!lies(#name, &count, &lie)) return real(name)(__VA_ARGS__); \
        if (lie.made && lie.code) {                             \
            const int result = real(name)(__VA_ARGS__);         \
            if (result < 0) return result;                      \
        }                                                       \
        errno = lie.code;                                       \
        return lie.code ? -1 : 0;                               \
    }

int flock(int, int);
int setrlimit(int, const void *);

LYING(renameat, (int from, const char *old, int to, const char *new), from, old, to, new)
LYING(renameat2, (int from, const char *old, int to, const char *new, unsigned flags), from, old, to, new, flags)
LYING(linkat, (int from, const char *old, int to, const char *new, int flags), from, old, to, new, flags)
LYING(unlinkat, (int directory, const char *path, int flags), directory, path, flags)
LYING(mkdirat, (int directory, const char *path, mode_t mode), directory, path, mode)
LYING(fstat, (int descriptor, struct stat *status), descriptor, status)
LYING(fstatat, (int directory, const char *path, struct stat *status, int flags), directory, path, status, flags)
LYING(flock, (int descriptor, int operation), descriptor, operation)
LYING(fsync, (int descriptor), descriptor)
LYING(setrlimit, (int resource, const void *limit), resource, limit)

/* One that is made and fails would leave a descriptor open: these only fail, and only in a queue, where paths are relative. */
static int opening(const char *name, int directory, const char *path, int flags, mode_t mode, atomic_uint *count) {
    struct lie lie = {0};
    if (path[0] != '/' && lies("openat", count, &lie)) {
        errno = lie.code;
        return -1;
    }
    return ((int (*)(int, const char *, int, ...))dlsym(RTLD_NEXT, name))(directory, path, flags, mode);
}

#define OPENING(name)                                                     \
    int name(int directory, const char *path, int flags, ...) {           \
        static atomic_uint count;                                         \
        va_list rest;                                                     \
        va_start(rest, flags);                                            \
        const mode_t mode = flags & O_CREAT ? va_arg(rest, mode_t) : 0;   \
        va_end(rest);                                                     \
        return opening(#name, directory, path, flags, mode, &count);      \
    }

OPENING(openat)
OPENING(openat64)
