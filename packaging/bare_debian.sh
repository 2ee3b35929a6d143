# Sourced by test_deb.sh and test_archive.sh: makes bare Debians with debootstrap, runs programs inside as a plain user
# without network, and prints one line for each check. Needs root. Keeps Debians (as archives), logs and screenshots in
# build/test/. Xvfb, xdotool and import (ImageMagick) run outside, because inside only the package's dependencies are
# installed.
cd "$(dirname "${BASH_SOURCE[0]}")/.."
work=$PWD/build/test
root=$work/root
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

bare() { # bare SUITE: make a new root with this Debian's smallest system and a user
    local base=$work/$1.tar
    rm -rf "$root"
    if [ ! -e "$base" ]; then
        echo "        making a bare Debian $1 (once)"
        debootstrap --variant=minbase "$1" "$root" >"$work/debootstrap.log" 2>&1 || {
            tail -n5 "$work/debootstrap.log" >&2
            exit 1
        }
        tar -C "$root" -cf "$base.part" . && mv "$base.part" "$base"
        rm -rf "$root"
    fi
    mkdir -p "$root" && tar -C "$root" -xf "$base"
    cp /etc/resolv.conf "$root/etc/"
    within useradd --create-home tester
    apt update
}

display() { # start an Xvfb on a free display number, until this script ends
    rm -f "$work/display"
    Xvfb -displayfd 3 -screen 0 1280x800x24 3>"$work/display" 2>"$work/xvfb.log" &
    xvfb=$!
    trap 'kill -9 $xvfb $(inside_pids) 2>/dev/null' EXIT
    until_true 20 test -s "$work/display" || {
        echo "Xvfb does not start: see $work/xvfb.log" >&2
        exit 1
    }
    DISPLAY=:$(cat "$work/display")
    export DISPLAY
}

short_answers() { # limit answers in the user's settings: a small model may go on until the context is full
    mkdir -p "$(dirname "$library")"
    printf '[answer]\nmax_tokens = 48\ntemperature = 0.0\n' >"$(dirname "$library")/settings.toml"
    within chown -R tester:tester /home/tester
}

within() { # run a command inside as root, with this computer's network
    chroot "$root" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root DEBIAN_FRONTEND=noninteractive LC_ALL=C.UTF-8 "$@"
}

apt() { within apt-get -qqy "$@" >>"$work/apt.log" 2>&1; }

# Run a command inside as the user, with /proc, /dev and the display's socket, and without any network, not even lo. The
# mounts exist in the command's own name space and end with it. BEFORE: a command that root runs there first.
alone() {
    unshare --net --mount --pid --fork --kill-child bash -c '
        root=$1; shift
        mount -t proc proc "$root/proc"; mount --rbind /dev "$root/dev"; mkdir -p "$root/tmp/.X11-unix"
        mount --bind /tmp/.X11-unix "$root/tmp/.X11-unix"
        eval "$BEFORE"
        exec chroot --userspec=tester:tester "$root" env -i PATH=/usr/bin:/bin HOME=/home/tester LC_ALL=C.UTF-8 \
            DISPLAY="$DISPLAY" "$@"' alone "$root" "$@"
}

beside() { # run a command in the name spaces of the open window, so that it sees the window's processes
    nsenter --target "$(pid_of chickadee)" --mount --pid --net chroot --userspec=tester:tester "$root" \
        env -i PATH=/usr/bin:/bin HOME=/home/tester LC_ALL=C.UTF-8 DISPLAY="$DISPLAY" "$@"
}

inside_pids() { # print the ids of the processes inside the root
    for process in /proc/[0-9]*; do
        [ "$(readlink "$process/root" 2>/dev/null)" = "$root" ] && echo "${process#/proc/}"
    done
}

pid_of() { # pid_of NAME [ARGUMENT]: print the id of the program inside, started with that argument
    for pid in $(inside_pids); do
        [ "$(basename "$(readlink "/proc/$pid/exe")")" = "$1" ] && grep -qz -- "${2:-}" "/proc/$pid/cmdline" && echo "$pid"
    done 2>/dev/null | head -n1
}

until_true() { # until_true SECONDS COMMAND…
    local end=$((SECONDS + $1))
    shift
    until "$@"; do
        [ $SECONDS -lt $end ] || return 1
        sleep 0.2
    done
}

told() { # told WORDS COMMAND…: check that it fails and prints WORDS in at most 4 lines, without a traceback
    local words=$1 command
    shift
    on_screen=no # stderr is no terminal here, so the command may also open xmessage and wait until that is closed
    "$@" >"$work/told.txt" 2>&1 &
    command=$!
    while kill -0 $command 2>/dev/null; do
        [ -z "${DISPLAY-}" ] || ! xdotool search --class xmessage windowkill %@ 2>/dev/null || on_screen=yes
        sleep 0.3
    done
    if wait $command || ! grep -q "$words" "$work/told.txt" || grep -q Traceback "$work/told.txt" ||
        [ "$(wc -l <"$work/told.txt")" -gt 4 ]; then
        sed 's/^/        it said: /' "$work/told.txt" | head -n 20 >&2
        return 1
    fi
}

none() { # fail, and print the argument, unless it is empty
    [ -z "$1" ] || {
        echo "$1" | head -n 20 >&2
        return 1
    }
}

query() { python3 -c 'import sqlite3, sys; print(sqlite3.connect(sys.argv[1]).execute(sys.argv[2]).fetchone()[0])' "$library" "$1"; }
answers() { [ "$(query "SELECT count(*) FROM messages WHERE role = 'assistant' AND stop_reason IN ('end', 'length') AND content <> ''")" -ge "$1" ]; }
window() { xdotool search --onlyvisible --name Chickadee 2>/dev/null | tail -n1; }
shown() { [ -n "$(window)" ]; }
gone() { [ -z "$(inside_pids)" ]; }
picture() { import -window root "$work/$1.png"; }

start() { # start WORDS COMMAND…: open the window and check that it appears
    local words=$1 began
    shift
    began=$(date +%s%N)
    alone "$@" >"$work/window.log" 2>&1 &
    check "$words" until_true 60 shown
    echo "        after $((($(date +%s%N) - began) / 1000000)) ms, name spaces and search included"
    sleep 2 # a person would read first
}

say() { # type a message into the composer, which has the focus, and send it
    xdotool windowfocus --sync "$(window)"
    xdotool type --delay 30 "$1"
    xdotool key Return
}

finish() {
    xdotool windowfocus --sync "$(window)" key ctrl+q
    check "$1" until_true 20 gone
    check "it said nothing on stderr" none "$(cat "$work/window.log")"
}

need debootstrap xdotool Xvfb import python3 unshare
[ "$(id -u)" = 0 ] || {
    echo "test-package makes and enters a Debian of its own: run it as root." >&2
    exit 1
}
mkdir -p "$work"
exec 9>"$work/lock"
flock --nonblock 9 || {
    echo "Another test-package is under way here." >&2
    exit 1
}
: >"$work/apt.log"
