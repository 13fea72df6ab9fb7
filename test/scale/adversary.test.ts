/**
 * A hostile client at the port of somebody's terminal, with no token, a wrong one, or that of each role. It tries every
 * method on every wire to write a file, run a command, or change settings, memory, mode or workspace. Nothing may
 * change but by an approval of somebody who may give it, to a question that the terminal has shown.
 */
import assert from 'node:assert/strict';
import { request as rawRequest } from 'node:http';
import { test, type TestContext } from 'node:test';
import { methods as acpMethods } from '@agentclientprotocol/sdk';
import { createCoder } from '../../src/coder/coder.ts';
import { coderServeOptions } from '../../src/coder/serve-options.ts';
import { memorySessions } from '../../src/agent/index.ts';
import { scriptedModel } from '../../src/agent/models/scripted.ts';
import { LIVE_METHODS } from '../../src/live/ws/methods.ts';
import type { LiveToken } from '../../src/live/index.ts';
import {
  EXTENSION_URI,
  waitingCallsIn,
  type ToolCall,
} from '../../src/protocol/development-tool/index.ts';
import {
  codecOf,
  METHODS,
  OPERATIONS,
  VERSIONS,
  type Operation,
  type ParamsOf,
  type Task,
} from '../../src/protocol/index.ts';
import {
  ACP_TRIES,
  approvalsOf,
  LIVE_TRIES,
  METHOD_TRIES,
  OPERATION_TRIES,
  ROUTE_TRIES,
} from '../live/adversary/attacks.ts';
import { messageOf } from '../live/adversary/messages.ts';
import { openWorld, type World } from '../live/adversary/world.ts';
import { makePlace } from '../coder/support.ts';
import { RawClient } from '../live/raw-client.ts';

const TOKENS: readonly LiveToken[] = [
  { name: 'viewer', roles: ['view'], token: 'token-of-viewer' },
  { name: 'prompter', roles: ['view', 'prompt'], token: 'token-of-prompter' },
  { name: 'approver', roles: ['view', 'approve'], token: 'token-of-approver' },
  { name: 'member', roles: ['view', 'prompt', 'approve'], token: 'token-of-member' },
];
const APPROVERS = ['terminal', 'approver', 'member'];

/** How many prompts are sent before what they have started is rejected at the terminal. The queue takes 64. */
const WAVE = 45;

class Hostile {
  readonly #t: TestContext;
  readonly #world: World;
  readonly #token: string | undefined;
  readonly #streams = new Set<AbortController>();

  constructor(t: TestContext, world: World, token: string | undefined) {
    this.#t = t;
    this.#world = world;
    this.#token = token;
  }

  /** One request. Streams are left open until `hangUp`, as are requests whose answer takes long. */
  async request(
    path: string,
    { verb = 'POST', body, version }: { verb?: string; body?: unknown; version?: string } = {},
  ): Promise<unknown> {
    const abort = new AbortController();
    this.#streams.add(abort);
    const answered = fetch(this.#world.url + path, {
      method: verb,
      signal: abort.signal,
      headers: {
        'content-type': 'application/json',
        'x-a2a-extensions': EXTENSION_URI,
        'a2a-extensions': EXTENSION_URI,
        ...(version !== undefined && { 'a2a-version': version }),
        ...(this.#token !== undefined && { authorization: `Bearer ${this.#token}` }),
      },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    }).then(async (response) => {
      if (!/json/.test(response.headers.get('content-type') ?? '')) return undefined;
      const answer: unknown = await response.json();
      this.#streams.delete(abort);
      return answer;
    });
    answered.catch(() => undefined);
    const late = new Promise<void>((resolve) => setTimeout(resolve, 15));
    return Promise.race([answered.catch(() => undefined), late]);
  }

  rpc(method: string, params: unknown, version: string): Promise<unknown> {
    return this.request('/', { body: { jsonrpc: '2.0', id: 1, method, params }, version });
  }

  hangUp(): void {
    for (const each of this.#streams) each.abort();
    this.#streams.clear();
  }

  socket(path: string, protocol: 'a2a' | 'acp'): RawClient {
    const { url } = this.#world;
    const token = this.#token === undefined ? [] : [`token.${this.#token}`];
    return new RawClient(this.#t, url.replace('http', 'ws') + path, [protocol, ...token]);
  }

  /** Approves whatever waits in any task, in every way. */
  async approveAll(): Promise<void> {
    const listed = (await this.rpc('tasks/list', { pageSize: 100 }, '0.3')) as {
      readonly result?: { readonly tasks?: readonly { readonly id: string }[] };
    };
    for (const { id } of listed?.result?.tasks ?? []) {
      const { result } = ((await this.rpc('tasks/get', { id }, '0.3')) ?? {}) as { result?: Task };
      if (result?.status.state !== 'input-required') continue;
      for (const params of approvalsOf(id, waitingCallsIn(result))) {
        await this.rpc('message/send', params, '0.3');
      }
    }
  }
}

type Try = (hostile: Hostile) => Promise<unknown>;

/** An operation in both versions, as JSON-RPC, as REST, and under a tenant. */
function operationTries(operation: Operation, params: ParamsOf<Operation>, turn: number): Try[] {
  const { names, rest } = METHODS[operation];
  const tries: Try[] = [];
  for (const version of VERSIONS) {
    const body = codecOf(version, 'JSONRPC').encodeParams(operation, params);
    tries.push((hostile) => hostile.rpc(names[version], body, version));
    const restBody = codecOf(version, 'HTTP+JSON').encodeParams(operation, params);
    for (const { verb, path } of rest[version]) {
      const values: Record<string, unknown> = { ...params };
      const filled = path.replaceAll(/\{(\w+)\}/g, (_, name: string) => {
        const value = values[name] ?? values['taskId'];
        return typeof value === 'string' ? value : 'x';
      });
      const sent = { verb, version, ...(verb === 'POST' && { body: restBody }) };
      tries.push((hostile) => hostile.request(filled, sent));
      if (version === '1.0') tries.push((hostile) => hostile.request(`/acme${filled}`, sent));
    }
  }
  // Messages are many: each goes over one of the wires, in turn.
  return METHODS[operation].on === 'message' ? [tries[turn % tries.length]!] : tries;
}

function httpTries(world: World, call: ToolCall): Try[] {
  const own = (operation: Operation): Try[] => {
    const all: readonly ParamsOf<Operation>[] = OPERATION_TRIES[operation](world, call);
    return all.flatMap((params, at) => operationTries(operation, params, at));
  };
  return [
    ...OPERATIONS.flatMap(own),
    ...Object.entries(METHOD_TRIES).flatMap(([method, tries]) =>
      tries(world, call).map(
        (params, at): Try =>
          (hostile) =>
            hostile.rpc(method, params, VERSIONS[at % 2]!),
      ),
    ),
    ...Object.entries(ROUTE_TRIES).flatMap(([route, tries]) => {
      const [verb = '', path = ''] = route.split(' ');
      return tries(world, call).map(
        ({ path: own = path, body }): Try =>
          (hostile) =>
            hostile.request(own, { verb, ...(body && { body }) }),
      );
    }),
  ];
}

/** Frames on a socket, and replies to requests that were never sent. */
function framesOf(tables: typeof LIVE_TRIES, world: World, call: ToolCall): object[] {
  let id = 100;
  const outcome = { outcome: 'selected', optionId: 'proceed_once' };
  return [
    ...Object.entries(tables).flatMap(([method, tries]) =>
      tries(world, call).map((params) => ({ jsonrpc: '2.0', id: ++id, method, params })),
    ),
    ...[0, 1, 2, 3, '0', '1'].map((each) => ({ jsonrpc: '2.0', id: each, result: { outcome } })),
  ];
}

/** Sends the frames. Of the responses, only that to the last frame is waited for. */
async function sendFrames(client: RawClient, frames: readonly object[]): Promise<void> {
  const gone = Promise.race([client.closed, client.refused]).then(() => 'gone' as const);
  if ((await Promise.race([gone, client.opened])) === 'gone') return;
  for (const frame of frames) client.socket.send(JSON.stringify(frame));
  client.socket.send(JSON.stringify({ jsonrpc: '2.0', id: 'last', method: 'no/such' }));
  await Promise.race([gone, client.frame(({ id }) => id === 'last')]);
}

/** Joins the session as an editor has to, before anything else. */
async function joinAsEditor(client: RawClient, world: World): Promise<void> {
  const cwd = world.elsewhere;
  await sendFrames(client, [
    { jsonrpc: '2.0', id: 'first', method: 'initialize', params: { protocolVersion: 1 } },
    { jsonrpc: '2.0', id: 'new', method: 'session/new', params: { cwd, mcpServers: [] } },
  ]);
  const gone = Promise.race([client.closed, client.refused]);
  await Promise.race([gone, client.frame(({ id }) => id === 'new')]);
}

const ROLES = [
  { who: 'without a token', token: undefined, roles: '' },
  { who: 'with a wrong token', token: 'token-of-nobody', roles: '' },
  { who: 'who may only view', token: 'token-of-viewer', roles: 'view' },
  { who: 'who may prompt, and not approve', token: 'token-of-prompter', roles: 'prompt' },
  { who: 'who may approve, and not prompt', token: 'token-of-approver', roles: 'approve' },
  { who: 'who may prompt and approve', token: 'token-of-member', roles: 'prompt approve' },
];

const SOCKETS = [
  ['/ws', 'a2a', LIVE_TRIES],
  ['/ws', 'acp', ACP_TRIES],
  ['/acp', 'acp', ACP_TRIES],
] as const;

/** Ways to change the mode or the model, which one who may prompt and approve has, for all to see. */
function modeTries({ contextId }: World): Try[] {
  return ['/approval auto-edit', '/model offline'].flatMap((command): Try[] => {
    const [name = '', args = ''] = command.trim().slice(1).split(/\s/);
    const configuration = { blocking: false };
    const message = messageOf([{ kind: 'text', text: command }]);
    const body = { command_path: [name], args };
    return [
      (hostile) => hostile.rpc('message/send', { message, configuration }, '0.3'),
      (hostile) => hostile.rpc('command/execute', body, '1.0'),
      (hostile) => hostile.request('/commands:execute', { body: { ...body, contextId } }),
      (hostile) => hostile.request('/executeCommand', { body: { command: name, args: [args] } }),
      (hostile) => hostile.request('/message/stream', { body: { userMessage: command } }),
    ];
  });
}

for (const { who, token, roles } of ROLES) {
  const strict = !roles.includes('approve');
  const prompts = roles.includes('prompt');
  const wave = prompts ? WAVE : Infinity;
  // Approved changes take their time: a short run makes every second attempt with these roles.
  const share = prompts && !strict && process.env['PARLEY_TEST_LONG'] !== '1' ? 2 : 1;
  const some = <T>(all: readonly T[]): T[] => all.filter((_, index) => index % share === 0);
  test(`a client ${who} changes nothing without an approval that the terminal showed`, async (t) => {
    const world = await openWorld(t, TOKENS, APPROVERS, !strict);
    const hostile = new Hostile(t, world, token);
    const problems = new Map<string, string>();
    let explanations = 0;
    const check = async (where: string) => {
      await hostile.approveAll();
      await world.drain();
      hostile.hangUp();
      await world.drain();
      for (const { what, explained } of await world.changes()) {
        if (explained) explanations++;
        const isBad = strict || !explained || what.includes('EVIL');
        if (isBad && !problems.has(what)) problems.set(what, where);
      }
    };
    for (let at = 0, more = true; more; at += wave) {
      const tries = some(httpTries(world, await world.victim()));
      more = at + wave < tries.length;
      for (const attempt of tries.slice(at, at + wave)) await attempt(hostile);
      await check(`HTTP ${at}`);
    }
    for (const [path, protocol, tables] of SOCKETS) {
      for (let at = 0, more = true; more; at += wave) {
        const frames = some(framesOf(tables, world, await world.victim()));
        more = at + wave < frames.length;
        const client = hostile.socket(path, protocol);
        if (protocol === 'acp') await joinAsEditor(client, world);
        await sendFrames(client, frames.slice(at, at + wave));
        await check(`${path} ${protocol} ${at}`);
        client.socket.terminate();
      }
    }
    for (const attempt of modeTries(world)) {
      await attempt(hostile);
      if (prompts && !strict) await check('modes');
    }
    await check('modes');
    assert.deepEqual(
      [...problems].map(([what, where]) => `${where}: ${what}`),
      [],
    );
    // What is allowed did work, so the rest was not refused for another reason.
    const [, name = ''] = /token-of-(.*)/.exec(token ?? '') ?? [];
    const heard = world.shown.prompts.filter(({ by }) => by === name).length;
    assert.equal(heard > 20, prompts, `${heard} prompts`);
    assert.equal(explanations > 0, !strict, `${explanations} approved changes`);
  });
}

test('every method of every wire is tried', async (t) => {
  const { workspace, home } = makePlace(t);
  const coder = await createCoder({
    roots: [workspace],
    sessions: memorySessions(),
    configFolder: home,
    dataFolder: home,
    model: scriptedModel([]),
    logger: { debug() {}, info() {}, warn() {}, error() {} },
  });
  t.after(() => coder.close());
  const { methods, routes } = coderServeOptions(coder);
  const names = (table: object) => Object.keys(table).toSorted();
  assert.deepEqual(names(OPERATION_TRIES), OPERATIONS.toSorted());
  assert.deepEqual(names(METHOD_TRIES), names(methods));
  assert.deepEqual(
    names(ROUTE_TRIES),
    routes.map(({ verb, path }) => `${verb} ${path}`).toSorted(),
  );
  assert.deepEqual(names(LIVE_TRIES), Object.keys(LIVE_METHODS).toSorted());
  assert.deepEqual(names(ACP_TRIES), leaves(acpMethods).toSorted());
});

function leaves(table: object): string[] {
  return Object.values(table).flatMap((each: unknown) =>
    typeof each === 'object' && each !== null ? leaves(each) : [String(each)],
  );
}

test('a request from a web page, or after DNS rebinding, is refused on every path, with every role', async (t) => {
  const world = await openWorld(t, TOKENS, APPROVERS);
  const paths = [
    '/',
    ...OPERATIONS.flatMap((each) => VERSIONS.map((version) => METHODS[each].rest[version][0].path)),
    ...Object.keys(ROUTE_TRIES).map((route) => route.split(' ')[1]!),
  ];
  const { port } = new URL(world.url);
  const foreign: Record<string, string>[] = [
    { host: 'evil.example' },
    { origin: 'http://evil.example' },
  ];
  for (const headers of foreign) {
    for (const path of paths) {
      const status = await new Promise((resolve, reject) => {
        const sent = rawRequest(
          {
            port,
            path,
            method: 'POST',
            headers: {
              ...headers,
              'content-type': 'application/json',
              authorization: 'Bearer token-of-member',
            },
          },
          (response) => {
            response.resume();
            resolve(response.statusCode);
          },
        );
        sent.on('error', reject);
        sent.end('{}');
      });
      assert.equal(status, 403, `${path} ${JSON.stringify(headers)}`);
    }
    for (const path of ['/ws', '/acp']) {
      const url = world.url.replace('http', 'ws') + path;
      const client = new RawClient(t, url, ['acp', 'token.token-of-member'], { headers });
      assert.equal(await client.refused, 403);
    }
  }
  assert.deepEqual(await world.changes(), []);
});
