# docs/pictures.md and its pictures are what the command makes.
. "$(dirname "$0")/_common.sh"

command -v python3 >/dev/null || exit 77
succeed python3 "$tests/../../scripts/pictures.py" "$TAPLINE" --check
finish
