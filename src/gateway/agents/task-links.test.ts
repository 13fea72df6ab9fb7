import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { after, test } from 'node:test';
import { AGENTS_SCHEMA, SENDERS_SCHEMA } from '../register/agent-tables.ts';
import { ATTRIBUTION_SCHEMA, BUDGETS_SCHEMA } from '../register/budget-tables.ts';
import { CARDS_SCHEMA } from '../register/card-tables.ts';
import { KEYS_SCHEMA } from '../register/key-tables.ts';
import { openRegister, type SqliteRegister } from '../register/sqlite-register.ts';
import { SecretBox, secretKeys } from '../../store/secrets.ts';
import { createTaskLinks } from './task-links.ts';

const quiet = { debug() {}, info() {}, warn() {}, error() {} };
const DAY_MS = 86_400_000;
const folder = mkdtempSync(path.join(tmpdir(), 'parley-links-'));
after(() => rmSync(folder, { recursive: true }));

const rowsIn = ({ db }: SqliteRegister, table: string) =>
  db.prepare(`SELECT count(*) AS n FROM ${table}`).get()?.['n'];

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
  for (let n = 0; n < 2500; n++) await save(`old ${n}`);
  const { signal } = new AbortController();
  await links.prune(Date.now() + 80 * DAY_MS, signal);
  const counts = () => [rowsIn(register, 'links'), rowsIn(register, 'link_contexts')];
  assert.deepEqual(counts(), [2500, 2500]);
  await links.prune(Date.now() + 100 * DAY_MS, signal);
  assert.deepEqual(counts(), [0, 0]);
  register.close();
});

test('the sender of a message is stored with the link, its headers and metadata only encrypted', async () => {
  const register = openRegister(undefined, quiet);
  const secrets = new SecretBox(secretKeys({ secretKey: 'a secret key' }), Buffer.from('salt'));
  const sender = {
    keyId: 'k1',
    extensions: ['https://e.test/1'],
    headers: { 'x-user': 'ann' },
    metadata: { project: { name: 'planned' } },
  };
  const link = { workspace: 'w', agent: 'a', taskId: 't', contextId: 'c' };
  const remote = { remoteTaskId: undefined, remoteContextId: undefined };
  const links = createTaskLinks({ register, logger: quiet, secrets });
  await links.save({ ...link, ...remote, sender });
  assert.deepEqual(links.sender('w', 'a', 't'), sender);
  assert.equal(links.sender('w', 'a', 'other'), undefined);
  const row = register.db.prepare('SELECT * FROM links').get() ?? {};
  assert.doesNotMatch(JSON.stringify(row) + Buffer.from(row['headers'] as Uint8Array), /ann/);
  assert.doesNotMatch(JSON.stringify(row), /project/);
  const { headers: _, metadata: _metadata, ...rest } = sender;
  const without = createTaskLinks({ register, logger: quiet, secrets: undefined });
  assert.deepEqual(without.sender('w', 'a', 't'), rest);
  register.close();
});

test('a link is found only by its workspace and its agent, before and after it is stored', async () => {
  const register = openRegister(path.join(folder, 'links.db'), quiet);
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

test('a context is found while its link waits to be stored, even if a newer link does not know it', async () => {
  const register = openRegister(undefined, quiet);
  const links = createTaskLinks({ register, logger: quiet, secrets: undefined });
  const link = { workspace: 'w', agent: 'a', contextId: 'c', remoteTaskId: undefined, sender: {} };
  const saved = [
    links.save({ ...link, taskId: 't1', remoteContextId: 'rc' }),
    links.save({ ...link, taskId: 't2', remoteContextId: undefined }),
  ];
  assert.equal(links.context('w', 'a', 'c'), 'rc');
  await Promise.all(saved);
  assert.equal(links.context('w', 'a', 'c'), 'rc');
  register.close();
});

test('a task that has ended without a remote task stores only its context', async () => {
  const register = openRegister(undefined, quiet);
  const links = createTaskLinks({ register, logger: quiet, secrets: undefined });
  const link = { workspace: 'w', agent: 'a', contextId: 'c', remoteContextId: 'rc', sender: {} };
  await links.save({ ...link, taskId: 't1', remoteTaskId: undefined, isOver: true });
  assert.equal(rowsIn(register, 'links'), 0);
  assert.equal(links.context('w', 'a', 'c'), 'rc');
  await links.save({ ...link, taskId: 't2', remoteTaskId: 'r', isOver: true });
  await links.save({ ...link, taskId: 't3', remoteTaskId: undefined });
  assert.equal(links.task('w', 'a', 't2'), 'r');
  assert.deepEqual(links.sender('w', 'a', 't3'), {});
  register.close();
});

test('the contexts in a register of an earlier version are found, the last link of each', () => {
  const file = path.join(folder, 'earlier.db');
  {
    using db = new DatabaseSync(file);
    db.exec([KEYS_SCHEMA, CARDS_SCHEMA, AGENTS_SCHEMA, BUDGETS_SCHEMA].join('\n'));
    db.exec([ATTRIBUTION_SCHEMA, SENDERS_SCHEMA].join('\n'));
    db.exec(`
      PRAGMA application_id = 1349676103; PRAGMA user_version = 4;
      INSERT INTO links (workspace, agent, task_id, context_id, remote_context_id, saved_at) VALUES
        ('w', 'a', 't1', 'c', 'first', 1), ('w', 'a', 't2', 'c', 'second', 2), ('w', 'a', 't3', 'c', NULL, 3),
        ('other', 'a', 't4', 'c', 'theirs', 4);`);
  }
  const register = openRegister(file, quiet);
  const links = createTaskLinks({ register, logger: quiet, secrets: undefined });
  assert.equal(links.context('w', 'a', 'c'), 'second');
  assert.equal(links.context('other', 'a', 'c'), 'theirs');
  register.close();
});
