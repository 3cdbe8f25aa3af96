"""``python -m quaver``, and the command ``quaver``."""

import atexit
import gc
import sys


def main() -> None:
    """Run a command; one that is interrupted while its modules are loaded ends as any other."""
    try:
        from quaver.cli.main import main as run
    except KeyboardInterrupt:
        sys.exit(130)
    # A process that ends gives its memory back as a whole: to look for what refers to itself takes seconds.
    atexit.register(gc.freeze)
    run()


if __name__ == "__main__":
    main()
