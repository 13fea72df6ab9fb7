import assert from 'node:assert/strict';
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { DatabaseSync } from 'node:sqlite';
import { test, type TestContext } from 'node:test';
import type { TaskEvent, TaskState } from '../protocol/index.ts';
import { createHandler } from '../tasks/handler.ts';
import type { Append } from '../tasks/store/store.ts';
import { StoreError } from '../base/sqlite/index.ts';
import { sqliteStore, type SqliteStoreOptions } from './sqlite.ts';

const scope = { tenant: '', owner: 'alice' };
const where = { ...scope, contextId: 'c' };

/** Closed before their folder is removed. The tests of this file run one after the other. */
const opened: { close(): void }[] = [];

function folder(t: TestContext): string {
  const path = mkdtempSync(join(tmpdir(), 'parley-sqlite-'));
  t.after(() => {
    for (const store of opened.splice(0)) store.close();
    rmSync(path, { recursive: true, force: true });
  });
  return path;
}

function open(path: string, options?: SqliteStoreOptions) {
  const store = sqliteStore(path, options);
  opened.push(store);
  return store;
}

function creation(taskId: string, state: TaskState = 'working'): Append {
  const event: TaskEvent = { kind: 'task', id: taskId, contextId: 'c', status: { state } };
  return { ...where, taskId, expected: 0, entries: [{ seq: 1, event }] };
}

function chunk(taskId: string, expected: number, text: string): Append {
  const artifact = { artifactId: 'a', parts: [{ kind: 'text' as const, text }] };
  const event: TaskEvent = { kind: 'artifact-update', taskId, contextId: 'c', artifact };
  return { ...where, taskId, expected, entries: [{ seq: expected + 1, event }] };
}

/** Runs a program that has `sqliteStore`, the helpers' shapes and the store's path at hand. */
function child(t: TestContext, path: string, program: string, ...flags: string[]): ChildProcess {
  const head = `
    import { writeSync } from 'node:fs';
    import { sqliteStore } from ${JSON.stringify(import.meta.resolve('./sqlite.ts'))};
    const where = ${JSON.stringify(where)};
    const say = (line) => writeSync(1, line + '\\n');
    const store = sqliteStore(${JSON.stringify(path)});
  `;
  const args = [...flags, '--input-type=module', '-e', head + program];
  const started = spawn(process.execPath, args, { stdio: ['pipe', 'pipe', 'inherit'] });
  t.after(() => started.kill('SIGKILL'));
  return started;
}

function linesOf(started: ChildProcess) {
  assert.ok(started.stdout);
  return createInterface({ input: started.stdout })[Symbol.asyncIterator]();
}

async function kill(started: ChildProcess): Promise<void> {
  const closed = once(started, 'close');
  started.kill('SIGKILL');
  await closed;
}

function refusal(path: string): StoreError {
  try {
    sqliteStore(path).close();
  } catch (error) {
    assert.ok(error instanceof StoreError, String(error));
    assert.doesNotMatch(error.message, /\n/);
    assert.ok(error.hint);
    return error;
  }
  return assert.fail('the store was opened');
}

test(
  'the folder is made, and nobody else may read the files',
  { skip: process.platform === 'win32' },
  (t) => {
    const parent = join(folder(t), 'deep', 'down');
    const store = open(join(parent, 'tasks.db'));
    store.append([creation('t1')]);
    const files = readdirSync(parent).toSorted();
    assert.deepEqual(files, ['tasks.db', 'tasks.db-lock', 'tasks.db-shm', 'tasks.db-wal']);
    for (const file of files) assert.equal(statSync(join(parent, file)).mode & 0o777, 0o600, file);
    assert.equal(statSync(parent).mode & 0o777, 0o700);
  },
);

test('an entry that is serialised already is stored as it is, and comes back so', (t) => {
  const store = open(join(folder(t), 'tasks.db'));
  const append = creation('t1');
  const { event } = append.entries[0]!;
  const json = JSON.stringify(event, undefined, 1);
  const entries = [{ seq: 1, event, json }];
  store.append([{ ...append, entries }]);
  assert.deepEqual(store.read('t1', 0, 1), entries);
});

test('kill -9 in the middle of appends leaves everything that was acknowledged, without a gap', async (t) => {
  const path = join(folder(t), 'tasks.db');
  const writer = child(
    t,
    path,
    `
    const ids = ['t0', 't1', 't2', 't3'];
    for (let seq = 1; ; seq++) {
      const batch = ids.map((taskId, at) => {
        const event = seq === 1
          ? { kind: 'task', id: taskId, contextId: 'c', status: { state: 'submitted' } }
          : { kind: 'status-update', taskId, contextId: 'c', final: false, status: { state: seq % 2 ? 'working' : 'input-required' } };
        const messageIds = [taskId + ' message ' + seq];
        return { ...where, taskId, expected: seq - 1, entries: [{ seq, event }], messageIds };
      });
      if (store.append(batch).some((outcome) => outcome !== 'ok')) throw new Error('conflict');
      say(String(seq));
    }`,
  );
  let acknowledged = 0;
  const lines = linesOf(writer);
  while (acknowledged < 500) acknowledged = Number((await lines.next()).value);
  await kill(writer);
  for (let line = await lines.next(); !line.done; line = await lines.next()) {
    acknowledged = Number(line.value);
  }

  const store = open(path);
  const seqs = new Set<number>();
  for (const taskId of ['t0', 't1', 't2', 't3']) {
    const head = store.head(scope, taskId);
    assert.ok(head && head.seq >= acknowledged, `${taskId} is at ${head?.seq}`);
    seqs.add(head.seq);
    const log = store.read(taskId, 0, Infinity);
    assert.equal(log.length, head.seq);
    for (const [at, entry] of log.entries()) assert.equal(entry.seq, at + 1);
    assert.equal(store.findMessage(scope, `${taskId} message ${head.seq}`), taskId);
    assert.equal(store.findMessage(scope, `${taskId} message ${head.seq + 1}`), undefined);
  }
  assert.equal(seqs.size, 1, 'a batch is there as a whole');
  assert.equal(store.list({ ...scope, limit: 10 }).total, 4);
});

test('a second process is refused, and let in when the first was killed', async (t) => {
  const path = join(folder(t), 'tasks.db');
  const holder = child(t, path, `say('open'); process.stdin.resume();`);
  await linesOf(holder).next();
  assert.match(refusal(path).message, /in use by another process/);
  await kill(holder);
  sqliteStore(path).close();
});

test('a second store on the file is refused in the same process, by any name', (t) => {
  const place = folder(t);
  const path = join(place, 'tasks.db');
  const store = open(path);
  symlinkSync(path, join(place, 'other.db'));
  assert.match(refusal(path).message, /in use/);
  assert.match(refusal(join(place, 'other.db')).message, /in use/);
  assert.deepEqual(store.append([creation('t1')]), ['ok']);
  store.close();
  open(path);
});

test('a batch that finds no room is not written at all, and the next succeeds when there is room', (t) => {
  const store = open(join(folder(t), 'tasks.db'), { maxPages: 100 });
  store.append([creation('large'), creation('small')]);
  let seq = 1;
  const text = 'x'.repeat(20_000);
  assert.throws(
    () => {
      for (; seq < 100; seq++) {
        const late = creation(`t${seq}`);
        store.append([{ ...late, messageIds: [`m${seq}`] }, chunk('large', seq, text)]);
      }
    },
    (error) => error instanceof StoreError && error.code === 'full' && /full/.test(error.message),
  );
  assert.ok(seq > 3 && seq < 100);
  assert.equal(store.head(scope, 'large')?.seq, seq);
  assert.equal(store.read('large', 0, 1000).length, seq);
  assert.equal(store.head(scope, `t${seq}`), undefined);
  assert.equal(store.findMessage(scope, `m${seq}`), undefined);
  assert.equal(store.list({ ...scope, limit: 1 }).total, seq + 1);

  assert.equal(store.delete(scope, 'large'), true);
  const again = { ...creation(`t${seq}`), messageIds: [`m${seq}`] };
  assert.deepEqual(store.append([again, chunk('small', 1, text)]), ['ok', 'ok']);
  assert.equal(store.list({ ...scope, limit: 1 }).total, seq + 1);
});

test('an event that has no JSON is refused, and the store goes on', (t) => {
  const store = open(join(folder(t), 'tasks.db'));
  const append = creation('t1');
  const event = { ...append.entries[0]!.event, metadata: { big: 1n } };
  assert.throws(() => store.append([{ ...append, entries: [{ seq: 1, event }] }]), StoreError);
  assert.equal(store.head(scope, 't1'), undefined);
  assert.deepEqual(store.append([append]), ['ok']);
});

test('a database of a newer version is refused and left alone', (t) => {
  const path = join(folder(t), 'tasks.db');
  sqliteStore(path).close();
  const database = new DatabaseSync(path);
  database.exec('PRAGMA user_version = 99');
  database.close();
  const before = readFileSync(path);
  const { message } = refusal(path);
  assert.match(message, /newer Parley \(its schema version is 99, this Parley supports \d+\)/);
  assert.deepEqual(readFileSync(path), before);
});

test("another program's database is refused and left alone", (t) => {
  const path = join(folder(t), 'tasks.db');
  const database = new DatabaseSync(path);
  database.exec('CREATE TABLE tasks (name TEXT)');
  database.close();
  const before = readFileSync(path);
  assert.match(refusal(path).message, /another program/);
  assert.deepEqual(readFileSync(path), before);
});

test('after a restart, a working task was last updated by its last artifact', async (t) => {
  const path = join(folder(t), 'tasks.db');
  const clock = { time: 1000 };
  const now = () => clock.time;
  const first = open(path, { now });
  first.append([creation('t1'), creation('t2')]);
  clock.time = 5000;
  first.append([chunk('t1', 1, 'one'), chunk('t2', 1, 'one')]);
  clock.time = 6000;
  const ended: TaskEvent = {
    kind: 'status-update',
    taskId: 't2',
    contextId: 'c',
    status: { state: 'completed' },
    final: true,
  };
  first.append([{ ...chunk('t2', 2, ''), entries: [{ seq: 3, event: ended }] }]);
  first.close();
  const second = open(path, { now });
  const times = second.unfinished().map(({ taskId, artifactAt }) => [taskId, artifactAt]);
  assert.deepEqual(times, [['t1', 5000]]);
  const handler = createHandler({ async *execute() {} }, { store: second });
  const user = { id: creation('t1').owner };
  assert.equal(await handler.updatedAt({ id: 't1' }, { user }), 5000);
  assert.equal(await handler.updatedAt({ id: 't2' }, { user }), undefined);
});

test('a file that is no database is refused and left alone', (t) => {
  const place = folder(t);
  const path = join(place, 'notes.txt');
  writeFileSync(path, 'Dear diary, today I was nearly taken for a database.\n'.repeat(50));
  const before = readFileSync(path);
  assert.match(refusal(path).message, /notes\.txt is not a database/);
  assert.deepEqual(readFileSync(path), before);
  assert.deepEqual(readdirSync(place), ['notes.txt']);
});

test('a damaged database is refused with one line that names it, wherever the damage is', (t) => {
  // The first damage is in the schema, the second only in the pages of the tables.
  for (const start of [100, 4096]) {
    const path = join(folder(t), 'tasks.db');
    sqliteStore(path).close();
    const bytes = readFileSync(path);
    bytes.fill(0xa5, start);
    writeFileSync(path, bytes);
    assert.match(refusal(path).message, /tasks\.db is (?:damaged|not a database)/);
  }
});

test('an empty file becomes a store', (t) => {
  const path = join(folder(t), 'tasks.db');
  writeFileSync(path, '');
  assert.deepEqual(open(path).append([creation('t1')]), ['ok']);
});

test('a folder in the place of the file is refused', (t) => {
  const path = join(folder(t), 'tasks.db');
  mkdirSync(path);
  assert.match(refusal(path).message, /is a folder/);
});

test('a place that cannot be written to is refused', (t) => {
  const file = join(folder(t), 'file');
  writeFileSync(file, '');
  assert.match(
    refusal(join(file, 'tasks.db')).message,
    /cannot open the database .*file.tasks\.db/,
  );
  if (existsSync('/proc/self')) {
    assert.match(refusal('/proc/nowhere/tasks.db').message, /cannot open the database/);
  }
});

test('a file that cannot be set up is closed again', (t) => {
  const place = folder(t);
  const exec = t.mock.method(DatabaseSync.prototype, 'exec');
  sqliteStore(join(place, 'first.db')).close();
  const last = exec.mock.calls.findIndex(({ arguments: [sql] }) => sql.includes('cache_size'));
  exec.mock.resetCalls();
  exec.mock.mockImplementationOnce(() => {
    throw new Error('no memory');
  }, last);
  assert.throws(() => sqliteStore(join(place, 'second.db')), /no memory/);
  const db = exec.mock.calls[last]?.this;
  assert.ok(db instanceof DatabaseSync);
  assert.equal(db.isOpen, false);
});

test('closing leaves one whole file, and a closed store refuses to write', (t) => {
  const place = folder(t);
  const store = open(join(place, 'tasks.db'));
  store.append([creation('t1')]);
  store.close();
  store.close();
  assert.deepEqual(readdirSync(place).toSorted(), ['tasks.db', 'tasks.db-lock']);
  assert.throws(() => store.append([creation('t2')]), StoreError);
});

test('another program may read while the store is open', (t) => {
  const path = join(folder(t), 'tasks.db');
  const store = open(path);
  store.append([creation('t1')]);
  const reader = new DatabaseSync(path, { readOnly: true });
  assert.deepEqual({ ...reader.prepare('SELECT task_id FROM tasks').get() }, { task_id: 't1' });
  reader.close();
  assert.deepEqual(store.append([creation('t2')]), ['ok']);
});

test('the order of lists survives a clock that was set back before a restart', (t) => {
  const path = join(folder(t), 'tasks.db');
  const store = open(path, { now: () => 5_000_000 });
  store.append([creation('t1'), creation('t2', 'completed')]);
  store.close();
  const again = open(path, { now: () => 1_000_000 });
  again.append([creation('t3')]);
  const { heads } = again.list({ ...scope, limit: 10 });
  assert.deepEqual(
    heads.map(({ taskId }) => taskId),
    ['t3', 't2', 't1'],
  );
  assert.equal(heads[0]?.updatedAt, 5_000_000);
});

test('a page costs the same among many tasks as among few', (t) => {
  const store = open(join(folder(t), 'tasks.db'));
  const fastest = () => {
    let best = Infinity;
    for (let run = 0; run < 30; run++) {
      const start = performance.now();
      store.list({ ...scope, limit: 20 });
      store.list({ ...scope, limit: 20, state: 'failed' });
      best = Math.min(best, performance.now() - start);
    }
    return best;
  };
  const fill = (from: number, to: number) => {
    const batch: Append[] = [];
    for (let n = from; n < to; n++) {
      batch.push(creation(`t${n}`, n % 100 === 0 ? 'submitted' : 'completed'));
    }
    store.append(batch);
  };
  fill(0, 500);
  const few = fastest();
  fill(500, 25_000);
  const many = fastest();
  // Fifty times as many: a walk over all of them would show.
  assert.ok(many < few * 10 + 0.1, `${few} ms among 500 tasks, ${many} ms among 25,000`);
});

test('20,000 finished tasks leave the heap as it was', async (t) => {
  const measured = child(
    t,
    join(folder(t), 'tasks.db'),
    `
    const run = (from, to) => {
      for (let n = from; n < to; n += 20) {
        const ids = Array.from({ length: 20 }, (_, at) => 'task ' + (n + at));
        for (const [at, state] of ['submitted', 'working', 'completed'].entries()) {
          store.append(ids.map((taskId) => ({
            ...where, taskId, expected: at, messageIds: at ? [] : ['message ' + taskId],
            entries: [{ seq: at + 1, event: at
              ? { kind: 'status-update', taskId, contextId: 'c', status: { state }, final: at === 2 }
              : { kind: 'task', id: taskId, contextId: 'c', status: { state } } }],
          })));
        }
      }
      gc(); gc();
      return process.memoryUsage().heapUsed;
    };
    const before = run(0, 1000);
    const after = run(1000, 21000);
    say(String((after - before) / 1024));
    if (store.list({ ...where, contextId: undefined, limit: 1, state: 'completed' }).total !== 21000) throw new Error('tasks are missing');
    store.close();
    `,
    '--expose-gc',
  );
  const growth = Number((await linesOf(measured).next()).value);
  assert.ok(growth < 1024, `the heap grew by ${growth} KiB`);
  const [code] = await once(measured, 'close');
  assert.equal(code, 0);
});
