"""Fidelity: whether a rewriting says what its source says, checked both ways."""
