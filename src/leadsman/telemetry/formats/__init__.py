"""File formats: a module for each, which declares `FORMAT`. A new format is a new module and no other change."""
