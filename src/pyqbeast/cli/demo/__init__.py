"""`pyqbeast demo`: real flights, indexed and sampled."""

from pyqbeast.cli.demo.command import demo

__all__ = ["demo"]
