import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { test, type TestContext } from 'node:test';
import { runTogether } from '../../../test/support/processes.ts';
import { mcpLogins } from './mcp-logins.ts';

const URL = 'https://mcp.example/';
const login = (name: string) => ({
  client: { client_id: name },
  discovery: { authorizationServerUrl: 'https://auth.example/' },
});

async function folder(t: TestContext): Promise<string> {
  const dataFolder = await mkdtemp(path.join(tmpdir(), 'parley-logins-'));
  t.after(() => rm(dataFolder, { recursive: true, force: true }));
  return dataFolder;
}

test('when several processes refresh a login, each sees the changes of the others', async (t) => {
  const dataFolder = await folder(t);
  const logins = mcpLogins('server', URL, { dataFolder });
  await logins.update(async () => login('0'));
  await runTogether(
    3,
    `
    const { mcpLogins } = await import('${path.join(import.meta.dirname, 'mcp-logins.ts')}');
    const logins = mcpLogins('server', '${URL}', { dataFolder: ${JSON.stringify(dataFolder)} });
    await start();
    for (let at = 0; at < 5; at += 1) {
      await logins.update(async (login) => ({
        ...login,
        client: { client_id: String(Number(login.client.client_id) + 1) },
      }));
    }`,
  );
  assert.equal((await logins.load())?.client.client_id, '15');
});

test('a login that is removed while it is refreshed stays removed', async (t) => {
  const logins = mcpLogins('server', URL, { dataFolder: await folder(t) });
  await logins.update(async () => login('old'));
  const { promise: answered, resolve: answer } = Promise.withResolvers<void>();
  const refreshed = logins.update(async () => {
    await answered;
    return login('new');
  });
  const removed = logins.remove();
  answer();
  await refreshed;
  assert.equal(await removed, true);
  assert.equal(await logins.load(), undefined);
});
