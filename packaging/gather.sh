#!/usr/bin/env bash
# Gathers the installers of all systems, whose checksums must be right, with one SHA256SUMS for a release.
#   packaging/gather.sh FOLDER TO    FOLDER has a folder for each system's dist/
set -euo pipefail
from=$(realpath "$1")
mkdir -p "$2"
to=$(realpath "$2")
for made in "$from"/*/; do
    (cd "$made" && sha256sum --check --strict SHA256SUMS)
    sed 's/^[^ ]*  //' "$made/SHA256SUMS" | while IFS= read -r name; do
        [ ! -e "$to/$name" ] || { echo "$name comes from two systems" >&2 && exit 1; }
        cp "$made/$name" "$to/"
    done
    sort -k 2 "$made/SHA256SUMS" >>"$to/SHA256SUMS"
done
