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
