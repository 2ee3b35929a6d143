#!/usr/bin/env bash
# Proof that the packaged engine starts and answers on a processor with nothing newer than SSE4.2: an emulated Nehalem.
#   packaging/old_processor.sh [FOLDER of the bundle]        needs qemu-user; takes minutes
# qemu passes exec on to the real processor, so what the programs would start themselves anew for is set beforehand: the
# bundle's library path by PyInstaller's boot loader, huge pages by the engine.
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
