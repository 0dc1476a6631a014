"""`python -m backport`, for machines where another `backport` is first on PATH."""

from backport.cli import main

if __name__ == "__main__":
    main()
