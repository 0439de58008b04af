"""Log records made of text lines: continued, cut, and of several writers in one file."""
