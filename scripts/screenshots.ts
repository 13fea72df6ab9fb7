// Creates the pictures of the terminal UI in docs/images/ from the scenes in test/tui/scenes.ts. Each scene runs the UI
// with a scripted session on a pseudo-terminal of 100 × 30, and draws the emulator's screen as SVG.
//   node --conditions=parley-source scripts/screenshots.ts [SCENE …]
import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { RUN, SCENES, type Scene } from '../test/tui/scenes.ts';
import { openTerminal, type Terminal } from '../test/tui/terminal.ts';

const OUT = path.resolve(import.meta.dirname, '../docs/images');
const COLUMNS = 100;
const ROWS = 30;
/** How long to wait for the last frame of a scene. */
const SETTLED_MS = 500;

const SHOW_CURSOR = '\u001b[?25h';
const HIDE_CURSOR = '\u001b[?25l';
const CELL = { width: 8.4, height: 18, font: 14 };
const PADDING = 16;
const BAR = 34;
const LOOK = { background: '#16181d', bar: '#1f2229', text: '#d7dae0', title: '#8b919c' };

function draw({ screen, raw }: Terminal, { title }: Scene): string {
  const width = COLUMNS * CELL.width + 2 * PADDING;
  const height = ROWS * CELL.height + 2 * PADDING + BAR;
  const { baseY, cursorX, cursorY } = screen.buffer.active;
  const texts: string[] = [];
  for (let row = 0; row < ROWS; row++) {
    const y = BAR + PADDING + row * CELL.height;
    for (const run of runsOf(screen, baseY + row)) {
      if (run.text.trim() === '') continue;
      const fill = run.color === undefined ? LOOK.text : hex(run.color);
      const style = [
        run.bold ? ' font-weight="600"' : '',
        run.italic ? ' font-style="italic"' : '',
        run.underline ? ' text-decoration="underline"' : '',
      ].join('');
      const x = round(PADDING + run.start * CELL.width);
      // textLength fixes the width, so that a slightly wider font does not shift the text after it.
      const length = round(run.cells * CELL.width);
      texts.push(
        `<text x="${x}" y="${y + CELL.font}" fill="${fill}" textLength="${length}" lengthAdjust="spacingAndGlyphs"${style}>${escape(run.text)}</text>`,
      );
    }
  }
  const shown = raw().lastIndexOf(SHOW_CURSOR) > raw().lastIndexOf(HIDE_CURSOR);
  const cursor = shown
    ? `<rect x="${round(PADDING + cursorX * CELL.width)}" y="${BAR + PADDING + cursorY * CELL.height + 1}" width="2" height="${CELL.height - 2}" fill="${LOOK.text}"/>`
    : '';
  const lights = ['#e0645c', '#dfae4c', '#6bb36b']
    .map(
      (color, index) =>
        `<circle cx="${20 + index * 18}" cy="${BAR / 2}" r="5.5" fill="${color}" opacity="0.85"/>`,
    )
    .join('');
  return `<svg xmlns="http://www.w3.org/2000/svg" width="${round(width)}" height="${height}" viewBox="0 0 ${round(width)} ${height}" font-family="ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace" font-size="${CELL.font}" xml:space="preserve">
<rect width="100%" height="100%" rx="9" fill="${LOOK.background}"/>
<path d="M0 ${BAR}V9a9 9 0 0 1 9-9h${round(width - 18)}a9 9 0 0 1 9 9v${BAR - 9}z" fill="${LOOK.bar}"/>
${lights}
<text x="${round(width / 2)}" y="${BAR / 2 + 4.5}" fill="${LOOK.title}" font-size="12.5" text-anchor="middle">${escape(title)}</text>
${cursor}
${texts.join('\n')}
</svg>
`;
}

interface Run {
  readonly start: number;
  readonly cells: number;
  readonly text: string;
  readonly color: number | undefined;
  readonly bold: boolean;
  readonly italic: boolean;
  readonly underline: boolean;
}

/** Joins neighbouring cells of the same style into runs. Two or more spaces end a run, so that columns stay aligned. */
function runsOf(screen: Terminal['screen'], row: number): Run[] {
  const line = screen.buffer.active.getLine(row);
  if (!line) return [];
  const runs: Run[] = [];
  for (let column = 0; column < screen.cols; column++) {
    const cell = line.getCell(column);
    if (!cell || cell.getWidth() === 0) continue;
    const run: Run = {
      start: column,
      cells: cell.getWidth(),
      text: cell.getChars() === '' ? ' ' : cell.getChars(),
      color: cell.isFgPalette() ? cell.getFgColor() : undefined,
      bold: cell.isBold() !== 0,
      italic: cell.isItalic() !== 0,
      underline: cell.isUnderline() !== 0,
    };
    const last = runs.at(-1);
    const same =
      last !== undefined &&
      last.color === run.color &&
      last.bold === run.bold &&
      last.italic === run.italic &&
      last.underline === run.underline &&
      !(last.text.endsWith('  ') && run.text !== ' ');
    if (same) {
      runs[runs.length - 1] = {
        ...last,
        cells: last.cells + run.cells,
        text: last.text + run.text,
      };
    } else {
      runs.push(run);
    }
  }
  return runs.map(trimmed);
}

function trimmed(run: Run): Run {
  const text = run.text.trimEnd();
  return { ...run, text, cells: run.cells - (run.text.length - text.length) };
}

/** Returns the RGB value of a terminal colour: 16 to 231 are a 6 × 6 × 6 cube, and 232 to 255 are greys. */
function hex(color: number): string {
  const level = (step: number): number => (step === 0 ? 0 : 55 + step * 40);
  const channels =
    color >= 232
      ? Array.from({ length: 3 }, () => 8 + (color - 232) * 10)
      : [Math.floor((color - 16) / 36), Math.floor((color - 16) / 6) % 6, (color - 16) % 6].map(
          level,
        );
  return `#${channels.map((each) => each.toString(16).padStart(2, '0')).join('')}`;
}

function round(value: number): number {
  return Math.round(value * 100) / 100;
}

function escape(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}

const wanted = process.argv.slice(2);
await mkdir(OUT, { recursive: true });
for (const [name, scene] of Object.entries(SCENES)) {
  if (wanted.length > 0 && !wanted.includes(name)) continue;
  const terminal = openTerminal(RUN, scene.args, { columns: COLUMNS, rows: ROWS });
  try {
    await terminal.readsKeys();
    await scene.drive(terminal);
    await sleep(SETTLED_MS);
    await writeFile(path.join(OUT, `${name}.svg`), draw(terminal, scene));
  } finally {
    terminal.close();
  }
}
