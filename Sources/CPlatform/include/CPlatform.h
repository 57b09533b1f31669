// Calls that the C library's Swift module lacks, a checksum that needs instructions of the processor, and threads for
// calls that wait. Swift code imports CSystem.
#ifndef CPLATFORM_H
#define CPLATFORM_H

#include <spawn.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>

/// Calls renameat2(2) with RENAME_NOREPLACE, on Darwin renameatx_np(2) with RENAME_EXCL. Returns 0, or -1 and errno.
int csystem_rename_noreplace(int from_directory, const char *from, int to_directory, const char *to);

/// Makes the kernel kill this process when its parent dies: prctl(2) with PR_SET_PDEATHSIG and SIGKILL, which Swift
/// cannot call (variadic). Does nothing on Darwin. Returns 0, or -1 and errno.
int csystem_die_with_parent(void);

/// Confines this process: prctl(2) with PR_SET_NO_NEW_PRIVS, and with PR_SET_DUMPABLE 0. It gains no privileges by a
/// program that it starts, leaves no core dump, not even to a program, and its user's other processes cannot look into
/// it.
void csystem_confine(void);

/// Closes descriptors from `first` on in a spawned process: posix_spawn_file_actions_addclosefrom_np(3). Does nothing
/// on Darwin, which has POSIX_SPAWN_CLOEXEC_DEFAULT. Returns 0 or an error.
int csystem_spawn_close_from(posix_spawn_file_actions_t *actions, int first);

/// Sets the directory of a spawned process: posix_spawn_file_actions_addchdir_np(3). Returns 0 or an error.
int csystem_spawn_change_directory(posix_spawn_file_actions_t *actions, const char *directory);

/// Opens a descriptor, closed on exec, that poll(2) finds readable when the process has ended: pidfd_open(2). Returns
/// -1 if the system has no such descriptors.
int csystem_process_descriptor(int process);

/// Returns whether a signal has stopped a child process that has not been continued: waitid(2).
bool csystem_is_stopped(int process);

/// Writes the coverage counters of a process that ends by _exit(2). Only debug builds have it.
void csystem_flush_coverage(void);

/// Returns the time of the last modification in nanoseconds since 1970. A time that 64 bits cannot have (after 2262,
/// before 1677) becomes the nearest that they can. Swift names the fields of `struct timespec` only if a module is
/// imported that differs from build to build.
int64_t csystem_modified(const struct stat *status);

/// Returns the time of the inode's last change, as csystem_modified does.
int64_t csystem_changed(const struct stat *status);

/// Sets the time of a file's last modification to that of a status: futimens(3).
int csystem_set_modified(int descriptor, const struct stat *status);

/// Returns the arguments of main(), ended by a null pointer; NULL if only /proc knows them. Swift's own arguments come
/// from /proc/self/cmdline, which some containers lack.
char *const *csystem_arguments(void);

/// Returns the environment of this process, `NAME=value`, ended by a null pointer.
char **csystem_environment(void);

/// Returns the path that execve(2) was given for this program, relative to the directory in which the process began;
/// NULL if the kernel does not tell.
const char *csystem_executable(void);

/// Syncs the file system that the descriptor is on: syncfs(2), on Darwin F_FULLFSYNC. Returns 0, or -1 and errno.
int csystem_syncfs(int descriptor);

/// Sends bytes as send(2) does, with a descriptor that the other end of the unix socket receives with the first of
/// them.
ssize_t csystem_send_descriptor(int socket, const void *bytes, size_t count, int flags, int descriptor);

/// Receives bytes as recv(2) does, and a descriptor that came with them, closed on exec; -1 if none came. Fails with
/// EMFILE if a descriptor came and this process has no room for it.
ssize_t csystem_receive_descriptor(int socket, void *bytes, size_t count, int *descriptor);

/// Continues a CRC-32C (Castagnoli, RFC 3720 appendix B.4) with `count` more bytes. `crc` is 0 before the first ones.
/// Uses the processor's instruction if it has one.
uint32_t csystem_crc32c(uint32_t crc, const void *bytes, size_t count);

/// Returns what csystem_crc32c returns, from tables alone.
uint32_t csystem_crc32c_portable(uint32_t crc, const void *bytes, size_t count);

/// Calls `work` on a new thread, which takes no signals. Returns false if the system starts none.
bool csystem_begin_thread(void (*work)(void *context), void *context);

/// Calls `work` with each index below `count`, which is at least 1, and returns when all calls have returned. At most
/// `width` calls run at once: on this thread, and on threads that are kept for the next time. If the system starts no
/// more threads, the existing ones do all the work. `work` must not call this function.
void csystem_overlap(size_t count, size_t width, void (*work)(void *context, size_t index), void *context);

#endif
