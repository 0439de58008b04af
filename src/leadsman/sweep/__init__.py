"""A sweep as data: its grid of settings, its journal, and the conclusion from it. Needs no lab."""
