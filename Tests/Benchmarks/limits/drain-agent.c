// The limit of draining in two processes, as drainq does: this one claims, reads and unlinks each file of a directory; its
// child talks to the server over libcurl, notes in a pipe what it begins, and may die without harm.
//
//   drain-agent DIRECTORY URL CONCURRENCY CLAIMS [AUTHORITY]
//
// AUTHORITY is a file of certificates for TLS. Frames share their calls: all that may begin now go to the child in one write, and
// all that has ended comes back in one.
#include <curl/curl.h>
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

struct transfer {
    CURL *easy;
    struct curl_slist *fields;
    int ticket;
    char body[largest];
};

static size_t discard(char *bytes, size_t size, size_t count, void *nowhere) {
    (void)bytes, (void)nowhere;
    return size * count;
}

static void agent(int parent, int begun, const char *url, int concurrency, const char *authority) {
    CURLM *multi = curl_multi_init();
    struct transfer *transfers = calloc(concurrency, sizeof *transfers), **idle = calloc(concurrency, sizeof *idle);
    int idle_count = concurrency;
    for (int index = 0; index < concurrency; index++) {
        CURL *easy = transfers[index].easy = curl_easy_init();
        idle[index] = &transfers[index];
        curl_easy_setopt(easy, CURLOPT_URL, url);
        curl_easy_setopt(easy, CURLOPT_POST, 1L);
        curl_easy_setopt(easy, CURLOPT_ACCEPT_ENCODING, "");
        curl_easy_setopt(easy, CURLOPT_PRIVATE, &transfers[index]);
        curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, discard);
        if (authority) curl_easy_setopt(easy, CURLOPT_CAINFO, authority);
    }
    size_t room = (size_t)concurrency * (largest + sizeof(struct head)), held = 0;
    char *inbox = malloc(room);
    struct head *reports = calloc(concurrency, sizeof *reports);
    int64_t *tickets = calloc(concurrency, sizeof *tickets);
    for (;;) {
        struct curl_waitfd more = {.fd = parent, .events = CURL_WAIT_POLLIN};
        int running, waiting, report_count = 0;
        curl_multi_perform(multi, &running);
        for (CURLMsg *message; (message = curl_multi_info_read(multi, &waiting));) {
            struct transfer *transfer;
            long status = 0;
            curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, (char **)&transfer);
            curl_easy_getinfo(message->easy_handle, CURLINFO_RESPONSE_CODE, &status);
            curl_multi_remove_handle(multi, transfer->easy);
            reports[report_count++] = (struct head){transfer->ticket, status};
            idle[idle_count++] = transfer;
        }
        if (report_count) write_all(parent, (char *)reports, report_count * sizeof *reports);
        curl_multi_poll(multi, &more, 1, 1000, NULL);
        if (!more.revents) continue;
        ssize_t count = recv(parent, inbox + held, room - held, 0);
        if (count <= 0) _exit(0);
        held += count;
        size_t read = 0;
        int ticket_count = 0;
        for (struct head head; held - read >= sizeof head; read += sizeof head + head.number) {
            memcpy(&head, inbox + read, sizeof head);
            if (held - read < sizeof head + head.number) break;
            struct transfer *transfer = idle[--idle_count];
            transfer->ticket = head.ticket;
            memcpy(transfer->body, inbox + read + sizeof head, head.number);
            curl_easy_setopt(transfer->easy, CURLOPT_POSTFIELDS, transfer->body);
            curl_easy_setopt(transfer->easy, CURLOPT_POSTFIELDSIZE, (long)head.number);
            set_fields(transfer->easy, &transfer->fields, head.ticket);
            curl_multi_add_handle(multi, transfer->easy);
            tickets[ticket_count++] = head.ticket;
        }
        memmove(inbox, inbox + read, held -= read);
        if (ticket_count) write_all(begun, (char *)tickets, ticket_count * sizeof *tickets);
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
