"""real: Apache's mod_dav and nginx' dav module, Debian's packages"""

import base64
import contextlib
import crypt
import os
import shutil

from debian import Server, directory, free_port, libraries, served, unpacked
from kit import Example, equal

CREDENTIALS = base64.b64encode(b"ada:secret").decode()
APACHE = """
ServerName localhost
Listen 127.0.0.1:{port}
PidFile {place}/pid
ErrorLog {place}/error.log
{modules}
User nobody
Group nogroup
DocumentRoot {place}/www
DAVLockDB {place}/lock/db
LimitRequestBody 1000000
<Directory {place}/www>
  Require valid-user
  AuthType Basic
  AuthName files
  AuthUserFile {place}/users
  DAV On
</Directory>
"""
NGINX = """
daemon off;
pid {place}/nginx.pid;
error_log {place}/error.log;
events {{ worker_connections 64; }}
http {{
  access_log off;
  client_body_temp_path {place}/body; proxy_temp_path {place}/p; fastcgi_temp_path {place}/f; uwsgi_temp_path {place}/u;
  scgi_temp_path {place}/s;
  server {{
    listen 127.0.0.1:{port};
    root {place}/www;
    client_max_body_size 1m;
    location / {{
      auth_basic files; auth_basic_user_file {place}/users;
      dav_methods PUT DELETE MKCOL COPY MOVE;
    }}
  }}
}}
"""


@contextlib.contextmanager
def server():
    unpacked_at = unpacked("apache", "apache2-bin")
    names = ["mpm_event", "authn_core", "authn_file", "authz_core", "authz_user", "auth_basic"]
    names += ["dav", "dav_fs", "dav_lock"]
    modules = "\n".join(f"LoadModule {n}_module {unpacked_at}/usr/lib/apache2/modules/mod_{n}.so" for n in names)
    with directory("webdav") as place:
        for name in ["www/files", "lock"]:
            (place / name).mkdir(parents=True)
        users = f"ada:{crypt.crypt('secret', crypt.METHOD_SHA512)}\n"
        (place / "users").write_text(users)
        port, other = free_port(), free_port()
        (place / "apache.conf").write_text(APACHE.format(place=place, port=port, modules=modules))
        (place / "nginx.conf").write_text(NGINX.format(place=place, port=other))
        # Both become nobody where they are started by root.
        if os.geteuid() == 0:
            for path in [place, place / "www", place / "www/files", place / "lock"]:
                shutil.chown(path, "nobody", "nogroup")
        words = [unpacked_at / "usr/sbin/apache2", "-X", "-f", place / "apache.conf"]
        nginx = Server(["nginx", "-e", place / "error.log", "-c", place / "nginx.conf"], other)
        environment = libraries(unpacked_at)
        # What Apache loads late it loads as nobody, who may not look into the cache.
        for drivers in unpacked_at.rglob("apr-util-1"):
            shutil.copytree(drivers, place / "apr-util-1", symlinks=True)
            environment["LD_LIBRARY_PATH"] = f"{place / 'apr-util-1'}:{environment['LD_LIBRARY_PATH']}"
        apache = Server(words, port, environment)
        apache.place, apache.other = place / "www/files", nginx
        with served(nginx, apache):
            yield apache


def queue(server, credentials=CREDENTIALS, url=None):
    for path in server.place.iterdir():
        shutil.rmtree(path)
    origins = {"https://dav.example.com": url or server.url}
    example = Example("webdav", origins, {"webdav.credentials": credentials}, {'base: "5s"': 'base: "100ms"'})
    example.file("var/lib/scans/1.tiff", b"II*\x00" + os.urandom(100_000))
    return example


def scan(example, name, content):
    path = example.file(f"var/lib/scans/{name}", content)
    example.drainq("add", "--type", "file", "--key", name, "--content-type", "image/tiff", "--body-file", path)


def has(server, example, *names):
    equal(sorted(names), sorted(path.name for path in (server.place / "plant-7").iterdir()))
    for name in names:
        content = (example.directory / "var/lib/scans" / name).read_bytes()
        assert content == (server.place / "plant-7" / name).read_bytes(), name


def test_lines(server):
    """the lines that begin the example make a folder and put a file there, byte for byte."""
    for url in [server.url, server.other.url]:
        with queue(server, url=url) as example:
            example.follow_its_lines()
            has(server, example, "1.tiff")


def test_files(server):
    """files with any name arrive, and the second time they are written over themselves."""
    with queue(server) as example:
        example.drainq("add", "--type", "folder", input="{}")
        example.run()
        names = ["ä b.tiff", "100%?.tiff", "x#y&z.tiff"]
        for _ in range(2):
            for name in names:
                scan(example, name, os.urandom(10_000))
            example.drainq("add", "--type", "folder", input="{}")
            example.run()
        has(server, example, *names)


def test_folder(server):
    """a file whose folder is not there yet is tried again, and arrives behind it."""
    with queue(server) as example:
        scan(example, "1.tiff", b"1")
        example.run(status=75)
        equal(409, example.only("deferred")["lastStatus"])
        example.drainq("add", "--type", "folder", input="{}")
        example.run("--until-empty", "--max-time", "20s")
        has(server, example, "1.tiff")


def test_locked(server):
    """a file that somebody has locked is tried again until the lock is gone."""
    with queue(server) as example:
        example.follow_its_lines()
        authorization = {"Authorization": f"Basic {CREDENTIALS}", "Content-Type": "application/xml"}
        lock = b'<lockinfo xmlns="DAV:"><lockscope><exclusive/></lockscope><locktype><write/></locktype></lockinfo>'
        path = "/files/plant-7/1.tiff"
        status, answer = server.ask(path, lock, "LOCK", authorization)
        equal(200, status)
        token = answer.decode().split("opaquelocktoken:")[1].split("<")[0]
        scan(example, "1.tiff", b"new")
        example.run(status=75)
        equal(423, example.only("deferred")["lastStatus"])
        unlock = authorization | {"Lock-Token": f"<opaquelocktoken:{token}>"}
        equal(204, server.ask(path, None, "UNLOCK", unlock)[0])
        example.run("--until-empty", "--max-time", "20s")
        has(server, example, "1.tiff")


def test_large(server):
    """a file that is too large for the server fails, and the next one arrives."""
    for url in [server.url, server.other.url]:
        with queue(server, url=url) as example:
            example.drainq("add", "--type", "folder", input="{}")
            example.run()
            scan(example, "large.tiff", b"x" * 2_000_000)
            scan(example, "small.tiff", b"x")
            example.run(status=1)
            equal(413, example.only("failed")["lastStatus"])
            has(server, example, "small.tiff")


def test_password(server):
    """a wrong password holds, until the file has the right one."""
    with queue(server, base64.b64encode(b"ada:wrong").decode()) as example:
        example.drainq("add", "--type", "folder", input="{}")
        scan(example, "1.tiff", b"1")
        example.run(status=69)
        example.is_in(held=2)
        example.secret("webdav.credentials", CREDENTIALS)
        example.run("--until-empty", "--max-time", "20s")
        has(server, example, "1.tiff")
