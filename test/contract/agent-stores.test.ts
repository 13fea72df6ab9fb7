import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { memoryArtifacts } from '../../src/agent/artifacts/memory.ts';
import { memorySessions } from '../../src/agent/sessions/memory.ts';
import { sqliteArtifacts, sqliteSessions } from '../../src/agent/sqlite/index.ts';
import { artifactStoreContract } from './artifact-store.ts';
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

sessionStoreContract('memory', async (limits) => inMemory(memorySessions(limits)));
sessionStoreContract('sqlite', async (limits) => onDisk((path) => sqliteSessions(path, limits)));
artifactStoreContract('memory', async () => inMemory(memoryArtifacts()));
artifactStoreContract('sqlite', async () => onDisk((path) => sqliteArtifacts(path)));
