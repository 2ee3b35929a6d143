"""Load a model: `resolve()` turns `LoadOptions` into a `LoadPlan`, and `load()` turns the plan into a loaded model.

Imports the packages below it (`speculative`, `kv`, `costs`, `runtime`, `tokenization`, `protocol`), not `generation`.
"""
