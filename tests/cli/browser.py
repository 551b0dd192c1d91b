"""Chromium without a window, driven over the DevTools protocol by the standard library alone.

The protocol runs over two pipes (--remote-debugging-pipe: JSON texts that end in NUL), so no port and no websocket.
"""
import fcntl
import json
import os
import pathlib
import select
import shutil
import subprocess
import tempfile
import time

CHROMIUM = next((found for found in map(shutil.which, ("chromium", "chromium-browser", "google-chrome")) if found), None)
FLAGS = ["--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking",
         "--disable-component-update", "--disable-sync", "--disable-dev-shm-usage", "--hide-scrollbars",
         "--remote-debugging-pipe"]
PATIENCE = 60  # seconds for any answer
KEYS = {"Home": 36, "ArrowRight": 39}


class Browser:
    def __enter__(self):
        self.profile = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        ours, self.write_to = os.pipe()
        self.read_from, theirs = os.pipe()
        # at 3 and 4 the browser looks for its ends; first out of the way, should a pipe itself be there
        there = [fcntl.fcntl(end, fcntl.F_DUPFD, 10) for end in (ours, theirs)]

        def place():
            os.dup2(there[0], 3)
            os.dup2(there[1], 4)

        self.process = subprocess.Popen([CHROMIUM, *FLAGS, f"--user-data-dir={self.profile.name}"], preexec_fn=place,
                                        pass_fds=(3, 4), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                        stderr=subprocess.DEVNULL)
        for end in (ours, theirs, *there):
            os.close(end)
        self.buffer, self.last, self.answers, self.events = b"", 0, {}, []
        return self

    def __exit__(self, *_):
        try:
            self.send("Browser.close")
            self.process.wait(timeout=10)
        except (subprocess.TimeoutExpired, OSError, RuntimeError):
            self.process.kill()
            self.process.wait()
        os.close(self.write_to)
        os.close(self.read_from)
        self.profile.cleanup()

    def receive(self, seconds):
        """Reads what has come within that time; whether anything has."""
        ready, _, _ = select.select([self.read_from], [], [], seconds)
        if not ready:
            return False
        part = os.read(self.read_from, 1 << 16)
        if not part:
            raise RuntimeError("chromium has ended")
        *messages, self.buffer = (self.buffer + part).split(b"\0")
        for message in map(json.loads, messages):
            if "id" in message:
                self.answers[message["id"]] = message
            else:
                self.events.append(message)
        return True

    def send(self, method, session=None, **parameters):
        self.last += 1
        message = {"id": self.last, "method": method, "params": parameters}
        if session:
            message["sessionId"] = session
        data = json.dumps(message).encode() + b"\0"
        while data:
            data = data[os.write(self.write_to, data):]
        end = time.monotonic() + PATIENCE
        while self.last not in self.answers:
            if time.monotonic() > end or not self.receive(max(0, end - time.monotonic())):
                raise RuntimeError(f"{method}: no answer in {PATIENCE} s")
        answer = self.answers.pop(self.last)
        if "error" in answer:
            raise RuntimeError(f"{method}: {answer['error']}")
        return answer["result"]

    def open(self, path, **how):
        return Tab(self, path, **how)


class Tab:
    """A page in the browser; `requests` and `errors` are what it has asked for and complained of since it was opened."""

    def __init__(self, browser, path, width=1000, height=900, dark=False, script=True, media=""):
        self.browser = browser
        self.target = browser.send("Target.createTarget", url="about:blank")["targetId"]
        self.session = browser.send("Target.attachToTarget", targetId=self.target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.send(f"{domain}.enable")
        self.send("Emulation.setEmulatedMedia", media=media,
                  features=[{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}])
        self.send("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=width < 600)
        self.send("Emulation.setScriptExecutionDisabled", value=not script)
        self.url = pathlib.Path(path).resolve().as_uri()
        self.script = script
        fault = self.send("Page.navigate", url=self.url).get("errorText")
        if fault:
            raise RuntimeError(f"{self.url}: {fault}")
        self.wait_for("Page.loadEventFired")

    def send(self, method, **parameters):
        return self.browser.send(method, self.session, **parameters)

    def seen(self, method):
        return [e["params"] for e in self.browser.events if e.get("sessionId") == self.session and e["method"] == method]

    def wait_for(self, method):
        end = time.monotonic() + PATIENCE
        while not self.seen(method):
            if time.monotonic() > end:
                raise RuntimeError(f"{method}: not in {PATIENCE} s")
            self.browser.receive(0.2)

    @property
    def requests(self):
        """Everything asked for but the page itself and what stands in it."""
        urls = [e["request"]["url"] for e in self.seen("Network.requestWillBeSent")]
        return [url for url in urls if url != self.url and not url.startswith("data:")]

    @property
    def errors(self):
        said = [e["exceptionDetails"].get("exception", {}).get("description", e["exceptionDetails"]["text"])
                for e in self.seen("Runtime.exceptionThrown")]
        said += [" ".join(str(a.get("value", a.get("description"))) for a in e["args"])
                 for e in self.seen("Runtime.consoleAPICalled") if e["type"] in ("error", "warning", "assert")]
        return said + [e["entry"]["text"] for e in self.seen("Log.entryAdded") if e["entry"]["level"] in ("error", "warning")]

    def value(self, expression):
        result = self.send("Runtime.evaluate", expression=expression, returnByValue=True)
        if "exceptionDetails" in result:
            raise RuntimeError(f"{expression}: {result['exceptionDetails']}")
        return result["result"].get("value")

    def point(self, element):
        """The middle of an element (an expression), scrolled into view."""
        self.value(f"({element}).scrollIntoView({{block: 'center'}})")
        self.settle()
        return self.value(f"(r => [r.x + r.width / 2, r.y + r.height / 2])(({element}).getBoundingClientRect())")

    def move(self, x, y):
        self.send("Input.dispatchMouseEvent", type="mouseMoved", x=x, y=y)

    def click(self, element):
        x, y = self.point(element)
        self.move(x, y)
        for kind in ("mousePressed", "mouseReleased"):
            self.send("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)

    def press(self, key):
        for kind in ("keyDown", "keyUp"):
            self.send("Input.dispatchKeyEvent", type=kind, key=key, code=key, windowsVirtualKeyCode=KEYS[key])

    def settle(self):
        """Until the page has drawn what the last input changed, and late messages are in."""
        if self.script:
            self.send("Runtime.evaluate", awaitPromise=True,
                      expression="new Promise(done => requestAnimationFrame(() => setTimeout(done, 50)))")
        while self.browser.receive(0.05):
            pass

    def close(self):
        self.browser.send("Target.closeTarget", targetId=self.target)
