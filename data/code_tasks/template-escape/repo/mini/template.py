import re


class TemplateError(Exception):
    pass


def render(template, values):
    """The template with each `{{ name }}` replaced."""
    return re.sub(r"{{ *(\w+) *}}", lambda found: str(values[found[1]]), template)
