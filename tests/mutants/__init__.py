"""Mutation tests, the measure of the tests: lines are broken one by one, and breaks that no test notices counted."""
