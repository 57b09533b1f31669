// Runs a command and writes down what it cost: one JSON object a run, on standard output.
//
//   measure [-n TIMES] [-t SECONDS] [-i INPUT] [-w] COMMAND [ARGUMENT...]
//
// A process of its own, because what starts the command has to be small: to fork a large one takes longer than some of
// the commands do. Wall time ends when the command does; with -w when standard input ends, and the command is then told
// to end. CPU time is that of the command and all its descendants. Memory is the largest sum of what all of them had at
// one moment, looked at every 10 ms: `rss` counts a shared page once for each process, `pss` (every 50 ms) shares it
// out. What was too short to be seen has 0. `processes` is how many there were at once.
#define _GNU_SOURCE
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

extern char **environ;

enum { most = 512 };
struct family { pid_t pids[most]; int count; };
struct peak { long rss, pss; int processes; };

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec + time.tv_nsec / 1e9;
}

static volatile sig_atomic_t stopped;

static void woken(int signal) {
    if (signal == SIGTERM) stopped = 1;
}

// Adds all descendants of the process: each of its threads has a list of the children it began.
static void add_descendants(pid_t pid, struct family *family) {
    char path[300];
    snprintf(path, sizeof path, "/proc/%d/task", pid);
    DIR *threads = opendir(path);
    if (!threads) return;
    for (struct dirent *thread; (thread = readdir(threads));) {
        if (!isdigit(thread->d_name[0])) continue;
        snprintf(path, sizeof path, "/proc/%d/task/%s/children", pid, thread->d_name);
        FILE *children = fopen(path, "re");
        if (!children) continue;
        for (int child; fscanf(children, "%d", &child) == 1 && family->count < most;) {
            family->pids[family->count++] = child;
            add_descendants(child, family);
        }
        fclose(children);
    }
    closedir(threads);
}

static long kilobytes(pid_t pid, const char *file, const char *format, long unit) {
    char path[64], line[256];
    long value = 0;
    snprintf(path, sizeof path, "/proc/%d/%s", pid, file);
    FILE *open = fopen(path, "re");
    if (!open) return 0;
    while (fgets(line, sizeof line, open) && sscanf(line, format, &value) != 1);
    fclose(open);
    return value * unit;
}

static void look(struct peak *peak, bool shared) {
    struct family family = { .count = 0 };
    long rss = 0, pss = 0;
    add_descendants(getpid(), &family);
    for (int index = 0; index < family.count; index++) {
        rss += kilobytes(family.pids[index], "statm", "%*d %ld", sysconf(_SC_PAGESIZE) / 1024);
        if (shared) pss += kilobytes(family.pids[index], "smaps_rollup", "Pss: %ld", 1);
    }
    if (rss > peak->rss) peak->rss = rss;
    if (pss > peak->pss) peak->pss = pss;
    if (family.count > peak->processes) peak->processes = family.count;
}

static void signal_all(int signal) {
    struct family family = { .count = 0 };
    add_descendants(getpid(), &family);
    for (int index = 0; index < family.count; index++) kill(family.pids[index], signal);
}

static double seconds(struct timeval time) { return time.tv_sec + time.tv_usec / 1e6; }

static int run(char **command, const char *input, double patience, bool until_input_ends) {
    struct rusage before, after;
    struct peak peak = { 0 };
    int status = -1, looks = 0;
    bool told = false, late = false;
    double wall = 0;
    pid_t pid;
    sigset_t child, none;
    posix_spawn_file_actions_t files;
    posix_spawnattr_t attributes;

    sigemptyset(&none);
    sigemptyset(&child);
    sigaddset(&child, SIGCHLD);
    sigprocmask(SIG_BLOCK, &child, NULL);
    posix_spawn_file_actions_init(&files);
    posix_spawn_file_actions_addopen(&files, 0, input, O_RDONLY, 0);
    posix_spawn_file_actions_addopen(&files, 1, "/dev/null", O_WRONLY, 0);
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);

    getrusage(RUSAGE_CHILDREN, &before);
    double start = now();
    int failure = posix_spawnp(&pid, command[0], &files, &attributes, command, environ);
    if (failure) {
        fprintf(stderr, "cannot run '%s': %s\n", command[0], strerror(failure));
        return 1;
    }
    for (bool ended = false;;) {
        struct pollfd end = { .fd = until_input_ends && !told ? 0 : -1, .events = POLLIN };
        struct timespec pause = { .tv_nsec = 10000000 };
        int polled = ppoll(&end, 1, &pause, &none);
        if (polled > 0) {
            wall = now() - start;
            told = true;
            kill(pid, SIGTERM);
        }
        int ending;
        pid_t reaped;
        while ((reaped = waitpid(-1, &ending, WNOHANG)) > 0) {
            if (reaped != pid) continue;
            if (!told) wall = now() - start;
            status = WIFEXITED(ending) ? WEXITSTATUS(ending) : 128 + WTERMSIG(ending);
            ended = true;
        }
        // What the command left behind belongs to its cost, for as long as there is patience.
        if (reaped < 0 && errno == ECHILD) break;
        if (stopped || now() - start > patience) {
            late = true;
            signal_all(SIGKILL);
        }
        if (polled == 0 && !ended) look(&peak, looks++ % 5 == 1);
    }
    getrusage(RUSAGE_CHILDREN, &after);
    printf(
        "{\"wall\": %.6f, \"user\": %.6f, \"system\": %.6f, \"rss\": %ld, \"pss\": %ld, \"processes\": %d, "
        "\"status\": %d, \"late\": %s}\n",
        wall, seconds(after.ru_utime) - seconds(before.ru_utime), seconds(after.ru_stime) - seconds(before.ru_stime),
        peak.rss, peak.pss, peak.processes, status, late ? "true" : "false");
    return 0;
}

int main(int count, char **arguments) {
    int times = 1, option;
    double patience = 600;
    const char *input = "/dev/null";
    bool until_input_ends = false;
    while ((option = getopt(count, arguments, "+n:t:i:w")) != -1) {
        switch (option) {
        case 'n': times = atoi(optarg); break;
        case 't': patience = atof(optarg); break;
        case 'i': input = optarg; break;
        case 'w': until_input_ends = true; break;
        default: return 64;
        }
    }
    if (optind == count) return 64;
    // Orphans come here, so that their time is counted and none is left behind; and all ends with who asked for it.
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    sigaction(SIGCHLD, &(struct sigaction){ .sa_handler = woken }, NULL);
    sigaction(SIGTERM, &(struct sigaction){ .sa_handler = woken }, NULL);
    for (int round = 0; round < times && !stopped; round++)
        if (run(arguments + optind, input, patience, until_input_ends)) return 1;
    return 0;
}
