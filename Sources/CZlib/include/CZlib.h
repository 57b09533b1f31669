// zlib's stable ABI (version 1), declared here and opened at run time: a build needs nothing of zlib, and a process
// only to send. The numbers are those of zlib.h, which never change. Declarations and a few lines of C, no logic.
#ifndef CZLIB_H
#define CZLIB_H

#include <stdbool.h>
#include <stddef.h>

/// Opens the library for the rest of the process, once. Returns NULL, or why not, in text that lasts until the next
/// call.
const char *czlib_open(void);

/// Compresses the bytes as one gzip member (RFC 1952) without name and time: the same bytes give the same member.
/// Returns the member, to be freed with free(3), and its length; NULL if there is no memory, or more bytes than an
/// `unsigned` counts. The library must be open.
void *czlib_gzip(const void *bytes, size_t count, size_t *length);

/// Decompresses gzip members that follow one another (RFC 1952, 2.2), as far as they can be read and there is room.
/// Returns the length, and whether the space has the content of all members. The library must be open.
size_t czlib_gunzip(const void *bytes, size_t count, void *space, size_t room, bool *is_whole);

#endif
