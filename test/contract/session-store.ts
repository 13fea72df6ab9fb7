/**
 * What every session store promises, as tests. A store's own test file calls `sessionStoreContract` with a way to open a
 * new, empty one.
 */
import assert from 'node:assert/strict';
import { describe, test, type TestContext } from 'node:test';
import type { JsonValue } from '../../src/base/index.ts';
import fc from 'fast-check';
import { createEvent, type Event, type EventFields } from '../../src/agent/event.ts';
import { SessionNotFound, type SessionKey, type SessionStore } from '../../src/agent/session.ts';
import { MAX_ID_LENGTH, StorageError } from '../../src/agent/storage-error.ts';

export interface SessionStoreLimits {
  readonly maxSessionSize?: number;
  readonly now?: () => number;
}

export interface OpenedSessions {
  readonly store: SessionStore;
  /** Closes whatever is open, and removes what is left. */
  readonly dispose: () => Promise<void>;
}

const alice: SessionKey = { app: 'app', user: 'alice', id: 's1' };
const aliceToo: SessionKey = { ...alice, id: 's2' };
const bob: SessionKey = { ...alice, user: 'bob' };
const elsewhere: SessionKey = { ...alice, app: 'other' };

export function say(text: string, fields: EventFields = {}): Event {
  return createEvent(
    { runId: 'run', author: 'agent' },
    { content: { role: 'model', parts: [{ kind: 'text', text }] }, ...fields },
  );
}

export function set(stateDelta: Record<string, JsonValue>): Event {
  return say('sets', { actions: { stateDelta } });
}

export function sessionStoreContract(
  name: string,
  open: (limits?: SessionStoreLimits) => Promise<OpenedSessions>,
): void {
  async function opened(t: TestContext, limits?: SessionStoreLimits): Promise<SessionStore> {
    const { store, dispose } = await open(limits);
    t.after(dispose);
    return store;
  }

  describe(`${name}: sessions`, () => {
    test('a session is made by opening it, with the state given', async (t) => {
      const store = await opened(t, { now: () => 7 });
      const session = await store.open(alice, { city: 'Rome', 'user:name': 'Alice' });
      const expected = {
        ...alice,
        createdAt: 7,
        updatedAt: 7,
        state: { city: 'Rome', 'user:name': 'Alice' },
        events: [],
      };
      assert.deepEqual(session, expected);
      assert.deepEqual(await store.get(alice), expected);
    });

    test('opening one that is there returns it and leaves its state alone', async (t) => {
      const store = await opened(t);
      await store.open(alice, { city: 'Rome' });
      await store.append(alice, [say('hello')]);
      const again = await store.open(alice, { city: 'Paris', 'app:motto': 'new' });
      assert.deepEqual(again.state, { city: 'Rome' });
      assert.equal(again.events.length, 1);
    });

    test('one that was never opened is not there', async (t) => {
      const store = await opened(t);
      assert.equal(await store.get(alice), undefined);
      await assert.rejects(store.append(alice, [say('hello')]), SessionNotFound);
      assert.equal(await store.get(alice), undefined);
    });

    test('the same id under another user or app is another session', async (t) => {
      const store = await opened(t);
      for (const key of [alice, bob, elsewhere]) {
        await store.open(key);
        await store.append(key, [say(`${key.app} ${key.user}`)]);
      }
      for (const key of [alice, bob, elsewhere]) {
        const session = await store.get(key);
        assert.deepEqual(texts(session?.events), [`${key.app} ${key.user}`]);
      }
    });

    test('deleting takes the session with its events and state, and nothing else', async (t) => {
      const store = await opened(t);
      await store.open(alice);
      await store.open(aliceToo);
      await store.append(alice, [set({ own: 1, 'user:name': 'Alice', 'app:motto': 'hi' })]);
      assert.equal(await store.delete(alice), true);
      assert.equal(await store.delete(alice), false);
      assert.equal(await store.get(alice), undefined);
      await assert.rejects(store.append(alice, [say('late')]), SessionNotFound);
      const shared = { 'user:name': 'Alice', 'app:motto': 'hi' };
      assert.deepEqual((await store.get(aliceToo))?.state, shared);
      const again = await store.open(alice);
      assert.deepEqual([again.state, again.events], [shared, []]);
    });

    test('a closed store says so', async (t) => {
      const store = await opened(t);
      await store.open(alice);
      await store.close();
      await store.close();
      await assert.rejects(store.get(alice), isError('closed'));
      await assert.rejects(store.append(alice, [say('late')]), isError('closed'));
    });
  });

  describe(`${name}: appending`, () => {
    test('events come back whole and in order', async (t) => {
      const store = await opened(t);
      await store.open(alice);
      const events = [
        say('one', { branch: 'team.left', usage: { inputTokens: 1, outputTokens: 2 } }),
        say('two', { actions: { escalate: true, transferTo: 'other' } }),
        say('half a pair \ud83d, a zero \0, a line \u2028', { metadata: { deep: [{ a: null }] } }),
      ];
      await store.append(alice, events.slice(0, 2));
      await store.append(alice, events.slice(2));
      assert.deepEqual((await store.get(alice))?.events, events);
    });

    test('an id that was appended counts once, and so does what it sets', async (t) => {
      const store = await opened(t);
      await store.open(alice);
      const first = set({ n: 1 });
      assert.equal(await store.append(alice, [first, first]), 1);
      assert.equal(await store.append(alice, [set({ n: 2 })]), 1);
      assert.equal(await store.append(alice, [first]), 0);
      const session = await store.get(alice);
      assert.equal(session?.events.length, 2);
      assert.deepEqual(session.state, { n: 2 });
    });

    test('the same event id in another session is another event', async (t) => {
      const store = await opened(t);
      await store.open(alice);
      await store.open(bob);
      const event = say('both');
      await store.append(alice, [event]);
      await store.append(bob, [event]);
      assert.equal((await store.get(bob))?.events.length, 1);
    });

    test('partial events and temporary keys are never stored', async (t) => {
      const store = await opened(t);
      await store.open(alice, { 'temp:at-first': 1 });
      await store.append(alice, [
        say('par', { partial: true, actions: { stateDelta: { from: 'partial' } } }),
        set({ 'temp:secret': 1, kept: 2 }),
        set({ 'temp:only': 3 }),
      ]);
      const session = await store.get(alice);
      assert.deepEqual(session?.state, { kept: 2 });
      assert.deepEqual(
        session.events.map(({ actions }) => actions),
        [{ stateDelta: { kept: 2 } }, {}],
      );
    });

    test('concurrent appends keep their order and lose nothing', async (t) => {
      const store = await opened(t);
      await store.open(alice);
      const events = Array.from({ length: 200 }, (_, n) => set({ [`k${n}`]: n, last: n }));
      await Promise.all(events.map((event) => store.append(alice, [event])));
      const session = await store.get(alice);
      assert.deepEqual(
        session?.events.map(({ id }) => id),
        events.map(({ id }) => id),
      );
      assert.equal(session.state['last'], 199);
      assert.equal(Object.keys(session.state).length, 201);
    });

    test('a batch of which one event cannot be stored leaves nothing behind', async (t) => {
      const store = await opened(t);
      await store.open(alice);
      const circular: Record<string, JsonValue> = {};
      circular['self'] = circular;
      const batch = [set({ first: 1, 'user:first': 1 }), say('bad', { metadata: circular })];
      await assert.rejects(store.append(alice, batch), isError('invalid'));
      const session = await store.get(alice);
      assert.deepEqual([session?.state, session?.events], [{}, []]);
    });

    test('a session that is full refuses more and keeps what it has', async (t) => {
      const store = await opened(t, { maxSessionSize: 5_000 });
      await store.open(alice);
      await store.open(bob);
      await store.append(alice, [say('a'.repeat(4_000))]);
      const late = [set({ late: 1 }), say('b'.repeat(4_000))];
      await assert.rejects(store.append(alice, late), isError('full'));
      const session = await store.get(alice);
      assert.equal(session?.events.length, 1);
      assert.deepEqual(session.state, {});
      await store.append(bob, [say('others go on')]);
    });

    test('what was handed in or out cannot be used to change what is stored', async (t) => {
      const store = await opened(t);
      const list = [1, 2];
      await store.open(alice, { list });
      const event = set({ map: { a: 1 }, 'user:list': list });
      const before = structuredClone(event);
      await store.append(alice, [event]);
      const changes: (() => void)[] = [() => list.push(3), () => tamper(event)];
      const shown = await store.get(alice);
      changes.push(() => tamper(shown));
      // A store may freeze what it hands out.
      for (const change of changes) assert.doesNotThrow(() => attempt(change));
      const session = await store.get(alice);
      assert.deepEqual(session?.events, [before]);
      assert.deepEqual(session.state, { list: [1, 2], map: { a: 1 }, 'user:list': [1, 2] });
    });

    test('the last of 20,000 events costs no more than the first', async (t) => {
      const store = await opened(t);
      await store.open(alice);
      const batches = Array.from({ length: 200 }, (_, at) =>
        Array.from({ length: 100 }, (_, n) => set({ [`k${n % 10}`]: at })),
      );
      const times: number[] = [];
      for (const batch of batches) {
        const start = performance.now();
        await store.append(alice, batch);
        times.push(performance.now() - start);
      }
      assert.equal((await store.get(alice))?.events.length, 20_000);
      const early = median(times.slice(10, 60));
      const late = median(times.slice(-50));
      // Copying the session would make it some ten times more.
      assert.ok(late < early * 4 + 2, `from ${early} ms to ${late} ms for 100 events`);
    });
  });

  describe(`${name}: state`, () => {
    test('each scope is shared by exactly those it names', async (t) => {
      const store = await opened(t);
      for (const key of [alice, aliceToo, bob, elsewhere]) await store.open(key);
      await store.append(alice, [set({ own: 1, 'user:name': 2, 'app:motto': 3 })]);
      const state = async (key: SessionKey) => (await store.get(key))?.state;
      assert.deepEqual(await state(alice), { own: 1, 'user:name': 2, 'app:motto': 3 });
      assert.deepEqual(await state(aliceToo), { 'user:name': 2, 'app:motto': 3 });
      assert.deepEqual(await state(bob), { 'app:motto': 3 });
      assert.deepEqual(await state(elsewhere), {});
    });

    test('null removes a key of any scope', async (t) => {
      const store = await opened(t);
      await store.open(alice);
      await store.append(alice, [set({ own: 1, 'user:name': 2, 'app:motto': 3 })]);
      await store.append(alice, [set({ own: null, 'user:name': null, 'app:motto': null })]);
      assert.deepEqual((await store.get(alice))?.state, {});
    });

    test('any string is a key', async (t) => {
      const store = await opened(t);
      await store.open(alice);
      const delta = JSON.parse(
        '{"__proto__": {"a": 1}, "user:__proto__": 2, "": 3, "constructor": 4, "\\ud83d": 5, "\\ud83e": 6}',
      );
      await store.append(alice, [set(delta)]);
      const state = (await store.get(alice))?.state ?? {};
      assert.deepEqual(new Map(Object.entries(state)), new Map(Object.entries(delta)));
      assert.equal('a' in state, false);
    });

    test('the stored state is the fold of the deltas that were appended', async (t) => {
      const store = await opened(t);
      const keys = fc.constantFrom('a', 'b', 'user:a', 'user:b', 'app:a', 'temp:a', '__proto__');
      const value = fc.oneof(fc.constant(null), fc.integer(), fc.constant([{ x: 1 }]));
      const deltas = fc.array(fc.array(fc.tuple(keys, value), { maxLength: 4 }), { maxLength: 6 });
      let runs = 0;
      await fc.assert(
        fc.asyncProperty(deltas, async (list) => {
          const key = { app: `app ${runs++}`, user: 'alice', id: 's1' };
          await store.open(key);
          const expected = new Map<string, JsonValue>();
          for (const entries of list) {
            const delta = Object.fromEntries(entries);
            await store.append(key, [set(delta)]);
            for (const [name, item] of Object.entries(delta)) {
              if (item === null) expected.delete(name);
              else if (!name.startsWith('temp:')) expected.set(name, item);
            }
          }
          const stored = (await store.get(key))?.state ?? {};
          assert.deepEqual(new Map(Object.entries(stored)), expected);
        }),
        { numRuns: 40 },
      );
    });
  });

  describe(`${name}: hostile ids`, () => {
    const strange = [
      '__proto__',
      'constructor',
      'a/b',
      '../../etc',
      'a:b',
      'a","b',
      '%',
      "'; DROP TABLE sessions --",
      'ünï ✓ 🙂',
      ' ',
      'x'.repeat(MAX_ID_LENGTH),
    ];
    test('strange ids are ids like any other', async (t) => {
      const store = await opened(t);
      const keys = strange.flatMap((id) => [
        { app: 'app', user: 'alice', id },
        { app: 'app', user: id, id: 's1' },
        { app: id, user: 'alice', id: 's1' },
      ]);
      for (const key of keys) await store.open(key, { own: JSON.stringify(key) });
      for (const key of keys) {
        const session = await store.get(key);
        assert.deepEqual(session?.state, { own: JSON.stringify(key) });
        assert.equal(session.id, key.id);
      }
    });

    test('ids that would be joined to the same text are different', async (t) => {
      const store = await opened(t);
      await store.open({ app: 'a', user: 'b:c', id: 'd' }, { who: 1 });
      assert.equal(await store.get({ app: 'a:b', user: 'c', id: 'd' }), undefined);
      assert.equal(await store.get({ app: 'a', user: 'b', id: 'c:d' }), undefined);
    });

    for (const [what, id] of [
      ['an empty', ''],
      ['an overlong', 'x'.repeat(10_000)],
      ['a broken', '\ud83d'],
      ['a zero in the', 'a\0b'],
    ] as const) {
      test(`${what} id is refused`, async (t) => {
        const store = await opened(t);
        await store.open(alice);
        for (const key of [
          { ...alice, id },
          { ...alice, user: id },
          { ...alice, app: id },
        ]) {
          await assert.rejects(store.open(key), isError('invalid'));
          await assert.rejects(store.get(key), isError('invalid'));
          await assert.rejects(store.append(key, []), isError('invalid'));
          await assert.rejects(store.delete(key), isError('invalid'));
        }
        await assert.rejects(store.append(alice, [{ ...say('x'), id }]), isError('invalid'));
      });
    }
  });

  describe(`${name}: retention`, () => {
    test('prune removes what has not changed since, of every user of this app alone', async (t) => {
      let now = 1;
      const store = await opened(t, { now: () => now });
      for (const key of [alice, bob, elsewhere]) await store.open(key, { city: 'Rome' });
      for (let count = 0; count < 120; count++) {
        await store.open({ ...bob, id: `more-${count}` });
      }
      await store.open(aliceToo);
      now = 10;
      await store.append(aliceToo, [say('later')]);
      assert.equal(await store.prune?.('app', 10), 122);
      assert.equal(await store.get(alice), undefined);
      assert.deepEqual(await store.list({ app: 'app', user: 'bob' }), []);
      assert.equal((await store.get(aliceToo))?.events.length, 1);
      assert.deepEqual((await store.get(elsewhere))?.state, { city: 'Rome' });
      assert.equal(await store.prune?.('app', 10), 0);
      assert.deepEqual((await store.open(alice)).state, {});
    });
  });

  describe(`${name}: listing`, () => {
    test('lists the sessions of one owner, the latest change first', async (t) => {
      const store = await opened(t, { now: () => 5 });
      for (const id of ['a', 'b', 'c']) await store.open({ ...alice, id });
      await store.open(bob);
      await store.append({ ...alice, id: 'a' }, [say('again')]);
      const owner = { app: 'app', user: 'alice' };
      const listed = await store.list(owner);
      assert.deepEqual(
        listed.map(({ id }) => id),
        ['a', 'c', 'b'],
      );
      assert.deepEqual(listed[0], { ...alice, id: 'a', createdAt: 5, updatedAt: 5 });
    });

    test('pages follow each other without a gap', async (t) => {
      const store = await opened(t);
      const ids = Array.from({ length: 25 }, (_, n) => `s${n}`);
      for (const id of ids) await store.open({ ...alice, id });
      const found: string[] = [];
      for (;;) {
        const before = found.at(-1);
        const page = await store.list(alice, { limit: 10, ...(before && { before }) });
        if (page.length === 0) break;
        found.push(...page.map(({ id }) => id));
      }
      assert.deepEqual(found, ids.toReversed());
    });

    test('a page behind a session that is gone is refused', async (t) => {
      const store = await opened(t);
      await assert.rejects(store.list(alice, { before: 'gone' }), SessionNotFound);
    });

    for (const limit of [0, -1, 1.5, Number.NaN]) {
      test(`a page of ${limit} is refused`, async (t) => {
        const store = await opened(t);
        await assert.rejects(store.list(alice, { limit }), isError('invalid'));
      });
    }
  });
}

export function isError(code: StorageError['code']): (error: unknown) => boolean {
  return (error) => error instanceof StorageError && error.code === code;
}

function texts(events: readonly Event[] = []): string[] {
  return events.map(({ content }) =>
    content?.parts[0]?.kind === 'text' ? content.parts[0].text : '',
  );
}

/** Changes all that can be changed in it. */
function tamper(value: unknown): void {
  if (typeof value !== 'object' || value === null) return;
  for (const child of Object.values(value)) tamper(child);
  attempt(() =>
    Array.isArray(value) ? value.push('changed') : Object.assign(value, { changed: 1 }),
  );
}

function attempt(change: () => unknown): void {
  try {
    change();
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
  }
}

function median(times: readonly number[]): number {
  return times.toSorted((a, b) => a - b)[times.length >> 1] ?? 0;
}
