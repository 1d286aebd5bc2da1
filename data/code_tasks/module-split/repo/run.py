from game.all import Player, play

if __name__ == "__main__":
    print(play(Player("x", [4, 0, 8]), Player("o", [1, 2])))
