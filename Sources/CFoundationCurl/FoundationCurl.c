// A layer between Foundation and the machine's libcurl.so.4, on Linux. The linker binds the calls of
// FoundationNetworking, dynamic or static, to the functions here. The first call of each opens the machine's libcurl,
// so a program that sends nothing starts without it.
//
// Most functions only forward. The others correct what URLSession's interface cannot express:
// - Every request has a connection of its own and speaks HTTP/1.1: no answer to another request, no repeated request.
// - A connection has a time-out of its own. If an address of the host refuses, or does not answer in half of the
//   time-out, libcurl tries the next one. If this process stood still meanwhile, the connection is made anew.
// - A proxy's endless answer to CONNECT is cut off.
// - Foundation sees one well-formed head for every answer, with the real head in a header field. So its parser, its
//   redirects and its challenges, which trap or hang, have no work. Trailers are dropped.
// - An answer's body ends at the bytes that are wanted, and Foundation gets the bytes of one pass together: each call
//   of its receiver costs more than a thousand bytes.
// - An answer that no transport takes ends its transfer: too many header fields or trailers, another version of HTTP
//   than its connection speaks, more than one transfer coding. Bodies are not decoded. URLs are sent as they are.
// - Every byte that moves counts as progress, also of interim answers and header lines.
// - libcurl does not choose a proxy itself: it is told whether one of the environment carries the request.
// - A transfer succeeds only if its head is whole, and a 2xx only if the whole request had left.
// - An error carries libcurl's own code and message.
// - Foundation watches one descriptor that stays open, in place of sockets that come and go under the same number.
// - Threads have small stacks, and a program that can make no thread ends.
// - Foundation's timer, which rings a millisecond early and is then not set again, rings in time.
//
// Foundation passes one integer or pointer to the variadic functions. The calling conventions of Linux on x86-64 and
// AArch64 put it into the same register as a fixed parameter.
#ifdef __linux__
#define _GNU_SOURCE
#include "CCurl.h"
#include "CFoundationCurl.h"
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/epoll.h>
#include <sysexits.h>
#include <time.h>
#include <unistd.h>

// From curl/curl.h and curl/multi.h; the stable interface never changes these numbers.
enum {
    WRITEDATA = 10001, ERRORBUFFER = 10010, HTTPHEADER = 10023, HEADERDATA = 10029, WRITEFUNCTION = 20011,
    HEADERFUNCTION = 20079, INFILESIZE_LARGE = 30115,
    FRESH_CONNECT = 74, FORBID_REUSE = 75, HTTP_VERSION = 84, CONNECTTIMEOUT_MS = 156, SUPPRESS_CONNECT_HEADERS = 265,
    HTTP09_ALLOWED = 285, PROXY = 10004, NOPROXY = 10177, OPENSOCKETDATA = 10164, OPENSOCKETFUNCTION = 20163,
    NOPROGRESS = 43, CAPATH = 10097, ACCEPT_ENCODING = 10102, PATH_AS_IS = 234,
    SSL_CTX_DATA = 10109, SSL_CTX_FUNCTION = 20108, XFERINFODATA = 10057, XFERINFOFUNCTION = 20219,
    VERSION_1_1 = 2,
    RESPONSE_CODE = 0x200002, CAINFO = 0x10003d, HTTP_CONNECTCODE = 0x200016, OS_ERRNO = 0x200019, PRETRANSFER_TIME = 0x600035,
    SIZE_UPLOAD = 0x600007, CONTENT_LENGTH_DOWNLOAD = 0x30000f,
    SOCKETFUNCTION = 20001, SOCKETDATA = 10002, TIMERFUNCTION = 20004,
    POLL_IN = 1, POLL_OUT = 2, POLL_INOUT = 3, POLL_REMOVE = 4, EVENT_IN = 1, EVENT_OUT = 2, EVENT_ERROR = 4,
    WEIRD_REPLY = 8, WRITE_ERROR = 23, TIMED_OUT = 28, GOT_NOTHING = 52, SEND_ERROR = 55, PROXY_ERROR = 97, ERROR_SIZE = 256,
};
struct list { char *text; struct list *next; };
struct message { int kind; void *easy; union { void *whatever; int code; } data; };

static void *library(void) { return dlopen("libcurl.so.4", RTLD_NOW | RTLD_LOCAL); }

const char *foundation_curl_defect(void) { return library() ? NULL : dlerror(); }

// The stack of a thread, in bytes. Stacks count as memory of the agent, and URLSession needs far less than the usual 8 MB.
enum { STACK = 1 << 20, THREADS = 8 };

static void *wait_for(void *lock) {
    pthread_mutex_lock(lock);
    pthread_mutex_unlock(lock);
    return NULL;
}

// Whether this program is an agent, whose main function asks for its threads: the tests link this file, too.
static bool is_agent;

const char *foundation_thread_defect(void) {
    is_agent = true;
    pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    pthread_t threads[THREADS];
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, STACK);
    pthread_setattr_default_np(&attributes);
    int count = 0;
    pthread_mutex_lock(&lock);
    while (count < THREADS && pthread_create(&threads[count], NULL, wait_for, &lock) == 0) count++;
    pthread_mutex_unlock(&lock);
    for (int i = 0; i < count; i++) pthread_join(threads[i], NULL);
    return count < THREADS ? "there is no memory for its threads" : NULL;
}

// libdispatch calls this, again and again, when it lacks memory or a thread, and would hold the agent.
unsigned sleep(unsigned seconds) {
    if (is_agent) _exit(EX_OSERR);
    struct timespec time = {.tv_sec = seconds};
    return nanosleep(&time, &time) ? (unsigned)time.tv_sec : 0;
}

static void *function(const char *name) {
    void *opened = library();
    void *found = opened ? dlsym(opened, name) : NULL;
    if (found) return found;
    fprintf(stderr, "drainq: error: %s\n", dlerror());
    _exit(70);
}

// REAL(name)(arguments) calls the machine's function.
#define DECLARE(result, name, parameters) \
    static result(*real_##name(void)) parameters { \
        static result(*real) parameters; \
        if (!real) *(void **)&real = function(#name); \
        return real; \
    }
#define REAL(name) (real_##name())
#define FORWARD(result, name, parameters, arguments) \
    DECLARE(result, name, parameters) \
    result name parameters { return REAL(name) arguments; }

FORWARD(int, curl_global_init, (long flags), (flags))
FORWARD(char *, curl_version, (void), ())
FORWARD(void *, curl_version_info, (int age), (age))
FORWARD(void, curl_free, (void *memory), (memory))
FORWARD(int, curl_easy_pause, (void *easy, int mask), (easy, mask))
FORWARD(const char *, curl_easy_strerror, (int code), (code))
FORWARD(void *, curl_multi_init, (void), ())
FORWARD(int, curl_multi_cleanup, (void *multi), (multi))
FORWARD(int, curl_multi_remove_handle, (void *multi, void *easy), (multi, easy))
FORWARD(void *, curl_slist_append, (void *list, const char *text), (list, text))
FORWARD(void, curl_slist_free_all, (void *list), (list))
FORWARD(void *, curl_url, (void), ())
FORWARD(int, curl_url_set, (void *url, int part, const char *text, unsigned flags), (url, part, text, flags))
FORWARD(int, curl_url_get, (const void *url, int part, char **text, unsigned flags), (url, part, text, flags))
DECLARE(void *, curl_easy_init, (void))
DECLARE(void, curl_easy_cleanup, (void *))
DECLARE(int, curl_easy_setopt, (void *, int, ...))
DECLARE(int, curl_easy_getinfo, (void *, int, ...))
DECLARE(int, curl_multi_setopt, (void *, int, ...))
DECLARE(int, curl_multi_add_handle, (void *, void *))
DECLARE(int, curl_multi_assign, (void *, int, void *))
DECLARE(int, curl_multi_socket_action, (void *, int, int, int *))
DECLARE(int, curl_multi_socket_all, (void *, int *))
DECLARE(struct message *, curl_multi_info_read, (void *, int *))

// Reports the length of every answer as unknown: Foundation traps on a length that is no Int64.
int curl_easy_getinfo(void *easy, int info, void *result) {
    if (info != CONTENT_LENGTH_DOWNLOAD) return REAL(curl_easy_getinfo)(easy, info, result);
    *(double *)result = -1;
    return 0;
}

// MARK: - Transfers

typedef size_t (*receiver)(char *, size_t, size_t, void *);

// The state of an easy handle. libcurl passes it to the functions that receive lines, bodies and progress.
struct transfer {
    void *easy;
    receiver head_receiver, body_receiver; // Foundation's
    void *head_context, *body_context;
    char *words;
    long connect_milliseconds;
    int64_t length, room; // the length of the request's body; the room for the answer's
    char *head, *body; // the head so far; the part of the body that Foundation has not been given yet
    size_t head_length, body_length, lines_length;
    bool has_status; // whether the status line of the head has come
    int codings; // the transfer codings of the body
    const char *defect; // why the answer ended its transfer; NULL if it did not
    long tls; // the number of the TLS connection, see ccurl_watch_tls
    bool has_head, has_long_tunnel, is_full, uses_proxy;
    bool stood_still; // whether this process has stood still while the connection was made, or after
    int socket_error; // the errno of a socket that could not be made
    long number; // what foundation_curl_age calls the request
    _Atomic int64_t moved; // the time when a byte was last seen to move, in nanoseconds; 0 for never
    int64_t bytes; // the bytes that had moved until then
    unsigned pass, told; // the pass of the last progress call, and the calls in that pass
    struct transfer *next;
};

static struct transfer *transfers;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
// Upper bound on the bytes of an answer's heads and trailers.
static const size_t longest_head = 256 << 10;
// Upper bound on the bytes of a proxy's answer to CONNECT that are read in one pass. libcurl reads them one by one with
// a call of the progress function for each, and serves no other transfer meanwhile.
static const unsigned longest_tunnel = 16 << 10;
// The number of calls in which libcurl works. All of them come from one queue.
static unsigned pass;

static struct transfer *transfer_of(void *easy) {
    pthread_mutex_lock(&lock);
    struct transfer *found = transfers;
    while (found && found->easy != easy) found = found->next;
    pthread_mutex_unlock(&lock);
    return found;
}

void *curl_easy_init(void) {
    void *easy = REAL(curl_easy_init)();
    struct transfer *made = calloc(1, sizeof *made);
    if (!easy || !made) abort();
    made->easy = easy;
    made->room = INT64_MAX;
    pthread_mutex_lock(&lock);
    made->next = transfers;
    transfers = made;
    pthread_mutex_unlock(&lock);
    return easy;
}

void curl_easy_cleanup(void *easy) {
    REAL(curl_easy_cleanup)(easy);
    pthread_mutex_lock(&lock);
    struct transfer **place = &transfers;
    while (*place && (*place)->easy != easy) place = &(*place)->next;
    struct transfer *gone = *place;
    if (gone) *place = gone->next;
    pthread_mutex_unlock(&lock);
    if (gone) {
        free(gone->head);
        free(gone->body);
    }
    free(gone);
}

static int64_t now(void) {
    struct timespec time;
    clock_gettime(CLOCK_BOOTTIME, &time);
    return time.tv_sec * INT64_C(1000000000) + time.tv_nsec;
}

int64_t foundation_curl_age(long number) {
    int64_t moved = 0;
    pthread_mutex_lock(&lock);
    for (struct transfer *each = transfers; each; each = each->next)
        if (each->number == number && each->moved > moved) moved = each->moved;
    pthread_mutex_unlock(&lock);
    return moved ? now() - moved : -1;
}

static bool hand(struct transfer *transfer, char *text) {
    size_t length = strlen(text);
    return transfer->head_receiver(text, 1, length, transfer->head_context) == length;
}

static bool show_head(struct transfer *transfer) {
    static const char digits[] = "0123456789abcdef";
    char *field = malloc(sizeof FOUNDATION_CURL_HEAD + transfer->head_length * 2 + 8);
    if (!field) return false;
    char *end = stpcpy(field, FOUNDATION_CURL_HEAD ": ");
    for (size_t i = 0; i < transfer->head_length; i++) {
        unsigned char byte = transfer->head[i];
        *end++ = digits[byte >> 4];
        *end++ = digits[byte & 15];
    }
    strcpy(end, "\r\n");
    char status[] = "HTTP/1.1 200 OK\r\n", blank[] = "\r\n";
    bool taken = hand(transfer, status) && hand(transfer, field) && hand(transfer, blank);
    free(field);
    return taken;
}

static size_t refuse(struct transfer *transfer, const char *defect) {
    transfer->defect = defect;
    return 0;
}

static bool append_line(struct transfer *transfer, const char *line, size_t length) {
    char *grown = realloc(transfer->head, transfer->head_length + length);
    if (!grown) return false;
    memcpy(grown + transfer->head_length, line, length);
    transfer->head = grown;
    transfer->head_length += length;
    return true;
}

// Receives a line of a head or trailer. A head that is too long ends at the limit: its status decides.
static size_t take_line(char *line, size_t size, size_t count, void *context) {
    struct transfer *transfer = context;
    size_t length = size * count;
    transfer->moved = now();
    transfer->lines_length += length;
    if (transfer->lines_length > longest_head) {
        if (!transfer->has_head && append_line(transfer, "\r\n", 2)) show_head(transfer);
        return refuse(transfer, "the answer's header fields are longer than 262144 bytes");
    }
    if (transfer->has_head) return length;
    const char *name = line + strspn(line, " \t");
    if (!transfer->has_status && length > 6 && strncmp(name, "HTTP/", 5) == 0 && name[5] != '1')
        return refuse(transfer, "the answer is in another version of HTTP, but its connection speaks HTTP/1");
    transfer->has_status = true;
    transfer->codings += ccurl_codings(line, length);
    if (!append_line(transfer, line, length)) return 0;
    if (line[0] != '\n' && !(length > 1 && line[0] == '\r' && line[1] == '\n')) return length;
    long status = 0;
    REAL(curl_easy_getinfo)(transfer->easy, RESPONSE_CODE, &status);
    if (status < 200) {
        transfer->has_status = false;
        transfer->codings = 0;
        return length;
    }
    transfer->has_head = true;
    if (!show_head(transfer)) return 0;
    return transfer->codings > 1 ? refuse(transfer, "the answer has more than one transfer coding") : length;
}

static size_t take_body(char *bytes, size_t size, size_t count, void *context) {
    struct transfer *transfer = context;
    size_t length = size * count;
    if (!transfer->has_head) return 0;
    size_t wanted = (int64_t)length <= transfer->room ? length : (size_t)transfer->room;
    char *grown = wanted > 0 ? realloc(transfer->body, transfer->body_length + wanted) : NULL;
    if (wanted > 0 && !grown) return 0;
    if (grown) {
        transfer->body = grown;
        memcpy(grown + transfer->body_length, bytes, wanted);
        transfer->body_length += wanted;
    }
    transfer->room -= wanted;
    transfer->is_full = wanted < length;
    return wanted;
}

// Gives Foundation what has arrived of the bodies in this pass. Called outside of libcurl.
static void hand_bodies(void) {
    pthread_mutex_lock(&lock);
    struct transfer *next = transfers;
    pthread_mutex_unlock(&lock);
    // Transfers come and go on the queue that calls this.
    for (; next; next = next->next) {
        if (next->body_length == 0) continue;
        next->body_receiver(next->body, 1, next->body_length, next->body_context);
        free(next->body);
        next->body = NULL;
        next->body_length = 0;
    }
}

static bool is_connected(void *easy) {
    int64_t connected = 0;
    REAL(curl_easy_getinfo)(easy, PRETRANSFER_TIME, &connected);
    return connected > 0;
}

// Receives the progress of a transfer; a result other than 0 ends the transfer.
static int take_progress(void *context, int64_t to_receive, int64_t received, int64_t to_send, int64_t sent) {
    (void)to_receive, (void)to_send;
    struct transfer *transfer = context;
    if (received + sent != transfer->bytes) transfer->moved = now();
    transfer->bytes = received + sent;
    if (transfer->pass != pass) transfer->told = 0;
    transfer->pass = pass;
    if (++transfer->told <= longest_tunnel || is_connected(transfer->easy)) return 0;
    transfer->has_long_tunnel = true;
    return 1;
}

// Reads the limits from a request's header lines and cuts them off: libcurl sends no line that ends with its colon.
static void take_limits(struct transfer *transfer, struct list *line) {
    static const char name[] = FOUNDATION_CURL_LIMITS ":";
    for (; line; line = line->next) {
        if (strncasecmp(line->text, name, sizeof name - 1)) continue;
        char *numbers = line->text + sizeof name - 1;
        transfer->connect_milliseconds = strtol(numbers, &numbers, 10);
        transfer->room = strtoll(numbers, &numbers, 10);
        transfer->uses_proxy = strtol(numbers, &numbers, 10) != 0;
        transfer->number = strtol(numbers, NULL, 10);
        line->text[sizeof name - 1] = 0;
    }
}

int curl_easy_setopt(void *easy, int option, void *argument) {
    struct transfer *transfer = transfer_of(easy);
    if (!transfer) return REAL(curl_easy_setopt)(easy, option, argument);
    switch (option) {
    case HEADERFUNCTION:
        transfer->head_receiver = (receiver)argument;
        argument = (void *)take_line;
        break;
    case WRITEFUNCTION:
        transfer->body_receiver = (receiver)argument;
        argument = (void *)take_body;
        break;
    case HEADERDATA:
        transfer->head_context = argument;
        argument = transfer;
        break;
    case WRITEDATA:
        transfer->body_context = argument;
        argument = transfer;
        break;
    case ERRORBUFFER: transfer->words = argument; break;
    case ACCEPT_ENCODING: argument = NULL; break;
    case INFILESIZE_LARGE: transfer->length = (int64_t)argument; break;
    case HTTPHEADER: take_limits(transfer, argument); break;
    }
    return REAL(curl_easy_setopt)(easy, option, argument);
}

// Sets the options of a transfer that Foundation does not set.
int curl_multi_add_handle(void *multi, void *easy) {
    struct transfer *transfer = transfer_of(easy);
    REAL(curl_easy_setopt)(easy, HTTP_VERSION, (long)VERSION_1_1);
    REAL(curl_easy_setopt)(easy, FRESH_CONNECT, 1L);
    REAL(curl_easy_setopt)(easy, FORBID_REUSE, 1L);
    REAL(curl_easy_setopt)(easy, HTTP09_ALLOWED, 0L);
    REAL(curl_easy_setopt)(easy, SUPPRESS_CONNECT_HEADERS, 1L);
    // libcurl reads all authorities again for each connection if both a file and a directory have them.
    char *authorities = NULL;
    if (REAL(curl_easy_getinfo)(easy, CAINFO, &authorities) == 0 && authorities && access(authorities, R_OK) == 0)
        REAL(curl_easy_setopt)(easy, CAPATH, NULL);
    if (transfer) {
        REAL(curl_easy_setopt)(easy, XFERINFOFUNCTION, take_progress);
        REAL(curl_easy_setopt)(easy, XFERINFODATA, transfer);
        REAL(curl_easy_setopt)(easy, NOPROGRESS, 0L);
        REAL(curl_easy_setopt)(easy, OPENSOCKETFUNCTION, ccurl_open_socket);
        REAL(curl_easy_setopt)(easy, OPENSOCKETDATA, &transfer->socket_error);
        REAL(curl_easy_setopt)(easy, NOPROXY, "");
        REAL(curl_easy_setopt)(easy, PATH_AS_IS, 1L);
        if (ccurl_sees_tls()) {
            REAL(curl_easy_setopt)(easy, SSL_CTX_DATA, &transfer->tls);
            REAL(curl_easy_setopt)(easy, SSL_CTX_FUNCTION, ccurl_watch_tls);
        }
        if (!transfer->uses_proxy) REAL(curl_easy_setopt)(easy, PROXY, "");
        if (transfer->connect_milliseconds > 0)
            REAL(curl_easy_setopt)(easy, CONNECTTIMEOUT_MS, transfer->connect_milliseconds);
    }
    return REAL(curl_multi_add_handle)(multi, easy);
}

// Writes the facts of a failure before libcurl's message, as the numbers that FoundationOutcome reads.
static void explain(struct transfer *transfer, int code) {
    long system_error = 0, proxy_status = 0;
    REAL(curl_easy_getinfo)(transfer->easy, OS_ERRNO, &system_error);
    REAL(curl_easy_getinfo)(transfer->easy, HTTP_CONNECTCODE, &proxy_status);
    char words[ERROR_SIZE];
    snprintf(words, sizeof words, "%s", transfer->words[0] ? transfer->words : REAL(curl_easy_strerror)(code));
    snprintf(transfer->words, ERROR_SIZE, "%d %ld %d %ld %d %d: %s", code, system_error, transfer->socket_error,
        proxy_status, is_connected(transfer->easy), ccurl_tls_alert(transfer->tls), words);
}

// Tells Foundation how a transfer ended. A transfer without a head fails, and so does one whose 2xx came before the
// whole request had left.
void *curl_multi_info_read(void *multi, int *left) {
    static _Thread_local struct message told;
    struct message *message = REAL(curl_multi_info_read)(multi, left);
    struct transfer *transfer = message ? transfer_of(message->easy) : NULL;
    if (!transfer) return message;
    if (transfer->stood_still && message->data.code == TIMED_OUT && !is_connected(transfer->easy)) {
        transfer->stood_still = false;
        transfer->moved = now();
        curl_multi_remove_handle(multi, transfer->easy);
        curl_multi_add_handle(multi, transfer->easy);
        return curl_multi_info_read(multi, left);
    }
    told = *message;
    if (told.data.code == WRITE_ERROR && transfer->is_full) told.data.code = 0;
    if ((told.data.code == 0 || told.data.code == WRITE_ERROR) && !transfer->has_head) {
        told.data.code = GOT_NOTHING;
        if (transfer->words) strcpy(transfer->words, "the answer has no final status");
    }
    if (told.data.code == 0) {
        long status = 0;
        int64_t sent = 0;
        REAL(curl_easy_getinfo)(told.easy, RESPONSE_CODE, &status);
        REAL(curl_easy_getinfo)(told.easy, SIZE_UPLOAD, &sent);
        if (status < 300 && sent != transfer->length) {
            told.data.code = SEND_ERROR;
            if (transfer->words)
                snprintf(transfer->words, ERROR_SIZE, "the answer came when %lld of %lld bytes of the body had been sent",
                    (long long)sent, (long long)transfer->length);
        }
    }
    if (transfer->defect) {
        told.data.code = WEIRD_REPLY;
        if (transfer->words) snprintf(transfer->words, ERROR_SIZE, "%s", transfer->defect);
    }
    if (transfer->has_long_tunnel) {
        told.data.code = PROXY_ERROR;
        if (transfer->words) snprintf(transfer->words, ERROR_SIZE, "the proxy's answer to CONNECT does not end");
    }
    if (told.data.code != 0 && transfer->words) explain(transfer, told.data.code);
    return &told;
}

// MARK: - Sockets

// The state of the only session: Foundation's socket function, and the descriptor that stands for all sockets.
static int (*socket_receiver)(void *, int, int, void *, void *);
static void *socket_context;
static int all_sockets = -1;
// Whether a connection has failed: libcurl tries the host's next address when it is called again.
static bool has_lost_address;

static int watch(void *easy, int socket, int what, void *context, void *own) {
    (void)context;
    (void)own;
    if (what == POLL_REMOVE) {
        if (!is_connected(easy)) has_lost_address = true;
        epoll_ctl(all_sockets, EPOLL_CTL_DEL, socket, NULL);
        return 0;
    }
    struct epoll_event event = {.data.fd = socket};
    if (what & POLL_IN) event.events |= EPOLLIN;
    if (what & POLL_OUT) event.events |= EPOLLOUT;
    if (all_sockets < 0) {
        all_sockets = epoll_create1(EPOLL_CLOEXEC);
        if (all_sockets < 0) abort();
        socket_receiver(easy, all_sockets, POLL_IN, socket_context, NULL);
    }
    if (epoll_ctl(all_sockets, EPOLL_CTL_MOD, socket, &event) != 0 && errno == ENOENT)
        epoll_ctl(all_sockets, EPOLL_CTL_ADD, socket, &event);
    return 0;
}

static int (*timer_receiver)(void *, long, void *);
// The time at which the timer rings, in nanoseconds; 0 for never.
static int64_t alarm_time;
// The most by which a timer rings late on a machine that is only busy, in nanoseconds.
static const int64_t slack = 500000000;

// Notes a time in which this process stood still: the timer rings much later than it was set for.
static void note_standstill(bool is_ringing) {
    bool is_late = alarm_time != 0 && now() - alarm_time > slack;
    if (is_ringing || is_late) alarm_time = 0;
    if (!is_late) return;
    pthread_mutex_lock(&lock);
    for (struct transfer *each = transfers; each; each = each->next) each->stood_still = true;
    pthread_mutex_unlock(&lock);
}

static int set_timer(void *multi, long milliseconds, void *context) {
    alarm_time = milliseconds >= 0 ? now() + milliseconds * INT64_C(1000000) : 0;
    return timer_receiver(multi, milliseconds > 0 ? milliseconds + 2 : milliseconds, context);
}

int curl_multi_setopt(void *multi, int option, void *argument) {
    if (option == SOCKETDATA) {
        socket_context = argument;
    } else if (option == TIMERFUNCTION) {
        *(void **)&timer_receiver = argument;
        argument = (void *)set_timer;
    } else if (option == SOCKETFUNCTION) {
        *(void **)&socket_receiver = argument;
        argument = (void *)watch;
    }
    return REAL(curl_multi_setopt)(multi, option, argument);
}

// Ignores the one descriptor: Foundation keeps its sources for it, and nothing asks for them again.
int curl_multi_assign(void *multi, int socket, void *own) {
    return socket == all_sockets ? 0 : REAL(curl_multi_assign)(multi, socket, own);
}

static int take_events(void *multi, int *running) {
    struct epoll_event ready[16];
    int count = epoll_wait(all_sockets, ready, sizeof ready / sizeof *ready, 0);
    int result = 0;
    for (int i = 0; i < count && result == 0; i++) {
        int what = 0;
        if (ready[i].events & (EPOLLIN | EPOLLHUP)) what |= EVENT_IN;
        if (ready[i].events & EPOLLOUT) what |= EVENT_OUT;
        if (ready[i].events & EPOLLERR) what |= EVENT_ERROR;
        result = REAL(curl_multi_socket_action)(multi, ready[i].data.fd, what, running);
    }
    return result;
}

int curl_multi_socket_action(void *multi, int socket, int events, int *running) {
    pass++;
    note_standstill(socket < 0);
    bool is_all = socket >= 0 && socket == all_sockets;
    int result = is_all ? take_events(multi, running) : REAL(curl_multi_socket_action)(multi, socket, events, running);
    while (has_lost_address && result == 0) {
        has_lost_address = false;
        result = REAL(curl_multi_socket_all)(multi, running);
    }
    hand_bodies();
    return result;
}
#endif
