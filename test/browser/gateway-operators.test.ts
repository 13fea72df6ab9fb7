// What only operators see, and what no key sees that may not: usage of all workspaces, budgets over time, pages by scope.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import OpenAI from 'openai';
import { SCOPES } from '../../src/gateway/api/caller.ts';
import { startGateway } from '../support/gateway.ts';
import { signIn } from './operator-support.ts';
import { assertAccessible, DESKTOP, noBrowser, tabTo, thereAre, visit } from './support.ts';

const skip = noBrowser;
const pricing = { inputPricePerToken: 0.5, outputPricePerToken: 0.25, currency: 'EUR' };

/** A gateway with usage of two workspaces, and budgets. */
async function twoWorkspaces() {
  const gateway = await startGateway({
    config: {
      models: { priced: { provider: 'offline', pricing } },
      budgets: {
        workspaces: { north: { amount: 1000, currency: 'EUR', period: 'month' } },
        subjects: {
          'north/ann': { tokens: 500, period: 'day' },
          '*': { tokens: 1, period: 'day' },
        },
      },
    },
  });
  const [operator, tenant] = [gateway.key(), gateway.key('north')];
  for (const key of [operator, tenant, tenant]) {
    const openai = new OpenAI({ apiKey: key, baseURL: `${gateway.url}/v1` });
    const messages = [{ role: 'user' as const, content: 'Hello' }];
    await openai.chat.completions.create({ model: 'priced', messages });
  }
  return { gateway, operator, tenant, url: gateway.url };
}

test(
  'an operator compares the workspaces and looks at the budget of one, and a tenant sees no other workspace',
  { skip },
  async (t) => {
    const { gateway, operator, tenant, url } = await twoWorkspaces();
    await using _ = gateway;
    const { page, trouble } = await signIn(t, { url, key: operator, place: 'usage' }, DESKTOP);
    await page.getByRole('heading', { name: 'Usage of the workspace default' }).waitFor();
    await page.getByLabel('Workspace', { exact: true }).selectOption('all workspaces');
    await page.getByRole('heading', { name: 'Usage of all workspaces' }).waitFor();
    const rows = page.getByRole('region', { name: 'Usage in numbers' }).locator('tbody tr');
    await thereAre(rows, 2);
    assert.match(await rows.nth(0).innerText(), /^default\s+1\s/);
    assert.match(await rows.nth(1).innerText(), /^north\s+2\s/);
    await page.getByLabel('Workspace', { exact: true }).selectOption('north');
    await page.getByRole('heading', { name: 'Usage of the workspace north' }).waitFor();
    const budget = page.getByRole('listitem').filter({ hasText: 'The workspace north' });
    const answer = await gateway.ask(tenant, 'GET', '/a2a/budgets');
    const { items } = (await answer.json()) as { items: { spent: { amount: number } }[] };
    const spent = items[0]?.spent.amount.toLocaleString('en-US', { maximumFractionDigits: 6 });
    await budget.getByText(`${spent} of 1,000 EUR`).waitFor();
    const curve = budget.getByRole('img', { name: `Spending of ${spent} EUR` });
    await curve.waitFor();
    assert.match((await curve.getAttribute('aria-label')) ?? '', /budget of 1,000 EUR/);
    const ofUser = page.getByRole('listitem').filter({ hasText: 'The user ann' });
    await ofUser.getByText('0 of 500 tokens (0%)').waitFor();
    await assertAccessible(page, 'usage of a workspace');

    await page.getByRole('button', { name: 'Sign out' }).click();
    const asked: string[] = [];
    page.on('request', (request) => asked.push(request.url()));
    await page.getByLabel('Key').fill(tenant);
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByRole('heading', { name: 'Usage of the workspace north' }).waitFor();
    await page.getByRole('listitem').filter({ hasText: 'The workspace north' }).waitFor();
    assert.equal(await page.getByLabel('Workspace', { exact: true }).count(), 0);
    assert.doesNotMatch(await page.locator('main').innerText(), /default/);
    assert.deepEqual(
      asked.filter((each) => /by=workspace|workspaceId=(?!north)/.test(each)),
      [],
    );
    assert.deepEqual(trouble, []);
  },
);

test(
  'a page that stays open over midnight shows the budget in total until the new day',
  { skip },
  async (t) => {
    await using gateway = await startGateway({
      config: {
        budgets: { workspaces: { default: { tokens: 1000, period: 'total' } } },
      },
    });
    const noon = new Date().setUTCHours(12, 0, 0, 0);
    const tomorrow = new Date(noon + 86_400_000).toISOString().slice(0, 10);
    const { page, trouble } = await visit(t, `${gateway.url}/console#/usage`, DESKTOP);
    await page.clock.install({ time: noon });
    await page.reload();
    await page.getByLabel('Key').fill(gateway.key());
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByRole('img', { name: 'Spending of 0 tokens' }).waitFor();
    const asked = page.waitForRequest(
      (request) =>
        request.url().includes('/a2a/usage?') && request.url().includes(`to=${tomorrow}`),
    );
    await page.clock.fastForward('24:00:00');
    await asked;
    await page.getByRole('img', { name: `Spending of 0 tokens by ${tomorrow}` }).waitFor();
    assert.deepEqual(trouble, []);
  },
);

/** A request that each page makes. The page must be in the navigation exactly if the key may make it. */
const NEEDED = {
  Inbox: ['GET /tasks?pageSize=1', 'GET /a2a/agents'],
  Inspector: ['GET /tasks?pageSize=1', 'GET /a2a/agents'],
  Usage: ['GET /a2a/usage'],
  Activity: ['GET /metrics'],
  Models: ['GET /a2a/model-cards'],
  Agents: ['GET /a2a/agents'],
  Keys: ['GET /a2a/keys'],
  Audit: ['GET /a2a/audit'],
} as const;

test('a key with any one scope sees exactly the pages that it may call', { skip }, async (t) => {
  await using gateway = await startGateway();
  const { page, trouble } = await visit(t, `${gateway.url}/console`, DESKTOP);
  for (const [workspace, scope] of [
    ...SCOPES.map((each) => ['default', each] as const),
    ['team', 'metrics:read'] as const,
  ]) {
    const key = gateway.key(workspace, scope);
    const may = async (request: string) => {
      const [verb = '', path = ''] = request.split(' ');
      const headers = { 'a2a-version': '1.0' };
      return (await gateway.ask(key, verb, path, undefined, headers)).ok;
    };
    const expected: string[] = [];
    for (const [name, requests] of Object.entries(NEEDED)) {
      const answers = await Promise.all(requests.map(may));
      if (answers.includes(true)) expected.push(name);
    }
    await page.getByLabel('Key').fill(key);
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByRole('button', { name: 'Sign out' }).waitFor();
    const links = page.getByRole('navigation', { name: 'Pages' }).getByRole('link');
    assert.deepEqual(await links.allInnerTexts(), expected, scope);
    // The inspector tries on purpose what may be refused.
    for (const name of expected.filter((each) => each !== 'Inspector')) {
      await page.getByRole('link', { name, exact: true }).click();
      await page.locator('h1').waitFor();
    }
    for (const name of Object.keys(NEEDED).filter((each) => !expected.includes(each))) {
      // Not with page.goto: the browser may drop it if the inbox, still loading, replaces its own address just then.
      await page.evaluate(`location.hash = '#/${name.toLowerCase()}'`);
      await page
        .getByText(/^(?:There is no such page for this key|This key may use none)/)
        .waitFor();
    }
    await page.getByRole('button', { name: 'Sign out' }).click();
  }
  // A refused request would be on the browser's console.
  assert.deepEqual(trouble, []);
});

test('each page of the gateway is used with the keyboard alone', { skip }, async (t) => {
  const { gateway, operator, url } = await twoWorkspaces();
  await using _ = gateway;
  const card = { schemaVersion: '1.0', name: 'offline', provider: 'offline', capabilities: [] };
  const body = { name: 'House model', slug: 'house', description: 'Ours', card };
  await gateway.ask(operator, 'POST', '/a2a/model-cards', body);
  const { page, trouble } = await visit(t, `${url}/console#/inbox`, DESKTOP);
  // The field for the key has the focus.
  await page.getByLabel('Key').waitFor();
  await page.keyboard.type(operator);
  await page.keyboard.press('Enter');
  const open = async (name: string) => {
    await page.locator('header.bar').waitFor();
    await page.evaluate('document.activeElement.blur()');
    await tabTo(page, name);
    await page.keyboard.press('Enter');
    await page.locator('main:focus').waitFor();
  };
  await open('Usage');
  await page.getByRole('region', { name: 'Usage in numbers' }).waitFor();
  await tabTo(page, 'Workspace');
  await page.keyboard.type('all');
  await page.getByRole('heading', { name: 'Usage of all workspaces' }).waitFor();
  await tabTo(page, 'Usage in numbers');
  await open('Activity');
  await tabTo(page, 'Requests');
  await open('Models');
  await page.getByRole('link', { name: 'House model' }).waitFor();
  await tabTo(page, 'House model');
  await page.keyboard.press('Enter');
  await page.getByLabel('The card as JSON').waitFor();
  await tabTo(page, 'The card as JSON');
  await page.keyboard.press('Control+A');
  await page.keyboard.insertText(JSON.stringify({ ...body, description: 'By keyboard' }));
  await tabTo(page, 'Save as a new version');
  await page.keyboard.press('Enter');
  await page.getByRole('listitem', { name: 'Version 2' }).waitFor();
  await tabTo(page, 'Compare');
  await page.keyboard.press('Enter');
  await page.locator('.row.added').waitFor();
  await open('Agents');
  await page.getByText('No agents yet').waitFor();
  await open('Keys');
  await page.getByRole('button', { name: 'Edit' }).first().waitFor();
  await tabTo(page, 'New key');
  await page.keyboard.press('Enter');
  await page.locator('input:focus').waitFor();
  await page.keyboard.type('typed');
  await tabTo(page, 'audit:read');
  await page.keyboard.press('Space');
  await tabTo(page, 'Create the key');
  await page.keyboard.press('Enter');
  await page.locator('.secret:focus').waitFor();
  await tabTo(page, 'I have copied it');
  await page.keyboard.press('Enter');
  await page
    .getByRole('row', { name: /^typed/ })
    .getByText('audit:read')
    .waitFor();
  await open('Audit');
  await page.getByRole('region', { name: 'Entries of the audit log' }).waitFor();
  await tabTo(page, 'Action');
  await page.keyboard.type('key.c');
  await page.waitForURL(/action=key\.create/);
  await tabTo(page, 'Who');
  await page.keyboard.type('nobody');
  await page.keyboard.press('Enter');
  await page.getByText('No entry matches the filters.').waitFor();
  assert.deepEqual(trouble, []);
});
