"""No message shows what gives access to a store."""

from __future__ import annotations

import pickle

import pytest

from pyqbeast.core import errors
from pyqbeast.core.secrets import without_secrets


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("https://user:pass@host:80/a", "https://user:***@host:80/a"),
        ("no answer of 's3://key:p@ss:w@bucket/a', twice", "no answer of 's3://key:***@bucket/a', twice"),
        ("https://host/a?sv=1&sig=ab%2F=&se=2", "https://host/a?sv=1&sig=***&se=2"),
        ("https://host/a?X-Amz-Signature=0a#end", "https://host/a?X-Amz-Signature=***#end"),
        ("https://host/a?list=1&AWSAccessKeyId=x", "https://host/a?list=1&AWSAccessKeyId=***"),
        ("https://host:80/a@b:c@d?page=1", "https://host:80/a@b:c@d?page=1"),
        ("abfs://container@account/a", "abfs://container@account/a"),
        ("a:b@c?sig=1", "a:b@c?sig=1"),
    ],
)
def test_secrets_of_urls_are_stars(text, shown):
    assert without_secrets(text) == shown


@pytest.mark.parametrize("part", ["?sig", "sig", "&key", "#token", "u:", "@", "?", "'", "s3://u:"])
@pytest.mark.parametrize("before", ["s3://b/", "s3://b/?", "s3://u:"])
def test_a_long_text_takes_no_time(before, part):
    """A log may name a file so. These took hours."""
    without_secrets(before + part * 20_000)


@pytest.mark.parametrize("kind", [k for k in vars(errors).values() if isinstance(k, type)])
def test_no_error_shows_them(kind):
    error = kind("failed: https://user:secret@host/a")
    for each in (error, pickle.loads(pickle.dumps(error))):
        assert "https://user:***@host/a" in str(each)
        assert "secret" not in repr(each)
