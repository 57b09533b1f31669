"""A service written from its documentation: what it refuses, it refuses here."""

import gzip
import http.server
import json
import threading
import time
import urllib.parse


class Request:
    def __init__(self, method, target, headers, body):
        parts = urllib.parse.urlsplit(target)
        self.method, self.target, self.path, self.headers, self.body = method, target, parts.path, headers, body
        self.query = dict(urllib.parse.parse_qsl(parts.query, keep_blank_values=True))

    @property
    def media_type(self):
        return self.headers.get("Content-Type", "").split(";")[0].strip().lower()

    def json(self):
        """The body as JSON; `None` where it is none."""
        try:
            return json.loads(self.body)
        except ValueError:
            return None


class Answer:
    """`body` is text, or JSON where it is something else. With no status the connection is closed instead."""

    def __init__(self, status, body=None, headers=None, media_type=None):
        is_text = isinstance(body, str)
        self.status, self.headers = status, dict(headers or {})
        self.body = b"" if body is None else (body if is_text else json.dumps(body)).encode()
        if body is not None:
            self.headers["Content-Type"] = media_type or ("text/plain" if is_text else "application/json")


class Emulation:
    """A server on a loopback port of its own. A service overrides `answer`, which is called for one request at a time.

    `script` is a list of answers, or of functions of a request, that come first, one for each request: what the service
    does on a bad day. `received` has every request, its body decoded. A service that takes gzip says so by `takes_gzip`."""

    takes_gzip = False

    def __init__(self):
        self.received, self.script, self.lock = [], [], threading.Lock()
        emulation = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def parse_request(self):
                if not super().parse_request():
                    return False
                # Whatever the method is.
                setattr(self, "do_" + self.command, self.take)
                return True

            def take(self):
                body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
                answer = emulation.decoded(Request(self.command, self.path, self.headers, body))
                if answer.status is None:
                    self.close_connection = True
                    return
                self.send_response_only(answer.status)
                for field in answer.headers.items():
                    self.send_header(*map(str, field))
                if answer.status != 204:
                    self.send_header("Content-Length", str(len(answer.body)))
                self.end_headers()
                if self.command != "HEAD" and answer.status != 204:
                    self.wfile.write(answer.body)

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self.server.server_port}"

    def __enter__(self):
        threading.Thread(target=self.server.serve_forever, args=(0.05,), daemon=True).start()
        return self

    def __exit__(self, *_):
        self.server.shutdown()
        self.server.server_close()

    def decoded(self, request):
        encoding = request.headers.get("Content-Encoding", "identity")
        if encoding == "gzip" and self.takes_gzip:
            request.body = gzip.decompress(request.body)
        elif encoding != "identity":
            return Answer(415, f"unsupported Content-Encoding: {encoding}")
        return self.decide(request)

    def decide(self, request):
        with self.lock:
            self.received.append(request)
            if self.script:
                scripted = self.script.pop(0)
                scripted = scripted(request) if callable(scripted) else scripted
                if scripted is not None:
                    return scripted
            return self.answer(request)

    def answer(self, request):
        raise NotImplementedError


class Bucket:
    """A rate limit: of more than `count` requests the next one is refused, and so are those of the `seconds` after it. A machine
    that is slow meets it as well."""

    def __init__(self, count, seconds):
        self.count, self.seconds, self.left, self.until = count, seconds, count, None

    def wait(self):
        """Seconds until a request may be made; 0 where this one may, and is counted."""
        now = time.time()
        if self.left == 0:
            self.until = self.until or now + self.seconds
            if now < self.until:
                return self.until - now
            self.left, self.until = self.count, None
        self.left -= 1
        return 0
