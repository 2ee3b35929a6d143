#!/bin/sh
# Removes what install.sh made. Chats, settings and models of yours stay where they are.
set -eu
data=${XDG_DATA_HOME:-$HOME/.local/share}
target=$HOME/.local/opt/chickadee

[ -d "$target/share" ] || {
    echo "Chickadee is not installed in $target: nothing to remove." >&2
    exit 1
}
ls -l /proc/[0-9]*/exe 2>/dev/null | grep -qF -- "-> $target/lib/" && {
    echo "Close Chickadee first, then run this again." >&2
    exit 1
}
(cd "$target/share" && find . -type f) | while read -r file; do
    rm -f "$data/$file"
done
rm -f "$HOME/.local/bin/chickadee" "$HOME/.local/bin/chickadee-engine"
for update in "update-desktop-database $data/applications" "update-mime-database $data/mime"; do
    command -v "${update%% *}" >/dev/null 2>&1 && $update >/dev/null 2>&1 || true
done
rm -rf "$target"
echo "Chickadee is removed. Your chats are still in $data/chickadee."
