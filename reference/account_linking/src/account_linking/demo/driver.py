"""python -m account_linking.demo.driver WORDS: the tables' command in a process of its own, started quickly."""

from __future__ import annotations

import sys

from account_linking.tables.__main__ import main
from leadsman.pipeline.session import Wanted, session

if __name__ == "__main__":
    with session(Wanted(delta=True)) as spark:
        raise SystemExit(main(sys.argv[1:], spark))
