/** Slash commands over JSON-RPC, REST and the flat API; the extension's version; what is required. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { CommandService } from '../../src/coder/commands/service.ts';
import {
  EXTENSION_URI,
  type ExecuteSlashCommandRequest,
  type SlashCommand,
} from '../../src/protocol/development-tool/index.ts';
import type { Task } from '../../src/protocol/index.ts';
import { get, newTask, post, say } from './flat-support.ts';
import { makePlace, rpc, startCoder, userMessage } from './support.ts';

const MEMORY: SlashCommand = {
  name: 'memory',
  description: 'What is remembered',
  arguments: [],
  sub_commands: [
    {
      name: 'add',
      description: 'Remembers something',
      arguments: [{ name: 'text', description: 'What', is_required: true }],
      sub_commands: [],
    },
  ],
};

/** Commands that are turns of the agent, as a client's own words would be. */
function commandsThat(record: ExecuteSlashCommandRequest[]): CommandService {
  return {
    list: () => Promise.resolve([MEMORY]),
    async execute(request, call, handler) {
      record.push(request);
      if (request.args === 'nothing') {
        return { execution_id: '', status: 'FAILED_TO_START', message: 'text: is missing' };
      }
      const message = userMessage(request.args);
      const configuration = { blocking: false };
      const task = (await handler.sendMessage({ message, configuration }, call)) as Task;
      return { execution_id: task.id, status: 'STARTED' };
    },
  };
}

async function start(t: Parameters<typeof startCoder>[0], script: string[] = []) {
  const record: ExecuteSlashCommandRequest[] = [];
  const { url } = await startCoder(t, makePlace(t), {
    commands: commandsThat(record),
    script: script.map((text) => [{ text }]),
  });
  return { url, record };
}

test('commands/get and GET /commands list the same', async (t) => {
  const { url } = await start(t);
  const { result } = await rpc(url, 'commands/get', {});
  assert.deepEqual(result, { commands: [MEMORY] });
  assert.deepEqual(await get(`${url}/commands`), { status: 200, body: { commands: [MEMORY] } });
  const newer = { 'a2a-version': '1.0' };
  const body = { jsonrpc: '2.0', id: 1, method: 'commands/get' };
  const reply = await post(url, body, newer);
  assert.deepEqual(reply.body, { jsonrpc: '2.0', id: 1, result: { commands: [MEMORY] } });
});

test('command/execute starts a task, whose events follow by its id', async (t) => {
  const { url, record } = await start(t, ['noted', 'noted again']);
  const request = { command_path: ['memory', 'add'], args: 'buy milk' };
  const started = (await rpc(url, 'command/execute', request)).result as unknown as {
    execution_id: string;
    status: string;
  };
  assert.equal(started.status, 'STARTED');
  const headers = { 'last-event-id': '0' };
  const params = { id: started.execution_id };
  const body = { jsonrpc: '2.0', id: 1, method: 'tasks/resubscribe', params };
  const events = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify(body),
  });
  assert.match(await events.text(), /"text":"noted"/);
  const rest = await post(`${url}/commands:execute`, request);
  assert.equal((rest.body as { status: string }).status, 'STARTED');
  assert.deepEqual(record, [request, request]);
});

test('a request that names no command is refused before anything starts', async (t) => {
  const { url, record } = await start(t);
  const { error } = await rpc(url, 'command/execute', { args: 'buy milk' });
  assert.equal(error?.code, -32602);
  assert.match(error.message, /command_path/);
  assert.equal((await post(`${url}/commands:execute`, { command_path: [] })).status, 400);
  assert.equal((await post(`${url}/executeCommand`, {})).status, 400);
  assert.deepEqual(record, []);
});

test('listCommands and executeCommand are the same in other words', async (t) => {
  const { url, record } = await start(t, ['noted', 'noted again']);
  const { body } = await get(`${url}/listCommands`);
  assert.deepEqual(body, {
    commands: [
      {
        name: 'memory',
        description: 'What is remembered',
        arguments: [],
        subCommands: [
          {
            name: 'add',
            description: 'Remembers something',
            arguments: [{ name: 'text', description: 'What', isRequired: true }],
            subCommands: [],
          },
        ],
      },
    ],
  });
  const done = await post(`${url}/executeCommand`, {
    command: '/memory add',
    args: ['buy', 'milk'],
  });
  assert.deepEqual(done, { status: 200, body: { name: 'memory add', data: 'noted' } });
  // The commands below may be among the arguments.
  await post(`${url}/executeCommand`, { command: 'memory', args: ['add', 'buy milk'] });
  const request = { command_path: ['memory', 'add'], args: 'buy milk' };
  assert.deepEqual(record, [request, request]);
});

test('a command that is not there is 404, one that does not start says why', async (t) => {
  const { url } = await start(t);
  const none = await post(`${url}/executeCommand`, { command: 'dance', args: [] });
  assert.deepEqual(none, { status: 404, body: { error: 'Unknown command dance' } });
  const below = await post(`${url}/executeCommand`, { command: 'memory dance' });
  assert.equal(below.status, 404);
  const failed = await post(`${url}/executeCommand`, { command: 'memory add', args: ['nothing'] });
  assert.deepEqual(failed, { status: 400, body: { error: 'text: is missing' } });
});

test('a command that asks says so, with the task that waits for the answer', async (t) => {
  const write = { call: { name: 'write_file', args: { path: 'a.txt', content: 'a' } } };
  const { url } = await startCoder(t, makePlace(t), {
    commands: commandsThat([]),
    script: [[write], [{ error: { status: 400, message: 'no' } }]],
  });
  const { body } = await post(`${url}/executeCommand`, { command: 'memory', args: ['write'] });
  const { data } = body as { data: { taskId: string; state: string } };
  assert.equal(data.state, 'input-required');
  const { result } = await rpc(url, 'tasks/get', { id: data.taskId });
  assert.equal(result?.status.state, 'input-required');
  const failed = await post(`${url}/executeCommand`, { command: 'memory', args: ['fail'] });
  assert.equal(failed.status, 500);
  assert.match((failed.body as { error: string }).error, /The model gave no answer/);
});

const at = (version: string): string => EXTENSION_URI.replace('/v0/', `/${version}/`);

test('another major version of the extension is refused, and told which is served', async (t) => {
  const { url } = await startCoder(t, makePlace(t), { script: [[{ text: 'Hello.' }]] });
  const message = userMessage('hello');
  const body = { jsonrpc: '2.0', id: 1, method: 'message/send', params: { message } };
  const refused = await post(url, body, { 'x-a2a-extensions': at('v1') });
  const { error } = refused.body as { error: { code: number; message: string } };
  assert.equal(error.code, -32008);
  assert.ok(error.message.includes(EXTENSION_URI));

  const taskId = await newTask(url);
  for (const said of [
    userMessage('hello', { metadata: { [at('v2')]: {} } }),
    userMessage('hello', { extensions: [at('v2')] }),
    userMessage('hello', { taskId, metadata: { [at('v2')]: {} } }),
  ]) {
    const answer = await rpc(url, 'message/send', { message: said });
    assert.equal(answer.error?.code, -32008);
  }
  const minor = await post(url, body, { 'x-a2a-extensions': at('v0.3') });
  assert.equal((minor.body as { result: Task }).result.status.state, 'completed');
});

test('settings that cannot be met are refused, and the task still waits for its first message', async (t) => {
  const { url } = await startCoder(t, makePlace(t));
  const taskId = await newTask(url);
  const metadata = { [EXTENSION_URI]: { workspace_path: '/etc' } };
  const { error } = await rpc(url, 'message/send', {
    message: userMessage('hello', { taskId, metadata }),
  });
  assert.equal(error?.code, -32602);
  assert.match(error.message, /must be a folder inside a workspace/);
  const { result } = await rpc(url, 'tasks/get', { id: taskId });
  assert.equal(result?.status.state, 'submitted');
});

test('where the extension is required, those who do not name it are refused', async (t) => {
  const extensions = [{ uri: EXTENSION_URI, required: true }];
  const { url } = await startCoder(t, makePlace(t), {
    profile: { extensions },
    script: [[{ text: 'Hello.' }]],
  });
  const nameless = { jsonrpc: '2.0', id: 1, method: 'commands/get' };
  const { body } = await post(url, nameless);
  assert.equal((body as { error: { code: number } }).error.code, -32008);
  assert.equal((await get(`${url}/commands`)).status, 400);
  assert.equal((await rpc(url, 'commands/get', {})).error, undefined);
  const events = await say(url, { userMessage: 'hello' });
  assert.equal(events.at(-1)?.state, 'completed', 'the flat API is the extension, in other words');
});
