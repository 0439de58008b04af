"""Whether a client is created for each record or request, in words for a message; empty where that is not sure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from leadsman.gate.code import syntax as s
from leadsman.gate.code import usage
from leadsman.gate.code.analysis import function_around

if TYPE_CHECKING:
    from collections.abc import Iterator

    from leadsman.gate.code.analysis import Code, Enclosing, Site
    from leadsman.gate.facts import ConfigResource

REQUEST_DECORATORS = frozenset(
    {
        "route",
        "get",
        "post",
        "put",
        "delete",
        "patch",
        "api_view",
        "task",
        "shared_task",
        "websocket",
        "GetMapping",
        "PostMapping",
        "PutMapping",
        "DeleteMapping",
        "PatchMapping",
        "RequestMapping",
        "KafkaListener",
        "RabbitListener",
        "JmsListener",
        "EventListener",
        "Scheduled",
        "SqsListener",
        "Incoming",
        "GET",
        "POST",
        "PUT",
        "DELETE",
    }
)
"""Decorators and annotations of functions that a framework calls for each request, message or tick."""

ONCE_DECORATORS = frozenset(
    {
        "cache",
        "lru_cache",
        "cached_property",
        "fixture",
        "cached",
        "command",
        "Bean",
        "PostConstruct",
        "BeforeAll",
        "BeforeEach",
        "Before",
        "BeforeClass",
        "Test",
        "on_event",
        "ParameterizedTest",
        "contextmanager",
        "asynccontextmanager",
        "Singleton",
        "Produces",
        "dag",
        "Provides",
    }
)
"""Decorators with which a function runs once, or is a test or a command."""

ONCE_NAMES = frozenset(
    {
        "main",
        "run",
        "__init__",
        "__enter__",
        "__aenter__",
        "start",
        "startup",
        "setup",
        "setUp",
        "lifespan",
        "connect",
        "init",
        "__main__",
        "open",
        "beforeAll",
        "beforeEach",
        "constructor",
        "demo",
        "example",
    }
)
"""Functions that run once for each process or object, even if they send."""

HANDLERS = ("handle", "lambda_handler", "on_", "process_", "consume_")
"""Names, and beginnings of names, of functions that run once for each event."""

EVENTS = frozenset({"event", "message", "msg", "record", "request", "payload", "row", "body", "data"})
"""Parameters that hold the one event of a handler."""

REQUESTS = frozenset(
    {
        "http.Request",
        "gin.Context",
        "echo.Context",
        "fiber.Ctx",
        "Request",
        "HttpServletRequest",
        "ServerRequest",
        "RoutingContext",
        "HttpExchange",
        "APIGatewayProxyRequestEvent",
        "SQSEvent",
    }
)
"""Types of parameters that hold the one request of a handler."""

ROUTES = frozenset({"get", "post", "put", "delete", "patch", "all", "handle", "handlefunc"})
"""Methods, in small letters, that take a path and the function that answers its requests: of Express, Ktor, Go."""

PER_MESSAGE = "eachMessage"
"""What kafkajs calls for each message, and what calls it is `consumer.run({ eachMessage })`."""

PER_RECORD = frozenset({"foreach", "forEach", "map", "flatMap", "udf", "filter"})
"""Methods that call a function for each record. `foreachPartition` and `mapPartitions` call it for many at once."""

TESTS = ("test", "should", "Test")


def repetition_phrase(code: Code, client: ConfigResource) -> str:
    """Return where a producer is created again and again for records that it then sends."""
    library, creation = client.library, client.creation
    if library is None or creation is None:
        return ""
    holder = next(usage.names_of(code, creation), None)
    function = function_around(client.around)
    sends = [
        *usage.direct_calls(code, creation, library.sends),
        *usage.scope_calls(code, creation, library.sends),
    ]
    scope = function.body if function else code.body
    if holder is not None:
        variable = holder[0]
        if variable.startswith("self.") or usage.is_kept(scope, variable) or _is_guarded(client.around, variable):
            return ""
        sends = list(usage.calls_on(code, variable, function, library.sends))
    return _in_loop(client.around, sends) or (_in_function(code, function, client.around, sends) if function else "")


def _is_guarded(around: Enclosing, variable: str) -> bool:
    """Whether a creation depends on a test of the variable itself: `if producer is None`."""
    return any(
        usage.mentions(condition, {variable})
        for arm in usage.conditional_arms(around)
        if isinstance(arm.node, s.Branch)
        for condition in arm.node.condition
    )


def _in_loop(around: Enclosing, sends: list[Site]) -> str:
    loop = usage.innermost_loop(around)
    if loop is None or usage.is_bounded(loop):
        return ""
    return "in a loop" if any(usage.innermost_loop(each.around) is loop for each in sends) else ""


def _in_function(code: Code, function: s.Function, around: Enclosing, sends: list[Site]) -> str:
    own_sends = [each for each in sends if function_around(each.around) is function]
    if not own_sends or any(usage.innermost_loop(each) for each in (around, *(site.around for site in own_sends))):
        return ""
    if not function.name:
        return _in_lambda(code, function)
    decorators = {_decorator_name(each) for each in function.decorators}
    if decorators & ONCE_DECORATORS or function.name in ONCE_NAMES or function.name.startswith(TESTS):
        return ""
    return _called_repeatedly(code, function, decorators, own_sends)


def _in_lambda(code: Code, function: s.Function) -> str:
    if any(_key(key) == PER_MESSAGE and value is function for each, _ in code.mappings for key, value in each.pairs):
        return f"in the function of {PER_MESSAGE}, which runs for each message"
    for site in code.sites:
        if _is_route(site.call) and any(each is function for each in _handlers(site.call)):
            return f"in the function of {_route(site.call)}, which runs for each request"
        if s.called_name(site.call) in PER_RECORD and any(each is function for each in site.call.arguments):
            return f"in the function of {s.called_name(site.call)}(), which runs for each record"
    return ""


def _key(node: s.Node | None) -> object:
    return node.name if isinstance(node, s.Name) else node.value if isinstance(node, s.Literal) else None


def _is_route(call: s.Call) -> bool:
    """Whether a call takes a path and a function: `app.post("/orders", ...)`, `http.HandleFunc("/orders", ...)`."""
    path = call.arguments[0] if len(call.arguments) > 1 else None
    is_path = isinstance(path, s.Literal) and isinstance(path.value, str) and path.value.startswith("/")
    return is_path and s.called_name(call).lower() in ROUTES


def _handlers(call: s.Call) -> Iterator[s.Node]:
    """Yield what answers the requests of a route: its arguments, and what a wrapper such as `asyncHandler()` gets."""
    for each in call.arguments[1:]:
        yield each
        if isinstance(each, s.Call):
            yield from each.arguments


def _route(call: s.Call) -> str:
    path = call.arguments[0]
    return f'{s.called_name(call)}("{path.value}")' if isinstance(path, s.Literal) else s.called_name(call)


def _called_repeatedly(code: Code, function: s.Function, decorators: set[str], sends: list[Site]) -> str:
    parameters = {each.name for each in function.parameters}
    what = _declared_for(function, decorators)
    if what:
        return f"in {function.name}(), which runs for each {what}"
    called = next(filter(None, (_called_by(site, function) for site in code.sites)), "")
    if called:
        return called
    if any(_sends_parameter(code, each, parameters) for each in sends):
        return f"in {function.name}(), which sends one record and returns"
    return ""


def _declared_for(function: s.Function, decorators: set[str]) -> str:
    """Return what a function handles one of, by its decorators, types and names; empty for any other function."""
    if decorators & REQUEST_DECORATORS or any(each.type.lstrip("*& ") in REQUESTS for each in function.parameters):
        return "request"
    if function.name == PER_MESSAGE:
        return "message"
    is_handler = function.name.startswith(HANDLERS) and any(each.name in EVENTS for each in function.parameters)
    return "event" if is_handler else ""


def _called_by(site: Site, function: s.Function) -> str:
    """Return in words that a call makes a function run again and again; empty for any other call."""
    if _is_route(site.call) and any(_is_named(each, function.name) for each in _handlers(site.call)):
        return f"in {function.name}(), which runs for each request"
    if _passes(site.call, function.name):
        return f"in {function.name}(), which {s.called_name(site.call)}() runs for each record"
    if s.called_name(site.call) == function.name and _loops(site):
        return f"in {function.name}(), which is called in a loop"
    return ""


def _passes(call: s.Call, name: str) -> bool:
    return s.called_name(call) in PER_RECORD and any(
        isinstance(each, s.Name) and each.name == name for each in call.arguments
    )


def _is_named(node: s.Node, name: str) -> bool:
    return isinstance(node, s.Name | s.Attribute) and node.name == name


def _loops(site: Site) -> bool:
    loop = usage.innermost_loop(site.around)
    return loop is not None and not usage.is_bounded(loop)


def _sends_parameter(code: Code, site: Site, parameters: set[str]) -> bool:
    """Whether what is sent, beyond the topic, comes from a parameter of the function."""
    values = [*site.call.arguments[1:], *(value for name, value in site.call.keywords if name not in {"topic", "key"})]
    if len(site.call.arguments) == 1:
        values += _record_values(code, site)
    return any(usage.mentions(each, parameters - {"self", "topic"}) for each in values)


def _record_values(code: Code, site: Site) -> list[s.Node]:
    """Return the arguments of the ProducerRecord that is sent, without the topic."""
    node = site.call.arguments[0]
    if isinstance(node, s.Name):
        bound = [each for (_, name), found in code.bindings.items() if name == node.name for each in found]
        node = bound[-1].value if bound else node
    return node.arguments[1:] if isinstance(node, s.Call) else []


def _decorator_name(node: s.Node) -> str:
    called = node.function if isinstance(node, s.Call) else node
    return called.name if isinstance(called, s.Name | s.Attribute) else ""
