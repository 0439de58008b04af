"""Grafana dashboards, generated from the panels that modes declare; they read nothing but recorded signals."""
