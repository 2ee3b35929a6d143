"""Costs: how long a pass takes on this machine. Imports `runtime` and every engine package below it."""
