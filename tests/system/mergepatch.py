# SPDX-License-Identifier: Apache-2.0
"""JSON merge patches (RFC 7396)."""


def merged(base, patch):
    """JSON merge patch, on a copy."""
    if not isinstance(patch, dict):
        return patch
    made = dict(base) if isinstance(base, dict) else {}
    for name, value in patch.items():
        if value is None:
            made.pop(name, None)
        else:
            made[name] = merged(made.get(name), value)
    return made


def joined(first, second):
    """One merge patch that does what both do, one after the other."""
    made = dict(first)
    for name, value in second.items():
        if isinstance(value, dict) and isinstance(made.get(name), dict):
            made[name] = joined(made[name], value)
        else:
            made[name] = value
    return made
