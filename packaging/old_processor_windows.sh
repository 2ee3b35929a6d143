#!/usr/bin/env bash
# Checks that the engine of Windows' package starts and answers on a processor without AVX: an emulated Nehalem (SSE4.2).
#   packaging/old_processor_windows.sh [FOLDER of the bundle]        after `make package-windows`, as root
# Needs qemu-user; takes minutes. Wine starts each program with its loader, /usr/lib/wine/wine64. This script's programs
# see a script in its place, which runs the loader in qemu, so that Windows itself tells of the older processor.
set -euo pipefail
windows=$(realpath "$(dirname "$0")/../build/windows")
bundle=$(realpath "${1:-$windows/dist/chickadee}")
folder=$(mktemp -d)
export WINEPREFIX=$windows/"another computer" WINEARCH=win64 WINEDEBUG=-all CHICKADEE_CACHE_DIR=Z:$folder
export WINEDLLOVERRIDES="mscoree=;mshtml=;winemenubuilder.exe=;ucrtbase=n;wcrtbase=n,b;icuuc=n;bcryptprimitives=n"
unset "${!OPENBLAS_@}" # they would name another processor's kernels
trap 'wineserver -k || true; rm -rf "$folder"' EXIT
wineserver -k || true # one of the real processor

cp -aL /usr/lib/wine "$folder/wine"
mv "$folder/wine/wine64" "$folder/wine/loader"
cat >"$folder/wine/wine64" <<'LOADER'
#!/bin/sh
exec env WINELOADERNOEXEC=1 qemu-x86_64 -cpu Nehalem -0 /usr/lib/wine/wine64 /usr/lib/wine/loader "$@"
LOADER
chmod +x "$folder/wine/wine64"

# Pipes are its input and output: with files Windows' Python ends.
emulated() {
    : | timeout 900 unshare --mount sh -c 'mount --bind "$0" /usr/lib/wine && exec /usr/lib/wine/wine64 "$@"' \
        "$folder/wine" "Z:$bundle/chickadee-engine.exe" "$@" 2>&1 | tr -d '\r'
}

emulated profile | tee "$folder/profile.txt" | grep "^kernels"
grep -q "^kernels .*, sse42$" "$folder/profile.txt"
answer=$(emulated chat --prompt "Say hello." --temp 0 --max-tokens "${TOKENS:-4}")
echo "answer          $answer"
[ -n "$answer" ]
