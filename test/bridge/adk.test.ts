// What ADK's server sends (its JavaScript package, 2.0): pieces of an artifact, each with `append`, then the whole.
import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { createRunner } from '../../src/agent.ts';
import { remoteAgent } from '../../src/bridge.ts';
import { connect } from '../../src/client/index.ts';
import {
  cardOf,
  collect,
  frame,
  openStream,
  sendJson,
  startPeer,
  status,
  task,
} from '../client/peer.ts';

function update(text: string, partial: boolean) {
  const artifact = { artifactId: 'a', parts: [{ kind: 'text', text }] };
  const chunk = partial ? { append: true, lastChunk: false } : { lastChunk: true };
  return { kind: 'artifact-update', taskId: 't1', contextId: 'c1', artifact, ...chunk };
}

/** Its card has the name localhost, whatever address it was fetched from. */
async function startAdk(t: TestContext, whole: boolean) {
  const peer = await startPeer(t, ({ verb, headers }, response) => {
    if (verb === 'GET') {
      const { supportedInterfaces: _, ...card } = cardOf('');
      const url = `http://${String(headers.host).replace('127.0.0.1', 'localhost')}/`;
      sendJson(response, { ...card, url, preferredTransport: 'JSONRPC', protocolVersion: '0.3.0' });
      return;
    }
    openStream(response);
    const events = [
      task('submitted'),
      status('working'),
      update('Sunny ', true),
      update('in Rome', true),
    ];
    if (whole) events.push(update('Sunny in Rome', false));
    response.end([...events, status('completed', true)].map((event) => frame(event)).join(''));
  });
  return peer.url;
}

for (const whole of [true, false]) {
  const how = whole ? 'and then the whole' : 'and nothing else';
  test(`pieces that all have append, ${how}, are one answer`, async (t) => {
    const url = await startAdk(t, whole);
    const client = await connect(url);
    t.after(() => client.close());
    assert.equal(await client.stream('Rome?').text(), 'Sunny in Rome');
    assert.deepEqual(await collect(client.stream('Rome?').textChunks()), ['Sunny ', 'in Rome']);

    const runner = createRunner({ agent: remoteAgent({ name: 'weather', url }) });
    const asked = { user: 'ann', session: 's', message: 'Rome?' };
    const { text, error } = await runner.runToEnd(asked);
    assert.deepEqual([text, error], ['Sunny in Rome', undefined]);
  });
}
