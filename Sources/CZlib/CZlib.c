#include "CZlib.h"
#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

#ifdef __APPLE__
#define LIBRARY "libz.1.dylib"
#else
#define LIBRARY "libz.so.1"
#endif

// struct z_stream_s
struct stream {
    const unsigned char *next_in;
    unsigned available_in;
    unsigned long total_in;
    unsigned char *next_out;
    unsigned available_out;
    unsigned long total_out;
    const char *message;
    void *state, *allocate, *release, *opaque;
    int data_type;
    unsigned long adler, reserved;
};

enum {
    Z_NO_FLUSH = 0,
    Z_FINISH = 4,
    Z_STREAM_END = 1,
    Z_DEFAULT_COMPRESSION = -1,
    Z_DEFLATED = 8,
    Z_DEFAULT_STRATEGY = 0,
    // The largest window; 16 selects the header and trailer of gzip.
    GZIP_WINDOW = 15 + 16,
    USUAL_MEMORY = 8,
};

static void *library;
static char reason[512];
static int (*initialize)(struct stream *, int, int, int, int, int, const char *, int);
static unsigned long (*bound)(struct stream *, unsigned long);
static int (*deflate)(struct stream *, int);
static int (*end)(struct stream *);
static int (*initialize_inflate)(struct stream *, int, const char *, int);
static int (*inflate)(struct stream *, int);
static int (*reset_inflate)(struct stream *);
static int (*end_inflate)(struct stream *);

const char *czlib_open(void) {
    if (library) return NULL;
    void *opened = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL);
    if (!opened) {
        snprintf(reason, sizeof reason, "%s", dlerror());
        return reason;
    }
    *(void **)&initialize = dlsym(opened, "deflateInit2_");
    *(void **)&bound = dlsym(opened, "deflateBound");
    *(void **)&deflate = dlsym(opened, "deflate");
    *(void **)&end = dlsym(opened, "deflateEnd");
    *(void **)&initialize_inflate = dlsym(opened, "inflateInit2_");
    *(void **)&inflate = dlsym(opened, "inflate");
    *(void **)&reset_inflate = dlsym(opened, "inflateReset");
    *(void **)&end_inflate = dlsym(opened, "inflateEnd");
    if (!initialize || !bound || !deflate || !end || !initialize_inflate || !inflate || !reset_inflate || !end_inflate) {
        dlclose(opened);
        return LIBRARY " lacks functions";
    }
    library = opened;
    return NULL;
}

void *czlib_gzip(const void *bytes, size_t count, size_t *length) {
    struct stream stream = {0};
    if (count > UINT_MAX) return NULL;
    // A library of another major version refuses.
    if (initialize(
            &stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, GZIP_WINDOW, USUAL_MEMORY, Z_DEFAULT_STRATEGY, "1.2.11",
            sizeof stream))
        return NULL;
    unsigned long room = bound(&stream, count);
    unsigned char *member = room <= UINT_MAX ? malloc(room) : NULL;
    stream.next_in = bytes;
    stream.available_in = (unsigned)count;
    stream.next_out = member;
    stream.available_out = (unsigned)room;
    int result = member ? deflate(&stream, Z_FINISH) : 0;
    *length = stream.total_out;
    end(&stream);
    if (result == Z_STREAM_END) return member;
    free(member);
    return NULL;
}

size_t czlib_gunzip(const void *bytes, size_t count, void *space, size_t room, bool *is_whole) {
    struct stream stream = {
        .next_in = bytes, .available_in = (unsigned)count, .next_out = space, .available_out = (unsigned)room};
    *is_whole = false;
    if (count > UINT_MAX || room > UINT_MAX || initialize_inflate(&stream, GZIP_WINDOW, "1.2.11", sizeof stream))
        return 0;
    int result;
    do result = inflate(&stream, Z_NO_FLUSH);
    while (result == Z_STREAM_END && stream.available_in > 0 && reset_inflate(&stream) == 0);
    *is_whole = result == Z_STREAM_END && stream.available_in == 0;
    end_inflate(&stream);
    return room - stream.available_out;
}
