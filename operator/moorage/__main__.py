"""Makes `python -m moorage` the `moorage` command."""

from moorage.cli import main

if __name__ == "__main__":
    main()
