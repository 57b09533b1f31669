// An HTTP server on 127.0.0.1 that answers each request with 204, so many milliseconds after it came.
//
//   slow-server PORT-FILE MILLISECONDS [ROOM REFUSALS]
//
// More than ROOM requests at once it refuses with 429 and Retry-After: 1, at once, and adds a byte to the file REFUSALS for
// each. A thread for each connection. It writes its port to the file and ends with whoever started it.
#define _GNU_SOURCE
#include <fcntl.h>
#include <limits.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

static struct timespec delay;
static atomic_long inside;
static long room = LONG_MAX;
static int refusals = -1;

static void *serve(void *argument) {
    static const char done[] = "HTTP/1.1 204 No Content\r\n\r\n";
    static const char full[] = "HTTP/1.1 429 Too Many Requests\r\nRetry-After: 1\r\nContent-Length: 0\r\n\r\n";
    int connection = (int)(long)argument;
    char request[1 << 20];
    size_t held = 0;
    for (;;) {
        char *end;
        request[held] = 0;
        while (!(end = strstr(request, "\r\n\r\n"))) {
            ssize_t more = recv(connection, request + held, sizeof request - 1 - held, 0);
            if (more <= 0) goto gone;
            request[held += more] = 0;
        }
        char *field = strcasestr(request, "\r\ncontent-length:");
        size_t whole = end + 4 - request;
        if (field && field < end) whole += strtoul(field + 17, NULL, 10);
        while (held < whole) {
            ssize_t more = recv(connection, request + held, sizeof request - 1 - held, 0);
            if (more <= 0) goto gone;
            held += more;
        }
        bool has_room = atomic_fetch_add(&inside, 1) < room;
        if (has_room) nanosleep(&delay, NULL);
        else if (write(refusals, "x", 1) < 1) goto gone;
        atomic_fetch_sub(&inside, 1);
        if (send(connection, has_room ? done : full, (has_room ? sizeof done : sizeof full) - 1, MSG_NOSIGNAL) < 0) goto gone;
        memmove(request, request + whole, held -= whole);
    }
gone:
    close(connection);
    return NULL;
}

int main(int count, char **arguments) {
    if (count != 3 && count != 5) return 64;
    if (count == 5) {
        room = atol(arguments[3]);
        refusals = open(arguments[4], O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    }
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    prctl(PR_SET_TIMERSLACK, 1);
    long milliseconds = atol(arguments[2]);
    delay = (struct timespec){ milliseconds / 1000, milliseconds % 1000 * 1000000 };
    struct sockaddr_in address = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    socklen_t length = sizeof address;
    int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (bind(listener, (struct sockaddr *)&address, length) || listen(listener, 128)) return 71;
    getsockname(listener, (struct sockaddr *)&address, &length);
    FILE *file = fopen(arguments[1], "w");
    if (!file) return 73;
    fprintf(file, "%d\n", ntohs(address.sin_port));
    fclose(file);
    for (;;) {
        int connection = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
        if (connection < 0) return 71;
        setsockopt(connection, IPPROTO_TCP, TCP_NODELAY, &(int){ 1 }, sizeof(int));
        pthread_t thread;
        if (pthread_create(&thread, NULL, serve, (void *)(long)connection)) return 71;
        pthread_detach(thread);
    }
}
