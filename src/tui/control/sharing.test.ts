import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { LiveClient, LiveSession } from '../../live/client/index.ts';
import { runSharing } from './sharing.ts';

test('a client that is named like the id of another does not keep it from being removed', async () => {
  const client = (id: string, name: string): LiveClient => ({ id, name, kind: 'a2a', roles: [] });
  const clients = [client('a2a-1', 'phone'), client('a2a-2', 'a2a-1'), client('a2a-3', 'phone')];
  const removed: string[] = [];
  const session: Partial<LiveSession> = {
    clients: async () => clients,
    revoke: async (id) => void removed.push(id),
  };
  const run = (wanted: string) =>
    runSharing('clients', ['revoke', wanted], session as LiveSession, {});
  assert.match((await run('a2a-1')).text, /phone was removed/);
  assert.match((await run('phone')).text, /Several clients/);
  assert.deepEqual(removed, ['a2a-1']);
});
