/** The plain endpoints of the coding agent: what each answers, and the flow that they are made for. */
import assert from 'node:assert/strict';
import { existsSync, mkdirSync, readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { EXTENSION_URI } from '../../src/protocol/development-tool/index.ts';
import { bearerTokens } from '../../src/http/admission.ts';
import { flatOutline, get, newTask, post, say } from './flat-support.ts';
import { confirmation, makePlace, rpc, startCoder, stream, userMessage } from './support.ts';

const WRITE = { call: { name: 'write_file', args: { path: 'hello.txt', content: 'hello\n' } } };
const THOUGHT = { thought: { subject: 'A greeting', description: "I'll create the file." } };

test('code is written as in the flow, event for event', async (t) => {
  const place = makePlace(t);
  const { url } = await startCoder(t, place, {
    script: [[THOUGHT, WRITE], [{ text: "I've created hello.txt." }]],
  });
  const agentSettings = { kind: 'agent-settings', workspacePath: place.workspace };
  const taskId = await newTask(url);
  const first = await say(url, { taskId, userMessage: 'write a greeting', agentSettings });
  assert.deepEqual(first.map(flatOutline), [
    'state-change working',
    'thought',
    'tool-call-update PENDING',
    'tool-call-confirmation',
    'state-change input-required',
  ]);
  const [, thought, pending, request] = first;
  assert.equal(thought?.['description'], "I'll create the file.");
  assert.equal(pending?.['toolName'], 'write_file');
  assert.deepEqual(pending['inputParameters'], WRITE.call.args);
  const { toolCallId } = request!;
  assert.equal(toolCallId, pending.toolCallId);
  const { title, prompt, type } = request!['confirmationRequest'] as Record<string, string>;
  assert.match(title!, /hello\.txt/);
  assert.match(prompt!, /^\+hello$/m);
  assert.equal(type, 'warning');
  assert.equal(existsSync(join(place.workspace, 'hello.txt')), false);
  for (const event of first) assert.equal(event.taskId, taskId);

  const { contextId } = first[0]!;
  const userMessage = { kind: 'tool-call-confirmation', toolCallId, approved: true };
  const second = await say(url, { taskId, contextId, userMessage });
  assert.deepEqual(second.map(flatOutline), [
    'state-change working',
    'tool-call-update EXECUTING',
    'tool-call-update SUCCEEDED',
    'text-content',
    'state-change completed',
  ]);
  assert.match(String(second[2]?.['result']), /^\+hello$/m);
  assert.equal(second[3]?.['text'], "I've created hello.txt.");
  assert.equal(readFileSync(join(place.workspace, 'hello.txt'), 'utf8'), 'hello\n');
});

test('no character in an event can end a line of the stream', async (t) => {
  const text = 'one\u2028two\u2029three\u0085four';
  const { url } = await startCoder(t, makePlace(t), { script: [[{ text }]] });
  const response = await fetch(`${url}/message/stream`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ userMessage: 'hello' }),
  });
  const lines = (await response.text()).split(/[\n\u0085\u2028\u2029]/);
  const data = lines.filter((line) => line.startsWith('data: '));
  assert.ok(data.some((line) => JSON.parse(line.slice(6)).text === text));
});

test('a call that is not approved is cancelled, and the agent goes on', async (t) => {
  const place = makePlace(t);
  const { url } = await startCoder(t, place, { script: [[WRITE], [{ text: 'Then not.' }]] });
  const first = await say(url, { userMessage: { kind: 'text-content', text: 'write' } });
  assert.equal(
    flatOutline(first[0]!),
    'state-change submitted',
    'without a task there is a new one',
  );
  const { taskId, toolCallId } = first.at(-2)!;
  const userMessage = { kind: 'tool-call-confirmation', toolCallId, approved: false };
  const second = await say(url, { taskId, userMessage });
  assert.deepEqual(second.map(flatOutline), [
    'state-change working',
    'tool-call-update CANCELLED',
    'text-content',
    'state-change completed',
  ]);
  assert.equal(existsSync(join(place.workspace, 'hello.txt')), false);
});

test('a completed task goes on with the next message', async (t) => {
  const script = [[{ text: 'one' }], [{ text: 'two' }]];
  const { url } = await startCoder(t, makePlace(t), { script });
  const taskId = await newTask(url);
  for (const text of ['one', 'two']) {
    const events = await say(url, { taskId, userMessage: 'go on' });
    assert.deepEqual(events.map(flatOutline), [
      'state-change working',
      'text-content',
      'state-change completed',
    ]);
    assert.equal(events[1]?.['text'], text);
  }
});

test('a new task is in the log, waits for its first message, and can be canceled', async (t) => {
  const { url } = await startCoder(t, makePlace(t), { script: [[{ text: 'Hello.' }]] });
  const taskId = await newTask(url, { contextId: 'a conversation' });
  const { result: task } = await rpc(url, 'tasks/get', { id: taskId });
  assert.equal(task?.status.state, 'submitted');
  assert.equal(task.contextId, 'a conversation');
  // Its first message may come in the other dialect.
  const events = await stream(url, userMessage('hello', { taskId }));
  assert.equal(events.at(-1)?.kind, 'status-update');
  const again = await rpc(url, 'tasks/get', { id: taskId });
  assert.equal(again.result?.status.state, 'completed');

  const other = await newTask(url);
  const canceled = await rpc(url, 'tasks/cancel', { id: other });
  assert.equal(canceled.result?.status.state, 'canceled');
  const late = await post(`${url}/message/stream`, { taskId: other, userMessage: 'hello' });
  assert.equal(late.status, 409);
});

test('what was made, asked and answered is there after restarts', async (t) => {
  const place = makePlace(t);
  const first = await startCoder(t, place);
  const agentSettings = { workspacePath: place.workspace };
  const taskId = await newTask(first.url, { agentSettings });
  await first.stop();

  const second = await startCoder(t, place, { script: [[WRITE]] });
  const waiting = await rpc(second.url, 'tasks/get', { id: taskId });
  assert.equal(waiting.result?.status.state, 'submitted');
  const asked = await say(second.url, { taskId, userMessage: 'write' });
  assert.equal(flatOutline(asked.at(-1)!), 'state-change input-required');
  await second.stop();

  const third = await startCoder(t, place, { script: [[{ text: 'Done.' }]] });
  const { body } = await get(`${third.url}/tasks/${taskId}/metadata`);
  assert.equal((body as Metadata).metadata.taskState, 'input-required');
  const { toolCallId } = asked.at(-2)!;
  const userMessage = { kind: 'tool-call-confirmation', toolCallId, approved: true };
  const events = await say(third.url, { taskId, userMessage });
  assert.deepEqual(events.map(flatOutline), [
    'state-change working',
    'tool-call-update EXECUTING',
    'tool-call-update SUCCEEDED',
    'text-content',
    'state-change completed',
  ]);
});

test('clients of both dialects share a turn, and the later answer is told of the first', async (t) => {
  const script = [[WRITE], [{ text: 'Done.' }], [WRITE], [{ text: 'Then not.' }]];
  const { url } = await startCoder(t, makePlace(t), { script });
  const asked = await say(url, { userMessage: 'write' });
  const { taskId, toolCallId } = asked.at(-2)!;
  const { result: task } = await rpc(url, 'tasks/get', { id: taskId });
  assert.equal(task?.status.state, 'input-required');
  const yes = { tool_call_id: toolCallId, selected_option_id: 'proceed_once' };
  await stream(url, confirmation(taskId, yes));
  const approved = { kind: 'tool-call-confirmation', toolCallId, approved: true };
  const late = await post(`${url}/message/stream`, { taskId, userMessage: approved });
  assert.equal(late.status, 409);
  const { error, reason, selectedOptionId } = late.body as Record<string, string>;
  assert.match(error!, /^already resolved by /);
  assert.deepEqual([reason, selectedOptionId], ['ALREADY_RESOLVED', 'proceed_once']);

  const again = await say(url, { taskId, userMessage: 'once more' });
  const { toolCallId: next } = again.at(-2)!;
  const no = { kind: 'tool-call-confirmation', toolCallId: next, approved: false };
  await say(url, { taskId, userMessage: no });
  const told = await rpc(url, 'message/send', {
    message: confirmation(taskId, { tool_call_id: next, selected_option_id: 'proceed_once' }),
  });
  assert.equal(told.error?.code, -32004);
  assert.match(told.error.message, /^already resolved by .*: cancel$/);
});

test('of clients of both dialects that answer at the same moment, one wins', async (t) => {
  const place = makePlace(t);
  const command = 'echo once >> count.txt';
  const { url } = await startCoder(t, place, {
    script: [[{ call: { name: 'run_shell_command', args: { command } } }], [{ text: 'Done.' }]],
  });
  const asked = await say(url, { userMessage: 'count' });
  const { taskId, toolCallId } = asked.at(-2)!;
  const { type } = asked.at(-2)!['confirmationRequest'] as { type: string };
  assert.equal(type, 'danger');
  const approved = { kind: 'tool-call-confirmation', toolCallId, approved: true };
  const yes = { tool_call_id: toolCallId, selected_option_id: 'proceed_once' };
  const won = await Promise.all(
    Array.from({ length: 20 }, async (_, at) => {
      if (at % 2 === 0) {
        const message = confirmation(taskId, yes);
        const { error } = await rpc(url, 'message/send', { message });
        if (error) assert.match(error.message, /^already resolved by /);
        return !error;
      }
      const body = JSON.stringify({ taskId, userMessage: approved });
      const headers = { 'content-type': 'application/json' };
      const reply = await fetch(`${url}/message/stream`, { method: 'POST', headers, body });
      const text = await reply.text();
      if (!reply.ok) assert.match(text, /"reason":"ALREADY_RESOLVED"/);
      return reply.ok;
    }),
  );
  assert.equal(won.filter(Boolean).length, 1);
  const { result: task } = await rpc(url, 'tasks/get', { id: taskId });
  assert.equal(task?.status.state, 'completed');
  assert.equal(readFileSync(join(place.workspace, 'count.txt'), 'utf8'), 'once\n');
});

test('a client of A2A sees the turn that a flat one has begun, while it goes on', async (t) => {
  const script = [[{ text: 'Hello, ' }, { delayMs: 300 }, { text: 'both of you.' }]];
  const { url } = await startCoder(t, makePlace(t), { script });
  const taskId = await newTask(url);
  const headers = { 'content-type': 'application/json', 'x-a2a-extensions': EXTENSION_URI };
  const params = { id: taskId };
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tasks/resubscribe', params });
  const watching = await fetch(url, { method: 'POST', headers, body });
  const [flat, seen] = await Promise.all([
    say(url, { taskId, userMessage: 'hello' }),
    watching.text(),
  ]);
  const texts = flat.filter(({ kind }) => kind === 'text-content').map((event) => event['text']);
  const theirs = [...seen.matchAll(/"kind":"text","text":"([^"]*)"/g)].map(([, text]) => text);
  assert.deepEqual(theirs.slice(0, 1 + texts.length), ['hello', ...texts]);
});

test('a turn that fails says so, and why as far as a peer may know', async (t) => {
  const script = [[{ error: { status: 400, message: 'a secret of ours' } }]];
  const { url } = await startCoder(t, makePlace(t), { script });
  const events = await say(url, { userMessage: 'hello' });
  const last = events.at(-1)!;
  assert.equal(flatOutline(last), 'state-change failed');
  assert.match(String(last['error']), /^The model gave no answer\. Correlation id: /);
});

test('a turn that another client cancels ends its calls and the stream', async (t) => {
  const place = makePlace(t);
  const command = 'echo running; sleep 600';
  const { url } = await startCoder(t, place, {
    mode: 'yolo',
    script: [[{ call: { name: 'run_shell_command', args: { command } } }]],
  });
  const taskId = await newTask(url);
  const body = JSON.stringify({ taskId, userMessage: 'run' });
  const headers = { 'content-type': 'application/json' };
  const response = await fetch(`${url}/message/stream`, { method: 'POST', headers, body });
  let text = '';
  for await (const piece of response.body!.pipeThrough(new TextDecoderStream())) {
    const ran = text.includes('"liveContent"');
    text += piece;
    if (!ran && text.includes('"liveContent"')) await rpc(url, 'tasks/cancel', { id: taskId });
  }
  assert.match(text, /"liveContent":"running/);
  const [ended = '', last = ''] = text.trimEnd().split('\n\n').slice(-2);
  assert.match(ended, /"kind":"tool-call-update".*"CANCELLED".*stopped by the user/);
  assert.match(last, /"kind":"state-change","state":"canceled"/);
});

test('what a turn has read on the web is cited at its end', async (t) => {
  const page = await startPage(t);
  const { url } = await startCoder(t, makePlace(t), {
    web: { allowNetworks: ['127.0.0.0/8'] },
    script: [
      [{ call: { name: 'fetch_url', args: { url: `${page}/a` } } }],
      [{ call: { name: 'fetch_url', args: { url: `${page}/missing` } } }],
      [{ text: 'It says hello.' }],
      [{ text: 'Nothing new.' }],
    ],
  });
  let events = await say(url, { userMessage: 'what does it say?' });
  const { taskId } = events[0]!;
  const type = events.at(-2)?.['confirmationRequest'] as { type: string };
  assert.equal(type.type, 'info');
  for (let asks = 0; events.at(-1)?.state === 'input-required' && asks < 3; asks++) {
    const { toolCallId } = events.at(-2)!;
    const approved = { kind: 'tool-call-confirmation', toolCallId, approved: true };
    events = await say(url, { taskId, userMessage: approved });
  }
  const cited = events.filter(({ kind }) => kind === 'citation').map((event) => event['url']);
  assert.deepEqual(cited, [`${page}/a`]);
  assert.equal(flatOutline(events.at(-1)!), 'state-change completed');
  const next = await say(url, { taskId, userMessage: 'and now?' });
  assert.ok(!next.some(({ kind }) => kind === 'citation'), 'only of this turn');
});

interface Metadata {
  readonly metadata: {
    readonly id: string;
    readonly contextId: string;
    readonly taskState: string;
    readonly model: string;
    readonly mcpServers: readonly { readonly name: string; readonly status: string }[];
    readonly availableTools: readonly {
      readonly name: string;
      readonly description: string;
      readonly parameterSchema: { readonly type: string };
    }[];
  };
}

test('the metadata of a task are its state, the model and the tools', async (t) => {
  const { url } = await startCoder(t, makePlace(t));
  const none = await get(`${url}/tasks/metadata`);
  assert.deepEqual([none.status, none.body], [204, undefined]);
  const ids = [await newTask(url), await newTask(url)];
  const { body } = await get(`${url}/tasks/${ids[0]}/metadata`);
  const { id, taskState, model, mcpServers, availableTools } = (body as Metadata).metadata;
  assert.deepEqual([id, taskState, model], [ids[0], 'submitted', 'scripted']);
  assert.deepEqual(mcpServers, []);
  const write = availableTools.find(({ name }) => name === 'write_file');
  assert.equal(write?.parameterSchema.type, 'object');
  const all = await get(`${url}/tasks/metadata`);
  assert.deepEqual(
    (all.body as Metadata['metadata'][]).map((each) => each.id).toSorted(),
    ids.toSorted(),
  );
});

test('the list of tasks comes in pages, the newest first, and without the tools', async (t) => {
  const { url } = await startCoder(t, makePlace(t));
  const ids: string[] = [];
  for (let at = 0; at < 5; at++) ids.unshift(await newTask(url));
  const pages: string[][] = [];
  let next: string | undefined = '/tasks/metadata?limit=2';
  while (next !== undefined) {
    const response: Response = await fetch(new URL(next, url));
    const listed = (await response.json()) as Metadata['metadata'][];
    pages.push(listed.map(({ id }) => id));
    assert.deepEqual(Object.keys(listed[0]!).toSorted(), ['contextId', 'id', 'model', 'taskState']);
    next = /^<([^>]+)>; rel="next"$/.exec(response.headers.get('link') ?? '')?.[1];
  }
  assert.deepEqual(pages, [ids.slice(0, 2), ids.slice(2, 4), ids.slice(4)]);
  for (const wrong of ['limit=0', 'limit=101', 'limit=x', 'cursor=x']) {
    assert.equal((await get(`${url}/tasks/metadata?${wrong}`)).status, 400, wrong);
  }
});

test('calls and thoughts of a helper have its name, and its text is not the answer', async (t) => {
  const { url } = await startCoder(t, makePlace(t), {
    script: [
      [{ call: { name: 'task', args: { prompt: 'Look.', name: 'scout' } } }],
      [{ text: 'I look.' }, { call: { name: 'list_directory', args: {} } }],
      [{ text: 'Nothing there.' }],
      [{ text: 'It is empty.' }],
    ],
  });
  const events = await say(url, { userMessage: 'delegate' });
  const task = events.find(({ toolName }) => toolName === 'task');
  const mark = { agent: 'scout', parentToolCallId: task?.toolCallId };
  const marked = events.filter(({ agent }) => agent === 'scout');
  assert.deepEqual(marked.map(flatOutline), [
    'thought',
    'tool-call-update PENDING',
    'tool-call-update EXECUTING',
    'tool-call-update SUCCEEDED',
  ]);
  for (const { agent, parentToolCallId } of marked)
    assert.deepEqual({ agent, parentToolCallId }, mark);
  const texts = events.filter(({ kind }) => kind === 'text-content').map(({ text }) => text);
  assert.equal(texts.join(''), 'It is empty.');
});

test("somebody else's task is not there", async (t) => {
  const authenticate = bearerTokens(new Map(Object.entries({ ann: 'a-secret', bob: 'b-secret' })));
  const { url } = await startCoder(t, makePlace(t), { server: { authenticate } });
  const ann = { authorization: 'Bearer a-secret' };
  const bob = { authorization: 'Bearer b-secret' };
  const { body: id } = await post(`${url}/tasks`, {}, ann);
  assert.equal((await get(`${url}/tasks/${String(id)}/metadata`, ann)).status, 200);
  assert.equal((await get(`${url}/tasks/${String(id)}/metadata`, bob)).status, 404);
  assert.equal((await get(`${url}/tasks/metadata`, bob)).status, 204);
  const message = { taskId: id, userMessage: 'hello' };
  const refused = await post(`${url}/message/stream`, message, bob);
  assert.deepEqual([refused.status, refused.body], [404, { error: 'Task not found', taskId: id }]);
  const nobody = await post(`${url}/tasks`, {});
  assert.deepEqual([nobody.status, nobody.body], [401, { error: 'Authentication required' }]);
});

test('what cannot be is refused with a status and a reason', async (t) => {
  const place = makePlace(t);
  const { url } = await startCoder(t, place, { script: [[WRITE]] });
  const at = `${url}/message/stream`;
  const asked = await say(url, { userMessage: 'write' });
  const { taskId, toolCallId } = asked.at(-2)!;
  const confirm = { kind: 'tool-call-confirmation', toolCallId, approved: true };
  const outside = { workspacePath: '/etc' };
  const cases: readonly [body: object, status: number, reason: RegExp][] = [
    [{}, 400, /userMessage/],
    [{ userMessage: { kind: 'unknown' } }, 400, /text-content or tool-call-confirmation/],
    [{ userMessage: confirm }, 400, /^taskId: /],
    [{ taskId: 'nobody', userMessage: 'hello' }, 404, /Task not found/],
    [{ taskId, contextId: 'another', userMessage: 'hello' }, 400, /contextId/],
    [{ taskId, userMessage: { ...confirm, toolCallId: 'none' } }, 400, /there is no call none/],
    [{ taskId, userMessage: { ...confirm, optionId: 'cancel' } }, 400, /^optionId: /],
    [{ taskId, userMessage: { ...confirm, optionId: 'maybe' } }, 400, /proceed_once/],
    [{ userMessage: 'hello', agentSettings: outside }, 400, /must be a folder inside a workspace/],
    [{ taskId, userMessage: 'hello', agentSettings: { workspacePath: 7 } }, 400, /workspacePath/],
    [{ userMessage: 'a', agentSettings: { autoExecute: true } }, 400, /--allow-auto-execute/],
  ];
  for (const [body, status, reason] of cases) {
    const reply = await post(at, body);
    assert.equal(reply.status, status, JSON.stringify(body));
    assert.match((reply.body as { error: string }).error, reason);
  }
  const made = await post(`${url}/tasks`, { agentSettings: outside });
  assert.equal(made.status, 400);
  assert.equal((await get(`${url}/tasks/nobody/metadata`)).status, 404);
  assert.equal((await get(at)).status, 405);
});

test('where the operator allows it, tools are used without a question', async (t) => {
  const place = makePlace(t);
  const { url } = await startCoder(t, place, {
    allowAutoExecute: true,
    script: [[WRITE], [{ text: 'Done.' }]],
  });
  const taskId = await newTask(url, { agentSettings: { autoExecute: true } });
  const events = await say(url, { taskId, userMessage: 'write' });
  assert.deepEqual(events.map(flatOutline), [
    'state-change working',
    'tool-call-update PENDING',
    'tool-call-update EXECUTING',
    'tool-call-update SUCCEEDED',
    'text-content',
    'state-change completed',
  ]);
});

test('settings that come too late are told which ones count', async (t) => {
  const place = makePlace(t);
  const inner = join(place.workspace, 'inner');
  mkdirSync(inner);
  const { url } = await startCoder(t, place, { script: [[{ text: 'Here.' }]] });
  const taskId = await newTask(url, { agentSettings: { workspacePath: inner } });
  const agentSettings = { workspacePath: place.workspace };
  const [first] = await say(url, { taskId, userMessage: 'where?', agentSettings });
  assert.equal(first?.kind, 'agent-settings');
  assert.deepEqual([first['workspacePath'], first['autoExecute']], [inner, false]);
});

test('an id with NUL is refused on every wire, and empty settings are settings', async (t) => {
  const { url } = await startCoder(t, makePlace(t), { script: [] });
  const contextId = 'a\0b';
  assert.equal((await post(`${url}/tasks`, { agentSettings: {} })).status, 201);
  const bodies: [path: string, body: object][] = [
    ['/tasks', { contextId }],
    ['/tasks', { contextId, agentSettings: {} }],
    ['/message/stream', { contextId, userMessage: 'hello' }],
    ['/message/stream', { taskId: contextId, userMessage: 'hello' }],
    ['/executeCommand', { contextId, command: 'memory' }],
  ];
  for (const [path, body] of bodies) {
    const { status } = await post(`${url}${path}`, body);
    assert.equal(status, 400, `${path} ${JSON.stringify(body)}`);
  }
  assert.equal((await get(`${url}/listCommands?contextId=a%00b`)).status, 400);
  for (const fields of [{ contextId }, { taskId: contextId }, { messageId: contextId }]) {
    const { error } = await rpc(url, 'message/send', { message: userMessage('hello', fields) });
    assert.equal(error?.code, -32602);
  }
});

async function startPage(t: TestContext): Promise<string> {
  const server = createServer((request, response) => {
    const found = request.url === '/a';
    response.writeHead(found ? 200 : 302, {
      'content-type': 'text/plain',
      ...(!found && { location: 'http://elsewhere.example/' }),
    });
    response.end(found ? 'hello' : '');
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.after(() => server.close());
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}
