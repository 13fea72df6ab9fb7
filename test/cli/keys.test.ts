// `parley keys` as a real process, also beside a gateway that runs.
import assert from 'node:assert/strict';
import { existsSync, statSync } from 'node:fs';
import path from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { describe, test } from 'node:test';
import keysCommand from '../../src/cli/commands/keys.ts';
import type { Key, MadeKey } from '../../src/gateway/keys/schema.ts';
import { A2AError } from '../../src/protocol/index.ts';
import { assertRefused, type Ended, folder, lines, parley, start } from './support.ts';

let homes = 0;
function home(env: Readonly<Record<string, string>> = {}) {
  const place = path.join(folder, `keys-${(homes += 1)}`);
  const options = { env: { PARLEY_HOME: place, ...env } };
  const keys = (...args: string[]): Promise<Ended> => parley(['keys', ...args], options);
  const made = async (...args: string[]): Promise<MadeKey> => {
    const { code, out, err } = await keys(...args, '--json');
    assert.equal(code, 0, err);
    return JSON.parse(out) as MadeKey;
  };
  return { place, options, keys, made };
}

const SECRET = /parley_[0-9a-f]{12}_[\w-]{43}/;

describe('parley keys', { concurrency: 3 }, () => {
  test('prints a key once, alone on standard output, and never again', async () => {
    const { keys, place } = home();
    const created = await keys('create', '--name', 'night build', '--expires', '30d');
    assert.equal(created.code, 0);
    assert.match(created.out, new RegExp(`^${SECRET.source}\n$`));
    assert.match(created.err, /shown only now.*\n.*Authorization: Bearer/);
    assert.equal(statSync(path.join(place, 'gateway.register.db')).mode & 0o077, 0);

    const { out } = await keys('list');
    assert.doesNotMatch(out, SECRET);
    assert.match(out, /^ID +KEY +STATUS +EXPIRES +LAST USED +BUDGET +SPENT +SCOPES +NAME\n/);
    assert.match(out, /active .*tasks:read tasks:write agents:use cards:read +night build\n$/);
    assert.doesNotMatch((await keys('list', '--json')).out, SECRET);
  });

  test('makes a key with everything that its flags say', async () => {
    const { keys, made } = home();
    const flags = ['--name', 'x', '--workspace', 'team', '--scope', 'tasks:read', '--scope', '*'];
    flags.push('--rate', '30', '--expires', '2099-01-31T00:00:00+01:00', '--budget-tokens', '1000');
    flags.push('--budget-amount', '7.50', '--budget-currency', 'EUR', '--budget-period', 'day');
    const { key } = await made('create', ...flags);
    assert.deepEqual(
      [key.workspaceId, key.scopes, key.expiresAt, key.rateLimit, key.budget],
      [
        'team',
        ['tasks:read', '*'],
        '2099-01-30T23:00:00.000Z',
        { requestsPerMinute: 30 },
        { tokens: 1000, amount: 7.5, currency: 'EUR', period: 'day' },
      ],
    );
    const [listed, ...others] = lines((await keys('list', '--workspace', 'team', '--json')).out);
    assert.deepEqual([listed, others], [{ ...key, spent: { tokens: 0, amount: 0 } }, []]);
    assert.match(
      (await keys('list', '--workspace', 'team')).out,
      / 1,000 tokens, 7\.5 EUR \(day\) +0 tokens, 0 EUR +tasks:read/,
    );
    assert.match(
      (await keys('list')).err,
      /no keys in the workspace default\. To create one: .* --name NAME/,
    );
    const elsewhere = await keys('list', '--workspace', 'other');
    assert.match(elsewhere.err, /workspace other\. .* --name NAME --workspace other/);
  });

  test('changes the settings that its flags name, and keeps the others', async () => {
    const { keys, made } = home();
    const budget = ['--budget-tokens', '1000', '--budget-period', 'day'];
    const { key } = await made('create', '--name', 'ci', '--rate', '30', ...budget);
    const flags = ['--budget-tokens', '5000', '--expires', '2099-01-31T00:00:00Z', '--name', 'cd'];
    const raised = await keys('set', key.id, ...flags);
    assert.match(raised.out, /\(cd\) is changed/);
    const [listed] = lines((await keys('list', '--json')).out);
    const changed = { name: 'cd', expiresAt: '2099-01-31T00:00:00.000Z' };
    const spent = { tokens: 0, amount: 0 };
    assert.deepEqual(listed, {
      ...key,
      ...changed,
      budget: { tokens: 5000, period: 'day' },
      spent,
    });
    const removed = ['--no-budget', '--rate', 'none', '--expires', 'never'];
    const { out } = await keys('set', key.id, ...removed, '--json');
    const { budget: _budget, rateLimit: _rateLimit, ...plain } = key;
    assert.deepEqual(JSON.parse(out), { key: { ...plain, name: 'cd' } });
    assertRefused(await keys('set', key.id), 2, /needs a setting/);
    assertRefused(await keys('set', 'none', '--name', 'x'), 1, /no such key/);
  });

  test('keeps the burst of a key whose rate it changes, up to the new rate', async () => {
    const { made, place } = home();
    const { key } = await made('create', '--name', 'ci', '--rate', '100');
    {
      using register = new DatabaseSync(path.join(place, 'gateway.register.db'));
      const limit = JSON.stringify({ requestsPerMinute: 100, burst: 40 });
      register.prepare('UPDATE api_keys SET rate_limit = ? WHERE id = ?').run(limit, key.id);
    }
    const rateAfter = async (rate: string) =>
      (await made('set', key.id, '--rate', rate)).key.rateLimit;
    assert.deepEqual(await rateAfter('60'), { requestsPerMinute: 60, burst: 40 });
    assert.deepEqual(await rateAfter('30'), { requestsPerMinute: 30, burst: 30 });
  });

  test('changes the currency of the amount that a key has, with and without a number of tokens', async () => {
    const { made } = home();
    const { key } = await made('create', '--name', 'ci', '--budget-amount', '20');
    assert.deepEqual(key.budget, { amount: 20, currency: 'USD', period: 'month' });
    const euro = await made('set', key.id, '--budget-currency', 'EUR', '--budget-tokens', '5');
    assert.deepEqual(euro.key.budget, { amount: 20, currency: 'EUR', period: 'month', tokens: 5 });
    const pound = await made('set', key.id, '--budget-currency', 'GBP', '--budget-period', 'day');
    assert.deepEqual(pound.key.budget, { amount: 20, currency: 'GBP', period: 'day', tokens: 5 });
  });

  test('rotates with an overlap, and revokes', async () => {
    const { keys, made } = home();
    const { key, secret } = await made('create', '--name', 'ci');
    const rotated = await made('rotate', key.id, '--overlap', '24h');
    assert.equal(rotated.key.id, key.id);
    assert.notEqual(rotated.secret, secret);
    const overlap =
      Date.parse(rotated.key.overlapEndsAt ?? '') - Date.parse(rotated.key.rotatedAt ?? '');
    assert.equal(overlap, 86_400_000);
    assert.match((await keys('revoke', key.id)).out, /\(ci\) is revoked/);
    const [listed] = lines((await keys('list', '--json')).out) as unknown as Key[];
    assert.equal(listed?.status, 'revoked');
    assertRefused(await keys('rotate', key.id), 1, /The key is revoked: create a new one/);
  });

  test('refuses in one line what cannot be, and leaves nothing behind', async () => {
    const { keys, place } = home();
    const create = (...args: string[]) => keys('create', '--name', 'x', ...args);
    assertRefused(await keys(), 2, /needs an action: create, list, set, rotate, revoke/);
    assertRefused(await keys('creat'), 2, /did you mean parley keys create\?/);
    assertRefused(await keys('create'), 2, /needs --name/);
    assertRefused(await keys('rotate'), 2, /parley keys rotate needs ID/);
    assertRefused(
      await create('--expires', 'soon'),
      2,
      /--expires soon: use days, for example 30d/,
    );
    assertRefused(await create('--rate', '0'), 2, /--rate 0/);
    assertRefused(await create('--budget-amount', '-1'), 2, /--budget-amount/);
    assertRefused(
      await create('--budget-period', 'day'),
      2,
      /--budget-period needs --budget-tokens or --budget-amount/,
    );
    for (const tokens of [[], ['--budget-tokens', '5']]) {
      assertRefused(
        await create('--budget-currency', 'EUR', ...tokens),
        2,
        /--budget-currency needs --budget-amount/,
      );
    }
    assertRefused(
      await create('--budget-tokens', '5', '--budget-period', 'week'),
      2,
      /use one of day, month/,
    );
    assertRefused(
      await create('--store', 'memory'),
      2,
      /cannot access the keys of a gateway with --store memory/,
    );
    assertRefused(await keys('list'), 2, /there is no gateway register at .*gateway\.register\.db/);
    assert.equal(existsSync(place), false);
    assertRefused(await create('--scope', 'tasks:fly'), 2, /: --scope: one of tasks:read/);
    assertRefused(await create('--workspace', '../x'), 2, /: --workspace: up to 64 letters/);
    const past = '2020-01-31T00:00:00Z';
    assertRefused(await create('--expires', past), 2, /: --expires: must be in the future/);
    assertRefused(
      await create('--budget-amount', '5', '--budget-currency', 'euro'),
      2,
      /: --budget-currency: three letters/,
    );
    assertRefused(await create('--budget-amount', '9999999'), 2, /: --budget-amount: /);
    assertRefused(await keys('rotate', 'x', '--overlap', '31d'), 2, /: --overlap: /);
    assertRefused(await keys('create', '--name', ' '), 2, /: --name: must not be empty/);
    assertRefused(await keys('revoke', 'none'), 1, /no such key: parley keys list/);
    // The error of the gateway is the cause of the error that is printed.
    const inThisProcess = keysCommand('parley keys', ['revoke', 'none'], { PARLEY_HOME: place });
    await assert.rejects(inThisProcess, ({ cause }) => cause instanceof A2AError);
  });

  test('shows help with an example for each action', async () => {
    const { keys } = home();
    assert.match((await keys('--help')).out, /parley keys rotate ID/);
    for (const action of ['create', 'list', 'rotate', 'revoke']) {
      const { code, out } = await keys(action, '--help');
      assert.equal(code, 0);
      assert.match(out, new RegExp(`Examples\n  parley keys ${action}`));
    }
  });

  test("takes the coding agent's PARLEY_WORKSPACE for no workspace of a gateway", async () => {
    const { made } = home({ PARLEY_WORKSPACE: '/home/ann/project' });
    assert.equal((await made('create', '--name', 'x')).key.workspaceId, 'default');
  });

  test('takes no setting of a key from the environment', async () => {
    const { made, keys } = home({
      PARLEY_NAME: 'ann',
      PARLEY_SCOPE: '*',
      PARLEY_EXPIRES: '1d',
      PARLEY_RATE: '1',
      PARLEY_BUDGET_TOKENS: '5',
      PARLEY_NO_BUDGET: '1',
    });
    assertRefused(await keys('create'), 2, /needs --name/);
    const { key } = await made('create', '--name', 'ci');
    const changed = await made('set', key.id, '--rate', '60');
    const { rateLimit, ...rest } = changed.key;
    assert.deepEqual([rateLimit, rest], [{ requestsPerMinute: 60 }, key]);
    for (const action of ['create', 'set']) {
      const { out } = await keys(action, '--help');
      assert.match(
        out,
        /^Only --store and --json can be set in the environment, for example PARLEY_STORE for --store\.$/m,
      );
    }
  });

  test('makes no key under another PARLEY_SECRET_KEY than those that are there', async () => {
    const { made, options } = home();
    const { key } = await made('create', '--name', 'x');
    const other = { env: { ...options.env, PARLEY_SECRET_KEY: 'correct horse' } };
    const create = () => parley(['keys', 'create', '--name', 'y'], other);
    assertRefused(
      await create(),
      2,
      /another PARLEY_SECRET_KEY or pepper file: set PARLEY_SECRET_KEY to the value that the gateway has/,
    );
    assert.match((await parley(['keys', 'list'], other)).out, / unusable /);
    await parley(['keys', 'revoke', key.id], other);
    assert.equal((await create()).code, 0);
  });
});

test('a gateway that runs sees with its next request what parley keys did', async () => {
  const { made, keys, options } = home();
  const { key, secret } = await made('create', '--name', 'first', '--scope', '*');
  const gateway = start(['gateway', '--port', '0', '--json'], options);
  const [line] = await gateway.saying(/.*\n/);
  const { url } = JSON.parse(line) as { url: string };
  const status = async (token: string) => {
    const headers = { authorization: `Bearer ${token}` };
    return (await fetch(`${url}/a2a/keys`, { headers })).status;
  };
  assert.equal(await status(secret), 200);
  const other = await made('create', '--name', 'reader', '--scope', 'tasks:read');
  assert.equal(await status(other.secret), 403);
  const rotated = await made('rotate', key.id, '--overlap', '1h');
  assert.deepEqual([await status(secret), await status(rotated.secret)], [200, 200]);
  await keys('revoke', key.id);
  assert.deepEqual([await status(secret), await status(rotated.secret)], [401, 401]);
  gateway.child.kill('SIGTERM');
  assert.equal((await gateway.ended).code, 0);
});
