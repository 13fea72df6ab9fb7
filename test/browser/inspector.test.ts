// The inspector, against our servers of both versions, the servers of both majors of the official SDK, a gateway and a
// hostile agent.
import assert from 'node:assert/strict';
import { after, before, mock, test, type TestContext } from 'node:test';
import type { Locator, Page } from 'playwright-core';
import { temporarySigningKeys } from '../../src/base/signing/index.ts';
import { inspectorServer } from '../../src/cli/commands/inspect.ts';
import { v1 } from '../../src/protocol/index.ts';
import { bearerTokens } from '../../src/server.ts';
import { sendJson, cardOf, startPeer } from '../client/peer.ts';
import { startSdk03 } from '../interop/sdk-03-server.ts';
import { startSdk1 } from '../interop/sdk-1-server.ts';
import { createGates } from '../interop/support.ts';
import { silent } from '../live/support.ts';
import { startGateway } from '../support/gateway.ts';
import { serveClerk } from './operator-support.ts';
import { assertAccessible, DESKTOP, noBrowser, PHONE, thereAre, visit } from './support.ts';

const skip = noBrowser;

// The SDKs write to the console.
before(() => {
  for (const name of ['error', 'warn', 'info'] as const) mock.method(console, name, () => {});
});
after(() => mock.restoreAll());

/** Starts `parley inspect` for this address, and returns its link. */
async function inspect(t: TestContext, url: string): Promise<string> {
  const { server, linkAt } = inspectorServer({ url }, silent);
  const listening = await server.listen(0);
  t.after(() => listening.close(0));
  return linkAt(listening.url);
}

/** The browser itself reports the answers to the checks, which ask for a task that does not exist. */
const unexpected = (trouble: readonly string[]) =>
  trouble.filter((line) => !/status of 404/.test(line));

async function openView(page: Page, name: 'Card' | 'Checks' | 'Send' | 'Requests'): Promise<void> {
  await page
    .getByRole('navigation', { name: 'Views of the agent' })
    .getByRole('link', { name: new RegExp(`^${name}`) })
    .click();
}

/** Waits until the checks are done, and returns each as its sign and its text. */
async function checksOn(page: Page): Promise<string[]> {
  await openView(page, 'Checks');
  await page.getByText(/^(Everything is OK|\d+ (problem|warning)s?)/).waitFor();
  const rows = page.locator('.check-row');
  const signs = await rows.locator('.sign').allTextContents();
  const lines = await rows.locator('.check-line').allTextContents();
  return signs.map((sign, at) => `${sign} ${lines[at]}`);
}

async function choose(page: Page, name: string): Promise<void> {
  const option = page.getByLabel('Interface').locator('option', { hasText: name }).first();
  const value = (await option.getAttribute('value')) ?? '';
  await page.getByLabel('Interface').selectOption(value);
}

/** Streams a message over an interface, and returns the section with the result. */
async function stream(page: Page, name: string, text: string): Promise<Locator> {
  await choose(page, name);
  await page.getByLabel('Message', { exact: true }).fill(text);
  await page.getByRole('button', { name: 'Stream', exact: true }).click();
  const result = page.locator('.call-result').first();
  await result.getByText(name).first().waitFor();
  await result.getByText(/✓ ended|✗ failed/).waitFor();
  assert.equal(await result.getByText('✗ failed').count(), 0, await result.innerText());
  return result;
}

test(
  'the page of a served agent shows what the API says, and replays a stream after any id',
  { skip },
  async (t) => {
    const { url, client } = await serveClerk(t, { signing: temporarySigningKeys() });
    const { page, trouble } = await visit(t, `${url}/console#/inspector`, DESKTOP);
    await page.getByRole('heading', { name: 'Clerk' }).waitFor();
    for (const version of ['1.0', '0.3']) {
      await page.getByLabel(`JSON for ${version}`).check();
      const headers = { 'a2a-version': version };
      const sent: unknown = await (
        await fetch(`${url}/.well-known/agent-card.json`, { headers })
      ).json();
      const shown = await page.locator('.lines').innerText();
      assert.deepEqual(JSON.parse(shown), sent, version);
    }
    const checks = await checksOn(page);
    for (const name of ['1.0 JSONRPC', '1.0 HTTP+JSON', '0.3 JSONRPC', '0.3 HTTP+JSON']) {
      assert.ok(
        checks.some((check) => check.startsWith(`✓ ${name}`) && check.endsWith('responds')),
        name,
      );
    }
    await page
      .getByRole('row', { name: /✓ valid EdDSA/ })
      .first()
      .waitFor();

    await openView(page, 'Send');
    for (const name of ['1.0 JSONRPC', '1.0 HTTP+JSON', '0.3 JSONRPC', '0.3 HTTP+JSON']) {
      const result = await stream(page, name, `hello over ${name}`);
      const { tasks } = await client.list({ pageSize: 1 });
      const [{ id } = { id: '' }] = tasks;
      await result.getByText(id).first().waitFor();
      const log = (await (await fetch(`${url}/tasks/${id}/events`)).json()) as {
        events: { seq: number }[];
      };
      const ids = log.events.map(({ seq }) => `Replay after ${seq}`);
      assert.deepEqual(await result.getByRole('button', { name: /^Replay/ }).allInnerTexts(), ids);
      await result.getByRole('button', { name: 'Replay after 1' }).click();
      const replayed = page.getByRole('region', { name: 'Subscribe to task after 1' }).first();
      await replayed.getByText('last-event-id: 1').waitFor();
      await replayed.getByText('✓ ended').waitFor();
      const again = await replayed.getByRole('button', { name: /^Replay/ }).allInnerTexts();
      assert.deepEqual(again, ids.slice(1), `${name} after 1`);
    }
    const result = page.locator('.call-result').last();
    await result.getByLabel('bytes').check();
    await result.getByText('000000').first().waitFor();
    assert.deepEqual(unexpected(trouble), []);
  },
);

for (const [name, start, interfaces] of [
  ['1.3', startSdk1, ['1.0 JSONRPC', '1.0 HTTP+JSON', '0.3 JSONRPC']],
  ['0.3', startSdk03, ['0.3 JSONRPC', '0.3 HTTP+JSON']],
] as const) {
  test(
    `parley inspect tries every interface of a server of the official SDK ${name}`,
    { skip },
    async (t) => {
      const agent = await start(t, createGates());
      const { page, trouble } = await visit(t, await inspect(t, agent.url), DESKTOP);
      await page.getByRole('heading', { name: 'Theirs' }).waitFor();
      assert.doesNotMatch(page.url(), /ticket/);
      const checks = await checksOn(page);
      for (const each of interfaces) {
        assert.ok(
          checks.some((check) => check.startsWith(`✓ ${each}`)),
          `${each}: ${checks.join('; ')}`,
        );
      }
      if (name === '1.3') {
        // The card requires a token, and the server of the test does not ask for one.
        await page.getByText('Anybody who can reach the agent can use it').waitFor();
      }
      await openView(page, 'Send');
      for (const each of interfaces) {
        const result = await stream(page, each, 'count 3');
        await result.locator('.events summary', { hasText: '3 ' }).first().waitFor();
        // These servers number no events, so there is nothing to replay after.
        await result.getByText('no id').first().waitFor();
      }
      await page.getByLabel('Message', { exact: true }).fill('ping');
      await page.getByRole('button', { name: 'Send', exact: true }).click();
      await page.locator('.call-result').first().getByText('pong').waitFor();
      assert.deepEqual(trouble, []);
    },
  );
}

test('a token is sent to the agent, and neither shown again nor stored', { skip }, async (t) => {
  const { url } = await serveClerk(t, {
    console: false,
    authenticate: bearerTokens(new Map([['ann', 'my-secret-token']])),
  });
  const { page, trouble } = await visit(t, await inspect(t, url), DESKTOP);
  const before = await checksOn(page);
  assert.ok(
    before.some((check) => /^! 1\.0 JSONRPC.*requires credentials/.test(check)),
    before.join('; '),
  );
  await page.getByText('Give a token or a header').first().waitFor();
  await page.locator('.own-headers summary').click();
  await page.getByLabel('Bearer token').fill('my-secret-token');
  await page.getByRole('button', { name: 'Use the token' }).click();
  await page
    .locator('.check-row', { hasText: '1.0 JSONRPC' })
    .getByText('responds')
    .first()
    .waitFor();
  await page.getByLabel('Name of another header').fill('X-Tenant');
  await page.getByLabel('Value').fill('acme');
  await page.getByLabel('secret').uncheck();
  await page.getByRole('button', { name: 'Add the header' }).click();
  await openView(page, 'Send');
  const result = await stream(page, '1.0 JSONRPC', 'hello');
  await result.getByText('authorization: hidden').waitFor();
  await result.getByText('x-tenant: acme').waitFor();
  const kept = await page.evaluate(
    'JSON.stringify([document.documentElement.outerHTML, {...sessionStorage}, {...localStorage}, document.cookie, location.href])',
  );
  assert.doesNotMatch(String(kept), /my-secret-token/);
  assert.deepEqual(trouble, []);
});

test('a card that leads elsewhere is tried only after the person agrees', { skip }, async (t) => {
  const { url } = await serveClerk(t);
  const named = await startPeer(t, (_, response) => {
    sendJson(response, v1.encodeCard(cardOf(url, '1.0')));
  });
  const { page, trouble } = await visit(t, await inspect(t, named.url), DESKTOP);
  const before = await checksOn(page);
  assert.ok(
    before.some((check) => check.endsWith('it is at another origin')),
    before.join('; '),
  );
  await page.getByRole('button', { name: `Allow requests to ${url}` }).click();
  await page.locator('.check-row', { hasText: '1.0 JSONRPC' }).getByText('responds').waitFor();
  assert.deepEqual(trouble, []);
});

test('a hostile agent harms neither the page nor its reader', { skip }, async (t) => {
  const html = '<img src=x onerror=alert(1)><script>alert(2)</script>';
  // Too many levels for JSON.stringify.
  const nested = `${'['.repeat(9000)}${']'.repeat(9000)}`;
  const evil = await startPeer(t, ({ path, verb, body }, response) => {
    if (path.startsWith('/.well-known/jwks.json')) return void response.end('x'.repeat(2 ** 19));
    if (verb === 'GET') {
      return sendJson(response, {
        ...(v1.encodeCard({
          ...cardOf(evil.url, '1.0'),
          name: `${html}\u202egpj`,
          description: html.repeat(50),
          documentationUrl: 'javascript:alert(3)',
          provider: { organization: html, url: 'data:text/html,<script>alert(4)</script>' },
        }) as object),
        signatures: [{ protected: btoa('{"alg":"EdDSA","kid":"<b>k</b>"}'), signature: 'AAAA' }],
      });
    }
    if (body.method === 'GetTask') {
      return void response.writeHead(302, { location: 'http://169.254.169.254/' }).end();
    }
    response.writeHead(200, { 'content-type': 'text/event-stream', 'x-html': '<b>bold</b>' });
    // One write, because the inspector reads no more after the first event.
    response.write(
      `id: ${html}\ndata: ${JSON.stringify({ text: html })}\n\n` +
        `data: {"artifactUpdate":{"artifact":{"parts":${nested}}}}\n\n`,
    );
    // An endless stream of large comments.
    const more = setInterval(() => response.write(`: ${'y'.repeat(200_000)}\n`), 5);
    response.on('close', () => clearInterval(more));
  });
  const { page, trouble } = await visit(t, await inspect(t, evil.url), DESKTOP);
  await page.getByRole('heading', { name: '<script>alert(2)</script>' }).first().waitFor();
  assert.equal(await page.locator('main a[href^="javascript:"], main a[href^="data:"]').count(), 0);
  const checks = await checksOn(page);
  assert.ok(
    checks.some((check) => /^✗ 1\.0 JSONRPC.*redirects/.test(check)),
    checks.join('; '),
  );
  await page.getByText('larger than').first().waitFor();
  await openView(page, 'Send');
  await page.getByLabel('Message', { exact: true }).fill('hello');
  await page.getByRole('button', { name: 'Stream', exact: true }).click();
  await page.getByText('✗ failed').waitFor();
  await page.locator('.events summary', { hasText: '<script>alert(2)</script>' }).first().waitFor();
  await page.getByText('x-html: <b>bold</b>').waitFor();
  await page.locator('.events summary', { hasText: 'artifactUpdate' }).first().click();
  await page.getByText('{"artifactUpdate":{"artifact":{"parts":[[[').first().waitFor();
  assert.deepEqual(trouble, []);
});

test('an address without an agent is explained, with what was received', { skip }, async (t) => {
  const empty = await startPeer(t, (_, response) => response.writeHead(404).end('<h1>no</h1>'));
  const link = await inspect(t, empty.url);
  const { page, trouble } = await visit(t, link, PHONE);
  await page.getByRole('heading', { name: 'There is no agent card at this address' }).waitFor();
  await page.getByRole('link', { name: 'See what was sent and received' }).click();
  await page.locator('.exchange-line', { hasText: '404' }).first().click();
  await page.getByText('<h1>no</h1>').waitFor();
  // The link works once. The tab keeps its access when it is loaded again.
  await page.reload();
  await page.locator('.exchange-line', { hasText: '404' }).first().waitFor();
  const other = await visit(t, link, PHONE);
  await other.page.getByText('This link has already been used, or it has expired.').waitFor();
  await other.page.getByText('parley inspect URL').waitFor();
  await assertAccessible(other.page, 'used link');
  assert.deepEqual(trouble, []);
});

test(
  'a gateway inspects itself and the agents behind it, with the key of the person',
  { skip },
  async (t) => {
    const agent = await serveClerk(t);
    await using gateway = await startGateway({ config: { agents: { clerk: { url: agent.url } } } });
    const { page, trouble } = await visit(t, `${gateway.url}/console#/inspector`, DESKTOP);
    await page.getByLabel('Key').fill(gateway.key());
    await page.getByRole('button', { name: 'Sign in' }).click();
    const choice = page.getByLabel('Agent', { exact: true });
    await choice.locator('option', { hasText: 'clerk' }).waitFor({ state: 'attached' });
    assert.deepEqual(await choice.locator('option').allInnerTexts(), ['This gateway', 'clerk']);
    await choice.selectOption('clerk');
    await page.getByRole('heading', { name: 'Clerk' }).waitFor();
    const checks = await checksOn(page);
    assert.ok(
      checks.some((check) => /^✓ 1\.0 JSONRPC.*responds/.test(check)),
      checks.join('; '),
    );
    await openView(page, 'Send');
    const result = await stream(page, '1.0 JSONRPC', 'hello');
    await result.getByText('authorization: hidden').waitFor();
    const [task] = (await agent.client.list({ pageSize: 1 })).tasks;
    assert.equal(task?.status.state, 'completed');
    assert.deepEqual(unexpected(trouble), []);
  },
);

test(
  'the inspector works with the keyboard alone, and axe finds no serious problem',
  { skip },
  async (t) => {
    const { url } = await serveClerk(t);
    const { page, trouble } = await visit(t, await inspect(t, url), {
      ...DESKTOP,
      colorScheme: 'dark',
    });
    await page.getByRole('heading', { name: 'Clerk' }).waitFor();
    await assertAccessible(page, 'card');
    const tabTo = async (text: string) => {
      for (let presses = 0; presses < 40; presses++) {
        await page.keyboard.press('Tab');
        const focused = await page.evaluate(
          '(document.activeElement.labels?.[0] ?? document.activeElement).textContent',
        );
        if (String(focused).trim() === text) return;
      }
      assert.fail(`${text} has no place in the order of the Tab key`);
    };
    await tabTo('Checks');
    await page.keyboard.press('Enter');
    await page.getByText('Everything is OK.').waitFor();
    await assertAccessible(page, 'checks');
    await page.locator('.own-headers summary').focus();
    await page.keyboard.press('Enter');
    await assertAccessible(page, 'headers');
    await page.keyboard.press('Enter');
    await tabTo('Send');
    await page.keyboard.press('Enter');
    await tabTo('Message');
    await page.keyboard.type('hello');
    await tabTo('Stream');
    await page.keyboard.press('Enter');
    await page.getByText('✓ ended').waitFor();
    await tabTo('Replay after 2');
    await page.keyboard.press('Enter');
    await thereAre(page.locator('.call-result'), 2);
    await page.getByText('✓ ended').nth(1).waitFor();
    await assertAccessible(page, 'send');
    await openView(page, 'Requests');
    // The events of the other view are such entries, too.
    await page
      .locator('summary', { has: page.locator('.exchange-line') })
      .first()
      .focus();
    await page.keyboard.press('Enter');
    await page.getByRole('region', { name: 'Response' }).waitFor();
    await assertAccessible(page, 'requests');
    assert.deepEqual(trouble, []);
  },
);
