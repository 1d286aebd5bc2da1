class Player:
    def __init__(self, name, moves):
        self.name = name
        self.moves = list(moves)

    def move(self, board):
        while self.moves:
            place = self.moves.pop(0)
            if board.free(place):
                return place
        return board.first_free()


class Board:
    LINES = [(0, 1, 2), (3, 4, 5), (6, 7, 8), (0, 3, 6), (1, 4, 7), (2, 5, 8), (0, 4, 8), (2, 4, 6)]

    def __init__(self):
        self.places = [None] * 9

    def free(self, place):
        return self.places[place] is None

    def first_free(self):
        return self.places.index(None)

    def put(self, place, player):
        self.places[place] = player.name

    def won(self, player):
        return any(all(self.places[i] == player.name for i in line) for line in self.LINES)

    def full(self):
        return None not in self.places


def play(first, second):
    board = Board()
    current, other = first, second
    while True:
        board.put(current.move(board), current)
        if board.won(current) or board.full():
            return f"{current.name} wins"
        current, other = other, current
