// The header fields of drainq's requests, so that all programs of a row send the same bytes.
#include <curl/curl.h>
#include <stdio.h>

// Sets the fields of the request for the operation of a number; `list` holds them while they are used.
static inline void set_fields(CURL *easy, struct curl_slist **list, int number) {
    char key[64];
    snprintf(key, sizeof key, "Idempotency-Key: \"25d5babe-6367-4a3f-9af4-%012d\"", number);
    curl_slist_free_all(*list);
    *list = curl_slist_append(NULL, "Content-Type: application/json");
    curl_slist_append(*list, key);
    curl_slist_append(*list, "Drainq-Attempt: 1");
    curl_slist_append(*list, "User-Agent: drainq/0.2.0");
    curl_slist_append(*list, "Accept:");
    curl_easy_setopt(easy, CURLOPT_HTTPHEADER, *list);
}
