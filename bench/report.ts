/** Formats the results as a table, as JSON, and as the chart in the README. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { machine, type Row } from './measure.ts';

const results = join(import.meta.dirname, 'results');

function short(value: number): string {
  if (Number.isNaN(value)) return '–';
  return value >= 100 ? value.toFixed(0) : value >= 10 ? value.toFixed(1) : value.toFixed(2);
}

/** The columns of the table. All other values are in the last column. */
const COLUMNS = ['bare', 'parley', 'sqlite', 'sdk'];

export function line(row: Row): string {
  const cells = COLUMNS.map((name) => {
    const value = row.values[name];
    const base = row.values['bare'];
    if (value === undefined) return ''.padStart(16);
    const against = base !== undefined && name !== 'bare' ? ` (${(value / base).toFixed(2)}×)` : '';
    return `${short(value)}${against}`.padStart(16);
  });
  const others = Object.entries(row.values)
    .filter(([name]) => !COLUMNS.includes(name))
    .map(([name, value]) => `${name}: ${short(value)}`);
  const { goal } = row;
  const verdict = goal
    ? `${goal.reached <= goal.most ? '✓' : '✗'} ${goal.text} (${goal.reached.toFixed(2)})`
    : '';
  const notes = [verdict, ...others].filter((text) => text !== '').join('; ');
  return `${row.scenario.padEnd(46)}${row.unit.padEnd(20)}${cells.join('')}  ${notes}`;
}

export function heading(): string {
  const columns = COLUMNS.map((name) => name.padStart(16)).join('');
  return `${'scenario'.padEnd(46)}${'unit'.padEnd(20)}${columns}  goal`;
}

/**
 * Saves the results and returns the file. Only a run of all scenarios overwrites the results of the last complete run.
 */
export function save(rows: readonly Row[], seconds: number, whole: boolean): string {
  mkdirSync(results, { recursive: true });
  const file = join(results, whole ? 'latest.json' : 'partial.json');
  const when = new Date().toISOString();
  writeFileSync(file, `${JSON.stringify({ when, machine: machine(), seconds, rows }, null, 2)}\n`);
  if (whole) writeFileSync(join(results, 'chart.svg'), chart(rows));
  return file;
}

const CHARTED = [
  ['unary, 32 connections', 'a request'],
  ['10-event task, 16 connections', 'an event, of 10'],
  ['1,000-event task, 4 connections', 'an event, of 1,000'],
] as const;

/** Draws the CPU time per request and per event. The bars of a group are linear, and the longest one has the full width. */
function chart(rows: readonly Row[]): string {
  const width = 720;
  const left = 150;
  /** Room for the text to the right of the longest bar. */
  const right = 210;
  let y = 52;
  const bars: string[] = [];
  for (const [scenario, label] of CHARTED) {
    const row = rows.find((known) => known.scenario === scenario);
    const base = row?.values['bare'];
    if (!row || base === undefined) continue;
    const longest = Math.max(...Object.values(row.values));
    bars.push(`<text x="${left - 12}" y="${y + 27}" text-anchor="end">${label}</text>`);
    for (const [name, title, colour] of [
      ['bare', 'bare node:http', '#9aa4b2'],
      ['parley', 'Parley', '#2f7d5b'],
      ['sdk', 'the official SDK', '#c77d3a'],
    ] as const) {
      const value = row.values[name];
      if (value === undefined) continue;
      const length = ((value / longest) * (width - left - right)).toFixed(1);
      const text = `${title}: ${short(value)} µs (${(value / base).toFixed(2)}×)`;
      bars.push(
        `<rect x="${left}" y="${y}" width="${length}" height="11" rx="2" fill="${colour}"/>`,
        `<text x="${left + Number(length) + 6}" y="${y + 9.5}" font-size="10.5">${text}</text>`,
      );
      y += 15;
    }
    y += 16;
  }
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${y + 6}" font-family="system-ui, sans-serif" font-size="12" fill="#57606a">
<text x="16" y="24" font-size="14" font-weight="600">CPU time on the server, in one run (linear, each group on its own scale)</text>
${bars.join('\n')}
</svg>
`;
}
