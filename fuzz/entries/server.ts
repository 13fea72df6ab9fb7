/** The A2A server on a port, with SQLite: JSON-RPC and REST in both versions, and raw bytes. */
import { mkdtempSync, rmSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { isObject } from '../../src/base/index.ts';
import { A2AError, codecOf } from '../../src/protocol/index.ts';
import { createAgent, serve } from '../../src/server.ts';
import { sqliteStore } from '../../src/store/sqlite.ts';
import { KEYS, params, rpcRequest, taskId, type Version } from '../a2a.ts';
import { check, type Entry, type Input, type Target } from '../entry.ts';
import { ask, type Asked, checkStatus, headerText, valuesIn } from '../http.ts';
import { mutateJson, mutateText } from '../mutate.ts';
import type { Random } from '../random.ts';
import { jsonText, text, toBytes } from '../values.ts';

const silent = { debug() {}, info() {}, warn() {}, error() {} };
const MAX_KNOWN = 64;

const agent = createAgent(
  {
    name: 'Fuzzed',
    description: 'Does as it is told',
    reply: (message) => (message.text.startsWith('reply ') ? message.text : undefined),
  },
  async function* (ctx) {
    const [verb] = ctx.text.split(' ', 1);
    if (verb === 'hold') await delay(20, undefined, { signal: ctx.signal }).catch(() => {});
    if (verb === 'ask') yield (await ctx.ask('Which city?')).text;
    if (verb === 'auth') yield (await ctx.ask('Sign in', { auth: true })).text;
    if (verb === 'fail') throw new Error('the cause stays here');
    yield ctx.text;
  },
);

async function open() {
  const folder = mkdtempSync(path.join(tmpdir(), 'parley-fuzz-'));
  const store = sqliteStore(path.join(folder, 'tasks.db'));
  const server = serve(agent, { store, logger: silent, limits: { graceMs: 50 } });
  const listening = await server.listen(0);
  const tasks: string[] = [];
  return {
    url: listening.url,
    known: { tasks },
    /** Remembers the tasks in an answer, so that later requests are about them. */
    learn(value: unknown): void {
      const found = /"(?:id|taskId)":"([^"\\]{30,40})"/.exec(JSON.stringify(value) ?? '')?.[1];
      if (found === undefined || tasks.includes(found)) return;
      tasks.push(found);
      if (tasks.length > MAX_KNOWN) tasks.shift();
    },
    async alive(): Promise<void> {
      const asked = { method: 'GET', path: '/.well-known/agent-card.json', headers: {} };
      check((await ask(listening.url, asked, '')).status === 200, 'the server does not answer');
    },
    async [Symbol.asyncDispose]() {
      await listening.close(0);
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

function headersFor(random: Random, version: Version): Record<string, string> {
  const headers: Record<string, string> = { 'content-type': 'application/json' };
  if (version === '1.0') headers['a2a-version'] = '1.0';
  if (random.once(20)) headers['a2a-version'] = headerText(random);
  if (random.once(20)) headers['content-type'] = headerText(random);
  if (random.once(20)) headers['accept'] = headerText(random);
  if (random.once(20)) headers['last-event-id'] = headerText(random);
  if (random.once(20)) headers['a2a-extensions'] = headerText(random);
  if (random.once(30)) headers['origin'] = headerText(random);
  return headers;
}

const versionIn = (random: Random): Version => (random.once(2) ? '0.3' : '1.0');

async function openRpc(): Promise<Target> {
  const server = await open();
  return {
    make(random): Input {
      const version = versionIn(random);
      const request = rpcRequest(random, version, server.known);
      const changed = random.once(3) ? request : mutateJson(random, request, KEYS);
      const written = jsonText(random, changed);
      const head = { method: 'POST', path: '/', headers: headersFor(random, version) };
      return { text: random.once(5) ? mutateText(random, written) : written, head };
    },
    async run(input) {
      const answer = await ask(server.url, input.head as Asked, input.text);
      checkStatus(answer);
      for (const value of valuesIn(answer)) {
        if (answer.status !== 200) continue;
        check(isObject(value) && value['jsonrpc'] === '2.0', 'not JSON-RPC', answer.text);
        check(
          'result' in value !== 'error' in value,
          'neither or both of result and error',
          answer.text,
        );
        checkError(value['error'], answer.text);
        server.learn(value['result']);
        checkEvent(value['result']);
      }
    },
    [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
  };
}

export function checkError(error: unknown, whole: string): void {
  if (error === undefined) return;
  check(isObject(error) && Number.isInteger(error['code']), 'an error without a code', whole);
  check(typeof error['message'] === 'string', 'an error without a message', whole);
  check(error['code'] !== -32603, 'an internal error', whole);
}

const CODECS = (['0.3', '1.0'] as const).map((version) => codecOf(version, 'JSONRPC'));

/** A task, a message or an update must be valid in one of the versions. */
function checkEvent(value: unknown): void {
  if (!isObject(value)) return;
  const isEvent = ['kind', 'task', 'statusUpdate', 'artifactUpdate'].some((key) => key in value);
  if (!isEvent) return;
  const reads = CODECS.some((codec) => {
    try {
      return codec.decodeEvent(value) !== undefined;
    } catch (error) {
      if (error instanceof A2AError) return false;
      throw error;
    }
  });
  check(reads, 'an event that our own client does not read', JSON.stringify(value));
}

const VERBS = ['GET', 'POST', 'PUT', 'DELETE', 'PATCH'];

async function openRest(): Promise<Target> {
  const server = await open();
  return {
    make(random): Input {
      const version = versionIn(random);
      const id = encodeURIComponent(taskId(random, server.known).toWellFormed());
      const odd = encodeURIComponent(text(random).slice(0, 200).toWellFormed());
      const [method, route] = random.pick([
        ['POST', '/message:send'],
        ['POST', '/message:send'],
        ['POST', '/message:stream'],
        ['GET', `/tasks/${id}?historyLength=${odd}`],
        ['GET', `/tasks?pageSize=${odd}&contextId=${odd}&status=${odd}`],
        ['POST', `/tasks/${id}:cancel`],
        ['GET', `/tasks/${id}:subscribe`],
        ['GET', `/tasks/${id}/events?after=${odd}`],
        ['POST', `/tasks/${id}/pushNotificationConfigs`],
        ['GET', `/tasks/${id}/pushNotificationConfigs/${odd}`],
        ['DELETE', `/tasks/${id}/pushNotificationConfigs/${odd}`],
        ['GET', version === '1.0' ? '/extendedAgentCard' : '/card'],
        ['GET', `/${odd}/tasks/${id}`],
      ] as const);
      const whole = (version === '0.3' ? '/v1' : '') + route;
      const head: Asked = {
        method: random.once(20) ? random.pick(VERBS) : method,
        path: random.once(10) ? `/${mutateText(random, whole).replaceAll('#', '')}` : whole,
        headers: headersFor(random, version),
      };
      const operation = /push/.test(route) ? 'CreateTaskPushNotificationConfig' : 'SendMessage';
      const body = params(random, version, operation, server.known);
      const written = jsonText(random, random.once(3) ? body : mutateJson(random, body, KEYS));
      return { text: random.once(6) ? mutateText(random, written) : written, head };
    },
    async run(input) {
      const answer = await ask(server.url, input.head as Asked, input.text);
      checkStatus(answer);
      for (const value of valuesIn(answer)) server.learn(value);
    },
    [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
  };
}

const REQUESTS = [
  'POST / HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}',
  'POST / HTTP/1.1\r\nHost: 127.0.0.1\r\nTransfer-Encoding: chunked\r\n\r\n1\r\n{\r\n1\r\n}\r\n0\r\n\r\n',
  'GET /tasks HTTP/1.1\r\nHost: localhost\r\nA2A-Version: 1.0\r\nConnection: close\r\n\r\n',
  'GET /ws HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n',
  'OPTIONS / HTTP/1.1\r\nHost: 127.0.0.1\r\nOrigin: https://x\r\nExpect: 100-continue\r\n\r\n',
];

/** Bytes on a socket, in chunks. The server must answer others afterwards. */
async function openBytes(): Promise<Target> {
  const server = await open();
  const port = Number(new URL(server.url).port);
  return {
    make: (random) => ({
      text: mutateText(random, random.pick(REQUESTS), REQUESTS),
      head: random.int(40),
    }),
    async run({ text: source, head }) {
      const received = await new Promise<string>((resolve) => {
        const socket = connect(port, '127.0.0.1');
        let got = '';
        const bytes = toBytes(source);
        socket.on('data', (chunk) => {
          got += chunk.toString('latin1');
          socket.end();
        });
        socket.on('error', () => undefined);
        socket.on('close', () => resolve(got));
        socket.setTimeout(15, () => socket.destroy());
        socket.write(bytes.subarray(0, Number(head)));
        setImmediate(() => socket.writable && socket.end(bytes.subarray(Number(head))));
      });
      const status = Number(/^HTTP\/1\.1 (\d+)/.exec(received)?.[1] ?? 0);
      check(status !== 500, 'bytes get 500', received);
      await server.alive();
    },
    [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
  };
}

export const SERVER: readonly Entry[] = [
  { name: 'json-rpc', share: 60, open: openRpc },
  { name: 'rest', share: 40, open: openRest },
  { name: 'bytes', share: 6, open: openBytes },
];
