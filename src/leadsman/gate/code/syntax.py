"""One syntax for the programs of every language. Readers translate to it, rules and evaluation know nothing else.

Nodes are plain classes with slots, not frozen: a file has thousands, and frozen ones take three times as long to make.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Iterator


class Span(NamedTuple):
    """A place in a file. Lines and columns count from 1, columns in characters; `end_column` is the one after."""

    line: int
    column: int
    end_line: int
    end_column: int


Scalar: TypeAlias = "str | int | float | bool | None"


@dataclass(slots=True)
class Literal:
    """A value that stands in the program."""

    value: Scalar
    span: Span

    def children(self) -> Iterator[Node]:
        """No node is below a value."""
        return iter(())


@dataclass(slots=True)
class Name:
    """A variable, a class or another name."""

    name: str
    span: Span

    def children(self) -> Iterator[Node]:
        """No node is below a name."""
        return iter(())


@dataclass(slots=True)
class Attribute:
    """`object.name`."""

    object: Node
    name: str
    span: Span

    def children(self) -> Iterator[Node]:
        """Yield the object."""
        yield self.object


@dataclass(slots=True)
class Subscript:
    """`object[index]`."""

    object: Node
    index: Node
    span: Span

    def children(self) -> Iterator[Node]:
        """Yield object and index."""
        yield self.object
        yield self.index


@dataclass(slots=True)
class Call:
    """A call, or the creation of an object. A keyword without a name spreads a mapping."""

    function: Node
    arguments: list[Node]
    keywords: list[tuple[str, Node]]
    span: Span
    is_awaited: bool = False

    def children(self) -> Iterator[Node]:
        """Yield function and arguments."""
        yield self.function
        yield from self.arguments
        for _, value in self.keywords:
            yield value

    def keyword(self, *names: str) -> Node | None:
        """Return the value of the first keyword of these names."""
        return next((value for name, value in self.keywords if name in names), None)


@dataclass(slots=True)
class Mapping:
    """A dictionary, map or object. A pair without a key spreads another mapping."""

    pairs: list[tuple[Node | None, Node]]
    span: Span

    def children(self) -> Iterator[Node]:
        """Yield keys and values."""
        for key, value in self.pairs:
            if key is not None:
                yield key
            yield value


@dataclass(slots=True)
class Sequence:
    """A list, tuple, set or array."""

    items: list[Node]
    span: Span

    def children(self) -> Iterator[Node]:
        """Yield the items."""
        yield from self.items


@dataclass(slots=True)
class Binary:
    """An operator with its operands: `+ - * /`, `|` for merged mappings, `or` for a default, others."""

    operator: str
    left: Node
    right: Node
    span: Span

    def children(self) -> Iterator[Node]:
        """Yield the operands."""
        yield self.left
        yield self.right


@dataclass(slots=True)
class Parameter:
    """A parameter of a function; without a default, and without a type, they are None and empty."""

    name: str
    default: Node | None = None
    type: str = ""


@dataclass(slots=True)
class Function:
    """A function, method or lambda; a lambda has no name."""

    name: str
    parameters: list[Parameter]
    body: list[Node]
    span: Span
    decorators: list[Node] = field(default_factory=list)

    def children(self) -> Iterator[Node]:
        """Yield decorators, defaults and body."""
        yield from self.decorators
        for parameter in self.parameters:
            if parameter.default is not None:
                yield parameter.default
        yield from self.body


@dataclass(slots=True)
class Class:
    """A class or object with its members."""

    name: str
    bases: list[str]
    body: list[Node]
    span: Span
    decorators: list[Node] = field(default_factory=list)

    def children(self) -> Iterator[Node]:
        """Yield decorators and members."""
        yield from self.decorators
        yield from self.body


@dataclass(slots=True)
class Assign:
    """A value that is bound to names, attributes or items.

    `type` is the declared type. `is_declaration`: it declares the variable, in a language where variables are declared.
    """

    targets: list[Node]
    value: Node
    span: Span
    type: str = ""
    is_declaration: bool = False

    def children(self) -> Iterator[Node]:
        """Yield targets and value."""
        yield from self.targets
        yield self.value


@dataclass(slots=True)
class Loop:
    """A loop or comprehension. `iterable` is None where the loop has a condition; `kind`: for, while, comprehension."""

    kind: str
    iterable: Node | None
    body: list[Node]
    span: Span

    def children(self) -> Iterator[Node]:
        """Yield what is looped over, and the body."""
        if self.iterable is not None:
            yield self.iterable
        yield from self.body


@dataclass(slots=True)
class Branch:
    """Code of which only a part may run: if, switch, conditional expression. `condition` is all that is tested."""

    condition: list[Node]
    bodies: list[list[Node]]
    span: Span

    def children(self) -> Iterator[Node]:
        """Yield conditions and bodies."""
        yield from self.condition
        for body in self.bodies:
            yield from body


@dataclass(slots=True)
class Handler:
    """An except or catch clause; `name` of the caught error, `types` as written."""

    types: list[str]
    name: str
    body: list[Node]
    span: Span

    def children(self) -> Iterator[Node]:
        """Yield the body."""
        yield from self.body


@dataclass(slots=True)
class Try:
    """A try with its handlers. `final` also holds what runs when nothing was raised."""

    body: list[Node]
    handlers: list[Handler]
    final: list[Node]
    span: Span

    def children(self) -> Iterator[Node]:
        """Yield body, handlers and the rest."""
        yield from self.body
        yield from self.handlers
        yield from self.final


@dataclass(slots=True)
class Return:
    """A return, or a throw, break or yield: `kind` is the keyword."""

    kind: str
    value: Node | None
    span: Span

    def children(self) -> Iterator[Node]:
        """Yield the value."""
        if self.value is not None:
            yield self.value


@dataclass(slots=True)
class Import:
    """A name that comes from another module. `name` is empty for the module itself, `*` for all names."""

    module: str
    name: str
    alias: str
    span: Span

    def children(self) -> Iterator[Node]:
        """No node is below an import."""
        return iter(())


@dataclass(slots=True)
class Other:
    """Syntax that has no meaning here; the nodes below it may have."""

    nodes: list[Node]
    span: Span

    def children(self) -> Iterator[Node]:
        """Yield the nodes."""
        yield from self.nodes


Node: TypeAlias = (
    "Literal | Name | Attribute | Subscript | Call | Mapping | Sequence | Binary | Function | Class | Assign | Loop"
    " | Branch | Handler | Try | Return | Import | Other"
)


def walk(node: Node) -> Iterator[Node]:
    """Yield a node and all nodes below it, in the program's order."""
    pending = [node]
    while pending:
        current = pending.pop()
        yield current
        pending.extend(reversed(list(current.children())))


def walk_all(nodes: list[Node]) -> Iterator[Node]:
    """Yield all nodes of a body and below it, in the program's order."""
    for node in nodes:
        yield from walk(node)


def dotted(node: Node) -> str:
    """Return `a.b.c` for attributes of a name; empty for anything else."""
    parts: list[str] = []
    while isinstance(node, Attribute):
        parts.append(node.name)
        node = node.object
    if not isinstance(node, Name):
        return ""
    return ".".join([node.name, *reversed(parts)])


def called_name(call: Call) -> str:
    """Return the last part of what is called: `produce` of `self.producer.produce(...)`."""
    return call.function.name if isinstance(call.function, Name | Attribute) else ""


def receiver(call: Call) -> str:
    """Return the dotted name of the object whose method is called; empty for a plain function."""
    return dotted(call.function.object) if isinstance(call.function, Attribute) else ""
