// The interface between FoundationCurl.c and drainq-urlsession, on Linux.
#ifndef CFOUNDATIONCURL_H
#define CFOUNDATIONCURL_H

/// The header field that carries a request's limits as numbers: the milliseconds that a connection may take, and the
/// bytes of the answer's body that are wanted. It is never sent.
#define FOUNDATION_CURL_LIMITS "Drainq-Limits"

/// The only header field of an answer that URLSession sees: the answer's whole head as it came, in hexadecimal digits.
#define FOUNDATION_CURL_HEAD "Drainq-Head"

#endif
