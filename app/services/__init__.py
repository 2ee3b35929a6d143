"""Child processes, threads, timers and log files for the window; imports `app.events` and below, and Qt."""
