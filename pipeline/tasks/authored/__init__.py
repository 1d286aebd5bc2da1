"""Tasks proposed by a model: calls that really ran, facts that a person can know, checks that could have said no."""
