/**
 * The colours of the series of a chart. Each colour has its own pattern, so that people can tell the series apart
 * without colours and on any background. The first six colours are those of Okabe and Ito, which people with the usual
 * kinds of colour blindness can tell apart. Their yellow and black are replaced, because these two would not be visible
 * on every background.
 */
const COLOURS = [
  '#0072b2',
  '#e69f00',
  '#009e73',
  '#cc79a7',
  '#56b4e9',
  '#d55e00',
  '#b8a800',
  '#888888',
];
const SIZE = 8;

function colourAt(index: number): string {
  return COLOURS[index % COLOURS.length] ?? '#888888';
}

/** Returns the fill of a series: its colour with its pattern. */
export function fillAt(index: number, context: CanvasRenderingContext2D): CanvasPattern | string {
  const tile = document.createElement('canvas');
  tile.width = tile.height = SIZE;
  const paint = tile.getContext('2d');
  if (!paint) return colourAt(index);
  paint.fillStyle = colourAt(index);
  paint.fillRect(0, 0, SIZE, SIZE);
  paint.fillStyle = paint.strokeStyle = 'rgb(255 255 255 / 65%)';
  paint.lineWidth = 1.5;
  drawPattern(index % COLOURS.length, paint);
  return context.createPattern(tile, 'repeat') ?? colourAt(index);
}

function drawPattern(index: number, paint: CanvasRenderingContext2D): void {
  const line = (...[fromX, fromY, toX, toY]: [number, number, number, number]) => {
    paint.beginPath();
    paint.moveTo(fromX, fromY);
    paint.lineTo(toX, toY);
    paint.stroke();
  };
  // Pattern 0 is only the colour.
  if (index === 1) line(-1, SIZE + 1, SIZE + 1, -1);
  else if (index === 2) paint.fillRect(2, 2, 3, 3);
  else if (index === 3) line(-1, -1, SIZE + 1, SIZE + 1);
  else if (index === 4) line(0, SIZE / 2, SIZE, SIZE / 2);
  else if (index === 5) line(SIZE / 2, 0, SIZE / 2, SIZE);
  else if (index === 6) {
    line(0, SIZE / 2, SIZE, SIZE / 2);
    line(SIZE / 2, 0, SIZE / 2, SIZE);
  } else if (index === 7) paint.fillRect(0, 0, 2, 2);
}
