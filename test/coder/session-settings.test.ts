/** Settings count in the first message of a session. A later message cannot change them, whatever it says. */
import assert from 'node:assert/strict';
import { existsSync, mkdirSync, readFileSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import type { ScriptedResponse } from '../../src/agent/models/scripted.ts';
import { EXTENSION_URI } from '../../src/protocol/development-tool/index.ts';
import type { Message } from '../../src/protocol/index.ts';
import { RawClient } from '../live/raw-client.ts';
import { serveSession } from '../live/support.ts';
import { newTask, post, say } from './flat-support.ts';
import {
  callIn,
  confirmation,
  makePlace,
  rpc,
  startCoder,
  stream,
  userMessage,
  type StartOptions,
} from './support.ts';
import { WIRES } from './wires.ts';

const PWD: ScriptedResponse = [
  { call: { name: 'run_shell_command', args: { command: 'pwd > where.txt' } } },
];
const done = (text: string): ScriptedResponse => [{ text }];
const settings = (value: unknown) => ({ metadata: { [EXTENSION_URI]: value } });
const withSettings = (value: unknown, more: Partial<Message> = {}) =>
  userMessage('hello', { ...settings(value), ...more });

async function start(t: TestContext, options: StartOptions = {}) {
  const place = makePlace(t);
  const inner = join(place.workspace, 'inner');
  mkdirSync(inner);
  const started = await startCoder(t, place, options);
  return { ...started, ...place, inner };
}

/** Begins a turn whose command waits for an approval. */
async function asked(url: string) {
  const events = await stream(url, userMessage('where?'));
  const call = events.map(callIn).findLast((each) => each !== undefined);
  const last = events.at(-1);
  assert.ok(last?.kind === 'status-update' && call);
  const { taskId, contextId } = last;
  const yes = { tool_call_id: call.tool_call_id, selected_option_id: 'proceed_once' };
  return { taskId, contextId, yes };
}

const stateOf = async (url: string, id: string) =>
  (await rpc(url, 'tasks/get', { id })).result?.status.state;

test('a confirmation cannot move the command that it approves to another folder, on any wire', async (t) => {
  const { url, workspace, inner } = await start(t, { script: [PWD, done('Done.')] });
  const { taskId, yes } = await asked(url);
  for (const [wire, send] of Object.entries(WIRES)) {
    for (const other of [{ workspace_path: inner }, { autoExecute: true }]) {
      const message = { ...confirmation(taskId, yes), ...settings(other) };
      const { error = '', code, body } = await send(url, message);
      assert.match(error, /differs from the setting of this session/, wire);
      assert.ok(code === -32602 || code === 400, `${wire}: ${body}`);
    }
  }
  const agentSettings = { workspacePath: inner };
  const userMessage = { kind: 'tool-call-confirmation', toolCallId: yes.tool_call_id };
  const flat = { taskId, agentSettings, userMessage: { ...userMessage, approved: true } };
  const { status } = await post(`${url}/message/stream`, flat);
  assert.equal(status, 400);
  assert.equal(await stateOf(url, taskId), 'input-required', 'nothing has changed');
  await stream(url, confirmation(taskId, yes));
  assert.equal(readFileSync(join(workspace, 'where.txt'), 'utf8').trim(), workspace);
  assert.ok(!existsSync(join(inner, 'where.txt')));
});

test('equal settings have no effect, with any spelling of the path', async (t) => {
  const script = [PWD, done('Done.'), done('Again.'), done('New task.'), done('Flat.')];
  const { url, workspace, home } = await start(t, { script });
  const link = join(home, 'link');
  symlinkSync(workspace, link);
  const { taskId, contextId, yes } = await asked(url);
  const same = settings({ workspace_path: `${link}/inner/..`, autoExecute: false, mcpServers: {} });
  await stream(url, { ...confirmation(taskId, yes), ...same });
  assert.equal(readFileSync(join(workspace, 'where.txt'), 'utf8').trim(), workspace);
  await stream(url, userMessage('again', { taskId, ...same }));
  await stream(url, userMessage('a new task', { contextId, ...same }));
  const agentSettings = { workspacePath: workspace };
  const events = await say(url, { contextId, userMessage: 'flat', agentSettings });
  assert.equal(events.at(-1)?.state, 'completed');
});

test('a new task of the same conversation cannot have other settings', async (t) => {
  const { url, inner } = await start(t, {
    script: [done('One.'), done('Two.'), PWD],
    allowAutoExecute: true,
  });
  const first = await stream(url, withSettings({ workspace_path: inner }));
  const { contextId } = first.at(-1) as { contextId: string };
  for (const [wire, send] of Object.entries(WIRES)) {
    for (const other of [
      { autoExecute: true },
      { workspace_path: join(inner, '..') },
      { mcpServers: { a: { url: 'https://mcp.example/' } } },
    ]) {
      const { error = '' } = await send(url, withSettings(other, { contextId }));
      assert.match(error, /differs from the setting of this session/, wire);
    }
  }
  const made = await post(`${url}/tasks`, { contextId, agentSettings: { autoExecute: true } });
  assert.equal(made.status, 400);
  // Settings that are missing are those in force: this turn works in the inner folder, too.
  await stream(url, withSettings({ autoExecute: false }, { contextId }));
  const events = await stream(url, userMessage('where?', { contextId }));
  const call = events.map(callIn).findLast((each) => each !== undefined);
  const details = call?.confirmation_request?.execute_details;
  assert.equal(details?.working_directory, inner);
});

test('of two first messages of a conversation, one decides about the settings', async (t) => {
  const { url, inner } = await start(t, { script: [done('One.'), done('Two.')] });
  const contextId = 'shared-by-two';
  const send = (value: object) =>
    rpc(url, 'message/send', { message: withSettings(value, { contextId }) });
  const replies = await Promise.all([
    send({ workspace_path: inner }),
    send({ workspace_path: join(inner, '..') }),
  ]);
  const refused = replies.filter(({ error }) => error !== undefined);
  assert.deepEqual(
    refused.map(({ error }) => error?.code),
    [-32602],
  );
});

test('a task that was made before the conversation got other settings is refused', async (t) => {
  const place = makePlace(t);
  const inner = join(place.workspace, 'inner');
  mkdirSync(inner);
  const { url } = await startCoder(t, place, { script: [done('One.')] });
  const contextId = 'made-early';
  const agentSettings = { workspacePath: inner };
  const taskId = await newTask(url, { contextId, agentSettings });
  await stream(url, userMessage('first', { contextId }));
  const { error } = await rpc(url, 'message/send', { message: userMessage('second', { taskId }) });
  assert.equal(error?.code, -32602);
  assert.equal(await stateOf(url, taskId), 'submitted');
});

test('wrong and misplaced settings are errors', async (t) => {
  const { url, inner } = await start(t, { script: [PWD] });
  const { taskId, contextId, yes } = await asked(url);
  const wrong: readonly [metadata: Record<string, unknown>, reason: RegExp][] = [
    [{ [EXTENSION_URI]: { workspacePath: inner } }, /workspacePath; use workspace_path/],
    [{ [EXTENSION_URI]: { kind: 'agent-settings', workspacePath: inner } }, /workspace_path/],
    [{ [EXTENSION_URI]: { auto_execute: true } }, /use autoExecute/],
    [{ [EXTENSION_URI]: { autoExecute: 'yes' } }, /autoExecute/],
    [{ [EXTENSION_URI]: { workspace_path: 7 } }, /workspace_path/],
    [{ [EXTENSION_URI]: { workspace_path: 'inner' } }, /workspace_path/],
    [{ [EXTENSION_URI]: [inner] }, /AgentSettings/],
    [{ [EXTENSION_URI]: inner }, /AgentSettings/],
    [{ workspace_path: inner }, /metadata\.workspace_path: settings must be in message\.metadata/],
    [{ autoExecute: true }, /metadata\.autoExecute/],
    [
      { [EXTENSION_URI]: { mcpServers: { a: { url: `https://x/${'x'.repeat(70_000)}` } } } },
      /64 KB/,
    ],
  ];
  for (const [metadata, reason] of wrong) {
    for (const place of [{}, { contextId }, { taskId }]) {
      const message = userMessage('hello', { metadata, ...place });
      const { error } = await rpc(url, 'message/send', { message });
      assert.equal(error?.code, -32602, JSON.stringify(metadata).slice(0, 200));
      assert.match(error.message, reason);
    }
  }
  const message = confirmation(taskId, yes);
  for (const metadata of [{ [EXTENSION_URI]: { workspace_path: inner } }, { autoExecute: true }]) {
    const { error } = await rpc(url, 'message/send', { message, metadata });
    assert.equal(error?.code, -32602, 'settings of the request');
    assert.match(error.message, /settings must be in message\.metadata/);
  }
  const flat: readonly [body: object, reason: RegExp][] = [
    [{ agentSettings: { workspace_path: inner } }, /workspace_path/],
    [{ agentSettings: { autoexecute: true } }, /autoexecute/],
    [{ workspacePath: inner }, /workspacePath: must be in agentSettings/],
    [{ autoExecute: true }, /autoExecute: must be in agentSettings/],
  ];
  for (const [body, reason] of flat) {
    const replies = [
      await post(`${url}/tasks`, body),
      await post(`${url}/message/stream`, { ...body, userMessage: 'hello' }),
    ];
    for (const reply of replies) {
      assert.equal(reply.status, 400, JSON.stringify(body));
      assert.match((reply.body as { error: string }).error, reason);
    }
  }
  assert.equal(await stateOf(url, taskId), 'input-required');
});

test("in a live session the terminal's settings are in force, for every wire and from the first message", async (t) => {
  const script = [done('One.'), done('Two.')];
  const session = await serveSession(t, { script, allowAutoExecute: true, allowClientMcp: true });
  const { url, ws, live, place } = session;
  const inner = join(place.workspace, 'inner');
  mkdirSync(inner);
  const client = new RawClient(t, ws);
  await client.snapshot();
  const others = [
    { workspace_path: inner },
    { autoExecute: true },
    { mcpServers: { a: { command: 'true' } } },
  ];
  for (const turn of [1, 2]) {
    for (const other of others) {
      const message = withSettings(other);
      const reply = await client.ask('message/send', { message });
      assert.equal(reply.error?.code, -32602, `/ws, turn ${turn}`);
      for (const [wire, send] of Object.entries(WIRES)) {
        for (const where of [{}, { taskId: live.taskId }, { contextId: live.contextId }]) {
          const { error = '' } = await send(url, withSettings(other, where));
          assert.match(error, /differs from the setting of this session/, `${wire}, turn ${turn}`);
        }
      }
    }
    const same = withSettings({ workspace_path: place.workspace, autoExecute: false });
    assert.equal((await client.ask('message/send', { message: same })).error, undefined);
    await client.state('completed', turn);
  }
});
