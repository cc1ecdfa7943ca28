"""The golden arrays that are encrypted."""

from __future__ import annotations

#: A part of their names.
ENCRYPTED = "enc_aes"
KEY = "0123456789abcdeF0123456789abcdeF"
