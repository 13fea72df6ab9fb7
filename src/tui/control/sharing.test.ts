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

test('the connections of one token are one client, and only a token is said to be invalid', async () => {
  const client = (id: string, name: string, token?: string): LiveClient => ({
    id,
    name,
    kind: 'a2a',
    roles: [],
    token,
  });
  const clients = [
    client('a2a-1', 'phone', 'token-1'),
    client('a2a-2', 'phone', 'token-1'),
    client('a2a-3', 'tv', 'token-2'),
    client('a2a-4', 'tv', 'token-3'),
    client('a2a-5', 'script'),
  ];
  const session: Partial<LiveSession> = {
    clients: async () => clients,
    revoke: async () => undefined,
  };
  const run = async (wanted: string) =>
    (await runSharing('clients', ['revoke', wanted], session as LiveSession, {})).text;
  assert.equal(await run('phone'), 'phone was removed. Its token is no longer valid.');
  assert.match(await run('tv'), /Several clients/);
  assert.equal(await run('script'), 'script was removed.');
});
