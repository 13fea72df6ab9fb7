import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createFactPrinter } from './fact-printer.ts';

test('a file in the answer is named on a line of its own', (t) => {
  const written = t.mock.method(process.stdout, 'write', () => true);
  const printer = createFactPrinter();
  printer.print({ kind: 'text', text: 'Here:' });
  printer.print({ kind: 'file', file: { bytes: 'AAEC', mimeType: 'image/png', name: 'a.png' } });
  printer.print({ kind: 'text', text: 'a dot.' });
  const text = written.mock.calls.map(({ arguments: [piece] }) => String(piece)).join('');
  written.mock.restore();
  assert.equal(text, 'Here:\n[a.png, image/png, 3 bytes]\na dot.');
});
