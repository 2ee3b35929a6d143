#!/usr/bin/env bash
# Tests the archive in dist/ like test_deb.sh the .deb: unpacked, installed, used, upgraded and removed by a plain user
# without network in a bare Debian 12. Run by `make test-package`, as root.
#   packaging/test_archive.sh [TAR.XZ]
set -uo pipefail
archive=$(realpath "${1:-$(ls -t "$(dirname "$0")"/../dist/chickadee-*.tar.xz 2>/dev/null | head -n1)}") || exit 1
. "$(dirname "$0")/bare_debian.sh"
name=$(basename "$archive" .tar.xz)
inside="/home/tester/My programs (1)/$name" # a path with a space and parentheses, as a user might choose
installed=$home/.local/opt/chickadee

unpack() {
    mkdir -p "$root${inside%/*}" && tar -C "$root${inside%/*}" -xf "$archive" && within chown -R tester:tester /home/tester
}

# --- on systems that are not supported -------------------------------------------------------------------------------
bare bullseye
unpack
for program in chickadee chickadee-engine install.sh; do
    check "$program on Debian 11: a sentence about glibc" told "glibc 2.[0-9]* or newer.*this one has 2.31" alone "$inside/$program"
done
mkdir "$root/musl" && printf '#!/bin/sh\nexit 1\n' >"$root/musl/getconf" && chmod +x "$root/musl/getconf"
check "chickadee with another C library: a sentence" told "this one has another C library" \
    alone env PATH=/musl:/usr/bin:/bin "$inside/chickadee"

bare bookworm
unpack
rm -f "$root$inside/lib/chickadee"
check "without one of its files: a sentence" told "Unpack the archive again" alone "$inside/chickadee"
unpack
display
check "without the desktop's libraries: a sentence with all that is missing" \
    told "libEGL.so.1.*sudo apt install.*libegl1" alone "$inside/chickadee"
check "the engine answers in the terminal all the same" alone sh -c \
    "'$inside/chickadee-engine' chat --prompt 'Say hello.' --max-tokens 8 >/tmp/answer 2>&1 && grep -q . /tmp/answer"

# --- install ----------------------------------------------------------------------------------------------------------
check "the .deb's dependencies are all that it needs" apt satisfy "$(dpkg-deb -f "${archive%/*}"/chickadee_*.deb Depends)"
touch "$work/began"
nowhere() { none "$(cd "$home" && find .local -not -type d 2>/dev/null | grep -v '^.local/share/chickadee/')"; }
within mkdir -p /home/tester/.local && chmod 555 "$home/.local"
check "install.sh where nothing may be written: a sentence" told "cannot be written" alone "$inside/install.sh"
chmod 755 "$home/.local" && within chown tester:tester /home/tester/.local
BEFORE="mount -t tmpfs -o size=20m,mode=777 tmpfs $home/.local" check "install.sh on a disk with 20 MB of room: a sentence" \
    told "Is the disk full" alone "$inside/install.sh"
check "neither left anything behind" nowhere
install() { alone "$inside/install.sh" >"$work/install.log"; }
check "install.sh installs it, without root" install
entry=$home/.local/share/applications/chickadee.desktop
check "the menu entry starts it" grep -q "^Exec=\"/home/tester/.local/opt/chickadee/chickadee\" %f" "$entry"
check "the icon and the type of .gguf are there" test -e "$home/.local/share/icons/hicolor/256x256/apps/chickadee.png" -a -e "$home/.local/share/mime/packages/chickadee.xml"
rm -rf "$root${inside%/*}"

# --- the window -------------------------------------------------------------------------------------------------------
short_answers
start "the window opens" /home/tester/.local/bin/chickadee
say "Say hello."
check "a message is answered" until_true 120 answers 1
picture archive
check "install.sh while it is open: a sentence" told "Close Chickadee first" beside /home/tester/.local/opt/chickadee/install.sh
check "uninstall.sh while it is open: a sentence" told "Close Chickadee first" beside /home/tester/.local/opt/chickadee/uninstall.sh
finish "the window closes, and no process is left"

# --- upgrade and removal ----------------------------------------------------------------------------------------------
unpack
echo "of an older version" >"$installed/lib/_internal/left_over"
check "install.sh installs over it" install
check "nothing of the older version is left" test ! -e "$installed/lib/_internal/left_over" -a ! -e "$installed.old" -a ! -e "$installed.new"
rm -rf "$root${inside%/*}"
start "the window opens again" /home/tester/.local/bin/chickadee
check "over the chats of before" answers 1
finish "it closes"
uninstall() { alone /home/tester/.local/opt/chickadee/uninstall.sh >"$work/install.log"; }
check "uninstall.sh removes it" uninstall
left() { none "$(find "$root" -xdev \( -type f -o -type l \) -newer "$work/began" -path '*chickadee*' -not -path "$home/.local/share/chickadee/*" -not -path "$home/.local/state/chickadee/*" -not -path "$home/.cache/*")"; }
check "of its files none is left" left
check "the chats are still there" answers 1
exit $failed
