// libcurl as Foundation's URLSession sees it in drainq-urlsession, on Linux.
#ifndef CFOUNDATIONCURL_H
#define CFOUNDATIONCURL_H

/// The header field by which a request says, in numbers, what URLSession has no word for: how many milliseconds a connection
/// may take, and how many bytes of the answer's body are wanted. It is never sent.
#define FOUNDATION_CURL_LIMITS "Drainq-Limits"

/// The only header field of an answer that URLSession is shown: the answer's whole head as it came, in hexadecimal digits.
#define FOUNDATION_CURL_HEAD "Drainq-Head"

#endif
