"""Passwords and signatures in URLs, which what people see and share does not show.

Texts may come from a log that somebody else has written: no expression looks at a part of one again and again.
"""

from __future__ import annotations

import re

_URL = re.compile(r"(?<=://)[^\s'\"<>]+")
#: The password before a host.
_PASSWORD = re.compile(r"^([^/?#:@]*):[^/?#]*@")
#: A parameter that signs a request, or stands for a password.
_PARAMETER = re.compile(
    r"([?&](?=[^?&#=]*(?:sig|token|secret|passw|credential|key))[^?&#=]*=)[^&#]*", re.IGNORECASE
)


def without_secrets(text: str) -> str:
    """Return a location, or a text that names some, with stars in the place of each URL's secrets."""
    return _URL.sub(_hidden, text) if "://" in text else text


def _hidden(url: re.Match[str]) -> str:
    return _PARAMETER.sub(r"\1***", _PASSWORD.sub(r"\1:***@", url[0]))
