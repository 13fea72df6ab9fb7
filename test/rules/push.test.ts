/** Rule 9: webhooks, over HTTP, from the configuration to the delivery. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';
import { test, type TestContext } from 'node:test';
import type { Task } from '../../src/protocol/index.ts';
import { finished, sample, start, userMessage, WIRES } from './support.ts';
import { within } from '../support/within.ts';

interface Received {
  readonly headers: IncomingHttpHeaders;
  readonly json: Record<string, unknown>;
}

/** A webhook that answers with these statuses in turn, and with 200 from then on. */
async function receiver(t: TestContext, ...statuses: number[]) {
  const seen: Received[] = [];
  const server = createServer((request, response) => {
    let text = '';
    request.setEncoding('utf8').on('data', (chunk: string) => (text += chunk));
    request.on('end', () => {
      seen.push({ headers: request.headers, json: JSON.parse(text) });
      const status = statuses.shift() ?? 200;
      response.writeHead(status, status === 302 ? { location: '/elsewhere' } : {}).end();
      server.emit('seen');
    });
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => {
    server.close();
    server.closeAllConnections();
  });
  const { port } = server.address() as AddressInfo;
  const received = async (count: number) => {
    while (seen.length < count) await within(`${count} deliveries`, once(server, 'seen'));
  };
  return { url: `http://127.0.0.1:${port}/hook`, seen, received };
}

const opened = { push: { allowNetworks: ['127.0.0.0/8'] } };

for (const wire of WIRES) {
  test(`rule 9: a webhook is called with the configured authentication, in the shape of its version (${wire.name})`, async (t) => {
    const hook = await receiver(t);
    const { url } = await start(t, sample(), opened);
    const authentication = { schemes: ['Bearer'], credentials: 'abc' };
    const pushNotificationConfig = { id: 'c', url: hook.url, token: 'tok', authentication };
    const message = userMessage('hello');
    const configuration = { pushNotificationConfig };
    const task = (await wire.call(url, 'sendMessage', { message, configuration })) as Task;
    const old = wire.version === '0.3';
    await hook.received(old ? 3 : 4);
    for (const { headers, json } of hook.seen) {
      assert.equal(headers.authorization, 'Bearer abc');
      assert.equal(headers['x-a2a-notification-token'], 'tok');
      assert.equal(headers['content-type'], old ? 'application/json' : 'application/a2a+json');
      if (old) assert.partialDeepStrictEqual(json, { kind: 'task', id: task.id });
      else assert.match(Object.keys(json).join(), /^(task|statusUpdate|artifactUpdate)$/);
    }
    const last = hook.seen.at(-1)!.json;
    if (old) assert.equal((last as Task).status.state, 'completed');
    else assert.ok(JSON.stringify(last).includes('TASK_STATE_COMPLETED'));
  });

  test(`rule 9: configurations are set, got, listed and deleted; deleting is idempotent (${wire.name})`, async (t) => {
    const { url } = await start(t);
    const { id } = await finished(url);
    const config = { id: 'c1', url: 'https://example.org/hook', token: 'tok' };
    const params = { taskId: id, pushNotificationConfig: config };
    assert.deepEqual(await wire.call(url, 'setPushConfig', params), params);
    const which = { id, pushNotificationConfigId: 'c1' };
    assert.deepEqual(await wire.call(url, 'getPushConfig', which), params);
    assert.deepEqual(await wire.call(url, 'listPushConfigs', { id }), [params]);
    const other = { id, pushNotificationConfigId: 'c2' };
    assert.equal((await wire.ask(url, 'getPushConfig', other)).error?.code, -32001);
    for (const gone of [which, which, other]) {
      const { error, status } = await wire.ask(url, 'deletePushConfig', gone);
      assert.equal(error, undefined);
      assert.equal(status, 200);
    }
    assert.deepEqual(await wire.call(url, 'listPushConfigs', { id }), []);
    const nobody = { id: 'nobody', pushNotificationConfigId: 'c1' };
    assert.equal((await wire.ask(url, 'deletePushConfig', nobody)).error?.code, -32001);
  });

  test(`rule 9: private, loopback and link-local targets are refused, and nothing is started (${wire.name})`, async (t) => {
    const { url } = await start(t);
    const { id: taskId } = await finished(url);
    for (const target of [
      'http://127.0.0.1:9/',
      'http://localhost:9/',
      'http://[::1]:9/',
      'http://[::ffff:127.0.0.1]:9/',
      'http://169.254.169.254/latest/meta-data/',
      'http://10.0.0.1/',
      'http://192.168.0.1/',
      'file:///etc/passwd',
    ]) {
      const pushNotificationConfig = { id: 'c', url: target };
      const set = await wire.ask(url, 'setPushConfig', { taskId, pushNotificationConfig });
      assert.equal(set.error?.code, -32602, target);
      const message = userMessage('x');
      const configuration = { pushNotificationConfig };
      for (const operation of ['sendMessage', 'streamMessage'] as const) {
        const { error } = await wire.ask(url, operation, { message, configuration });
        assert.equal(error?.code, -32602, target);
      }
    }
    assert.deepEqual(await wire.call(url, 'listPushConfigs', { id: taskId }), []);
    assert.equal((await wire.call(url, 'listTasks', {})).totalSize, 1);
  });
}

test('rule 9: a failed delivery is tried again, a redirect is not followed, and the order stays', async (t) => {
  const hook = await receiver(t, 500, 200, 302);
  const { url } = await start(t, sample(), opened);
  const configuration = { pushNotificationConfig: { id: 'c', url: hook.url } };
  await WIRES[2]!.call(url, 'sendMessage', { message: userMessage('hello'), configuration });
  await hook.received(6);
  assert.deepEqual(
    hook.seen.map(({ json }) => Object.keys(json)[0]),
    ['task', 'task', 'statusUpdate', 'statusUpdate', 'artifactUpdate', 'statusUpdate'],
  );
});

test('rule 9: a webhook that comes with an answer is kept, and hears from there on', async (t) => {
  const hook = await receiver(t);
  const { url } = await start(t, sample(), opened);
  const asked = await WIRES[2]!.call(url, 'sendMessage', { message: userMessage('ask') });
  const { id: taskId } = asked as Task;
  const configuration = { pushNotificationConfig: { id: 'c', url: hook.url } };
  const message = userMessage('Rome', { taskId });
  await WIRES[2]!.call(url, 'sendMessage', { message, configuration });
  await WIRES[2]!.call(url, 'sendMessage', { message, configuration });
  assert.equal((await WIRES[2]!.call(url, 'listPushConfigs', { id: taskId })).length, 1);
  await hook.received(3);
  assert.deepEqual(
    hook.seen.map(({ json }) => Object.keys(json)[0]),
    ['statusUpdate', 'artifactUpdate', 'statusUpdate'],
  );
});

test('rule 9: a server that closes tells webhooks how their tasks ended', async (t) => {
  const hook = await receiver(t);
  const server = await start(t, sample(), opened);
  const { url } = server;
  const configuration = { pushNotificationConfig: { id: 'c', url: hook.url } };
  await WIRES[2]!.call(url, 'sendMessage', { message: userMessage('hello'), configuration });
  await server.close(5000);
  assert.match(JSON.stringify(hook.seen.at(-1)?.json), /TASK_STATE_COMPLETED/);
});

test('rule 9: Basic credentials are encoded', async (t) => {
  const hook = await receiver(t);
  const { url } = await start(t, sample(), opened);
  const authentication = { schemes: ['Basic'], credentials: 'ann:secret' };
  const pushNotificationConfig = { id: 'c', url: hook.url, authentication };
  const params = { message: userMessage('x'), configuration: { pushNotificationConfig } };
  await WIRES[3]!.call(url, 'sendMessage', params);
  await hook.received(1);
  const basic = `Basic ${Buffer.from('ann:secret').toString('base64')}`;
  assert.equal(hook.seen[0]?.headers.authorization, basic);
});
