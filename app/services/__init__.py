"""Child processes, threads, timers and log files for the window; imports `app.events` and below, and Qt."""

RECORD_SOUND = "--record-sound"  # option by which a packaged app starts itself as the process that records
