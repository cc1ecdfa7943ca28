"""Passwords and signatures in URLs, which what people see and share does not show.

Texts may come from a log that somebody else has written: no expression looks at a part of one again and again.
"""

from __future__ import annotations

import re

#: A URL behind `://`, without what ends a quotation or a sentence. Farther in, that may be part of a password.
_URL = re.compile(r"\S*[^\s'\"<>()\[\]{},.:;]|")
#: The password, which may hold any sign. So more than it is left out where an `@` comes later. A port is none.
_PASSWORD = re.compile(r"\A([^/?#:@'\"<>\[]*):(?!\d+[/?#]).*@")
#: A parameter that signs a request, or stands for a password.
_PARAMETER = re.compile(
    r"([?&#](?=[^?&#=]*(?:sig|token|secret|passw|credential|key))[^?&#=]*=)[^&#]*", re.IGNORECASE
)


def without_secrets(text: str) -> str:
    """Return a location, or a text that names some, with stars in the place of each URL's secrets.

    Digits between a colon and a `/`, `?` or `#` are a port. So a password that begins like that has to be URL-encoded.
    """
    before, *urls = text.split("://")
    return "://".join([before, *map(_hidden, urls)])


def _hidden(text: str) -> str:
    """What follows `://`, up to the next one."""
    url = _URL.match(text)
    assert url is not None, "a URL may be empty"
    return _PARAMETER.sub(r"\1***", _PASSWORD.sub(r"\1:***@", url[0])) + text[url.end() :]
