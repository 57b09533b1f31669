// The limit of draining over libcurl: reads, POSTs and unlinks each file of a directory, some at a time.
//
//   drain-curl DIRECTORY URL CONCURRENCY
#include <curl/curl.h>

#include "files.h"

struct transfer {
    CURL *easy;
    const char *name;
    char body[largest];
};

static CURLM *multi;

static size_t discard(char *bytes, size_t size, size_t count, void *nowhere) {
    (void)bytes, (void)nowhere;
    return size * count;
}

static void begin(struct transfer *transfer) {
    transfer->name = names[next_name++];
    long length = load(transfer->name, transfer->body);
    curl_easy_setopt(transfer->easy, CURLOPT_POSTFIELDS, transfer->body);
    curl_easy_setopt(transfer->easy, CURLOPT_POSTFIELDSIZE, length);
    curl_multi_add_handle(multi, transfer->easy);
}

int main(int count, char **arguments) {
    if (count != 4) return 64;
    list(arguments[1]);
    int concurrency = atoi(arguments[3]), running = 0, waiting;
    struct transfer *transfers = calloc(concurrency, sizeof *transfers);
    curl_global_init(CURL_GLOBAL_DEFAULT);
    multi = curl_multi_init();
    struct curl_slist *headers = curl_slist_append(NULL, "Content-Type: application/json");
    for (int index = 0; index < concurrency && next_name < name_count; index++) {
        CURL *easy = transfers[index].easy = curl_easy_init();
        curl_easy_setopt(easy, CURLOPT_URL, arguments[2]);
        curl_easy_setopt(easy, CURLOPT_POST, 1L);
        curl_easy_setopt(easy, CURLOPT_HTTPHEADER, headers);
        curl_easy_setopt(easy, CURLOPT_PRIVATE, &transfers[index]);
        curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, discard);
        begin(&transfers[index]);
    }
    do {
        curl_multi_perform(multi, &running);
        for (CURLMsg *message; (message = curl_multi_info_read(multi, &waiting));) {
            struct transfer *transfer;
            long status = 0;
            curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, (char **)&transfer);
            curl_easy_getinfo(message->easy_handle, CURLINFO_RESPONSE_CODE, &status);
            curl_multi_remove_handle(multi, transfer->easy);
            delivered(transfer->name, status);
            if (next_name == name_count) continue;
            begin(transfer);
            running++;
        }
        if (running) curl_multi_poll(multi, NULL, 0, 1000, NULL);
    } while (running);
    return 0;
}
