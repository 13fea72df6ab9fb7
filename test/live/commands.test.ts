// Commands in a live session: who may run which, and how one follows an execution.
import assert from 'node:assert/strict';
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import type { ScriptedResponse } from '../../src/agent/models/scripted.ts';
import type { LiveToken } from '../../src/live/index.ts';
import { trust } from '../../src/coder/settings/trust.ts';
import { get, post } from '../coder/flat-support.ts';
import { makePlace, userMessage } from '../coder/support.ts';
import { writes } from '../coder/talk.ts';
import { editorAt } from '../acp/support.ts';
import { acpSocket } from '../../src/acp/index.ts';
import { RawClient } from './raw-client.ts';
import { serveSession, silent, Watcher, type OpenOptions } from './support.ts';

const says = (text: string): ScriptedResponse => [{ text }];
const TOKENS: LiveToken[] = [
  { name: 'bot', roles: ['prompt'], token: 'secret-of-bot' },
  { name: 'phone', roles: ['prompt', 'approve'], token: 'secret-of-phone' },
  { name: 'watch', roles: ['approve'], token: 'secret-of-watch' },
];

async function shared(t: TestContext, options: OpenOptions = {}) {
  const served = await serveSession(t, {
    ...options,
    access: {
      tokens: TOKENS,
      acp: (socket, enter) => acpSocket(socket, enter, { version: '1', logger: silent }),
    },
  });
  const ann = new Watcher(served.live.join({ kind: 'terminal', name: 'Ann' }));
  await ann.until((item) => (item.kind === 'snapshot' ? true : undefined));
  const headers = (name: string) => ({ authorization: `Bearer secret-of-${name}` });
  const rpc = async (name: string, method: string, params: object) =>
    (await post(served.url, { jsonrpc: '2.0', id: 1, method, params }, headers(name))).body as {
      // What is in it is what the tests look at.
      // oxlint-disable-next-line typescript/no-explicit-any
      result?: any;
      error?: { code: number };
    };
  return { ...served, ann, headers, rpc };
}

/** Each changes something that is not part of the conversation. */
const CHANGES: readonly (readonly [path: string[], args: string])[] = [
  [['memory', 'add'], 'trust everybody'],
  [['restore'], 'some-checkpoint'],
  [['model'], 'offline'],
  [['approval'], 'yolo'],
  [['permissions'], 'remove 123456'],
];

for (const [path, args] of CHANGES) {
  const text = `/${[...path, args].join(' ')}`;
  test(`a client that may only prompt cannot run ${text}, on any wire, also while a turn runs`, async (t) => {
    const script = [writes('a.txt', 'A'), says('Never.')];
    const { url, ws, ann, rpc, headers, place } = await shared(t, { script });
    const bot = new RawClient(t, ws, 'a2a', { headers: headers('bot') });
    await bot.snapshot();
    const editor = await editorAt(t, ws, ['acp', 'token.secret-of-bot']);
    await editor.open();
    const attempts = async () => {
      const command = { command_path: path, args };
      const v1 = { messageId: `${Math.random()}`, role: 'ROLE_USER', parts: [{ text }] };
      const codes = [
        (await rpc('bot', 'message/send', { message: userMessage(text) })).error?.code,
        (await rpc('bot', 'SendMessage', { message: v1 })).error?.code,
        (await rpc('bot', 'command/execute', command)).error?.code,
        (await bot.say(text)).error?.code,
        (await bot.ask('command/execute', command)).error?.code,
      ];
      assert.deepEqual(codes, [-31403, -31403, -31403, -31403, -31403]);
      const flat = [
        await post(`${url}/message:send`, { message: v1 }, headers('bot')),
        await post(`${url}/commands:execute`, command, headers('bot')),
        await post(`${url}/message/stream`, { userMessage: text }, headers('bot')),
        await post(
          `${url}/executeCommand`,
          { command: path.join(' '), args: [args] },
          headers('bot'),
        ),
      ];
      assert.deepEqual(
        flat.map(({ status }) => status),
        [403, 403, 403, 403],
      );
      await assert.rejects(editor.prompt(text), /role/);
    };
    await attempts();
    assert.deepEqual(ann.said, []);
    await ann.session.prompt('write');
    await ann.pending();
    await attempts();
    assert.deepEqual(ann.said, ['Ann: write']);
    assert.ok(!existsSync(join(place.home, 'config', 'AGENTS.md')));
    // Nothing of it is waiting for its turn either.
    assert.ok(
      ann.items.every(
        (item) => item.kind !== 'presence' || item.queued.every(({ from }) => from === 'Ann'),
      ),
    );
  });
}

test('a client that may only approve runs no commands, also not while a question waits', async (t) => {
  const script = [writes('a.txt', 'A'), says('Never.')];
  const { url, ws, ann, rpc, headers, live, place } = await shared(t, { script });
  await ann.session.prompt('write');
  await ann.pending();
  const { taskId } = live;
  const watch = new RawClient(t, ws, 'a2a', { headers: headers('watch') });
  await watch.snapshot();
  for (const text of ['/memory add trust everybody', '/approval yolo', '/clear', '/stats']) {
    const codes = [
      (await rpc('watch', 'message/send', { message: userMessage(text) })).error?.code,
      (await rpc('watch', 'message/send', { message: { ...userMessage(text), taskId } })).error
        ?.code,
      (await watch.say(text)).error?.code,
    ];
    assert.deepEqual(codes, [-31403, -31403, -31403], text);
    const flat = await post(
      `${url}/message/stream`,
      { taskId, userMessage: text },
      headers('watch'),
    );
    assert.equal(flat.status, 403);
  }
  assert.deepEqual(ann.said, ['Ann: write']);
  assert.ok(!existsSync(join(place.home, 'config', 'AGENTS.md')));
});

test('a client that may only prompt runs commands that read, and one that may approve also those that change something', async (t) => {
  const { rpc, ann } = await shared(t);
  for (const text of ['/memory show', '/restore list', '/model', '/approval', '/stats']) {
    const { result } = await rpc('bot', 'message/send', { message: userMessage(text) });
    assert.equal(result?.status.state, 'completed', text);
  }
  const { result } = await rpc('phone', 'message/send', {
    message: userMessage('/memory add the door is red'),
  });
  assert.match(JSON.stringify(result), /Added to/);
  assert.ok(ann.said.includes('phone: /memory add the door is red'));
});

for (const mode of ['ask', 'auto-edit'] as const) {
  test(`save_memory needs approval in ${mode} mode, if the prompt is from a client that may only prompt`, async (t) => {
    const remember = { name: 'save_memory', args: { text: 'trust everybody' } };
    const { rpc, ann } = await shared(t, { mode, script: [[{ call: remember }], says('No.')] });
    const { result } = await rpc('bot', 'message/send', { message: userMessage('remember it') });
    assert.equal(result?.status.state, 'input-required');
    assert.equal((await ann.pending()).tool_name, 'save_memory');
  });
}

test('the command lines of a custom command need approval, for every client', async (t) => {
  const { rpc, ann, place } = await shared(t, { script: [says('Never.')] });
  mkdirSync(join(place.home, 'config', 'commands'), { recursive: true });
  writeFileSync(join(place.home, 'config', 'commands', 'look.md'), 'Look: !{touch ran.txt}');
  const started = await rpc('bot', 'command/execute', { command_path: ['look'], args: '' });
  assert.equal(started.result.status, 'AWAITING_SHELL_CONFIRMATION');
  assert.equal((await ann.pending()).tool_name, 'run_shell_command');
  assert.ok(!existsSync(join(place.workspace, 'ran.txt')));
});

/** How one asks for a command: on `/ws`, and over HTTP. */
type Execute = (
  params: object,
) => Promise<{ execution_id: string; status: string; message?: string }>;

async function executors(t: TestContext, options: OpenOptions = {}) {
  const opened = await shared(t, options);
  const { ws, url, rpc, headers } = opened;
  const phone = new RawClient(t, ws, 'a2a', { headers: headers('phone') });
  await phone.snapshot();
  const ways: Record<string, Execute> = {
    '/ws': async (params) => (await phone.ask('command/execute', params)).result,
    'JSON-RPC': async (params) => (await rpc('phone', 'command/execute', params)).result,
    REST: async (params) =>
      (await post(`${url}/commands:execute`, params, headers('phone'))).body as Awaited<
        ReturnType<Execute>
      >,
  };
  /** The events of an execution, as `tasks/resubscribe` tells them. */
  const follow = async (id: string, after?: number) => {
    const response = await fetch(url, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        ...headers('phone'),
        ...(after !== undefined && { 'last-event-id': `${after}` }),
      },
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tasks/resubscribe', params: { id } }),
    });
    return response.text();
  };
  return { ...opened, phone, ways, follow };
}

test('each execution has its own id, by which its turn, and only its turn, is followed', async (t) => {
  const { ways, follow, ann, live, rpc } = await executors(t);
  const ids: string[] = [];
  for (const [name, execute] of Object.entries(ways)) {
    const command = { command_path: ['memory', 'list'], args: '' };
    const { execution_id, status } = await execute(command);
    assert.equal(status, 'STARTED', name);
    assert.notEqual(execution_id, live.taskId);
    ids.push(execution_id);
    const told = await follow(execution_id);
    assert.match(told, /There are no memory files/, name);
    assert.match(told, /"final":true/);
    await execute({ command_path: ['help'], args: '' });
    await ann.state('completed', 2 * ids.length);
    // Later turns are not part of it, and what was seen of it is not repeated.
    assert.doesNotMatch(await follow(execution_id), /Lists the commands/);
    const [, seq] = [...told.matchAll(/^id: (\d+)$/gm)].at(-1) ?? [];
    assert.doesNotMatch(await follow(execution_id, Number(seq)), /data/);
    const { result } = await rpc('phone', 'tasks/get', { id: execution_id });
    assert.equal(result.status.state, 'completed');
    assert.match(JSON.stringify(result), /There are no memory files/);
    assert.doesNotMatch(JSON.stringify(result), /Lists the commands/);
  }
  assert.equal(new Set(ids).size, ids.length);
});

test('the log of an execution has its turn only, in pages of the requested size', async (t) => {
  const { ways, ann, url, headers } = await executors(t);
  const run = await ways['REST']?.({ command_path: ['memory', 'list'], args: '' });
  await ann.state('completed');
  await ways['REST']?.({ command_path: ['help'], args: '' });
  await ann.state('completed', 2);
  const log = async (query: string) => {
    const response = await fetch(`${url}/tasks/${run?.execution_id}/events?${query}`, {
      headers: headers('phone'),
    });
    return (await response.json()) as { events: { seq: number }[]; nextAfter?: number };
  };
  const whole = await log('after=0');
  assert.equal(whole.nextAfter, undefined);
  const last = whole.events.at(-1)?.seq ?? 0;
  // A client that has read the whole turn gets nothing of the next one.
  for (const after of [last, last + 1]) {
    assert.deepEqual(await log(`after=${after}`), { events: [] });
  }
  const first = await log('after=0&limit=1');
  assert.deepEqual(first.events, whole.events.slice(0, 1));
  const rest = await log(`after=${first.nextAfter}`);
  assert.deepEqual(rest.events, whole.events.slice(1));
});

test('a command that does not exist or lacks its arguments fails to start, with the reason', async (t) => {
  const { ways, ann } = await executors(t);
  for (const execute of Object.values(ways)) {
    const unknown = await execute({ command_path: ['nothing'], args: '' });
    assert.deepEqual([unknown.execution_id, unknown.status], ['', 'FAILED_TO_START']);
    assert.match(unknown.message ?? '', /There is no command \/nothing/);
    const missing = await execute({ command_path: ['memory', 'add'], args: '' });
    assert.equal(missing.status, 'FAILED_TO_START');
    assert.match(missing.message ?? '', /argument is missing/);
  }
  assert.deepEqual(ann.said, []);
});

test('a command that asks says so, and the answer goes to its execution', async (t) => {
  const script = [writes('a.txt', 'A'), says('Written.')];
  const { ways, ann, follow, rpc } = await executors(t, { script });
  await ann.session.prompt('write');
  const { tool_call_id } = await ann.pending();
  await ann.session.confirm({ tool_call_id, selected_option_id: 'proceed_once' });
  await ann.state('completed');
  const list = await rpc('phone', 'message/send', { message: userMessage('/restore list') });
  const [, id = ''] = /"text":"([^\s/]\S*) /.exec(JSON.stringify(list.result)) ?? [];
  let asked = 1;
  for (const [name, execute] of Object.entries(ways)) {
    const run = await execute({ command_path: ['restore'], args: id });
    assert.equal(run.status, 'AWAITING_ACTION_CONFIRMATION', name);
    const call = await ann.pending(asked++);
    const no = { tool_call_id: call.tool_call_id, selected_option_id: 'cancel' };
    const message = userMessage([{ kind: 'data', data: no }], { taskId: run.execution_id });
    const { result } = await rpc('phone', 'message/send', { message });
    assert.equal(result?.status.state, 'completed', name);
    assert.match(await follow(run.execution_id), /Nothing was changed/);
  }
});

test('a command that waits for the running turn is followed into its own', async (t) => {
  const script = [writes('a.txt', 'A'), says('Written.')];
  const { ways, ann, follow, phone, rpc } = await executors(t, { script });
  await ann.session.prompt('write');
  const { tool_call_id } = await ann.pending();
  const runs = [];
  for (const execute of Object.values(ways)) {
    const run = await execute({ command_path: ['help'], args: '' });
    assert.equal(run.status, 'STARTED');
    assert.match(run.message ?? '', /queued/);
    runs.push(run.execution_id);
  }
  const [first = '', dropped = '', last = ''] = runs;
  const state = async (id: string) => (await phone.ask('tasks/get', { id })).result.status.state;
  assert.equal(await state(first), 'submitted');
  assert.equal(
    (await rpc('phone', 'tasks/cancel', { id: dropped })).result.status.state,
    'canceled',
  );
  const told = follow(last);
  await ann.session.confirm({ tool_call_id, selected_option_id: 'proceed_once' });
  assert.match(await told, /Lists the commands/);
  assert.equal(await state(first), 'completed');
  await ann.state('completed', 3);
  assert.equal(ann.said.filter((line) => line === 'phone: /help').length, 2);
});

test('POST /executeCommand returns what its own execution said', async (t) => {
  const { url, headers, ann } = await shared(t, { script: [says('Hello.')] });
  await ann.session.prompt('hello');
  await ann.state('completed');
  const help = await post(`${url}/executeCommand`, { command: 'help', args: [] }, headers('bot'));
  const { name, data } = help.body as { name: string; data: string };
  assert.deepEqual([help.status, name], [200, 'help']);
  assert.match(data, /^\/help: Lists the commands/);
  assert.ok(ann.said.includes('bot: /help'));
});

test("with several workspaces, every wire lists and runs the commands of the session's workspace", async (t) => {
  const place = makePlace(t);
  const other = join(place.home, 'other');
  for (const [root, name] of [
    [place.workspace, 'ours'],
    [other, 'theirs'],
  ] as const) {
    const folder = join(root, '.parley', 'commands');
    mkdirSync(folder, { recursive: true });
    writeFileSync(join(folder, `${name}.md`), 'Say it.');
    await trust(join(place.home, 'config'), root);
  }
  const roots = [place.workspace, other];
  const { url, ws, rpc, headers, live } = await shared(t, {
    place,
    roots,
    script: [says('It.')],
  });
  const phone = new RawClient(t, ws, 'a2a', { headers: headers('phone') });
  await phone.snapshot();
  const lists = [
    (await phone.ask('commands/get')).result,
    (await phone.ask('commands/get', { contextId: live.contextId })).result,
    (await rpc('phone', 'commands/get', {})).result,
    (await get(`${url}/commands`, headers('phone'))).body,
    (await get(`${url}/listCommands`, headers('phone'))).body,
  ] as { commands: { name: string }[] }[];
  for (const { commands } of lists) {
    const own = commands.map(({ name }) => name).filter((name) => /ours|theirs/.test(name));
    assert.deepEqual(own, ['ours']);
  }
  for (const elsewhere of [{ workspace_path: other }, { contextId: 'another' }]) {
    assert.equal((await phone.ask('commands/get', elsewhere)).error.code, -32602);
    const request = { command_path: ['theirs'], ...elsewhere };
    assert.equal((await phone.ask('command/execute', request)).error.code, -32602);
    assert.equal((await rpc('phone', 'command/execute', request)).error?.code, -32602);
  }
  const { result } = await phone.ask('command/execute', { command_path: ['ours'], args: '' });
  assert.equal(result.status, 'STARTED');
  await phone.state('completed');
});
