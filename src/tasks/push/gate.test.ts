import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { DeliveryOutcome } from './deliver.ts';
import { DeliveryGate } from './gate.ts';

const MB = 1024 * 1024;
const turn = () => new Promise((resolve) => setImmediate(resolve));

/** Requests that hang. `bytes` is the size of their bodies. */
function hanging() {
  const gate = new DeliveryGate(Date.now);
  const open = new Map<string, number>();
  const ends: (() => void)[] = [];
  let bytesInAll = 0;
  async function post(url: string, bytes: number, owner = 'ann', signal = never) {
    return gate.pass(
      { url, owner },
      async (_signal, admit) => {
        await admit(bytes, () => {});
        open.set(url, (open.get(url) ?? 0) + 1);
        bytesInAll += bytes;
        await new Promise<void>((resolve) => ends.push(resolve));
        open.set(url, (open.get(url) ?? 0) - 1);
        bytesInAll -= bytes;
        return 'taken' satisfies DeliveryOutcome;
      },
      signal,
    );
  }
  const count = () => [...open.values()].reduce((sum, each) => sum + each, 0);
  return { post, open, ends, count, bytesInAll: () => bytesInAll };
}

const never = new AbortController().signal;

test('at most 256 requests to webhooks are made at the same time, and 16 to one host', async () => {
  const { post, open, ends, count } = hanging();
  const all: Promise<unknown>[] = [];
  for (let host = 0; host < 20; host++) {
    for (let n = 0; n < 20; n++) all.push(post(`https://host-${host}.example/`, 10));
  }
  await turn();
  assert.equal(count(), 256);
  assert.ok([...open.values()].every((each) => each <= 16));
  while (ends.length > 0) {
    ends.pop()?.();
    await turn();
    assert.ok(count() <= 256);
  }
  await Promise.all(all);
});

test('the ports, schemes and spellings of a host share its limits', async () => {
  const { post, count, bytesInAll } = hanging();
  for (let n = 0; n < 40; n++) void post(`https://host.example:${1000 + n}/`, 100);
  for (const url of ['https://HOST.example/', 'http://host.example/', 'https://host.example./'])
    void post(url, 100);
  await turn();
  assert.equal(count(), 16);
  void post('https://other.example/', 10 * MB);
  void post('https://other.example:8443/', 10 * MB);
  await turn();
  assert.equal(bytesInAll(), 16 * 100 + 10 * MB);
});

test('the bodies of requests that hang are at most 64 MB in all, and 16 MB for one host', async () => {
  const { post, open, ends, bytesInAll } = hanging();
  const all: Promise<unknown>[] = [];
  for (let host = 0; host < 10; host++) {
    for (let n = 0; n < 10; n++) all.push(post(`https://host-${host}.example/`, 9.5 * MB));
  }
  await turn();
  assert.ok(bytesInAll() <= 64 * MB && bytesInAll() > 0);
  assert.ok([...open.values()].every((each) => each === 1));
  // Small bodies do not wait for large ones, not even to a host that has no room for another large one.
  const before = ends.length;
  for (let host = 10; host < 200; host++) all.push(post(`https://host-${host}.example/`, 100));
  all.push(post('https://host-0.example/', 100));
  await turn();
  assert.ok(ends.length >= before + 190);
  while (ends.length > 0) {
    ends.shift()?.();
    await turn();
    assert.ok(bytesInAll() <= 64 * MB);
  }
  await Promise.all(all);
});

test('a body that is larger than the limit is sent, and not together with others to its host', async () => {
  const { post, open, ends } = hanging();
  const url = 'https://host.example/';
  const all = [1 * MB, 200 * MB, 1 * MB].map((bytes) => post(url, bytes));
  const seen: number[] = [];
  for (let n = 0; n < 3; n++) {
    await turn();
    seen.push(open.get(url) ?? 0);
    ends.shift()?.();
  }
  await Promise.all(all);
  assert.deepEqual(seen, [1, 1, 1]);
});

test('an owner whose large bodies hang leaves room for those of others', async () => {
  const { post, open } = hanging();
  void post('https://other.example/', 0.1 * MB, 'bob');
  for (let n = 0; n < 50; n++) void post(`https://host-${n}.example/`, 9.5 * MB);
  await turn();
  void post('https://new.example/', 9.5 * MB, 'cleo');
  await turn();
  assert.equal(open.get('https://new.example/'), 1);
});
