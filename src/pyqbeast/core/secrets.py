"""Passwords and signatures in URLs, which what people see and share does not show.

Texts may come from a log that somebody else has written: no expression looks at a part of one again and again.
"""

from __future__ import annotations

import re

#: URLs from the first `://` to the next blank, without what ends a quotation or a sentence. Farther in, a quote or a
#: `://` may be part of a secret.
_URLS = re.compile(r"://(?:\S*[^\s'\"<>()\[\]{},.:;]|)")
#: A password and what follows, in a text that an `@` ends. It may hold any sign, so that the last `@` is its end.
#: Neither a port nor the URL in which an archive lies is one.
_PASSWORD = re.compile(r"(://[^/?#:@'\"<>\[]*):(?!\d+[/?#]|:[\w+.-]*://).*")
#: A parameter that signs a request, or stands for a password. It ends where a text in JSON does.
_PARAMETER = re.compile(
    r"([?&#](?=[^?&#=]*(?:sig|token|secret|passw|credential|key))[^?&#=]*=)(?:[^&#'\"]|['\"](?![,\]}]))*",
    re.IGNORECASE,
)


def without_secrets(text: str) -> str:
    """Return a location, or a text that names some, with stars in the place of each URL's secrets.

    Digits between a colon and a `/`, `?` or `#` are a port. So a password that begins like that has to be URL-encoded.
    """
    return _URLS.sub(_hidden, text)


def _hidden(urls: re.Match[str]) -> str:
    with_passwords, at, rest = urls[0].rpartition("@")
    return _PARAMETER.sub(r"\1***", _PASSWORD.sub(r"\1:***", with_passwords) + at + rest)
