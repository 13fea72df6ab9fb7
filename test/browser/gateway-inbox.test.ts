// The gateway's pages: signing in with a key that only the page's memory has, and the tasks of the gateway and its agents.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { connect } from '../../src/client/index.ts';
import type { Task } from '../../src/protocol/index.ts';
import { startGateway } from '../support/gateway.ts';
import { movable, serveClerk, signIn } from './operator-support.ts';
import { DESKTOP, noBrowser, PHONE, thereAre, visit } from './support.ts';

const skip = noBrowser;

test(
  'a person signs in at the gateway with a key, which is in no storage, and sees the tasks of its agents',
  { skip },
  async (t) => {
    const agent = await serveClerk(t);
    await using gateway = await startGateway({ config: { agents: { clerk: { url: agent.url } } } });
    const key = gateway.key();
    const headers = { authorization: `Bearer ${key}` };
    const itself = await connect(gateway.url, { headers });
    const behind = await connect(`${gateway.url}/agents/clerk/`, { headers });
    await itself.send('list');
    const asked = (await behind.send('ask me')) as Task;
    await behind.send('hello there');
    const { page, trouble } = await visit(t, `${gateway.url}/console`, DESKTOP);
    await page.getByLabel('Key').fill('parley_wrong');
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByText('The server does not accept this key.').waitFor();
    // The list of keys shortens them so. A header cannot have this character.
    await page.reload();
    await page.getByLabel('Key').fill('parley_6e949fe29302…');
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByText('The server does not accept this key.').waitFor();
    await page.getByLabel('Key').fill(key);
    await page.getByLabel('Key').press('Enter');
    await page.getByRole('link', { name: 'ask me' }).waitFor();
    const stored = await page.evaluate('JSON.stringify([{...sessionStorage}, {...localStorage}])');
    assert.equal(stored, '[{},{}]');
    await page.getByRole('button', { name: 'Answer' }).click();
    await page.getByLabel('Your answer').fill('Oslo');
    await page.getByRole('button', { name: 'Send the answer' }).click();
    await page.getByText('Nothing needs you.').waitFor();
    assert.equal((await behind.get(asked.id)).status.state, 'completed');
    await page.getByRole('link', { name: /^Done/ }).click();
    await page.getByRole('link', { name: 'list', exact: true }).waitFor();
    await page.getByRole('link', { name: 'hello there' }).waitFor();
    assert.equal(await page.locator('.task-row').count(), 3);
    await page.getByLabel('Agent').selectOption('clerk');
    await thereAre(page.locator('.task-row'), 2);
    await page.getByLabel('Agent').selectOption('the gateway itself');
    await thereAre(page.locator('.task-row'), 1);
    await page.reload();
    await page.getByLabel('Key').waitFor();
    assert.deepEqual(trouble, []);
  },
);

test('an agent that is removed while the inbox is open leaves it', { skip }, async (t) => {
  const { url } = await serveClerk(t);
  await using gateway = await startGateway({
    config: { agents: { clerk: { url } } },
    allowNetworks: ['127.0.0.0/8'],
  });
  const key = gateway.key();
  await gateway.ask(key, 'POST', '/a2a/agents?verify=false', { name: 'guest', url });
  for (const name of ['clerk', 'guest']) {
    const headers = { authorization: `Bearer ${key}` };
    const client = await connect(`${gateway.url}/agents/${name}/`, { headers });
    await client.send(`hello ${name}`);
  }
  const { page } = await signIn(t, { url: gateway.url, key, place: 'inbox' }, DESKTOP);
  await page.getByRole('link', { name: 'hello guest' }).waitFor();
  await gateway.ask(key, 'DELETE', '/a2a/agents/guest');
  await page.getByRole('button', { name: 'Refresh' }).click();
  await page.getByRole('link', { name: 'hello guest' }).waitFor({ state: 'detached' });
  await page.getByRole('link', { name: 'hello clerk' }).waitFor();
  await thereAre(page.getByRole('alert'), 0);
});

test('a key sees only the pages that it may call', { skip }, async (t) => {
  await using gateway = await startGateway();
  const { page } = await visit(t, `${gateway.url}/console#/inbox`, PHONE);
  await page.getByLabel('Key').fill(gateway.key('default', 'cards:write'));
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.getByText('This key may use none of the pages').waitFor();
  assert.equal(await page.getByRole('navigation').getByRole('link').count(), 0);
});

test(
  'a store that is unavailable is named, and the page continues when it is back',
  { skip },
  async (t) => {
    const { store, take, bring } = movable();
    const { url, client } = await serveClerk(t, { store });
    await client.send('hello there');
    const { page } = await visit(t, `${url}/console#/inbox`, PHONE);
    await page.getByRole('link', { name: 'hello there' }).waitFor();
    take();
    await page.getByRole('button', { name: 'Refresh' }).click();
    await page.getByRole('alert').getByText('The server or its store is unavailable').waitFor();
    // What was loaded stays on the page.
    assert.equal(await page.locator('.task-row').count(), 1);
    await page.reload();
    await page.getByRole('heading', { name: 'The server or its store is unavailable' }).waitFor();
    bring();
    await page.getByRole('button', { name: 'Try again' }).click();
    await page.getByRole('link', { name: 'hello there' }).waitFor();
  },
);
