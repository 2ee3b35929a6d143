"""Chickadee's version. pyproject.toml, both programs and the installers take it from here."""

VERSION = "0.1.0"
