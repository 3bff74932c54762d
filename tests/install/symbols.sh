#!/bin/bash
# The library exports tapline's own names and nothing else: a std:: template or a dependency's symbol that leaked would
# clash with the program's own copy.
#
#   symbols.sh LIBRARY
set -euo pipefail
library=$1

exported=$(nm --dynamic --defined-only --demangle "$library" | sed -E 's/^[0-9a-f]+ //')
foreign=$(grep -Ev '^[A-Za-z] (tapline_|tapline::|(typeinfo|typeinfo name|vtable) for tapline::)' <<<"$exported" || true)
if [ -n "$foreign" ]; then
    echo "exported, but not tapline's:"
    echo "$foreign"
    exit 1
fi
# Namespaces that are nobody's interface: an export mark slipped into an internal header.
internal=$(grep -E '^[A-Za-z] tapline::(core|cpu|reference|io|cli)::' <<<"$exported" || true)
if [ -n "$internal" ]; then
    echo "exported, but internal:"
    echo "$internal"
    exit 1
fi
count=$(grep -c . <<<"$exported" || true)
if [ "$count" -lt 10 ]; then
    echo "only $count exported symbols: the interface is not there"
    exit 1
fi
echo "$count exported symbols, all tapline's"
