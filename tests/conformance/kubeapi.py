# SPDX-License-Identifier: Apache-2.0
"""A small client for the Kubernetes API: requests, watches, kubeconfigs.

Plain HTTP and JSON, so that a test sees what is on the wire.
"""

import base64
import http.client
import json
import os
import socket
import ssl
import subprocess
import time
import urllib.parse

KUBECTL = os.environ.get("FERRY_KUBECTL", "kubectl")
DEADLINE = 60  # seconds for anything that should take a moment


def wait_for(what, condition, deadline=DEADLINE):
    """Returns the first true value of condition()."""
    end = time.monotonic() + deadline
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > end:
            raise TimeoutError(f"waited {deadline} s for {what}")
        time.sleep(0.02)


class ApiError(AssertionError):
    """An answer that was not expected."""


class Answer:
    """Code, headers and body of one answer."""

    def __init__(self, response, body):
        self.code = response.status
        self.headers = response.headers
        self.body = body

    def json(self):
        return json.loads(self.body)

    def text(self):
        return self.body.decode()

    def __repr__(self):
        return f"<{self.code} {self.body[:300]!r}>"


class Api:
    """One keep-alive connection to an API server, as one user."""

    def __init__(self, server, ca_file, cert_file=None, key_file=None,
                 token=None):
        self.url = urllib.parse.urlsplit(server)
        self.context = ssl.create_default_context(cafile=ca_file)
        if cert_file:
            self.context.load_cert_chain(cert_file, key_file)
        self.token = token
        self.connection = None

    def connect(self):
        connection = http.client.HTTPSConnection(
            self.url.hostname, self.url.port, context=self.context,
            timeout=DEADLINE)
        connection.connect()
        connection.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return connection

    def headers(self, extra):
        headers = {"Accept": "application/json"}
        if self.token:
            headers["Authorization"] = "Bearer " + self.token
        headers.update(extra or {})
        return headers

    def start(self, method, path, body=None, headers=None, connection=None):
        """Sends a request and returns the response, body unread."""
        connection = connection or self.connection
        data = None
        headers = self.headers(headers)
        if body is not None:
            data = body if isinstance(body, (bytes, str)) else \
                json.dumps(body)
            headers.setdefault("Content-Type", "application/json")
        connection.request(method, path, data, headers)
        return connection.getresponse()

    def request(self, method, path, body=None, headers=None):
        for attempt in (1, 2):
            if self.connection is None:
                self.connection = self.connect()
                attempt = 2
            try:
                response = self.start(method, path, body, headers)
                return Answer(response, response.read())
            except (http.client.RemoteDisconnected, ConnectionError):
                self.close()
                if attempt == 2:
                    raise
        raise AssertionError("not reached")

    def expect(self, code, method, path, body=None, headers=None):
        answer = self.request(method, path, body, headers)
        if answer.code != code:
            raise ApiError(f"{method} {path}: {answer!r}, not {code}")
        return answer.json() if answer.body.startswith(b"{") else \
            answer.text()

    def get(self, path, **more):
        return self.expect(200, "GET", path, **more)

    def create(self, path, body, **more):
        return self.expect(201, "POST", path, body, **more)

    def put(self, path, body, **more):
        return self.expect(200, "PUT", path, body, **more)

    def patch(self, path, body, kind="merge", **more):
        types = {"merge": "application/merge-patch+json",
                 "json": "application/json-patch+json",
                 "strategic": "application/strategic-merge-patch+json"}
        return self.expect(200, "PATCH", path, body,
                           headers={"Content-Type": types[kind]}, **more)

    def delete(self, path, body=None, **more):
        return self.expect(200, "DELETE", path, body, **more)

    def watch(self, path):
        return Watch(self, path)

    def close(self):
        if self.connection:
            self.connection.close()
        self.connection = None


class Watch:
    """The events of a watch, one after the other."""

    def __init__(self, api, path):
        self.connection = api.connect()
        mark = "&" if "?" in path else "?"
        self.response = api.start("GET", f"{path}{mark}watch=true",
                                  connection=self.connection)
        if self.response.status != 200:
            raise ApiError(f"watch {path}: {self.response.status} "
                           f"{self.response.read()!r}")

    def next(self):
        """The next event, None at the end of the stream."""
        line = self.response.readline()
        return json.loads(line) if line else None

    def until(self, condition):
        """Reads on until an event fulfils the condition; returns it."""
        while True:
            event = self.next()
            assert event is not None, "the watch ended"
            if condition(event):
                return event

    def close(self):
        self.connection.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


def read_kubeconfig(path, directory):
    """Server, CA file, certificate file and key file of a kubeconfig.

    Through kubectl, which reads every form of it and prints JSON.
    """
    out = subprocess.run([KUBECTL, "--kubeconfig", path, "config", "view",
                          "--raw", "--minify", "--flatten", "-o", "json"],
                         check=True, stdout=subprocess.PIPE).stdout
    config = json.loads(out)
    cluster = config["clusters"][0]["cluster"]
    user = config["users"][0]["user"]
    parts = {"server": cluster["server"]}
    for name, data in (
            ("ca_file", cluster.get("certificate-authority-data")),
            ("cert_file", user.get("client-certificate-data")),
            ("key_file", user.get("client-key-data"))):
        if not data:
            continue
        parts[name] = os.path.join(directory, name)
        fd = os.open(parts[name], os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(fd, "wb") as file:
            file.write(base64.b64decode(data))
    if user.get("token"):
        parts["token"] = user["token"]
    return parts


def has_vanished(api, path):
    return api.request("GET", path).code == 404


def wait_gone(api, path):
    wait_for(f"{path} to go", lambda: has_vanished(api, path))
