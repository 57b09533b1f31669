// What the C library's Swift module lacks, a checksum that needs instructions of the processor, and threads for calls that
// wait. Swift code imports CSystem.
#ifndef CPLATFORM_H
#define CPLATFORM_H

#include <spawn.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>

/// renameat2(2) with RENAME_NOREPLACE; on Darwin renameatx_np(2) with RENAME_EXCL. 0, or -1 and errno.
int csystem_rename_noreplace(int from_directory, const char *from, int to_directory, const char *to);

/// prctl(2) with PR_SET_PDEATHSIG and SIGKILL, which Swift cannot call (variadic); nothing on Darwin. 0, or -1 and errno.
int csystem_die_with_parent(void);

/// prctl(2) with PR_SET_NO_NEW_PRIVS, and with PR_SET_DUMPABLE 0: this process gains no privileges by a program that it
/// starts, leaves no core to a program either, and is not to be looked into by its user's other processes.
void csystem_confine(void);

/// posix_spawn_file_actions_addclosefrom_np(3); nothing on Darwin, which has POSIX_SPAWN_CLOEXEC_DEFAULT. 0 or an error.
int csystem_spawn_close_from(posix_spawn_file_actions_t *actions, int first);

/// posix_spawn_file_actions_addchdir_np(3). 0 or an error.
int csystem_spawn_change_directory(posix_spawn_file_actions_t *actions, const char *directory);

/// pidfd_open(2): a descriptor, closed on exec, that poll(2) finds readable when the process has ended; -1 where there is
/// no such thing.
int csystem_process_descriptor(int process);

/// Writes the coverage counters of a process that ends by _exit(2). Debug builds have it, and no product.
void csystem_flush_coverage(void);

/// The time of the last modification in nanoseconds since 1970; one that 64 bits do not hold (after 2262, before 1677) is the
/// nearest that they do. Swift names the fields of `struct timespec` only where a module is imported that differs from build
/// to build.
int64_t csystem_modified(const struct stat *status);

/// The time of the last change of the inode, as csystem_modified returns the other.
int64_t csystem_changed(const struct stat *status);

/// The arguments of main(), ended by a null pointer; NULL where nothing but /proc knows them. Swift's own come from
/// /proc/self/cmdline, which is not there in every container.
char *const *csystem_arguments(void);

/// The variables of this process, `NAME=value`, ended by a null pointer.
char **csystem_environment(void);

/// The path that execve(2) was given for this program, from the directory that the process began in; NULL where the kernel
/// does not say.
const char *csystem_executable(void);

/// syncfs(2): everything of the file system that the descriptor is on. On Darwin F_FULLFSYNC. 0, or -1 and errno.
int csystem_syncfs(int descriptor);

/// send(2), with a descriptor that the other end of the unix socket receives together with the first of the bytes.
ssize_t csystem_send_descriptor(int socket, const void *bytes, size_t count, int flags, int descriptor);

/// recv(2) of bytes, and of a descriptor that came with them, closed on exec: -1 where none came. EMFILE where one came and
/// this process has no room for it.
ssize_t csystem_receive_descriptor(int socket, void *bytes, size_t count, int *descriptor);

/// Continues the CRC-32C (Castagnoli, RFC 3720 appendix B.4) of some bytes, 0 before the first ones, with `count` more. Uses
/// the processor's instruction where it has one.
uint32_t csystem_crc32c(uint32_t crc, const void *bytes, size_t count);

/// Returns what csystem_crc32c returns, from tables alone.
uint32_t csystem_crc32c_portable(uint32_t crc, const void *bytes, size_t count);

/// Calls `work` with each index below `count`, of which there is at least one, and returns when all calls have returned. At
/// most `width` of them go on at once: on this thread, and on threads that are kept for the next time. Where the system gives
/// no more threads those that there are do all of it. `work` must not call this function.
void csystem_overlap(size_t count, size_t width, void (*work)(void *context, size_t index), void *context);

#endif
