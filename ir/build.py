"""Parse tree of the grammar to syntax tree."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias, cast

from lark import Token, Tree

from . import syntax as s
from .errors import IRError

Node: TypeAlias = Tree[Token] | Token | None
_MOST_DIGITS = 64


def build_program(tree: Tree[Token], lines: tuple[str, ...]) -> s.Program:
    children = list(tree.children)
    name = "program"
    head = children.pop(0) if children else None
    if isinstance(head, Tree) and head.data == "program":
        name = str(head.children[0])
    elif head is not None:
        children.insert(0, head)
    return s.Program(name, tuple(_statement(child) for child in children if child is not None), lines)


def build_expression(tree: Tree[Token] | Token) -> s.Expr:
    return _expr(tree)


def _pos(node: Node) -> s.Pos:
    if isinstance(node, Token):
        return s.Pos(node.line or 0, node.column or 0)
    if isinstance(node, Tree) and not node.meta.empty:
        return s.Pos(node.meta.line, node.meta.column)
    return s.Pos()


def _fail(message: str, node: Node) -> IRError:
    pos = _pos(node)
    return IRError.at(message, pos.line, pos.column)


def _text(node: Node) -> str:
    return str(node)


def _optional_text(node: Node) -> str | None:
    return None if node is None else str(node)


def _string(node: Node) -> str:
    return str(node)[1:-1]


def _tree(node: Node) -> Tree[Token]:
    return cast("Tree[Token]", node)


def _kids(node: Node) -> list[Node]:
    return list(_tree(node).children)


# expressions


def _expr(node: Node) -> s.Expr:
    if isinstance(node, Tree) and node.data in _EXPRESSIONS:
        return _EXPRESSIONS[node.data](node)
    raise _fail("expected an expression", node)


def _number(node: Node) -> s.Expr:
    text = str(_kids(node)[0])
    if len(text) > _MOST_DIGITS:
        raise _fail(f"a number of {len(text)} digits is too long", node)
    return s.Number(int(text) if text.isdigit() else float(text), pos=_pos(node))


def _items(node: Node) -> tuple[s.Expr, ...]:
    return () if node is None else tuple(_expr(child) for child in _kids(node) if child is not None)


def _shape(node: Node) -> tuple[s.Expr, ...]:
    return () if node is None else _items(_kids(node)[0])


def _conditional(node: Node) -> s.Expr:
    then, _, condition, _, orelse = _kids(node)
    return s.Conditional(_expr(then), _expr(condition), _expr(orelse), pos=_pos(node))


def _logic(node: Node) -> s.Expr:
    op = "or" if _tree(node).data == "or_expr" else "and"
    args = tuple(_expr(child) for child in _kids(node) if not isinstance(child, Token))
    return s.Logic("or" if op == "or" else "and", args, pos=_pos(node))


def _comparison(node: Node) -> s.Expr:
    kids = _kids(node)
    rest = tuple((_text(op), _expr(right)) for op, right in zip(kids[1::2], kids[2::2], strict=True))
    return s.Comparison(_expr(kids[0]), rest, pos=_pos(node))


def _binary(node: Node) -> s.Expr:
    left, op, right = _kids(node)
    return s.Binary(_text(op), _expr(left), _expr(right), pos=_pos(node))  # type: ignore[arg-type]


def _minus(node: Node) -> s.Expr:
    sign, arg = _kids(node)
    inner = _expr(arg)
    return inner if str(sign) == "+" else s.Unary("-", inner, pos=_pos(node))


def _call(node: Node) -> s.Expr:
    name, args, options = _kids(node)
    given = tuple(_option(child) for child in _kids(options)) if options is not None else ()
    return s.Call(_text(name), _items(args), tuple(o for o in given if o is not None), pos=_pos(node))


def _option(node: Node) -> s.Option | None:
    if node is None:
        return None
    kids = _kids(node)
    if _tree(node).data == "option":
        return s.Option(_text(kids[0]), _expr(kids[1]), pos=_pos(node))
    value = _expr(kids[0])
    if not isinstance(value, s.Name):
        raise _fail("a compile-time argument is written name=value", node)
    return s.Option(value.name, value, pos=_pos(node))


def _reduction(node: Node) -> s.Expr:
    name, items, where, body = _kids(node)
    condition = None if where is None else _expr(where)
    return s.Reduction(_text(name), _heads(items), condition, _expr(body), pos=_pos(node))


def _heads(node: Node) -> tuple[s.LoopHead, ...]:
    return tuple(_head(expr) for expr in _items(node))


def _head(expr: s.Expr) -> s.LoopHead:
    match expr:
        case s.Spread():
            return expr
        case s.Comparison(s.Name(name), (("<", extent),)):
            return s.Head(name, extent, pos=expr.pos)
        case _:
            raise IRError.at("an iterator is written name < extent", expr.pos.line, expr.pos.column)


def _guarded(node: Node) -> s.Expr:
    read, _, fill = _kids(node)
    return s.Guarded(_expr(read), _expr(fill), pos=_pos(node))


_EXPRESSIONS: dict[str, Callable[[Node], s.Expr]] = {
    "number": _number,
    "string": lambda node: s.String(_string(_kids(node)[0]), pos=_pos(node)),
    "name": lambda node: s.Name(_text(_kids(node)[0]), pos=_pos(node)),
    "spread": lambda node: s.Spread(pos=_pos(node)),
    "subscript": lambda node: s.Subscript(_text(_kids(node)[0]), _shape(_kids(node)[1]), pos=_pos(node)),
    "conditional": _conditional,
    "or_expr": _logic,
    "and_expr": _logic,
    "negation": lambda node: s.Unary("not", _expr(_kids(node)[1]), pos=_pos(node)),
    "comparison": _comparison,
    "binary": _binary,
    "minus": _minus,
    "call": _call,
    "reduction": _reduction,
    "guarded": _guarded,
    "pair": lambda node: s.TupleOf((_expr(_kids(node)[0]), *_items(_kids(node)[1])), pos=_pos(node)),
    "listing": lambda node: s.TupleOf(_items(_kids(node)[0]), pos=_pos(node)),
}


# statements


def _statement(node: Node) -> s.Stmt:
    return _STATEMENTS[_tree(node).data](node)


def _suite(node: Node) -> tuple[s.Stmt, ...]:
    return () if node is None else tuple(_statement(child) for child in _kids(node) if child is not None)


def _input(node: Node) -> s.Stmt:
    name, key, shape, dtype, low, high, unique = _kids(node)
    return s.Input(
        _text(name), None if key is None else _string(key), _shape(shape), _optional_text(dtype),
        None if low is None else _expr(low), None if high is None else _expr(high), unique is not None, pos=_pos(node),
    )  # fmt: skip


def _param(node: Node) -> s.Stmt:
    name, key, shape, dtype = _kids(node)
    return s.Param(_text(name), _string(key), _shape(shape), _optional_text(dtype), pos=_pos(node))


def _attr(node: Node) -> s.Stmt:
    name, value = _kids(node)
    match _expr(value):
        case s.String(key):
            return s.Attr(_text(name), key, pos=_pos(node))
        case s.Logic("or", (s.String(key), *rest)):
            default = rest[0] if len(rest) == 1 else s.Logic("or", tuple(rest), pos=rest[0].pos)
            return s.Attr(_text(name), key, default, pos=_pos(node))
        case other:
            return s.Let(_text(name), other, pos=_pos(node))


def _draw(node: Node) -> s.Stmt:
    name, shape, dtype = _kids(node)
    return s.Draw(_text(name), _shape(shape), dtype=_optional_text(dtype), pos=_pos(node))


def _draw_range(node: Node) -> s.Stmt:
    name, first, last, shape, dtype = _kids(node)
    end, dims = _expr(last), _shape(shape)
    if shape is None:
        end, dims = _split_last(end)
    return s.Draw(_text(name), dims, _expr(first), end, _optional_text(dtype), pos=_pos(node))


def _split_last(expr: s.Expr) -> tuple[s.Expr, tuple[s.Expr, ...]]:
    """`2+T [B]` reads as `2 + T[B]`: takes the shape off the last operand."""
    match expr:
        case s.Subscript(name, index):
            return s.Name(name, pos=expr.pos), index
        case s.Binary(op, left, right):
            end, dims = _split_last(right)
            return s.Binary(op, left, end, pos=expr.pos), dims
        case _:
            return expr, ()


def _tensor(node: Node) -> s.Stmt:
    name, shape, dtype, init = _kids(node)
    start = None if init is None else _expr(init)
    return s.TensorDecl(_text(name), _shape(shape), _optional_text(dtype), start, pos=_pos(node))


def _view(node: Node) -> s.Stmt:
    name, shape, value = _kids(node)
    heads = tuple(_head(expr) for expr in _shape(shape))
    return s.ViewDecl(_text(name), heads, _expr(value), pos=_pos(node))


def _output(node: Node) -> s.Stmt:
    *values, dtype, extra = _kids(node)
    given = [_expr(value) for value in values if value is not None]
    value = given[0] if len(given) == 1 else s.TupleOf(tuple(given), pos=_pos(node))
    unordered, companions, indexes = None, list[str](), None
    if isinstance(extra, Tree) and extra.data == "unordered":
        axis, *names = extra.children
        unordered, companions = _expr(axis), [str(name) for name in names if name is not None]
    elif isinstance(extra, Tree):
        source, along, giving = extra.children
        indexes = (str(source), _expr(along), str(giving))
    return s.OutputDecl(
        value, dtype=_optional_text(dtype), unordered=unordered, companions=tuple(companions), indexes=indexes,
        pos=_pos(node),
    )  # fmt: skip


def _output_slot(node: Node) -> s.Stmt:
    slot, key, value, dtype = _kids(node)
    kind = "state" if str(slot) == "state" else "input"
    return s.OutputDecl(
        _expr(value), "state" if kind == "state" else "input", _string(key), _optional_text(dtype), pos=_pos(node)
    )


def _assign(node: Node) -> s.Stmt:
    target, op, value = _kids(node)
    name, shape = _kids(target)
    where: s.Subscript | s.Name
    if shape is None:
        where = s.Name(_text(name), pos=_pos(target))
    else:
        where = s.Subscript(_text(name), _shape(shape), pos=_pos(target))
    return s.Assign(where, _operator(op), _expr(value), pos=_pos(node))


_NAMED_OPS = {"max", "min", "and", "or", "argmax", "argmin"}


def _operator(node: Node) -> str:
    tree = _tree(node)
    if tree.data != "named":
        return {"set": "=", "plus": "+", "times": "*"}[tree.data]
    name = str(tree.children[0])
    if name not in _NAMED_OPS:
        raise _fail(f"unknown reduction {name}=; the reductions are += *= max= min= and= or= argmax= argmin=", node)
    return name


def _for(node: Node) -> s.Stmt:
    items, where, body = _kids(node)
    condition = None if where is None else _expr(where)
    return s.For(_heads(items), condition, _suite(body), pos=_pos(node))


def _repeat(node: Node) -> s.Stmt:
    names, low, high, body = _kids(node)
    loop = tuple(str(name) for name in _kids(names))
    return s.Repeat(loop, _expr(low), None if high is None else _expr(high), _suite(body), pos=_pos(node))


def _if(node: Node) -> s.Stmt:
    kids = [kid for kid in _kids(node) if not (isinstance(kid, Token) and kid.type == "IF")]
    has_else = isinstance(kids[-2], Token) and kids[-2].type == "ELSE"
    orelse = _suite(kids[-1]) if has_else else ()
    pairs: Sequence[Node] = kids[:-2]
    arms = tuple((_expr(c), _suite(b)) for c, b in zip(pairs[::2], pairs[1::2], strict=True))
    return s.If(arms, orelse, pos=_pos(node))


def _runtime_if(node: Node) -> s.Stmt:
    _, condition, body, _, orelse = _kids(node)
    return s.If(((_expr(condition), _suite(body)),), _suite(orelse), runtime=True, pos=_pos(node))


def _scan(node: Node) -> s.Stmt:
    reverse, head, *carries, body = _kids(node)
    loop = _head(_expr(head))
    if isinstance(loop, s.Spread):
        raise _fail("a scan runs over one iterator, written name < trips", node)
    pairs = tuple((_text(_kids(c)[0]), _expr(_kids(c)[1])) for c in carries if c is not None)
    return s.ScanStmt(loop.name, loop.extent, reverse is not None, pairs, _suite(body), pos=_pos(node))


def _def(node: Node) -> s.Stmt:
    name, *middle, body = _kids(node)
    parts = [_tree(part) for part in middle if part is not None]
    parameters = tuple(
        s.Parameter(
            _text(part.children[0]), None if part.children[1] is None else _shape(part.children[1]), pos=_pos(part)
        )
        for part in parts
        if part.data == "parameter"
    )
    options = tuple(
        s.OptionDecl(
            _text(part.children[0]), None if part.children[1] is None else _expr(part.children[1]), pos=_pos(part)
        )
        for part in parts
        if part.data == "optdecl"
    )
    return s.Def(_text(name), parameters, options, _suite(body), pos=_pos(node))


def _unpack(node: Node) -> s.Stmt:
    *names, value = _kids(node)
    return s.Unpack(tuple(str(name) for name in names), _expr(value), pos=_pos(node))


_STATEMENTS: dict[str, Callable[[Node], s.Stmt]] = {
    "input": _input,
    "param": _param,
    "attr": _attr,
    "draw": _draw,
    "draw_range": _draw_range,
    "let": lambda node: s.Let(_text(_kids(node)[0]), _expr(_kids(node)[1]), pos=_pos(node)),
    "tensor": _tensor,
    "shape": lambda node: s.ShapeDecl(_text(_kids(node)[0]), _shape(_kids(node)[1]), pos=_pos(node)),
    "view": _view,
    "require": lambda node: s.Require(_expr(_kids(node)[0]), pos=_pos(node)),
    "fact": lambda node: s.FactDecl(_expr(_kids(node)[0]), pos=_pos(node)),
    "output": _output,
    "output_slot": _output_slot,
    "assign": _assign,
    "unpack": _unpack,
    "next": lambda node: s.Next(_text(_kids(node)[0]), _expr(_kids(node)[1]), pos=_pos(node)),
    "emit": lambda node: s.EmitStmt(_text(_kids(node)[0]), _expr(_kids(node)[1]), pos=_pos(node)),
    "return": lambda node: s.Return(tuple(_expr(kid) for kid in _kids(node)), pos=_pos(node)),
    "for": _for,
    "repeat": _repeat,
    "if": _if,
    "runtime_if": _runtime_if,
    "scan": _scan,
    "def": _def,
}
