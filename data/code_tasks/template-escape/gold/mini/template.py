import html
import re


class TemplateError(Exception):
    pass


TAG = re.compile(r"({{.*?}}|{%.*?%})", re.DOTALL)


def render(template, values):
    """The template with `{{ name }}`, `{{ name|raw }}` and `{% for x in items %} … {% end %}` carried out."""
    parts = _split(template)
    return _render(_tree(parts), values)


def _split(template):
    """(line, text) of each piece; every second one is a tag."""
    line, parts = 1, []
    for piece in TAG.split(template):
        parts.append((line, piece))
        line += piece.count("\n")
    return parts


def _tree(parts):
    root = []
    open_loops = [(0, root)]
    for number, (line, piece) in enumerate(parts):
        inner = open_loops[-1][1]
        if number % 2 == 0:
            inner.append(("text", line, piece))
        elif found := re.fullmatch(r"{{\s*([\w.]+)\s*(\|\s*raw)?\s*}}", piece):
            inner.append(("value", line, found[1], bool(found[2])))
        elif found := re.fullmatch(r"{%\s*for\s+(\w+)\s+in\s+([\w.]+)\s*%}", piece):
            body = []
            inner.append(("for", line, found[1], found[2], body))
            open_loops.append((line, body))
        elif re.fullmatch(r"{%\s*end\s*%}", piece):
            open_loops.pop()
            if not open_loops:
                raise TemplateError(f"line {line}: there is nothing to end")
        else:
            raise TemplateError(f"line {line}: unknown tag {piece}")
    if len(open_loops) > 1:
        raise TemplateError(f"line {open_loops[-1][0]}: the loop is not ended")
    return root


def _render(tree, values):
    out = []
    for kind, line, *rest in tree:
        if kind == "text":
            out.append(rest[0])
        elif kind == "value":
            text = str(_look_up(rest[0], values, line))
            out.append(text if rest[1] else html.escape(text))
        else:
            name, path, body = rest
            out += [_render(body, {**values, name: item}) for item in _look_up(path, values, line)]
    return "".join(out)


def _look_up(path, values, line):
    value = values
    for name in path.split("."):
        try:
            if name.startswith("_"):
                raise KeyError(name)
            value = value[name] if isinstance(value, dict) else getattr(value, name)
        except (KeyError, AttributeError):
            raise TemplateError(f"line {line}: there is no {path}") from None
    return value
