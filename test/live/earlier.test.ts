// What a client that joins gets of the earlier tasks of the conversation.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { joinLive, type LiveSession } from '../../src/live/client/index.ts';
import type { Task } from '../../src/protocol/index.ts';
import { makePlace } from '../coder/support.ts';
import { writes } from '../coder/talk.ts';
import { withLargeTasks } from './earlier-tasks.ts';
import { serveSession, Watcher } from './support.ts';

const snapshotOf = (session: LiveSession) =>
  new Watcher(session).until((item) => (item.kind === 'snapshot' ? item.snapshot : undefined));

const idsIn = (tasks: readonly Task[] = []) =>
  tasks.map(({ history = [] }) => history.map(({ messageId }) => messageId));

test('of earlier tasks that are too large, a client gets the newest messages and the number of the others', async (t) => {
  const { url, live } = await serveSession(t, {
    script: [writes('a.txt', 'A')],
    ...withLargeTasks(makePlace(t)),
  });
  const ann = live.join({ kind: 'terminal', name: 'Ann' });
  const first = await snapshotOf(ann);
  const kept = ['large-2', 'large-3', 'large-4', 'large-5'];
  assert.deepEqual(idsIn(first.earlier), [kept]);
  assert.equal(first.omitted, 5);

  const phone = await joinLive(url, { history: 3 });
  t.after(() => phone.close());
  const short = await snapshotOf(phone);
  assert.deepEqual(idsIn(short.earlier), [kept.slice(1)]);
  assert.equal(short.omitted, 6);

  // The conversation moves on to another task.
  const bob = new Watcher(live.join({ kind: 'a2a', name: 'Bob' }));
  await ann.prompt('write');
  await bob.pending();
  const { taskId } = live;
  await ann.cancel();
  const moved = await bob.until((item) =>
    item.kind === 'snapshot' && item.snapshot.taskId !== taskId ? item.snapshot : undefined,
  );
  assert.equal(moved.omitted, undefined, 'a client that was there has seen all messages');
  const late = await snapshotOf(live.join({ kind: 'a2a', name: 'Late' }));
  assert.deepEqual(
    late.earlier?.map(({ id }) => id),
    ['large', taskId],
  );
  assert.deepEqual([idsIn(late.earlier)[0], late.omitted], [kept, 5]);
});
