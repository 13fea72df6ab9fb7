import assert from 'node:assert/strict';
import type { JsonValue } from '../../base/index.ts';
import { test } from 'node:test';
import { createEvent, type Event, type Usage } from '../../agent/event.ts';
import { VENDORS } from '../../agent/models/vendors.ts';
import { pricesWith } from './prices.ts';
import { SessionCost } from './usage.ts';

const noState = (): undefined => undefined;

function answer(model: string, usage: Usage): Event {
  return createEvent({ runId: 'r', author: 'coder' }, { usage, metadata: { model } });
}

const million = { inputTokens: 1_000_000, outputTokens: 1_000_000 };

test('tokens are counted by model', () => {
  const events = [
    answer('offline', { inputTokens: 10, outputTokens: 2 }),
    answer('offline', { inputTokens: 20, outputTokens: 3, cachedTokens: 5 }),
    answer('openai:gpt-5', { inputTokens: 1, outputTokens: 1 }),
  ];
  const spending = new SessionCost(events, noState);
  assert.equal(spending.tokens, 37);
  assert.deepEqual(spending.byModel.get('offline'), {
    requests: 2,
    inputTokens: 30,
    outputTokens: 5,
    cachedTokens: 5,
  });
});

test('what came from the cache costs less', () => {
  const whole = new SessionCost([answer('openai:gpt-5', million)], noState);
  assert.equal(whole.cost.usd, 11.25);
  const cached = { ...million, cachedTokens: 1_000_000 };
  assert.equal(new SessionCost([answer('openai:gpt-5', cached)], noState).cost.usd, 10.125);
});

test('a model without a price is named, and the others are counted', () => {
  const events = [answer('openai:gpt-5', million), answer('openai-compatible:mine', million)];
  assert.deepEqual(new SessionCost(events, noState).cost, {
    usd: 11.25,
    unknown: ['openai-compatible:mine'],
  });
});

test("a helper's use is counted with the response to its call", () => {
  const noted = { requests: 2, inputTokens: 7, outputTokens: 3, cachedTokens: 0 };
  const state = new Map<string, JsonValue>([['coder.usage.call1', { offline: noted }]]);
  const response = { kind: 'function-response', id: 'call1', name: 'task', response: '' } as const;
  const event = createEvent(
    { runId: 'r', author: 'coder' },
    { content: { role: 'user', parts: [response] } },
  );
  assert.equal(new SessionCost([event], (key) => state.get(key)).tokens, 10);
});

for (const [model, input] of [
  ['openai:gpt-5', 1.25],
  ['openai:gpt-5-2025-08-07', 1.25],
  ['openai:gpt-5-mini', 0.25],
  ['google:gemini-2.5-flash-lite', 0.1],
  ['google:gemini-3-pro-preview', 2],
  ['anthropic:claude-sonnet-4-5-20250929', 3],
  ['scripted:/some/file.json', 0],
  ['google:gemini-2.5-flash-preview-09-2025', 0.3],
  ['anthropic:claude-sonnet-4-9', undefined],
  ['openai:gpt-5-turbo-ultra', undefined],
  ['openai:gpt-50', undefined],
  ['openai-compatible:gpt-5', undefined],
  ['constructor:gpt-5', undefined],
] as const) {
  test(`a million tokens into ${model} cost ${input ?? 'an unknown sum'}`, () => {
    assert.equal(pricesWith()(model)?.input, input);
  });
}

test('a price in the settings counts before the list, and local models are free', () => {
  const price = { input: 1, output: 2 };
  const providers = { router: { baseUrl: 'https://r.example', models: { 'a:b': { price } } } };
  const priceOf = pricesWith(providers);
  assert.deepEqual(priceOf('router:a:b'), { input: 1, output: 2, cached: 1 });
  assert.equal(priceOf('router:toString'), undefined);
  assert.equal(priceOf('ollama:qwen3:8b')?.input, 0);
  const { cost } = new SessionCost([answer('router:a:b', million)], noState, priceOf);
  assert.deepEqual(cost, { usd: 3, unknown: [] });
});

test('the models that are taken unless told have a price', () => {
  for (const [vendor, { defaultModel }] of Object.entries(VENDORS)) {
    if (defaultModel !== undefined)
      assert.ok(pricesWith()(`${vendor}:${defaultModel}`), defaultModel);
  }
});
