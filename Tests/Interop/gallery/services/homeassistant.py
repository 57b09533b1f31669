"""emulated: Home Assistant's REST API

From https://developers.home-assistant.io/docs/api/rest (201 for a new entity, 200 for one that is there, 400, 401).
"""

import re

from emulation import Answer, Emulation
from kit import Example, equal


class HomeAssistant(Emulation):
    def __init__(self):
        super().__init__()
        self.states = {}

    def answer(self, request):
        if request.headers.get("Authorization") != "Bearer eyJ0":
            return Answer(401, "401: Unauthorized")
        match = re.fullmatch(r"/api/states/(.*)", request.target)
        if not match:
            return Answer(404, "404: Not Found")
        state = request.json()
        if state is None:
            return Answer(400, {"message": "Invalid JSON specified."})
        if not re.fullmatch(r"[a-z0-9_]+\.[a-z0-9_]+", match[1]):
            return Answer(400, {"message": "Invalid entity ID specified."})
        if len(state["state"]) > 255:
            return Answer(400, {"message": "Invalid state specified."})
        is_new = match[1] not in self.states
        self.states[match[1]] = (state["state"], state.get("attributes"))
        return Answer(201 if is_new else 200, {"entity_id": match[1], "state": state["state"]})


def queue(home, token="eyJ0"):
    origins = {"http://homeassistant.example.net:8123": home.url}
    return Example("homeassistant", origins, {"homeassistant.token": token})


def state(value, entity="sensor.cellar"):
    return {"entity": entity, "state": value}


def test_lines():
    """the lines that begin the example set a state."""
    with HomeAssistant() as home, queue(home) as example:
        example.follow_its_lines()
        equal({"sensor.cellar": ("17.5", {"unit_of_measurement": "°C"})}, home.states)


def test_newest():
    """after an outage the newest state of each entity is sent, numbers as text, without attributes where it has none."""
    with HomeAssistant() as home, queue(home) as example:
        home.script = [Answer(502)]
        example.add(state(1))
        example.run(status=75)
        example.add(state(2), state(20.5), state("on", "light.x"))
        example.run("--now")
        example.is_in()
        equal({"sensor.cellar": ("20.5", None), "light.x": ("on", None)}, home.states)


def test_refused():
    """an entity without a valid name fails alone; a wrong token holds."""
    with HomeAssistant() as home, queue(home) as example:
        example.add(state("1", "Cellar"), state("1"))
        example.run(status=1)
        example.is_in(failed=1)
        equal({"sensor.cellar": ("1", None)}, home.states)
    with HomeAssistant() as home, queue(home, "old") as example:
        example.add(state("1"), state("1", "sensor.attic"))
        example.run(status=69)
        example.is_in(held=2)


def test_elsewhere():
    """a page of another server is no delivery."""
    with HomeAssistant() as home, queue(home) as example:
        home.script = [Answer(200, "<html>", media_type="text/html")]
        example.add(state("1"))
        example.run(status=75)
        example.is_in(deferred=1)
