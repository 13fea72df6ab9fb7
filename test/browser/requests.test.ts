// How often an open page asks the server: rarely while nothing changes, and not at all while the server asks it to wait.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Page } from 'playwright-core';
import { connect } from '../../src/client/index.ts';
import type { Task } from '../../src/protocol/index.ts';
import { startGateway } from '../support/gateway.ts';
import { serveClerk } from './operator-support.ts';
import { DESKTOP, noBrowser, visit } from './support.ts';

const skip = noBrowser;

/** Opens a page whose clock the test moves. */
async function withClock(page: Page) {
  const asked: string[] = [];
  page.on('request', (request) => {
    if (!/\/console/.test(request.url())) asked.push(`${request.method()} ${request.url()}`);
  });
  await page.clock.install();
  return {
    asked,
    /** Lets time pass. A request that is under way ends before the time continues. */
    pass: async (seconds: number) => {
      for (let at = 0; at < seconds; at += 2) {
        await page.clock.runFor(2000);
        await page.waitForLoadState('networkidle');
      }
    },
  };
}

test(
  'an open inbox of many agents and an open task ask at most ten times a minute, and show a change within ten seconds',
  { skip },
  async (t) => {
    const agent = await serveClerk(t);
    const names = ['clerk', 'a', 'b', 'c', 'd', 'e', 'f', 'g'];
    const agents = Object.fromEntries(names.map((name) => [name, { url: agent.url }]));
    await using gateway = await startGateway({ config: { agents } });
    const key = gateway.key();
    const headers = { authorization: `Bearer ${key}` };
    const behind = await connect(`${gateway.url}/agents/clerk/`, { headers });
    const waiting = (await behind.send('ask me')) as Task;
    const { page, trouble } = await visit(t, `${gateway.url}/console#/inbox`, DESKTOP);
    const { asked, pass } = await withClock(page);
    await page.getByLabel('Key').fill(key);
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByRole('link', { name: 'ask me' }).waitFor();
    await pass(20);
    asked.length = 0;
    await pass(60);
    assert.ok(asked.length > 0 && asked.length <= 10, asked.join('\n'));
    await behind.send('ask again');
    asked.length = 0;
    await pass(10);
    await page.getByRole('link', { name: 'ask again' }).waitFor();
    // Lists without tasks are not read, so that a change takes few requests, too.
    assert.ok(asked.length <= 10, asked.join('\n'));
    await page.getByRole('link', { name: 'ask me' }).click();
    await page.getByLabel('Your answer').waitFor();
    await pass(12);
    asked.length = 0;
    await pass(60);
    assert.ok(asked.length > 0 && asked.length <= 10, asked.join('\n'));
    // An answer is read at once.
    await page.getByLabel('Your answer').fill('Oslo');
    await page.getByRole('button', { name: 'Send the answer' }).click();
    await page.clock.resume();
    await page.getByText('The weather in Oslo is fine.').waitFor();
    assert.equal((await behind.get(waiting.id)).status.state, 'completed');
    assert.deepEqual(trouble, []);
  },
);

test(
  'a page whose key has used up its rate limit says so calmly, keeps its list and waits as long as the server asks',
  { skip },
  async (t) => {
    await using gateway = await startGateway();
    const admin = gateway.key();
    const made = await gateway.ask(admin, 'POST', '/a2a/keys', {
      name: 'slow',
      scopes: ['tasks:read', 'tasks:write'],
      rateLimit: { requestsPerMinute: 6, burst: 40 },
    });
    const { secret } = (await made.json()) as { secret: string };
    const headers = { authorization: `Bearer ${secret}` };
    await (await connect(gateway.url, { headers })).send('list');
    const { page } = await visit(t, `${gateway.url}/console#/inbox/done`, DESKTOP);
    const { asked, pass } = await withClock(page);
    await page.getByLabel('Key').fill(secret);
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByRole('link', { name: 'list', exact: true }).waitFor();
    // Another program uses the rest.
    while ((await gateway.ask(secret, 'GET', '/a2a/caller')).ok);
    await page.getByRole('button', { name: 'Refresh' }).click();
    await page.getByRole('status').getByText('The rate limit of this key is used up').waitFor();
    assert.equal(await page.getByRole('alert').count(), 0);
    assert.equal(await page.locator('.task-row').count(), 1);
    asked.length = 0;
    // The bucket has a token every ten seconds.
    await pass(6);
    assert.deepEqual(asked, []);
    await pass(8);
    assert.ok(asked.length > 0);
  },
);
