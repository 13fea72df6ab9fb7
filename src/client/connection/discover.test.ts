import assert from 'node:assert/strict';
import { test } from 'node:test';
import { v03, v1, type AgentCard } from '../../protocol/index.ts';
import { choose, discover, restrictToOrigins } from './discover.ts';
import { ConnectionError } from './errors.ts';

type Offer = [version: string, binding: string, url?: string];

function card(...offers: Offer[]): AgentCard {
  return {
    name: 'Echo',
    description: 'Repeats your words',
    version: '1',
    supportedInterfaces: offers.map(
      ([protocolVersion, protocolBinding, url = 'http://a.test/rpc']) => ({
        url,
        protocolBinding,
        protocolVersion,
      }),
    ),
    capabilities: {},
    defaultInputModes: [],
    defaultOutputModes: [],
    skills: [],
  };
}

const echo = card(['1.0', 'JSONRPC']);

/** A web that consists of these pages; everything else is not found. */
function web(pages: Record<string, unknown>) {
  const asked: { url: string; headers: Headers }[] = [];
  const fetch: typeof globalThis.fetch = async (input, init) => {
    const url = input instanceof Request ? input.url : String(input);
    asked.push({ url, headers: new Headers(init?.headers) });
    const page = pages[url];
    if (page instanceof Response) return page;
    return page === undefined ? new Response('<h1>no</h1>', { status: 404 }) : Response.json(page);
  };
  return { fetch, asked, urls: () => asked.map(({ url }) => url) };
}

test('the card is looked for under the address, then at its origin, under both names', async () => {
  const below = card(['1.0', 'JSONRPC', '/agents/echo/rpc']);
  const { fetch, urls } = web({ 'http://a.test/.well-known/agent.json': v1.encodeCard(below) });
  const found = await discover('http://a.test/agents/echo/', { fetch });
  assert.equal(found.card.name, 'Echo');
  assert.deepEqual(urls(), [
    'http://a.test/agents/echo/.well-known/agent-card.json',
    'http://a.test/agents/echo/.well-known/agent.json',
    'http://a.test/.well-known/agent-card.json',
    'http://a.test/.well-known/agent.json',
  ]);
});

test('who is not at the address is not taken for its agent, though the card is at its origin', async () => {
  for (const url of ['http://a.test', 'http://a.test/rpc', 'http://a.test/agents/echo-2']) {
    const { fetch } = web({
      'http://a.test/.well-known/agent-card.json': v1.encodeCard(card(['1.0', 'JSONRPC', url])),
    });
    await assert.rejects(discover('http://a.test/agents/echo', { fetch }), {
      name: 'ConnectionError',
      reason: 'card',
      message:
        /agents\/echo\/\.well-known\/agent-card\.json.*404.*of Echo, which is at http:\/\/a\.test/,
    });
  }
});

test('an address with credentials is refused without showing them', async () => {
  const { fetch, urls } = web({});
  for (const url of ['http://ann:secret@a.test', 'http://ann:secret@a.test/card.json']) {
    await assert.rejects(discover(url, { fetch }), {
      name: 'ConnectionError',
      message: 'the address of a.test contains credentials: pass them as headers instead',
    });
  }
  assert.deepEqual(urls(), []);
});

test('an address that names a file is the card’s own', async () => {
  const { fetch, urls } = web({ 'http://a.test/cards/echo.json?v=2': v1.encodeCard(echo) });
  await discover('http://a.test/cards/echo.json?v=2#top', { fetch });
  assert.deepEqual(urls(), ['http://a.test/cards/echo.json?v=2']);
});

test('the search for a card says which version we speak, and who we are', async () => {
  const { fetch, asked } = web({
    'http://a.test/.well-known/agent-card.json': v1.encodeCard(echo),
  });
  const headers = async () => ({ Authorization: 'Bearer x', 'A2A-Version': 'nonsense' });
  await discover('http://a.test', { fetch, headers });
  assert.equal(asked[0]?.headers.get('a2a-version'), '1.0');
  assert.equal(asked[0]?.headers.get('authorization'), 'Bearer x');
});

test('a page that is no card does not end the search', async () => {
  const html = new Response('<html>', { headers: { 'content-type': 'text/html' } });
  const { fetch } = web({
    'http://a.test/.well-known/agent-card.json': html,
    'http://a.test/.well-known/agent.json': v03.encodeCard(card(['0.3', 'JSONRPC'])),
  });
  const { card: found } = await discover('http://a.test', { fetch });
  assert.equal(found.supportedInterfaces[0]?.protocolVersion.slice(0, 3), '0.3');
});

test('no card anywhere is one error that says where we looked', async () => {
  const { fetch } = web({});
  await assert.rejects(discover('http://a.test', { fetch }), (error: unknown) => {
    assert.ok(error instanceof ConnectionError);
    assert.equal(error.reason, 'card');
    assert.match(error.message, /agent-card\.json.*404.*agent\.json/);
    return true;
  });
});

test('who is not let in is told so, and not that there is no card', async () => {
  const { fetch } = web({
    'http://a.test/.well-known/agent-card.json': new Response(null, { status: 401 }),
  });
  await assert.rejects(discover('http://a.test', { fetch }), {
    name: 'A2AError',
    kind: 'unauthenticated',
  });
});

test('an address that is none is refused', async () => {
  for (const address of ['localhost:4000', 'file:///etc/passwd', 'what']) {
    await assert.rejects(discover(address), { name: 'ConnectionError', reason: 'unreachable' });
  }
});

test('a card is small', async () => {
  const huge = { ...echo, description: 'x'.repeat(2 ** 21) };
  const { fetch } = web({ 'http://a.test/card.json': huge });
  await assert.rejects(discover('http://a.test/card.json', { fetch }), /larger than/);
});

const at = 'http://a.test/.well-known/agent-card.json';

test('the best interface wins, wherever in the card it stands', () => {
  const all: Offer[] = [
    ['0.3.0', 'HTTP+JSON'],
    ['0.3.0', 'JSONRPC'],
    ['1.0', 'GRPC'],
    ['1.0.3', 'HTTP+JSON'],
    ['1.0', 'JSONRPC'],
  ];
  const order: string[] = [];
  for (let offers = all; offers.length > 0;) {
    if (!offers.some(([, binding]) => binding !== 'GRPC')) break;
    const { version, binding } = choose({ card: card(...offers), url: at });
    order.push(`${version} ${binding}`);
    offers = offers.filter(([v, b]) => !(v.startsWith(version) && b === binding));
  }
  assert.deepEqual(order, ['1.0 JSONRPC', '1.0 HTTP+JSON', '0.3 JSONRPC', '0.3 HTTP+JSON']);
});

test('a wish for a version or a binding is kept', () => {
  const both = {
    card: card(['1.0', 'JSONRPC'], ['0.3', 'JSONRPC'], ['0.3', 'HTTP+JSON']),
    url: at,
  };
  assert.equal(choose(both, { version: '0.3' }).version, '0.3');
  assert.equal(choose(both, { binding: 'HTTP+JSON' }).version, '0.3');
  assert.throws(() => choose(both, { version: '1.0', binding: 'HTTP+JSON' }), /1\.0 HTTP\+JSON/);
});

test('a card with nothing that we speak is an error that lists what it offers', () => {
  const strange = card(['1.0', 'GRPC', 'grpc://a'], ['2.0', 'JSONRPC', 'http://b']);
  assert.throws(() => choose({ card: strange, url: at }), {
    name: 'ConnectionError',
    reason: 'interface',
    message:
      'Echo has no interface that this client supports: 1.0 GRPC at grpc://a, 2.0 JSONRPC at http://b',
  });
});

test('text of a card is shortened in an error, and has no control characters', async () => {
  const long = 'x'.repeat(10_000);
  const hostile = { ...card(['1.0', 'JSONRPC', `/${long}`]), name: `Echo\n\u001b[2J${long}` };
  const { fetch } = web({ [at]: v1.encodeCard(hostile) });
  const strange = { ...hostile, supportedInterfaces: card(['2.0', 'X', long]).supportedInterfaces };
  const checks = (error: unknown) => {
    assert.ok(error instanceof ConnectionError);
    assert.match(error.message, /Echo \[2Jx+…/);
    assert.doesNotMatch(error.message, /\p{Cc}/u);
    assert.ok(error.message.length < 2000, `${error.message.length} characters`);
    return true;
  };
  await assert.rejects(discover('http://a.test/echo', { fetch }), checks);
  assert.throws(() => choose({ card: strange, url: at }), checks);
});

test('an address in the card may be relative to the card', () => {
  const found = { card: card(['1.0', 'JSONRPC', '/rpc']), url: at };
  assert.equal(choose(found).url, 'http://a.test/rpc');
});

test('a card that came over https does not lead to plain http', () => {
  const found = { card: card(['1.0', 'JSONRPC', 'http://a.test/']), url: 'https://a.test/x.json' };
  assert.throws(() => choose(found), { reason: 'interface' });
});

test('the tenant of an interface goes along', () => {
  const rented = card(['1.0', 'JSONRPC']);
  rented.supportedInterfaces[0]!.tenant = 'acme';
  assert.equal(choose({ card: rented, url: at }).tenant, 'acme');
});

test('the names of this machine are one origin, with the same scheme and port only', () => {
  const trusts = (address: string, offered: string): boolean => {
    const found = { card: card(['1.0', 'JSONRPC', offered]), url: address };
    try {
      return restrictToOrigins([address], found).card.supportedInterfaces.length === 1;
    } catch {
      return false;
    }
  };
  const names = ['localhost', '127.0.0.1', '[::1]'];
  for (const one of names) {
    for (const other of names) {
      assert.ok(trusts(`http://${one}:4000/`, `http://${other}:4000/rpc`), `${one} ${other}`);
      assert.ok(!trusts(`http://${one}:4000/`, `http://${other}:4001/rpc`), 'another port');
      assert.ok(!trusts(`http://${one}:4000/`, `https://${other}:4000/rpc`), 'another scheme');
    }
    for (const other of ['a.localhost', '127.0.0.2', '0.0.0.0', '10.0.0.1', 'localhost.a.test']) {
      assert.ok(!trusts(`http://${one}:4000/`, `http://${other}:4000/rpc`), other);
      assert.ok(!trusts(`http://${other}:4000/`, `http://${one}:4000/rpc`), other);
    }
  }
  assert.ok(trusts('http://localhost/', 'http://127.0.0.1:80/rpc'), 'the default port');
});
