// libcurl as the linker of a static build sees it: the functions that Foundation calls, each of which opens the machine's
// libcurl when it is first called. A program that sends nothing starts without it and the thirty libraries it needs.
//
// Foundation passes one integer or pointer to the functions of variable arguments, which the calling conventions of Linux
// on x86-64 and AArch64 hand on in the same register.
#include <dlfcn.h>
#include <stdio.h>
#include <unistd.h>

static void *function(const char *name) {
    void *library = dlopen("libcurl.so.4", RTLD_NOW | RTLD_LOCAL);
    void *found = library ? dlsym(library, name) : NULL;
    if (found) return found;
    fprintf(stderr, "drainq: error: %s\n", dlerror());
    _exit(70);
}

#define FORWARD(result, name, parameters, arguments) \
    result name parameters { \
        static result(*real) parameters; \
        if (!real) *(void **)&real = function(#name); \
        return real arguments; \
    }
#define FORWARD_VARIADIC(name) \
    int name(void *handle, int option, void *argument) { \
        static int (*real)(void *, int, ...); \
        if (!real) *(void **)&real = function(#name); \
        return real(handle, option, argument); \
    }

FORWARD(int, curl_global_init, (long flags), (flags))
FORWARD(char *, curl_version, (void), ())
FORWARD(void *, curl_version_info, (int age), (age))
FORWARD(void, curl_free, (void *memory), (memory))
FORWARD(void *, curl_easy_init, (void), ())
FORWARD(void, curl_easy_cleanup, (void *easy), (easy))
FORWARD(int, curl_easy_pause, (void *easy, int mask), (easy, mask))
FORWARD(const char *, curl_easy_strerror, (int code), (code))
FORWARD_VARIADIC(curl_easy_setopt)
FORWARD_VARIADIC(curl_easy_getinfo)
FORWARD(void *, curl_multi_init, (void), ())
FORWARD(int, curl_multi_cleanup, (void *multi), (multi))
FORWARD(int, curl_multi_add_handle, (void *multi, void *easy), (multi, easy))
FORWARD(int, curl_multi_remove_handle, (void *multi, void *easy), (multi, easy))
FORWARD(int, curl_multi_assign, (void *multi, int socket, void *data), (multi, socket, data))
FORWARD(int, curl_multi_socket_action, (void *multi, int socket, int events, int *running), (multi, socket, events, running))
FORWARD(void *, curl_multi_info_read, (void *multi, int *left), (multi, left))
FORWARD_VARIADIC(curl_multi_setopt)
FORWARD(void *, curl_slist_append, (void *list, const char *text), (list, text))
FORWARD(void, curl_slist_free_all, (void *list), (list))
FORWARD(void *, curl_url, (void), ())
FORWARD(int, curl_url_set, (void *url, int part, const char *text, unsigned flags), (url, part, text, flags))
FORWARD(int, curl_url_get, (const void *url, int part, char **text, unsigned flags), (url, part, text, flags))
