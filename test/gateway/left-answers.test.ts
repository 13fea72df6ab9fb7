// What is counted for a client that leaves before the end of an answer.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { test } from 'node:test';
import { startGateway, type RunningGateway } from '../support/gateway.ts';
import { openai } from '../support/vendors/openai.ts';

const PATHS = {
  '/v1/responses': { model: 'm', input: 'Weather?', stream: true, store: false },
  '/v1/chat/completions': { model: 'm', messages: [{ role: 'user', content: 'Weather?' }] },
};

interface Vendor extends AsyncDisposable {
  readonly url: string;
  /** The response to the request that has arrived. */
  readonly asked: Promise<ServerResponse>;
}

async function heldVendor(): Promise<Vendor> {
  const asked = Promise.withResolvers<ServerResponse>();
  const server = createServer((request, response) => {
    request.resume();
    request.on('end', () => asked.resolve(response));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    asked: asked.promise,
    async [Symbol.asyncDispose]() {
      server.close();
      server.closeAllConnections();
      await once(server, 'close');
    },
  };
}

async function gatewayTo({ url }: Vendor, more: object = {}): Promise<RunningGateway> {
  return startGateway({
    config: {
      providers: { p: { type: 'openai', baseUrl: `${url}/v1`, apiKey: 'k', attempts: 1, ...more } },
      models: { m: { provider: 'p', model: openai.model.slice('openai:'.length) } },
    },
  });
}

/**
 * Sends a request and leaves when the provider has it: after the provider has begun, without any visible part of the
 * answer, or before (`begins` is false).
 */
async function askAndLeave(
  gateway: RunningGateway,
  path: string,
  body: object,
  vendor: Vendor,
  begins = true,
) {
  const leaving = new AbortController();
  const asking = fetch(new URL(path, gateway.url), {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: `Bearer ${gateway.key()}` },
    body: JSON.stringify(body),
    signal: leaving.signal,
  }).then((answer) => answer.text());
  const response = await vendor.asked;
  if (begins) {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.write(openai.answer[0]);
  }
  leaving.abort();
  await assert.rejects(asking);
  while (gateway.gateway.running > 0) await new Promise(setImmediate);
  return response;
}

async function counted(gateway: RunningGateway): Promise<unknown> {
  const key = gateway.key();
  for (;;) {
    const page: unknown = await (await gateway.ask(key, 'GET', '/a2a/usage?by=model')).json();
    const [item]: unknown[] = Reflect.get(Object(page), 'items');
    if (item !== undefined) return item;
    await new Promise(setImmediate);
  }
}

for (const [path, body] of Object.entries(PATHS)) {
  test(`${path}: thoughts that the provider never shows are counted for a client that has left`, async () => {
    await using vendor = await heldVendor();
    await using gateway = await gatewayTo(vendor);
    const response = await askAndLeave(gateway, path, body, vendor);
    // Most of the tokens that the provider reports are not in its answer.
    const [last = ''] = openai.answer.slice(-1);
    const usage = '"usage":{"input_tokens":20,"output_tokens":900';
    response.end(
      [...openai.answer.slice(1, -1), last.replace(/"usage":\{.*?"output_tokens":\d+/, usage)].join(
        '',
      ),
    );
    assert.partialDeepStrictEqual(await counted(gateway), { inputTokens: 20, outputTokens: 900 });
  });
}

test('a provider that does not end its answer in time is left, and what is known is counted', async () => {
  await using vendor = await heldVendor();
  await using gateway = await gatewayTo(vendor, { usageWaitMs: 20 });
  const response = await askAndLeave(gateway, '/v1/responses', PATHS['/v1/responses'], vendor);
  if (!response.closed) await once(response, 'close');
  const { inputTokens, outputTokens, calls } = Object(await counted(gateway));
  assert.ok(inputTokens > 0);
  assert.deepEqual([outputTokens, calls], [0, 1]);
});

test('a provider that fails before it answers a client that has left costs nothing', async () => {
  await using vendor = await heldVendor();
  await using gateway = await gatewayTo(vendor);
  const path = '/v1/chat/completions';
  const response = await askAndLeave(gateway, path, PATHS[path], vendor, false);
  response.destroy();
  const used = await counted(gateway);
  assert.partialDeepStrictEqual(used, { inputTokens: 0, outputTokens: 0, calls: 1 });
});

test('a gateway that closes does not wait for the answers of clients that have left', async () => {
  await using vendor = await heldVendor();
  const gateway = await gatewayTo(vendor);
  const response = await askAndLeave(gateway, '/v1/responses', PATHS['/v1/responses'], vendor);
  const closed = response.closed ? undefined : once(response, 'close');
  await gateway[Symbol.asyncDispose]();
  await closed;
});
