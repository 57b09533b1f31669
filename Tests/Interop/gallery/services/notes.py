"""emulated: PostgREST, before a real PostgreSQL 15, Debian's package

The emulation turns requests into SQL; rows, keys, references and row security are PostgreSQL's own, and so are the codes
of its errors (https://docs.postgrest.org/en/v12/references/errors.html has the statuses)."""

import contextlib
import json
import os
import pathlib
import subprocess

from debian import directory, libraries, unpacked
from emulation import Answer, Emulation
from kit import Example, equal, until

SCHEMA = """
CREATE TABLE folders (id int PRIMARY KEY);
CREATE TABLE notes (id int PRIMARY KEY, title text NOT NULL, folder int REFERENCES folders, owner text DEFAULT 'ada');
CREATE ROLE app; GRANT ALL ON notes, folders TO app;
ALTER TABLE notes ENABLE ROW LEVEL SECURITY;
CREATE POLICY own ON notes TO app USING (owner = 'ada') WITH CHECK (owner = 'ada');
"""
# PostgREST's statuses for PostgreSQL's errors.
STATUSES = {"23503": 409, "23505": 409, "42501": 403, "53300": 503}


class Database:
    """A PostgreSQL on a socket in a directory of its own."""

    def __init__(self, place, root):
        self.place = place
        found = [*root.glob("usr/lib/postgresql/*/bin"), *pathlib.Path("/usr/lib/postgresql").glob("*/bin")]
        self.programs, self.environment = found[0], os.environ | libraries(root) | {"LC_ALL": "C"}
        self.words("initdb", "--pgdata", place / "data", "--auth", "trust", "--username", "postgres", "--no-sync")
        self.process = subprocess.Popen(
            self.command("postgres", "-D", place / "data", "-k", place, "-c", "listen_addresses=", "-F"),
            env=self.environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        until(lambda: self.sql("SELECT 1")[0] is None)
        self.sql(SCHEMA)

    def command(self, program, *words):
        # PostgreSQL refuses to run as root, so root is somebody else in there.
        user = ["unshare", "--user", "--map-user=1000", "--map-group=1000"] if os.getuid() == 0 else []
        return [*user, str(self.programs / program), *map(str, words)]

    def words(self, program, *words):
        subprocess.run(self.command(program, *words), env=self.environment, check=True, capture_output=True)

    def sql(self, text, **values):
        """The code of the error or `None`, and the lines that came."""
        words = ["psql", "-X", "-A", "-t", "-q", "-h", self.place, "-U", "postgres", "-v", "ON_ERROR_STOP=1",
                 "-v", "VERBOSITY=sqlstate"]
        for name, value in values.items():
            words += ["-v", f"{name}={value}"]
        ended = subprocess.run(self.command(*words), input=text, text=True, capture_output=True, env=self.environment)
        error = ended.stderr.rsplit("ERROR:", 1)[-1].strip() if ended.returncode else None
        return error, ended.stdout.splitlines()

    def end(self):
        self.process.terminate()
        self.process.wait()


class PostgREST(Emulation):
    def __init__(self, database):
        super().__init__()
        self.database, self.token = database, "secret"

    def answer(self, request):
        if request.headers.get("Authorization") != f"Bearer {self.token}":
            return Answer(401, {"code": "PGRST301", "message": "JWT expired"})
        equal("/rest/v1/notes", request.path)
        row = request.query.get("id", "").removeprefix("eq.")
        columns = ", ".join(json.loads(request.body)) if request.body else ""
        text = {
            "POST": f"INSERT INTO notes ({columns}) SELECT {columns} FROM json_populate_record(NULL::notes, :'body')",
            "PATCH": f"UPDATE notes SET ({columns}) = (SELECT {columns} FROM json_populate_record(NULL::notes, :'body')) "
                     "WHERE id = :'row' RETURNING row_to_json(notes)",
            "DELETE": "DELETE FROM notes WHERE id = :'row'",
            "GET": "SELECT row_to_json(notes) FROM notes WHERE id = :'row'",
        }[request.method]
        error, rows = self.database.sql(f"SET ROLE app; {text};", row=row, body=request.body.decode())
        if error:
            # The table has one constraint that a row can violate so.
            unique = 'duplicate key value violates unique constraint "notes_pkey"'
            message = unique if error == "23505" else "as PostgreSQL says"
            return Answer(STATUSES.get(error, 400), {"code": error, "message": message})
        if request.method in ("PATCH", "GET"):
            return Answer(200, [json.loads(line) for line in rows])
        return Answer(201 if request.method == "POST" else 204)


@contextlib.contextmanager
def server():
    root = unpacked("postgresql", "postgresql-15", "postgresql-client-15")
    with directory("notes") as place:
        database = Database(place, root)
        try:
            with PostgREST(database) as rest:
                yield rest
        finally:
            database.end()


@contextlib.contextmanager
def notes(rest):
    rest.database.sql("TRUNCATE notes, folders")
    rest.script.clear()
    with Example("notes", {"https://notes.example.com": rest.url}, {"notes.token": "secret"}) as example:
        yield example


def stored(rest):
    return [json.loads(line) for line in rest.database.sql("SELECT row_to_json(notes) FROM notes ORDER BY id")[1]]


def test_order(rest):
    """an insert, its update and a delete arrive in their order, and the table is what they say."""
    with notes(rest) as example:
        example.add({"id": 7, "title": "tea"}, type="insert", key="7")
        example.add({"id": 7, "title": "green tea"}, type="update", key="7")
        example.add({"id": 8, "title": "milk"}, type="insert", key="8")
        example.add({"id": 8}, type="delete", key="8")
        example.run("--until-empty")
        equal([(7, "green tea")], [(row["id"], row["title"]) for row in stored(rest)])
        equal({}, example.states())


def test_again(rest):
    """a row that an earlier attempt has inserted is a delivery, by PostgreSQL's 23505."""
    with notes(rest) as example:
        # The answer to the first request is lost to a gateway.
        def insert(request):
            rest.database.sql("INSERT INTO notes (id, title) VALUES (1, 'tea')")
            return Answer(504)

        rest.script.append(insert)
        example.add({"id": 1, "title": "tea"}, type="insert", key="1")
        example.run(status=75)
        example.run("--now")
        equal(({}, 1), (example.states(), len(stored(rest))))


def test_taken(rest):
    """a row whose id another row has fails at its first attempt, by 23505."""
    with notes(rest) as example:
        rest.database.sql("INSERT INTO notes (id, title) VALUES (1, 'coffee')")
        example.add({"id": 1, "title": "tea"}, type="insert", key="1")
        example.run(status=1)
        equal({"failed": 1}, example.states())


def test_reference(rest):
    """a row that refers to one that is not there yet is deferred, by 23503, and arrives once it is."""
    with notes(rest) as example:
        example.add({"id": 2, "title": "tea", "folder": 5}, type="insert", key="2")
        example.run(status=75)
        equal({"deferred": 1}, example.states())
        rest.database.sql("INSERT INTO folders VALUES (5)")
        example.run("--now")
        equal([5], [row["folder"] for row in stored(rest)])


def test_row_security(rest):
    """a row that row security refuses fails, by 42501, and holds what follows it; the others arrive."""
    with notes(rest) as example:
        example.add({"id": 3, "title": "tea", "owner": "eve"}, type="insert", key="3")
        example.add({"id": 3, "title": "green tea"}, type="update", key="3")
        example.add({"id": 4, "title": "milk"}, type="insert", key="4")
        example.run("--until-empty", "--max-time", "5s", status=1)
        equal({"failed": 1, "held": 1}, example.states())
        equal([4], [row["id"] for row in stored(rest)])


def test_token(rest):
    """an expired token holds everything, and a new one lets it go."""
    with notes(rest) as example:
        example.add({"id": 5, "title": "tea"}, type="insert", key="5")
        example.add({"id": 6, "title": "milk"}, type="insert", key="6")
        rest.token = "new"
        example.run(status=69)
        equal([], stored(rest))
        example.secret("notes.token", "new")
        example.run("--until-empty", "--max-time", "5s")
        equal([5, 6], [row["id"] for row in stored(rest)])
        rest.token = "secret"
