import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openRegister } from '../register/register.ts';
import { createTaskLinks } from './task-links.ts';

const quiet = { debug() {}, info() {}, warn() {}, error() {} };
const DAY_MS = 86_400_000;

test('old links are removed however many there are, and young ones stay', async () => {
  const register = openRegister(undefined, quiet);
  const links = createTaskLinks({ register, logger: quiet });
  const save = (taskId: string) =>
    links.save({
      taskId,
      workspace: 'w',
      agent: 'a',
      contextId: `context of ${taskId}`,
      remoteTaskId: 'theirs',
      remoteContextId: 'theirs',
    });
  await Promise.all(Array.from({ length: 2500 }, (_, n) => save(`old ${n}`)));
  const { signal } = new AbortController();
  await links.prune(Date.now() + 80 * DAY_MS, signal);
  const count = () => register.db.prepare('SELECT count(*) AS n FROM links').get()?.['n'];
  assert.equal(count(), 2500);
  await links.prune(Date.now() + 100 * DAY_MS, signal);
  assert.equal(count(), 0);
  register.close();
});
