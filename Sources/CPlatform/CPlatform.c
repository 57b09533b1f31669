#define _GNU_SOURCE
#include "CPlatform.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#ifdef __APPLE__
#include <crt_externs.h>
#endif
#include <signal.h>
#include <sys/wait.h>
#ifdef __linux__
#include <sys/auxv.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#endif
#include <unistd.h>

int csystem_rename_noreplace(int from_directory, const char *from, int to_directory, const char *to) {
#ifdef __APPLE__
    return renameatx_np(from_directory, from, to_directory, to, RENAME_EXCL);
#else
    return renameat2(from_directory, from, to_directory, to, RENAME_NOREPLACE);
#endif
}

int csystem_die_with_parent(void) {
#ifdef __linux__
    return prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
#else
    return 0;
#endif
}

void csystem_confine(void) {
#ifdef __linux__
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
#endif
}

int csystem_spawn_close_from(posix_spawn_file_actions_t *actions, int first) {
#ifdef __linux__
    return posix_spawn_file_actions_addclosefrom_np(actions, first);
#else
    return 0;
#endif
}

int csystem_spawn_change_directory(posix_spawn_file_actions_t *actions, const char *directory) {
    return posix_spawn_file_actions_addchdir_np(actions, directory);
}

int csystem_process_descriptor(int process) {
#if defined(__linux__) && defined(SYS_pidfd_open)
    return (int)syscall(SYS_pidfd_open, process, 0);
#else
    return -1;
#endif
}

bool csystem_is_stopped(int process) {
    siginfo_t status = {0};
    return waitid(P_PID, process, &status, WSTOPPED | WNOHANG | WNOWAIT) == 0 && status.si_pid == process;
}

#ifdef DEBUG
__attribute__((weak)) int __llvm_profile_write_file(void);

void csystem_flush_coverage(void) {
#ifdef __linux__
    if (__llvm_profile_write_file) __llvm_profile_write_file();
#endif
}
#endif

static char *const *arguments;

// glibc and Darwin pass the arguments of main() to a constructor.
#if defined(__GLIBC__) || defined(__APPLE__)
__attribute__((constructor)) static void keep_arguments(int count, char **values) {
    (void)count;
    arguments = values;
}
#endif

char *const *csystem_arguments(void) {
    return arguments;
}

#ifdef __APPLE__
char **csystem_environment(void) {
    return *_NSGetEnviron();
}
#else
char **csystem_environment(void) {
    return environ;
}
#endif

const char *csystem_executable(void) {
#ifdef __linux__
    return (const char *)getauxval(AT_EXECFN);
#else
    return NULL;
#endif
}

int csystem_syncfs(int descriptor) {
#ifdef __APPLE__
    return fcntl(descriptor, F_FULLFSYNC);
#else
    return syncfs(descriptor);
#endif
}

static int64_t nanoseconds(struct timespec time) {
    int64_t result;
    if (__builtin_mul_overflow((int64_t)time.tv_sec, 1000000000, &result) ||
        __builtin_add_overflow(result, time.tv_nsec, &result))
        return time.tv_sec < 0 ? INT64_MIN : INT64_MAX;
    return result;
}

int64_t csystem_modified(const struct stat *status) {
#ifdef __APPLE__
    return nanoseconds(status->st_mtimespec);
#else
    return nanoseconds(status->st_mtim);
#endif
}

int64_t csystem_changed(const struct stat *status) {
#ifdef __APPLE__
    return nanoseconds(status->st_ctimespec);
#else
    return nanoseconds(status->st_ctim);
#endif
}

int csystem_set_modified(int descriptor, const struct stat *status) {
    struct timespec times[2] = {{.tv_nsec = UTIME_OMIT}};
#ifdef __APPLE__
    times[1] = status->st_mtimespec;
#else
    times[1] = status->st_mtim;
#endif
    return futimens(descriptor, times);
}

ssize_t csystem_send_descriptor(int socket, const void *bytes, size_t count, int flags, int descriptor) {
    union { struct cmsghdr head; char space[CMSG_SPACE(sizeof(int))]; } control = {0};
    struct iovec part = {.iov_base = (void *)bytes, .iov_len = count};
    struct msghdr message = {
        .msg_iov = &part, .msg_iovlen = 1, .msg_control = control.space, .msg_controllen = sizeof control.space};
    struct cmsghdr *head = CMSG_FIRSTHDR(&message);
    head->cmsg_level = SOL_SOCKET;
    head->cmsg_type = SCM_RIGHTS;
    head->cmsg_len = CMSG_LEN(sizeof(int));
    memcpy(CMSG_DATA(head), &descriptor, sizeof(int));
    return sendmsg(socket, &message, flags);
}

ssize_t csystem_receive_descriptor(int socket, void *bytes, size_t count, int *descriptor) {
    union { struct cmsghdr head; char space[CMSG_SPACE(sizeof(int))]; } control = {0};
    struct iovec part = {.iov_base = bytes, .iov_len = count};
    struct msghdr message = {
        .msg_iov = &part, .msg_iovlen = 1, .msg_control = control.space, .msg_controllen = sizeof control.space};
    *descriptor = -1;
#ifdef MSG_CMSG_CLOEXEC
    ssize_t result = recvmsg(socket, &message, MSG_CMSG_CLOEXEC);
#else
    ssize_t result = recvmsg(socket, &message, 0);
#endif
    if (result < 0) return result;
    for (struct cmsghdr *head = CMSG_FIRSTHDR(&message); head; head = CMSG_NXTHDR(&message, head))
        if (head->cmsg_level == SOL_SOCKET && head->cmsg_type == SCM_RIGHTS && head->cmsg_len == CMSG_LEN(sizeof(int)))
            memcpy(descriptor, CMSG_DATA(head), sizeof(int));
    if (message.msg_flags & MSG_CTRUNC) {
        if (*descriptor >= 0) close(*descriptor);
        *descriptor = -1;
        errno = EMFILE;
        return -1;
    }
#ifndef MSG_CMSG_CLOEXEC
    if (*descriptor >= 0) fcntl(*descriptor, F_SETFD, FD_CLOEXEC);
#endif
    return result;
}
