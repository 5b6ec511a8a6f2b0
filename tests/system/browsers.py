# SPDX-License-Identifier: Apache-2.0
"""A headless Chromium of a test's own, by the WebDriver protocol.

    with Browser() as browser:
        browser.open("http://127.0.0.1:1234/")
        browser.text("#state")
"""

import base64
import json
import re
import shutil
import subprocess
import tempfile
import urllib.error
import urllib.request

from lines import Lines

START_DEADLINE = 180  # seconds; a browser on a busy computer
COMMAND_DEADLINE = 120
STARTS = 5
_STARTED = re.compile(r"started successfully on port (\d+)|"
                      "port not available")
OPTIONS = ["--headless=new", "--no-sandbox", "--disable-gpu",
           "--disable-dev-shm-usage", "--disable-background-networking",
           "--no-first-run", "--no-proxy-server", "--window-size=1200,1000"]


class Browser:
    """Starts chromedriver and one window; ends both."""

    def __init__(self):
        self.profile = tempfile.mkdtemp(prefix="ferry-browser-")
        self.session = None
        self._start()
        try:
            self.url = f"http://127.0.0.1:{self._port()}/session"
            self.session = self._send("POST", "", {"capabilities": {
                "alwaysMatch": {
                    "browserName": "chrome",
                    "goog:loggingPrefs": {"browser": "ALL"},
                    "goog:chromeOptions": {"args": [
                        *OPTIONS, f"--user-data-dir={self.profile}"]}}}},
                START_DEADLINE)["sessionId"]
        except BaseException:
            self.close()
            raise

    def _start(self):
        # pylint: disable=consider-using-with
        self.driver = subprocess.Popen(
            ["chromedriver", "--port=0"], stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, text=True)
        # Read on to the end: a full pipe would stop it.
        self.said = Lines(self.driver.stdout)

    def _port(self):
        """Where it listens. It wants the port that IPv6 got for IPv4 as well,
        and ends when somebody has that: it may try several times."""
        for _ in range(STARTS):
            line = self.said.find(_STARTED.search, START_DEADLINE)
            port = _STARTED.search(line).group(1)
            if port:
                return port
            self.driver.wait(START_DEADLINE)
            self.said.close()
            self._start()
        raise AssertionError("chromedriver finds no port")

    def _send(self, method, path, body=None, timeout=COMMAND_DEADLINE):
        base = f"{self.url}/{self.session}" if self.session else self.url
        request = urllib.request.Request(
            base + path, method=method,
            data=None if body is None else json.dumps(body).encode(),
            headers={"Content-Type": "application/json"})
        try:
            with urllib.request.urlopen(request, timeout=timeout) as answer:
                return json.load(answer)["value"]
        except urllib.error.HTTPError as error:
            raise AssertionError(error.read().decode()) from error

    def open(self, url):
        self._send("POST", "/url", {"url": url})

    def run(self, script, *arguments):
        """The value that a script returns."""
        return self._send("POST", "/execute/sync",
                          {"script": script, "args": list(arguments)})

    def text(self, selector):
        """What one can read there; "" when it is not there."""
        return self.run("const found = document.querySelector(arguments[0]);"
                        "return found ? found.innerText : '';", selector)

    def rows(self, selector):
        """The texts of the cells of a table's body."""
        return self.run(
            "return [...document.querySelectorAll(arguments[0] + "
            "' tbody tr')].map(row => [...row.cells].map(c => c.innerText));",
            selector)

    def complaints(self):
        """What the page's console has of errors and warnings."""
        return [entry["message"] for entry in
                self._send("POST", "/se/log", {"type": "browser"})
                if entry["level"] in ("SEVERE", "WARNING")]

    def screenshot(self, path):
        with open(path, "wb") as file:
            file.write(base64.b64decode(self._send("GET", "/screenshot")))

    def close(self):
        try:
            if self.session:
                self._send("DELETE", "")
        finally:
            self.driver.terminate()
            self.driver.wait(COMMAND_DEADLINE)
            self.said.close()
            shutil.rmtree(self.profile, ignore_errors=True)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()
