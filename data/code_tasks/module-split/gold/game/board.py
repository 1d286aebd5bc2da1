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
