"""Which hops of `leadsman_clients.HOPS` a program's path surely has, by what the program itself says."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from leadsman.gate.code import syntax as s
    from leadsman.gate.code.analysis import Code

EVENT_HUBS = "servicebus.windows.net"
LAMBDA_PARAMETERS = ("event", "context")
LAMBDA_NAMES = frozenset({"lambda_handler"})
LAMBDA_MODULES = (
    "com.amazonaws.services.lambda",
    "github.com/aws/aws-lambda-go",
    "aws_lambda_powertools",
    "aws-lambda",
)
CLOUD_RUN_MODULES = ("functions_framework", "com.google.cloud.functions", "@google-cloud/functions-framework")


def hops_of(text: str, code: Code | None = None) -> frozenset[str]:
    """Return the names of the hops; the broker is always one."""
    found = {"broker"}
    if EVENT_HUBS in text:
        found.add("azure_event_hubs")
    if code is not None and _is_lambda(code):
        found.add("lambda")
    if code is not None and any(each.module.startswith(CLOUD_RUN_MODULES) for each in code.imports):
        found.add("cloud_run")
    return frozenset(found)


def _is_lambda(code: Code) -> bool:
    return bool(lambda_handlers(code)) or any(each.module.startswith(LAMBDA_MODULES) for each in code.imports)


def lambda_handlers(code: Code) -> list[s.Function]:
    """Return the functions that AWS Lambda calls for each invocation, by their signature."""
    return [
        function
        for found in code.functions.values()
        for function, around in found
        if not around and (function.name in LAMBDA_NAMES or _has_handler_parameters(function, code.language))
    ]


def _has_handler_parameters(function: s.Function, language: str) -> bool:
    names = [each.name.lstrip("_") for each in function.parameters]
    if language == "typescript" and function.name == "handler" and names == list(LAMBDA_PARAMETERS)[:1]:
        return True  # JavaScript leaves out the parameters that it does not use
    return names == list(LAMBDA_PARAMETERS) and "handler" in function.name.lower()
