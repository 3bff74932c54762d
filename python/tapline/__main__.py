"""`python -m tapline` and the script `tapline`: the command that lies beside this file."""

import os
import sys


def main():
    from tapline._tools.info import command_path, show_config

    command = command_path()
    if command is None:
        if sys.argv[1:] in (["info"], ["--version"]):  # these need no command
            show_config()
            return
        sys.exit("tapline: this installation has no command (it was built with TAPLINE_BUILD_CLI=OFF)")
    sys.stdout.flush()
    os.environ.setdefault("TAPLINE_PYTHON", sys.executable)  # for what the command hands back
    os.execv(command, ["tapline", *sys.argv[1:]])


if __name__ == "__main__":
    main()
