// Lets valgrind see the agent of a run that is started with LD_PRELOAD=below-valgrind.so: the agent starts by its path,
// because /proc/self/exe is valgrind there, and ends by itself, because only then valgrind writes its counts.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>

int access(const char *path, int mode) {
    static int (*real)(const char *, int);
    if (strcmp(path, "/proc/self/exe") == 0) {
        errno = ENOENT;
        return -1;
    }
    if (!real) real = (int (*)(const char *, int))dlsym(RTLD_NEXT, "access");
    return real(path, mode);
}

// The run kills an agent whose input it has ended, and then takes its status.
int kill(pid_t process, int number) {
    static int (*real)(pid_t, int);
    siginfo_t end;
    if (number == SIGKILL && waitid(P_PID, process, &end, WEXITED | WNOWAIT) == 0) return 0;
    if (!real) real = (int (*)(pid_t, int))dlsym(RTLD_NEXT, "kill");
    return real(process, number);
}
