"""Configuration files of every format as trees, and what the tools that read them make of the trees."""
