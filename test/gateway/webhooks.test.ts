/** Webhooks of the gateway's tasks: the same machinery as on every server, per workspace. */
import assert from 'node:assert/strict';
import { verify } from 'node:crypto';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer, type IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import * as z from 'zod';
import { connect } from '../../src/client/index.ts';
import { DEFAULT_SCOPES } from '../../src/gateway/api/caller.ts';
import { VERSIONS } from '../../src/protocol/index.ts';
import { sqliteStore } from '../../src/store/index.ts';
import { interopAgent } from '../interop/agent.ts';
import { createGates } from '../interop/support.ts';
import { startGateway } from '../support/gateway.ts';
import { remote } from './agents-support.ts';

const Jwks = z.object({ keys: z.array(z.looseObject({ x: z.string() })) });
const Answer = z.object({ result: z.object({ task: z.looseObject({ id: z.string() }) }) });

test('a webhook of a gateway gets all events, signed, after a restart too, and needs no PARLEY_SECRET_KEY for its token', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'parley-gateway-hooks-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  let works = false;
  const seen: { headers: IncomingHttpHeaders; body: string }[] = [];
  const hook = createServer((request, response) => {
    let body = '';
    request.setEncoding('utf8').on('data', (chunk: string) => (body += chunk));
    request.on('end', () => {
      if (works) seen.push({ headers: request.headers, body });
      response.writeHead(works ? 204 : 503).end();
      hook.emit('seen');
    });
  }).listen(0, '127.0.0.1');
  await once(hook, 'listening');
  t.after(() => {
    hook.close();
    hook.closeAllConnections();
  });
  const { port } = hook.address() as AddressInfo;
  const begin = () =>
    startGateway({
      store: sqliteStore(join(folder, 'tasks.db')),
      register: join(folder, 'register.db'),
      allowNetworks: ['127.0.0.0/8'],
    });

  const first = await begin();
  const key = first.key('default', 'tasks:read', 'tasks:write');
  const params = {
    message: { messageId: 'm1', role: 'ROLE_USER', parts: [{ text: 'hello' }] },
    configuration: {
      taskPushNotificationConfig: { id: 'h', url: `http://127.0.0.1:${port}/`, token: 'tok' },
    },
  };
  const call = { jsonrpc: '2.0', id: 1, method: 'SendMessage', params };
  const sent = await first.ask(key, 'POST', '/', call, { 'a2a-version': '1.0' });
  const { id } = Answer.parse(await sent.json()).result.task;
  await once(hook, 'seen');
  const log = await first.ask(key, 'GET', `/tasks/${id}/events`);
  const { events } = z.object({ events: z.array(z.unknown()) }).parse(await log.json());
  await first[Symbol.asyncDispose]();

  works = true;
  const second = await begin();
  t.after(() => second[Symbol.asyncDispose]());
  while (seen.length < events.length) await once(hook, 'seen');
  const { keys } = Jwks.parse(await (await fetch(`${second.url}/.well-known/jwks.json`)).json());
  for (const [at, { headers, body }] of seen.entries()) {
    const name = `${id}.h.${at + 1}`;
    assert.equal(headers['webhook-id'], name);
    assert.equal(headers['x-a2a-notification-token'], 'tok');
    const signed = Buffer.from(`${name}.${String(headers['webhook-timestamp'])}.${body}`);
    const [, signature = ''] = String(headers['webhook-signature']).split(',');
    const jwk = { key: keys[0] ?? {}, format: 'jwk' as const };
    assert.ok(verify(null, signed, jwk, Buffer.from(signature, 'base64')));
  }
  const other = second.key('other');
  assert.equal((await second.ask(other, 'GET', `/deadLetters`)).status, 200);
  const path = `/tasks/${id}/pushNotificationConfigs/h/deadLetters`;
  assert.equal((await second.ask(other, 'GET', path)).status, 404);
  assert.equal((await second.ask(second.key('default', 'agents:use'), 'GET', path)).status, 403);
});

test('no key of a workspace reads the secrets of its webhooks, at the gateway and at an agent', async (t) => {
  const { url } = await remote(t, interopAgent(createGates()));
  await using gateway = await startGateway({ config: { agents: { theirs: { url } } } });
  const authentication = { schemes: ['Bearer'], credentials: 's3cret' };
  const webhook = { id: 'h', url: 'https://hooks.example/x', token: 's3cret', authentication };
  const shown = {
    id: 'h',
    url: 'https://hooks.example/x',
    authentication: { schemes: ['Bearer'] },
  };
  const readers: [path: string, ...keys: string[]][] = [
    ['/', gateway.key('default', 'tasks:read'), gateway.key('default', ...DEFAULT_SCOPES)],
    ['/agents/theirs/', gateway.key('default', 'agents:use')],
  ];
  for (const [path, ...keys] of readers) {
    for (const version of VERSIONS) {
      const clientOf = (key: string) =>
        connect(gateway.url + path, { version, headers: { 'x-api-key': key } });
      const owner = await clientOf(gateway.key());
      const task = await owner.send('ask');
      assert.ok(task.kind === 'task');
      const set = await owner.setPushConfig(task.id, webhook);
      assert.deepEqual(set.pushNotificationConfig, webhook);
      for (const key of keys) {
        const reader = await clientOf(key);
        const got = await reader.getPushConfig(task.id, 'h');
        assert.deepEqual(got.pushNotificationConfig, shown);
        const listed = await reader.listPushConfigs(task.id);
        assert.deepEqual(
          listed.map((each) => each.pushNotificationConfig),
          [shown],
        );
      }
    }
  }
});
