"""The tests in `alone` run in processes of their own, which `test_alone` starts."""

collect_ignore = ["alone"]
