#!/bin/bash
# The man page and the completion know exactly the options that --help knows.
#
#   documentation.sh COMMAND SOURCE_DIR
set -euo pipefail
command=$1
source_dir=$2
status=0

options_of() { "$command" "$@" --help | grep -oE '^ +-[^ ]+' | grep -oE -- '--[a-z][a-z-]*' | sort -u; }

known=$({ options_of; for sub in convolve image info bench tune ladder; do options_of "$sub"; done; } | sort -u)
described=$(sed 's/\\-/-/g' "$source_dir/docs/tapline.1" | grep -oE -- '--[a-z][a-z-]*' | sort -u)
only_known=$(comm -23 <(echo "$known") <(echo "$described"))
only_described=$(comm -13 <(echo "$known") <(echo "$described"))
if [ -n "$only_known" ]; then
    echo "docs/tapline.1 lacks:" $only_known
    status=1
fi
if [ -n "$only_described" ]; then
    echo "docs/tapline.1 describes what does not exist:" $only_described
    status=1
fi

# Completion, asked as bash asks it.
source "$source_dir/share/completions/tapline"
complete_line() { # complete_line WORD...: the last word is the one being completed
    COMP_WORDS=("$command" "$@")
    COMP_CWORD=$#
    COMPREPLY=()
    _tapline
    printf '%s\n' "${COMPREPLY[@]}" | sort
}
expect() { # expect WANTED WORD...
    local wanted=$1 got
    shift
    got=$(complete_line "$@" | tr '\n' ' ')
    if [ "${got% }" != "$wanted" ]; then
        echo "completing '$*' gave '$got', not '$wanted'"
        status=1
    fi
}
cd "$(mktemp -d)"
trap 'rm -rf "$PWD"' EXIT
touch signal.wav
expect "bench" b
expect "leading" convolve a.wav b.wav --mode l
expect "reflect" convolve --boundary re
expect "signal.wav" convolve s
expect "savgol: signal.wav" convolve signal.wav s
expect "--scale" convolve signal.wav box:3 --sc
expect "--lengths" bench --len
expect "sobel-x sobel-y" image a.png --mask sob
expect "drop" image a.png --alpha d
expect "jpg" image a.png --to j
expect "" bench --mask s
expect "--dtypes" tune --dt
expect "" convolve signal.wav box:3 --scale ""
for sub in convolve image info bench tune ladder; do
    if [ "$(complete_line "$sub" --)" != "$(options_of "$sub")" ]; then
        echo "completion of $sub knows other options than --help"
        status=1
    fi
done
exit $status
