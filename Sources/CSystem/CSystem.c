#define _GNU_SOURCE
#include "CSystem.h"
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

int csystem_rename_noreplace(int from_directory, const char *from, int to_directory, const char *to) {
#ifdef __APPLE__
    return renameatx_np(from_directory, from, to_directory, to, RENAME_EXCL);
#else
    return renameat2(from_directory, from, to_directory, to, RENAME_NOREPLACE);
#endif
}

int csystem_syncfs(int descriptor) {
#ifdef __APPLE__
    return fcntl(descriptor, F_FULLFSYNC);
#else
    return syncfs(descriptor);
#endif
}
