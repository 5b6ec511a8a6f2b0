# SPDX-License-Identifier: Apache-2.0
"""The relays that are compared, and how each is set up.

Every relay runs twice, as it would on two nodes:

    client -> in.sock -> relay 1 -> TCP on loopback -> relay 2 -> out.sock -> sink

With TLS it is 1.3 only, mutual, ECDSA P-256 certificates, X25519,
TLS_AES_128_GCM_SHA256, the server's name checked by the client (and, where the
relay can, the client's by the server), and every connection a full handshake:
no tickets and no session cache, because a migration connects to a node it may
never have met. Each relay has the settings that served it best here; PEERS
names them, and what was tried and did not help is in docs/benchmarks.md.

A start function gets a Site, starts both ends in its group and returns when
both listen.
"""
import dataclasses
import json
import pathlib
import select
import subprocess

import world

BUFFER = 131072
PIPE = 1048576
BACKLOG = 4096
SUITE = "TLS_AES_128_GCM_SHA256"
CURVE = "X25519"
# socat's listener takes no other; a client that offers another one first would
# have to begin its handshake anew.
SOCAT_CURVE = "prime256v1"
# Connections that a relay must be able to hold, with room to spare.
CONNECTIONS = 4000
READY_SECONDS = 10
# ferry-proxy does not run as root; any user without rights will do.
FERRY_USER = "nobody"
FERRY_CHANNEL = 49152


@dataclasses.dataclass(frozen=True)
class Peer:
    """A row of the result.

    kind is tls, plain or limit; compared_as names the bounds that the row
    counts for (see report.BOUNDS), None if Ferry is not compared with it.
    """
    name: str
    kind: str
    compared_as: str
    start: object
    settings: str
    curve: str = CURVE


class Site:
    """One relay pair while it runs: its files, addresses and processes."""

    def __init__(self, place, peer, credentials, tools):
        self.peer = peer
        self.credentials = credentials
        self.tools = tools
        self.port = place.port()
        name = f"{peer.name.replace(' ', '-')}.{self.port}"
        self.directory = place.directory / name
        self.directory.mkdir()
        self.directory.chmod(0o755)
        self.entry = self.directory / "in.sock"
        self.exit = self.directory / "out.sock"
        self.group = place.group(name)
        self._log = open(self.directory / "log", "ab")

    def run(self, *command, **options):
        options.setdefault("stdout", self._log)
        return self.group.start(command, stdin=subprocess.DEVNULL,
                                stderr=self._log, **options)

    def write(self, name, text):
        path = self.directory / name
        path.write_text(text)
        return path

    def wait_listening(self):
        """For relays that do not say when they are ready."""
        world.wait_until(
            lambda: unix_listens(self.entry) and tcp_listens(self.port),
            READY_SECONDS, f"{self.peer.name} to listen")

    def log(self):
        return (self.directory / "log").read_text(errors="replace")[-4000:]

    def close(self):
        self.group.close()
        self._log.close()


def unix_listens(path):
    """Whether a listening socket is at this path; connecting would disturb.

    haproxy binds a longer name first and renames it, which the kernel's table
    does not show.
    """
    if not path.exists():
        return False
    for line in pathlib.Path("/proc/net/unix").read_text().splitlines():
        field = line.split()
        if field[-1].startswith(str(path)) and field[3] == "00010000":
            return True
    return False


def tcp_listens(port):
    suffix = f":{port:04X}"
    for line in pathlib.Path("/proc/net/tcp").read_text().splitlines()[1:]:
        field = line.split()
        if field[1].endswith(suffix) and field[3] == "0A":
            return True
    return False


class Credentials:
    """A CA and the certificates of the nodes `source` and `target`."""

    def __init__(self, directory):
        self.directory = directory
        directory.mkdir()
        directory.chmod(0o755)
        self.ca = directory / "ca.crt"
        self._make("ca", ["-addext", "basicConstraints=critical,CA:TRUE",
                          "-addext", "keyUsage=critical,keyCertSign,cRLSign"])
        for node in ("source", "target"):
            self._make(node, [
                "-CA", self.ca, "-CAkey", self.key("ca"),
                "-addext", "basicConstraints=critical,CA:FALSE",
                "-addext", "keyUsage=critical,digitalSignature",
                "-addext", "extendedKeyUsage=serverAuth,clientAuth",
                "-addext", "subjectAltName="
                f"URI:spiffe://ferry.io/node/{node},DNS:{node}"])
            self.pem(node).write_text(
                self.cert(node).read_text() + self.key(node).read_text())

    def _make(self, name, options):
        subprocess.run(
            ["openssl", "req", "-x509", "-newkey", "ec",
             "-pkeyopt", "ec_paramgen_curve:P-256", "-noenc", "-sha256",
             "-days", "2", "-subj", f"/CN={name}",
             "-keyout", self.key(name), "-out", self.cert(name), *options],
            check=True, capture_output=True)

    def cert(self, node):
        return self.directory / f"{node}.crt"

    def key(self, node):
        return self.directory / f"{node}.key"

    def pem(self, node):
        return self.directory / f"{node}.pem"


def other(node):
    return "target" if node == "source" else "source"


def start_stunnel(site):
    ends = {"source": ("yes", site.entry, f"127.0.0.1:{site.port}"),
            "target": ("no", f"127.0.0.1:{site.port}", site.exit)}
    for node in ("target", "source"):
        client, accept, connect = ends[node]
        config = site.write(f"{node}.conf", f"""
foreground = quiet
pid =
syslog = no
debug = warning
socket = a:SO_REUSEADDR=1
[relay]
client = {client}
accept = {accept}
connect = {connect}
cert = {site.credentials.cert(node)}
key = {site.credentials.key(node)}
CAfile = {site.credentials.ca}
verifyChain = yes
checkHost = {other(node)}
sslVersion = TLSv1.3
ciphersuites = {SUITE}
curves = {CURVE}
options = NO_TICKET
sessionResume = no
socket = l:TCP_NODELAY=1
socket = r:TCP_NODELAY=1
""")
        site.run("stunnel4", config)
    site.wait_listening()


HAPROXY_TLS = {
    "source": "server next 127.0.0.1:{port} ssl crt {pem} ca-file {ca} "
              "verify required verifyhost target no-ssl-reuse",
    "target": "bind 127.0.0.1:{port} backlog {backlog} ssl crt {pem} "
              "ca-file {ca} verify required curves {curve}"}
HAPROXY_PLAIN = {
    "source": "server next 127.0.0.1:{port}",
    "target": "bind 127.0.0.1:{port} backlog {backlog}"}


def start_haproxy(site, lines, tuning, proxy=""):
    for node in ("target", "source"):
        network = lines[node].format(
            port=site.port, backlog=BACKLOG, curve=CURVE,
            pem=site.credentials.pem(node), ca=site.credentials.ca)
        if node == "source":
            local = f"bind unix@{site.entry} backlog {BACKLOG} mode 666"
        else:
            local = f"server next unix@{site.exit}"
        config = site.write(f"{node}.cfg", f"""
global
  nbthread 2
  maxconn {CONNECTIONS}
  {tuning}
  tune.ssl.cachesize 0
  ssl-default-bind-ciphersuites {SUITE}
  ssl-default-bind-options ssl-min-ver TLSv1.3 no-tls-tickets
  ssl-default-server-ciphersuites {SUITE}
  ssl-default-server-options ssl-min-ver TLSv1.3 no-tls-tickets
defaults
  mode tcp
  maxconn {CONNECTIONS}
  timeout connect 10s
  timeout client 1h
  timeout server 1h
listen relay
  {network}
  {local}
  {proxy}
""")
        site.run("haproxy", "-db", "-f", config)
    site.wait_listening()


def start_haproxy_tls(site):
    start_haproxy(site, HAPROXY_TLS, f"tune.bufsize {BUFFER}")


def start_haproxy_plain(site):
    start_haproxy(site, HAPROXY_PLAIN, f"tune.bufsize {BUFFER}")


def start_haproxy_splice(site):
    start_haproxy(site, HAPROXY_PLAIN,
                  f"tune.bufsize {BUFFER}\n  tune.pipesize {PIPE}",
                  "option splice-request\n  option splice-response")


NGINX_TLS = {
    "source": """proxy_ssl on;
    proxy_ssl_certificate {cert};
    proxy_ssl_certificate_key {key};
    proxy_ssl_trusted_certificate {ca};
    proxy_ssl_verify on;
    proxy_ssl_name target;
    proxy_ssl_protocols TLSv1.3;
    proxy_ssl_conf_command Ciphersuites {suite};
    proxy_ssl_session_reuse off;""",
    "target": """ssl_certificate {cert};
    ssl_certificate_key {key};
    ssl_client_certificate {ca};
    ssl_verify_client on;
    ssl_protocols TLSv1.3;
    ssl_conf_command Ciphersuites {suite};
    ssl_ecdh_curve {curve};
    ssl_session_cache off;
    ssl_session_tickets off;"""}


def start_nginx(site, is_tls):
    ends = {"source": (f"unix:{site.entry}", f"127.0.0.1:{site.port}"),
            "target": (f"127.0.0.1:{site.port}", f"unix:{site.exit}")}
    for node in ("target", "source"):
        listen, connect = ends[node]
        secrets = ""
        if is_tls:
            listen += " ssl" if node == "target" else ""
            secrets = NGINX_TLS[node].format(
                cert=site.credentials.cert(node), suite=SUITE, curve=CURVE,
                key=site.credentials.key(node), ca=site.credentials.ca)
        config = site.write(f"{node}.conf", f"""
load_module /usr/lib/nginx/modules/ngx_stream_module.so;
daemon off;
user nobody nogroup;
pid {site.directory}/{node}.pid;
error_log stderr error;
worker_processes 2;
worker_rlimit_nofile {4 * CONNECTIONS};
events {{
  worker_connections {2 * CONNECTIONS};
}}
stream {{
  proxy_buffer_size {BUFFER // 1024}k;
  proxy_timeout 1h;
  server {{
    listen {listen} backlog={BACKLOG};
    proxy_pass {connect};
    {secrets}
  }}
}}
""")
        site.run("nginx", "-e", "stderr", "-c", config)
    site.wait_listening()


def start_nginx_tls(site):
    start_nginx(site, True)


def start_nginx_plain(site):
    start_nginx(site, False)


def start_socat(site, ends, **options):
    local = {"source": f"UNIX-LISTEN:{site.entry},fork,backlog={BACKLOG}",
             "target": f"UNIX-CONNECT:{site.exit}"}
    site.run("socat", "-b", BUFFER, ends["target"], local["target"], **options)
    site.run("socat", "-b", BUFFER, local["source"], ends["source"], **options)
    site.wait_listening()


def start_socat_tls(site):
    # socat itself can only choose the ciphers of TLS 1.2 and older.
    defaults = site.write("openssl.cnf", f"""
openssl_conf = start
[start]
ssl_conf = modules
[modules]
system_default = defaults
[defaults]
MinProtocol = TLSv1.3
Ciphersuites = {SUITE}
Groups = {SOCAT_CURVE}
Options = -SessionTicket
""")
    common = {node: f"cert={site.credentials.cert(node)},"
                    f"key={site.credentials.key(node)},"
                    f"cafile={site.credentials.ca},verify=1,"
                    f"commonname={other(node)},nodelay"
              for node in ("source", "target")}
    start_socat(site, {
        "source": f"OPENSSL:127.0.0.1:{site.port},{common['source']}",
        "target": f"OPENSSL-LISTEN:{site.port},bind=127.0.0.1,reuseaddr,"
                  f"fork,backlog={BACKLOG},{common['target']}",
    }, env={"OPENSSL_CONF": str(defaults), "PATH": "/usr/sbin:/usr/bin"})


def start_socat_plain(site):
    start_socat(site, {
        "source": f"TCP:127.0.0.1:{site.port},nodelay",
        "target": f"TCP-LISTEN:{site.port},bind=127.0.0.1,reuseaddr,fork,"
                  f"backlog={BACKLOG},nodelay"})


def read_announcement(site, process):
    """The one line of JSON that ferry-proxy prints when it is ready."""
    readable, _, _ = select.select([process.stdout], [], [], READY_SECONDS)
    line = process.stdout.readline() if readable else b""
    if not line:
        raise RuntimeError(f"{site.peer.name} did not start; its log says\n"
                           + site.log())
    return json.loads(line)


def start_ferry(site, *options):
    shared = {}
    for node in ("target", "source"):
        shared[node] = site.directory / node
        shared[node].mkdir()
        subprocess.run(["chown", FERRY_USER, shared[node]], check=True)

    def run(node, *arguments):
        return site.run(
            site.tools.ferry_proxy, node, "--user", FERRY_USER,
            "--key", "bench", "--peer", other(node), "--dir", shared[node],
            "--ca", site.credentials.ca,
            "--cert", site.credentials.cert(node),
            "--key-file", site.credentials.key(node),
            "--log-level", "warning", *arguments, *options,
            stdout=subprocess.PIPE)

    target = read_announcement(site, run("target", "--bind", "127.0.0.1"))
    ports = ",".join(f"{port}:{channel}"
                     for port, channel in target["ports"].items())
    source = read_announcement(site, run(
        "source", "--address", target["address"], "--ports", ports))
    site.entry = pathlib.Path(source["sockets"][str(FERRY_CHANNEL)])
    site.exit = shared["target"] / f"bench-{FERRY_CHANNEL}-source.sock"
    site.port = next(int(port) for port, channel in target["ports"].items()
                     if channel == FERRY_CHANNEL)


def start_ferry_tls(site):
    start_ferry(site)


def start_ferry_libssl(site):
    start_ferry(site, "--engine", "libssl")


def start_ferry_plain(site):
    start_ferry(site, "--plain")


FERRY_TLS = "ferry tls"
FERRY_PLAIN = "ferry plain"
RAW_UNIX = "raw unix"
RAW_TCP = "raw tcp"

PEERS = (
    Peer(FERRY_TLS, "tls", None, start_ferry_tls, "defaults"),
    Peer("ferry tls libssl", "tls", None, start_ferry_libssl,
         "--engine libssl"),
    Peer("haproxy tls", "tls", "tls", start_haproxy_tls,
         f"nbthread 2, tune.bufsize {BUFFER}"),
    Peer("nginx tls", "tls", "tls", start_nginx_tls,
         f"2 workers, proxy_buffer_size {BUFFER // 1024}k"),
    Peer("stunnel tls", "tls", "tls", start_stunnel, "threads, TCP_NODELAY"),
    Peer("socat tls", "tls", "tls", start_socat_tls,
         f"-b {BUFFER}, nodelay, fork, {SOCAT_CURVE}", SOCAT_CURVE),
    Peer(FERRY_PLAIN, "plain", None, start_ferry_plain, "--plain"),
    Peer("haproxy plain", "plain", "plain", start_haproxy_plain,
         f"nbthread 2, tune.bufsize {BUFFER}"),
    Peer("haproxy plain splice", "plain", "splice", start_haproxy_splice,
         f"the same, splice-request, splice-response, tune.pipesize {PIPE}"),
    Peer("nginx plain", "plain", "plain", start_nginx_plain,
         f"2 workers, proxy_buffer_size {BUFFER // 1024}k"),
    Peer("socat plain", "plain", "plain", start_socat_plain,
         f"-b {BUFFER}, nodelay, fork"),
    Peer(RAW_UNIX, "limit", None, None, "no relay, one unix socket"),
    Peer(RAW_TCP, "limit", None, None, "no relay, TCP on loopback"),
)
