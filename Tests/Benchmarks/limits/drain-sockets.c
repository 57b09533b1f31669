// The limit of draining at all: reads, POSTs and unlinks each file of a directory over raw sockets, some at a time.
//
//   drain-sockets DIRECTORY PORT CONCURRENCY
//
// It understands just enough of an answer: its status, and that one with 204 has no body.
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>

#include "files.h"

static int port;

static int dial(void) {
    struct sockaddr_in address = { .sin_family = AF_INET, .sin_port = htons(port) };
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int connection = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    setsockopt(connection, IPPROTO_TCP, TCP_NODELAY, &(int){ 1 }, sizeof(int));
    if (connect(connection, (struct sockaddr *)&address, sizeof address)) {
        perror("connect");
        exit(75);
    }
    return connection;
}

static const char *send_next(int connection) {
    static char request[largest + 512], body[largest];
    const char *name = names[next_name++];
    int length = load(name, body);
    int head = sprintf(
        request,
        "POST /drain HTTP/1.1\r\nHost: 127.0.0.1:%d\r\nAccept-Encoding: deflate, gzip, br, zstd\r\nContent-Type: application/json\r\n"
        "Idempotency-Key: \"25d5babe-6367-4a3f-9af4-%012d\"\r\nDrainq-Attempt: 1\r\nUser-Agent: drainq/0.2.0\r\n"
        "Content-Length: %d\r\n\r\n",
        port, next_name, length);
    memcpy(request + head, body, length);
    if (send(connection, request, head + length, MSG_NOSIGNAL) != head + length) {
        perror("send");
        exit(75);
    }
    return name;
}

int main(int count, char **arguments) {
    if (count != 4) return 64;
    list(arguments[1]);
    port = atoi(arguments[2]);
    int concurrency = atoi(arguments[3]), running = 0;
    struct pollfd *connections = calloc(concurrency, sizeof *connections);
    const char **sent = calloc(concurrency, sizeof *sent);
    for (int index = 0; index < concurrency && next_name < name_count; index++, running++) {
        connections[index] = (struct pollfd){ .fd = dial(), .events = POLLIN };
        sent[index] = send_next(connections[index].fd);
    }
    while (running > 0) {
        poll(connections, concurrency, -1);
        for (int index = 0; index < concurrency; index++) {
            if (!connections[index].revents) continue;
            char answer[4096];
            int length = recv(connections[index].fd, answer, sizeof answer - 1, 0);
            if (length <= 0) {
                perror("recv");
                return 75;
            }
            answer[length] = 0;
            if (!strstr(answer, "\r\n\r\n")) {
                fprintf(stderr, "half an answer\n");
                return 75;
            }
            delivered(sent[index], strtol(answer + sizeof "HTTP/1.1", NULL, 10));
            if (next_name < name_count) {
                sent[index] = send_next(connections[index].fd);
            } else {
                close(connections[index].fd);
                connections[index].fd = -1;
                running--;
            }
        }
    }
    return 0;
}
