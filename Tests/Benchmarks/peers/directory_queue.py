"""Python's dirq: its plain queue filled, added to, drained, or asked for a few.

    directory_queue.py fill QUEUE COUNT              adds 1 KB bodies
    directory_queue.py add QUEUE no|yes < LINES      adds each line; `yes` syncs file and directory
    directory_queue.py drain QUEUE URL CONCURRENCY requests|httpx|aiohttp [COUNT]
"""

import asyncio
import itertools
import os
import sys
import threading

from dirq.QueueSimple import QueueSimple

headers = {"Content-Type": "application/json"}


class SyncedQueue(QueueSimple):
    """What dirq does not do: an element is on the disk when it has been added."""

    def _add_data(self, data):
        directory, path = super()._add_data(data)
        self.sync(path)
        return directory, path

    def _add_path(self, path, directory):
        name = super()._add_path(path, directory)
        self.sync(os.path.join(self.path, directory))
        return name

    def sync(self, path):
        descriptor = os.open(path, os.O_RDONLY)
        os.fsync(descriptor)
        os.close(descriptor)


def locked(queue, count):
    """Elements that are this program's to send."""
    return itertools.islice((name for name in queue.names() if queue.lock(name)), count)


def drain_threads(queue, names, url, concurrency):
    import requests

    guard = threading.Lock()
    failures = []

    def work():
        session = requests.Session()
        while not failures:
            with guard:
                name = next(names, None)
            if name is None:
                return
            answer = session.post(url, data=queue.get(name), headers=headers)
            if answer.status_code == 204:
                queue.remove(name)
            else:
                failures.append(name)

    threads = [threading.Thread(target=work) for _ in range(concurrency)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return not failures


async def drain_tasks(queue, names, url, concurrency, library):
    async def work(post):
        for name in names:
            if await post(queue.get(name)) != 204:
                raise SystemExit(1)
            queue.remove(name)

    if library == "aiohttp":
        import aiohttp

        async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=concurrency)) as session:
            async def post(body):
                async with session.post(url, data=body, headers=headers) as answer:
                    return answer.status

            await asyncio.gather(*(work(post) for _ in range(concurrency)))
    else:
        import httpx

        async with httpx.AsyncClient(limits=httpx.Limits(max_connections=concurrency)) as client:
            async def post(body):
                return (await client.post(url, content=body, headers=headers)).status_code

            await asyncio.gather(*(work(post) for _ in range(concurrency)))


def main(action, path, *words):
    queue = SyncedQueue(path) if words[0] == "yes" else QueueSimple(path)
    if action == "fill":
        for number in range(int(words[0])):
            start = f'{{"n":{number},"text":"'
            queue.add((start + "x" * (1022 - len(start)) + '"}').encode())
    elif action == "add":
        for line in sys.stdin.buffer:
            queue.add(line)
    else:
        url, concurrency, library = words[0], int(words[1]), words[2]
        names = locked(queue, int(words[3]) if len(words) > 3 else None)
        if library == "requests":
            if not drain_threads(queue, names, url, concurrency):
                sys.exit(1)
        else:
            asyncio.run(drain_tasks(queue, names, url, concurrency, library))


main(*sys.argv[1:])
