"""The rows of the table: which programs are measured together, which of their figures is compared, and with which aim."""

import dataclasses
from collections.abc import Callable

from programs import Program, python_itself


@dataclasses.dataclass
class Aim:
    """What ours has to reach: a ratio to another program where there is one, else the figure itself."""

    text: str
    against: str | None = None
    at_least: float | None = None
    at_most: float | None = None
    agents: int | None = None
    """For a run that was seen with so many delivery agents, 2 being several."""

    def concerns(self, processes):
        return self.agents is None or self.agents == min(2, max(1, processes - 1))

    def met(self, value):
        return (self.at_least is None or value >= self.at_least) and (self.at_most is None or value <= self.at_most)


@dataclasses.dataclass
class Row:
    key: str
    title: str
    unit: str
    figure: Callable
    """Of a program and a sample, in the unit."""
    programs: list[Program]
    """Ours first."""
    aims: list[Aim] = dataclasses.field(default_factory=list)
    also: list[Program] = dataclasses.field(default_factory=list)
    """Measured with them, and not in the table."""


def rate(program, sample):
    return program.count / sample["wall"]


def seconds(program, sample):
    return sample["wall"]


def milliseconds(program, sample):
    return sample["wall"] * 1000


def cpu_of_thousand(program, sample):
    return sample["cpu"] / program.count * 1000


def cpu_seconds(program, sample):
    return sample["cpu"]


def lost_claims(program, sample):
    return sample["lost"] / program.count * 100


def memory(program, sample):
    return sample["rss"] / 1024


def rows(ground):
    """All rows, each made only when it is asked for: key → a function that makes those that are measured together."""
    return {
        "drain": draining, "urlsession": draining, "batch": draining, "cpu": draining, "latency": latency, "ordered": ordered, "envelope": envelope,
        "one": one_at_a_time, "runs": runs, "slow-directory": slow_directory, "auto": adaptive,
        "empty": empty, "add": adding, "bulk": bulk, "take": taking, "memory": memories, "growth": growth,
        "slow": slow, "silent": silent, "outage": outage, "stream": stream, "checksum": checksum, "tls": by_tls, "http2": by_tls, "big": big,
    }


def draining(ground, wanted):
    """Four rows over the same runs."""
    count, few = ground.many(10_000), ground.many(1_000)
    libcurl = ground.ours("drainq, libcurl", count)
    urlsession = ground.ours("drainq, URLSession", count, transport="urlsession")
    batch = ground.ours("drainq, libcurl, batch: 100", count, batch=100)
    curl, limit = ground.curl_parallel(count), ground.c_over_libcurl(count)
    bare = ground.bare_urlsession(count)
    requests, loop = ground.dirq("requests", count), ground.curl_loop(few)
    titles = {
        "drain": f"drain {count:,}, concurrency 5, libcurl", "urlsession": f"drain {count:,} over URLSession",
        "batch": f"drain {count:,} in batches of 100", "cpu": "CPU for 1,000 operations",
    }
    found = []
    if "drain" in wanted:
        # As both come, without a number.
        found.append(Row("drain", f"drain {count:,}, concurrency by default", "operations/s", rate, [
            ground.ours("drainq, libcurl", count, at_once="auto"), ground.curl_parallel(count, limit=50),
            ground.c_with_claims(count), ground.c_with_agent(count, at_once=50)],
            [Aim("≥ 0.85 × curl -Z", "curl -Z", at_least=0.85)]))
        found.append(Row("drain", titles["drain"], "operations/s", rate, [
            libcurl, curl, limit, ground.c_with_claims(count), ground.c_with_agent(count), ground.c_over_sockets(count), ground.syslog_ng(count), ground.dirq("aiohttp", count),
            requests, ground.dirq("httpx", count), ground.xargs(few), ground.parallel(few), loop, ground.wrk(),
        ], [Aim("≥ 1.0 × curl -Z", curl.name, at_least=1.0)]))
    if "urlsession" in wanted:
        found.append(Row("urlsession", titles["urlsession"], "operations/s", rate, [urlsession, bare, curl], [
            Aim("≥ 0.9 × bare URLSession (one agent)", bare.name, at_least=0.9, agents=1),
            Aim("≥ 1.6 × bare URLSession (agents on both cores)", bare.name, at_least=1.6, agents=2)]))
    if "batch" in wanted:
        found.append(Row("batch", titles["batch"], "operations/s", rate, [batch, curl, ground.c_with_claims(count, 100)],
                         [Aim("≥ 5 × curl -Z", curl.name, at_least=5)]))
    if "cpu" in wanted:
        found.append(Row("cpu", titles["cpu"] + ", libcurl", "s", cpu_of_thousand,
                         [libcurl, curl, limit, requests, loop], [Aim("≤ 0.12 s", at_most=0.12)]))
        found.append(Row("cpu", titles["cpu"] + ", URLSession", "s", cpu_of_thousand, [urlsession, bare],
                         [Aim("≤ 0.40 s", at_most=0.40)]))
    return found


def one_at_a_time(ground, wanted):
    count = ground.many(10_000)
    curl = ground.curl_in_order(count, ground.nginx.url)
    return [Row("one", f"drain {count:,}, one at a time", "operations/s", rate, [
        ground.ours("drainq, --concurrency 1", count, at_once=1),
        ground.ours("drainq, a destination with concurrency: 1", count, at_once=5, concurrency=1), curl,
        ground.c_with_agent(count, at_once=1)], [Aim("≥ 0.8 × curl", curl.name, at_least=0.8)])]


def by_tls(ground, wanted):
    count, found = ground.many(10_000), []
    for key, title, url, requests, aim in (
            ("tls", "over TLS, HTTP/1.1", ground.nginx.tls_url, count, 0.9),
            ("http2", "over HTTP/2", ground.nginx.http2_url, 2 * count, 0.85)):
        if key not in wanted:
            continue
        certificate = str(ground.nginx.certificate)
        curl = ground.curl_parallel(count, url, limit=50, requests=requests, certificate=certificate)
        programs = [ground.ours("drainq, libcurl", count, url=url, at_once="auto", requests=requests, caFile=certificate), curl,
                    ground.c_with_agent(count, at_once=50, url=url, requests=requests, certificate=certificate)]
        found.append(Row(key, f"drain {count:,}, concurrency by default, {title}", "operations/s", rate, programs,
                         [Aim(f"≥ {aim} × curl -Z", curl.name, at_least=aim)]))
        found.append(Row(key, f"CPU for 1,000 operations {title}", "s", cpu_of_thousand, programs))
    return found


def big(ground, wanted):
    count, length = ground.many(200), 5_000_000
    # The server reads all of a body, and asks itself then: a request more.
    around = {"url": ground.nginx.reading_url, "length": length, "requests": 2 * count}
    curl = ground.curl_parallel(count, **around)
    programs = [ground.ours("drainq, libcurl", count, **around),
                ground.ours("drainq, URLSession", count, transport="urlsession", **around), curl]
    title = f"{count} bodies of 5 MB"
    return [
        Row("big", f"drain {title}, concurrency 5", "MB/s", lambda program, sample: rate(program, sample) * length / 1e6,
            programs, [Aim("≥ 0.8 × curl -Z", curl.name, at_least=0.8)]),
        Row("big", f"memory while draining {title}", "MB", memory, programs, [Aim("≤ 40 MB, all processes", at_most=40)]),
        Row("big", f"CPU for {title}", "s", cpu_seconds, programs)]


def checksum(ground, wanted):
    count = ground.many(10_000)
    without = ground.ours("drainq, files without checksums", count, checksums=False)
    return [Row("checksum", f"CPU for 1,000 operations with checksums, of {count:,}", "s", cpu_of_thousand,
                [ground.ours("drainq", count), without],
                [Aim("≤ 1.05 × files without checksums", without.name, at_most=1.05)])]


def latency(ground, wanted):
    count, slow = 50, ground.slow(50)
    curl = ground.curl_parallel(count, slow.url)
    return [Row("latency", "50 queued, 50 ms each, concurrency 5, whole process", "s", seconds, [
        ground.ours("drainq, libcurl", count, url=slow.url),
        ground.ours("drainq, URLSession", count, transport="urlsession", url=slow.url),
        ground.c_over_libcurl(count, slow.url), curl], [Aim("≤ 0.53 s", at_most=0.53)])]


def ordered(ground, wanted):
    count, slow = 50, ground.slow(50)
    unordered = ground.ours("drainq, libcurl, no order, one at a time", count, url=slow.url, at_once=1)
    return [Row("ordered", "50 of one key in order, 50 ms each, whole process", "s", seconds, [
        ground.ours("drainq, libcurl, ordering: key", count, url=slow.url, ordered=True),
        unordered, ground.curl_in_order(count, slow.url)],
        [Aim("≤ 1.06 × the same without an order: 3 ms a step", unordered.name, at_most=1.06)])]


def envelope(ground, wanted):
    count, slow = ground.many(5_000), ground.slow(5)
    single = ground.ours("drainq, libcurl, one a request", count, url=slow.url)
    return [Row("envelope", f"drain {count:,}, 5 ms a request, in batches of 100 with an envelope", "operations/s", rate, [
        ground.ours("drainq, libcurl, batch: 100", count, url=slow.url, batch=100, envelope=True), single],
        [Aim("≥ 5 × one a request", single.name, at_least=5)])]


def runs(ground, wanted):
    count, slow, found = ground.many(4_000), ground.slow(20), []
    for text, url, aim in (
            ("20 ms a request", slow.url, [Aim("8 runs ≥ 6 × one run", "1 run", at_least=6)]), ("nginx", None, [])):
        one, *more = (ground.several_runs(number, count, url) for number in (1, 2, 4, 8, 16))
        eight = next(program for program in more if program.name == "8 runs")
        programs = [eight, one, *(program for program in more if program is not eight)]
        found.append(Row("runs", f"drain {count:,} by several runs, {text}", "operations/s", rate, programs, aim))
        found.append(Row("runs", f"claims lost to another run, {text}", "% of operations", lost_claims, programs,
                         [Aim("≤ 5", at_most=5)]))
    return found


def slow_directory(ground, wanted):
    count = ground.many(4_000)
    alone = ground.on_slow_directory(ground.ours("drainq, --concurrency 1", count, at_once=1))
    return [Row("slow-directory", f"drain {count:,}, 1 ms more for each metadata call, --concurrency 50", "operations/s", rate,
                [ground.on_slow_directory(ground.ours("drainq, --concurrency 50", count, at_once=50)), alone],
                [Aim("≥ 2,000/s", at_least=2_000), Aim("≥ 8 × one at a time", alone.name, at_least=8)])]


def adaptive(ground, wanted):
    """What `--concurrency auto` finds."""
    count, roomy, narrow = ground.many(8_000), ground.slow(50), ground.slow(50, room=3)
    five = ground.ours("drainq, --concurrency 5", count, url=roomy.url)
    minute = [ground.for_a_minute(f"drainq, --concurrency {words}", narrow, words) for words in ("auto", 3, 5)]
    delivered = lambda program, sample: (program.count - sample["left"]) / sample["wall"]
    return [
        Row("auto", f"drain {count:,}, 50 ms a request, room for all", "operations/s", rate,
            [ground.ours("drainq, --concurrency auto", count, url=roomy.url, at_once="auto"), five],
            [Aim("≥ 10 × five at a time", five.name, at_least=10)]),
        Row("auto", "a minute at a server that bears 3 at once, 50 ms each", "operations/s", delivered, minute,
            [Aim("≥ 0.9 × three at a time", minute[1].name, at_least=0.9)]),
        Row("auto", "the same: answers of 429", "in the minute", lambda program, sample: sample["refused"], minute,
            [Aim("≤ 2", at_most=2)]),
    ]


def built(ground):
    """How the program is linked that start-up is measured with."""
    return "static" if ground.static else "dynamic, for want of a static build"


def empty(ground, wanted):
    times = 20
    queue = ground.once("empty queue", lambda: ground.fresh_queue("empty-queue", 0, ground.nginx.url))
    ours = Program("drainq run", [ground.static or queue.binary, *queue.command("run")[1:]], times=times)
    look = ground.looking
    return [Row("empty", f"run on an empty queue ({built(ground)})", "ms", milliseconds, [
        ours,
        look("find -quit + test", ["sh", "-c", 'test -n "$(find "$1" -type f -print -quit)"; exit 0', "sh", "{}"], times),
        look("perl", ["perl", "-e", "opendir(D, shift); exit 0 unless grep { !/^[.]/ } readdir(D)", "{}"], times),
        look("python3 -c", [python_itself, "-c", "import os, sys; any(os.scandir(sys.argv[1]))", "{}"], times),
        look("python3 -c, requests imported",
             [ground.peer_python() or "", "-c", "import os, sys, requests; any(os.scandir(sys.argv[1]))", "{}"], times),
    ], [Aim("≤ 3 ms (static build)", at_most=3)])]


def adding(ground, wanted):
    times = 20
    return [Row("add", f"add one, durable, process included ({built(ground)})", "ms", milliseconds, [
        ground.adding(1, times, binary=ground.static),
        ground.c_adding("C: write, fsync, rename, fsync", 1, times, batch=1), ground.nullmailer(1, times),
        ground.dirq_adding("dirq, not durable", 1, times, synced=False),
        ground.dirq_adding("dirq with fsync", 1, times, synced=True),
    ], [Aim("≤ 4 ms (static build)", at_most=4)])]


def bulk(ground, wanted):
    count = ground.many(10_000)
    return [Row("bulk", f"add {count:,}, durable", "operations/s", rate, [
        ground.adding(count, 1),
        ground.c_adding("C, syncs shared by 10,000", count, 1, batch=count),
        ground.c_adding("C, each synced", count, 1, batch=1),
        ground.dirq_adding("dirq with fsync", count, 1, synced=True), ground.nullmailer(ground.many(1_000), 1),
    ], [Aim("≥ 12,000/s", at_least=12_000)])]


def taking(ground, wanted):
    found = []
    script = "import heapq, os, sys; print(heapq.nsmallest(int(sys.argv[2]), os.listdir(sys.argv[1])))"
    for count in map(ground.many, (100_000, 1_000_000)):
        words = ("run", "--limit", 5, "--concurrency", 5)
        ours = ground.on_standing_queue("drainq run --limit 5", count, *words, requests=5)
        limit = ground.taking("C: readdir, parse, heap", lambda: [ground.c_take()], count)
        programs = [ours, limit, ground.taking("python3: listdir, heapq", lambda: [python_itself, "-c", script], count)]
        if count == ground.many(100_000):
            programs.append(ground.dirq("requests", count, take=5))
        title = f"take 5 of {count:,}"
        found.append(Row("take", title, "ms", milliseconds, programs,
                         [Aim("≤ 1.5 × the C loop", limit.name, at_most=1.5)]))
        found.append(Row("take", title + ", memory", "MB", memory, programs[:3], [Aim("≤ 40 MB", at_most=40)]))
    return found


def memories(ground, wanted):
    count = many = ground.many(100_000)
    return [Row("memory", f"memory while draining {count:,}", "MB", memory, [
        ground.ours("drainq, libcurl", count), ground.ours("drainq, libcurl, a hundredth", count // 100),
        ground.ours("drainq, URLSession", count, transport="urlsession"), ground.curl_parallel(count),
        ground.syslog_ng(count)], [Aim("≤ 60 MB, all processes", at_most=60)]),
        *(Row("memory", f"memory while {many:,} operations {words}", "MB", memory, [
            ground.unsent(f"drainq, {many:,}", many, status, route), ground.unsent("drainq, a hundredth", many // 100, status, route)],
            [Aim("≤ 60 MB", at_most=60)])
          for words, status, route in (
              ("expire", 1, {"expiresAfter": "1h"}), ("are superseded", 0, {"key": "{type}", "coalesce": True}))),
        Row("memory", f"memory while a bad line of {ground.many(300)} MB comes in", "MB", memory,
            [ground.bad_line(ground.many(300))], [Aim("≤ 500 MB", at_most=500)])]


def growth(ground, wanted):
    """The cost of one more operation: a run of 1,000 less one that takes a single one, so that listing is not in it.
    And what the whole run costs."""
    few, more = 1, ground.many(1_000)
    sizes = tuple(map(ground.many, (1_000, 10_000, 100_000, 1_000_000)))
    whole = {}
    for size in sizes:
        words = ("run", "--concurrency", 5, "--limit")
        whole[size] = (
            ground.on_standing_queue(f"{size:,} queued", size, *words, more, requests=more, what=more),
            ground.on_standing_queue(f"{size:,} queued", size, *words, few, requests=few))

    def each(figure):
        """The difference of a program's sample and that of its twin of the same round."""
        twins = {id(program): twin for program, twin in whole.values()}

        def difference(program, sample):
            twin = twins[id(program)]
            alone = twin.samples[program.samples.index(sample)]
            return (figure(program, sample) - figure(twin, alone)) / (more - few) * 1e6
        return difference

    programs = [program for program, _ in whole.values()]
    aims = [Aim("constant within 1.3 ×", other.name, at_least=1 / 1.3, at_most=1.3) for other in programs[1:]]
    singles = [twin for _, twin in whole.values()]
    found = [
        Row("growth", "each further operation, by wall time", "µs", each(seconds), programs, also=singles),
        Row("growth", "each further operation, by CPU time", "µs", each(cpu_seconds), programs, aims),
        Row("growth", f"run --limit {more}, whole", "ms", milliseconds, programs),
        Row("growth", "run --limit 1, whole", "ms", milliseconds, singles)]
    return found


def silent(ground, wanted):
    """A good destination behind thirty that take connections and never answer, with two operations and 3 s each."""
    count = ground.many(10_000)
    alone = ground.beside_silent("drainq, no silent ones", count, "auto", silent=0)
    return [
        Row("silent", "first delivery behind 30 silent destinations", "ms", milliseconds, [
            ground.beside_silent("drainq, concurrency by default", 1, "auto"),
            ground.beside_silent("drainq, --concurrency 5, which an earlier run has met", 1, 5, known=True),
            ground.beside_silent("drainq, --concurrency 5", 1, 5)], [Aim("≤ 1 s", at_most=1000)]),
        Row("silent", f"drain {count:,} beside 30 silent destinations", "operations/s", rate, [
            ground.beside_silent("drainq, 30 silent ones", count, "auto"), alone],
            [Aim("≥ 0.8 × without them", alone.name, at_least=0.8)])]


def outage(ground, wanted):
    """What an operator waits for after an outage."""
    count = ground.many(100_000)
    ls, renames = ground.listing(count), ground.c_changing("C: readdir, rename", count)
    removals = ground.c_changing("C: readdir, unlink", count, removes=True)
    shown = [ground.on_deferred(f"drainq {word}", count, *word.split()) for word in ("list", "list --long", "status")]
    found = [Row("outage", f"{program.name}, {count:,} deferred", "ms", milliseconds, [program, ls], aims)
             for program, aims in zip(shown, ([Aim("≤ 4 × ls", ls.name, at_most=4)], [], [Aim("≤ 4 × ls", ls.name, at_most=4)]))]
    for word, limit in (("retry", renames), ("hold", renames), ("drop", removals)):
        ours = ground.on_deferred(f"drainq {word} --all", count, word, "--all")
        found.append(Row("outage", f"{word} --all, {count:,} deferred", "ms", milliseconds, [ours, limit],
                         [Aim("≤ 1.5 × the bare calls", limit.name, at_most=1.5)]))
    return found


def stream(ground, wanted):
    count, found = ground.many(10_000), []
    empty, full = (ground.streaming(f"drainq add, {size:,} wait", count, size) for size in (0, ground.many(100_000)))
    return [
        Row("stream", f"add a stream of {count:,} lines to an ordered route", "lines/s", rate, [full, empty],
            [Aim("≥ 500/s", at_least=500), Aim("≥ 0.8 × into an empty queue", empty.name, at_least=0.8)]),
        Row("stream", f"add a stream of {count:,} lines, memory", "MB", memory, [full, empty],
            [Aim("≤ 1.2 × into an empty queue", empty.name, at_most=1.2)])]


def slow(ground, wanted):
    server = ground.slow(2000)
    count = 5
    return [Row("slow", "CPU while 5 new connections wait 2 s each", "s", cpu_seconds, [
        ground.ours("drainq, libcurl", count, url=server.url),
        ground.ours("drainq, URLSession", count, transport="urlsession", url=server.url),
        ground.c_over_libcurl(count, server.url), ground.curl_parallel(count, server.url),
    ], [Aim("≤ 0.1 s", at_most=0.1)])]
