import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Authenticate } from '../http/index.ts';
import { LiveAccess, TICKET_MS } from './access.ts';

type Request = Parameters<Authenticate>[0];

function request(token?: string, more: Partial<Request> & Record<string, unknown> = {}): Request {
  const headers: Record<string, string> = {
    ...(token !== undefined && { authorization: `Bearer ${token}` }),
    ...(more['headers'] as Record<string, string>),
  };
  const header = (name: string) => headers[name];
  return { method: 'GET', url: '/', remote: '127.0.0.1', local: true, ...more, header };
}

test('a ticket is valid once, for two minutes, and for the roles it was made for', () => {
  let now = 0;
  const access = new LiveAccess({ now: () => now });
  const ticket = access.issueTicket(['view']);
  assert.match(ticket, /^[\w-]{15}$/);
  const { token, roles } = access.exchange(ticket, { name: 'phone', remote: 'a' });
  assert.deepEqual(roles, ['view']);
  assert.deepEqual(access.authenticate(request(token)), {
    id: '',
    name: 'phone',
    roles: ['view'],
    token: 'token-1',
  });
  assert.throws(() => access.exchange(ticket, { remote: 'a' }), { kind: 'unauthenticated' });
  const late = access.issueTicket(['view', 'approve']);
  now += TICKET_MS;
  assert.throws(() => access.exchange(late, { remote: 'a' }), { kind: 'unauthenticated' });
});

test('an address may try ten tickets in a minute', () => {
  let now = 0;
  const access = new LiveAccess({ now: () => now });
  const guess = () => access.exchange('wrong', { remote: '10.0.0.9' });
  for (let at = 0; at < 10; at++) assert.throws(guess, { kind: 'unauthenticated' });
  assert.throws(guess, { kind: 'rateLimited' });
  const ticket = access.issueTicket([]);
  assert.ok(access.exchange(ticket, { remote: '10.0.0.10' }).token);
  now += 60_000;
  assert.throws(guess, { kind: 'unauthenticated' });
});

test('wrong tickets do not keep out a device with the right one', () => {
  const access = new LiveAccess();
  const ticket = access.issueTicket([]);
  for (let at = 0; at < 200; at++) {
    assert.throws(() => access.exchange('wrong', { remote: '127.0.0.1' }));
  }
  assert.ok(access.exchange(ticket, { remote: '127.0.0.1' }).token);
});

test('a ticket stays valid if there are too many tokens, until one is revoked', () => {
  const access = new LiveAccess();
  for (let at = 0; at < 64; at++) access.exchange(access.issueTicket([]), { remote: 'a' });
  const ticket = access.issueTicket([]);
  assert.throws(() => access.exchange(ticket, { remote: 'a' }), { kind: 'unavailable' });
  access.revoke('token-1');
  assert.ok(access.exchange(ticket, { remote: 'a' }).token);
});

test('when the last token of the command line is revoked, clients still need a token', () => {
  const access = new LiveAccess({ tokens: [{ name: 'tv', roles: [], token: 'secret' }] });
  assert.equal(access.authenticate(request()), undefined);
  assert.ok(access.revoke('token-1'));
  assert.equal(access.anonymous, false);
  assert.equal(access.authenticate(request()), undefined);
  access.issueTicket([]);
  access.withdraw();
  assert.equal(access.authenticate(request()), undefined);
});

test('without tokens and tickets, only requests of this machine are let in, and none through a proxy', () => {
  const access = new LiveAccess();
  assert.equal(access.anonymous, true);
  assert.deepEqual(access.authenticate(request()), { id: '' });
  for (const other of [
    { remote: '192.168.1.2', local: false },
    { remote: '127.0.0.1', local: false },
    { headers: { 'x-forwarded-for': '192.168.1.2' } },
    { headers: { forwarded: 'for=192.168.1.2' } },
    { headers: { via: '1.1 proxy' } },
  ]) {
    assert.equal(access.authenticate(request(undefined, other)), undefined, JSON.stringify(other));
  }
  const trusting = new LiveAccess({ trustProxy: true });
  const proxied = request(undefined, { headers: { 'x-forwarded-for': '192.168.1.2' } });
  assert.deepEqual(trusting.authenticate(proxied), { id: '' });
});

test('a client cannot choose the name of the terminal, or of another token', () => {
  const access = new LiveAccess({ tokens: [{ name: 'tv', roles: [], token: 'secret' }] });
  const named = (name: string) => {
    access.exchange(access.issueTicket([]), { name, remote: name });
    return access.tokens.at(-1)?.name;
  };
  assert.deepEqual(['terminal', 'tv', 'tv', '  \u001B[31mred\n', ''].map(named), [
    'terminal 2',
    'tv 2',
    'tv 3',
    '[31mred',
    'remote',
  ]);
});

test('when remote access is withdrawn, issued tokens and tickets end, and others stay', () => {
  const access = new LiveAccess({ tokens: [{ name: 'tv', roles: [], token: 'secret' }] });
  const ticket = access.issueTicket([]);
  const { token } = access.exchange(access.issueTicket([]), { remote: 'a' });
  assert.deepEqual(access.withdraw(), ['token-2']);
  assert.equal(access.authenticate(request(token)), undefined);
  assert.throws(() => access.exchange(ticket, { remote: 'a' }), { kind: 'unauthenticated' });
  assert.ok(access.authenticate(request('secret')));
  assert.equal(access.anonymous, false);
});
