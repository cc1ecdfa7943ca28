"""The commit protocol as a small model, all of whose interleavings are tried; `docs/protocol.md` says what it shows."""
