"""A store that takes URLs apart as fsspec's client of Azure does. Its files lie in fsspec's memory."""

from __future__ import annotations

import re

from fsspec.implementations.memory import MemoryFileSystem


class AzureFiles(MemoryFileSystem):
    """A URL or an option names the account. It knows hosts of one cloud, and takes others for no account."""

    protocol = "azure"
    cachable = False

    def __init__(self, account=None, key=None):
        super().__init__()

    @classmethod
    def _strip_protocol(cls, path):
        container, slash, rest = path.removeprefix("azure://").lstrip("/").partition("/")
        return "/" + container.partition("@")[0] + slash + rest

    @staticmethod
    def _get_kwargs_from_urls(url):
        account = re.search(r"@(.+)\.(?:dfs|blob)\.core\.windows\.net", url)
        return {"account": account[1]} if account else {}
