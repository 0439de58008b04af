import re
def error_kind(t):
    m=re.search(r"([\w.$]+(?:Exception|Error))",t); return m[1] if m else "error"
def normalised(t): return re.sub(r"\d+","N",t)[:300]
