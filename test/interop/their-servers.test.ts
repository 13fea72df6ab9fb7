/** Our client against servers made with the SDKs: each scenario, over each version and binding that they serve. */
import assert from 'node:assert/strict';
import { after, before, mock, test, type TestContext } from 'node:test';
import {
  ConnectionError,
  connect as dial,
  type AgentStream,
  type ConnectOptions,
  type RemoteAgentClient,
} from '../../src/client/index.ts';
import {
  A2AError,
  textOf,
  type Binding,
  type ProtocolVersion,
  type SendResult,
  type StreamItem,
  type Task,
} from '../../src/protocol/index.ts';
import { PNG } from './agent.ts';
import { EXTENSION, type ServerOptions } from './script.ts';
import { BINDING_NAMES } from './grpc-calls.ts';
import { startSdk03 } from './sdk-03-server.ts';
import { startSdk1 } from './sdk-1-server.ts';
import {
  collect,
  createGates,
  refusal,
  startWebhook,
  until,
  within,
  type Gates,
  type Hosted,
} from './support.ts';
import { noteScenario } from './operations.ts';

interface Server {
  readonly name: string;
  readonly sdk: '1.3' | '0.3';
  readonly version: ProtocolVersion;
  readonly binding: Binding;
  start(t: TestContext, gates: Gates, options?: ServerOptions): Promise<Hosted>;
}

const SERVERS: readonly Server[] = (['JSONRPC', 'HTTP+JSON', 'GRPC'] as const).flatMap(
  (binding) => {
    const by = BINDING_NAMES[binding];
    return [
      { name: `SDK 1.3 over ${by}`, sdk: '1.3', version: '1.0', binding, start: startSdk1 },
      { name: `SDK 0.3 over ${by}`, sdk: '0.3', version: '0.3', binding, start: startSdk03 },
      { name: `SDK 1.3 in 0.3 over ${by}`, sdk: '1.3', version: '0.3', binding, start: startSdk1 },
    ] satisfies Server[];
  },
);

// The SDKs write every refusal, and the first every delivery too, to the console.
before(() => {
  for (const name of ['error', 'warn', 'info'] as const) mock.method(console, name, () => {});
});
after(() => mock.restoreAll());

async function start(t: TestContext, server: Server, options?: ServerOptions) {
  const gates = createGates();
  const { url, cut, grpc } = await server.start(t, gates, options);
  const connect = async (own: ConnectOptions = {}): Promise<RemoteAgentClient> => {
    const { version, binding } = server;
    const retry = { attempts: 20, delayMs: 1, maxDelayMs: 20 };
    const trustedOrigins = [`http://${grpc}`];
    const limits = { retry, timeoutMs: 5000, trustedOrigins };
    const client = await dial(url, { version, binding, ...limits, ...own });
    t.after(() => client.close());
    return client;
  };
  return { url, grpc, gates, cut, connect };
}

function taskOf(result: SendResult): Task {
  assert.equal(result.kind, 'task');
  return result;
}

function says({ status }: Pick<Task, 'status'>): string {
  return textOf(status.message?.parts ?? []);
}

function artifactText({ artifacts = [] }: Task): string {
  return artifacts.map(({ parts }) => textOf(parts)).join('');
}

function short({ event }: StreamItem): string {
  if (event.kind === 'message') return `message ${textOf(event.parts)}`;
  if (event.kind === 'task') return `task ${event.status.state}`;
  if (event.kind === 'artifact-update') return JSON.stringify(textOf(event.artifact.parts));
  const text = says(event);
  return text === '' ? event.status.state : `${event.status.state}: ${text}`;
}

async function read(stream: AgentStream): Promise<string[]> {
  return (await within('a stream', collect(stream))).map(short);
}

function kindOf(error: unknown): string {
  return error instanceof A2AError ? error.kind : String(error);
}

/** SDK 1.3's layer for 0.3's REST binding, which goes ways of its own. */
function isCompatRest({ sdk, version, binding }: Server): boolean {
  return sdk === '1.3' && version === '0.3' && binding === 'HTTP+JSON';
}

/** Begins a task that waits for the test, and returns its id as soon as it works. */
async function hold(client: RemoteAgentClient, key: string): Promise<string> {
  const configuration = { blocking: false };
  const { id } = taskOf(await client.send(`hold ${key}`, { configuration }));
  await until(
    'the task works',
    () => client.get(id),
    (task) => artifactText(task) === 'begun ',
  );
  return id;
}

const SCENARIOS: Record<string, (t: TestContext, server: Server) => Promise<void>> = {
  async 'is found by its card'(t, server) {
    const { url, grpc, connect } = await start(t, server);
    const { card, endpoint } = await connect();
    const path = server.binding === 'JSONRPC' ? '/rpc' : '/rest';
    const { version, binding } = server;
    const at = binding === 'GRPC' ? `http://${grpc}/` : url + path;
    assert.deepEqual(endpoint, { url: at, version, binding, tenant: endpoint.tenant });
    assert.equal(card.name, 'Theirs');
    assert.equal(card.capabilities.streaming, true);
    assert.deepEqual(
      card.skills.map(({ id }) => id),
      ['obey'],
    );
    assert.partialDeepStrictEqual(card.securitySchemes, {
      bearer: { type: 'http', scheme: 'Bearer' },
      login: { type: 'oauth2', flows: { clientCredentials: { tokenUrl: 'https://login.test' } } },
    });
    assert.deepEqual(card.security, [{ bearer: [] }]);
  },

  async 'answers with a Message'(t, server) {
    const client = await (await start(t, server)).connect();
    const answer = await client.send('ping');
    assert.equal(answer.kind, 'message');
    assert.equal(await client.send('ping').text(), 'pong');
    assert.deepEqual(await read(client.stream('ping')), ['message pong']);
  },

  async 'answers with a finished Task'(t, server) {
    const client = await (await start(t, server)).connect();
    const task = taskOf(await client.send('count 3', { contextId: 'mine' }));
    assert.equal(task.status.state, 'completed');
    assert.equal(task.contextId, 'mine');
    assert.equal(artifactText(task), '1 2 3 ');
    assert.equal(says(task), 'all done');
  },

  async 'answers at once when it is not to wait'(t, server) {
    const { connect, gates } = await start(t, server);
    const client = await connect();
    const id = await hold(client, 'a');
    gates.open('a');
    gates.open('a again');
    const done = await until(
      'the end',
      () => client.get(id),
      ({ status }) => status.state === 'completed',
    );
    assert.equal(artifactText(done), 'begun and done');
  },

  async 'streams every event in order, to the end'(t, server) {
    const client = await (await start(t, server)).connect();
    const stream = client.stream('count 3');
    assert.deepEqual(await read(stream), [
      'task submitted',
      'working',
      '"1 "',
      '"2 "',
      '"3 "',
      'completed: all done',
    ]);
    assert.equal(artifactText(stream.task!), '1 2 3 ');
    assert.equal(stream.lastSeq, undefined);
    assert.deepEqual(await collect(client.stream('count 3').textChunks()), ['1 ', '2 ', '3 ']);
  },

  async 'shows a task with as much history as is asked for'(t, server) {
    const client = await (await start(t, server)).connect();
    const { id } = taskOf(await client.send('ask'));
    await client.send('Rome', { taskId: id });
    const history = async (historyLength: number) =>
      ((await client.get(id, { historyLength })).history ?? []).map(({ parts }) => textOf(parts));
    assert.deepEqual(await history(2), ['Rome', 'all done']);
    assert.deepEqual((await history(100)).slice(0, 3), ['ask', 'Which city?', 'Rome']);
    // 0.3.14 takes the last 0 of a list for all of it.
    if (server.sdk === '1.3') assert.deepEqual(await history(0), []);
  },

  async 'lists tasks where it can'(t, server) {
    const client = await (await start(t, server)).connect();
    // There it takes the path for one of 1.0 with the tenant v1, and finds no task.
    if (isCompatRest(server)) return;
    if (server.version === '0.3') {
      assert.equal(await refusal(() => client.list(), kindOf), 'methodNotFound');
      return;
    }
    const ids: string[] = [];
    for (const text of ['count 1', 'count 2', 'ask']) {
      ids.push(taskOf(await client.send(text, { contextId: 'listed' })).id);
    }
    await client.send('count 1', { contextId: 'other' });
    const page = await client.list({ contextId: 'listed', pageSize: 2 });
    assert.deepEqual([page.tasks.length, page.totalSize, page.pageSize], [2, 3, 2]);
    const all = await collect(client.listAll({ contextId: 'listed', pageSize: 2 }));
    assert.deepEqual(all.map(({ id }) => id).toSorted(), ids.toSorted());
    const asking = await client.list({ status: 'input-required' });
    assert.deepEqual(
      asking.tasks.map(({ id }) => id),
      [ids[2]],
    );
    const whole = await client.list({ contextId: 'other', includeArtifacts: true });
    assert.deepEqual(whole.tasks.map(artifactText), ['1 ']);
  },

  async 'cancels a task'(t, server) {
    const client = await (await start(t, server)).connect();
    const id = await hold(client, 'a');
    const watched = read(client.resubscribe(id));
    assert.equal((await client.cancel(id)).status.state, 'canceled');
    assert.equal((await client.get(id)).status.state, 'canceled');
    assert.match((await watched).at(-1)!, /canceled/);
  },

  async 'lets us subscribe: first the Task, then what follows'(t, server) {
    const { connect, gates } = await start(t, server);
    const client = await connect();
    const id = await hold(client, 'a');
    const stream = client.resubscribe(id);
    const seen: string[] = [];
    for await (const item of stream) {
      seen.push(short(item));
      gates.open('a');
      gates.open('a again');
    }
    assert.deepEqual(seen, ['task working', '"and "', '"done"', 'completed: all done']);
    assert.equal(artifactText(stream.task!), 'begun and done');
    // Of a finished task there is the task.
    assert.deepEqual(await read(client.resubscribe(id)), ['task completed']);
  },

  async 'asks, and goes on with the answer'(t, server) {
    const client = await (await start(t, server)).connect();
    const asked = taskOf(await client.send('ask'));
    assert.equal(asked.status.state, 'input-required');
    assert.equal(says(asked), 'Which city?');
    const { id: taskId, contextId } = asked;
    const done = taskOf(await client.send('Rome', { taskId, contextId }));
    assert.deepEqual([done.id, done.status.state], [taskId, 'completed']);
    assert.equal(artifactText(done), 'Sunny in Rome');

    const question = client.stream('ask');
    assert.equal((await read(question)).at(-1), 'input-required: Which city?');
    const answer = client.stream('Oslo', { taskId: question.task!.id });
    const events = await read(answer);
    assert.deepEqual(events.slice(-2), ['"Sunny in Oslo"', 'completed: all done']);
    assert.equal(answer.task?.status.state, 'completed');
  },

  async 'takes and gives files and data whole'(t, server) {
    const client = await (await start(t, server)).connect();
    // This server reads a null as 0.
    const nothing = server.sdk === '0.3' && server.binding === 'GRPC' ? 'none' : null;
    const parts = [
      { kind: 'text' as const, text: 'copy' },
      { kind: 'file' as const, file: { bytes: PNG, mimeType: 'image/png' } },
      { kind: 'file' as const, file: { uri: 'https://files.test/a', mimeType: 'image/png' } },
      { kind: 'data' as const, data: { deep: { list: [1, 'two', nothing] } } },
    ];
    const task = taskOf(await client.send(parts));
    assert.deepEqual(task.artifacts?.[0]?.parts, parts);
    const stream = client.stream(parts);
    await read(stream);
    assert.deepEqual(stream.task?.artifacts?.[0]?.parts, parts);
  },

  async 'tells us of failures and rejections'(t, server) {
    const client = await (await start(t, server)).connect();
    const rejected = taskOf(await client.send('reject'));
    assert.deepEqual([rejected.status.state, says(rejected)], ['rejected', 'not today']);
    assert.equal(taskOf(await client.send('fail')).status.state, 'failed');
    assert.match((await read(client.stream('fail'))).at(-1)!, /^failed/);
  },

  async 'keeps push configurations'(t, server) {
    if (isCompatRest(server)) return t.skip('it wants another body than the specification says');
    const client = await (await start(t, server)).connect();
    const id = await hold(client, 'a');
    const url = 'http://127.0.0.1:9/hook';
    const authentication = { schemes: ['Bearer'], credentials: 'key' };
    const config = { id: 'mine', url, token: 'secret' };
    const set = await client.setPushConfig(id, { ...config, authentication });
    assert.equal(set.taskId, id);
    assert.partialDeepStrictEqual(set.pushNotificationConfig, config);
    const got = await client.getPushConfig(id, 'mine');
    assert.partialDeepStrictEqual(got.pushNotificationConfig, { ...config, authentication });
    await client.setPushConfig(id, { ...config, id: 'other' });
    const list = await client.listPushConfigs(id);
    assert.deepEqual(
      list.map((one) => one.pushNotificationConfig.id),
      ['mine', 'other'],
    );
    await client.deletePushConfig(id, 'mine');
    assert.equal((await client.listPushConfigs(id)).length, 1);
    await client.deletePushConfig(id, 'other');
    assert.deepEqual(await client.listPushConfigs(id), []);
  },

  async 'calls our webhook'(t, server) {
    const webhook = await startWebhook(t);
    const client = await (await start(t, server)).connect();
    const pushNotificationConfig = { id: 'with', url: webhook.url, token: 'tell-nobody' };
    const configuration = { pushNotificationConfig };
    taskOf(await client.send('count 1', { configuration }));
    const delivered = await webhook.atLeast(4);
    assert.match(JSON.stringify(delivered), /completed/i);
    assert.equal(delivered[0]?.headers['x-a2a-notification-token'], 'tell-nobody');
  },

  async 'refuses by kinds that we know'(t, server) {
    const client = await (await start(t, server)).connect();
    const finished = taskOf(await client.send('count 1')).id;
    const to = (taskId: string) => ({ taskId });
    // 0.3.14 calls it an invalid request, and its REST binding loses every error before the first event. After a
    // refused subscription the client asks for the task, whose error is not lost.
    // Over gRPC, its errors have only a status.
    const invalid = server.binding === 'GRPC' ? 'invalidParams' : 'invalidRequest';
    const over = server.sdk === '1.3' ? 'unsupportedOperation' : invalid;
    const lost = server.sdk === '0.3' && server.binding === 'HTTP+JSON';
    const early = (kind: string) => (lost ? 'internal' : kind);
    const bad = { messageId: '', parts: [{ kind: 'text' as const, text: 'x' }] };
    const cases: [what: string, kind: string, call: () => Promise<unknown>][] = [
      ['get', 'taskNotFound', () => client.get('nobody')],
      ['cancel', 'taskNotFound', () => client.cancel('nobody')],
      ['send', 'taskNotFound', () => client.send('x', to('nobody'))],
      ['stream', early('taskNotFound'), () => read(client.stream('x', to('nobody')))],
      ['subscribe', 'taskNotFound', () => read(client.resubscribe('nobody'))],
      ['list push', 'taskNotFound', () => client.listPushConfigs('nobody')],
      ['cancel a finished task', 'taskNotCancelable', () => client.cancel(finished)],
      ['send to a finished task', over, () => client.send('x', to(finished))],
      ['stream to a finished task', early(over), () => read(client.stream('x', to(finished)))],
      ['send without an id', 'invalidParams', () => client.send(bad)],
    ];
    const found = [];
    for (const [what, , call] of cases) found.push([what, await refusal(call, kindOf)]);
    assert.deepEqual(
      found,
      cases.map(([what, kind]) => [what, kind]),
    );
  },

  async 'refuses push where it has none'(t, server) {
    const client = await (await start(t, server, { push: false })).connect();
    const { id } = taskOf(await client.send('count 1'));
    const config = { id: 'x', url: 'https://hook.test' };
    const calls = [
      () => client.getPushConfig(id, 'x'),
      () => client.listPushConfigs(id),
      () => client.deletePushConfig(id, 'x'),
    ];
    if (!isCompatRest(server)) calls.push(() => client.setPushConfig(id, config));
    for (const call of calls) assert.equal(await refusal(call, kindOf), 'pushNotSupported');
  },

  async 'gets the names of extensions'(t, server) {
    const { connect } = await start(t, server);
    const client = await connect({ extensions: [EXTENSION] });
    assert.equal(await client.send('who').text(), EXTENSION);
    assert.equal(await client.stream('who').text(), EXTENSION);
    assert.equal(await (await connect()).send('who').text(), 'nothing');
  },

  async 'gets our credentials with every request'(t, server) {
    const { connect } = await start(t, server, { token: 'secret' });
    const stranger = await connect();
    assert.equal(await refusal(() => stranger.send('ping'), kindOf), 'unauthenticated');
    assert.equal(await refusal(() => read(stranger.stream('ping')), kindOf), 'unauthenticated');
    const client = await connect({ headers: async () => ({ authorization: 'Bearer secret' }) });
    assert.equal(await client.send('ping').text(), 'pong');
    assert.equal(await client.stream('count 2').text(), '1 2 ');
    assert.equal((await client.extendedCard()).description, 'For friends');
  },

  async 'is resumed after a broken connection, though it gives no event ids'(t, server) {
    const { connect, gates, cut } = await start(t, server);
    const client = await connect();
    const stream = client.stream('hold a');
    const seen: string[] = [];
    for await (const item of stream) {
      const what = short(item);
      seen.push(what);
      if (what === '"begun "') {
        // "and " is said while nobody is connected; after the second cut there is one more chunk to come.
        cut();
        gates.open('a');
        const id = stream.task!.id;
        await until(
          'the chunk that is missed',
          () => client.get(id),
          (task) => artifactText(task) === 'begun and ',
        );
      } else if (what === 'task working' && seen.filter((one) => one === what).length === 1) {
        cut();
      } else if (what === 'task working') {
        gates.open('a again');
      }
    }
    assert.deepEqual(seen, [
      'task submitted',
      'working',
      '"begun "',
      'task working',
      'task working',
      '"done"',
      'completed: all done',
    ]);
    assert.equal(artifactText(stream.task!), 'begun and done');
    assert.equal(stream.lastSeq, undefined);
  },

  async 'gives the text once, however often the connection breaks'(t, server) {
    const { connect, gates, cut } = await start(t, server);
    const client = await connect();
    const chunks: string[] = [];
    for await (const chunk of client.stream('hold a').textChunks()) {
      chunks.push(chunk);
      cut();
      gates.open(chunks.length === 1 ? 'a' : 'a again');
    }
    assert.equal(chunks.join(''), 'begun and done');
  },

  async 'is asked for the task when it finished during the break'(t, server) {
    const { connect, gates, cut } = await start(t, server);
    const client = await connect();
    const other = await connect();
    const stream = client.stream('hold a');
    const seen: string[] = [];
    for await (const item of stream) {
      seen.push(short(item));
      if (seen.at(-1) !== '"begun "') continue;
      cut();
      gates.open('a');
      gates.open('a again');
      await until(
        'the end',
        () => other.get(stream.task!.id),
        ({ status }) => status.state === 'completed',
      );
    }
    assert.equal(seen.at(-1), 'task completed');
    assert.equal(artifactText(stream.task!), 'begun and done');
  },

  async 'is not asked again by a client that may not, which says so'(t, server) {
    const { connect, cut, gates } = await start(t, server);
    const client = await connect({ retry: { attempts: 0 } });
    const stream = client.stream('hold a');
    await assert.rejects(
      async () => {
        for await (const item of stream) if (short(item) === '"begun "') cut();
      },
      (error) => {
        assert.ok(error instanceof ConnectionError);
        assert.equal(error.reason, 'broken');
        return true;
      },
    );
    gates.open('a');
    gates.open('a again');
  },
};

for (const server of SERVERS) {
  for (const [does, scenario] of Object.entries(SCENARIOS)) {
    test(`${server.name} ${does}`, (t) => {
      noteScenario(t, does, server.name, 'server');
      return scenario(t, server);
    });
  }
}
