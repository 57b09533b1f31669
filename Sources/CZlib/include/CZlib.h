// zlib's stable ABI (version 1), declared here and opened at run time: a build needs nothing of zlib, and a process
// only to compress. The numbers are those of zlib.h, which never change. Declarations and a few lines of C, no logic.
#ifndef CZLIB_H
#define CZLIB_H

#include <stddef.h>

/// Opens the library for the rest of the process, once. Returns NULL, or why not, in text that lasts until the next
/// call.
const char *czlib_open(void);

/// Compresses the bytes as one gzip member (RFC 1952) without name and time: the same bytes give the same member.
/// Returns the member, to be freed with free(3), and its length; NULL if there is no memory, or more bytes than an
/// `unsigned` counts. The library must be open.
void *czlib_gzip(const void *bytes, size_t count, size_t *length);

#endif
