"""Settings that are secrets: from one secret of AWS Secrets Manager, never from the function's own configuration."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final

from account_linking.errors import InvalidSettings

if TYPE_CHECKING:
    from account_linking.providers.model import Settings

SECRET_ARN: Final = "ACCOUNT_LINKING_SECRET_ARN"  # noqa: S105 - a setting's name


def with_secrets(settings: Settings) -> Settings:
    """Return the settings with those of the secret that ACCOUNT_LINKING_SECRET_ARN names, a JSON object of settings."""
    arn = settings.get(SECRET_ARN)
    if not arn:
        return settings
    import boto3  # an extra

    text = boto3.client("secretsmanager").get_secret_value(SecretId=arn)["SecretString"]
    try:
        document = json.loads(text)
        return {**settings, **{str(name): str(value) for name, value in document.items()}}
    except (ValueError, AttributeError):
        raise InvalidSettings(f"The secret {arn} is no JSON object of settings.") from None
