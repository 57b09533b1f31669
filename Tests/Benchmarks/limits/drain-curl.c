// The limit of draining over libcurl: reads, POSTs and unlinks each file of a directory, some at a time.
//
//   drain-curl DIRECTORY URL CONCURRENCY [CLAIMS [BATCH]]
//
// With CLAIMS each file is moved to that directory first, and with BATCH so many go into one request.
#include <curl/curl.h>

#include "fields.h"
#include "files.h"

struct transfer {
    CURL *easy;
    int first, count;
    char *body;
    struct curl_slist *fields;
};

static CURLM *multi;
static int batch = 1;

static size_t discard(char *bytes, size_t size, size_t count, void *nowhere) {
    (void)bytes, (void)nowhere;
    return size * count;
}

static void begin(struct transfer *transfer) {
    long length = 0;
    transfer->first = next_name;
    for (transfer->count = 0; transfer->count < batch && next_name < name_count; transfer->count++)
        length += load(names[next_name++], transfer->body + length);
    curl_easy_setopt(transfer->easy, CURLOPT_POSTFIELDS, transfer->body);
    curl_easy_setopt(transfer->easy, CURLOPT_POSTFIELDSIZE, length);
    set_fields(transfer->easy, &transfer->fields, transfer->first);
    curl_multi_add_handle(multi, transfer->easy);
}

int main(int count, char **arguments) {
    if (count < 4 || count > 6) return 64;
    list(arguments[1]);
    if (count > 4) claim_in(arguments[4]);
    if (count > 5) batch = atoi(arguments[5]);
    int concurrency = atoi(arguments[3]), running = 0, waiting;
    struct transfer *transfers = calloc(concurrency, sizeof *transfers);
    curl_global_init(CURL_GLOBAL_DEFAULT);
    multi = curl_multi_init();
    for (int index = 0; index < concurrency && next_name < name_count; index++) {
        transfers[index].body = malloc((size_t)batch * largest);
        CURL *easy = transfers[index].easy = curl_easy_init();
        curl_easy_setopt(easy, CURLOPT_URL, arguments[2]);
        curl_easy_setopt(easy, CURLOPT_POST, 1L);
        curl_easy_setopt(easy, CURLOPT_ACCEPT_ENCODING, "");
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
            for (int index = 0; index < transfer->count; index++) delivered(names[transfer->first + index], status);
            if (next_name == name_count) continue;
            begin(transfer);
            running++;
        }
        if (running) curl_multi_poll(multi, NULL, 0, 1000, NULL);
    } while (running);
    return 0;
}
