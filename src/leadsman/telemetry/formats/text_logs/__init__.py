"""Log formats made of text lines: with a prefix that names the writer, or plain."""
