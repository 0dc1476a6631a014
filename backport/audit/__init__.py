"""Verify a result: what a clean merge does not prove."""
