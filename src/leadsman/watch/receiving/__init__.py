"""Takes alerts and maintenance events by HTTP: a webhook for Alertmanager and for clouds."""
