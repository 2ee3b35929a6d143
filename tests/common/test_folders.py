"""Tests of the cache folder."""

from __future__ import annotations

from pathlib import Path

from common.folders import cache_folder


def test_the_cache_folder_can_be_chosen(monkeypatch, tmp_path):
    monkeypatch.setenv("CHICKADEE_CACHE_DIR", str(tmp_path))
    assert cache_folder() == tmp_path
    monkeypatch.delenv("CHICKADEE_CACHE_DIR")
    assert isinstance(cache_folder(), Path)
    assert "chickadee" in cache_folder().parts  # Windows has a Cache in it
