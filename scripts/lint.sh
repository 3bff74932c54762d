#!/bin/bash
# clang-format over all C++ and CUDA sources, clang-tidy over src/ and python/src (and the headers that those include), and for Python
# ruff, whose formatting counts, too, and mypy.
#
#   scripts/lint.sh [--format | --tidy | --python | --fix-format]     default: all three checks; --fix-format rewrites
#
# PRESET names the configured build whose compile_commands.json clang-tidy reads (default: default). The kernels in src/cpu
# are not analysed: Highway compiles each of them several times over in one translation unit, which takes clang-tidy minutes
# and shows it mostly Highway. Other releases of clang-format break lines in other places, so what counts is version 14
# where it is installed. ruff and mypy come from PyPI into build/python/lint, once; pyproject.toml says what they check.
set -euo pipefail
cd "$(dirname "$0")/.."

what=${1:-all}
case $what in
    all | --format | --tidy | --python | --fix-format) ;;
    *)
        echo "usage: scripts/lint.sh [--format | --tidy | --python | --fix-format]" >&2
        exit 2
        ;;
esac
build=build/${PRESET:-default}

pick() { # pick NAME: the tool of version 14 if it is there, else the default one
    command -v "$1-14" || command -v "$1" || {
        echo "error: $1 is not installed; run scripts/install_dependencies.sh lint" >&2
        return 1
    }
}

list_sources() { # tracked and new files alike, but nothing that git ignores
    git ls-files --cached --others --exclude-standard -- "$@" | while read -r file; do [ -f "$file" ] && echo "$file"; done
}

# mypy reads the types of NumPy and Matplotlib.
python_tools=$PWD/build/python/lint
install_python_tools() {
    source scripts/python_env.sh
    python_env "$python_tools" ruff==0.17.6 mypy==2.4.1 numpy==2.4.6 matplotlib==3.11.2
}

if [[ $what =~ ^(all|--format|--fix-format)$ ]]; then
    formatter=$(pick clang-format)
    mapfile -t sources < <(list_sources '*.cpp' '*.hpp' '*.h' '*.c' '*.inl' '*.cu' '*.cuh')
    if [ "$what" = --fix-format ]; then
        "$formatter" -i "${sources[@]}"
        install_python_tools
        "$python_tools/bin/ruff" format --quiet .
        exit 0
    fi
    "$formatter" --dry-run -Werror "${sources[@]}"
    echo "clang-format ($("$formatter" --version | grep -o 'version [0-9.]*')): ${#sources[@]} files are formatted"
fi

if [[ $what =~ ^(all|--tidy)$ ]]; then
    tidy=$(pick clang-tidy)
    if [ ! -f "$build/compile_commands.json" ]; then
        cmake --preset "${PRESET:-default}" >/dev/null
    fi
    # The commands are those of g++, whose warning options clang does not all know.
    # Where there is no nvcc, the CUDA engine's have none.
    left_out='^src/cpu/'
    grep -q '/src/cuda/engine.cpp"' "$build/compile_commands.json" || left_out='^src/(cpu|cuda)/'
    mapfile -t sources < <(list_sources 'src/*.cpp' | grep -vE "$left_out")
    python3 scripts/tidy.py "$tidy" "$build" "${sources[@]}"
    # The Python module has a build of its own, which scripts/python_test.sh leaves behind.
    module=build/python/module
    if [ -f "$module/compile_commands.json" ]; then
        mapfile -t of_python < <(list_sources 'python/src/*.cpp')
        python3 scripts/tidy.py "$tidy" "$module" "${of_python[@]}"
        sources+=("${of_python[@]}")
    else
        echo "clang-tidy: python/src is left out: no $module; run scripts/python_test.sh first"
    fi
    echo "clang-tidy ($("$tidy" --version | grep -o 'version [0-9.]*' | head -1)): ${#sources[@]} files are clean"
fi

if [[ $what =~ ^(all|--python)$ ]]; then
    install_python_tools
    "$python_tools/bin/ruff" format --check --quiet . || {
        echo "error: ruff would lay out Python anew; run scripts/lint.sh --fix-format" >&2
        exit 1
    }
    "$python_tools/bin/ruff" check --quiet .
    echo "$("$python_tools/bin/ruff" --version): $("$python_tools/bin/ruff" check --show-files . | wc -l) files are clean"
    "$python_tools/bin/mypy"
fi
