"""Carry performance changes onto releases that upstream has left behind."""

__version__ = "0.1.0"
