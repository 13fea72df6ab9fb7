import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Ledger } from './ledger.ts';

const ann = { session: 'ann', runId: 'r1' };
const ben = { session: 'ben', runId: 'r2' };
const done = () => Promise.resolve('done');

function both(): Ledger {
  const ledger = new Ledger();
  ledger.begin(ann);
  ledger.begin(ben);
  return ledger;
}

test('a session does not write over what another has written since it read', async () => {
  const ledger = both();
  ledger.saw(ann, 'a.txt', ledger.now());
  assert.equal(await ledger.change(ben, ['a.txt'], done), 'done');
  await assert.rejects(ledger.change(ann, ['a.txt'], done), /another task has changed/);
  ledger.saw(ann, 'a.txt', ledger.now());
  assert.equal(await ledger.change(ann, ['a.txt'], done), 'done');
});

test('what was written during the run counts, though it was never read', async () => {
  const ledger = both();
  await ledger.change(ben, ['new.txt'], done);
  await assert.rejects(ledger.change(ann, ['new.txt'], done), /another task/);
});

test('what was written before the run began does not', async () => {
  const ledger = new Ledger();
  ledger.begin(ben);
  await ledger.change(ben, ['a.txt'], done);
  ledger.begin(ann);
  assert.equal(await ledger.change(ann, ['a.txt'], done), 'done');
});

test('of two changes at the same moment, one is made', async () => {
  const ledger = both();
  const outcomes = await Promise.allSettled([
    ledger.change(ann, ['a.txt', 'b.txt'], done),
    ledger.change(ben, ['b.txt'], done),
  ]);
  assert.deepEqual(
    outcomes.map(({ status }) => status),
    ['fulfilled', 'rejected'],
  );
});

test('a change that fails changes nothing in the ledger', async () => {
  const ledger = both();
  const failing = ledger.change(ann, ['a.txt'], () => Promise.reject(new Error('disk full')));
  await assert.rejects(failing, /disk full/);
  assert.equal(await ledger.change(ben, ['a.txt'], done), 'done');
});
