"""python -m account_linking.demo.driver ARGUMENTS: `account_linking.tables` with leadsman's fast Spark session."""

from __future__ import annotations

import sys

from account_linking.tables.__main__ import main
from leadsman.pipeline.spark.session import SessionOptions, session

if __name__ == "__main__":
    with session(SessionOptions(delta=True, is_long_lived=True)) as spark:
        raise SystemExit(main(sys.argv[1:], spark))
