"""`python -m multibody_cli` is `mbsim`."""

from multibody_cli.cli.app import enter

if __name__ == "__main__":
    enter()
