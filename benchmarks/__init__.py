"""Measurements that anyone can repeat with `python -m benchmarks.NAME`; they may import all packages but `training`."""
