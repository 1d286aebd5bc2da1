from game.board import Board
from game.match import play
from game.player import Player

__all__ = ["Board", "Player", "play"]
