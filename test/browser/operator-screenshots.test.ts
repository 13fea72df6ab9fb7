// Draws the pictures of the operator's pages. Runs only with PARLEY_SCREENSHOTS=1, which writes them to docs/images.
import { test, type TestContext } from 'node:test';
import { temporarySigningKeys } from '../../src/base/signing/index.ts';
import { inspectorServer } from '../../src/cli/commands/inspect.ts';
import { connect } from '../../src/client/index.ts';
import { EXTENSION_URI } from '../../src/protocol/development-tool/index.ts';
import type { Task } from '../../src/protocol/index.ts';
import { startGateway } from '../support/gateway.ts';
import { makePlace, startCoder } from '../coder/support.ts';
import { silent } from '../live/support.ts';
import { DRAWS, LOOKS, serveClerk, shoot } from './operator-support.ts';
import { noBrowser, PHONE, visit } from './support.ts';

const skip = DRAWS ? noBrowser : 'only draws pictures';

/** A gateway with prices, an agent, keys with budgets, a card and usage. */
async function furnished(t: TestContext) {
  const agent = await serveClerk(t);
  const price = (input: number, output: number) => ({
    provider: 'offline',
    pricing: { inputPricePerToken: input, outputPricePerToken: output, currency: 'EUR' },
  });
  const gateway = await startGateway({
    config: {
      models: {
        fast: price(0.0001, 0.0004),
        careful: price(0.0004, 0.0016),
        translator: price(0.0002, 0.0008),
      },
      agents: { clerk: { url: agent.url }, archive: { url: 'http://127.0.0.1:1' } },
      budgets: {
        workspaces: { default: { amount: 10, currency: 'EUR', period: 'month' } },
        subjects: { 'default/ann@example.com': { tokens: 100_000, period: 'day' } },
      },
    },
  });
  t.after(() => gateway[Symbol.asyncDispose]());
  const key = gateway.key();
  const made = async (body: object) => {
    const response = await gateway.ask(key, 'POST', '/a2a/keys', body);
    return ((await response.json()) as { secret: string }).secret;
  };
  const budgets = { search: 4, support: 2, nightly: 0.6 };
  const scopes = ['tasks:read', 'tasks:write'];
  const secrets: string[] = [];
  for (const [name, amount] of Object.entries(budgets)) {
    secrets.push(
      await made({ name, scopes, budget: { amount, currency: 'EUR', period: 'month' } }),
    );
  }
  const calls = [
    ['fast', 0, 9],
    ['fast', 1, 4],
    ['careful', 0, 5],
    ['translator', 2, 6],
  ] as const;
  for (const [model, which, count] of calls) {
    for (let at = 0; at < count; at++) {
      await gateway.ask(secrets[which], 'POST', '/a2a/tasks/send', {
        message: { role: 'user', content: 'Summarize the report of the third quarter' },
        metadata: { model },
      });
    }
  }
  const others = { research: 3, support: 8 };
  for (const [workspace, count] of Object.entries(others)) {
    const other = gateway.key(workspace);
    for (let at = 0; at < count; at++) {
      await gateway.ask(other, 'POST', '/a2a/tasks/send', {
        message: { role: 'user', content: 'Translate the letter' },
        metadata: { model: 'translator' },
      });
    }
  }
  const card = { schemaVersion: '1.0', name: 'offline', provider: 'offline', capabilities: [] };
  const body = { name: 'House model', slug: 'house', description: 'Our default model', card };
  const created = await gateway.ask(key, 'POST', '/a2a/model-cards', body);
  const { id } = (await created.json()) as { id: string };
  const limits = { ...card, maxOutputTokens: 4096 };
  await gateway.ask(key, 'PUT', `/a2a/model-cards/${id}`, { ...body, card: limits });
  const headers = { authorization: `Bearer ${key}` };
  const behind = await connect(`${gateway.url}/agents/clerk/`, { headers });
  for (const text of ['ask me about the weather', 'fail now', 'hello there']) {
    await behind.send(text);
  }
  return { url: gateway.url, key, card: id };
}

test('the pictures of the gateway', { skip }, async (t) => {
  const { url, key, card } = await furnished(t);
  for (const [device, look] of LOOKS) {
    const { page } = await visit(t, `${url}/console`, device);
    await page.getByLabel('Key').waitFor();
    await shoot(page, 'sign-in', look);
    await page.getByLabel('Key').fill(key);
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByRole('link', { name: 'ask me about the weather' }).waitFor();
    await page.goto(`${url}/console#/inbox/done`);
    await page.getByRole('link', { name: 'hello there' }).waitFor();
    await page.getByRole('link', { name: 'Summarize the report' }).first().waitFor();
    await shoot(page, 'inbox', look);
    for (const [place, ready] of [
      ['usage', '.curve canvas'],
      ['activity', '.numbers'],
      ['keys', '.numbers'],
      ['agents', '.numbers'],
      ['audit', '.numbers tbody tr'],
      [`models/${card}`, '.task-row'],
    ] as const) {
      await page.goto(`${url}/console#/${place}`);
      await page.locator(ready).first().waitFor();
      await shoot(page, place.replace(/\/.*/, ''), look);
      if (place !== 'usage') continue;
      await page.evaluate("document.getElementById('budgets').scrollIntoView()");
      await shoot(page, 'budgets', look);
      await page.getByLabel('Workspace', { exact: true }).selectOption('all workspaces');
      await page.getByRole('heading', { name: 'Usage of all workspaces' }).waitFor();
      await page.getByRole('rowheader', { name: 'research' }).waitFor();
      await shoot(page, 'workspaces', look);
    }
  }
});

test('the pictures of a task', { skip }, async (t) => {
  const place = makePlace(t);
  const { url } = await startCoder(t, place, {
    script: [
      [
        { call: { name: 'list_directory', args: {} } },
        { call: { name: 'write_file', args: { path: 'notes.md', content: '# Notes\n\nhello\n' } } },
      ],
      [{ text: 'I have written **notes.md**.' }],
    ],
    server: { console: true },
  });
  const client = await connect(url);
  const { id } = (await client.send('write a file', { extensions: [EXTENSION_URI] })) as Task;
  const { page: first } = await visit(t, `${url}/console#/tasks/${id}`, PHONE);
  const allow = first.getByRole('button', { name: 'Allow once' }).and(first.locator(':enabled'));
  await allow.waitFor();
  await allow.click();
  await first.getByText('I have written').waitFor();
  for (const [device, look] of LOOKS) {
    const { page } = await visit(t, `${url}/console#/tasks/${id}?view=timeline`, device);
    await page.getByRole('row', { name: /notes\.md/ }).waitFor();
    await shoot(page, 'timeline', look);
    await page.goto(`${url}/console#/tasks/${id}`);
    await page.getByText('I have written').waitFor();
    await shoot(page, 'task', look);
  }
});

test('the pictures of the inspector', { skip }, async (t) => {
  const { url } = await serveClerk(t, {
    signing: temporarySigningKeys(),
    card: {
      provider: { organization: 'Example', url: 'https://example.com' },
      capabilities: { streaming: true, pushNotifications: true, extendedAgentCard: true },
      security: [{ bearer: [] }],
      securitySchemes: {},
    },
  });
  const { server, linkAt } = inspectorServer({ url }, silent);
  const listening = await server.listen(0);
  t.after(() => listening.close(0));
  for (const [device, look] of LOOKS) {
    const { page } = await visit(t, linkAt(listening.url), device);
    const view = (name: RegExp) => page.getByRole('link', { name }).click();
    await page.getByRole('heading', { name: 'Clerk' }).waitFor();
    await view(/^Checks/);
    await page.getByRole('heading', { name: 'Signatures' }).waitFor();
    await shoot(page, 'inspector-checks', look);
    await view(/^Card/);
    await shoot(page, 'inspector-card', look);
    await view(/^Send/);
    await page.getByLabel('Message', { exact: true }).fill('hello there');
    await page.getByRole('button', { name: 'Stream', exact: true }).click();
    await page.getByText('✓ ended').waitFor();
    await page.locator('.events summary').nth(2).click();
    await shoot(page, 'inspector-send', look);
    await view(/^Requests/);
    await page.locator('.exchange-line').first().waitFor();
    await shoot(page, 'inspector-requests', look);
  }
});
