// Many requests at once, with a key whose budget is for one.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startGateway } from '../support/gateway.ts';
import { fakeVendor } from '../support/vendors/server.ts';
import { compatible, says } from './models-support.ts';

/** As many as are waited for while nothing has been counted yet. */
const MOST = 4;

const PLACES = {
  '/v1/chat/completions': { model: 'm', messages: [{ role: 'user', content: 'Weather?' }] },
  '/a2a/tasks/send': { message: { role: 'user', content: 'Weather?' }, metadata: { model: 'm' } },
};

for (const [path, body] of Object.entries(PLACES)) {
  test(`${path}: a hundred at once take no more than a few answers`, async () => {
    await using vendor = await fakeVendor(() => says('Sunny'));
    await using running = await startGateway({
      config: { providers: { p: compatible(vendor.url, { models: ['m'] }) } } as object,
    });
    const budget = { tokens: 1, period: 'total' as const };
    const fields = { workspace: 'default', name: 'one', scopes: ['*' as const], budget };
    const { secret } = running.gateway.keys.create(fields, 'test');
    const answers = await Promise.all(
      Array.from({ length: 100 }, async () => {
        const response = await running.ask(secret, 'POST', path, body);
        return { status: response.status, text: await response.text() };
      }),
    );
    assert.ok(vendor.asked.length >= 1 && vendor.asked.length <= MOST);
    const good = answers.filter(({ text }) => text.includes('Sunny'));
    assert.equal(good.length, vendor.asked.length);
    const others = answers.filter((answer) => !good.includes(answer));
    // A task that was let in before the others began has failed; the rest was not let in.
    assert.ok(
      others.every(({ status, text }) => status === 429 || /budget of this key/.test(text)),
    );
    const last = await running.ask(secret, 'POST', path, body);
    assert.equal(last.status, 429);
    assert.match(await last.text(), /budget of this key is used up/);
  });
}
