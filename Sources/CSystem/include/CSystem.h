// Declarations the Glibc module lacks. Headers and a few lines of C, no logic.
#ifndef CSYSTEM_H
#define CSYSTEM_H

/// renameat2(2) with RENAME_NOREPLACE; on Darwin renameatx_np(2) with RENAME_EXCL. 0, or -1 and errno.
int csystem_rename_noreplace(int from_directory, const char *from, int to_directory, const char *to);

/// syncfs(2): everything of the file system that the descriptor is on. On Darwin F_FULLFSYNC. 0, or -1 and errno.
int csystem_syncfs(int descriptor);

#endif
