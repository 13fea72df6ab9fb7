import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { sqliteStore } from '../../src/store/sqlite.ts';
import { memoryStore } from '../../src/tasks/store/memory-store.ts';
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

for (const [name, open] of Object.entries({ memory: inMemory, sqlite: inSqlite })) {
  describe(name, () => {
    for (const each of taskStoreContract(open)) test(each.name, each.run);

    test('random calls have the same results as a simple model', async (t) => {
      const { store, dispose } = await open();
      t.after(dispose);
      await checkAgainstModel(store);
    });
  });
}
