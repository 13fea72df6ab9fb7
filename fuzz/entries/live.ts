/** The live port of a coding agent: A2A and ACP over WebSocket, ACP over HTTP, and the flat API. */
import { once } from 'node:events';
import { WebSocket } from 'ws';
import { offlineModel } from '../../src/agent/models/offline.ts';
import { isObject } from '../../src/base/index.ts';
import { startLive } from '../../test/acp/support.ts';
import { KEYS, message, rpcRequest } from '../a2a.ts';
import { recorded } from '../corpus.ts';
import { check, type Entry, type Input, type Target } from '../entry.ts';
import { ask, type Asked, checkStatus, valuesIn } from '../http.ts';
import { mutateJson, mutateText } from '../mutate.ts';
import type { Random } from '../random.ts';
import { json, jsonText, text, toBytes, type Json } from '../values.ts';
import { checkError } from './server.ts';

const QUIET_MS = 8;
const RECORDED = recorded();

async function open() {
  const ends: (() => unknown)[] = [];
  const t = { after: (end: () => unknown) => void ends.unshift(end) };
  const { url, live, workspace } = await startLive(t, { model: offlineModel(), mode: 'plan' });
  return {
    url,
    workspace,
    known: { tasks: [live.contextId] },
    async [Symbol.asyncDispose]() {
      for (const end of ends) await end();
    },
  };
}

const ACP_KEYS = [
  ['sessionId', 'prompt', 'cwd', 'mcpServers', 'type', 'text', 'content', 'uri', 'data', 'modeId'],
  ['clientCapabilities', 'protocolVersion', 'clientInfo', 'outcome', 'optionId', 'configId'],
].flat();

function acpRequest(random: Random, session: string): Json {
  const sessionId = random.once(5) ? text(random) : session;
  const [method, params] = random.pick<readonly [string, Json]>([
    ['initialize', { protocolVersion: 1, clientCapabilities: { fs: { readTextFile: true } } }],
    ['authenticate', { methodId: text(random) }],
    ['session/new', { cwd: '/', mcpServers: [] }],
    ['session/load', { sessionId, cwd: '/', mcpServers: [] }],
    ['session/list', { cwd: '/' }],
    ['session/prompt', { sessionId, prompt: [{ type: 'text', text: text(random) }] }],
    ['session/cancel', { sessionId }],
    ['session/set_mode', { sessionId, modeId: text(random) }],
    ['session/set_config_option', { sessionId, configId: 'mode', value: text(random) }],
    ['$/cancel_request', { requestId: random.int(5) }],
    [text(random), json(random, ACP_KEYS)],
  ]);
  const request: Json = { jsonrpc: '2.0', method, params };
  if (!random.once(6)) request['id'] = random.once(6) ? json(random) : random.int(9);
  return request;
}

const OWN_METHODS: readonly (readonly [string, Json])[] = [
  ['session/confirm', { tool_call_id: 'x', selected_option_id: 'proceed_once' }],
  ['commands/get', {}],
  ['command/execute', { command_path: ['help'], args: [''] }],
  ['session/clients', {}],
];

function liveRequest(random: Random, tasks: readonly string[]): Json {
  if (random.once(4)) return mutateJson(random, random.pick(RECORDED), KEYS);
  if (random.once(2)) return rpcRequest(random, '0.3', { tasks });
  const [method, params] = random.pick(OWN_METHODS);
  return { jsonrpc: '2.0', id: random.int(9), method, params };
}

/** One connection for each case. Each line of the text is a frame. */
function openSocket(protocol: 'a2a' | 'acp') {
  return async (): Promise<Target> => {
    const server = await open();
    const [session = ''] = server.known.tasks;
    const keys = protocol === 'acp' ? ACP_KEYS : KEYS;
    return {
      make(random): Input {
        const frames = Array.from({ length: 1 + random.int(4) }, () => {
          const request =
            protocol === 'acp'
              ? acpRequest(random, session)
              : liveRequest(random, server.known.tasks);
          return jsonText(random, random.once(2) ? request : mutateJson(random, request, keys));
        });
        if (protocol === 'acp' && !random.once(4)) {
          frames.unshift(
            '{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":1}}',
          );
        }
        const whole = frames.map((frame) => frame.replaceAll('\n', ' ')).join('\n');
        return { text: random.once(4) ? mutateText(random, whole, frames) : whole };
      },
      async run({ text: source }) {
        const socket = new WebSocket(`${server.url.replace('http', 'ws')}/ws`, protocol);
        const received: string[] = [];
        const closed = once(socket, 'close');
        socket.on('error', () => undefined);
        await once(socket, 'open');
        let quiet = setTimeout(() => socket.close(), QUIET_MS);
        socket.on('message', (data: Buffer) => {
          received.push(data.toString());
          clearTimeout(quiet);
          quiet = setTimeout(() => socket.close(), QUIET_MS);
        });
        for (const frame of source.split('\n')) socket.send(toBytes(frame).toString('utf8'));
        const [code] = (await closed) as [number];
        clearTimeout(quiet);
        check(code !== 1011, 'the socket is closed with 1011');
        for (const frame of received) {
          const value: unknown = JSON.parse(frame);
          check(isObject(value) && value['jsonrpc'] === '2.0', 'a frame is not JSON-RPC', frame);
          checkError(value['error'], frame);
        }
      },
      [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
    };
  };
}

const FLAT: readonly (readonly [string, string, Json])[] = [
  ['POST', '/tasks', { contextId: 'c', agentSettings: { workspacePath: '/x' } }],
  ['POST', '/message/stream', { userMessage: { kind: 'text-content', text: 'list' } }],
  ['POST', '/message/stream', { userMessage: 'list', contextId: 'c', taskId: 't' }],
  ['GET', '/tasks/ID/metadata', null],
  ['GET', '/tasks/metadata?limit=2&cursor=x', null],
  ['GET', '/listCommands?contextId=c', null],
  ['POST', '/executeCommand', { command: 'help', args: ['x'] }],
];

/** The flat API, ACP over HTTP and A2A over HTTP on the same port. */
async function openHttp(): Promise<Target> {
  const server = await open();
  const [session = ''] = server.known.tasks;
  return {
    make(random): Input {
      const headers = { 'content-type': 'application/json' };
      const choice = random.int(4);
      if (choice === 0) {
        const head = { method: 'POST', path: '/acp', headers };
        const request = acpRequest(random, session);
        return { text: jsonText(random, mutateJson(random, request, ACP_KEYS)), head };
      }
      if (choice === 1) {
        const params = { message: message(random, '0.3', server.known), blocking: false };
        const body: Json = { jsonrpc: '2.0', id: 1, method: 'message/stream', params };
        return { text: jsonText(random, body), head: { method: 'POST', path: '/', headers } };
      }
      const [method, path, body] = random.pick(FLAT);
      const id = encodeURIComponent(text(random).slice(0, 200).toWellFormed());
      const query = random.once(3) ? mutateText(random, path).replaceAll('#', '') : path;
      const whole = `/${query.replace(/^\//, '')}`.replace('ID', id);
      const changed = random.once(3) ? body : mutateJson(random, body, Object.keys(body ?? {}));
      return { text: jsonText(random, changed), head: { method, path: whole, headers } };
    },
    async run({ text: body, head }) {
      const answer = await ask(server.url, head as Asked, body);
      checkStatus(answer);
      if (answer.status < 300) valuesIn(answer);
    },
    [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
  };
}

export const LIVE: readonly Entry[] = [
  { name: 'live-a2a', share: 3, open: openSocket('a2a') },
  { name: 'live-acp', share: 3, open: openSocket('acp') },
  { name: 'live-http', share: 8, open: openHttp },
];
