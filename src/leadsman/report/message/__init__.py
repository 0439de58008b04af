"""One message for each PRESENT finding: what is wrong, what to do now, three lines that prove it, and a link."""
