// What one workspace, one model or an empty account does to calls of others, over real HTTP.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { A2AError } from '../../src/protocol/index.ts';
import type { ModelRequest } from '../../src/agent/model.ts';
import { fakeVendor, type Reply } from '../support/vendors/server.ts';
import { ask, compatible, rig, says } from './models-support.ts';

const failing: Reply = { status: 500, body: { error: { message: 'internal' } } };

function asking(text: string): ModelRequest {
  return { messages: [{ role: 'user', parts: [{ kind: 'text', text }] }] };
}

test('a workspace whose prompts make the provider fail does not stop the calls of another one', async () => {
  await using vendor = await fakeVendor(({ body }) =>
    JSON.stringify(body).includes('poison') ? failing : says('Here.'),
  );
  const circuit = { failures: 2 };
  const { models } = rig({
    providers: { p: compatible(vendor.url, { models: ['m'], attempts: 1, circuit }) },
  });
  const poison = { request: asking('poison'), workspace: 'bad' };
  for (let count = 0; count < 5; count++) {
    assert((await ask(models, 'm', poison)).error instanceof A2AError);
    assert.equal((await ask(models, 'm', { workspace: 'good' })).text, 'Here.');
  }
  assert.equal(vendor.asked.length, 2 + 5, 'the calls of the first workspace are stopped');
});

test('a model that keeps failing does not stop the other models of its provider', async () => {
  await using vendor = await fakeVendor(({ body }) =>
    JSON.stringify(body).includes('"broken"') ? failing : says('Here.'),
  );
  const circuit = { failures: 1 };
  const settings = { models: ['broken', 'fine'], attempts: 1, circuit };
  const { models } = rig({ providers: { p: compatible(vendor.url, settings) } });
  assert((await ask(models, 'broken')).error instanceof A2AError);
  assert.equal((await ask(models, 'fine')).text, 'Here.');
});

/** The model `m`: first at `first`, which answers `reply` when it is asked for `m`, then at `second`. */
async function routed(reply: Reply, provider: object = {}, now?: () => number) {
  const first = await fakeVendor(({ body }) =>
    JSON.stringify(body).includes('"m"') ? reply : says('first'),
  );
  const second = await fakeVendor(() => says('second'));
  const { models } = rig({
    providers: {
      first: compatible(first.url, { models: ['other'], ...provider }),
      second: compatible(second.url),
    },
    models: {
      m: { routes: [{ provider: 'first' }, { provider: 'second', weight: 0 }] },
      alone: { provider: 'first', model: 'm' },
    },
    now,
  });
  return {
    models,
    first,
    async [Symbol.asyncDispose]() {
      await Promise.all([first[Symbol.asyncDispose](), second[Symbol.asyncDispose]()]);
    },
  };
}

test("a provider's Retry-After is remembered for the model, for every workspace", async () => {
  let time = 0;
  const body = { error: { message: 'slow down', type: 'rate_limit' } };
  const limited: Reply = { status: 429, body, headers: { 'retry-after': '600' } };
  await using made = await routed(limited, {}, () => time);
  const { models, first } = made;
  assert.equal((await ask(models, 'm')).text, 'second');
  assert.equal((await ask(models, 'm')).text, 'second');
  assert.equal((await ask(models, 'm', { workspace: 'another' })).text, 'second');
  assert.equal(first.asked.length, 1, 'it was asked once');
  assert.equal((await ask(models, 'other')).text, 'first', 'its other models are asked');

  time = 200_000;
  const { error } = await ask(models, 'alone');
  assert(error instanceof A2AError);
  assert.equal(error.kind, 'rateLimited');
  assert.equal(error.detail.retryAfterSeconds, 400);
  assert.equal(first.asked.length, 2);
});

test('a short Retry-After of the only provider is waited for by calls that come later, too', async () => {
  const body = { error: { message: 'slow down', type: 'rate_limit' } };
  const limited: Reply = { status: 429, body, headers: { 'retry-after-ms': '200' } };
  await using vendor = await fakeVendor([limited, says('1'), says('2')]);
  const { models } = rig({
    providers: { p: compatible(vendor.url, { models: ['m'], attempts: 1 }) },
  });
  assert((await ask(models, 'm')).error instanceof A2AError);
  const started = performance.now();
  assert.equal((await ask(models, 'm')).text, '1');
  assert(performance.now() - started > 100);
});

const EMPTY_ACCOUNTS: Readonly<Record<string, Reply>> = {
  OpenAI: {
    status: 429,
    body: {
      error: {
        message: 'You exceeded your current quota, please check your plan and billing details.',
        type: 'insufficient_quota',
        param: null,
        code: 'insufficient_quota',
      },
    },
    headers: { 'retry-after': '1' },
  },
  Anthropic: {
    status: 400,
    body: {
      error: {
        type: 'invalid_request_error',
        message: 'Your credit balance is too low to access the Anthropic API.',
      },
    },
  },
  'a compatible provider with 402': {
    status: 402,
    body: { error: { message: 'Insufficient Balance', type: 'unknown_error' } },
  },
};

describe('an account without credit', () => {
  for (const [vendor, reply] of Object.entries(EMPTY_ACCOUNTS)) {
    test(`${vendor}: the next route answers, and the empty account is left alone for a while`, async () => {
      await using made = await routed(reply);
      const { models, first } = made;
      assert.equal((await ask(models, 'm')).text, 'second');
      assert.equal((await ask(models, 'm', { workspace: 'another' })).text, 'second');
      assert.equal(first.asked.length, 1);
    });

    test(`${vendor}, without another route: the caller is not told to try again`, async () => {
      await using made = await routed(reply);
      for (let count = 0; count < 2; count++) {
        const { error } = await ask(made.models, 'alone');
        assert(error instanceof A2AError);
        assert.equal(error.httpStatus, 502);
        assert.match(error.message, /no credit or quota left$/);
        assert.equal(error.detail.retryAfterSeconds, undefined);
      }
    });
  }

  test('words about credit in an error that quotes the request do not count', async () => {
    const message = 'Invalid value: "insufficient quota, credit balance is too low"';
    await using made = await routed({ status: 400, body: { error: { message } } });
    const { error } = await ask(made.models, 'alone');
    assert(error instanceof A2AError);
    assert.equal(error.kind, 'invalidParams');
    assert.equal((await ask(made.models, 'other')).text, 'first');
  });
});
