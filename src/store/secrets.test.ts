import assert from 'node:assert/strict';
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { A2AError } from '../protocol/index.ts';
import type { Append, Logger, PushRecord } from '../tasks/index.ts';
import { SecretBox, secretKeys } from './secrets.ts';
import { sqliteStore, type SqliteStoreOptions } from './sqlite.ts';

/** A folder, and stores in it that are closed before it is removed. */
function place(t: TestContext) {
  const folder = mkdtempSync(join(tmpdir(), 'parley-secrets-'));
  const opened: { close(): void }[] = [];
  t.after(() => {
    for (const store of opened) store.close();
    rmSync(folder, { recursive: true, force: true });
  });
  return {
    folder,
    path: join(folder, 'tasks.db'),
    open: (options: SqliteStoreOptions = {}) => {
      const store = sqliteStore(join(folder, 'tasks.db'), options);
      opened.push(store);
      return store;
    },
  };
}

const creation: Append = {
  tenant: '',
  owner: 'alice',
  taskId: 't1',
  contextId: 'c',
  expected: 0,
  entries: [
    { seq: 1, event: { kind: 'task', id: 't1', contextId: 'c', status: { state: 'working' } } },
  ],
};

const SECRETS = ['tok-3b1f-secret', 'cred-77aa-secret'];
const progress = { cursor: 1, attempts: 0, dueAt: 0 };
const secretHook: PushRecord = {
  taskId: 't1',
  config: {
    id: 'w1',
    url: 'https://example.org/hook',
    token: SECRETS[0],
    authentication: { schemes: ['Bearer'], credentials: SECRETS[1] },
  },
  version: '1.0',
  progress,
};
const plainHook: PushRecord = {
  taskId: 't1',
  config: { id: 'w2', url: 'https://example.org/plain' },
  version: '0.3',
  progress,
};

/** A logger that keeps the errors. */
function recorder() {
  const errors: string[] = [];
  const ignore = () => {};
  const error = (_fields: object, message: string) => void errors.push(message);
  const logger: Logger = { debug: ignore, info: ignore, warn: ignore, error };
  return { errors, logger };
}

for (const secretKey of ['correct horse battery staple', undefined]) {
  test(`secrets of webhooks are encrypted at rest, with ${secretKey ? 'the key of the operator' : 'a key file that is made'}`, (t) => {
    const { folder, open } = place(t);
    const store = open({ secretKey });
    store.append([creation]);
    store.savePush(secretHook);
    const leaked = () => {
      const bytes = readdirSync(folder).map((file) => readFileSync(join(folder, file), 'latin1'));
      return [...SECRETS, 'horse battery'].filter((secret) => bytes.join('').includes(secret));
    };
    assert.deepEqual(leaked(), []);
    assert.deepEqual(store.listPush('t1'), [secretHook]);
    store.close();
    assert.deepEqual(leaked(), []);
    assert.deepEqual(open({ secretKey }).listPush('t1'), [secretHook]);
    assert.equal(readdirSync(folder).includes('tasks.db.key'), secretKey === undefined);
  });
}

test('the key file is made when it is first needed, and only its owner may read it', (t) => {
  const { folder, open } = place(t);
  const secretKeyFile = join(folder, 'home', 'secret.key');
  const store = open({ secretKeyFile });
  store.append([creation]);
  assert.equal(statSync(secretKeyFile, { throwIfNoEntry: false }), undefined);
  store.savePush(secretHook);
  assert.equal(statSync(secretKeyFile).mode & 0o777, 0o600);
});

test('if no key can be made, a webhook with secrets is refused and the log says what to do; others are stored', (t) => {
  const { folder, open } = place(t);
  const secretKeyFile = join(folder, 'a folder');
  mkdirSync(secretKeyFile);
  const { errors, logger } = recorder();
  const store = open({ secretKeyFile, logger });
  store.append([creation]);
  errors.length = 0;
  assert.throws(
    () => store.savePush(secretHook),
    (error) =>
      error instanceof A2AError &&
      error.kind === 'invalidParams' &&
      error.message.includes('PARLEY_SECRET_KEY') &&
      !error.message.includes(folder),
  );
  assert.match(errors.join(), /cannot encrypt .*: set PARLEY_SECRET_KEY, or give this user access/);
  store.savePush(plainHook);
  assert.deepEqual(store.listPush('t1'), [plainHook]);
});

test('a webhook that was stored with another key is left out and logged, and works again with its key', (t) => {
  const { open } = place(t);
  const first = open({ secretKey: 'the key' });
  first.append([creation]);
  first.savePush(secretHook);
  first.close();
  const { errors, logger } = recorder();
  const second = open({ secretKey: 'another key', logger });
  second.savePush(plainHook);
  assert.deepEqual(second.listPush('t1'), [plainHook]);
  assert.match(errors.join(), /^skipped a webhook, because its secrets cannot be read/);
  second.close();
  const both = { secretKey: 'the key', previousSecretKey: 'another key' };
  assert.deepEqual(open(both).listPush('t1'), [secretHook, plainHook]);
});

test('a new key encrypts what older keys have encrypted, which are then not needed any more', (t) => {
  const { folder, open } = place(t);
  const first = open();
  first.append([creation]);
  first.savePush(secretHook);
  first.close();
  const keyFile = join(folder, 'tasks.db.key');
  const ofFile = readFileSync(keyFile, 'utf8');

  writeFileSync(keyFile, `${Buffer.alloc(32, 1).toString('base64')}\n${ofFile}`);
  open().close();
  writeFileSync(keyFile, `${Buffer.alloc(32, 1).toString('base64')}\n`);
  const second = open();
  assert.deepEqual(second.listPush('t1'), [secretHook]);
  second.close();

  open({ secretKey: 'one' }).close();
  rmSync(keyFile);
  open({ secretKey: 'two', previousSecretKey: 'one' }).close();
  assert.deepEqual(open({ secretKey: 'two' }).listPush('t1'), [secretHook]);
});

for (const makes of ['a key file', 'no key file yet']) {
  test(`webhooks of a former key of the operator are encrypted with the file's key (${makes})`, (t) => {
    const { folder, open } = place(t);
    const first = open({ secretKey: 'one' });
    first.append([creation]);
    first.savePush(secretHook);
    first.close();
    const keyFile = join(folder, 'tasks.db.key');
    if (makes === 'a key file') {
      writeFileSync(keyFile, `${Buffer.alloc(32, 1).toString('base64')}\n`);
    }
    open({ previousSecretKey: 'one' }).close();
    assert.deepEqual(open().listPush('t1'), [secretHook], 'the former key is not needed any more');
  });
}

test('a secret of the file is not old because the operator has a former key', (t) => {
  const keyFile = join(place(t).folder, 'key');
  const salt = Buffer.from('salt');
  const sealed = new SecretBox(secretKeys({ secretKeyFile: keyFile }), salt).seal('secret', 'here');
  const keys = secretKeys({ previousSecretKey: 'one', secretKeyFile: keyFile });
  const opened = new SecretBox(keys, salt).openAny(sealed, 'here');
  assert.deepEqual(opened, { text: 'secret', isOld: false });
});

test('what is sealed opens only with its key, in its place, and undamaged', () => {
  const salt = Buffer.from('salt');
  const box = new SecretBox(secretKeys({ secretKey: 'key' }), salt);
  const sealed = box.seal('secret', 'here');
  assert.equal(box.open(sealed, 'here'), 'secret');
  const twin = new SecretBox(secretKeys({ secretKey: 'new', previousSecretKey: 'key' }), salt);
  assert.deepEqual(twin.openAny(sealed, 'here'), { text: 'secret', isOld: true });
  assert.equal(box.open(sealed, 'there'), undefined);
  const salted = new SecretBox(secretKeys({ secretKey: 'key' }), Buffer.from('pepper'));
  assert.equal(salted.open(sealed, 'here'), undefined);
  assert.equal(box.open(sealed.subarray(0, -1), 'here'), undefined);
  assert.equal(box.open(sealed.subarray(0, 20), 'here'), undefined);
  assert.notDeepEqual(box.seal('secret', 'here'), sealed);
});
