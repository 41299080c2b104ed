"""An editor for a draft: shows it, and does what is typed: `put TEXT`, `empty`, `end STATUS`."""

import sys
from pathlib import Path


def main(path: Path) -> int:
    """Edit a file until told to end; return the exit status."""
    print(f"editing <{path.read_text(encoding='utf-8').strip()}>", flush=True)
    for line in sys.stdin:
        act, _, words = line.strip().partition(" ")
        match act:
            case "put":
                path.write_text(words + "\n", encoding="utf-8")
                print(f"saved <{words}>", flush=True)
            case "empty":
                path.write_text("", encoding="utf-8")
                print("saved <>", flush=True)
            case "end":
                return int(words)
    return 1


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
