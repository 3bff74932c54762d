#!/bin/bash
# Builds the site into build/site/html. PRESET names the build of tapline, which must have `tapline` and `tapline_cli` (default: default).
# What is needed from PyPI is installed into build/site/env, once; the Python module is compiled and installed there, too.
set -euo pipefail
cd "$(dirname "$0")/../.."
build=$PWD/build/${PRESET:-default}
env=$PWD/build/site/env

source scripts/python_env.sh
source scripts/python_module.sh
python_env build/python/env $python_module_packages
python_env "$env" sphinx==9.0.4 furo==2025.12.19 myst-parser==5.2.0 sphinx-design sphinx-copybutton matplotlib numpy scipy pandas playwright
python_module "$build" "$PWD/build/python/wheels" "$PWD/build/python/env" "$env"
"$env/bin/python" scripts/site/site_build.py "$build/bin/tapline"
