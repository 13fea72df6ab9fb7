import assert from 'node:assert/strict';
import { test } from 'node:test';
import { toolContext } from '../../../test/support/tool-context.ts';
import { anthropic } from '../../../test/support/vendors/anthropic.ts';
import { google } from '../../../test/support/vendors/google.ts';
import { openai } from '../../../test/support/vendors/openai.ts';
import { fakeVendor } from '../../../test/support/vendors/server.ts';
import { SOURCE } from '../../../test/support/vendors/wire.ts';
import { ModelError, RichResponse, type Usage } from '../../agent/index.ts';
import { resolveModel } from '../../agent/models/resolve.ts';
import { offlineModel } from '../../agent/models/offline.ts';
import { webSearchTool } from './web-search.ts';

for (const wire of [google, anthropic, openai]) {
  const { model: name, search } = wire;
  test(`${name} searches with the search of its provider, and the pages are citations`, async () => {
    await using vendor = await fakeVendor([{ events: search!.events }]);
    const model = resolveModel(name, { env: wire.env(vendor.url, 'k') });
    assert.equal(model.searchesWeb, true);
    const used: Usage[] = [];
    const tool = webSearchTool({
      modelOf: () => model,
      used: (_, usage) => void used.push(usage),
      failed: () => assert.fail(),
    });
    const response = await tool.run({ query: 'weather in Paris' }, toolContext());
    assert(response instanceof RichResponse);
    assert.deepEqual(response.response, { answer: 'It is sunny.', sources: [SOURCE] });
    assert.deepEqual(response.display, {
      text: `${SOURCE.title}: ${SOURCE.url}`,
      citations: [SOURCE],
    });
    assert.equal(used.length, 1);
    const body = Object(vendor.asked[0]?.body);
    assert.partialDeepStrictEqual(body.tools, [search!.tool]);
    assert.equal(body.tools.length, 1, 'no other tools');
    assert.match(JSON.stringify(body), /weather in Paris/);
  });

  test(`${name}: only addresses of web pages are citations`, async () => {
    for (const url of [
      'javascript:alert(1)',
      'file:///etc/passwd',
      `https://a/${'x'.repeat(5000)}`,
    ]) {
      const text = JSON.stringify(search!.events).replaceAll(SOURCE.url, url);
      const events = JSON.parse(text) as NonNullable<typeof search>['events'];
      await using vendor = await fakeVendor([{ events }]);
      const model = resolveModel(name, { env: wire.env(vendor.url, 'k') });
      const tool = webSearchTool({ modelOf: () => model, used() {}, failed: () => assert.fail() });
      const response = await tool.run({ query: 'weather in Paris' }, toolContext());
      assert(response instanceof RichResponse);
      assert.deepEqual(response.display, { text: 'no pages were found', citations: [] });
    }
  });

  test(`${name}: what the provider says about a failed search stays here`, async () => {
    await using vendor = await fakeVendor([
      { status: 400, body: wire.error(400, 'account 4711 refused') },
    ]);
    const model = resolveModel(name, { env: wire.env(vendor.url, 'k') });
    const failures: unknown[] = [];
    const tool = webSearchTool({
      modelOf: () => model,
      used: assert.fail,
      failed: (failure) => void failures.push(failure),
    });
    await assert.rejects(Promise.resolve(tool.run({ query: 'x' }, toolContext())), {
      message: 'the search failed: try again later, or use fetch_url',
    });
    assert.match(String(failures[0]), /4711/);
  });
}

test('an answer that is interrupted is not reported as a timeout', async () => {
  const failures: unknown[] = [];
  const tool = webSearchTool({
    modelOf: () => ({
      name: 'short',
      searchesWeb: true,
      async *generate() {
        yield { kind: 'text', text: 'It is' };
      },
    }),
    used: assert.fail,
    failed: (failure) => void failures.push(failure),
  });
  await assert.rejects(
    (async () => tool.run({ query: 'x' }, toolContext()))(),
    /the search failed/,
  );
  const [failure] = failures;
  assert.ok(failure instanceof ModelError);
  assert.equal(failure.code, 'cut-off');
  assert.equal(failure.message, 'the answer of short to the search was interrupted');
});

test('a model without a search says so', async () => {
  const tool = webSearchTool({
    modelOf: () => offlineModel(),
    used: assert.fail,
    failed: () => assert.fail(),
  });
  await assert.rejects(
    (async () => tool.run({ query: 'x' }, toolContext()))(),
    /offline cannot search the web/,
  );
});
