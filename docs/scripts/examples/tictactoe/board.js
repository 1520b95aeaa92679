'use strict';

// The rules of the board, without players and messages.

const LINES = [
  [0, 1, 2], [3, 4, 5], [6, 7, 8],
  [0, 3, 6], [1, 4, 7], [2, 5, 8],
  [0, 4, 8], [2, 4, 6],
];

exports.empty = () => Array(9).fill('.');

exports.isFree = (cells, cell) => Number.isInteger(cell) && cells[cell] === '.';

// winner returns 'X', 'O', 'draw', or null while the game goes on.
exports.winner = (cells) => {
  for (const [a, b, c] of LINES) {
    if (cells[a] !== '.' && cells[a] === cells[b] && cells[b] === cells[c]) {
      return cells[a];
    }
  }
  return cells.includes('.') ? null : 'draw';
};
