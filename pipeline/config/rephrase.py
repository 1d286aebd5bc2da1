"""The section `rephrase`: what is read, how it is cut, rewritten and checked."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from pipeline.config.section import Section


class RephraseSection(Section):
    """Settings of the product `rephrase`."""

    inputs: tuple[str, ...] = ()
    """Files, folders or globs; empty means the sample documents that ship with tracemill."""
    text_field: str = "text"
    """Column or key that holds the text in JSON Lines, Parquet and dataset folders."""
    id_field: str = "id"
    """Column or key that names a row, when there is one."""
    max_document_bytes: int = Field(default=2_000_000, ge=4096)
    """A larger file, page or row is cut at paragraph ends into several documents."""
    skip_near_duplicates: float = Field(default=0.85, ge=0, le=1)
    """Jaccard similarity of word 5-grams from which a document counts as a copy; 1 compares exactly only."""

    chunk_tokens: int = Field(default=350, gt=0)
    """Budget of a chunk. One formula, table, code block or list item may exceed it, since it is never cut."""
    tokenizer: str = ""
    """Path of a `tokenizer.json` (needs the extra `rephrase`); empty means an estimate from the text."""
    context_tokens: int = Field(default=6000, gt=0)
    """A document up to this size is shown whole to the rewriter; a longer one as outline and neighborhood."""
    tail_tokens: int = Field(default=200, ge=0)
    """How much of the text already rewritten the rewriter sees."""

    rewritings: int = Field(default=2, ge=1)
    """Rewritings of one document, each in another style."""
    styles: tuple[str, ...] = ()
    """Names of styles to choose from; empty means all that fit the document's kind."""
    attempts: int = Field(default=3, ge=1)
    """Answers asked for one chunk before its source text is kept."""
    target_language: str = "en"
    """Language of translations (style `translation`)."""

    min_ratio: float = Field(default=0.4, gt=0)
    """Shortest acceptable rewriting, in parts of the source's tokens; a style may say otherwise."""
    max_ratio: float = Field(default=2.5, gt=0)
    """Longest acceptable rewriting, in parts of the source's tokens; a style may say otherwise."""
    max_overlap: float = Field(default=0.85, gt=0, le=1)
    """Ceiling for the share of word 5-grams that a rewriting has in common with its source."""
    max_overlap_between: float = Field(default=0.8, gt=0, le=1)
    """Ceiling for the share of word 5-grams that two rewritings of one document have in common."""

    layers: tuple[Literal["rules", "parsing", "embeddings"], ...] = ("rules", "parsing", "embeddings")
    """Layers of the checker that may run; those that ran are named in each report."""
    ask_model: bool = False
    """Ask a model that plays the role `checker` about every rewriting, and not only where the cheaper layers disagree."""
    audit_share: float = Field(default=0.05, ge=0, le=1)
    """Share of the rewritings that is drawn for the human audit."""
