"""`python -m moorage` is `moorage`."""

from moorage.cli import main

if __name__ == "__main__":
    main()
