"""A map of tools: alike ones lie together, real and evolved ones in two colors.

tf-idf vectors, reduced to fifty dimensions by a truncated singular value decomposition, laid out by t-SNE (van der
Maaten and Hinton 2008, scikit-learn). The same repository and seed give the same map. Needs the extra `plots`.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse.linalg import svds

from pipeline.records import ConfigError, ToolSpec
from pipeline.tools.coverage import categories_of
from pipeline.tools.repository import Repository
from pipeline.tools.similarity import Vectors

_DIMENSIONS = 50
_COLORS = {"mcp": "#d1495b", "evolved": "#30638e"}
_LABELS = {"mcp": "real (MCP)", "evolved": "evolved"}
_NAMED = 14


@dataclass(frozen=True)
class Point:
    """A tool's place on the map; x and y without a unit."""

    tool: ToolSpec
    category: str
    x: float
    y: float


def lay_out(repository: Repository, sample: int = 4000, seed: int = 0) -> list[Point]:
    """Places of the representatives, of at most `sample` of them, drawn so that both sources keep their shares.

    Raises ConfigError when scikit-learn is not installed or there are fewer than five tools.
    """
    try:
        from sklearn.manifold import TSNE
    except ImportError as error:
        raise ConfigError("The map needs scikit-learn.", way_out="Install tracemill[plots].") from error
    tools = repository.representatives
    if len(tools) < 5:
        raise ConfigError(
            f"A map of {len(tools)} tools says nothing.", way_out="Ingest or evolve some first."
        )
    if len(tools) > sample:
        tools = random.Random(seed).sample(tools, sample)
    matrix = Vectors.of(tools).matrix.astype(np.float64)
    generator = np.random.default_rng(seed)
    left, values, _ = svds(matrix, k=min(_DIMENSIONS, len(tools) - 1), rng=generator)
    reduced = left * values
    places = TSNE(
        perplexity=min(30.0, (len(tools) - 1) / 3), init="pca", random_state=seed, metric="cosine", n_jobs=1
    ).fit_transform(reduced)
    category = categories_of(tools)
    return [
        Point(tool, category[tool.id], float(x), float(y)) for tool, (x, y) in zip(tools, places, strict=True)
    ]


def draw(points: list[Point], path: Path) -> None:
    """A PNG of 1600 by 1200 pixels: a dot per tool, names of the largest categories at their middles.

    Raises ConfigError when matplotlib is not installed.
    """
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    except ImportError as error:
        raise ConfigError("The map needs matplotlib.", way_out="Install tracemill[plots].") from error
    figure = Figure(figsize=(16, 12), dpi=100, layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.add_subplot()
    for source in ("evolved", "mcp"):
        these = [point for point in points if point.tool.provenance.source == source]
        if these:
            axes.scatter(
                [point.x for point in these],
                [point.y for point in these],
                s=max(4.0, 60 - len(points) / 80),
                c=_COLORS[source],
                alpha=0.55,
                linewidths=0,
                label=f"{_LABELS[source]}: {len(these):,}",
            )
    _name_categories(axes, points)
    axes.set_title(f"{len(points):,} distinct tools by what their texts say (t-SNE of tf-idf)")
    axes.set_xticks([])
    axes.set_yticks([])
    axes.legend(loc="upper left", markerscale=2, framealpha=0.9)
    figure.savefig(path, format="png", metadata={"Software": None})


def _name_categories(axes: Any, points: list[Point]) -> None:
    groups: dict[str, list[Point]] = {}
    for point in points:
        groups.setdefault(point.category, []).append(point)
    groups.pop("other", None)
    width = max(point.x for point in points) - min(point.x for point in points)
    height = max(point.y for point in points) - min(point.y for point in points)
    named: list[tuple[float, float]] = []
    for name, group in sorted(groups.items(), key=lambda item: -len(item[1])):
        x, y = _middle(group)
        if any(abs(x - left) < 0.09 * width and abs(y - low) < 0.03 * height for left, low in named):
            continue
        named.append((x, y))
        box = {"boxstyle": "round,pad=0.2", "facecolor": "white", "edgecolor": "none", "alpha": 0.75}
        axes.text(x, y, name, ha="center", va="center", fontsize=12, bbox=box)
        if len(named) == _NAMED:
            return


def _middle(group: list[Point]) -> tuple[float, float]:
    """The place of the member with most others around it: the median of a scattered group may lie among strangers."""
    places = np.array([(point.x, point.y) for point in group])
    chosen = places[:: max(1, len(places) // 200)]
    distances = np.linalg.norm(chosen[:, None, :] - places[None, :, :], axis=2)
    near = np.sort(distances, axis=1)[:, : max(1, len(places) // 4)].mean(axis=1)
    x, y = chosen[int(np.argmin(near))]
    return float(x), float(y)
