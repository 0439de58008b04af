"""Java: the runtime, the compiler, and exact jars."""
