/** Slash commands through a real server: typed as messages, and by command/execute. */
import assert from 'node:assert/strict';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import type { ModelRequest } from '../../src/agent/model.ts';
import type { ScriptedResponse } from '../../src/agent/models/scripted.ts';
import { problemOf } from '../../src/coder/approval/policy.ts';
import { trust } from '../../src/coder/settings/trust.ts';
import {
  eventIn,
  EXTENSION_URI,
  GetAllSlashCommandsResponse,
} from '../../src/protocol/development-tool/index.ts';
import { callIn, makePlace, outline, rpc, startCoder, stream, userMessage } from './support.ts';
import { answerIn, begin, heard, settings, turnOf, writes, type Talk } from './talk.ts';

test('commands/get lists the built-in commands with their arguments and those below them', async (t) => {
  const { url } = await begin(t);
  const { result } = await rpc(url, 'commands/get', {});
  const { commands } = GetAllSlashCommandsResponse.parse(result);
  assert.equal(
    commands.map(({ name }) => name).join(' '),
    'help init memory restore compress clear tools mcp helpers skills model approval approvals permissions stats',
  );
  const memory = commands.find(({ name }) => name === 'memory');
  assert.deepEqual(
    memory?.sub_commands.map(({ name }) => name),
    ['show', 'add', 'list', 'refresh'],
  );
  assert.equal(memory?.sub_commands[1]?.arguments[0]?.is_required, true);
});

test("a command's output is text with the extension's metadata, and the turn completes", async (t) => {
  const { say, requests } = await begin(t);
  const { events, text } = await say('/help');
  assert.deepEqual(events.map(outline), [
    'task submitted',
    'STATE_CHANGE working',
    'TEXT_CONTENT',
    'STATE_CHANGE completed final',
  ]);
  assert.match(text, /^\/memory add TEXT: /m);
  assert.equal(requests.length, 0);
});

test('what only looks like a command goes to the model, and two slashes say a command to it', async (t) => {
  const { say, requests } = await begin(t, [[{ text: 'a' }], [{ text: 'b' }], [{ text: 'c' }]]);
  await say('/etc/hosts is broken');
  await say('//help me');
  await say('// what is this comment?');
  const said = requests.map(({ messages }) => messages.at(-1)?.parts.at(-1));
  assert.deepEqual(said, [
    { kind: 'text', text: '/etc/hosts is broken' },
    { kind: 'text', text: '/help me' },
    { kind: 'text', text: '// what is this comment?' },
  ]);
});

test('a command in a task that is going on is a turn of it, and the model hears nothing of it', async (t) => {
  const { say, requests } = await begin(t, [[{ text: 'Hello.' }], [{ text: 'Again.' }]]);
  const { taskId } = await say('hi');
  const help = await say('/tools', { taskId });
  assert.equal(help.taskId, taskId);
  assert.match(help.text, /^write_file: /m);
  await say('and again', { taskId });
  assert.match(heard(requests[1]), /hi.*Hello\..*and again/);
  assert.doesNotMatch(heard(requests[1]), /tools|write_file/);
});

test('a command that is typed while a call waits is run, and the call goes on waiting', async (t) => {
  const { say, answer, requests } = await begin(t, [writes('a.txt', 'a\n'), [{ text: 'done' }]]);
  const asked = await say('write');
  const { taskId } = asked;
  const beside = await say('/approval', { taskId });
  assert.deepEqual(beside.events.map(outline), [
    'TEXT_CONTENT',
    'STATE_CHANGE input-required final',
  ]);
  const restore = await say('/restore 20200101-000000-000-aaaa', { taskId });
  assert.match(JSON.stringify(restore.events[0]), /answer the open question first/);
  const done = await answer(asked, 'proceed_once');
  assert.deepEqual([done.state, done.text], ['completed', 'done']);
  assert.doesNotMatch(heard(requests[1]), /approval|restore/);
});

for (const [typed, says] of [
  ['/memory', /\/memory show, \/memory add TEXT/],
  ['/memory forget it', /\/memory show/],
  ['/memory add', /An argument is missing: \/memory add TEXT/],
  ['/clear everything', /\/clear takes no arguments/],
  ['/approval sometimes', /Unknown mode sometimes; use one of ask, auto-edit, yolo, plan/],
  ['/restore 20200101-000000-000-aaaa', /There is no checkpoint .*; \/restore list/],
  ['/model gpt', /unknown model "gpt"/],
  ['/model scripted:/etc/passwd', /only be set when Parley starts/],
] as const) {
  test(`${typed} says in one line what is wrong, and the turn completes`, async (t) => {
    const { say } = await begin(t);
    const { text, state, error } = await say(typed);
    assert.match(text, says);
    assert.doesNotMatch(text, /\n/);
    assert.deepEqual([state, error], ['completed', text]);
  });
}

test('/memory adds, shows and lists', async (t) => {
  const { say, place } = await begin(t);
  writeFileSync(join(place.workspace, 'AGENTS.md'), 'Use tabs.\n');
  const file = join(place.home, 'config', 'AGENTS.md');
  assert.equal((await say('/memory add Tea, not coffee')).text, `Added to ${file}`);
  assert.equal(readFileSync(file, 'utf8'), '- Tea, not coffee\n');
  assert.match((await say('/memory show')).text, /Tea, not coffee[^]*Use tabs/);
  assert.match((await say('/memory list')).text, /\(user\)\n.*AGENTS\.md \(workspace\)$/);
  assert.match((await say('/memory refresh')).text, /^2 files, \d+ characters/);
});

test('/clear begins anew: the model sees nothing of before', async (t) => {
  const { say, requests } = await begin(t, [[{ text: 'Noted.' }], [{ text: 'Which?' }]]);
  await say('my secret is 42');
  await say('/clear');
  await say('what is my secret?');
  assert.equal(heard(requests[1]), heard({ messages: [said('what is my secret?')] }));
});

function said(text: string): ModelRequest['messages'][number] {
  return { role: 'user', parts: [{ kind: 'text', text }] };
}

test('/compress puts a summary in the place of the conversation', async (t) => {
  const { say, requests } = await begin(t, [
    [{ text: 'One.' }],
    [{ text: 'Two.' }],
    [{ text: 'They counted.' }],
    [{ text: 'Three.' }],
  ]);
  await say('count');
  assert.match((await say('/compress')).text, /too short/);
  await say('go on');
  assert.match((await say('/compress')).text, /summary of 13 characters/);
  assert.match(heard(requests[2]), /User: count/);
  await say('and on');
  const prompt = heard(requests[3]);
  assert.match(prompt, /They counted\..*and on/);
  assert.doesNotMatch(prompt, /One\.|Two\.|go on/);
  // The summary has its price too.
  assert.match((await say('/stats')).text, /^scripted: 4 requests/m);
});

test('/compress says when the model gives no summary, and nothing is lost', async (t) => {
  const failure = { error: { message: 'no' } };
  const { say, requests } = await begin(t, [
    [{ text: 'One.' }],
    [{ text: 'Two.' }],
    [failure],
    [{ text: 'Three.' }],
  ]);
  await say('count');
  await say('go on');
  const { text, error } = await say('/compress');
  assert.match(text, /returned no summary/);
  assert.equal(error, text);
  await say('and on');
  assert.match(heard(requests[3]), /count.*One\..*go on.*Two\..*and on/);
});

test('why the model gave no summary reaches the person who runs the program, and no client', async (t) => {
  const notices: string[] = [];
  const failing: ScriptedResponse = [
    { error: { status: 400, message: 'the words of the vendor' } },
  ];
  const { say } = await begin(t, [...Array.from({ length: 4 }, () => [{ text: 'ok' }]), failing], {
    notify: ({ text }) => notices.push(text),
  });
  for (const text of ['1', '2', '3', '4']) await say(text);
  const { events, error } = await say('/compress');
  assert.equal(error, 'The model returned no summary; try again later.');
  assert.doesNotMatch(JSON.stringify(events), /the vendor/);
  assert.deepEqual(notices, ['The conversation could not be summarized: the words of the vendor']);
});

async function withTwoFiles(t: TestContext): Promise<Talk & { readonly ids: readonly string[] }> {
  const talk = await begin(
    t,
    [
      writes('a.txt', 'one\n'),
      [{ text: 'First done.' }],
      writes('a.txt', 'two\n'),
      [{ text: 'Second done.' }],
      [{ text: 'After.' }],
      [{ text: 'Later.' }],
    ],
    { mode: 'auto-edit' },
  );
  await talk.say('write one');
  await talk.say('write two');
  const { text } = await talk.say('/restore');
  return { ...talk, ids: text.split('\n').map((line) => line.split(' ', 1)[0]!) };
}

test('/restore goes back with the files and with the conversation, once a person agrees', async (t) => {
  const { say, answer, requests, place, ids } = await withTwoFiles(t);
  assert.equal(ids.length, 2);
  const asked = await say(`/restore ${ids[0]}`);
  assert.deepEqual(asked.events.map(outline), [
    'task submitted',
    'STATE_CHANGE working',
    'TOOL_CALL_UPDATE PENDING',
    'STATE_CHANGE input-required final',
  ]);
  const call = callIn(asked.events[2]!);
  assert.deepEqual(
    call?.confirmation_request?.options.map(({ id }) => id),
    ['proceed_once', 'cancel'],
  );
  assert.match(call.confirmation_request.generic_details?.description ?? '', /before ".*a\.txt"/);
  assert.equal(readFileSync(join(place.workspace, 'a.txt'), 'utf8'), 'two\n');

  const done = await answer(asked, 'proceed_once');
  assert.deepEqual(done.events.map(outline), [
    'TOOL_CALL_UPDATE EXECUTING',
    'TOOL_CALL_UPDATE SUCCEEDED',
    'TEXT_CONTENT',
    'STATE_CHANGE completed final',
  ]);
  assert.match(done.text, /1 files written, 0 removed/);
  assert.equal(readFileSync(join(place.workspace, 'a.txt'), 'utf8'), 'one\n');
  await say('what now?');
  const prompt = heard(requests.at(-1));
  // Without the note, the model would write the file again.
  assert.match(prompt, /write one.*First done\..*write two.*user canceled this.*what now\?/);
  assert.doesNotMatch(prompt, /Second done|two\\\\n/);
});

test('/restore can be undone, with the conversation', async (t) => {
  const { say, answer, requests, place, ids } = await withTwoFiles(t);
  const { text } = await answer(await say(`/restore ${ids[1]}`), 'proceed_once');
  assert.equal(existsSync(join(place.workspace, 'a.txt')), false);
  await say('what now?');
  assert.doesNotMatch(heard(requests.at(-1)), /First done|Second done/);
  const [, undo] = /To undo this: \/restore (\S+)/.exec(text) ?? [];
  await answer(await say(`/restore ${undo}`), 'proceed_once');
  assert.equal(readFileSync(join(place.workspace, 'a.txt'), 'utf8'), 'two\n');
  await say('and now?');
  const prompt = heard(requests.at(-1));
  assert.match(prompt, /First done\..*Second done\..*and now\?/);
  assert.doesNotMatch(prompt, /what now/);
});

test('a /restore that is declined changes nothing', async (t) => {
  const { say, answer, requests, place, ids } = await withTwoFiles(t);
  const done = await answer(await say(`/restore ${ids[0]}`), 'cancel');
  assert.equal(outline(done.events[0]!), 'TOOL_CALL_UPDATE CANCELLED');
  assert.equal(done.text, 'Nothing was changed.');
  assert.equal(readFileSync(join(place.workspace, 'a.txt'), 'utf8'), 'two\n');
  await say('what now?');
  assert.match(heard(requests.at(-1)), /Second done/);
});

test('a checkpoint of another conversation brings back files only', async (t) => {
  const { say, answer, requests, ids, place } = await withTwoFiles(t);
  const other = { contextId: 'another' };
  await say('hello', other);
  assert.match((await say('/restore list', other)).text, /\(files only\)\n.*\(files only\)$/);
  const { text } = await answer(await say(`/restore ${ids[0]}`, other), 'proceed_once');
  assert.match(text, /The conversation is unchanged/);
  assert.equal(readFileSync(join(place.workspace, 'a.txt'), 'utf8'), 'one\n');
  await say('what now?', other);
  assert.match(heard(requests.at(-1)), /hello.*After\..*what now/);
});

test('a /restore that waits goes on waiting after a restart', async (t) => {
  const place = makePlace(t);
  const first = await startCoder(t, place, {
    script: [writes('a.txt', 'one\n'), [{ text: 'done' }]],
    mode: 'auto-edit',
  });
  const contextId = 'c';
  await stream(first.url, userMessage('write', { contextId }));
  const listed = turnOf(await stream(first.url, userMessage('/restore', { contextId })));
  const id = listed.text.split(' ', 1)[0]!;
  const asked = turnOf(await stream(first.url, userMessage(`/restore ${id}`, { contextId })));
  await first.stop();
  const second = await begin(t, [], { place, mode: 'auto-edit' });
  const done = await second.answer(asked, 'proceed_once');
  assert.match(done.text, /1 removed/);
  assert.equal(existsSync(join(place.workspace, 'a.txt')), false);
});

test('/approval changes what is asked in this session', async (t) => {
  const { say, place } = await begin(t, [writes('a.txt', 'a\n'), [{ text: 'done' }]]);
  assert.match((await say('/approval')).text, /^The approval mode is ask/);
  assert.match((await say('/approval auto-edit')).text, /of this session is now/);
  assert.equal((await say('write')).state, 'completed');
  assert.equal(readFileSync(join(place.workspace, 'a.txt'), 'utf8'), 'a\n');
  assert.match(
    (await say('/approval', { contextId: 'another' })).text,
    /^The approval mode is ask/,
  );
});

test('/approval yolo needs a server that allows it', async (t) => {
  const strict = await begin(t);
  assert.match((await strict.say('/approval yolo')).error ?? '', /--allow-auto-execute/);
  assert.match((await strict.say('/approval')).text, /^The approval mode is ask/);
  const open = await begin(t, [], { allowAutoExecute: true });
  assert.match((await open.say('/approval yolo')).text, /of this session is now/);
});

test('where the operator says plan, no client leaves it, nor changes anything by a command', async (t) => {
  const place = makePlace(t);
  const before = await begin(t, [writes('a.txt', 'a\n'), [{ text: 'done' }]], {
    place,
    mode: 'auto-edit',
  });
  await before.say('write');
  const checkpoint = /^\S+/.exec((await before.say('/restore')).text)?.[0];
  await before.stop();
  const plan = { place, mode: 'plan', loosest: 'plan', allowAutoExecute: true } as const;
  const { say, url } = await begin(t, [writes('b.txt', 'b\n'), [{ text: 'no' }]], plan);
  for (const mode of ['ask', 'auto-edit', 'yolo']) {
    assert.match((await say(`/approval ${mode}`)).error ?? '', /started with --approval plan/);
  }
  assert.match((await say('/approval plan')).text, /of this session is now/);
  assert.match((await say(`/restore ${checkpoint}`)).error ?? '', /plan mode/);
  assert.match((await say('/memory add tea')).error ?? '', /plan mode/);
  await say('write');
  assert.ok(!existsSync(join(place.workspace, 'b.txt')));
  const metadata = { [EXTENSION_URI]: { autoExecute: true } };
  const message = userMessage('write', { metadata });
  const { error } = await rpc(url, 'message/send', { message });
  assert.match(error?.message ?? '', /autoExecute: .*--approval plan/);
});

test('the mode is set by those who may allow calls', async (t) => {
  const roles = { bot: ['prompt'], phone: ['prompt', 'approve'] };
  const { url } = await begin(t, [], {
    server: {
      authenticate: ({ header }) => {
        const name = header('x-name') === 'phone' ? 'phone' : 'bot';
        return { id: '', name, roles: roles[name] };
      },
    },
  });
  const say = async (name: string, text: string) => {
    const headers = { 'content-type': 'application/json', 'x-name': name };
    const params = { message: userMessage(text, { contextId: 'c' }) };
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'message/send', params });
    return (await fetch(url, { method: 'POST', headers, body })).text();
  };
  assert.match(
    await say('bot', '/approval auto-edit'),
    /This client does not have the role \\"approve\\"/,
  );
  assert.match(await say('bot', '/approval'), /The approval mode is ask/);
  assert.match(await say('phone', '/approval auto-edit'), /of this session is now/);
});

test('a mode that was chosen where it was allowed does not count where it is not', async (t) => {
  const place = makePlace(t);
  const open = await begin(t, [], { place, allowAutoExecute: true });
  const { contextId } = await open.say('/approval yolo');
  await open.stop();
  const strict = await begin(t, [writes('a.txt', 'a\n')], { place });
  assert.match((await strict.say('/approval', { contextId })).text, /^The approval mode is ask/);
  assert.equal((await strict.say('write', { contextId })).state, 'input-required');
});

test('a mode that a command could not set does not count later, where it is allowed', async (t) => {
  const place = makePlace(t);
  const strict = await begin(t, [], { place });
  const { contextId, error } = await strict.say('/approval yolo');
  assert.match(error ?? '', /not allowed/);
  await strict.stop();
  const open = await begin(t, [], { place, allowAutoExecute: true });
  assert.match((await open.say('/approval', { contextId })).text, /^The approval mode is ask/);
});

test('there can be a rule for every tool that /tools lists', async (t) => {
  const { say } = await begin(t);
  const { text } = await say('/tools');
  const names = text.split('\n').map((line) => line.split(':', 1)[0] ?? '');
  assert.ok(names.length > 10);
  for (const tool of names) assert.equal(problemOf({ tool, decision: 'ask' }), undefined);
});

test('/model takes another model for this session, which the events name', async (t) => {
  const { say, requests } = await begin(t, [[{ text: 'I am the script.' }]]);
  assert.equal((await say('/model')).text, 'The model is scripted.');
  assert.match((await say('/model offline')).text, /is now offline/);
  const { events } = await say('who are you?');
  assert.equal(requests.length, 0);
  const last = events.at(-1);
  assert.equal(eventIn(last?.kind === 'status-update' ? last.metadata : {})?.model, 'offline');
  await say('/model scripted');
  assert.equal((await say('and you?')).text, 'I am the script.');
});

test('/stats counts tokens, calls and cost', async (t) => {
  const script = [writes('a.txt', 'a\n'), [{ text: 'done' }]];
  const { say } = await begin(t, script, { mode: 'auto-edit' });
  assert.match(
    (await say('/stats')).text,
    /^0 turns, 0 tool calls[^]*No model has been called yet/,
  );
  await say('write');
  const { text } = await say('/stats');
  assert.match(text, /^1 turn, 1 tool call \(0 failed\), in \d+ s$/m);
  assert.match(text, /^scripted: 2 requests, [1-9]\d* tokens in \(0 cached\), [1-9]\d* out$/m);
  assert.match(text, /^Cost: \$0\.0000$/m);
});

test('/mcp says which servers there are and why one is not available', async (t) => {
  const place = makePlace(t);
  settings(place, { mcpServers: { lost: { command: '/no/such/program' } } });
  const { say } = await begin(t, [], { place });
  assert.match((await say('/mcp')).text, /^lost: not available \(.+\)$/);
  const none = await begin(t);
  assert.match((await none.say('/mcp')).text, /There are no MCP servers/);
});

test('/init has the model write AGENTS.md', async (t) => {
  const { say, requests } = await begin(t, [writes('AGENTS.md', '# Here\n')]);
  const { state, events } = await say('/init mind the docs');
  assert.match(heard(requests[0]), /Write AGENTS\.md.*mind the docs/);
  assert.equal(state, 'input-required');
  assert.equal(events.map(callIn).at(-2)?.tool_name, 'write_file');
});

test("the user's own commands are prompts, and a workspace's count once it is trusted", async (t) => {
  const place = makePlace(t);
  const folder = join(place.workspace, '.parley', 'commands', 'git');
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, 'commit.md'), 'Commit with the message $ARGUMENTS, please.');
  const { say, requests, execute } = await begin(t, [[{ text: 'a' }], [{ text: 'b' }]], { place });
  await say('/git commit fix it');
  assert.match(heard(requests[0]), /"\/git commit fix it"/);
  const refused = await execute(['git', 'commit'], 'fix it');
  assert.equal(refused.status, 'FAILED_TO_START');
  assert.match(refused.message ?? '', /There is no command \/git commit; the commands are \/help/);
  await trust(join(place.home, 'config'), place.workspace);
  await say('/git commit fix it');
  assert.match(heard(requests[1]), /Commit with the message fix it, please\./);
  assert.match((await say('/help')).text, /^\/git commit: Commit with/m);
});

test('no file takes the place of a built-in command', async (t) => {
  const place = makePlace(t);
  const folder = join(place.home, 'config', 'commands');
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, 'clear.md'), 'Delete everything.');
  const { say, requests } = await begin(t, [], { place });
  assert.equal((await say('/clear')).text, 'A new conversation starts here.');
  assert.equal(requests.length, 0);
});

test('command/execute answers with a task that has what the command says', async (t) => {
  const { url, execute } = await begin(t);
  const { execution_id, status } = await execute(['memory', 'show']);
  assert.equal(status, 'STARTED');
  const { result } = await finished(url, execution_id);
  assert.equal(answerIn(result), 'The memory is empty.');
});

/** Waits by reading the task's stream; one that is over has none. */
async function finished(url: string, id: string): Promise<Awaited<ReturnType<typeof rpc>>> {
  const body = JSON.stringify({
    jsonrpc: '2.0',
    id: 1,
    method: 'tasks/resubscribe',
    params: { id },
  });
  const headers = { 'content-type': 'application/json' };
  await (await fetch(url, { method: 'POST', headers, body })).text();
  return rpc(url, 'tasks/get', { id });
}

for (const [path, args, says] of [
  [['nothing'], '', /^There is no command \/nothing; the commands are \/help, \/init/],
  [['memory'], '', /needs a subcommand: \/memory show/],
  [['memory', 'add'], ' ', /An argument is missing: \/memory add TEXT/],
  [['help'], 'me', /takes no arguments/],
] as const) {
  test(`command/execute ${JSON.stringify(path)} with "${args}" fails to start`, async (t) => {
    const { execute } = await begin(t);
    const { execution_id, status, message } = await execute(path, args);
    assert.deepEqual([execution_id, status], ['', 'FAILED_TO_START']);
    assert.match(message ?? '', says);
  });
}

test('command/execute says that a restore waits, and its confirmation is taken', async (t) => {
  const { execute, url, ids, say, place } = await withTwoFiles(t);
  const { contextId } = await say('/stats');
  const { execution_id, status } = await execute(['restore'], ids[0], contextId);
  assert.equal(status, 'AWAITING_ACTION_CONFIRMATION');
  const yes = userMessage('yes', { taskId: execution_id });
  assert.match(turnOf(await stream(url, yes)).text, /The conversation is restored too/);
  assert.equal(readFileSync(join(place.workspace, 'a.txt'), 'utf8'), 'one\n');
});
