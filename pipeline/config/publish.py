"""The section `publish`: what becomes a dataset, and how."""

from __future__ import annotations

from pydantic import Field, model_validator

from pipeline.config.section import Section


class PublishSection(Section):
    """Settings of `tracemill export`."""

    title: str = ""
    """Title of the dataset card; empty: one that fits the format."""
    license: str = "other"
    """License of the dataset as the hub names it (`cc-by-4.0`, `apache-2.0`, …); yours to choose."""
    languages: tuple[str, ...] = ("en",)

    validation: float = Field(default=0.05, ge=0, lt=1)
    """Share of rows aimed at for the split `validation`; whole world skeletons are held out, so it is approximate."""
    test: float = Field(default=0.05, ge=0, lt=1)
    """Share of rows aimed at for the split `test`."""
    near_duplicate: float = Field(default=0.8, gt=0, le=1)
    """Jaccard similarity of word 5-grams of all user turns from which a held-out row counts as a copy of a training
    row and is left out; 1 compares exactly only."""

    shard_mb: int = Field(default=256, ge=1)
    """Size on disk from which a new file is begun."""
    verify: tuple[str, ...] = ("hermes", "llama3", "reasoning")
    """Chat templates in which every row is rendered and read back."""
    unlicensed_tools: bool = True
    """Keep rows whose real tools state no license; the card names them either way."""
    scrub: bool = True
    """Replace keys, tokens, e-mail addresses and phone numbers that are not the world's own."""
    min_quality: float = Field(default=0.5, ge=0, le=1)
    """Format `text`: least share of rewritten (not source-kept) chunks of a document."""

    against_ngram: int = Field(default=13, ge=5)
    """Words of an n-gram that counts as an overlap with a benchmark text."""
    against_share: float = Field(default=0.0, ge=0, lt=1)
    """Share of a row's n-grams that may overlap before the row is removed; 0 removes at the first."""
    against_tools: int = Field(default=2, ge=1)
    """Common tool signatures (name and argument names) from which a row is removed."""

    workers: int = Field(default=1, ge=1)
    """Processes that convert and verify."""

    @model_validator(mode="after")
    def _leaves_something_to_train_on(self) -> PublishSection:
        if self.validation + self.test >= 1:
            raise ValueError("validation and test together leave nothing to train on")
        return self
