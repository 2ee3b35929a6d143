#!/usr/bin/env bash
# Tests the .deb in dist/ as a user would meet it: in a bare Debian 12, as a plain user, without network, through the real
# window. One line per check; ends with 1 if one failed. Run by `make test-package`, as root (debootstrap, chroot).
#   packaging/test_deb.sh [DEB]      keeps its Debian in build/test/, screenshots in build/test/*.png
# Xvfb, xdotool and import (ImageMagick) run outside: inside there is nothing but what the .deb asks for.
set -uo pipefail
cd "$(dirname "$0")/.."
deb=$(realpath "${1:-$(ls -t dist/chickadee_*.deb 2>/dev/null | head -n1)}") || exit 1
work=$PWD/build/test
root=$work/root
base=$work/debian.tar
home=$root/home/tester
library=$home/.local/share/chickadee/library.sqlite3
failed=0

need() {
    for tool in "$@"; do
        command -v "$tool" >/dev/null || {
            echo "test-package needs $tool: sudo apt-get install debootstrap xvfb xdotool imagemagick" >&2
            exit 1
        }
    done
}

check() { # check WORDS COMMAND…: one line, ok or FAILED
    local words=$1
    shift
    if "$@"; then echo "ok      $words"; else
        echo "FAILED  $words"
        failed=1
    fi
}

within() { # a command as root inside, with its network
    chroot "$root" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root DEBIAN_FRONTEND=noninteractive LC_ALL=C.UTF-8 "$@"
}

# As the user, with /proc, /dev and the display's socket, and with a network in which there is nothing, not even lo.
# The mounts are of this process's own name space and go with it.
alone() {
    unshare --net --mount --pid --fork --kill-child bash -c '
        root=$1; shift
        mount -t proc proc "$root/proc"; mount --rbind /dev "$root/dev"; mkdir -p "$root/tmp/.X11-unix"
        mount --bind /tmp/.X11-unix "$root/tmp/.X11-unix"
        exec chroot --userspec=tester:tester "$root" env -i PATH=/usr/bin:/bin HOME=/home/tester LC_ALL=C.UTF-8 \
            DISPLAY='"$display"' "$@"' alone "$root" "$@"
}

apt() { within apt-get -qqy "$@" >>"$work/apt.log" 2>&1; }

inside_pids() { # processes that live in the root
    for process in /proc/[0-9]*; do
        [ "$(readlink "$process/root" 2>/dev/null)" = "$root" ] && echo "${process#/proc/}"
    done
}

pid_of() { # pid_of NAME: of the program inside
    for pid in $(inside_pids); do
        [ "$(basename "$(readlink "/proc/$pid/exe" 2>/dev/null)")" = "$1" ] && echo "$pid"
    done | head -n1
}

until_true() { # until_true SECONDS COMMAND…
    local end=$((SECONDS + $1))
    shift
    until "$@"; do
        [ $SECONDS -lt $end ] || return 1
        sleep 0.2
    done
}

query() { python3 -c 'import sqlite3, sys; print(sqlite3.connect(sys.argv[1]).execute(sys.argv[2]).fetchone()[0])' "$library" "$1"; }
answers() { [ "$(query "SELECT count(*) FROM messages WHERE role = 'assistant' AND stop_reason IN ('end', 'length') AND content <> ''")" -ge "$1" ]; }
window() { xdotool search --onlyvisible --name Chickadee 2>/dev/null | tail -n1; }
shown() { [ -n "$(window)" ]; }
is_new_engine() { [ -n "$(pid_of chickadee-engine)" ] && [ "$(pid_of chickadee-engine)" != "$1" ]; }
picture() { import -window root "$work/$1.png"; }
gone() { [ -z "$(inside_pids)" ]; }
files() { (cd "$root" && find . -xdev \( -path ./proc -o -path ./dev -o -path ./sys -o -path ./home -o -path ./tmp \) -prune -o -print | sort); }

say() { # clicks into the composer, types a message and sends it
    eval "$(xdotool getwindowgeometry --shell "$(window)")"
    xdotool mousemove $((X + WIDTH * 6 / 10)) $((Y + HEIGHT - 78)) click 1
    sleep 0.5
    xdotool type --delay 30 "$1"
    xdotool key Return
}

start() {
    alone chickadee >"$work/window.log" 2>&1 &
    check "$1" until_true 60 shown
}

finish() {
    xdotool key ctrl+q
    check "$1" until_true 20 gone
}

need debootstrap xdotool Xvfb import python3 unshare
[ "$(id -u)" = 0 ] || {
    echo "test-package makes and enters a Debian of its own: run it as root." >&2
    exit 1
}
mkdir -p "$work"

# --- a bare Debian ----------------------------------------------------------------------------------------------------
if [ ! -e "$base" ]; then
    echo "        making a bare Debian 12 (once)"
    rm -rf "$root"
    debootstrap --variant=minbase bookworm "$root" >"$work/debootstrap.log" 2>&1 || {
        tail -n5 "$work/debootstrap.log" >&2
        exit 1
    }
    tar -C "$root" -cf "$base.part" . && mv "$base.part" "$base"
fi
rm -rf "$root" "$work/display"
mkdir -p "$root" && tar -C "$root" -xf "$base"
cp /etc/resolv.conf "$root/etc/"
within useradd --create-home tester
within apt-get update -qq >"$work/apt.log" 2>&1
files >"$work/before.txt"

# --- install ----------------------------------------------------------------------------------------------------------
cp "$deb" "$root/tmp/chickadee.deb"
check "apt installs $(basename "$deb") with what it depends on" apt install /tmp/chickadee.deb
rm "$root/tmp/chickadee.deb"
check "the menu entry, the icon and the type of .gguf are there" test -e "$root/usr/share/applications/chickadee.desktop" \
    -a -e "$root/usr/share/icons/hicolor/256x256/apps/chickadee.png" -a -e "$root/usr/share/mime/packages/chickadee.xml"

# --- bad surroundings: a sentence each --------------------------------------------------------------------------------
told() { # told WORDS COMMAND…: ends with an error, says WORDS, no traceback
    local words=$1
    shift
    "$@" >"$work/told.txt" 2>&1 && return 1
    grep -q "$words" "$work/told.txt" && ! grep -q Traceback "$work/told.txt" || {
        cat "$work/told.txt" >&2
        return 1
    }
}
Xvfb -displayfd 3 -screen 0 1280x800x24 3>"$work/display" 2>"$work/xvfb.log" & # on a number that is free
xvfb=$!
trap 'kill -9 $xvfb $(inside_pids)' EXIT
until_true 20 test -s "$work/display" || {
    echo "Xvfb does not start: see $work/xvfb.log" >&2
    exit 1
}
display=:$(cat "$work/display")
export DISPLAY=$display

egl=$(ls "$root"/usr/lib/*/libEGL.so.1)
mv "$egl" "$egl.away"
check "without EGL: a sentence that names the package" told "sudo apt install libegl1" alone timeout 60 chickadee
mv "$egl.away" "$egl"
xcb=$(ls "$root"/usr/lib/chickadee/_internal/libxcb-cursor.so.0)
mv "$xcb" "$xcb.away"
check "without xcb-cursor: a sentence that names the package" told "sudo apt install libxcb-cursor0" alone timeout 60 chickadee
mv "$xcb.away" "$xcb"
full() { alone sh -c "cat /dev/zero >/full/fill 2>/dev/null; QT_QPA_PLATFORM=offscreen timeout 60 chickadee --data-dir /full/chickadee"; }
mkdir -p "$root/full" && mount -t tmpfs -o size=256k,mode=777 tmpfs "$root/full"
check "a full disk at the first start: a sentence" told "disk\|space" full
umount "$root/full" && rmdir "$root/full"
check "no display: a sentence" told "chickadee-engine chat" alone env -u DISPLAY chickadee

# --- the window -------------------------------------------------------------------------------------------------------
mkdir -p "$(dirname "$library")"
python3 - "$library" <<'PY'
import sqlite3, sys, time
sys.path.insert(0, ".")
from app.library.migrations import MIGRATIONS
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
within chown -R tester:tester /home/tester
began=$(date +%s%N)
start "the window opens, as a user, without network, over chats of the oldest version"
echo "        after $((($(date +%s%N) - began) / 1000000)) ms, name spaces and search included"
check "the old chat is there, in today's schema" test "$(query "SELECT title FROM chats WHERE id = 'old'")" = "Kept from the first version" \
    -a "$(query 'PRAGMA user_version')" -gt 1
sleep 3
say "Say hello."
check "a message is answered" until_true 120 answers 2
picture answered
engine=$(pid_of chickadee-engine)
kill -9 "$engine"
sleep 2
say "And goodbye."
check "the engine was killed, the next message is answered" until_true 120 answers 3
check "by another engine" is_new_engine "$engine"
picture again
finish "the window closes, and no process is left"
check "it said nothing on stderr" test ! -s "$work/window.log"
[ ! -s "$work/window.log" ] || cat "$work/window.log"
terminal() { alone chickadee-engine chat --prompt "Say hello." --max-tokens 8 >"$work/terminal.txt" 2>&1 && [ -s "$work/terminal.txt" ]; }
check "the engine answers in the terminal" terminal
kernels() { alone chickadee-engine profile 2>/dev/null | grep -q "^kernels .*llama.cpp's, [a-z0-9]*$"; }
check "the profile names the kernels' variant" kernels

# --- remove -----------------------------------------------------------------------------------------------------------
within dpkg -L chickadee | sort >"$work/owned.txt"
check "apt removes it" apt remove chickadee
left() { while read -r path; do [ -d "$root$path" ] || [ ! -e "$root$path" ] || return 1; done <"$work/owned.txt"; }
check "of its files none is left" left
none() { # prints what it is given, which should be nothing
    [ -z "$1" ] || {
        echo "$1" >&2
        return 1
    }
}
stray() { none "$(find "$root" -xdev -iname '*chickadee*' -not -path "$root/home/*" -not -path "$root/var/lib/dpkg/*" -not -path "$root/var/log/*" -not -path "$root/var/cache/*")"; }
check "nothing else carries its name" stray
own() { none "$(find "$home" "$root/tmp" -type f -newer "$base" -not -path '*/chickadee/*' -not -path '*/fontconfig/*' -not -path '*/mesa_shader_cache*/*' -not -name '.bash*' -not -name .profile)"; }
check "nothing was written outside the user's chickadee folders" own
check "the chats are still there" answers 3
exit $failed
