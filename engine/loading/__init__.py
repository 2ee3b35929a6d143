"""From `LoadOptions` by `resolve()` to a `LoadPlan`, from that by `load()` to a loaded model."""
