"""`python -m tapline` and the script `tapline`: the command that lies beside this file."""

import os
import sys


def main():
    command = os.path.join(os.path.dirname(os.path.abspath(__file__)), "tapline-command")
    if not os.access(command, os.X_OK):
        sys.exit("tapline: this installation has no command (it was built with TAPLINE_BUILD_CLI=OFF)")
    sys.stdout.flush()
    os.environ.setdefault("TAPLINE_PYTHON", sys.executable)  # for what the command hands back
    os.execv(command, ["tapline", *sys.argv[1:]])


if __name__ == "__main__":
    main()
