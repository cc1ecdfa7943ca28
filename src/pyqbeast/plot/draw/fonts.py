"""Fonts of an image: those that it may take letters of, and which letters none of them has."""

from __future__ import annotations

import contextlib
import re
import warnings
from collections.abc import Collection, Iterator
from itertools import islice

from matplotlib import rcParams
from matplotlib.font_manager import fontManager

from pyqbeast.core.visible import visible

#: Matplotlib brings it along, and it draws whatever it has letters for.
_FIRST = "DejaVu Sans"
#: Fonts with the letters of other scripts, as systems have them.
_OTHERS = (
    "Noto Sans",
    "Noto Sans CJK JP",
    "Noto Sans CJK SC",
    "Source Han Sans SC",
    "WenQuanYi Micro Hei",
    "PingFang SC",
    "Hiragino Sans",
    "Apple SD Gothic Neo",
    "Microsoft YaHei",
    "Yu Gothic",
    "Malgun Gothic",
    "Noto Sans Devanagari",
    "Noto Sans Thai",
    "Nirmala UI",
    "Arial Unicode MS",
    "Segoe UI Symbol",
    "Noto Emoji",
)
#: The most letters that a warning names.
_MOST_NAMED = 10
_MISSING = re.compile(r"Glyph (\d+) .* missing from ", re.DOTALL)


def families() -> list[str]:
    """The fonts that this machine has, in the order in which a letter is looked for.

    Those that the user has set come after the first. The last one stands for what others have, who show an SVG.
    """
    # Matplotlib warns of each font that it does not find.
    installed = set(fontManager.get_font_names())
    wanted = dict.fromkeys([_FIRST, *rcParams["font.sans-serif"], *_OTHERS])
    return [*(name for name in wanted if name in installed), "sans-serif"]


@contextlib.contextmanager
def missing_letters() -> Iterator[dict[str, None]]:
    """The letters that no font has, in the place of a warning of Matplotlib's for each; known at the end."""
    letters: dict[str, None] = {}
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        yield letters
    for each in told:
        missing = _MISSING.match(str(each.message))
        if missing:
            letters[chr(int(missing[1]))] = None
        else:
            warnings.warn_explicit(each.message, each.category, each.filename, each.lineno)


def about_missing(letters: Collection[str]) -> str:
    """What a warning says of letters that no font has."""
    named = " ".join(map(visible, islice(letters, _MOST_NAMED)))
    more = " and other letters" if len(letters) > _MOST_NAMED else ""
    return (
        f"no font of this machine has {named}{more}, which are drawn as boxes: install one that has, such as Noto "
        "Sans, or draw an .svg, which leaves them to whoever shows it"
    )
