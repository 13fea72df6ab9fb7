/** An agent of Google's ADK behind its own A2A server, and our client and `remoteAgent` in front of it. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { test, type TestContext } from 'node:test';
import { createRunner, memorySessions } from '../../src/agent.ts';
import { remoteAgent } from '../../src/bridge.ts';
import { connect } from '../../src/client.ts';
import { tries } from '../support/interop-table.ts';
import { importFrom, programs } from './programs.ts';

const PEER = '@google/adk 2.0.0';
const PIECES = ['Two files ', 'are here: ', 'one is long.'];

interface Adk {
  readonly BaseAgent: new (options: object) => object;
  readonly createEvent: (event: object) => object;
  readonly toA2a: (agent: object, options: object) => Promise<RequestListener>;
}

/** Starts an agent that streams its answer as ADK's models do: partial events, then the whole. */
async function startAdk(t: TestContext): Promise<string> {
  const { BaseAgent, createEvent, toA2a } = await importFrom<Adk>(programs.adk, '@google/adk');
  class Speaker extends BaseAgent {
    async *runAsyncImpl(context: { readonly invocationId: string }): AsyncGenerator<object> {
      const say = (text: string, partial: boolean) =>
        createEvent({
          author: 'speaker',
          invocationId: context.invocationId,
          content: { role: 'model', parts: [{ text }] },
          partial,
        });
      for (const piece of PIECES) yield say(piece, true);
      yield say(PIECES.join(''), false);
    }
  }
  const agent = new Speaker({ name: 'speaker', description: 'Speaks' });
  let app: RequestListener = (_, response) => response.writeHead(503).end();
  const server = createServer((request, response) => app(request, response));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => {
    server.close();
    server.closeAllConnections();
  });
  const { port } = server.address() as AddressInfo;
  // Its card says localhost, and we connect to 127.0.0.1.
  app = await toA2a(agent, { port, allowUnauthenticated: true });
  return `http://127.0.0.1:${port}`;
}

function note(t: TestContext, ...operations: readonly string[]): void {
  for (const operation of operations)
    tries(t, { protocol: 'A2A', peer: PEER, role: 'server', operation });
}

test("our client gets the text of ADK's agent once, by send and by stream", async (t) => {
  note(t, 'card', 'send', 'stream', 'same text once');
  const client = await connect(await startAdk(t));
  t.after(() => client.close());
  assert.equal(await client.send('What is here?').text(), PIECES.join(''));
  let streamed = '';
  for await (const { event } of client.stream('What is here?')) {
    if (event.kind !== 'artifact-update') continue;
    const text = event.artifact.parts
      .map((part) => (part.kind === 'text' ? part.text : ''))
      .join('');
    streamed = event.append === true ? streamed + text : text;
  }
  assert.equal(streamed, PIECES.join(''));
});

test("ADK's agent as an agent of our framework says its text once", async (t) => {
  note(t, 'same text once');
  const url = await startAdk(t);
  const agent = remoteAgent({ name: 'speaker', url });
  const runner = createRunner({ app: 'test', agent, sessions: memorySessions() });
  const { text } = await runner.runToEnd({ user: 'ann', session: 's', message: 'What is here?' });
  assert.equal(text, PIECES.join(''));
});
