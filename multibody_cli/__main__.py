"""`python -m multibody_cli` is `mbsim`."""

from multibody_cli.cli.app import main

if __name__ == "__main__":
    main()
