#!/bin/sh
# Starts @PROGRAM@ from wherever it was unpacked, or says why this system cannot.
needed=@GLIBC@

complain() {
    echo "$1" >&2
    [ -t 2 ] && exit 1
    # Started from a menu or a file manager: show the message with whichever of these programs is installed.
    zenity --error --title=Chickadee --text="$1" 2>/dev/null || kdialog --title Chickadee --error "$1" 2>/dev/null ||
        xmessage -center "$1" 2>/dev/null || notify-send Chickadee "$1" 2>/dev/null
    exit 1
}

found=$(getconf GNU_LIBC_VERSION 2>/dev/null | cut -d' ' -f2)
[ -n "$found" ] || complain "Chickadee needs a Linux with glibc $needed or newer (Debian 12, Ubuntu 22.04, Fedora 36); this one has another C library."
oldest=$(printf '%s\n%s\n' "$needed" "$found" | sort -V | head -n1)
[ "$oldest" = "$needed" ] || complain "Chickadee needs a Linux with glibc $needed or newer (Debian 12, Ubuntu 22.04, Fedora 36); this one has $found."

here=$(dirname "$(readlink -f "$0")")
[ -x "$here/lib/@PROGRAM@" ] || complain "Chickadee is incomplete: $here/lib/@PROGRAM@ is missing. Unpack the archive again."
exec "$here/lib/@PROGRAM@" "$@"
