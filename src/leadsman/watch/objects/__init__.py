"""Objects that are read once and whole: of object stores and HDFS, and documents that arrive by HTTP."""
