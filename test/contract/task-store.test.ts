import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { memoryStore } from '../../src/tasks/memory-store.ts';
import { sqliteStore } from '../../src/store/sqlite.ts';
import { taskStoreContract } from './task-store.ts';

taskStoreContract('memory', async () => {
  const store = memoryStore();
  return { store, dispose: async () => store.close() };
});

taskStoreContract('sqlite', async () => {
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
});
