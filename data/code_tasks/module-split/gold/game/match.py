from game.board import Board


def play(first, second):
    board = Board()
    current, other = first, second
    while True:
        board.put(current.move(board), current)
        if board.won(current):
            return f"{current.name} wins"
        if board.full():
            return "draw"
        current, other = other, current
