import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after } from 'node:test';
import { memoryArtifacts } from '../../src/agent/artifacts/memory.ts';
import { memorySessions } from '../../src/agent/sessions/memory.ts';
import { postgresArtifacts, postgresSessions } from '../../src/agent/postgres/index.ts';
import { sqliteArtifacts, sqliteSessions } from '../../src/agent/sqlite/index.ts';
import { artifactStoreContract } from './artifact-store.ts';
import { testDatabase } from '../support/postgres.ts';
import { sessionStoreContract } from './session-store.ts';

function onDisk<Store extends { close(): Promise<void> }>(open: (path: string) => Store) {
  const folder = mkdtempSync(join(tmpdir(), 'parley-agent-'));
  const store = open(join(folder, 'agent.db'));
  return {
    store,
    dispose: async () => {
      await store.close();
      rmSync(folder, { recursive: true });
    },
  };
}

function inMemory<Store extends { close(): Promise<void> }>(store: Store) {
  return { store, dispose: () => store.close() };
}

const database = await testDatabase();
after(() => database.drop());

/** The stores share one database, which is emptied after each test. */
async function inPostgres<Store extends { close(): Promise<void> }>(store: Promise<Store>) {
  const opened = await store;
  return {
    store: opened,
    dispose: async () => {
      await opened.close();
      const tables = ['sessions', 'session_events', 'session_state', 'artifacts'];
      await database.query(tables.map((table) => `DELETE FROM parley.${table}`).join(';'));
    },
  };
}

sessionStoreContract('memory', async (limits) => inMemory(memorySessions(limits)));
sessionStoreContract('sqlite', async (limits) => onDisk((path) => sqliteSessions(path, limits)));
sessionStoreContract('postgres', async (limits) =>
  inPostgres(postgresSessions(database.url, { ...limits, poolSize: 2 })),
);
artifactStoreContract('memory', async () => inMemory(memoryArtifacts()));
artifactStoreContract('sqlite', async () => onDisk((path) => sqliteArtifacts(path)));
artifactStoreContract('postgres', async () =>
  inPostgres(postgresArtifacts(database.url, { poolSize: 2 })),
);
