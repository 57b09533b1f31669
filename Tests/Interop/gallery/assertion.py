"""Tokens for assertions that a private key has signed (RFC 7523), as Google and Salesforce give them."""

import base64
import json
import pathlib
import subprocess
import tempfile
import time
import urllib.parse

from emulation import Answer, Emulation


def decoded(part):
    return base64.urlsafe_b64decode(part + "=" * (-len(part) % 4))


class Tokens(Emulation):
    """The endpoint `path` gives a token, good for `lifetime` seconds, for an assertion that the key has signed and whose claims
    are these; `token` is the newest one."""

    def __init__(self, path, claims, lifetime=3600):
        super().__init__()
        self.path, self.claims, self.lifetime, self.given, self.revoked = path, claims, lifetime, 0, False
        self.directory = tempfile.TemporaryDirectory()
        self.key, self.public = (pathlib.Path(self.directory.name) / name for name in ("key.pem", "public.pem"))
        subprocess.run(["openssl", "genrsa", "-out", self.key, "2048"], check=True, capture_output=True)
        subprocess.run(["openssl", "rsa", "-in", self.key, "-pubout", "-out", self.public], check=True, capture_output=True)

    @property
    def token(self):
        return f"token-{self.given}"

    def is_signed(self, text, signature):
        files = [pathlib.Path(self.directory.name) / name for name in ("text", "signature")]
        files[0].write_text(text)
        files[1].write_bytes(signature)
        verify = ["openssl", "dgst", "-sha256", "-verify", self.public, "-signature", files[1], files[0]]
        return subprocess.run(verify, capture_output=True).returncode == 0

    def answer(self, request):
        form = dict(urllib.parse.parse_qsl(request.body.decode(), strict_parsing=True))
        if request.path != self.path or form.get("grant_type") != "urn:ietf:params:oauth:grant-type:jwt-bearer":
            return Answer(400, {"error": "unsupported_grant_type"})
        text, _, signature = form["assertion"].rpartition(".")
        head, claims = (json.loads(decoded(part)) for part in text.split("."))
        refusal = None
        if head["alg"] != "RS256" or not self.is_signed(text, decoded(signature)):
            refusal = "signature"
        elif not time.time() - 60 < claims["exp"] <= time.time() + 3600 or self.revoked:
            refusal = "expired or revoked"
        elif {key: claims.get(key) for key in self.claims} != self.claims:
            refusal = f"claims {claims}"
        if refusal:
            return Answer(400, {"error": "invalid_grant", "error_description": refusal})
        self.given += 1
        return Answer(200, {"access_token": self.token, "token_type": "Bearer", "expires_in": self.lifetime})
