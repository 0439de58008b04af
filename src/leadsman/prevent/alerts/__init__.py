"""Prometheus alert rules, generated from the alerts that modes declare and from signals that exporters measure."""
