"""What the services of Amazon share: moto, and a proxy before it that checks signatures as botocore makes them.

moto takes every request whoever signs it. The proxy answers 403 where the signature of the headers that the request
names is another than botocore's for the very bytes that arrived."""

import contextlib
import json
import ssl
import subprocess
import urllib.request

from debian import Server, directory, free_port, served
from pypi import python_with

packages = ["moto[server]==5.2.5", "botocore==1.44.5"]
secrets = {"aws.id": "AKIDEXAMPLE", "aws.key": "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"}

PROXY = '''
import http.client, http.server, json, re, ssl, sys
from botocore.auth import S3SigV4Auth, SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials

port, moto, key, certificate = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3], sys.argv[4]
seen, script, failing, lost = [], [], [], []
AUTHORIZATION = re.compile(
    r"AWS4-HMAC-SHA256 Credential=(\\w+)/(\\d{8})/([\\w-]+)/([\\w-]+)/aws4_request, SignedHeaders=([^,]+), Signature=(\\w+)")


class Proxy(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def take(self):
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        if self.path == "/_seen":
            return self.say(200, json.dumps(seen))
        if self.path == "/_script":
            script.extend(json.loads(body))
            return self.say(200, "")
        if self.path == "/_lose":
            lost.extend([True] * int(body))
            return self.say(200, "")
        if self.path == "/_fail":
            failing.append(json.loads(body))
            return self.say(200, "")
        complaint = self.complaint(body)
        hashed = self.headers.get("X-Amz-Content-Sha256")
        seen.append({"path": self.path, "complaint": complaint, "payload": hashed, "body": len(body),
                     "authorization": self.headers.get("Authorization", ""),
                     "entries": body.count(b'"MessageBody"')})
        if complaint:
            error = {"__type": "SignatureDoesNotMatch", "message": complaint}
            return self.say(403, json.dumps(error))
        if script:
            status, said = script.pop(0)
            return self.say(status, said)
        taken, failed = self.sorted_out(body) if failing else (body, [])
        if taken is None:
            return self.say(200, json.dumps({"Successful": [], "Failed": failed}))
        upstream = http.client.HTTPConnection("127.0.0.1", moto)
        fields = {name: value for name, value in self.headers.items() if name.lower() != "content-length"}
        upstream.request(self.command, self.path, taken, fields)
        answer = upstream.getresponse()
        said, media_type = answer.read(), answer.getheader("Content-Type")
        if lost:
            lost.pop()
            self.close_connection = True
            return
        if failed:
            said = json.loads(said)
            said = json.dumps(said | {"Failed": said.get("Failed", []) + failed})
        self.say(answer.status, said, media_type)

    def sorted_out(self, body):
        """The batch without the messages that are to fail, `None` where none is left, and what is said of those."""
        batch = json.loads(body)
        taken, failed = [], []
        for entry in batch["Entries"]:
            rule = next((rule for rule in failing if rule["times"] and rule["text"] in entry["MessageBody"]), None)
            if rule is None:
                taken.append(entry)
                continue
            rule["times"] -= 1
            failed.append({"Id": entry["Id"], "SenderFault": rule["fault"], "Code": "Made", "Message": "made to fail"})
        return json.dumps(batch | {"Entries": taken}).encode() if taken else None, failed

    def complaint(self, body):
        """What is wrong with the signature; nothing where botocore makes the same."""
        match = AUTHORIZATION.fullmatch(self.headers.get("Authorization", ""))
        if not match:
            return "there is no signature"
        identity, day, region, service, names, signature = match.groups()
        names = names.split(";")
        fields = {name.lower(): value for name, value in self.headers.items()}
        unsigned = [n for n in fields if n.startswith("x-amz-") or n in ("host", "content-type") if n not in names]
        if unsigned:
            return f"{unsigned} should be signed"
        if "x-amz-date" not in names or fields["x-amz-date"][:8] != day:
            return "it has no date"
        if service == "s3" and "x-amz-content-sha256" not in names:
            return "S3 needs x-amz-content-sha256"
        if fields.get("x-amz-content-sha256") == "UNSIGNED-PAYLOAD" and (service != "s3" or not certificate):
            return "the payload has to be signed"
        scheme = "https" if certificate else "http"
        request = AWSRequest(self.command, f"{scheme}://{fields['host']}{self.path}", data=body,
                             headers={name: fields[name] for name in names})
        request.context.update(timestamp=fields["x-amz-date"], signing={"disableDoubleEncoding": service == "s3"})
        auth = (S3SigV4Auth if service == "s3" else SigV4Auth)(Credentials(identity, key), service, region)
        canonical = auth.canonical_request(request)
        if auth.signature(auth.string_to_sign(request, canonical), request) != signature:
            return "botocore signs this: " + canonical

    def say(self, status, body, media_type="application/json"):
        body = body.encode() if isinstance(body, str) else body
        self.send_response_only(status)
        self.send_header("Content-Type", media_type or "text/plain")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    do_GET = do_PUT = do_POST = take

    def log_message(self, *_):
        pass


server = http.server.ThreadingHTTPServer(("127.0.0.1", port), Proxy)
server.daemon_threads = True
if certificate:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    server.socket = context.wrap_socket(server.socket, server_side=True)
server.serve_forever(0.05)
'''


class Guarded(Server):
    """The proxy. `seen` has every request that came, `refuse` gives the answer to the next one, `fail` takes messages with a
    text out of the batches of SQS that come, so often, and says that they failed; `lose` keeps so many answers back."""

    certificate = None

    def _ask(self, path, body=None):
        context = ssl.create_default_context(cafile=self.certificate) if self.certificate else None
        with urllib.request.urlopen(self.url + path, body, timeout=20, context=context) as answer:
            return answer.read()

    def seen(self):
        return json.loads(self._ask("/_seen"))

    def refuse(self, status, body):
        self._ask("/_script", json.dumps([[status, body]]).encode())

    def lose(self, count):
        self._ask("/_lose", str(count).encode())

    def fail(self, text, sender_fault, times=1):
        self._ask("/_fail", json.dumps({"text": text, "fault": sender_fault, "times": times}).encode())


class Amazon:
    """moto, a proxy before it, and what asks moto about itself."""

    def __init__(self, moto, proxy):
        self.moto, self.proxy, self.url = moto, proxy, proxy.url

    def call(self, service, operation, **arguments):
        """Asks moto by botocore, as another client would."""
        return self.script(
            service,
            "answer = getattr(client, sys.argv[3])(**json.loads(sys.argv[4]))\n"
            "body = answer.pop('Body', None)\n"
            "if body: answer['Body'] = body.read().hex()\n",
            operation, json.dumps(arguments))

    def script(self, service, lines, *words):
        """What a script leaves in `answer`; it has botocore's `client` of the service, and the words from `sys.argv[3]` on."""
        script = (
            "import botocore.session, json, sys\n"
            "client = botocore.session.get_session().create_client(sys.argv[1], region_name='eu-central-1',"
            " endpoint_url=sys.argv[2], aws_access_key_id='x', aws_secret_access_key='x')\n"
            f"{lines}print(json.dumps(answer, default=str))\n"
        )
        words = [python_with(*packages), "-c", script, service, self.moto.url, *words]
        ended = subprocess.run(list(map(str, words)), capture_output=True, text=True, timeout=60)
        assert ended.returncode == 0, ended.stderr[-2000:]
        return json.loads(ended.stdout)

    def signed_well(self):
        """The requests that came, each with the signature that botocore makes of it."""
        seen = self.proxy.seen()
        assert seen, "no request came"
        for request in seen:
            assert not request["complaint"], request
        return seen


@contextlib.contextmanager
def amazon(tls=False):
    python = python_with(*packages)
    with directory("aws") as place:
        (place / "proxy.py").write_text(PROXY)
        certificate = ""
        if tls:
            certificate = place / "server.pem"
            subprocess.run(
                ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
                 "-days", "2", "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1",
                 "-keyout", place / "key.pem", "-out", place / "ca.pem"],
                check=True, capture_output=True,
            )
            certificate.write_bytes((place / "key.pem").read_bytes() + (place / "ca.pem").read_bytes())
        port = free_port()
        moto = Server([python, "-m", "moto.server", "-H", "127.0.0.1", "-p", port], port, ready="/moto-api/")
        port = free_port()
        proxy = Guarded([python, place / "proxy.py", port, moto.port, secrets["aws.key"], certificate], port)
        if tls:
            proxy.url, proxy.certificate = proxy.url.replace("http:", "https:"), place / "ca.pem"
        with served(moto, proxy):
            yield Amazon(moto, proxy)

