#!/usr/bin/env bash
# Checks that the packaged engine starts and answers on a processor without AVX: an emulated Nehalem (SSE4.2).
#   packaging/old_processor.sh [FOLDER of the bundle]        needs qemu-user; takes minutes
# A program that executes itself again leaves qemu for the real processor. The variables for which programs do that are
# therefore set here: the bundle's library path (PyInstaller's boot loader) and huge pages (the engine).
set -euo pipefail
bundle=$(realpath "${1:-$(dirname "$0")/../build/dist/chickadee}")
engine=$bundle/chickadee-engine
export CHICKADEE_CACHE_DIR GLIBC_TUNABLES=glibc.malloc.hugetlb=1 LD_LIBRARY_PATH=$bundle/_internal
export _PYI_ARCHIVE_FILE=$engine _PYI_APPLICATION_HOME_DIR=$bundle/_internal _PYI_PARENT_PROCESS_LEVEL=0
CHICKADEE_CACHE_DIR=$(mktemp -d)
trap 'rm -rf "$CHICKADEE_CACHE_DIR"' EXIT
emulated() { qemu-x86_64 -cpu Nehalem "$engine" "$@"; }

emulated profile | tee "$CHICKADEE_CACHE_DIR/profile.txt" | grep "^kernels"
grep -q "^kernels .*, sse42$" "$CHICKADEE_CACHE_DIR/profile.txt"
answer=$(emulated chat --prompt "Say hello." --temp 0 --max-tokens "${TOKENS:-4}")
echo "answer          $answer"
[ -n "$answer" ]
