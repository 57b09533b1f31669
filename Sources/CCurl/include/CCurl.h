// libcurl's stable ABI (version 4), declared here and opened at run time: a build needs nothing of libcurl, and a
// process only to send through it. The numbers are those of curl.h and multi.h, which never change. Declarations and a
// few lines of C, no logic but the guard of ccurl_multi_perform and what OpenSSL tells of a connection.
#ifndef CCURL_H
#define CCURL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct ccurl_easy ccurl_easy;
typedef struct ccurl_multi ccurl_multi;
typedef struct ccurl_share ccurl_share;

typedef struct ccurl_list {
    char *text;
    struct ccurl_list *next;
} ccurl_list;

typedef enum ccurl_option {
    CURLOPT_NOPROGRESS = 43,
    CURLOPT_NOBODY = 44,
    CURLOPT_UPLOAD = 46,
    CURLOPT_POST = 47,
    CURLOPT_FRESH_CONNECT = 74,
    CURLOPT_FORBID_REUSE = 75,
    CURLOPT_HTTPGET = 80,
    CURLOPT_HTTP_VERSION = 84,
    CURLOPT_NOSIGNAL = 99,
    CURLOPT_IGNORE_CONTENT_LENGTH = 136,
    CURLOPT_CONNECTTIMEOUT_MS = 156,
    CURLOPT_PROTOCOLS = 181,
    CURLOPT_PATH_AS_IS = 234,
    CURLOPT_HEADEROPT = 229,
    CURLOPT_SUPPRESS_CONNECT_HEADERS = 265,
    CURLOPT_DISALLOW_USERNAME_IN_URL = 278,
    CURLOPT_UPLOAD_BUFFERSIZE = 280,
    CURLOPT_HTTP09_ALLOWED = 285,
    CURLOPT_WRITEDATA = 10001,
    CURLOPT_URL = 10002,
    CURLOPT_PROXY = 10004,
    CURLOPT_READDATA = 10009,
    CURLOPT_ERRORBUFFER = 10010,
    CURLOPT_HTTPHEADER = 10023,
    CURLOPT_SSLCERT = 10025,
    CURLOPT_SSL_CTX_DATA = 10109,
    CURLOPT_KEYPASSWD = 10026,
    CURLOPT_HEADERDATA = 10029,
    CURLOPT_CUSTOMREQUEST = 10036,
    CURLOPT_XFERINFODATA = 10057,
    CURLOPT_CAINFO = 10065,
    CURLOPT_SSLKEY = 10087,
    CURLOPT_SHARE = 10100,
    CURLOPT_CAPATH = 10097,
    CURLOPT_PRIVATE = 10103,
    CURLOPT_SOCKOPTDATA = 10149,
    CURLOPT_OPENSOCKETDATA = 10164,
    CURLOPT_COPYPOSTFIELDS = 10165,
    CURLOPT_SEEKDATA = 10168,
    CURLOPT_NOPROXY = 10177,
    CURLOPT_CLOSESOCKETDATA = 10209,
    CURLOPT_UNIX_SOCKET_PATH = 10231,
    CURLOPT_PROXY_CAINFO = 10246,
    CURLOPT_PROXY_CAPATH = 10247,
    CURLOPT_PREREQDATA = 10313,
    CURLOPT_WRITEFUNCTION = 20011,
    CURLOPT_READFUNCTION = 20012,
    CURLOPT_HEADERFUNCTION = 20079,
    CURLOPT_SSL_CTX_FUNCTION = 20108,
    CURLOPT_SOCKOPTFUNCTION = 20148,
    CURLOPT_OPENSOCKETFUNCTION = 20163,
    CURLOPT_SEEKFUNCTION = 20167,
    CURLOPT_CLOSESOCKETFUNCTION = 20208,
    CURLOPT_XFERINFOFUNCTION = 20219,
    CURLOPT_PREREQFUNCTION = 20312,
    CURLOPT_INFILESIZE_LARGE = 30115,
    CURLOPT_POSTFIELDSIZE_LARGE = 30120,
} ccurl_option;

typedef enum ccurl_info {
    CURLINFO_PRIVATE = 0x100000 + 21,
    CURLINFO_CAINFO = 0x100000 + 61,
    CURLINFO_HTTP_CONNECTCODE = 0x200000 + 22,
    CURLINFO_OS_ERRNO = 0x200000 + 25,
    CURLINFO_SIZE_UPLOAD_T = 0x600000 + 7,
    CURLINFO_SIZE_DOWNLOAD_T = 0x600000 + 8,
    CURLINFO_PRETRANSFER_TIME_T = 0x600000 + 53,
} ccurl_info;

typedef enum ccurl_multi_option {
    CURLMOPT_MAXCONNECTS = 6,
} ccurl_multi_option;

enum {
    CURL_HTTP_VERSION_1_1 = 2,
    CURL_HTTP_VERSION_2TLS = 4,
    CURLHEADER_SEPARATE = 1,
    CURLPROTO_HTTP_AND_HTTPS = 3,
    CURL_READFUNC_ABORT = 0x10000000,
    CURL_READFUNC_PAUSE = 0x10000001,
    CURL_PREREQFUNC_OK = 0,
    CURL_PREREQFUNC_ABORT = 1,
    CURL_ERROR_SIZE = 256,
};

/// Opens the library unless it is open. Returns null, or why it cannot be used, in text that lasts until the next call.
const char *ccurl_open(void);
/// Closes the library. The functions below must not be called afterwards.
void ccurl_close(void);

/// The version as text, `7.88.1`, and as a number, 0x075801.
const char *ccurl_version(void);
unsigned ccurl_version_number(void);
int ccurl_global_init(void);

ccurl_easy *ccurl_easy_init(void);
void ccurl_easy_cleanup(ccurl_easy *easy);
const char *ccurl_easy_strerror(int code);

int ccurl_set_number(ccurl_easy *easy, ccurl_option option, long number);
int ccurl_set_size(ccurl_easy *easy, ccurl_option option, int64_t size);
int ccurl_set_text(ccurl_easy *easy, ccurl_option option, const char *text);
int ccurl_set_pointer(ccurl_easy *easy, ccurl_option option, const void *pointer);
/// Sets READFUNCTION, WRITEFUNCTION or HEADERFUNCTION.
int ccurl_set_data_function(
    ccurl_easy *easy, ccurl_option option, size_t (*function)(char *bytes, size_t size, size_t count, void *data));
/// Lets a transfer whose READFUNCTION returned CURL_READFUNC_PAUSE go on.
int ccurl_resume(ccurl_easy *easy);
int ccurl_set_seek_function(ccurl_easy *easy, int (*function)(void *data, int64_t offset, int origin));
int ccurl_set_progress_function(
    ccurl_easy *easy,
    int (*function)(void *data, int64_t toReceive, int64_t received, int64_t toSend, int64_t sent));

/// Sets SOCKOPTFUNCTION: called for each socket that is opened.
int ccurl_set_opened_function(ccurl_easy *easy, int (*function)(void *data, int socket, int purpose));
/// The function of OPENSOCKETFUNCTION: stores the errno of a socket that cannot be made, which libcurl does not tell,
/// and makes none to an IPv6 address that this machine cannot reach.
int ccurl_open_socket(void *error, int purpose, void *curl_sockaddr);
/// Sets `ccurl_open_socket`.
void ccurl_note_socket_errors(ccurl_easy *easy, int *error);
/// Sets CLOSESOCKETFUNCTION: called to close a socket, possibly long after the transfer that opened it.
int ccurl_set_close_function(ccurl_easy *easy, int (*function)(void *data, int socket));
/// Sets PREREQFUNCTION, from 7.80.0 on: called before each request, with the connection that the request will leave on.
int ccurl_set_prerequest_function(
    ccurl_easy *easy,
    int (*function)(void *data, char *remote, char *local, int remotePort, int localPort));

/// Whether the library's TLS is OpenSSL, so that the functions below know of each connection.
bool ccurl_sees_tls(void);
/// Sets SSL_CTX_FUNCTION: each TLS connection that the handle opens gets a number, which is stored; 0 is none.
void ccurl_note_tls(ccurl_easy *easy, long *number);
/// The function of SSL_CTX_FUNCTION.
int ccurl_watch_tls(void *easy, void *context, void *number);
/// Returns the last alert that the server has sent on a connection (RFC 8446, 6); -1 for none.
int ccurl_tls_alert(long number);
/// Returns the version of HTTP that a connection has negotiated by ALPN: 2, 1, or 0 for none.
int ccurl_tls_version(long number);

/// Returns the number of transfer codings that a line of an answer's head adds: those of Transfer-Encoding that are
/// neither identity nor chunked.
int ccurl_codings(const char *line, size_t length);

int ccurl_get_number(ccurl_easy *easy, ccurl_info info, long *number);
int ccurl_get_size(ccurl_easy *easy, ccurl_info info, int64_t *size);
int ccurl_get_pointer(ccurl_easy *easy, ccurl_info info, void **pointer);

/// Returns a list of `count` lines, each with a NUL at its end, in one piece of memory that free(3) ends; null without
/// memory.
ccurl_list *ccurl_list_of(size_t count, const void *lines, size_t length);

/// Makes a connection cache, for CURLOPT_SHARE of handles that one thread drives; null if there is no memory.
ccurl_share *ccurl_share_init(void);
/// Closes the cache's connections. No handle may use the cache any more.
void ccurl_share_cleanup(ccurl_share *share);

ccurl_multi *ccurl_multi_init(void);
int ccurl_multi_set_number(ccurl_multi *multi, ccurl_multi_option option, long number);
int ccurl_multi_add(ccurl_multi *multi, ccurl_easy *easy);
int ccurl_multi_remove(ccurl_multi *multi, ccurl_easy *easy);
/// Continues the transfers. libcurl returns when nothing is left to read, so an HTTP/2 server that sends frames without
/// end would hold it: after 1.0 to 1.1 s of processor time the sockets with unread input are shut down. Returns whether
/// that happened. Uses SIGPROF and ITIMER_PROF from the first call on.
bool ccurl_multi_perform(ccurl_multi *multi, int *running);
/// Waits for the transfers' sockets and timers, for another descriptor, or for the given milliseconds. Returns whether
/// the other descriptor is readable or has ended.
bool ccurl_multi_poll(ccurl_multi *multi, int descriptor, int milliseconds);
/// Returns a transfer that has ended, and its result code; null if there is none.
ccurl_easy *ccurl_multi_next_ended(ccurl_multi *multi, int *code);

#endif
