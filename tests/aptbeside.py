# SPDX-License-Identifier: Apache-2.0
"""An apt beside the machine's own: other suites, and its own directory."""

import os
import subprocess

KEYRING = "/usr/share/keyrings/debian-archive-keyring.gpg"


def _site():
    """Where the machine's own apt gets its packages."""
    sites = subprocess.run(
        ["apt-get", "indextargets", "--format", "$(REPO_URI)",
         "Created-By: Packages", "Component: main"],
        check=True, text=True, stdout=subprocess.PIPE).stdout.split()
    for site in sites:
        if "security" not in site:
            return site
    raise SystemExit("apt knows no archive; try apt-get update")


def apt_options(cache, kind, suite):
    """The options of an apt that knows one suite; kind: deb or deb-src."""
    for name in ("lists/partial", "cache/archives/partial"):
        os.makedirs(os.path.join(cache, name), exist_ok=True)
    sources = os.path.join(cache, "sources.list")
    with open(sources, "w", encoding="utf-8") as file:
        file.write(f"{kind} [signed-by={KEYRING}] {_site()} {suite} main\n")
    return [word for option in (
        f"Dir::Etc::SourceList={sources}", "Dir::Etc::SourceParts=-",
        f"Dir::State::Lists={cache}/lists", f"Dir::Cache={cache}/cache",
        "APT::Sandbox::User=root") for word in ("-o", option)]
