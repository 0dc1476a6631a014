"""Parity tests need torch; without it they are skipped, and say so."""

from __future__ import annotations

import pytest

pytest.importorskip("torch", reason="torch is not installed (the extra `parity`)")
