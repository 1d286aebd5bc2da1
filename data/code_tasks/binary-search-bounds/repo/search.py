def first_at_least(values, wanted):
    """The index of the first element of the sorted list `values` that is >= wanted."""
    low, high = 0, len(values) - 1
    while low < high:
        middle = (low + high) // 2
        if values[middle] == wanted:
            return middle
        if values[middle] < wanted:
            low = middle
        else:
            high = middle
    return low
