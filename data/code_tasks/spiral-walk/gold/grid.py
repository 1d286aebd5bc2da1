def spiral(rows):
    """The elements of the grid, clockwise from the outside in."""
    if len({len(row) for row in rows}) > 1:
        raise ValueError("the rows have different lengths")
    if not rows:
        return []
    found = []
    top, bottom, left, right = 0, len(rows) - 1, 0, len(rows[0]) - 1
    while top <= bottom and left <= right:
        found += [rows[top][column] for column in range(left, right + 1)]
        found += [rows[row][right] for row in range(top + 1, bottom + 1)]
        if top < bottom and left < right:
            found += [rows[bottom][column] for column in range(right - 1, left - 1, -1)]
            found += [rows[row][left] for row in range(bottom - 1, top, -1)]
        top, bottom, left, right = top + 1, bottom - 1, left + 1, right - 1
    return found
