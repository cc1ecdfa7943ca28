"""The results of commands as text for people."""

from __future__ import annotations

from typing import Any

from pyqbeast.core.visible import counted

Data = dict[str, Any]


def info_text(data: Data) -> str:
    """An array at a glance."""
    lines = [f"{data['kind']} array {data['uri']} (format version {data['version']})"]
    kind = "duplicates allowed" if data["allows_duplicates"] else "no duplicates"
    lines.append(
        f"  {data['tile_order']} tiles, {data['cell_order']} cells, capacity {data['capacity']}, {kind}"
    )
    lines.append("dimensions")
    lines += [
        f"  {_column(d)}, domain {_range(d['domain'])}, extent {d['extent']}" for d in data["dimensions"]
    ]
    lines.append("attributes")
    lines += [f"  {_column(a)}" for a in data["attributes"]]
    lines.append(f"{counted(len(data['fragments']), 'fragment')}, {counted(data['deletes'], 'delete')}")
    for f in data["fragments"]:
        lines.append(f"  {f['name']}: {_amount(f)}, {_box(f)}")
    lines += [f"metadata {key} = {value!r}" for key, value in data["metadata"].items()]
    return "\n".join(lines)


def _amount(data: Data) -> str:
    return ", ".join(counted(data[f"{noun}s"], noun) for noun in ("tile", "cell", "byte"))


def clean_text(data: Data) -> str:
    """What was deleted, or would be."""
    if not data["files"]:
        return f"nothing to clean in {data['uri']}"
    deed = "would delete" if data["dry_run"] else "deleted"
    return "\n".join([f"{deed}, of {data['uri']}:", *(f"  {file}" for file in data["files"])])


def dump_text(data: Data) -> str:
    """Fragments with their columns' sections."""
    lines = []
    for fragment in data["fragments"]:
        lines.append(
            f"{fragment['name']}: {counted(fragment['tiles'], 'tile')}, R-tree levels {fragment['rtree']['levels']}"
        )
        lines += [f"  tile {i}: {_range_list(box)}" for i, box in enumerate(fragment["mbrs"])]
        for name, column in fragment["columns"].items():
            lines.append(f"  {name} ({column['file']}, {column['file_size']} bytes)")
            lines += [
                f"    {key}: {value}" for key, value in column.items() if isinstance(value, list) and value
            ]
    return "\n".join(lines)


def moved_text(data: Data) -> str:
    """What was exported or imported."""
    return ", ".join(f"{key} {value}" for key, value in data.items())


def _column(column: Data) -> str:
    count = column["cell_val_num"]
    size = "" if count == 1 else f"[{'' if count == 'var' else count}]"
    null = ", nullable" if column["nullable"] else ""
    return f"{column['name']}: {column['type']}{size}{null}, filters {', '.join(column['filters']) or 'none'}"


def _range(bounds: list[Any] | None) -> str:
    return "none" if bounds is None else f"{bounds[0]} to {bounds[1]}"


def _range_list(box: list[list[Any]]) -> str:
    return ", ".join(map(_range, box))


def _box(fragment: Data) -> str:
    return "no cells" if fragment["non_empty_domain"] is None else _range_list(fragment["non_empty_domain"])
