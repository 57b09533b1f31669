#include "CCurl.h"
#include <dlfcn.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#ifdef __APPLE__
#define LIBRARY "libcurl.4.dylib"
#else
#define LIBRARY "libcurl.so.4"
#endif

// Upper bound on the descriptors that are checked when input must be cut off.
enum { DESCRIPTORS = 4096 };

// The members of curl_version_info_data that are read here.
struct version_info {
    int age;
    const char *version;
    unsigned version_number;
    const char *host;
    int features;
    const char *tls_version;
};

struct message {
    int kind;
    ccurl_easy *easy;
    union {
        void *whatever;
        int code;
    } data;
};

static void *library;
static char reason[512];

#define FUNCTIONS(X) \
    X(const struct version_info *, version_info, (int)) \
    X(int, global_init, (long)) \
    X(ccurl_easy *, easy_init, (void)) \
    X(void, easy_cleanup, (ccurl_easy *)) \
    X(const char *, easy_strerror, (int)) \
    X(int, easy_setopt, (ccurl_easy *, int, ...)) \
    X(int, easy_pause, (ccurl_easy *, int)) \
    X(int, easy_getinfo, (ccurl_easy *, int, ...)) \
    X(ccurl_share *, share_init, (void)) \
    X(int, share_setopt, (ccurl_share *, int, ...)) \
    X(int, share_cleanup, (ccurl_share *)) \
    X(ccurl_multi *, multi_init, (void)) \
    X(int, multi_setopt, (ccurl_multi *, int, ...)) \
    X(int, multi_add_handle, (ccurl_multi *, ccurl_easy *)) \
    X(int, multi_remove_handle, (ccurl_multi *, ccurl_easy *)) \
    X(int, multi_perform, (ccurl_multi *, int *)) \
    X(int, multi_poll, (ccurl_multi *, void *, unsigned, int, int *)) \
    X(struct message *, multi_info_read, (ccurl_multi *, int *))

#define DECLARE(result, name, parameters) static result(*name) parameters;
FUNCTIONS(DECLARE)

const char *ccurl_open(void) {
    if (library) return NULL;
    void *opened = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL);
    if (!opened) {
        snprintf(reason, sizeof reason, "%s", dlerror());
        return reason;
    }
#define LOOK_UP(result, name, parameters) \
    *(void **)&name = dlsym(opened, "curl_" #name); \
    if (!name) { \
        snprintf(reason, sizeof reason, LIBRARY " has no curl_" #name); \
        dlclose(opened); \
        return reason; \
    }
    FUNCTIONS(LOOK_UP)
    library = opened;
    return NULL;
}

void ccurl_close(void) {
    if (library) dlclose(library);
    library = NULL;
}

const char *ccurl_version(void) { return version_info(0)->version; }
unsigned ccurl_version_number(void) { return version_info(0)->version_number; }
int ccurl_global_init(void) { return global_init(3); }

ccurl_easy *ccurl_easy_init(void) { return easy_init(); }
void ccurl_easy_cleanup(ccurl_easy *easy) { easy_cleanup(easy); }
const char *ccurl_easy_strerror(int code) { return easy_strerror(code); }

int ccurl_set_number(ccurl_easy *easy, ccurl_option option, long number) {
    return easy_setopt(easy, option, number);
}

int ccurl_set_size(ccurl_easy *easy, ccurl_option option, int64_t size) { return easy_setopt(easy, option, size); }

int ccurl_set_text(ccurl_easy *easy, ccurl_option option, const char *text) {
    return easy_setopt(easy, option, text);
}

int ccurl_set_pointer(ccurl_easy *easy, ccurl_option option, const void *pointer) {
    return easy_setopt(easy, option, pointer);
}

int ccurl_set_data_function(
    ccurl_easy *easy, ccurl_option option, size_t (*function)(char *, size_t, size_t, void *)) {
    return easy_setopt(easy, option, function);
}

int ccurl_resume(ccurl_easy *easy) { return easy_pause(easy, 0); }

int ccurl_set_seek_function(ccurl_easy *easy, int (*function)(void *, int64_t, int)) {
    return easy_setopt(easy, CURLOPT_SEEKFUNCTION, function);
}

int ccurl_set_progress_function(ccurl_easy *easy, int (*function)(void *, int64_t, int64_t, int64_t, int64_t)) {
    return easy_setopt(easy, CURLOPT_XFERINFOFUNCTION, function);
}

int ccurl_set_opened_function(ccurl_easy *easy, int (*function)(void *, int, int)) {
    return easy_setopt(easy, CURLOPT_SOCKOPTFUNCTION, function);
}

// struct curl_sockaddr.
struct address {
    int family, type, protocol;
    unsigned length;
    struct sockaddr address;
};

// Whether this machine has no route or no address of its own to reach an address from. connect(2) sends nothing.
static bool is_out_of_reach(struct address *address) {
    int probe = socket(address->family, SOCK_DGRAM, 0);
    if (probe < 0) return false;
    bool is_out = connect(probe, &address->address, address->length) < 0 &&
        (errno == EADDRNOTAVAIL || errno == ENETUNREACH);
    close(probe);
    return is_out;
}

int ccurl_open_socket(void *error, int purpose, void *curl_sockaddr) {
    (void)purpose;
    struct address *address = curl_sockaddr;
    // Without IPv6 the connection would fail as if this machine had no port left.
    if (address->family == AF_INET6 && is_out_of_reach(address)) {
        *(int *)error = ENETUNREACH;
        return -1;
    }
    int opened = socket(address->family, address->type, address->protocol);
    if (opened < 0) *(int *)error = errno;
    return opened;
}

void ccurl_note_socket_errors(ccurl_easy *easy, int *error) {
    easy_setopt(easy, CURLOPT_OPENSOCKETDATA, error);
    easy_setopt(easy, CURLOPT_OPENSOCKETFUNCTION, ccurl_open_socket);
}

int ccurl_set_close_function(ccurl_easy *easy, int (*function)(void *, int)) {
    return easy_setopt(easy, CURLOPT_CLOSESOCKETFUNCTION, function);
}

int ccurl_set_prerequest_function(ccurl_easy *easy, int (*function)(void *, char *, char *, int, int)) {
    return easy_setopt(easy, CURLOPT_PREREQFUNCTION, function);
}

// What OpenSSL tells of a connection. A connection may outlive its handle, so the notes are found by its number.
struct tls { long number; int alert, version; };
enum { CONNECTIONS = 4096, ALERT = 21, HANDSHAKE = 22, FINISHED = 20, SET_MSG_CALLBACK_ARG = 16 };
static struct tls connections[CONNECTIONS];
static long connection_count;

typedef void (*tls_receiver)(int, int, int, const void *, size_t, void *, void *);
static void (*set_tls_receiver)(void *, tls_receiver);
static long (*set_tls_number)(void *, int, long, void *);
static void (*get_alpn)(const void *, const unsigned char **, unsigned *);

bool ccurl_sees_tls(void) {
    static int sees = -1;
    if (sees >= 0) return sees;
    void *opened = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL);
    if (!opened) return false;
    const struct version_info *(*information)(int);
    *(void **)&information = dlsym(opened, "curl_version_info");
    *(void **)&set_tls_receiver = dlsym(opened, "SSL_CTX_set_msg_callback");
    *(void **)&set_tls_number = dlsym(opened, "SSL_CTX_ctrl");
    *(void **)&get_alpn = dlsym(opened, "SSL_get0_alpn_selected");
    // A library with another TLS may still have OpenSSL by way of a library of its own.
    const char *name = information ? information(0)->tls_version : NULL;
    bool is_open = name && (strncmp(name, "OpenSSL/", 8) == 0 || strncmp(name, "LibreSSL/", 9) == 0);
    sees = is_open && set_tls_receiver && set_tls_number && get_alpn;
    return sees;
}

static void take_tls(int is_sent, int version, int type, const void *bytes, size_t length, void *tls, void *number) {
    (void)version;
    struct tls *noted = &connections[(long)number % CONNECTIONS];
    const unsigned char *byte = bytes;
    if (noted->number != (long)number || length < 1) return;
    if (!is_sent && type == ALERT && length > 1) noted->alert = byte[1];
    // Before its own Finished the client knows which protocol the server has chosen.
    if (!is_sent || type != HANDSHAKE || byte[0] != FINISHED) return;
    const unsigned char *chosen = NULL;
    unsigned size = 0;
    get_alpn(tls, &chosen, &size);
    noted->version = size == 2 && memcmp(chosen, "h2", 2) == 0 ? 2 : size > 0;
}

int ccurl_watch_tls(void *easy, void *context, void *number) {
    (void)easy;
    long made = ++connection_count;
    connections[made % CONNECTIONS] = (struct tls){made, -1, 0};
    set_tls_receiver(context, take_tls);
    set_tls_number(context, SET_MSG_CALLBACK_ARG, 0, (void *)made);
    *(long *)number = made;
    return 0;
}

void ccurl_note_tls(ccurl_easy *easy, long *number) {
    if (!ccurl_sees_tls()) return;
    easy_setopt(easy, CURLOPT_SSL_CTX_DATA, number);
    easy_setopt(easy, CURLOPT_SSL_CTX_FUNCTION, ccurl_watch_tls);
}

static const struct tls *tls_of(long number) {
    static const struct tls none = {0, -1, 0};
    const struct tls *found = &connections[number % CONNECTIONS];
    return number > 0 && found->number == number ? found : &none;
}

int ccurl_tls_alert(long number) { return tls_of(number)->alert; }
int ccurl_tls_version(long number) { return tls_of(number)->version; }

int ccurl_codings(const char *line, size_t length) {
    static const char name[] = "transfer-encoding:";
    const char *end = line + length;
    int count = 0;
    if (length < sizeof name - 1 || strncasecmp(line, name, sizeof name - 1)) return 0;
    for (const char *word = line + sizeof name - 1; word < end;) {
        size_t blank = 0, left = (size_t)(end - word);
        while (blank < left && strchr(" \t\r\n,", word[blank])) blank++;
        word += blank;
        size_t letters = 0;
        while (word + letters < end && !strchr(" \t\r\n,", word[letters])) letters++;
        bool is_none = letters == 0 || (letters == 8 && strncasecmp(word, "identity", 8) == 0) ||
            (letters == 7 && strncasecmp(word, "chunked", 7) == 0);
        count += !is_none;
        word += letters;
    }
    return count;
}

int ccurl_get_number(ccurl_easy *easy, ccurl_info info, long *number) { return easy_getinfo(easy, info, number); }
int ccurl_get_size(ccurl_easy *easy, ccurl_info info, int64_t *size) { return easy_getinfo(easy, info, size); }
int ccurl_get_pointer(ccurl_easy *easy, ccurl_info info, void **pointer) {
    return easy_getinfo(easy, info, pointer);
}

ccurl_list *ccurl_list_of(size_t count, const void *lines, size_t length) {
    ccurl_list *list = malloc(count * sizeof *list + length);
    if (!list) return NULL;
    char *text = memcpy(list + count, lines, length);
    for (size_t i = 0; i < count; i++, text += strlen(text) + 1)
        list[i] = (ccurl_list){text, i + 1 < count ? &list[i + 1] : NULL};
    return list;
}

ccurl_share *ccurl_share_init(void) {
    // CURLSHOPT_SHARE, CURL_LOCK_DATA_CONNECT
    ccurl_share *share = share_init();
    if (!share || share_setopt(share, 1, 5) == 0) return share;
    share_cleanup(share);
    return NULL;
}

void ccurl_share_cleanup(ccurl_share *share) { share_cleanup(share); }

ccurl_multi *ccurl_multi_init(void) { return multi_init(); }

int ccurl_multi_set_number(ccurl_multi *multi, ccurl_multi_option option, long number) {
    return multi_setopt(multi, option, number);
}

int ccurl_multi_add(ccurl_multi *multi, ccurl_easy *easy) { return multi_add_handle(multi, easy); }
int ccurl_multi_remove(ccurl_multi *multi, ccurl_easy *easy) { return multi_remove_handle(multi, easy); }
static volatile sig_atomic_t cut, is_performing, pass;

// Every descriptor from 3 on is libcurl's. Calls only functions that a signal handler may call.
static void cut_input(void) {
    cut = 1;
    char byte;
    for (int descriptor = 3; descriptor < DESCRIPTORS; descriptor++)
        if (recv(descriptor, &byte, 1, MSG_PEEK | MSG_DONTWAIT) > 0) shutdown(descriptor, SHUT_RDWR);
}

// Called after every tenth of a second of processor time. The timer is set once: to set it for each pass would cost two
// system calls a pass.
static void watch(int signal) {
    (void)signal;
    static sig_atomic_t watched, ticks;
    int error = errno;
    if (!is_performing || watched != pass) ticks = 0;
    watched = pass;
    if (is_performing && ++ticks > 10) cut_input();
    errno = error;
}

static void begin_watch(void) {
    struct sigaction action = {.sa_handler = watch, .sa_flags = SA_RESTART};
    // Processor time: a process that is stopped or not scheduled has read nothing.
    struct itimerval tick = {.it_interval.tv_usec = 100000, .it_value.tv_usec = 100000};
    if (sigaction(SIGPROF, &action, NULL) == 0) setitimer(ITIMER_PROF, &tick, NULL);
}

bool ccurl_multi_perform(ccurl_multi *multi, int *running) {
    static bool is_watched;
    if (!is_watched) begin_watch();
    is_watched = true;
    cut = 0;
    pass = (pass + 1) & 0xffff;
    is_performing = 1;
    multi_perform(multi, running);
    is_performing = 0;
    return cut;
}

bool ccurl_multi_poll(ccurl_multi *multi, int descriptor, int milliseconds) {
    // struct curl_waitfd; CURL_WAIT_POLLIN is 1.
    struct { int fd; short events, revents; } other = {descriptor, 1, 0};
    multi_poll(multi, &other, 1, milliseconds, NULL);
    return other.revents != 0;
}

ccurl_easy *ccurl_multi_next_ended(ccurl_multi *multi, int *code) {
    int left;
    // There is only one kind of message.
    struct message *message = multi_info_read(multi, &left);
    if (!message) return NULL;
    *code = message->data.code;
    return message->easy;
}
