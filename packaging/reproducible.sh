#!/usr/bin/env bash
# Checks how far the package is reproducible: makes it again from the same commit, in a clone at another path with an
# environment of its own, and prints which files differ from those of the last `make package` here.
#   packaging/reproducible.sh        5 minutes on 2 idle cores, 3 GB in the temporary folder. llama.cpp comes from the cache.
set -euo pipefail
cd "$(dirname "$0")/.."
here=$PWD work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
there=$work/at/another/place
# All files in the archive have the time of the commit from which they were made.
made=$(stat -c %Y build/archive/chickadee-* 2>/dev/null || true)
if [ -n "$(git status --porcelain)" ] || [ "$made" != "$(git log -1 --format=%ct)" ]; then
    echo "Run make package first, on a commit without changes beside it." >&2
    exit 1
fi
git clone --quiet . "$there"
make -C "$there" package >"$work/make.log" 2>&1 || {
    tail "$work/make.log" >&2
    exit 1
}

differ() { cmp -s "$1" "$2" && echo "the same" || echo "DIFFERS "; }
for file in dist/*; do echo "$(differ "$file" "$there/$file")  ${file##*/}"; done
all=0 different=()
while read -r file; do
    all=$((all + 1))
    [ "$(differ "build/dist/chickadee/$file" "$there/build/dist/chickadee/$file")" = "the same" ] || different+=("$file")
done < <(for place in "$here" "$there"; do (cd "$place/build/dist/chickadee" && find . -type f); done | sort -u)
echo "${#different[@]} of $all files in the bundle differ"
[ ${#different[@]} = 0 ] || printf '          %s\n' "${different[@]}"
[ ${#different[@]} = 0 ]
