#!/bin/bash
# Two real recordings, convolved: a voice in a synthetic room, and hiss removed by a low-pass.
#
#   scripts/demo.sh [COMMAND [FOLDER]]      default: build/default/bin/tapline, demo
set -euo pipefail
cd "$(dirname "$0")/.."
tapline=${1:-build/default/bin/tapline}
folder=${2:-demo}
voice=/usr/share/sounds/alsa/Front_Center.wav # alsa-utils: somebody says "front center", 48 kHz
noise=/usr/share/sounds/alsa/Noise.wav        # alsa-utils: recorded hiss, 48 kHz

for file in "$voice" "$noise"; do
    if [ ! -f "$file" ]; then
        echo "error: $file is missing; it comes with the package alsa-utils" >&2
        exit 1
    fi
done
mkdir -p "$folder"
cp "$voice" "$folder/dry.wav"
cp "$noise" "$folder/hiss.wav"

# convolve NAME SIGNAL TAPS [OPTION...]: shows what was chosen, draws, then measures a run that does not draw.
convolve() {
    local name=$1
    shift
    "$tapline" convolve "$@" -o "$folder/$name.wav" --plot "$folder/$name.png" --explain
    "$tapline" convolve "$@" -o "$folder/$name.wav" --json >"$folder/$name.json"
    awk -F '[:,]' '/"seconds"/ { printf "measured:  %.1f ms from file to file", 1e3 * $2 }
        /"times_real_time"/ { printf ", %.0f times as fast as the sound plays", $2 } END { print "" }' "$folder/$name.json"
}

echo
echo "1. A voice in a room: a two-second exponentially decaying impulse response (96,000 taps)"
convolve wet "$folder/dry.wav" room:2

echo
echo "2. Hiss removed: a low-pass at 2 kHz (401 taps)"
convolve quiet "$folder/hiss.wav" lowpass:2000,401 --mode same

echo
echo "3. This machine"
"$tapline" info

cat <<END

Listen and look:
  $folder/dry.wav  -> $folder/wet.wav    the plot: $folder/wet.png
  $folder/hiss.wav -> $folder/quiet.wav  the plot: $folder/quiet.png
END
