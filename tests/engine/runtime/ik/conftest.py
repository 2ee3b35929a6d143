"""The tests in `alone` run in processes of their own: see `test_alone`."""

collect_ignore = ["alone"]
