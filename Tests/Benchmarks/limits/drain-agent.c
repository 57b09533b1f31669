// The limit of draining in two processes, as drainq does: this one claims, reads and unlinks each file of a directory;
// its child talks to the server over libcurl, notes in a pipe what it begins, and may die without harm.
//
//   drain-agent DIRECTORY URL CONCURRENCY CLAIMS [AUTHORITY]
//
// AUTHORITY is a file of certificates for TLS. Frames share their calls: all that may begin now go to the child in one
// write, and all that has ended comes back in one. The child makes the calls of drainq's agent, to libcurl and to the
// kernel: an HTTP/1.1 connection rests in a cache of its own until more caches rest than are in use, and is looked at
// for answers to no request; what a pass writes over HTTP/2 leaves together.
#include <curl/curl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "fields.h"
#include "files.h"

struct head { int32_t ticket, number; };

static void write_all(int file, const char *bytes, size_t length) {
    for (ssize_t count; length; bytes += count, length -= count)
        if ((count = write(file, bytes, length)) < 0) exit(74);
}

// A connection of HTTP/1.1, alone in its cache.
struct cache {
    CURLSH *share;
    int socket;
};

struct transfer {
    CURL *easy;
    struct curl_slist *fields;
    int ticket;
    struct cache *cache;
};

static CURLM *multi;
// The HTTP version of the server, 0 before its first answer; the socket of HTTP/2.
static long version;
static int shared_socket = -1;
static struct cache **resting;
static int resting_count, busy_count;

static void set(int socket, int option, int number) {
    setsockopt(socket, IPPROTO_TCP, option, &number, sizeof number);
}

static size_t take_bytes(char *bytes, size_t size, size_t count, void *nowhere) {
    (void)bytes, (void)nowhere;
    return size * count;
}

static int see_progress(void *nowhere, curl_off_t a, curl_off_t b, curl_off_t c, curl_off_t d) {
    (void)nowhere, (void)a, (void)b, (void)c, (void)d;
    return 0;
}

static int see_opened(void *data, curl_socket_t socket, curlsocktype type) {
    struct transfer *transfer = data;
    (void)type;
    if (transfer->cache) transfer->cache->socket = socket;
    else shared_socket = socket;
    return CURL_SOCKOPT_OK;
}

static int see_request(void *data, char *remote, char *local, int remote_port, int local_port) {
    struct transfer *transfer = data;
    char byte;
    (void)remote, (void)local, (void)remote_port, (void)local_port;
    // Over TLS 1.3 a new connection has session tickets to be read.
    recv(transfer->cache ? transfer->cache->socket : shared_socket, &byte, 1, MSG_PEEK | MSG_DONTWAIT);
    return CURL_PREREQFUNC_OK;
}

static CURL *make_handle(struct transfer *transfer, const char *url, const char *authority) {
    CURL *easy = curl_easy_init();
    curl_easy_setopt(easy, CURLOPT_URL, url);
    curl_easy_setopt(easy, CURLOPT_PROXY, "");
    curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(easy, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_2TLS);
    curl_easy_setopt(easy, CURLOPT_POST, 1L);
    curl_easy_setopt(easy, CURLOPT_ACCEPT_ENCODING, "");
    curl_easy_setopt(easy, CURLOPT_PRIVATE, transfer);
    curl_easy_setopt(easy, CURLOPT_HEADERFUNCTION, take_bytes);
    curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, take_bytes);
    curl_easy_setopt(easy, CURLOPT_XFERINFOFUNCTION, see_progress);
    curl_easy_setopt(easy, CURLOPT_NOPROGRESS, 0L);
    curl_easy_setopt(easy, CURLOPT_SOCKOPTFUNCTION, see_opened);
    curl_easy_setopt(easy, CURLOPT_SOCKOPTDATA, transfer);
    curl_easy_setopt(easy, CURLOPT_PREREQFUNCTION, see_request);
    curl_easy_setopt(easy, CURLOPT_PREREQDATA, transfer);
    if (!authority) return easy;
    // With a directory beside the file, libcurl would read the file for each connection.
    curl_easy_setopt(easy, CURLOPT_CAINFO, authority);
    curl_easy_setopt(easy, CURLOPT_CAPATH, NULL);
    return easy;
}

static void begin(struct transfer *transfer) {
    if (version == 1) {
        if (resting_count > busy_count++ + 1) {
            transfer->cache = resting[0];
            memmove(resting, resting + 1, --resting_count * sizeof *resting);
        } else {
            transfer->cache = calloc(1, sizeof *transfer->cache);
            transfer->cache->share = curl_share_init();
            curl_share_setopt(transfer->cache->share, CURLSHOPT_SHARE, CURL_LOCK_DATA_CONNECT);
        }
        curl_easy_setopt(transfer->easy, CURLOPT_SHARE, transfer->cache->share);
    }
    curl_multi_add_handle(multi, transfer->easy);
}

static void end(struct transfer *transfer) {
    curl_multi_remove_handle(multi, transfer->easy);
    if (transfer->cache) {
        set(transfer->cache->socket, TCP_QUICKACK, 1);
        curl_easy_setopt(transfer->easy, CURLOPT_SHARE, NULL);
        resting[resting_count++] = transfer->cache;
        busy_count--;
        transfer->cache = NULL;
    } else if (!version) {
        curl_easy_getinfo(transfer->easy, CURLINFO_HTTP_VERSION, &version);
        version = version == CURL_HTTP_VERSION_1_1 ? 1 : 2;
    }
}

// Dies of an answer to no request.
static void look_for_strays(struct pollfd *polled) {
    for (int index = 0; index < resting_count; index++)
        polled[index] = (struct pollfd){.fd = resting[index]->socket, .events = POLLIN};
    if (resting_count && poll(polled, resting_count, 0)) _exit(76);
}

static void agent(int parent, int begun, const char *url, int concurrency, const char *authority) {
    multi = curl_multi_init();
    version = authority ? 0 : 1;
    curl_multi_setopt(multi, CURLMOPT_MAXCONNECTS, concurrency + 8L);
    struct transfer *transfers = calloc(concurrency, sizeof *transfers), **idle = calloc(concurrency, sizeof *idle);
    // The first transfer shows the server's version; until it ends the others wait.
    struct transfer **waiting = calloc(concurrency, sizeof *waiting);
    int idle_count = concurrency, waiting_count = 0, running = 0;
    for (int index = 0; index < concurrency; index++) {
        transfers[index].easy = make_handle(&transfers[index], url, authority);
        idle[index] = &transfers[index];
    }
    resting = calloc(2 * concurrency + 8, sizeof *resting);
    struct pollfd *polled = calloc(2 * concurrency + 8, sizeof *polled);
    size_t room = (size_t)concurrency * (largest + sizeof(struct head)), held = 0;
    char *inbox = malloc(room);
    struct head *reports = calloc(concurrency, sizeof *reports);
    int64_t *tickets = calloc(concurrency, sizeof *tickets);
    for (int has_begun = 0;; has_begun = 0) {
        struct curl_waitfd more = {.fd = parent, .events = CURL_WAIT_POLLIN};
        int left, report_count = 0, ticket_count = 0;
        curl_multi_poll(multi, &more, 1, version && waiting_count ? 0 : 1000, NULL);
        if (more.revents) {
            ssize_t count = recv(parent, inbox + held, room - held, 0);
            if (count <= 0) _exit(0);
            held += count;
            size_t read = 0;
            look_for_strays(polled);
            for (struct head head; held - read >= sizeof head; read += sizeof head + head.number) {
                memcpy(&head, inbox + read, sizeof head);
                if (held - read < sizeof head + head.number) break;
                struct transfer *transfer = idle[--idle_count];
                transfer->ticket = head.ticket;
                curl_easy_setopt(transfer->easy, CURLOPT_POSTFIELDSIZE, (long)head.number);
                curl_easy_setopt(transfer->easy, CURLOPT_COPYPOSTFIELDS, inbox + read + sizeof head);
                set_fields(transfer->easy, &transfer->fields, head.ticket);
                tickets[ticket_count++] = head.ticket;
                if (!version && running + ticket_count > 1) {
                    waiting[waiting_count++] = transfer;
                    continue;
                }
                begin(transfer);
                has_begun = 1;
            }
            memmove(inbox, inbox + read, held -= read);
        }
        if (ticket_count) write_all(begun, (char *)tickets, ticket_count * sizeof *tickets);
        for (; version && waiting_count; has_begun = 1) begin(waiting[--waiting_count]);
        if (has_begun && version == 2) set(shared_socket, TCP_CORK, 1);
        curl_multi_perform(multi, &running);
        if (has_begun && version == 2) set(shared_socket, TCP_CORK, 0);
        for (CURLMsg *message; (message = curl_multi_info_read(multi, &left));) {
            struct transfer *transfer;
            long status = 0;
            curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, (char **)&transfer);
            curl_easy_getinfo(message->easy_handle, CURLINFO_RESPONSE_CODE, &status);
            end(transfer);
            reports[report_count++] = (struct head){transfer->ticket, status};
            idle[idle_count++] = transfer;
        }
        if (report_count) write_all(parent, (char *)reports, report_count * sizeof *reports);
    }
}

int main(int count, char **arguments) {
    if (count < 5 || count > 6) return 64;
    int concurrency = atoi(arguments[3]), ends[2], begun[2], in_flight = 0, done = 0;
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) || pipe(begun)) return 71;
    fcntl(begun[0], F_SETFL, O_NONBLOCK);
    pid_t child = fork();
    if (child < 0) return 71;
    if (child == 0) {
        close(ends[0]);
        close(begun[0]);
        curl_global_init(CURL_GLOBAL_DEFAULT);
        agent(ends[1], begun[1], arguments[2], concurrency, count > 5 ? arguments[5] : NULL);
    }
    close(ends[1]);
    list(arguments[1]);
    claim_in(arguments[4]);
    char *outbox = malloc((size_t)concurrency * (largest + sizeof(struct head)));
    struct head *reports = calloc(concurrency, sizeof *reports);
    size_t held = 0;
    while (done < name_count) {
        size_t length = 0;
        for (; in_flight < concurrency && next_name < name_count; in_flight++, next_name++) {
            struct head head = {next_name, load(names[next_name], outbox + length + sizeof head)};
            memcpy(outbox + length, &head, sizeof head);
            length += sizeof head + head.number;
        }
        if (length) write_all(ends[0], outbox, length);
        ssize_t got = recv(ends[0], (char *)reports + held, concurrency * sizeof *reports - held, 0);
        if (got <= 0) return 70;
        held += got;
        size_t whole = held / sizeof *reports;
        for (size_t index = 0; index < whole; index++, in_flight--, done++)
            delivered(names[reports[index].ticket], reports[index].number);
        memmove(reports, (char *)reports + whole * sizeof *reports, held -= whole * sizeof *reports);
        // What is in doubt if the child dies, read before the pipe is full.
        char doubts[4096];
        if (done % 256 < (int)whole) while (read(begun[0], doubts, sizeof doubts) > 0) {}
    }
    close(ends[0]);
    int status;
    return waitpid(child, &status, 0) == child && status == 0 ? 0 : 70;
}
