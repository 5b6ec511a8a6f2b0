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
import time
import urllib.parse

import yaml

KUBECTL = os.environ.get("FERRY_KUBECTL", "kubectl")
DEADLINE = 60  # seconds for anything that should take a moment

PATCH_TYPES = {
    "merge": "application/merge-patch+json",
    "json": "application/json-patch+json",
    "strategic": "application/strategic-merge-patch+json",
}


def path_of(version, plural, namespace=None, name=None, sub=None, **query):
    """The path of a resource: "v1" or "group/version", and the rest."""
    path = f"/api/{version}" if "/" not in version else f"/apis/{version}"
    if namespace:
        path += f"/namespaces/{namespace}"
    path += f"/{plural}"
    if name:
        path += f"/{name}"
    if sub:
        path += f"/{sub}"
    return with_query(path, **query)


def with_query(path, **query):
    """The path with parameters; those that are None are left out."""
    given = {k: v for k, v in query.items() if v is not None}
    if not given:
        return path
    mark = "&" if "?" in path else "?"
    return path + mark + urllib.parse.urlencode(given)


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

    def warnings(self):
        """The texts of the Warning headers."""
        found = []
        for value in self.headers.get_all("Warning") or []:
            code, _agent, text = value.split(" ", 2)
            assert code == "299", value
            found.append(json.loads(text))
        return found

    def __repr__(self):
        return f"<{self.code} {self.body[:600]!r}>"


class Api:
    """One keep-alive connection to an API server, as one user."""

    def __init__(self, server, ca_file=None, cert_file=None, key_file=None,
                 token=None, insecure=False):
        self.url = urllib.parse.urlsplit(server)
        self.context = ssl.create_default_context(cafile=ca_file)
        if insecure:
            self.context.check_hostname = False
            self.context.verify_mode = ssl.CERT_NONE
        if cert_file:
            self.context.load_cert_chain(cert_file, key_file)
        self.token = token
        self.own_headers = {}
        self.connection = None

    def impersonating(self, user, *groups):
        """Another client, which speaks for somebody else."""
        other = Api.__new__(Api)
        other.url, other.context, other.token = \
            self.url, self.context, self.token
        other.own_headers = {"Impersonate-User": user}
        if groups:
            other.own_headers["Impersonate-Group"] = list(groups)
        other.connection = None
        return other

    def connect(self):
        connection = http.client.HTTPSConnection(
            self.url.hostname, self.url.port, context=self.context,
            timeout=DEADLINE)
        connection.connect()
        connection.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return connection

    def headers(self, extra):
        headers = {"Accept": "application/json", **self.own_headers}
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
        if isinstance(data, str):
            data = data.encode()
        connection.putrequest(method, self.url.path.rstrip("/") + path,
                              skip_accept_encoding=True)
        for name, value in headers.items():
            for each in value if isinstance(value, list) else [value]:
                connection.putheader(name, each)
        if data is not None:
            connection.putheader("Content-Length", str(len(data)))
        connection.endheaders(data)
        return connection.getresponse()

    def request(self, method, path, body=None, headers=None):
        for attempt in (1, 2):
            if self.connection is None:
                self.connection = self.connect()
                attempt = 2
            try:
                response = self.start(method, path, body, headers)
                return Answer(response, response.read())
            except (http.client.RemoteDisconnected, ConnectionError,
                    ssl.SSLEOFError):
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
        return self.expect(200, "PATCH", path, body,
                           headers={"Content-Type": PATCH_TYPES[kind]},
                           **more)

    def delete(self, path, body=None, **more):
        return self.expect(200, "DELETE", path, body, **more)

    def refuse(self, code, reason, method, path, body=None, headers=None,
               kind=None):
        """A request that must fail; the Status that comes instead.

        kind is that of a patch.
        """
        if kind:
            headers = {"Content-Type": PATCH_TYPES[kind], **(headers or {})}
        answer = self.request(method, path, body, headers)
        if answer.code != code:
            raise ApiError(f"{method} {path}: {answer!r}, not {code}")
        status = answer.json()
        assert status["kind"] == "Status", status
        assert status["apiVersion"] == "v1", status
        assert status["status"] == "Failure", status
        assert status["code"] == code, status
        assert status.get("reason", "") == reason, status
        return status

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

    def rest(self):
        """All events up to the end of the stream."""
        return list(iter(self.next, None))

    def close(self):
        self.connection.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


def read_kubeconfig(path, directory):
    """What Api() takes, from the current context of a kubeconfig.

    Keys and certificates are put in files in the directory. Credentials that
    come from a program (exec) are not read.
    """
    with open(path, encoding="utf-8") as file:
        config = yaml.safe_load(file)
    context = _named(config, "contexts", "context",
                     config.get("current-context"))
    cluster = _named(config, "clusters", "cluster", context["cluster"])
    user = _named(config, "users", "user", context["user"])
    here = os.path.dirname(os.path.abspath(path))
    parts = {"server": cluster["server"]}
    if cluster.get("insecure-skip-tls-verify"):
        parts["insecure"] = True
    for name, source, key in (
            ("ca_file", cluster, "certificate-authority"),
            ("cert_file", user, "client-certificate"),
            ("key_file", user, "client-key")):
        if source.get(key + "-data"):
            parts[name] = os.path.join(directory, name)
            _write_private(parts[name],
                           base64.b64decode(source[key + "-data"]))
        elif source.get(key):
            parts[name] = os.path.join(here, source[key])
    if user.get("tokenFile"):
        with open(os.path.join(here, user["tokenFile"]),
                  encoding="utf-8") as file:
            parts["token"] = file.read().strip()
    if user.get("token"):
        parts["token"] = user["token"]
    return parts


def _named(config, many, one, name):
    entries = config.get(many) or []
    found = [e[one] for e in entries if e["name"] == name]
    if not found and len(entries) == 1:
        found = [entries[0][one]]
    assert found, f"the kubeconfig has no {one} '{name}'"
    return found[0]


def _write_private(path, data):
    fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(fd, "wb") as file:
        file.write(data)


def has_vanished(api, path):
    return api.request("GET", path).code == 404


def wait_gone(api, path):
    wait_for(f"{path} to go", lambda: has_vanished(api, path))
