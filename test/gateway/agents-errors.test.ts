// Agents that cannot be used, or answer with something else than A2A: what a client of the gateway learns.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, before, test } from 'node:test';
import { connect } from '../../src/client/index.ts';
import { textOf } from '../../src/protocol/index.ts';
import { startGateway, type RunningGateway } from '../support/gateway.ts';

const HTML = '<html><h1>502 Bad Gateway</h1>upstream 10.1.2.3:9000 /srv/secret</html>';
const INTERNAL = /10\.1\.2\.3|secret|127\.0\.0\.1|localhost|<html|stack/i;
const EVENT = 'text/event-stream';
const JSON_TYPE = 'application/json';

function answer(response: ServerResponse, status: number, type: string, body: string): void {
  response.writeHead(status, { 'content-type': type });
  response.end(body);
}

function refusal(code: number, message: string, data?: unknown): string {
  return JSON.stringify({ jsonrpc: '2.0', id: 1, error: { code, message, data } });
}

type Answer = (response: ServerResponse, url: string) => void;

/** What the agents answer to a message, and what the client learns. */
const MESSAGES: Readonly<Record<string, readonly [Answer, string, RegExp]>> = {
  'html-200': [
    (response) => answer(response, 200, 'text/html', HTML),
    'AGENT_INVALID_RESPONSE',
    /violated the protocol: The agent answered HTTP 200 OK with text.html/,
  ],
  'html-502': [
    (response) => answer(response, 502, 'text/html', HTML),
    'AGENT_BUSY',
    /is busy or unavailable\. Try again later: The agent answered HTTP 502/,
  ],
  'html-500': [
    (response) => answer(response, 500, 'text/html', HTML),
    'AGENT_FAILED',
    /failed: The agent answered HTTP 500/,
  ],
  'html-404': [
    (response) => answer(response, 404, 'text/html', HTML),
    'AGENT_REFUSED',
    /refused the request: The agent answered HTTP 404/,
  ],
  'html-401': [
    (response) => answer(response, 401, 'text/html', HTML),
    'AGENT_UNAUTHORIZED',
    /does not accept the gateway's credentials/,
  ],
  'json-401': [
    (response) => answer(response, 401, JSON_TYPE, refusal(-31401, 'no secret')),
    'AGENT_UNAUTHORIZED',
    /does not accept the gateway's credentials/,
  ],
  'json-403': [
    (response) => answer(response, 403, JSON_TYPE, '{"error":"secret"}'),
    'AGENT_UNAUTHORIZED',
    /does not accept the gateway's credentials/,
  ],
  'busy-429': [
    (response) => {
      response.setHeader('retry-after', '7');
      answer(response, 429, JSON_TYPE, '{"error":"secret"}');
    },
    'AGENT_BUSY',
    /is busy or unavailable\. Try again in 7 s/,
  ],
  'busy-503': [
    (response) => answer(response, 503, 'text/plain', 'secret'),
    'AGENT_BUSY',
    /is busy or unavailable/,
  ],
  'other-json': [
    (response) => answer(response, 200, JSON_TYPE, '{"hello":"secret"}'),
    'AGENT_INVALID_RESPONSE',
    /violated the protocol/,
  ],
  'broken-json': [
    (response) => answer(response, 200, JSON_TYPE, '{"hello'),
    'AGENT_INVALID_RESPONSE',
    /violated the protocol/,
  ],
  'no-body': [
    (response) => answer(response, 200, JSON_TYPE, ''),
    'AGENT_INVALID_RESPONSE',
    /violated the protocol/,
  ],
  refuses: [
    (response) =>
      answer(
        response,
        200,
        JSON_TYPE,
        refusal(-32602, 'bad: see http://10.1.2.3:9/', { stack: 'secret' }),
      ),
    'AGENT_REFUSED',
    /refused the request: bad: see \(address\)$/,
  ],
  'internal-error': [
    (response) => answer(response, 200, JSON_TYPE, refusal(-32603, 'Internal error')),
    'AGENT_FAILED',
    /failed: Internal error/,
  ],
  'refused-stream': [
    (response) => answer(response, 200, EVENT, `data: ${refusal(-32004, 'no streams')}\n\n`),
    'AGENT_REFUSED',
    /refused the request: no streams/,
  ],
  'empty-stream': [
    (response) => answer(response, 200, EVENT, ''),
    'AGENT_INTERRUPTED',
    /broke before the agent answered\. The message may have arrived/,
  ],
  'other-stream': [
    (response) => answer(response, 200, EVENT, `data: ${HTML}\n\n`),
    'AGENT_INVALID_RESPONSE',
    /violated the protocol/,
  ],
  'cut-off': [
    (response) => response.destroy(),
    'AGENT_INTERRUPTED',
    /broke before the agent answered/,
  ],
  redirects: [
    (response) => response.writeHead(302, { location: 'http://10.1.2.3/' }).end(),
    'AGENT_INVALID_RESPONSE',
    /The gateway does not follow this redirect/,
  ],
  silent: [() => {}, 'AGENT_TIMEOUT', /did not answer in time\. The message may have arrived/],
};

const CARDS: Readonly<Record<string, readonly [Answer, string, RegExp]>> = {
  'html-card': [
    (response) => answer(response, 200, 'text/html', HTML),
    'AGENT_INVALID_RESPONSE',
    /has no readable card/,
  ],
  'no-card': [
    (response) => answer(response, 404, 'text/html', HTML),
    'AGENT_INVALID_RESPONSE',
    /has no readable card/,
  ],
  'card-401': [
    (response) => answer(response, 401, JSON_TYPE, '{}'),
    'AGENT_UNAUTHORIZED',
    /does not accept the gateway's credentials/,
  ],
  'card-502': [
    (response) => answer(response, 502, 'text/html', HTML),
    'AGENT_BUSY',
    /is busy or unavailable/,
  ],
  'other-card': [
    (response) => answer(response, 200, JSON_TYPE, '{"name":"x"}'),
    'AGENT_INVALID_RESPONSE',
    /has no readable card/,
  ],
  'old-card': [
    (response, url) =>
      answer(
        response,
        200,
        JSON_TYPE,
        card(url, [{ url, protocolBinding: 'SOAP', protocolVersion: '1.0' }]),
      ),
    'AGENT_INVALID_RESPONSE',
    /has no interface that the gateway supports/,
  ],
  'elsewhere-card': [
    (response) => answer(response, 200, JSON_TYPE, card('http://10.1.2.3/')),
    'AGENT_INVALID_RESPONSE',
    /its card refers to another origin/,
  ],
};

function card(
  url: string,
  supportedInterfaces: object[] = [{ url, protocolBinding: 'JSONRPC', protocolVersion: '1.0' }],
): string {
  return JSON.stringify({
    name: 'Bad',
    description: '',
    version: '1',
    supportedInterfaces,
    capabilities: { streaming: true },
    defaultInputModes: [],
    defaultOutputModes: [],
    skills: [],
  });
}

let gateway: RunningGateway;
const server = createServer((request, response) => {
  const [, name = ''] = (request.url ?? '').split('/');
  const url = `http://${request.headers.host}/${name}`;
  request.resume().on('end', () => {
    if (request.method === 'POST') return MESSAGES[name]?.[0](response, url);
    const [other] = CARDS[name] ?? [];
    if (other) other(response, url);
    else answer(response, 200, JSON_TYPE, card(url));
  });
});

before(async () => {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const names = [...Object.keys(MESSAGES), ...Object.keys(CARDS)];
  const agents = names.map((name) => {
    const timeout = name === 'silent' ? { timeoutMs: 500 } : {};
    return [name, { url: `${base}/${name}`, usage: { tokens: 7 }, ...timeout }];
  });
  gateway = await startGateway({
    config: {
      agents: Object.fromEntries(agents),
    },
  });
});

after(async () => {
  await gateway[Symbol.asyncDispose]();
  server.closeAllConnections();
  server.close();
});

for (const [name, [, reason, line]] of Object.entries({ ...MESSAGES, ...CARDS })) {
  test(`the agent ${name}: the task fails, says whose fault it is, and shows nothing internal`, async () => {
    const headers = { authorization: `Bearer ${gateway.key()}` };
    const client = await connect(`${gateway.url}/agents/${name}`, { headers });
    const stream = client.stream('hello');
    for await (const _ of stream);
    const task = await client.get(stream.task!.id);
    const { state, message } = task.status;
    assert.equal(state, 'failed');
    assert.deepEqual(message?.metadata, { reason, agent: name });
    const text = textOf(message.parts);
    assert.match(text, line);
    assert.match(text, new RegExp(`[Tt]he agent ${name} `));
    assert.doesNotMatch(JSON.stringify(task), INTERNAL);
  });
}

test('a message that an agent refused before it worked counts nothing, one that may have arrived counts', async () => {
  const usage = await gateway.ask(gateway.key(), 'GET', '/a2a/usage?by=agent');
  const { items } = (await usage.json()) as { items: { agent: string; inputTokens: number }[] };
  const counted = new Map(items.map(({ agent, inputTokens }) => [agent, inputTokens]));
  for (const name of ['html-401', 'busy-429', 'refuses', 'refused-stream', 'no-card']) {
    assert.equal(counted.get(name), 0, name);
  }
  for (const name of ['silent', 'cut-off', 'html-200']) assert.equal(counted.get(name), 7, name);
});
