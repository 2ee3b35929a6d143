#!/usr/bin/env bash
# Tests the .deb in dist/ as a user would meet it: in a bare Debian 12, as a plain user, without network, through the real
# window. One line per check; ends with 1 if one failed. Run by `make test-package`, as root.
#   packaging/test_deb.sh [DEB]
set -uo pipefail
deb=$(realpath "${1:-$(ls -t "$(dirname "$0")"/../dist/chickadee_*.deb 2>/dev/null | head -n1)}") || exit 1
. "$(dirname "$0")/bare_debian.sh"

install() { # install DEB [OPTION…]
    cp "$1" "$root/tmp/chickadee.deb"
    apt install "${@:2}" /tmp/chickadee.deb
    local code=$?
    rm "$root/tmp/chickadee.deb"
    return $code
}

older() { # older VERSION FILE: the same package under an older version's number, with a file that is no longer in it
    rm -rf "$work/older"
    dpkg-deb -R "$deb" "$work/older"
    sed -i "s/^Version: .*/Version: $1/" "$work/older/DEBIAN/control"
    echo "of an older version" >"$work/older/usr/lib/chickadee/_internal/$2"
    dpkg-deb -Znone --build "$work/older" "$work/older.deb" >/dev/null
    rm -rf "$work/older"
}

# --- on a Debian whose glibc is too old -------------------------------------------------------------------------------
bare bullseye
too_old() {
    cp "$deb" "$root/tmp/chickadee.deb"
    ! within apt-get -y --simulate install /tmp/chickadee.deb >"$work/told.txt" 2>&1 &&
        grep -q "chickadee : Depends: libc6 (>= 2.[0-9]*) but 2.31" "$work/told.txt"
}
check "on Debian 11 apt refuses, and says that libc6 is too old" too_old

# --- install ----------------------------------------------------------------------------------------------------------
bare bookworm
older 0.0.1 left_over
check "apt installs an older version" install "$work/older.deb"
# Chats as the first version wrote them. `make package` left an environment with the libraries that the store needs.
mkdir -p "$(dirname "$library")"
build/venv/bin/python - "$library" <<'PY'
import sqlite3, sys, time
sys.path.insert(0, ".")
from app.store.migrations import MIGRATIONS
db, now = sqlite3.connect(sys.argv[1]), time.time()
MIGRATIONS[0](db)
db.execute("PRAGMA user_version = 1")
db.execute("INSERT INTO chats VALUES ('old', 'Kept from the first version', ?, ?, NULL, 'b')", (now, now))
for number, (id, parent, role, text) in enumerate((("a", None, "user", "Is anybody there?"), ("b", "a", "assistant", "A bird."))):
    db.execute(
        "INSERT INTO messages (number, id, chat_id, parent_id, role, content, created_at, stop_reason) VALUES (?, ?, 'old', ?, ?, ?, ?, ?)",
        (number + 1, id, parent, role, text, now, "end"),
    )
db.commit()
PY
short_answers
check "apt installs $(basename "$deb") over it, with what it depends on" install "$deb"
check "it did not touch the chats that were there" test "$(query 'PRAGMA user_version')" = 1
check "nothing of the older version is left" test ! -e "$root/usr/lib/chickadee/_internal/left_over"
check "the menu entry, the icon and the type of .gguf are there" test -e "$root/usr/share/applications/chickadee.desktop" \
    -a -e "$root/usr/share/icons/hicolor/256x256/apps/chickadee.png" -a -e "$root/usr/share/mime/packages/chickadee.xml"
installed() { (cd "$root/usr/lib/chickadee" && find . -type f -exec sha256sum {} + | sort); }
installed >"$work/installed.txt"

# --- bad surroundings: a sentence each --------------------------------------------------------------------------------
display
away() { # away FILE WORDS TOLD COMMAND…: without the file the command tells
    mv "$1" "$1.away"
    check "$2" told "$3" alone timeout 60 "${@:4}"
    mv "$1.away" "$1"
}
inside=$root/usr/lib/chickadee/_internal
away "$(ls "$root"/usr/lib/*/libEGL.so.1)" "without EGL: a sentence that names the package" "sudo apt install libegl1" chickadee
check "on the screen too, where nobody reads a terminal" test "$on_screen" = yes
away "$inside/libxcb-cursor.so.0" "without xcb-cursor: a sentence that names the package" "sudo apt install libxcb-cursor0" chickadee
away "$(ls "$inside"/models/*.gguf)" "without its model: a sentence" "Install Chickadee again" chickadee-engine chat --prompt "Hello."
mkdir -p "$root/full"
full() { # full KILOBYTES: on a disk with so much room
    BEFORE="mount -t tmpfs -o size=512k,mode=777 tmpfs $root/full; head -c $((512 - $1))K /dev/zero >$root/full/fill" \
        told "disk\|space" alone env QT_QPA_PLATFORM=offscreen timeout 60 chickadee --data-dir /full/chickadee
}
for room in 0 24 64; do check "a disk with $room kB of room at the first start: a sentence" full "$room"; done
rmdir "$root/full"
check "no display: a sentence that names the terminal program" told "chickadee-engine chat" alone env -u DISPLAY chickadee
check "a folder that cannot be written: a sentence" told "cannot write" \
    alone env QT_QPA_PLATFORM=offscreen chickadee --data-dir /usr/lib/chickadee/data
check "a model that is none: a sentence" told "GGUF" alone chickadee /usr/lib/chickadee/licences/Qt.txt

# --- the window -------------------------------------------------------------------------------------------------------
touch "$work/began"
# /usr is read-only, as on systems with images; and there is no graphics driver, neither kernel's nor Mesa's.
export BEFORE="mount --bind $root/usr $root/usr; mount -o remount,ro,bind $root/usr; mount -t tmpfs tmpfs $root/dev/dri 2>/dev/null;
    for drivers in $root/usr/lib/*/dri; do mount -t tmpfs tmpfs \$drivers; done"
start "the window opens, as a user, without network and graphics driver, on a read-only /usr, over chats of the oldest version" \
    chickadee
check "the old chat is there, in today's schema" test "$(query "SELECT title FROM chats WHERE id = 'old'")" = "Kept from the first version" \
    -a "$(query 'PRAGMA user_version')" -gt 1
say "Say hello."
check "a message is answered" until_true 120 answers 2
picture answered
serving() { pid_of chickadee-engine serve; } # the planner is another process of this program
engine=$(serving)
check "its engine is killed" kill -9 "$engine"
is_new_engine() { [ -n "$(serving)" ] && [ "$(serving)" != "$engine" ]; }
sleep 2
picture killed
say "And goodbye."
check "the next message is answered all the same" until_true 120 answers 3
check "by another engine" is_new_engine
picture again
finish "the window closes, and no process is left"
terminal() { alone chickadee-engine chat --prompt "Say hello." --max-tokens 8 >"$work/terminal.txt" 2>&1 && [ -s "$work/terminal.txt" ]; }
check "the engine answers in the terminal" terminal
kernels() { alone chickadee-engine profile 2>/dev/null | grep -q "^kernels .*llama.cpp's, [a-z0-9]*$"; }
check "the profile names the kernels' variant" kernels
BEFORE=
untouched() { installed | cmp -s - "$work/installed.txt"; }
check "the installed files are as they were" untouched

# --- remove -----------------------------------------------------------------------------------------------------------
within dpkg -L chickadee | sort >"$work/owned.txt"
check "apt removes it" apt remove chickadee
left() { while read -r path; do [ -d "$root$path" ] || [ ! -e "$root$path" ] || return 1; done <"$work/owned.txt"; }
check "of its files none is left" left
stray() { none "$(find "$root" -xdev -iname '*chickadee*' -not -path "$root/home/*" -not -path "$root/var/lib/dpkg/*" -not -path "$root/var/log/*" -not -path "$root/var/cache/*")"; }
check "nothing else carries its name" stray
own() { none "$(find "$home" "$root/tmp" "$root/var/tmp" -newer "$work/began" -not -type d -not -path '*/chickadee/*' -not -path "$home/.cache/fontconfig/*" -not -path "$home/.cache/mesa_shader_cache*")"; }
check "nothing was written outside the user's chickadee folders" own
check "the chats are still there" answers 3
exit $failed
