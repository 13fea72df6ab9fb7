import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as z from 'zod';
import { v1 } from '../../protocol/index.ts';
import {
  checkCapabilities,
  checkCard,
  checkInterface,
  checkInterfaces,
  EXPLANATIONS,
} from './index.ts';

const CARD = {
  name: 'Echo',
  description: 'Repeats your words',
  version: '1',
  supportedInterfaces: [
    { url: 'https://a.test/rpc', protocolBinding: 'JSONRPC', protocolVersion: '1.0' },
  ],
  capabilities: {},
  defaultInputModes: ['text/plain'],
  defaultOutputModes: ['text/plain'],
  skills: [{ id: 'echo', name: 'Echo', description: 'Repeats', tags: [] }],
};

/** The problems of a card that came from this address. */
function problems(change: object, url = 'https://a.test/.well-known/agent-card.json') {
  const raw: unknown = JSON.parse(JSON.stringify({ ...CARD, ...change }));
  const checks = checkCard({ card: v1.decodeCard(raw), url }, raw);
  return checks.flatMap(({ problem, status }) => (problem ? [`${status} ${problem}`] : []));
}

const at = (url: string) => ({
  supportedInterfaces: [{ url, protocolBinding: 'JSONRPC', protocolVersion: '1.0' }],
});

test('a good card has no problems', () => {
  assert.deepEqual(problems({}), []);
});

test('each mistake in a card is found, and has an explanation', () => {
  const local = 'http://127.0.0.1:4000/.well-known/agent-card.json';
  const found = {
    fields: problems({ description: undefined, skills: undefined }),
    twice: problems({ skills: [...CARD.skills, ...CARD.skills] }),
    modes: problems({ defaultInputModes: [] }),
    scheme: problems({ securityRequirements: [{ schemes: { bearer: { list: [] } } }] }),
    noHttp: problems(at('ftp://a.test/')),
    relative: problems(at('/rpc')),
    credentials: problems(at('https://ann:secret@a.test/')),
    plain: problems(at('http://a.test/')),
    plainBoth: problems(at('http://a.test/'), 'http://a.test/.well-known/agent-card.json'),
    local: problems(at('http://localhost:4000/')),
    unspecified: problems(at('http://0.0.0.0:4000/')),
    allLocal: problems(at('http://localhost:4000/'), local),
    old: problems({}, 'https://a.test/.well-known/agent.json'),
  };
  assert.deepEqual(found, {
    fields: ['warning missing-fields', 'warning no-skills'],
    twice: ['broken skill-ids'],
    modes: ['warning no-modes'],
    scheme: ['broken unknown-scheme'],
    noHttp: ['broken bad-address'],
    relative: ['warning bad-address'],
    credentials: ['broken bad-address'],
    plain: ['broken plain-http'],
    plainBoth: ['warning plain-http'],
    local: ['broken own-machine'],
    unspecified: ['broken own-machine'],
    allLocal: [],
    old: ['warning old-path'],
  });
  for (const { meaning, fix } of Object.values(EXPLANATIONS)) {
    assert.match(meaning, /^[A-Z].*\.$/);
    assert.match(fix, /^[A-Z].*\.$/);
  }
});

test('credentials in an address are not repeated in the result', () => {
  const raw = { ...CARD, ...at('https://ann:secret@a.test/') };
  const checks = checkCard({ card: v1.decodeCard(raw), url: 'https://a.test/card.json' }, raw);
  assert.doesNotMatch(JSON.stringify(checks), /secret/);
});

test('of a card with thousands of interfaces, only the first are checked, a few at a time', async () => {
  const [offer] = CARD.supportedInterfaces;
  assert.ok(offer);
  const offers = Array.from({ length: 5000 }, () => offer);
  let running = 0;
  let most = 0;
  const checks = await checkInterfaces(offers, async () => {
    most = Math.max(most, ++running);
    await Promise.resolve();
    running--;
    return { name: '1.0 JSONRPC', status: 'ok', message: '' };
  });
  assert.equal(most, 8);
  assert.equal(checks.length, 65);
  assert.equal(checks.at(-1)?.message, '4936 more were not checked');
  const bad = { ...offer, url: 'ftp://a.test/' };
  assert.equal(problems({ supportedInterfaces: offers.map(() => bad) }).length, 64);
});

const URL_OF_CARD = 'https://a.test/.well-known/agent-card.json';
const NOT_FOUND = { error: { code: -32001, message: 'no such task' } };

/** An agent with this card. `respond` makes the result or the error for the method of a request. */
function agentWith(change: object, respond: (method: string, signal: AbortSignal) => object) {
  const fetch: typeof globalThis.fetch = async (url, init) => {
    const request = new Request(url, init);
    const { id, method } = z
      .object({ id: z.unknown(), method: z.string() })
      .parse(await request.json());
    const body = JSON.stringify({ jsonrpc: '2.0', id, ...respond(method, request.signal) });
    if (request.headers.get('accept') !== 'text/event-stream')
      return Response.json(JSON.parse(body));
    const events = new ReadableStream({
      start: (controller) => controller.enqueue(new TextEncoder().encode(`data: ${body}\n\n`)),
    });
    return new Response(events, { headers: { 'content-type': 'text/event-stream' } });
  };
  return {
    address: 'https://a.test',
    found: { card: v1.decodeCard({ ...CARD, ...change }), url: URL_OF_CARD },
    optionsFor: () => ({ fetch }),
  };
}

test('an agent whose card makes credentials optional may accept requests without them', async () => {
  const bearer = { schemes: { bearer: { list: [] } } };
  const names = async (securityRequirements: object[]) => {
    const securitySchemes = { bearer: { httpAuthSecurityScheme: { scheme: 'Bearer' } } };
    const agent = agentWith({ securitySchemes, securityRequirements }, () => NOT_FOUND);
    const checks = await checkCapabilities(agent);
    return checks.filter(({ name }) => name === 'security').map(({ problem }) => problem);
  };
  assert.deepEqual(await names([bearer]), ['open']);
  assert.deepEqual(await names([bearer, { schemes: {} }]), []);
});

test('a stream that an agent opens for an unknown task is closed', async () => {
  let streamed: AbortSignal | undefined;
  const agent = agentWith({ capabilities: { streaming: true } }, (method, signal) => {
    if (method !== 'SubscribeToTask') return NOT_FOUND;
    streamed = signal;
    const status = { state: 'TASK_STATE_WORKING' };
    return { result: { statusUpdate: { taskId: 'none', contextId: 'none', status } } };
  });
  const [streaming] = await checkCapabilities(agent);
  assert.deepEqual([streaming?.name, streaming?.status], ['streaming', 'ok']);
  assert.equal(streamed?.aborted, true);
});

test('an agent that is overloaded is not said to be open, nor to support what it declares', async () => {
  const raw = {
    ...CARD,
    capabilities: { streaming: true },
    securitySchemes: { bearer: { httpAuthSecurityScheme: { scheme: 'Bearer' } } },
    securityRequirements: [{ schemes: { bearer: { list: [] } } }],
  };
  const url = 'https://a.test/.well-known/agent-card.json';
  const fetch = async () => new Response('', { status: 503 });
  const agent = {
    address: 'https://a.test',
    found: { card: v1.decodeCard(raw), url },
    optionsFor: () => ({ fetch }),
  };
  const [offer] = agent.found.card.supportedInterfaces;
  assert.ok(offer);
  assert.equal((await checkInterface(agent, offer)).status, 'warning');
  const checks = await checkCapabilities(agent);
  assert.deepEqual(
    checks.map(({ name, status }) => [name, status]),
    [
      ['streaming', 'warning'],
      ['push', 'warning'],
      ['extended card', 'warning'],
      ['security', 'warning'],
    ],
  );
  for (const { message } of checks)
    assert.match(message, /^not checked: The agent answered HTTP 503/);
});
