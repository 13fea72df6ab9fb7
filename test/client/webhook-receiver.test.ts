/** Webhooks of a real server at a receiver of ours, from the first event to the last. */
import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { test, type TestContext } from 'node:test';
import { connect, webhookReceiver, type Notification } from '../../src/client/index.ts';
import { isTerminal, type ProtocolVersion } from '../../src/protocol/index.ts';
import { createAgent, serve } from '../../src/server.ts';
import { quiet } from '../interop/support.ts';

const counter = createAgent({ name: 'Counter', description: 'Counts' }, async function* () {
  for (const word of ['one ', 'two ', 'three']) yield word;
});

async function startServer(t: TestContext): Promise<string> {
  const push = { allowNetworks: ['127.0.0.0/8'] };
  const server = await serve(counter, { push, logger: quiet }).listen(0);
  t.after(() => server.close(0));
  return server.url;
}

/** Receives until the task has ended. The first attempts of some events fail. */
async function receiveTask(t: TestContext, url: string, version: ProtocolVersion, fails: number) {
  const got: Notification[] = [];
  const ended = Promise.withResolvers<void>();
  const errors: unknown[] = [];
  let attempts = 0;
  const receiver = webhookReceiver({
    jwks: `${url}/.well-known/jwks.json`,
    token: 'secret',
    onEvent(notification) {
      if (attempts++ < fails) throw new Error('not yet');
      got.push(notification);
      const { event } = notification;
      const ends = event.kind === 'task' || event.kind === 'status-update';
      if (ends && isTerminal(event.status.state)) ended.resolve();
    },
    onError: (error) => errors.push(error),
  });
  const server = createServer(receiver.node);
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
  t.after(() => server.closeAllConnections());
  t.after(() => server.close());
  const hook = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
  const agent = await connect(url, { version });
  await agent.send('go', {
    configuration: { pushNotificationConfig: { id: 'a.b/c', url: hook, token: 'secret' } },
  });
  await ended.promise;
  return { got, errors };
}

for (const version of ['0.3', '1.0'] as const) {
  test(`every event of a ${version} webhook arrives once and in order, also after a failure`, async (t) => {
    const { got, errors } = await receiveTask(t, await startServer(t), version, 2);
    const seqs = got.map(({ seq = 0 }) => seq);
    assert.deepEqual(
      seqs,
      [...new Set(seqs)].toSorted((a, b) => a - b),
    );
    assert.ok(got.length >= 2 && got.every((each) => each.version === version && !each.late));
    assert.deepEqual(errors.map(String), ['Error: not yet', 'Error: not yet']);
    if (version === '1.0')
      assert.deepEqual(
        seqs,
        seqs.map((_, at) => at + 1),
      );
  });
}

test('a webhook of another server is refused, even with the right token', async (t) => {
  const [ours, theirs] = [await startServer(t), await startServer(t)];
  const { promise, resolve } = Promise.withResolvers<number>();
  const receiver = webhookReceiver({
    jwks: `${ours}/.well-known/jwks.json`,
    token: 'secret',
    onEvent: () => assert.fail('a forged notification was handed over'),
    onError: (error) => assert.fail(String(error)),
  });
  const server = createServer((request, response) => {
    response.on('finish', () => resolve(response.statusCode));
    receiver.node(request, response);
  });
  await new Promise<void>((listening) => void server.listen(0, '127.0.0.1', listening));
  t.after(() => server.closeAllConnections());
  t.after(() => server.close());
  const hook = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
  const agent = await connect(theirs);
  const configuration = { pushNotificationConfig: { url: hook, token: 'secret' } };
  await agent.send('go', { configuration });
  assert.equal(await promise, 401);
});

test('a webhook whose configuration has the longest id that the server accepts is received', async (t) => {
  const url = await startServer(t);
  const { promise, resolve } = Promise.withResolvers<number>();
  const receiver = webhookReceiver({
    jwks: `${url}/.well-known/jwks.json`,
    onEvent: () => {},
    onError: (error) => assert.fail(String(error)),
  });
  const server = createServer((request, response) => {
    response.on('finish', () => resolve(response.statusCode));
    receiver.node(request, response);
  });
  await new Promise<void>((listening) => void server.listen(0, '127.0.0.1', listening));
  t.after(() => server.closeAllConnections());
  t.after(() => server.close());
  const hook = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
  const agent = await connect(url);
  // Each character needs nine characters in the header `webhook-id`.
  const configuration = { pushNotificationConfig: { id: '€'.repeat(256), url: hook } };
  await agent.send('go', { configuration });
  assert.equal(await promise, 204);
});
