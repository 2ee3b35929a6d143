#!/usr/bin/env bash
# How far is the package reproducible? Makes it twice from the last commit, in two clones at different places, each with
# an environment of its own, and says which files differ. llama.cpp comes compiled from the cache both times.
#   packaging/reproducible.sh [--bundle-only]        10 minutes, 4 GB in the temporary folder; without installers half of that
set -euo pipefail
cd "$(dirname "$0")/.."
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
one=$work/one two=$work/at/another/place
for copy in "$one" "$two"; do
    git clone --quiet . "$copy"
    make -C "$copy" package ARGS="$*" >"$work/make.log" 2>&1 || {
        tail "$work/make.log" >&2
        exit 1
    }
done

differ() { cmp -s "$1" "$2" && echo "the same" || echo "DIFFERS "; }
for file in "$one"/dist/*; do [ ! -e "$file" ] || echo "$(differ "$file" "$two/dist/${file##*/}")  ${file##*/}"; done
all=0 different=()
while read -r file; do
    all=$((all + 1))
    [ "$(differ "$one/build/dist/chickadee/$file" "$two/build/dist/chickadee/$file")" = "the same" ] || different+=("$file")
done < <(cd "$one/build/dist/chickadee" && find . -type f | sort)
echo "${#different[@]} of $all files in the bundle differ"
printf '          %s\n' "${different[@]}"
[ ${#different[@]} = 0 ]
