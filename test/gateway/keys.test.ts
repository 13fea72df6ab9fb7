// Keys, limits and budgets as a caller of a real gateway meets them.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { test } from 'node:test';
import { exportJWK, generateKeyPair, SignJWT } from 'jose';
import { startGateway } from '../support/gateway.ts';

const hello = { message: { role: 'user', content: 'hello there' } };

const failure = async (response: Response) => {
  const { error, ...rest } = (await response.json()) as { error: string };
  assert.deepEqual(rest, {});
  return [response.status, response.headers.get('retry-after') !== null, error] as const;
};

test('without a key that counts it is 401, on every way in', async () => {
  await using running = await startGateway();
  const secret = running.key();
  for (const wrong of [undefined, 'x', `${secret.slice(0, -4)}AAAA`, 'x'.repeat(10_000)]) {
    assert.equal((await running.ask(wrong, 'POST', '/a2a/tasks/send', hello)).status, 401);
  }
  const both = { 'x-api-key': running.key() };
  assert.equal((await running.ask(secret, 'GET', '/a2a/keys', undefined, both)).status, 401);
  const alone = { 'x-api-key': secret };
  assert.equal((await running.ask(undefined, 'GET', '/a2a/keys', undefined, alone)).status, 200);
});

test('a key that was made over HTTP works until it is revoked over HTTP', async () => {
  await using running = await startGateway();
  const admin = running.key();
  const fields = { name: 'ci', scopes: ['tasks:read', 'tasks:write'] };
  const answer = await running.ask(admin, 'POST', '/a2a/keys', fields);
  assert.deepEqual([answer.status, answer.headers.get('cache-control')], [201, 'no-store']);
  const made = (await answer.json()) as { key: { id: string }; secret: string };
  assert.equal((await running.ask(made.secret, 'POST', '/a2a/tasks/send', hello)).status, 200);
  assert.equal((await running.ask(made.secret, 'GET', '/a2a/keys')).status, 403);
  assert.equal((await running.ask(admin, 'DELETE', `/a2a/keys/${made.key.id}`)).status, 204);
  assert.equal((await running.ask(made.secret, 'POST', '/a2a/tasks/send', hello)).status, 401);
});

test('over its rate a key gets 429 and is told when to come back', async () => {
  await using running = await startGateway({
    config: { keys: { rateLimit: { requestsPerMinute: 1, burst: 2 } } },
  });
  const secret = running.key();
  const get = () => running.ask(secret, 'GET', '/a2a/keys');
  assert.deepEqual([(await get()).status, (await get()).status], [200, 200]);
  assert.deepEqual(await failure(await get()), [429, true, 'Too many requests']);
  assert.equal((await running.ask(running.key(), 'GET', '/a2a/keys')).status, 200);
});

test('a spent budget is 429 before anything begins, and a model without a price is 403', async () => {
  await using running = await startGateway();
  const fields = { workspace: 'default', name: 'b', scopes: ['*' as const] };
  const { key, secret } = running.gateway.keys.create(
    { ...fields, budget: { tokens: 60, period: 'month' } },
    'test',
  );
  assert.equal((await running.ask(secret, 'POST', '/a2a/tasks/send', hello)).status, 200);
  const [refused, retries, words] = await failure(
    await running.ask(secret, 'POST', '/a2a/tasks/send', hello),
  );
  assert.deepEqual([refused, retries], [429, true]);
  // The first answer ended at the budget or a few tokens before it, at the end of a word.
  assert.match(words, /^The budget of this key (?:is used up|has \d+ tokens left) for this month/);
  const usage = await running.ask(secret, 'GET', `/a2a/keys/${key.id}/usage`);
  const { spent, items } = (await usage.json()) as { spent: { tokens: number }; items: object[] };
  assert.ok(spent.tokens >= 60 - 16);
  assert.equal(items.length, 1);

  const money = { amount: 1, currency: 'USD', period: 'total' as const };
  const paying = running.gateway.keys.create({ ...fields, budget: money }, 'test').secret;
  const [status, , message] = await failure(
    await running.ask(paying, 'POST', '/a2a/tasks/send', hello),
  );
  assert.deepEqual(
    [status, message],
    [403, 'This key has a budget in USD, but the model has no price in USD'],
  );
});

test('a JWT is as good as a key, with a budget of its own; while its issuer is down it is 503, and keys go on', async () => {
  const { privateKey, publicKey } = await generateKeyPair('ES256', { extractable: true });
  const jwk = { ...(await exportJWK(publicKey)), kid: 'k1', alg: 'ES256' };
  let down = true;
  const server = createServer((request, response) => {
    response.statusCode = down ? 500 : 200;
    const document = { issuer, jwks_uri: `${issuer}/jwks` };
    response.end(JSON.stringify(request.url === '/jwks' ? { keys: [jwk] } : document));
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const token = await new SignJWT({ workspace: 'team', scope: 'tasks:write tasks:read' })
    .setProtectedHeader({ alg: 'ES256', kid: 'k1' })
    .setIssuer(issuer)
    .setAudience('gateway')
    .setSubject('ann')
    .setExpirationTime('5m')
    .sign(privateKey);
  const config = {
    keys: { oidc: { issuer, audience: 'gateway' } },
    budgets: { subjects: { 'team/ann': { tokens: 60, period: 'day' as const } } },
  };
  try {
    {
      await using running = await startGateway({ config });
      const refused = await running.ask(token, 'POST', '/a2a/tasks/send', hello);
      assert.deepEqual(await failure(refused), [
        503,
        true,
        'Tokens cannot be verified at the moment: try again later',
      ]);
      assert.equal(
        (await running.ask(running.key(), 'POST', '/a2a/tasks/send', hello)).status,
        200,
      );
    }
    down = false;
    await using running = await startGateway({ config });
    const sent = await running.ask(token, 'POST', '/a2a/tasks/send', hello);
    assert.equal(sent.status, 200);
    const { task } = (await sent.json()) as { task: { id: string } };
    assert.equal(
      (await running.ask(running.key('team'), 'GET', `/a2a/tasks/${task.id}`)).status,
      200,
    );
    assert.equal(
      (await running.ask(running.key('other'), 'GET', `/a2a/tasks/${task.id}`)).status,
      404,
    );
    assert.equal((await running.ask(token, 'GET', '/a2a/keys')).status, 403);
    const [refused, retries, words] = await failure(
      await running.ask(token, 'POST', '/a2a/tasks/send', hello),
    );
    assert.deepEqual([refused, retries], [429, true]);
    assert.match(words, /^The budget of this user (?:is used up|has \d+ tokens left) for today/);
    const usage = await running.ask(running.key('team'), 'GET', '/a2a/usage');
    assert.partialDeepStrictEqual(await usage.json(), { items: [{ subject: 'ann', calls: 1 }] });
    const budgets = async (workspace: string) =>
      (await running.ask(running.key(workspace), 'GET', '/a2a/budgets')).json();
    assert.partialDeepStrictEqual(await budgets('team'), {
      items: [{ subject: 'ann', budget: config.budgets.subjects['team/ann'] }],
    });
    assert.deepEqual(await budgets('other'), { items: [] });
  } finally {
    server.closeAllConnections();
    server.close();
  }
});

test('guesses from one address become 429, and a good key from there is served', async () => {
  await using running = await startGateway();
  const secret = running.key();
  const wrong = `${secret.slice(0, -4)}AAAA`;
  const statuses = new Set<number>();
  for (let times = 0; times < 40; times++)
    statuses.add((await running.ask(wrong, 'GET', '/a2a/keys')).status);
  assert.deepEqual([...statuses], [401, 429]);
  assert.equal((await running.ask(secret, 'GET', '/a2a/keys')).status, 200);
});
