"""The file that `spark-submit` runs: python -m account_linking.tables, from the archive that --py-files names."""

from __future__ import annotations

import sys

from account_linking.tables.__main__ import main

if __name__ == "__main__":
    status = main(sys.argv[1:])
    if status:
        raise SystemExit(status)
