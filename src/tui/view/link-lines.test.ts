import assert from 'node:assert/strict';
import { test } from 'node:test';
import { encode } from 'uqr';
import { TERMINAL } from '../../../test/tui/scripted-session.ts';
import { textOfLine } from '../../display/index.ts';
import { entryLines } from './entry-lines.ts';
import * as renderers from './renderers.ts';

const TEXT = 'The traffic is not encrypted. '.repeat(4) + 'It works once:';
/** The longest address in a network with IPv4, as `/remote tls` shows it. */
const LONGEST = 'https://192.168.178.123:41242/#ticket=abcdefghijklmno';
const PUBLIC = 'https://parley.example-company.com/sessions/#ticket=abcdefghijklmno';
/** Rows of the text field and the status line. */
const INPUT = 6;

function shown(url: string, width: number, height: number): string[] {
  const link = { url, code: encode(url, { border: 0 }).data };
  const entry = {
    kind: 'notice',
    id: 1,
    gap: false,
    done: true,
    level: 'info',
    text: TEXT,
    link,
  } as const;
  const view = {
    width,
    height,
    renderers,
    plain: false,
    spinner: '*',
    self: TERMINAL,
    clients: [],
  };
  return entryLines(entry, view).map(textOfLine);
}

const isCode = (line: string) => /[▀▄█]/.test(line);

test('the text is below the code where all fits, and beside it in a terminal of 24 rows', () => {
  const tall = shown(LONGEST, 80, 40);
  assert.ok(tall.findLastIndex(isCode) < tall.findIndex((line) => line.startsWith('· The')));
  const low = shown(LONGEST, 80, 24);
  assert.equal(low.length + INPUT, 24);
  assert.match(low[0]!, /^ +· The traffic/);
  assert.equal(low.at(-1), LONGEST);
  assert.ok(low.every((line) => line.length <= 80));
});

test('a longer link is above its code, so that at most the link and the border leave the screen', () => {
  const lines = shown(PUBLIC, 80, 24);
  assert.equal(lines[0], PUBLIC);
  const seen = lines.slice(lines.length + INPUT - 24);
  assert.equal(seen.filter(isCode).length, lines.filter(isCode).length);
  assert.match(seen[0]!, /· The traffic/, 'the text begins below the border');
});

test('the code is left out where it does not fit', () => {
  assert.ok(!shown(LONGEST, 80, 20).some(isCode));
  assert.ok(!shown(LONGEST, 30, 24).some(isCode));
});
