import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import type { Part } from '../../protocol/index.ts';
import { StoredText, type Unsent } from './stored-text.ts';

const letters = fc.stringMatching(/^[ab]{0,4}$/);
const file: Part = { kind: 'file', file: { bytes: 'aGk=' } };

/** What a client has after the chunks of a function that runs again, and the text that was sent to it again. */
function runAgain(before: string, chunks: readonly (string | Part)[]) {
  const stored = new StoredText(before);
  let parts: readonly Part[] = [{ kind: 'text', text: before }];
  let sent = '';
  let comparing = true;
  const take = (unsent: Unsent | undefined) => {
    if (!unsent) return;
    comparing = false;
    parts = unsent.append ? [...parts, ...unsent.parts] : unsent.parts;
    sent += textIn(unsent.parts);
  };
  for (const chunk of chunks) {
    const part: Part = typeof chunk === 'string' ? { kind: 'text', text: chunk } : chunk;
    take(comparing ? stored.unsent(part) : { parts: [part], append: true });
  }
  if (comparing) take(stored.end());
  return { parts, text: textIn(parts), sent };
}

function textIn(parts: readonly Part[]): string {
  return parts.map((part) => (part.kind === 'text' ? part.text : '#')).join('');
}

test('in the end, the client has the text of the function that ran last, whatever was stored', () => {
  fc.assert(
    fc.property(letters, fc.array(fc.oneof(letters, fc.constant(file))), (before, chunks) => {
      const whole = chunks.map((chunk) => (typeof chunk === 'string' ? chunk : '#')).join('');
      const { text, sent } = runAgain(before, chunks);
      assert.equal(text, whole === '' ? before : whole);
      if (whole.startsWith(before)) assert.equal(sent, whole.slice(before.length));
    }),
    { numRuns: 1000 },
  );
});

test('a function that ends after the same text gets an empty last chunk', () => {
  const stored = new StoredText('same');
  assert.equal(stored.unsent({ kind: 'text', text: 'same' }), undefined);
  assert.deepEqual(stored.end(), { parts: [{ kind: 'text', text: '' }], append: true });
});

test('a function that ends without any text keeps the stored text', () => {
  assert.equal(new StoredText('kept').end(), undefined);
});

test('a part with other fields than its text is not joined with the stored text', () => {
  const typed = { kind: 'text', text: 'b', mediaType: 'text/markdown' } as Part;
  assert.deepEqual(runAgain('a', ['a', typed, 'c']).parts, [
    { kind: 'text', text: 'a' },
    typed,
    { kind: 'text', text: 'c' },
  ]);
  assert.deepEqual(runAgain('b', [typed]).parts, [typed]);
});

test('only an artifact with a single text can be continued', () => {
  const task = (...parts: Part[]) => ({
    kind: 'task' as const,
    id: 't',
    contextId: 'c',
    status: { state: 'working' as const },
    artifacts: [{ artifactId: 'response', parts }],
  });
  const text: Part = { kind: 'text', text: 'a' };
  assert.ok(StoredText.of(task(text), 'response'));
  assert.equal(StoredText.of(task(text), 'other'), undefined);
  assert.equal(StoredText.of(task(text, file), 'response'), undefined);
  assert.equal(StoredText.of(task({ ...text, metadata: { a: 1 } }), 'response'), undefined);
});
