"""Measurements, started by hand; they print figures and never a verdict."""
