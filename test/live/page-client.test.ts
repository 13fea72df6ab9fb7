// What the page needs of a live session beside what every client has: a short history, paths, and its connection.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { joinLive } from '../../src/live/client/index.ts';
import { bridge, serveSession, Watcher } from './support.ts';

const says = (text: string) => [{ text }];

test('a client that asks for a short history gets the newest messages and the number of the others', async (t) => {
  const { url, live } = await serveSession(t, { script: [says('One.'), says('Two.')] });
  const terminal = new Watcher(live.join({ kind: 'terminal' }));
  for (const [at, prompt] of ['first', 'second'].entries()) {
    await terminal.session.prompt(prompt);
    await terminal.state('completed', at + 1);
  }
  const snapshotWith = async (history?: number) => {
    const session = await joinLive(url, { history });
    t.after(() => session.close());
    return new Watcher(session).until((item) =>
      item.kind === 'snapshot' ? item.snapshot : undefined,
    );
  };
  const whole = await snapshotWith();
  const all = whole.task.history ?? [];
  assert.equal(whole.omitted, undefined);
  assert.ok(all.length >= 3);
  const short = await snapshotWith(1);
  assert.deepEqual(short.task.history, all.slice(-1));
  assert.equal(short.omitted, all.length - 1);
  assert.equal((await snapshotWith(all.length)).omitted, undefined);
});

test('a client that may send prompts completes paths; one that may only watch does not', async (t) => {
  const tokens = [
    { name: 'phone', roles: ['prompt'] as const, token: 'phone-token' },
    { name: 'screen', roles: ['view'] as const, token: 'screen-token' },
  ];
  const files = async (prefix: string) => [`${prefix}.md`];
  const { url } = await serveSession(t, { access: { tokens }, files });
  const join = async (token: string) => {
    const session = await joinLive(url, { token });
    t.after(() => session.close());
    return session;
  };
  assert.deepEqual(await (await join('phone-token')).files?.('no'), ['no.md']);
  await assert.rejects((await join('screen-token')).files!('no'), { kind: 'forbidden' });
  await assert.rejects((await join('phone-token')).files!('x'.repeat(2000)), {
    kind: 'invalidParams',
  });
});

test('a client is told when its connection is lost and when the session continues', async (t) => {
  const { url } = await serveSession(t);
  const way = await bridge(t, url);
  const told: boolean[] = [];
  const back = Promise.withResolvers<void>();
  const session = await joinLive(way.url, {
    retry: { delayMs: 1 },
    onConnection: (connected) => {
      told.push(connected);
      if (connected) back.resolve();
    },
  });
  t.after(() => session.close());
  assert.deepEqual(told, []);
  way.cut();
  await back.promise;
  assert.deepEqual(told, [false, true]);
});
