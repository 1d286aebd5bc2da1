"""The tree of domains, grown by a model node by node: each request shows what is near and what is hardly covered."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from pipeline.config.author import AuthorSection
from pipeline.models.players.author import Asker, Checked, Problem, Step, fence, lines, settle
from pipeline.models.players.author.answers import Branch, Branches
from pipeline.records import Domain
from pipeline.tools.evolve.authored.novelty import overlap, stems
from pipeline.tools.evolve.authored.texts import as_texts, foreign, instructing, unsafe

TAGS = (
    *(
        "booking",
        "lending",
        "selling",
        "repair",
        "care",
        "teaching",
        "delivery",
        "storage",
        "membership",
        "payment",
    ),
    *(
        "scheduling",
        "inspection",
        "permission",
        "registration",
        "events",
        "devices",
        "health",
        "food",
        "travel",
        "housing",
    ),
    *(
        "energy",
        "media",
        "science",
        "safety",
        "community",
        "manufacturing",
        "farming",
        "sports",
        "culture",
        "administration",
    ),
)
"""What a place may be about; their coverage steers the next request."""
LEVELS = ("key categories", "application domains of this category", "subdomains of this domain")
_NEAR, _BARE = 5, 6
_TWIN = 0.85
"""Share of common words from which two places are one even under names without a common word."""


@dataclass(frozen=True)
class Node:
    """One place, and the tags it has."""

    domain: Domain
    tags: tuple[str, ...] = ()

    @property
    def depth(self) -> int:
        return self.domain.path.count("/") + 1

    def line(self) -> str:
        return f"{self.domain.path}: {self.domain.description}"


@dataclass
class Tree:
    """The places found so far, in the order in which they were found, and the account of it."""

    nodes: list[Node] = field(default_factory=list)
    merged: list[tuple[str, str]] = field(default_factory=list)
    """(what was proposed, the place that it is already)."""
    steps: list[Step] = field(default_factory=list)

    def below(self, path: str | None) -> list[Node]:
        return [one for one in self.nodes if one.domain.parent == path]

    @property
    def leaves(self) -> list[Node]:
        return [one for one in self.nodes if one.depth == len(LEVELS)]

    def coverage(self) -> Counter[str]:
        """How many leaves have a tag; every tag is there."""
        found = Counter(dict.fromkeys(TAGS, 0))
        found.update(tag for one in self.leaves for tag in one.tags)
        return found

    def bare(self) -> list[str]:
        """The tags with the fewest leaves, fewest first; none before there is a leaf."""
        return (
            [tag for tag, _ in sorted(self.coverage().items(), key=lambda item: item[1])][:_BARE]
            if self.leaves
            else []
        )

    def nearest(self, text: str, apart: str | None) -> list[Node]:
        """The places most alike to a text, without those directly below `apart`, which are shown anyway."""
        wanted = stems(text)
        scored = [
            (overlap(wanted, stems(one.line())), one) for one in self.nodes if one.domain.parent != apart
        ]
        scored = [pair for pair in scored if pair[0] > 0]
        return [one for _, one in sorted(scored, key=lambda pair: -pair[0])[:_NEAR]]

    def twin(self, name: str, description: str, depth: int, threshold: float) -> str:
        """The place of the same depth that a proposal is already, by name or by words; empty when it is a new one."""
        words = stems(f"{name} {description}")
        for one in self.nodes:
            if one.depth != depth:
                continue
            own = one.domain.path.rpartition("/")[2]
            names, alike = (
                overlap(stems(own), stems(name)),
                overlap(words, stems(f"{own} {one.domain.description}")),
            )
            if names == 1 or (names > 0 and alike >= threshold) or alike >= _TWIN:
                return one.domain.path
        return ""


async def grow(pen: Asker, config: AuthorSection, leaves: int | None = None) -> Tree:
    """The tree, level by level, with at least so many leaves (None: all that its breadth gives).

    The parents of a level take turns, so that a small tree is a broad one. What a node cannot name within the repairs is
    left out, with its account.
    Every answer is in the journal as soon as it is paid for, so a tree that was interrupted goes on at its next node.
    EndpointDown and BudgetExceeded pass through.
    """
    tree = Tree()
    if config.tree.categories:
        tree.nodes += [Node(Domain(path=_name(name))) for name in config.tree.categories]
    else:
        await _branch(pen, config, tree, None)
    wanted = config.tree.leaves if leaves is None else leaves
    for depth, enough in ((1, -(-wanted // config.tree.breadth[2])), (2, wanted)):
        for node in _in_turn([one for one in tree.nodes if one.depth == depth]):
            if sum(one.depth == depth + 1 for one in tree.nodes) >= enough:
                break
            await _branch(pen, config, tree, node)
    return tree


def _in_turn(nodes: Sequence[Node]) -> list[Node]:
    """The first child of every parent, then the second of every parent, and so on."""
    place: Counter[str | None] = Counter()
    ranked = []
    for number, one in enumerate(nodes):
        ranked.append((place[one.domain.parent], number, one))
        place[one.domain.parent] += 1
    return [one for _, _, one in sorted(ranked, key=lambda item: item[:2])]


async def _branch(pen: Asker, config: AuthorSection, tree: Tree, node: Node | None) -> None:
    """The children of one node."""
    path = node.domain.path if node else None
    depth = node.depth if node else 0
    wanted = config.tree.breadth[depth]
    step = Step("branches", path or "the top")
    tree.steps.append(step)
    above = [one for one in tree.nodes if path and (path + "/").startswith(one.domain.path + "/")]
    shown = {
        "above": lines(one.line() for one in above),
        "known": lines(one.line() for one in tree.below(path)),
        "near": lines(one.line() for one in tree.nearest(node.line() if node else "", path)),
    }
    talk = pen.begin(
        "branches", language=config.languages[0], fence=fence(*shown.values()), level=LEVELS[depth],
        tags=list(TAGS), bare=tree.bare(), count=wanted, **shown,
    )  # fmt: skip

    got: list[Branch] = []

    def check(answer: Branches) -> Checked[list[Branch]]:
        return _new_ones(tree, got, answer, depth + 1, wanted, config.tree.near_duplicate)

    found = await settle(
        talk,
        Branches,
        check,
        step,
        repairs=config.repairs,
        also=lambda answer: _unfit(answer, config.languages[0]),
    )
    for one in found or ():
        full = f"{path}/{_name(one.name)}" if path else _name(one.name)
        tags = tuple(tag for tag in one.tags if tag in TAGS)
        tree.nodes.append(Node(Domain(path=full, parent=path, description=one.description), tags))


def _new_ones(
    tree: Tree, got: list[Branch], answer: Branches, depth: int, wanted: int, threshold: float
) -> Checked[list[Branch]]:
    """Adds to `got` the proposals that are no place yet; near-duplicates are merged into the place they are, and for
    what is missing others are asked for."""
    there = Tree([*tree.nodes, *(_child(one, depth) for one in got)])
    twins = []
    for one in answer.branches:
        twin = there.twin(one.name, one.description, depth, threshold)
        if twin:
            twins.append((one.name, twin))
        elif len(got) < wanted:
            got.append(one)
            there.nodes.append(_child(one, depth))
    tree.merged += twins
    problems: list[Problem] = []
    missing = wanted - len(got)
    if missing and twins:
        named = "; ".join(f"{name} is {twin.rpartition('/')[2]}" for name, twin in twins[:6])
        problems.append(("near-duplicate", f"these are there already: {named}. Name {missing} others"))
    elif missing:
        problems.append(("too few", f"{missing} more are needed; name {missing} others"))
    return Checked(list(got) or None, problems)


def _child(one: Branch, depth: int) -> Node:
    """A proposal as a place, for comparison only."""
    return Node(Domain(path="/".join(["-"] * (depth - 1) + [_name(one.name)]), description=one.description))


def _unfit(answer: Branches, language: str) -> Sequence[Problem]:
    texts = as_texts(answer)
    found: list[Problem] = [("unsafe", why) for why in unsafe(texts)]
    found += [("instruction", why) for why in instructing(texts)]
    other = foreign(" ".join(one.description for one in answer.branches), language)
    return (
        [*found, ("another language", f"it is written in {other}; write it in {language}")]
        if other
        else found
    )


def _name(text: str) -> str:
    return " ".join(text.replace("/", " or ").split()).lower()
