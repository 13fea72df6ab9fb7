import assert from 'node:assert/strict';
import { appendFileSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { test, type TestContext } from 'node:test';
import { openHistory } from './prompt-history.ts';

function place(t: TestContext): string {
  const folder = mkdtempSync(path.join(tmpdir(), 'parley-history-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

test('prompts are there in the next session, the same one once', (t) => {
  const folder = path.join(place(t), 'data');
  const history = openHistory(folder);
  for (const prompt of ['one', 'two\nlines', 'two\nlines', 'one']) history.add(prompt);
  assert.deepEqual(openHistory(folder).entries, ['one', 'two\nlines', 'one']);
});

test('lines that are broken are passed over', (t) => {
  const folder = place(t);
  openHistory(folder).add('one');
  appendFileSync(path.join(folder, 'prompts.jsonl'), '"half\n17\n"two"\n');
  assert.deepEqual(openHistory(folder).entries, ['one', 'two']);
});

test('the oldest make room', (t) => {
  const folder = place(t);
  const many = Array.from({ length: 1200 }, (_, index) => `"${index}"\n`).join('');
  writeFileSync(path.join(folder, 'prompts.jsonl'), many);
  const { entries } = openHistory(folder);
  assert.equal(entries.length, 1000);
  assert.equal(entries[0], '200');
});

test('a folder that cannot be written keeps nobody from working', (t) => {
  const folder = place(t);
  writeFileSync(path.join(folder, 'file'), '');
  const history = openHistory(path.join(folder, 'file'));
  history.add('one');
  assert.deepEqual(history.entries, []);
});
