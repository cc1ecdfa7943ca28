"""The commit protocol as a small model: all its interleavings are tried. `docs/concurrency.md` says what it shows."""
