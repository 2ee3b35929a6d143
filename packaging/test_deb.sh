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
shown() { none "$(find "$home" "$root/tmp" -type f -newer "$base" -not -path '*/chickadee/*' -not -path '*/fontconfig/*' -not -path '*/mesa_shader_cache*/*' -not -name '.bash*' -not -name .profile)"; }
check "nothing was written outside the user's chickadee folders" own
check "the chats are still there" answers 3
exit $failed
