# Sourced: python_env FOLDER REQUIREMENT... makes a virtual environment with these packages from PyPI, once for each list of them.
# PYTHON names the interpreter.
python_env() {
    local folder=$1 python=${PYTHON:-python3} stamp
    shift
    stamp="$("$python" --version) $*"
    if [ ! -f "$folder/stamp" ] || [ "$(cat "$folder/stamp")" != "$stamp" ]; then
        rm -rf "$folder"
        "$python" -m venv "$folder"
        "$folder/bin/python" -m pip install --quiet --disable-pip-version-check "$@"
        echo "$stamp" >"$folder/stamp"
    fi
}
