import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FileChanges } from './file-changes.ts';

const ann = { session: 'ann', runId: 'r1' };
const ben = { session: 'ben', runId: 'r2' };
const done = () => Promise.resolve('done');

function both(): FileChanges {
  const changes = new FileChanges();
  changes.begin(ann);
  changes.begin(ben);
  return changes;
}

test('a session does not write over what another has written since it read', async () => {
  const changes = both();
  changes.saw(ann, 'a.txt', changes.now());
  assert.equal(await changes.change(ben, ['a.txt'], done), 'done');
  await assert.rejects(changes.change(ann, ['a.txt'], done), /another task has changed/);
  changes.saw(ann, 'a.txt', changes.now());
  assert.equal(await changes.change(ann, ['a.txt'], done), 'done');
});

test('what was written during the run counts, though it was never read', async () => {
  const changes = both();
  await changes.change(ben, ['new.txt'], done);
  await assert.rejects(changes.change(ann, ['new.txt'], done), /another task/);
});

test('what was written before the run began does not', async () => {
  const changes = new FileChanges();
  changes.begin(ben);
  await changes.change(ben, ['a.txt'], done);
  changes.begin(ann);
  assert.equal(await changes.change(ann, ['a.txt'], done), 'done');
});

test('of two changes at the same moment, one is made', async () => {
  const changes = both();
  const outcomes = await Promise.allSettled([
    changes.change(ann, ['a.txt', 'b.txt'], done),
    changes.change(ben, ['b.txt'], done),
  ]);
  assert.deepEqual(
    outcomes.map(({ status }) => status),
    ['fulfilled', 'rejected'],
  );
});

test('a change that fails changes nothing in the changes', async () => {
  const changes = both();
  const failing = changes.change(ann, ['a.txt'], () => Promise.reject(new Error('disk full')));
  await assert.rejects(failing, /disk full/);
  assert.equal(await changes.change(ben, ['a.txt'], done), 'done');
});
