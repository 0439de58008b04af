"""Log records made of JSON: lines, and whole documents."""
