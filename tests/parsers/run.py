"""Attacks one parser or all for some time; ends with 1 where one answers with neither a value nor an error of ours.

Run it with `make parsers SECONDS=3600`: the parsers share the seconds. It needs `atheris`, which the target brings.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path

#: Megabytes and seconds that one input may take.
_MEMORY, _PATIENCE = 2_048, 20


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=int, default=600, help="for all of them")
    parser.add_argument("--only", help="the name of one parser")
    parser.add_argument("--corpus", type=Path, help="a folder that keeps what was found to lead further")
    parser.add_argument("--attack", help=argparse.SUPPRESS)
    asked, others = parser.parse_known_args()
    if asked.attack:
        _attack(asked.attack, others)
        return
    with tempfile.TemporaryDirectory(prefix="pyqbeast-parsers-") as made:
        folder = asked.corpus or Path(made)
        sys.exit(_attack_all(asked.only, asked.seconds, folder))


def _attack_all(only: str | None, seconds: int, folder: Path) -> int:
    from tests.parsers.targets import targets

    names = [only] if only else list(targets())
    wrong = []
    for name in names:
        corpus = folder / name.replace(" ", "_")
        corpus.mkdir(parents=True, exist_ok=True)
        for place, seed in enumerate(targets()[name].seeds):
            (corpus / f"seed{place}").write_bytes(seed)
        command = [sys.executable, "-m", "tests.parsers.run", "--attack", name, str(corpus)]
        command += [
            f"-max_total_time={seconds // len(names)}",
            f"-timeout={_PATIENCE}",
            f"-rss_limit_mb={_MEMORY}",
        ]
        command += ["-max_len=65536", f"-artifact_prefix={folder}/", "-print_final_stats=1", "-verbosity=0"]
        done = subprocess.run(command, capture_output=True, text=True)
        lines = done.stderr.splitlines()
        tried = sum(int(line.split()[-1]) for line in lines if "number_of_executed_units" in line)
        is_wrong = done.returncode != 0 or not tried
        print(f"{name}: {tried} inputs, {'WRONG' if is_wrong else 'as it should be'}", flush=True)
        if is_wrong:
            wrong.append(name)
            told = [
                line
                for line in (done.stderr + done.stdout).splitlines()
                if not line.startswith(("INFO", "WARNING"))
            ]
            print("\n".join(told)[-6_000:], flush=True)
    print(
        f"{len(names)} parsers, {len(wrong)} wrong: {', '.join(wrong)}"
        if wrong
        else f"{len(names)} parsers held"
    )
    return int(bool(wrong))


def _attack(name: str, arguments: list[str]) -> None:
    import atheris

    with atheris.instrument_imports(include=["pyqbeast"]):
        from pyqbeast.core.errors import QbeastError
        from tests.parsers.targets import targets
    target = targets()[name]
    for seed in target.seeds:  # what is imported on the way is imported now, when that is still allowed
        target.parse(seed)
    sys.addaudithook(_stay_inside)

    def attack(data: bytes) -> None:
        try:
            target.parse(data)
        except QbeastError as error:
            if len(str(error)) > 4_000:
                raise AssertionError(f"a message of {len(str(error))} characters") from error

    atheris.Setup([sys.argv[0], *arguments], attack)
    atheris.Fuzz()


def _stay_inside(event: str, arguments: tuple[object, ...]) -> None:
    """All that is read lies in memory: what a log or an array names outside of it must not be touched."""
    outside = event in (
        "socket.connect",
        "subprocess.Popen",
        "os.system",
        "os.remove",
        "os.rename",
        "os.mkdir",
    )
    opened = str(arguments[0]) if event == "open" and arguments else ""
    if outside or (
        opened
        and not opened.endswith((".py", ".pyc", ".so"))
        and not opened.startswith(("/proc", sys.prefix))
    ):
        raise AssertionError(f"{event} {arguments} reaches outside of the table")


if __name__ == "__main__":
    main()
