// The limit of accepting: puts each line of standard input into a file of its own, durably.
//
//   add QUEUE BATCH
//
// With BATCH 1 each file is synced, renamed from tmp/ into new/, and the directory synced before the next. With more the
// files of a batch share one sync of the file system, and one of the directory.
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static void check(int result, const char *what) {
    if (result >= 0) return;
    perror(what);
    exit(74);
}

int main(int count, char **arguments) {
    if (count != 3) return 64;
    check(chdir(arguments[1]), arguments[1]);
    int batch = atoi(arguments[2]), waiting = 0, total = 0;
    int tmp = open("tmp", O_RDONLY | O_DIRECTORY), new = open("new", O_RDONLY | O_DIRECTORY);
    check(tmp < 0 || new < 0 ? -1 : 0, "open");
    char (*names)[64] = calloc(batch, sizeof *names);
    char *line = NULL;
    size_t room = 0;
    ssize_t length;
    for (;;) {
        length = getline(&line, &room, stdin);
        if (length > 0) {
            struct timespec time;
            clock_gettime(CLOCK_REALTIME, &time);
            snprintf(names[waiting], sizeof *names, "%ld%09ld-%d-%d.json", time.tv_sec, time.tv_nsec, getpid(), total++);
            int file = openat(tmp, names[waiting], O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
            check(file, "openat");
            check(write(file, line, length) == length ? 0 : -1, "write");
            if (batch == 1) check(fsync(file), "fsync");
            check(close(file), "close");
            waiting++;
        }
        if (waiting == batch || (length <= 0 && waiting > 0)) {
            if (batch > 1) check(syncfs(tmp), "syncfs");
            for (int index = 0; index < waiting; index++)
                check(renameat2(tmp, names[index], new, names[index], RENAME_NOREPLACE), "rename");
            check(fsync(new), "fsync");
            for (int index = 0; index < waiting; index++) puts(names[index]);
            waiting = 0;
        }
        if (length <= 0) return 0;
    }
}
