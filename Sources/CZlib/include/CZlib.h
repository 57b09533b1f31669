// zlib's stable ABI (version 1), declared here and opened at run time: nothing of it is needed to build, and the library
// only where a route compresses. The numbers are those of zlib.h, which never change. Headers and a few lines of C, no logic.
#ifndef CZLIB_H
#define CZLIB_H

#include <stddef.h>

/// Opens the library for the rest of the process, once. NULL, or why it cannot be used, which is good until the next call.
const char *czlib_open(void);

/// Compresses the bytes as one member of RFC 1952 without a name and a time: the same bytes give the same member. Returns
/// the member, for free(3), and its length; NULL where there is no memory, or more bytes than an `unsigned` counts. The
/// library has to be open.
void *czlib_gzip(const void *bytes, size_t count, size_t *length);

#endif
