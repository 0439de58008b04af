"""Everything about Spark itself: sessions, the start of the JVM, executors, cached frames, the embedded engine."""
