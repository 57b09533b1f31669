// What both programs that send files share: the names in a directory, and reading one.
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { largest = 65536 };
static int directory;
// Where files are moved before they are read, as a claim is; the directory itself where there is no such place.
static int claims;
static char **names;
static int name_count, next_name;

static inline void list(const char *path) {
    DIR *entries = opendir(path);
    if (!entries) exit(66);
    directory = claims = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int room = 0;
    for (struct dirent *entry; (entry = readdir(entries));) {
        if (entry->d_name[0] == '.') continue;
        if (name_count == room) names = realloc(names, (room = room * 2 + 1024) * sizeof *names);
        names[name_count++] = strdup(entry->d_name);
    }
    closedir(entries);
}

static inline void claim_in(const char *path) { claims = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC); }

static inline int load(const char *name, char *body) {
    if (claims != directory && renameat(directory, name, claims, name)) exit(74);
    int file = openat(claims, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    int length = file < 0 ? -1 : read(file, body, largest);
    if (length < 0) {
        perror(name);
        exit(74);
    }
    close(file);
    return length;
}

static inline void delivered(const char *name, long status) {
    if (status < 200 || status > 299) {
        fprintf(stderr, "%s: status %ld\n", name, status);
        exit(1);
    }
    if (unlinkat(claims, name, 0)) exit(74);
}
