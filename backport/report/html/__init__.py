"""One self-contained HTML page: it opens from a file, offline, with or without scripts."""

from backport.report.html.page import as_html

__all__ = ["as_html"]
