// The interface between FoundationCurl.c and drainq-urlsession, on Linux.
#ifndef CFOUNDATIONCURL_H
#define CFOUNDATIONCURL_H

#include <stdint.h>

/// The header field that carries a request's limits as numbers: the milliseconds that a connection may take, the bytes
/// of the answer's body that are wanted, 1 if a proxy of the environment carries the request and 0 if none does, and
/// the request's own number. It is never sent.
#define FOUNDATION_CURL_LIMITS "Drainq-Limits"

/// The only header field of an answer that URLSession sees: the answer's whole head as it came, in hexadecimal digits.
#define FOUNDATION_CURL_HEAD "Drainq-Head"

/// Returns why the machine's libcurl cannot be opened, in text that lasts until the next call; null if it can.
const char *foundation_curl_defect(void);
/// Gives the process's threads small stacks. Returns why it cannot have enough of them; null if it can.
const char *foundation_thread_defect(void);
/// Returns the nanoseconds since a byte of the request with this number was last seen to move; -1 if none was.
int64_t foundation_curl_age(long number);

#endif
