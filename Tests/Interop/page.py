#!/usr/bin/env python3
"""The page of `drainq status --html` in a real browser, Debian's Chromium: at three widths, in light and dark.

    page.py                 runs the tests
    page.py --picture FILE  also writes a picture of the page, 1280 pixels wide, for README
    page.py --pictures DIR  also writes pictures of all pages, to be looked at

Prints `ok …` or `not ok …`, a line for each test; status 1 if one failed. The browser is told what to do through a pipe, by
the DevTools protocol (https://chromedevtools.github.io/devtools-protocol).
"""

import base64
import http.server
import json
import math
import os
import pathlib
import random
import shutil
import subprocess
import sys
import tempfile
import threading
import time
import traceback

root = pathlib.Path(__file__).resolve().parents[2]
binary = pathlib.Path(os.environ.get("DRAINQ", root / ".build/debug/drainq")).resolve()
# Text that markup, a terminal or an attribute could be made of.
HOSTILE = "</title><script>document.title='hacked'</script><img src=x onerror=alert(1)>\" ' & \u202e"
failed = False


def test(sentence, body):
    global failed
    try:
        body()
        print("ok", sentence)
    except Exception:
        failed = True
        print("not ok", sentence)
        print("    " + traceback.format_exc()[-3000:].replace("\n", "\n    "))
    sys.stdout.flush()


class Browser:
    """One tab of a browser without a window."""

    def __init__(self, place):
        to_browser, self.write_end = os.pipe()
        self.read_end, from_browser = os.pipe()

        def descriptors():
            # The browser reads from 3 and writes to 4. Copies first: the two may be 3 and 4 already.
            pair = [os.dup(to_browser), os.dup(from_browser)]
            while min(pair) < 10:
                pair = [os.dup(one) for one in pair]
            os.dup2(pair[0], 3)
            os.dup2(pair[1], 4)

        self.process = subprocess.Popen(
            [shutil.which("chromium"), "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
             "--no-first-run", "--remote-debugging-pipe", f"--user-data-dir={place}", "about:blank"],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, close_fds=False,
            preexec_fn=descriptors)
        os.close(to_browser)
        os.close(from_browser)
        os.set_inheritable(self.write_end, False)
        self.buffer, self.number, self.events = b"", 0, []
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network", "Accessibility"):
            self.ask(f"{domain}.enable")

    def end(self):
        self.process.kill()
        self.process.wait()

    def message(self):
        while b"\0" not in self.buffer:
            piece = os.read(self.read_end, 1 << 20)
            if not piece:
                raise RuntimeError("the browser has ended")
            self.buffer += piece
        text, self.buffer = self.buffer.split(b"\0", 1)
        return json.loads(text)

    def call(self, method, session=None, **parameters):
        self.number += 1
        request = {"id": self.number, "method": method, "params": parameters}
        if session:
            request["sessionId"] = session
        os.write(self.write_end, json.dumps(request).encode() + b"\0")
        while True:
            message = self.message()
            if message.get("id") == self.number:
                assert "error" not in message, f"{method}: {message['error']}"
                return message["result"]
            self.events.append(message)

    def ask(self, method, **parameters):
        return self.call(method, self.session, **parameters)

    def value(self, expression):
        answer = self.ask("Runtime.evaluate", expression=expression, returnByValue=True)
        assert "exceptionDetails" not in answer, answer
        return answer["result"]["value"]

    def show(self, file, width, scheme):
        self.ask("Emulation.setDeviceMetricsOverride", width=width, height=1000, deviceScaleFactor=1, mobile=width < 500)
        self.ask("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
        self.events = []
        self.ask("Page.navigate", url=file.as_uri())
        while not any(event.get("method") == "Page.loadEventFired" for event in self.events):
            self.events.append(self.message())

    def picture(self):
        self.ask("Emulation.setScrollbarsHidden", hidden=True)
        size = self.ask("Page.getLayoutMetrics")["cssContentSize"]
        clip = {"x": 0, "y": 0, "width": size["width"], "height": size["height"], "scale": 1}
        return base64.b64decode(self.ask("Page.captureScreenshot", clip=clip, captureBeyondViewport=True)["data"])


# Elements that stick out of the window, with their texts; those that scroll by themselves may be wider inside.
OVERFLOWS = """[...document.querySelectorAll('body *')].filter(e => e.getBoundingClientRect().right > innerWidth + 1)
  .map(e => e.tagName + ' ' + e.textContent.slice(0, 60)).concat(
    document.documentElement.scrollWidth > innerWidth ? ['the page scrolls sideways'] : [])"""

# The text with too little contrast (WCAG 2.2, 1.4.3): 4.5 to 1, or 3 to 1 for large text.
CONTRASTS = """(() => {
  const canvas = document.createElement('canvas').getContext('2d', { willReadFrequently: true })
  const rgb = c => { canvas.fillStyle = '#000'; canvas.fillStyle = c; canvas.fillRect(0, 0, 1, 1)
    return [...canvas.getImageData(0, 0, 1, 1).data] }
  const light = c => { const [r, g, b] = rgb(c).map(v => (v /= 255) <= .04045 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4)
    return .2126 * r + .7152 * g + .0722 * b }
  const ground = e => { for (; e; e = e.parentElement) { const c = getComputedStyle(e).backgroundColor
    if (c !== 'rgba(0, 0, 0, 0)' && c !== 'transparent') return c } return 'rgb(255, 255, 255)' }
  const bad = []
  const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT)
  while (texts.nextNode()) { const text = texts.currentNode, e = text.parentElement
    if (!text.data.trim() || e.closest('svg')) continue
    const style = getComputedStyle(e), [a, b] = [light(style.color), light(ground(e))]
    const ratio = (Math.max(a, b) + .05) / (Math.min(a, b) + .05), size = parseFloat(style.fontSize)
    const least = size >= 24 || (size >= 18.66 && style.fontWeight >= 700) ? 3 : 4.5
    if (ratio < least) bad.push(ratio.toFixed(2) + ' ' + text.data.slice(0, 40)) }
  for (const bar of document.querySelectorAll('svg rect')) { const [a, b] = [light(getComputedStyle(bar).fill), light(ground(bar))]
    const ratio = (Math.max(a, b) + .05) / (Math.min(a, b) + .05)
    if (ratio < 3) bad.push(ratio.toFixed(2) + ' bar ' + bar.getAttribute('class')) }
  return [...new Set(bad)] })()"""


class Server:
    """Answers by path: well, late, 503, 500, 401 and 400 with hostile words."""

    def __enter__(self):
        answers = {"/ok": (204, ""), "/down": (503, "busy, come again"), "/token": (401, f'{{"error": "token expired {HOSTILE}"}}'),
                   "/bad": (400, f"no such field: {HOSTILE}"), "/expired": (401, '{"error": "token expired on Tuesday"}'), "/slow": (204, ""),
                   "/fails": (500, "<html><head><title>500</title></head><body><h1>maintenance</h1></body></html>")}

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):
                self.rfile.read(int(self.headers.get("Content-Length") or 0))
                if self.path == "/slow":
                    time.sleep(2)
                status, body = answers[self.path]
                self.send_response(status)
                self.send_header("Content-Length", str(len(body.encode())))
                self.end_headers()
                self.wfile.write(body.encode())

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.server.serve_forever, args=(0.05,), daemon=True).start()
        return f"http://127.0.0.1:{self.server.server_port}"

    def __exit__(self, *_):
        self.server.shutdown()
        self.server.server_close()


class Queue:
    def __init__(self, place, name, configuration):
        self.path, self.file = place / name, place / f"{name}.html"
        self.environment = {key: value for key, value in os.environ.items() if not key.startswith("DRAINQ")} | {"HOME": str(place)}
        self.drainq("init")
        (self.path / "drainq.json").write_text(json.dumps(configuration))

    def begin(self, *words):
        return subprocess.Popen([binary, *words, "--queue", self.path], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                                env=self.environment)

    def drainq(self, *words, input="", allowed=(0, 1, 69, 75)):
        ended = subprocess.run(
            [binary, *words, "--queue", self.path], input=input, capture_output=True, text=True, env=self.environment, timeout=60)
        assert ended.returncode in allowed, f"drainq {words}: {ended.returncode}: {ended.stderr}"
        return ended.stdout

    def add(self, counts):
        for kind, count in counts.items():
            self.drainq("add", "--type", kind, input="".join(f'{{"n":{n}}}\n' for n in range(count)))

    def run(self):
        self.drainq("run", "--now", "--limit", "1000")

    def page(self):
        self.file.write_text(self.drainq("status", "--html"))
        return self.file

    def ran(self, last=0):
        """Lets runs have come each minute for a day, the last one so many seconds ago."""
        ring, now = bytearray(1500 * 11), int(time.time()) - last
        for second in range(now - 86_400, now + 1, 60):
            slot = second // 60 % 1500 * 11
            ring[slot:slot + 11] = b"%d\n" % second
        (self.path / "state/runs").write_bytes(ring)

    def since(self, destination, key, seconds):
        """Lets the hold or the incident of a destination have begun so many seconds ago."""
        ledger = self.path / "state/destinations.json"
        text = json.loads(ledger.read_text())
        text["destinations"][destination][key]["since"] = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() - seconds))
        ledger.write_text(json.dumps(text))


def page(place, name, routes, counts, runs=1):
    """Makes a queue with these routes, adds so many operations of each, makes runs, and writes its page to a file."""
    queue = Queue(place, name, {"routes": routes})
    queue.add(counts)
    for _ in range(runs):
        queue.run()
    queue.drainq("drop", "--type", "down", "--limit", "3")
    return queue.page()


def states(place, url):
    """A page for each thing that the first sentence can say, with the beginning of that sentence."""
    ok = {"ok": {"url": f"{url}/ok", "destination": "metrics"}, "bad": {"url": f"{url}/bad", "destination": "metrics"}}

    def queue(name, routes=ok, counts={"ok": 40}, runs=2):
        queue = Queue(place, name, {"routes": routes})
        queue.add(counts)
        for _ in range(runs):
            queue.run()
        queue.ran()
        return queue

    yield "All is well: nothing waits.", queue("well").page()
    late = queue("late")
    late.add({"ok": 12})
    late.ran(last=3 * 3600)
    yield "Nobody runs this queue: no run for 3h.", late.page()
    new = queue("new", runs=0)
    (new.path / "state/runs").unlink()
    yield "No run has come yet: 40 operations wait for the first.", new.page()
    fails = queue("fails", {"ok": {"url": f"{url}/fails", "destination": "orders"}}, {"ok": 148})
    fails.since("orders", "incident", 2 * 86_400)
    yield "1 of 1 destination is in trouble: orders answers 500 to everything.", fails.page()
    forty = {f"t{n}": {"url": f"{url}/{'expired' if n % 3 else 'ok'}", "destination": f"tenant-{n}.example.com"} for n in range(40)}
    yield ("26 of 40 destinations are held for one cause: the login is refused (401).",
           queue("forty", forty, {f"t{n}": 3 for n in range(40)}, runs=3).page())
    yield "3 operations failed for good, the newest one: 400.", queue("failed", counts={"ok": 40, "bad": 3}).page()
    paused = queue("paused")
    paused.add({"ok": 7})
    paused.drainq("pause")
    yield "The queue is paused: 7 operations wait.", paused.page()
    work = queue("work", {"ok": {"url": f"{url}/slow", "destination": "metrics"}}, {"ok": 0}, runs=0)
    work.add({"ok": 8})
    run = work.begin("run", "--concurrency", "4")
    while not any(file.suffix == ".json" for file in work.path.glob("claimed/*/*")):
        assert run.poll() is None
        time.sleep(0.01)
    yield "All is well: a run is at work, 8 operations are left.", work.page()
    run.wait()
    unsent = Queue(place, "unsent", {
        "secrets": {"token": {"file": "tokens/{payload.n}.token"}},
        "routes": {"ok": {"url": f"{url}/ok", "destination": "crm", "headers": {"Authorization": "Bearer ${secret:token}"}}}})
    (unsent.path / "tokens").mkdir(mode=0o700)
    for number in (0, 1):
        token = unsent.path / f"tokens/{number}.token"
        token.touch(mode=0o600)
        token.write_text("t")
    unsent.add({"ok": 3})
    unsent.run()
    unsent.ran()
    yield "1 operation is due since", unsent.page()


def routes(url):
    hostile = {"url": f"{url}/bad", "destination": "moved"}
    return {"ok": {"url": f"{url}/ok", "destination": "metrics"}, "down": {"url": f"{url}/down", "destination": "api.example.com"},
            "token": {"url": f"{url}/token", "destination": "crm"}, "bad": hostile}


def day(place, url):
    """The page of a queue after a made-up day: a log of 24 hours, and what waits now."""
    kinds = {"metrics": f"{url}/ok", "api.example.com": f"{url}/down", "crm": f"{url}/expired"}
    queue = Queue(place, "ledger", {
        "routes": {name.split(".")[0]: {"url": to, "destination": name} for name, to in kinds.items()}})
    queue.add({"metrics": 40, "api": 120, "crm": 18})
    for _ in range(2):
        queue.run()
    chance, now, lines = random.Random(7), time.time(), []

    def add(ago, event, destination, **more):
        at = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(now - ago))
        lines.append((now - ago, json.dumps(
            {"at": at, "event": event, "destination": destination} | more, separators=(",", ":"))))
        return at

    for minute in range(24 * 60, 0, -5):
        wave = 40 + 30 * math.sin(minute / 200)
        for name in kinds:
            if (name == "api.example.com" and minute < 107) or (name == "crm" and minute < 59):
                continue
            if chance.random() < 0.7:
                add(minute * 60, "attempts", name, delivered=int(wave * chance.uniform(0.3, 1)))
    since = add(9 * 3600, "down", "metrics", error="timeout", count=5, waiting=212)
    add(8.6 * 3600, "up", "metrics", since=since, error="timeout", ended="delivery")
    add(5 * 3600, "command", "crm", command="retry", user="ada", count=14)
    (queue.path / "state/log/earlier").write_text("".join(line + "\n" for _, line in sorted(lines)))
    queue.ran()
    queue.since("api.example.com", "incident", 107 * 60)
    queue.since("crm", "hold", 59 * 60)
    return queue.page()


def many(url):
    longest = "a" * 63 + ".example.com"
    return {f"t{n}": {"url": f"{url}/{'down' if n % 9 == 0 else 'ok'}", "destination": f"d{n}-{longest}"[:64]} for n in range(40)}


def main(arguments):
    with tempfile.TemporaryDirectory() as name, Server() as url:
        place = pathlib.Path(name)
        pages = {
            "a queue in trouble": page(place, "orders", routes(url), {"ok": 300, "down": 120, "token": 40, "bad": 12}, runs=2),
            "an empty queue": page(place, "empty", {}, {}),
            "a queue with forty destinations": page(place, "many", many(url), {f"t{n}": 2 for n in range(40)}),
        }
        sentences = {file.stem: (sentence, file) for sentence, file in states(place, url)}
        pages |= {f"the state '{name}'": file for name, (_, file) in sentences.items()}
        pages["a day"] = day(place, url)
        browser = Browser(place / "profile")
        try:
            for name, (sentence, file) in sentences.items():
                test(f"the first sentence of the state '{name}'", lambda: check_sentence(browser, file, sentence))
            for what, file in pages.items():
                for width in (360, 800, 1600):
                    for scheme in ("light", "dark"):
                        test(f"{what} at {width} pixels, {scheme}", lambda: check(browser, file, width, scheme))
            test("hostile text is text", lambda: check_text(browser, pages["a queue in trouble"]))
            test("what a reader without eyes gets", lambda: check_tree(browser, pages["a queue in trouble"]))
            if arguments[:1] == ["--picture"]:
                browser.show(pages["a day"], 1280, "light")
                pathlib.Path(arguments[1]).write_bytes(browser.picture())
            if arguments[:1] == ["--pictures"]:
                for file in pages.values():
                    for width, scheme in ((360, "light"), (1280, "light"), (1280, "dark")):
                        browser.show(file, width, scheme)
                        pathlib.Path(arguments[1], f"{file.stem}-{width}-{scheme}.png").write_bytes(browser.picture())
        finally:
            browser.end()
    return 1 if failed else 0


def check(browser, file, width, scheme):
    browser.show(file, width, scheme)
    said = [event for event in browser.events
            if event.get("method") in ("Log.entryAdded", "Runtime.exceptionThrown", "Runtime.consoleAPICalled")]
    assert not said, said
    asked = [event["params"]["request"]["url"] for event in browser.events if event.get("method") == "Network.requestWillBeSent"]
    assert asked == [file.as_uri()], asked
    assert browser.value(OVERFLOWS) == [], browser.value(OVERFLOWS)
    assert browser.value(CONTRASTS) == [], browser.value(CONTRASTS)
    assert len(browser.picture()) > 5_000


def check_sentence(browser, file, sentence):
    browser.show(file, 800, "light")
    text = browser.value("document.querySelector('h1').innerText")
    assert text.strip().startswith(sentence), text


def check_text(browser, file):
    browser.show(file, 800, "light")
    assert browser.value("document.title") == "✕ 3 of 4 in trouble · orders", browser.value("document.title")
    assert browser.value("document.scripts.length + document.images.length + document.links.length") == 0
    text = browser.value("document.body.innerText")
    assert "<script>document.title=" in text and "\u202e" not in text, text[:2000]


def check_tree(browser, file):
    browser.show(file, 800, "light")
    nodes = browser.ask("Accessibility.getFullAXTree")["nodes"]

    def all_of(role):
        return [node.get("name", {}).get("value", "") for node in nodes if node.get("role", {}).get("value") == role]

    assert len(all_of("heading")) >= 4 and all(all_of("heading")), all_of("heading")
    pictures = all_of("image") + all_of("img") + all_of("graphics-document")
    assert len(pictures) >= 5 and all(pictures), pictures
    assert any(name.startswith("24 hours: ") and "; down " in name for name in pictures), pictures
    columns = all_of("columnheader")
    assert {"destination", "waiting", "oldest", "what", "when", "cause", "effect"} <= set(columns), columns
    assert all_of("main") == [""] and "trouble" in pictures, pictures
    assert browser.value("document.documentElement.lang") == "en"


sys.exit(main(sys.argv[1:]))
