// The limit of hosts that drain one directory: to each file only what a run does to it there, and no request.
//
//   drain-directory QUEUE RUN SHARE HOSTS THREADS [paths] [own | digest]
//
// Makes claimed/RUN, lists, and says "ready". After a line from standard input it takes each name of its share, on so
// many threads: renames the file from new/ to claimed/RUN/, opens, reads and closes it, and removes it. Shares do not
// overlap, so no claim is lost. Prints how many files it took, and by CLOCK_MONOTONIC when it began and ended.
//
// Calls are relative to an open directory; with `paths` to the queue's, as a run's are. With `own` the share's files are in
// new/SHARE/, which no other host touches. With `digest` they are in the directories of new/, which all hosts touch.
#include <dirent.h>
#include <err.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { most = 1 << 20, longest = 1024 };
struct file { int directory; char *place, *name; };
static struct file *files;
static int file_count, queue, own_directory;
static char own_place[longest];
static bool by_path;
static atomic_int next;

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec + time.tv_nsec / 1e9;
}

static int opened(const char *place) {
    int descriptor = openat(queue, place, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (descriptor < 0) err(66, "%s", place);
    return descriptor;
}

static unsigned digest(const char *name) {
    unsigned hash = 2166136261;
    for (; *name; name++) hash = (hash ^ (unsigned char)*name) * 16777619;
    return hash ^ hash >> 16;
}

static void list(const char *place, unsigned share, unsigned hosts) {
    int directory = opened(place);
    DIR *entries = fdopendir(dup(directory));
    for (struct dirent *entry; (entry = readdir(entries));) {
        if (entry->d_name[0] == '.' || digest(entry->d_name) % hosts != share) continue;
        if (file_count == most) errx(65, "too many files");
        files[file_count++] = (struct file){directory, strdup(place), strdup(entry->d_name)};
    }
    closedir(entries);
}

static void take(struct file file) {
    char from[longest], to[longest], body[65536];
    int from_directory = file.directory, to_directory = own_directory;
    snprintf(from, sizeof from, "%s", file.name);
    snprintf(to, sizeof to, "%s", file.name);
    if (by_path) {
        from_directory = to_directory = queue;
        snprintf(from, sizeof from, "%s/%s", file.place, file.name);
        snprintf(to, sizeof to, "%s/%s", own_place, file.name);
    }
    if (renameat(from_directory, from, to_directory, to)) err(74, "rename %s", from);
    int descriptor = openat(to_directory, to, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (descriptor < 0 || read(descriptor, body, sizeof body) <= 0 || close(descriptor)) err(74, "read %s", to);
    if (unlinkat(to_directory, to, 0)) err(74, "unlink %s", to);
}

static void *work(void *unused) {
    for (int index; (index = atomic_fetch_add(&next, 1)) < file_count;) take(files[index]);
    return unused;
}

int main(int count, char **words) {
    if (count < 6) return 64;
    unsigned share = atoi(words[3]), hosts = atoi(words[4]);
    int threads = atoi(words[5]);
    bool own = false, spread = false;
    for (int index = 6; index < count; index++) {
        by_path |= !strcmp(words[index], "paths");
        own |= !strcmp(words[index], "own");
        spread |= !strcmp(words[index], "digest");
    }
    files = calloc(most, sizeof *files);
    pthread_t *workers = calloc(threads, sizeof *workers);
    queue = AT_FDCWD;
    queue = opened(words[1]);
    snprintf(own_place, sizeof own_place, "claimed/%s", words[2]);
    if (mkdirat(queue, own_place, 0700)) err(74, "%s", own_place);
    own_directory = opened(own_place);
    char place[longest];
    if (own) {
        snprintf(place, sizeof place, "new/%u", share);
        list(place, 0, 1);
    } else if (spread) {
        DIR *entries = fdopendir(opened("new"));
        for (struct dirent *entry; (entry = readdir(entries));) {
            if (entry->d_name[0] == '.') continue;
            snprintf(place, sizeof place, "new/%s", entry->d_name);
            list(place, share, hosts);
        }
        closedir(entries);
    } else {
        list("new", share, hosts);
    }
    puts("ready");
    fflush(stdout);
    getchar();
    double begin = now();
    for (int index = 0; index < threads; index++)
        if (pthread_create(&workers[index], NULL, work, NULL)) return 71;
    for (int index = 0; index < threads; index++) pthread_join(workers[index], NULL);
    printf("%d %.6f %.6f\n", file_count, begin, now());
    return unlinkat(queue, own_place, AT_REMOVEDIR) ? 74 : 0;
}
