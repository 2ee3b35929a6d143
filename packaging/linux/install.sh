#!/bin/sh
# Installs Chickadee into your own folders, with a menu entry and without root: ./install.sh. Run it again to upgrade.
# Chats are in ~/.local/share/chickadee, which neither this nor uninstall.sh touches.
set -eu
here=$(dirname "$(readlink -f "$0")")
data=${XDG_DATA_HOME:-$HOME/.local/share}
target=$HOME/.local/opt/chickadee

fail() {
    echo "$1" >&2
    exit 1
}

"$here/chickadee-engine" --help >/dev/null || fail "Chickadee was not installed: it does not run on this computer, see above."
! ls -l /proc/[0-9]*/exe 2>/dev/null | grep -qF -- "-> $target/lib/" || fail "Close Chickadee first, then run this again."
[ "$here" != "$target" ] || fail "This is the installed Chickadee already: run the install.sh of the newly unpacked archive."
mkdir -p "$HOME/.local/opt" "$HOME/.local/bin" "$data" 2>/dev/null && [ -w "$HOME/.local/opt" ] ||
    fail "Chickadee was not installed: $HOME/.local cannot be written. Check its permissions, or start $here/chickadee as it is."
rm -rf "$target.new"
cp -a "$here" "$target.new" 2>/dev/null || { # hide cp's errors, one for each of 400 files
    rm -rf "$target.new"
    fail "Chickadee was not installed: copying to $target failed. Is the disk full? It needs 400 MB."
}
rm -rf "$target.old"
[ ! -e "$target" ] || mv "$target" "$target.old"
mv "$target.new" "$target"
rm -rf "$target.old"

for program in chickadee chickadee-engine; do
    ln -sf "$target/$program" "$HOME/.local/bin/$program"
done
(cd "$target/share" && find . -type f) | while read -r file; do
    mkdir -p "$data/$(dirname "$file")"
    cp "$target/share/$file" "$data/$file"
done
# Not every desktop's menu searches ~/.local/bin.
sed -i "s|^Exec=chickadee|Exec=\"$target/chickadee\"|" "$data/applications/chickadee.desktop"
for update in "update-desktop-database $data/applications" "update-mime-database $data/mime" "gtk-update-icon-cache -qtf $data/icons/hicolor"; do
    command -v "${update%% *}" >/dev/null 2>&1 && $update >/dev/null 2>&1 || true
done
echo "Chickadee is installed: find it in the menu, or run ~/.local/bin/chickadee. $target/uninstall.sh removes it."
