import assert from 'node:assert/strict';
import type { JsonValue } from '../../base/index.ts';
import { test } from 'node:test';
import { createEvent, type Event } from '../event.ts';
import { memorySessions } from './memory.ts';
import { StorageError } from '../storage-error.ts';

const owner = { app: 'app', user: 'alice' };

function event(stateDelta: Record<string, JsonValue>): Event {
  return createEvent({ runId: 'run', author: 'agent' }, { actions: { stateDelta } });
}

test('beyond the number of sessions, the one that has been quiet longest is forgotten', async () => {
  const store = memorySessions({ maxSessions: 3 });
  for (const id of ['a', 'b', 'c']) await store.open({ ...owner, id });
  await store.append({ ...owner, id: 'a' }, [event({ n: 1 })]);
  await store.open({ ...owner, id: 'd' });
  const listed = await store.list(owner);
  assert.deepEqual(
    listed.map(({ id }) => id),
    ['d', 'a', 'c'],
  );
  assert.equal(await store.get({ ...owner, id: 'b' }), undefined);
});

test('beyond its size the store forgets quiet sessions and keeps the one that is written', async () => {
  const store = memorySessions({ maxSize: 10_000 });
  const text = 'x'.repeat(3_000);
  for (let n = 0; n < 20; n++) {
    await store.open({ ...owner, id: `s${n}` });
    await store.append({ ...owner, id: `s${n}` }, [event({ note: text.slice(0, 1_500) })]);
  }
  const listed = await store.list(owner);
  assert.ok(listed.length >= 2 && listed.length <= 3, `${listed.length} sessions`);
  assert.equal(listed[0]?.id, 's19');
});

test('the state of users is not forgotten: when it leaves no room, an append is refused whole', async () => {
  const store = memorySessions({ maxSize: 5_000 });
  const key = { ...owner, id: 's' };
  await store.open(key);
  const keeps = (name: string) => event({ [`user:${name}`]: 'x'.repeat(1_000) });
  await store.append(key, [keeps('one')]);
  await assert.rejects(
    store.append(key, [event({ own: 1 }), keeps('two'), keeps('three')]),
    (error) => error instanceof StorageError && error.code === 'full',
  );
  const session = await store.get(key);
  assert.deepEqual(Object.keys(session?.state ?? {}), ['user:one']);
  assert.equal(session?.events.length, 1);
});

test('events that were shown before are not parsed again', async () => {
  const store = memorySessions();
  const key = { ...owner, id: 's' };
  await store.open(key);
  await store.append(key, [event({ n: 1 })]);
  const first = await store.get(key);
  await store.append(key, [event({ n: 2 })]);
  const second = await store.get(key);
  assert.equal(first?.events[0], second?.events[0]);
  assert.equal(second?.events.length, 2);
  assert.equal(first?.events.length, 1);
});
