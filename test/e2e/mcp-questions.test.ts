// What an MCP server asks for while it executes a call: a person's answer, the model's answer, the workspace's folders.
import assert from 'node:assert/strict';
import { EventEmitter, once } from 'node:events';
import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, test, type TestContext } from 'node:test';
import type { JsonObject } from '../../src/base/index.ts';
import type { Answer } from '../../src/agent/event.ts';
import type { Model, ModelRequest } from '../../src/agent/model.ts';
import { Waiting, type Tool, type ToolContext } from '../../src/agent/tool.ts';
import { mcpToolset, type McpOptions } from '../../src/agent/tools/mcp.ts';
import { samplingTool } from '../../src/agent/tools/mcp-sampling.ts';
import { toolContext } from '../support/tool-context.ts';
import { createAskingServer } from './mcp-asking-server.ts';
import { listenMcp } from './mcp-sessions.ts';

const never = new AbortController().signal;
const heard = new EventEmitter();
const http = await listenMcp({ create: () => createAskingServer((line) => heard.emit(line)) });
after(() => stop(http));

async function stop(server: Server): Promise<void> {
  server.closeAllConnections();
  server.close();
  await once(server, 'close');
}

async function open(t: TestContext, options: McpOptions = {}) {
  const { port } = http.address() as AddressInfo;
  const url = `http://127.0.0.1:${port}/mcp`;
  const toolset = mcpToolset({ name: 'srv', url }, { retryDelayMs: 0, ...options });
  t.after(() => toolset.close());
  const tools = await toolset.tools(never);
  const named = (name: string): Tool => tools.find((tool) => tool.name === `srv__${name}`)!;
  const call = async (name: string, args: JsonObject = {}, context: Partial<ToolContext> = {}) =>
    named(name).run(args, toolContext(context));
  /** Continues a call with the answer to its question. */
  const answer = async (name: string, asked: unknown, said: Omit<Answer, 'questionId'>) => {
    assert.ok(asked instanceof Waiting, JSON.stringify(asked));
    const given = { questionId: asked.question.id, ...said };
    return named(name).run({}, toolContext({ answer: given }));
  };
  return { toolset, call, answer };
}

const reply = (action: string, content?: JsonObject) =>
  JSON.stringify({ action, ...(content && { content }) });

test("a server's form is a question that names the server and all fields", async (t) => {
  const { call, answer } = await open(t);
  const asked = await call('form');
  assert.ok(asked instanceof Waiting);
  const { question } = asked;
  assert.equal(question.callId, 'call');
  assert.notEqual(question.id, 'call');
  assert.equal(question.kind, 'input');
  assert.deepEqual(question.text.split('\n').slice(0, 4), [
    'The MCP server srv asks: Who are you?',
    '- name: Name (text, at least 2 characters, required)',
    '- age: (whole number 1 to 120, required)',
    '- color: (one of red, blue, default red)',
  ]);
  const values = { name: 'Ann, Lee', age: 7, color: 'red' };
  const value = 'name: Ann, Lee, age: 7';
  assert.equal(await answer('form', asked, { value }), reply('accept', values));
});

test('an answer that does not fit the form is refused, and the person is asked again', async (t) => {
  const { call, answer } = await open(t);
  let asked = await call('form');
  for (const [value, problem] of [
    ['name: Ann', /^age is missing/],
    ['{"name":"Ann","age":700}', /^age must be 1 to 120/],
    ['name=A; age=3', /^name must have at least 2 characters/],
  ] as const) {
    asked = await answer('form', asked, { value });
    assert.ok(asked instanceof Waiting);
    assert.match(asked.question.text, problem);
  }
  assert.equal(await answer('form', asked, { value: 'again nonsense' }), reply('cancel'));
});

test('a person declines, or gives no answer', async (t) => {
  const { call, answer } = await open(t);
  assert.equal(await answer('form', await call('form'), { value: 'Decline' }), reply('decline'));
  const dismissed = { confirmed: false, value: 'The person gave no answer.' };
  assert.equal(await answer('form', await call('form'), dismissed), reply('cancel'));
});

test('the choices of a form with one field are the options of the question', async (t) => {
  const { call, answer } = await open(t);
  const asked = await call('choice');
  assert.ok(asked instanceof Waiting);
  assert.deepEqual(asked.question.options, ['main', 'develop', 'Decline']);
  const accepted = reply('accept', { branch: 'd' });
  assert.equal(await answer('choice', asked, { value: 'develop' }), accepted);
});

test('a page that a person should open is shown with its whole address, and only if it is a web page', async (t) => {
  const log: string[] = [];
  const { call, answer } = await open(t, { log: (line) => void log.push(line) });
  const url = 'https://login.example/a?state=1';
  const asked = await call('page', { url });
  assert.ok(asked instanceof Waiting);
  assert.match(asked.question.text, /open a page on login\.example: Log in/);
  assert.ok(asked.question.text.includes(url));
  assert.equal(await answer('page', asked, { value: 'Accept' }), reply('accept'));
  assert.equal(await call('page', { url: 'file:///etc/passwd' }), reply('cancel'));
  assert.match(log.join(), /was not asked: the address is not a web page/);
});

test('a call whose process has ended before the answer has an unknown outcome', async (t) => {
  const first = await open(t);
  const asked = await first.call('form');
  const second = await open(t);
  await assert.rejects(second.answer('form', asked, { value: 'name: Ann, age: 7' }), {
    type: 'outcome_unknown',
  });
});

test('a call that waits for an answer is cancelled at the server when its run is canceled', async (t) => {
  const { toolset, call, answer } = await open(t);
  const asked = await call('form');
  const cancelled = once(heard, 'form cancelled');
  const { session } = toolContext();
  const run = { runId: 'run', session, events: [], sessions: toolContext().services.sessions };
  await toolset.cancel?.('call', { ...run, signal: never });
  await cancelled;
  await assert.rejects(answer('form', asked, { value: 'name: Ann, age: 7' }), {
    type: 'outcome_unknown',
  });
});

test('with calls of several sessions, a question is asked only if its call is known', async (t) => {
  const log: string[] = [];
  const { call, answer } = await open(t, { log: (line) => void log.push(line) });
  const asked = await call('form');
  const session = { app: 'app', user: 'bob', id: 'other' };
  assert.equal(await call('form', {}, { session, callId: 'unclear' }), reply('cancel'));
  assert.match(log.join(), /calls of several sessions are open/);
  const other = await call('choice', {}, { session, callId: 'clear' });
  assert.ok(other instanceof Waiting);
  assert.equal(other.question.callId, 'clear');
  assert.equal(await answer('form', asked, { value: 'Decline' }), reply('decline'));
});

test('a call may take longer than its timeout as long as it reports progress', async (t) => {
  const { call } = await open(t, { callTimeoutMs: 400 });
  const shown: unknown[] = [];
  const progress = (value: unknown) => void shown.push(value);
  assert.equal(await call('steps', {}, { progress }), '"after 600 ms"');
  assert.ok(shown.length > 0);
});

test('the time that a person needs does not count as time without a response', async (t) => {
  const { call, answer } = await open(t, { callTimeoutMs: 150 });
  const asked = await call('choice');
  await new Promise((resolve) => setTimeout(resolve, 300));
  const accepted = reply('accept', { branch: 'm' });
  assert.equal(await answer('choice', asked, { value: 'main' }), accepted);
});

test('a server gets the roots that the options name, and otherwise none', async (t) => {
  const roots = [{ uri: 'file:///home/ann/project', name: 'project' }];
  const { call } = await open(t, { roots });
  assert.equal(await call('roots'), JSON.stringify({ roots }));
  const without = await open(t);
  await assert.rejects(without.call('roots'), /Method not found/);
});

function talkative(requests: ModelRequest[]): Model {
  return {
    name: 'talkative',
    async *generate(request) {
      requests.push(request);
      yield { kind: 'text', text: 'Hi.' };
      yield { kind: 'finish', reason: 'stop', usage: { inputTokens: 3, outputTokens: 2 } };
    },
  };
}

test('a server uses the model after a person has agreed, within limits', async (t) => {
  const requests: ModelRequest[] = [];
  const used: unknown[] = [];
  const model = talkative(requests);
  const sampling = samplingTool({
    server: 'srv',
    modelOf: () => model,
    used: (name, usage) => void used.push([name, usage]),
  });
  const { call, answer } = await open(t, { sampling });
  const asked = await call('samples', { times: 1 });
  assert.ok(asked instanceof Waiting);
  assert.equal(asked.question.kind, 'confirmation');
  assert.deepEqual(asked.question.args, {
    messages: [{ role: 'user', text: 'Hello?' }],
    system_prompt: 'Be short.',
    max_tokens: 4096,
  });
  assert.equal(requests.length, 0);
  const result = String(await answer('samples', asked, { confirmed: true }));
  assert.match(result, /"model":"talkative".*"text":"Hi\."/);
  const [request] = requests.slice();
  assert.equal(request?.maxOutputTokens, 4096);
  assert.equal(request.tools, undefined);
  assert.deepEqual(used, [['talkative', { inputTokens: 3, outputTokens: 2 }]]);

  const again = await call('samples', { times: 1 });
  const refused = String(await answer('samples', again, { confirmed: false }));
  assert.match(refused, /the user declined the request/);
  assert.equal(requests.length, 1);
});

test('a server gets a limited number of answers of the model per turn', async (t) => {
  const requests: ModelRequest[] = [];
  const model = talkative(requests);
  const sampling = {
    ...samplingTool({ server: 'srv', modelOf: () => model }),
    confirm: () => false,
  };
  const { call } = await open(t, { sampling });
  const result = String(await call('samples', { times: 12 }));
  assert.equal(requests.length, 10);
  assert.match(result, /at most 10 answers of the model per turn/);
});
