import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { after, describe, test } from 'node:test';
import { postgresStore } from '../../src/store/postgres/postgres-store.ts';
import { sqliteStore } from '../../src/store/sqlite.ts';
import { memoryStore } from '../../src/tasks/store/memory-store.ts';
import { testDatabase } from '../support/postgres.ts';
import { checkAgainstModel } from './task-store-model.ts';
import { taskStoreContract, type OpenedStore } from './task-store/index.ts';

async function inMemory(): Promise<OpenedStore> {
  const store = memoryStore();
  return { store, dispose: async () => store.close() };
}

async function inSqlite(): Promise<OpenedStore> {
  const folder = mkdtempSync(join(tmpdir(), 'parley-store-'));
  const open = () => sqliteStore(join(folder, 'tasks.db'));
  let store = open();
  return {
    store,
    reopen: async () => {
      store.close();
      return (store = open());
    },
    dispose: async () => {
      store.close();
      rmSync(folder, { recursive: true });
    },
  };
}

const database = await testDatabase();
after(() => database.drop());
// The key is random, because deriving a key from a passphrase is slow.
const secretKeyFile = join(mkdtempSync(join(tmpdir(), 'parley-store-')), 'key');
after(() => rmSync(dirname(secretKeyFile), { recursive: true }));

/** The stores share one database, which is emptied after each test. A database of its own would take ten times as long. */
async function inPostgres(): Promise<OpenedStore> {
  const open = () => postgresStore(database.url, { secretKeyFile, poolSize: 2 });
  let store = await open();
  return {
    store,
    reopen: async () => {
      await store.close();
      return (store = await open());
    },
    dispose: async () => {
      await store.close();
      await database.query(EMPTY);
    },
  };
}

const EMPTY = ['scopes', 'tasks', 'events', 'messages', 'counters', 'push', 'dead_letters']
  .map((table) => `DELETE FROM parley.${table}`)
  .join(';');

const STORES = { memory: inMemory, sqlite: inSqlite, postgres: inPostgres };

for (const [name, open] of Object.entries(STORES)) {
  describe(name, () => {
    for (const each of taskStoreContract(open)) test(each.name, each.run);

    test('random calls have the same results as a simple model', async (t) => {
      const { store, dispose } = await open();
      t.after(dispose);
      await checkAgainstModel(store);
    });
  });
}
