"""emulated: Shopify's Admin API, GraphQL

From https://shopify.dev/docs/api/usage/limits (cost, throttleStatus, THROTTLED, which are 200) and
https://shopify.dev/docs/api/usage/response-codes.
"""

import time

from emulation import Answer, Emulation
from kit import Example, equal


class Shopify(Emulation):
    COST = 10

    def __init__(self, left=1000, rate=100):
        super().__init__()
        self.titles, self.left, self.most, self.rate, self.last = {}, left, 1000, rate, time.time()
        self.throttled, self.code = 0, None

    def cost(self):
        status = {"maximumAvailable": self.most, "currentlyAvailable": int(self.left), "restoreRate": self.rate}
        return {"cost": {"requestedQueryCost": self.COST, "throttleStatus": status}}

    def failure(self, code):
        return Answer(200, {"errors": [{"message": code, "extensions": {"code": code}}], "extensions": self.cost()})

    def answer(self, request):
        if request.headers.get("X-Shopify-Access-Token") != "shpat_1":
            return Answer(401, {"errors": "[API] Invalid API key or access token (unrecognized login or wrong password)"})
        if request.path != "/admin/api/2025-10/graphql.json" or request.media_type != "application/json":
            return Answer(404, {"errors": "Not Found"})
        now = time.time()
        self.left, self.last = min(self.most, self.left + (now - self.last) * self.rate), now
        if self.left < self.COST:
            self.throttled += 1
            return self.failure("THROTTLED")
        if self.code:
            return self.failure(self.code)
        asked = request.json()
        if not asked or "productUpdate(product: $product)" not in asked["query"]:
            return Answer(200, {"errors": [{"message": "syntax error", "extensions": {"code": "undefined"}}]})
        self.left -= self.COST
        product = asked["variables"]["product"]
        if "none" in product["id"]:
            update = {"product": None, "userErrors": [{"field": ["id"], "message": "Product does not exist"}]}
        else:
            self.titles[product["id"]] = product["title"]
            update = {"product": {"id": product["id"]}, "userErrors": []}
        return Answer(200, {"data": {"productUpdate": update}, "extensions": self.cost()})


def queue(shopify):
    return Example("shopify", {"https://example.myshopify.com": shopify.url}, {"shopify.token": "shpat_1"})


def products(count):
    return [{"id": f"gid://shopify/Product/{n}", "title": f"\"{n}\" é"} for n in range(count)]


def test_lines():
    """the lines that begin the example change a product."""
    with Shopify() as shopify, queue(shopify) as example:
        example.follow_its_lines()
        equal({"gid://shopify/Product/1": "A chair"}, shopify.titles)


def test_pace():
    """a success that leaves too little for the next query keeps it back, so that none is throttled."""
    with Shopify(left=30, rate=20) as shopify, queue(shopify) as example:
        example.add(*products(6))
        example.run("--concurrency", "1", "--until-empty", "--max-time", "40s")
        example.is_in()
        equal(6, len(shopify.titles))
        equal(0, shopify.throttled, "throttled queries")


def test_throttled():
    """a throttled query waits until its cost is restored, uncharged."""
    with Shopify(left=0, rate=20) as shopify, queue(shopify) as example:
        example.add(*products(1))
        events = example.run("--until-empty", "--max-time", "20s")
        equal(1, len(shopify.titles))
        equal(1, shopify.throttled)
        assert all(event["attempts"] <= 1 for event in events if event["event"] == "attempt"), events


def test_refused():
    """a product that is not there fails alone; a scope that is missing and a wrong token hold."""
    with Shopify() as shopify, queue(shopify) as example:
        example.add({"id": "gid://shopify/Product/none", "title": "x"}, *products(1))
        example.run(status=1)
        example.is_in(failed=1)
        equal(1, len(shopify.titles))
    with Shopify() as shopify, queue(shopify) as example:
        shopify.code = "ACCESS_DENIED"
        example.add(*products(2))
        example.run(status=69)
        example.is_in(held=2)
    with Shopify() as shopify, queue(shopify) as example:
        example.secret("shopify.token", "shpat_old")
        example.add(*products(2))
        example.run(status=69)
        example.is_in(held=2)


def test_internal():
    """an error of Shopify's own is tried again, and so is a page of another server."""
    with Shopify() as shopify, queue(shopify) as example:
        shopify.code = "INTERNAL_SERVER_ERROR"
        example.add(*products(1))
        example.run(status=75)
        shopify.code = None
        example.run("--now")
        equal(1, len(shopify.titles))
