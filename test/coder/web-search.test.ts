// The web search of the coding agent, with the models of a vendor on loopback in its own format.
import assert from 'node:assert/strict';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { resolveModel } from '../../src/agent/models/resolve.ts';
import { google } from '../support/vendors/google.ts';
import { fakeVendor, type Asked, type Reply } from '../support/vendors/server.ts';
import { SOURCE } from '../support/vendors/wire.ts';
import { say } from './flat-support.ts';
import { makePlace, startCoder } from './support.ts';

const toolsIn = ({ body }: Asked): string => JSON.stringify(Object(body).tools ?? []);

/** Gemini: asks for a search, then answers. A request with its search is the search itself. */
function searching(): (asked: Asked) => Reply {
  let turns = 0;
  return (asked) => {
    if (/googleSearch/.test(toolsIn(asked))) return { events: google.search!.events };
    const call = google.call('web_search', { query: 'weather in Paris' });
    return { events: turns++ === 0 ? call : google.answer };
  };
}

async function start(t: TestContext, settings: object, model = google.model) {
  const vendor = await fakeVendor(searching());
  t.after(() => vendor[Symbol.asyncDispose]());
  const place = makePlace(t);
  mkdirSync(join(place.home, 'config'));
  writeFileSync(join(place.home, 'config/settings.json'), JSON.stringify(settings));
  const env = google.env(vendor.url, 'k');
  const { url } = await startCoder(t, place, { model: resolveModel(model, { env }) });
  return { url, vendor };
}

test('a search asks first, and its pages are citations at the end of the turn', async (t) => {
  const { url, vendor } = await start(t, {});
  let events = await say(url, { userMessage: 'What is the weather?' });
  assert.equal(events.at(-1)?.state, 'input-required');
  const { toolCallId, taskId, confirmationRequest } = events.at(-2)!;
  assert.match(JSON.stringify(confirmationRequest), /Search the web for weather in Paris/);
  assert.equal(vendor.asked.length, 1, 'nothing was sent before the answer');
  const approved = { kind: 'tool-call-confirmation', toolCallId, approved: true };
  events = await say(url, { taskId, userMessage: approved });
  const cited = events.filter(({ kind }) => kind === 'citation');
  assert.deepEqual(
    cited.map(({ url: page, title }) => ({ url: page, title })),
    [SOURCE],
  );
  assert.equal(events.at(-1)?.state, 'completed');
  const [first, search, last] = vendor.asked;
  assert.match(toolsIn(first!), /web_search/);
  assert.doesNotMatch(JSON.stringify(search?.body), /What is the weather/);
  assert.match(JSON.stringify(last?.body), /weather\.example/);
});

test('a rule allows searches without a question', async (t) => {
  const { url } = await start(t, { policy: [{ tool: 'web_search', decision: 'allow' }] });
  const events = await say(url, { userMessage: 'What is the weather?' });
  assert.equal(events.at(-1)?.state, 'completed');
  assert.equal(events.filter(({ kind }) => kind === 'citation').length, 1);
});

test('webSearch: false takes the tool away, and so does a model without a search', async (t) => {
  for (const [settings, model] of [
    [{ webSearch: false }, google.model],
    [{}, 'google:gemma-4'],
  ] as const) {
    const { url, vendor } = await start(t, settings, model);
    await say(url, { userMessage: 'What is the weather?' });
    assert.doesNotMatch(toolsIn(vendor.asked[0]!), /web_search/);
  }
});
