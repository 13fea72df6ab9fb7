import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openRegister } from '../register/sqlite-register.ts';
import { SecretBox, secretKeys } from '../../store/secrets.ts';
import { createTaskLinks } from './task-links.ts';

const quiet = { debug() {}, info() {}, warn() {}, error() {} };
const DAY_MS = 86_400_000;

test('old links are removed however many there are, and young ones stay', async () => {
  const register = openRegister(undefined, quiet);
  const links = createTaskLinks({ register, logger: quiet, secrets: undefined });
  const save = (taskId: string) =>
    links.save({
      taskId,
      workspace: 'w',
      agent: 'a',
      contextId: `context of ${taskId}`,
      remoteTaskId: 'theirs',
      remoteContextId: 'theirs',
      sender: {},
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

test('the sender of a message is stored with the link, and forwarded headers only encrypted', async () => {
  const register = openRegister(undefined, quiet);
  const secrets = new SecretBox(secretKeys({ secretKey: 'a secret key' }), Buffer.from('salt'));
  const sender = { keyId: 'k1', extensions: ['https://e.test/1'], headers: { 'x-user': 'ann' } };
  const link = { workspace: 'w', agent: 'a', taskId: 't', contextId: 'c' };
  const remote = { remoteTaskId: undefined, remoteContextId: undefined };
  const links = createTaskLinks({ register, logger: quiet, secrets });
  await links.save({ ...link, ...remote, sender });
  assert.deepEqual(links.sender('w', 'a', 't'), sender);
  assert.equal(links.sender('w', 'a', 'other'), undefined);
  const row = register.db.prepare('SELECT * FROM links').get() ?? {};
  assert.doesNotMatch(JSON.stringify(row) + Buffer.from(row['headers'] as Uint8Array), /ann/);
  const { headers: _, ...rest } = sender;
  const without = createTaskLinks({ register, logger: quiet, secrets: undefined });
  assert.deepEqual(without.sender('w', 'a', 't'), rest);
  register.close();
});

test('a link is found only by its workspace and its agent, before and after it is stored', async () => {
  const register = openRegister(undefined, quiet);
  const links = createTaskLinks({ register, logger: quiet, secrets: undefined });
  const ids = { taskId: 't', contextId: 'c', remoteTaskId: 'r', remoteContextId: 'rc' };
  const saved = links.save({ ...ids, workspace: 'w', agent: 'a', sender: { keyId: 'k' } });
  const found = (workspace: string, agent: string) => [
    links.task(workspace, agent, 't'),
    links.context(workspace, agent, 'c'),
    links.sender(workspace, agent, 't'),
  ];
  const check = () => {
    assert.deepEqual(found('w', 'a'), ['r', 'rc', { keyId: 'k' }]);
    assert.deepEqual(found('other', 'a'), [undefined, undefined, undefined]);
    assert.deepEqual(found('w', 'other'), [undefined, undefined, undefined]);
  };
  check();
  await saved;
  check();
  register.change(() => links.forget('other', 'a'));
  register.change(() => links.forget('w', 'other'));
  check();
  register.change(() => links.forget('w', 'a'));
  assert.deepEqual(found('w', 'a'), [undefined, undefined, undefined]);
  register.close();
});
