"""``python -m quaver``."""

from quaver.cli.main import main

if __name__ == "__main__":
    main()
