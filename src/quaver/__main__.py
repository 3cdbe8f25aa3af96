"""``python -m quaver``, and the command ``quaver``."""

import sys


def main() -> None:
    """Run a command; one that is interrupted while its modules are loaded ends as any other."""
    try:
        from quaver.cli.main import main as run
    except KeyboardInterrupt:
        sys.exit(130)
    run()


if __name__ == "__main__":
    main()
