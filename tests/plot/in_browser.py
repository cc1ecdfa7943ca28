"""The page in headless Chromium, used as people use it. `make test-page` runs this; screenshots go to build/page."""

from __future__ import annotations

import re
import time
from pathlib import Path

import pyarrow as pa
import pytest

from pyqbeast import plot
from pyqbeast.plot.gather.fractions import FRACTIONS
from pyqbeast.scanning.scan import scan
from pyqbeast.tiledb import ArraySchema, Datatype, attribute, create_array, dimension, write_array
from tests.chromium import Watched, chromium, take_screenshot
from tests.plot.tables import table_of_blocks

SHOTS = Path(__file__).resolve().parent.parent.parent / "build" / "page"
READY = "body[data-ready=yes]"


@pytest.fixture(scope="module")
def browser():
    with chromium() as browser:
        yield browser


@pytest.fixture
def opened(browser, tmp_path):
    """Writes the page of a table, opens it, and fails after an error of a script or a request for anything else."""
    pages = Watched(browser, ("file:", "data:", "blob:"))

    def open_page(path, scheme="light", width=1400, *, is_phone=False, **how):
        plot.page(path, tmp_path / "page.html", **how)
        page = pages.new_page(scheme, width, is_phone=is_phone)
        page.goto(f"file://{tmp_path}/page.html")
        page.wait_for_selector(READY)
        return page

    yield open_page
    assert not pages.wrong


def move(page, name, step):
    page.locator(f"#{name}").evaluate(
        "(input, step) => { input.value = step; input.dispatchEvent(new Event('input')); }", step
    )


def expect_result(page, scanned):
    """Waits until the page tells as many files as a scan opens."""
    from playwright.sync_api import expect

    files = scanned.files()
    told = f"{sum(file.skipped is None for file in files)} of {len(files)} files"
    expect(page.locator("#result b")).to_have_text(told)


def shot(page, name):
    take_screenshot(page, SHOTS, name)


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize(
    "name", ["qbeast/a_linear2d", "qbeast/d_append_revisions", "qbeast/i2_deleted_dv", "tiledb/sp_multifrag"]
)
def test_it_opens_without_an_error(golden, opened, name, scheme):
    path = golden(name) / ("array" if name.startswith("tiledb") else "table")
    page = opened(path, scheme)
    assert page.locator("canvas").count() >= 1
    shot(page, f"{name.replace('/', '_')}_{scheme}")


def test_sliders_count_what_a_scan_opens(golden, opened):
    table = golden("qbeast/a_linear2d") / "table"
    page = opened(table)
    expect_result(page, scan(table).sample(0.01))
    move(page, "fraction", FRACTIONS.index(0.2))
    expect_result(page, scan(table).sample(0.2))
    assert page.locator("#fraction").get_attribute("aria-valuetext") == "20 %"
    move(page, "high-0", 30)
    value = page.locator("#high-0-value").inner_text().replace(",", "")
    expect_result(page, scan(table).sample(0.2).where(f"a <= {value}"))
    page.get_by_role("button", name="Start again").click()
    expect_result(page, scan(table).sample(0.01))


def test_everything_is_reached_by_the_keyboard(golden, opened):
    table = golden("qbeast/a_linear2d") / "table"
    page = opened(table)
    reached = set()
    for _ in range(60):
        page.keyboard.press("Tab")
        reached.add(page.evaluate("document.activeElement.id || document.activeElement.tagName"))
    assert {
        "fraction",
        "low-0",
        "high-1",
        "reset",
        "colour",
        "x",
        "y",
        "chart-tree",
        "chart-map",
        "SUMMARY",
    } <= reached
    page.locator("#fraction").focus()
    page.keyboard.press("End")
    expect_result(page, scan(table))


def test_each_chart_is_one_stop_of_the_keyboard_and_has_a_name(golden, opened):
    page = opened(golden("qbeast/a_linear2d") / "table")
    page.locator("#reset").focus()
    names = {}
    for _ in range(40):
        page.keyboard.press("Tab")
        tag, stop, name = page.evaluate(
            "(({ tagName, id, ariaLabel }) => [tagName, id, ariaLabel])(document.activeElement)"
        )
        if tag == "DIV":
            names[stop] = name
    assert [*names] == page.locator(".chart").evaluate_all("(charts) => charts.map((chart) => chart.id)")
    assert all(names.values())


def test_keys_move_and_zoom_a_chart(opened, tmp_path):
    from playwright.sync_api import expect

    page = opened(table_of_blocks(tmp_path / "table", 22_000), width=600)
    hidden = page.locator("#hidden")
    expect(hidden).to_contain_text("too small to be drawn")
    page.locator("#chart-map").focus()
    for _ in range(8):
        page.keyboard.press("+")
    expect(hidden).to_have_text("")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("0")
    expect(hidden).to_contain_text("too small to be drawn")


def ends(page, name):
    """The ends of what a chart shows: from left to right, and from the bottom up."""
    return page.evaluate(
        """(name) => {
          const place = document.getElementById(name);
          const { x_range, y_range } = Bokeh.index.roots.find((view) => place.contains(view.el)).model;
          return [x_range.start, x_range.end, y_range.start, y_range.end];
        }""",
        name,
    )


def test_the_keys_of_every_chart(golden, opened):
    table = golden("qbeast/a_linear2d") / "table"
    estimates = [scan(table).tolerance({"mean": ("b", "avg")}, error=error) for error in (0.1, 0.01)]
    page = opened(table, estimates=estimates)
    names = page.locator(".chart").evaluate_all("(charts) => charts.map((chart) => chart.id)")
    assert {"chart-tree", "chart-map", "chart-reads", "chart-levels", "chart-answers"} < set(names)
    for name in names:
        whole = ends(page, name)
        page.locator(f"#{name}").focus()
        for key, expected in [("ArrowUp", whole[:2]), ("ArrowRight", None), ("+", None), ("-", None)]:
            before = ends(page, name)
            page.keyboard.press(key)
            page.wait_for_timeout(100)
            assert ends(page, name) != before, (name, key)
            assert expected is None or ends(page, name)[:2] == pytest.approx(expected), (name, key)
        for key in ("Control++", "Control+0", "Alt+ArrowLeft", "Meta+-"):
            before = ends(page, name)
            # The browser itself goes back by one of these.
            page.locator(f"#{name}").dispatch_event("keydown", pressed(key))
            assert ends(page, name) == before, (name, key)
        page.keyboard.press("0")
        page.wait_for_timeout(100)
        assert ends(page, name) == pytest.approx(whole), name


def pressed(keys):
    held, _, key = keys.partition("+")
    modifier = {"Control": "ctrlKey", "Alt": "altKey", "Meta": "metaKey"}[held]
    return {"key": key, modifier: True, "bubbles": True, "cancelable": True}


def test_a_logarithmic_chart_moves_by_powers(golden, opened):
    page = opened(golden("qbeast/a_linear2d") / "table")
    left, right, bottom, top = ends(page, "chart-reads")
    page.locator("#chart-reads").focus()
    page.keyboard.press("ArrowLeft")
    tenth = (right / left) ** 0.1
    assert ends(page, "chart-reads") == pytest.approx([left / tenth, right / tenth, bottom, top])
    page.keyboard.press("-")
    assert min(ends(page, "chart-reads")) > 0
    assert (ends(page, "chart-reads")[3] / ends(page, "chart-reads")[2]) == pytest.approx(
        (top / bottom) ** 1.25
    )


def test_dollars_and_brackets_are_no_formula(opened, tmp_path):
    """A formula would be drawn by a script from elsewhere, which the page refuses to load."""
    name, uri = r"a $$b$$ \(c\) \[d\]", str(tmp_path / "array")
    create_array(
        uri, ArraySchema((dimension(name, Datatype.INT64, (0, 9)),), (attribute("v", Datatype.INT32),))
    )
    write_array(uri, pa.table({name: [1, 2], "v": pa.array([1, 2], pa.int32())}))
    page = opened(uri)
    page.wait_for_timeout(500)
    shown = page.evaluate(
        """() => {
          const [{ model }] = Bokeh.index.roots;
          return [...model.below, ...model.left].map(({ axis_label }) => [axis_label.type, axis_label.text]);
        }"""
    )
    assert shown == [["PlainText", name]] * 2


def test_a_phone_needs_no_scrolling_aside(golden, opened):
    page = opened(golden("qbeast/a_linear2d") / "table", width=390)
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    shot(page, "phone")


def told_at(page, name, across, up):
    """The texts that a chart shows beside the pointer at a place of it, and their colours."""
    page.locator(f"#{name}").scroll_into_view_if_needed()
    page.wait_for_timeout(200)
    place = page.locator(f"#{name}").bounding_box()
    page.mouse.move(place["x"] + across * place["width"], place["y"] + up * place["height"])
    told = page.locator(".bk-Tooltip")
    told.wait_for()
    style = "(told) => [getComputedStyle(told).color, getComputedStyle(told).backgroundColor]"
    return told.locator(".bk-tooltip-row-value").all_inner_texts(), told.evaluate(style)


def test_the_deepest_cube_at_the_pointer_is_told(opened, tmp_path):
    page = opened(table_of_blocks(tmp_path / "table", 85), scheme="dark")
    (name, level, _rows, _fill, _weight), colours = told_at(page, "chart-map", 0.48, 0.45)
    assert (len(name), level) == (3, "3")
    assert colours == ["rgb(232, 236, 240)", "rgb(27, 33, 40)"]
    shot(page, "told_of_a_cube")


def test_tiles_at_the_pointer_are_told_from_the_newest_on(golden, opened):
    page = opened(golden("tiledb/sp_multifrag") / "array")
    texts, _ = told_at(page, "chart-map", 0.48, 0.45)
    fragments = texts[::2]
    assert len({*fragments}) > 1
    assert fragments == sorted(fragments, reverse=True)
    shot(page, "told_of_tiles")


def test_a_swipe_over_a_chart_scrolls_the_page_or_moves_the_chart_aside(golden, opened):
    page = opened(golden("qbeast/a_linear2d") / "table", width=390, is_phone=True)
    finger = page.context.new_cdp_session(page)

    def touch(kind, *at):
        points = [{"x": x, "y": y, "id": 1} for x, y in at]
        finger.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": points})

    def swipe(right, down):
        page.locator("#chart-map").evaluate("(chart) => chart.scrollIntoView({ block: 'center' })")
        page.wait_for_timeout(200)
        before = page.evaluate("scrollY"), ends(page, "chart-map")
        touch("touchStart", (200, 500))
        for step in range(1, 11):
            touch("touchMove", (200 + step * right / 10, 500 + step * down / 10))
            page.wait_for_timeout(20)
        touch("touchEnd")
        page.wait_for_timeout(500)
        return page.evaluate("scrollY") - before[0], ends(page, "chart-map") != before[1]

    scrolled, is_moved = swipe(0, -200)
    assert scrolled > 100
    assert not is_moved
    assert swipe(-100, 0) == (0, True)


@pytest.mark.parametrize("width", [390, 1280])
def test_a_page_of_long_names_is_no_wider_than_the_window(opened, tmp_path, width):
    name = "pickup_location_" * 13
    uri = str(tmp_path / name)
    sides = [dimension(f"{name}{end}", Datatype.INT64, (0, 9)) for end in "xy"]
    create_array(uri, ArraySchema((*sides,), (attribute(f"{name}v", Datatype.INT32),)))
    write_array(
        uri, pa.table({each.name: [1, 2] for each in sides} | {f"{name}v": pa.array([1, 2], pa.int32())})
    )
    page = opened(uri, width=width)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    beside = page.locator("aside")
    assert beside.evaluate("(aside) => aside.scrollWidth <= aside.clientWidth")
    labels = page.evaluate(
        """() => {
          const [{ model }] = Bokeh.index.roots;
          return [...model.below, ...model.left].map(({ axis_label }) => axis_label);
        }"""
    )
    assert [re.sub("(?<=pickup_).*….*(?=_)", "…", label) for label in labels] == ["pickup_…_x", "pickup_…_y"]
    shot(page, f"long_names_{width}")


def test_a_hundred_thousand_blocks(opened, tmp_path):
    table = table_of_blocks(tmp_path / "table", 100_000)
    page = opened(table)
    started = time.perf_counter()
    page.reload()
    page.wait_for_selector(READY)
    seconds = time.perf_counter() - started
    answer = page.evaluate(
        """async () => {
          const input = document.getElementById("fraction");
          const times = [];
          for (let step = 5; step < 50; step += 5) {
            const started = performance.now();
            input.value = step;
            input.dispatchEvent(new Event("input"));
            await new Promise((done) => requestAnimationFrame(() => setTimeout(done)));
            times.push(performance.now() - started);
          }
          return Math.max(...times);
        }"""
    )
    size = (tmp_path / "page.html").stat().st_size
    print(
        f"\n100,000 blocks: {size / 1e6:.1f} MB, opened in {seconds:.2f} s, a slider answers in {answer:.0f} ms or less"
    )
    move(page, "fraction", FRACTIONS.index(0.01))
    shot(page, "many")
