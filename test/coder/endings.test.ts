/** Turns that are stopped: every call ends, and the model learns what happened. */
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { contentText, functionCalls, functionResponses } from '../../src/agent/content.ts';
import { createEvent } from '../../src/agent/event.ts';
import type { ModelRequest } from '../../src/agent/model.ts';
import type { ScriptedResponse } from '../../src/agent/models/scripted.ts';
import { sqliteSessions } from '../../src/agent/sqlite/index.ts';
import { connect } from '../../src/client/index.ts';
import type { ToolCall } from '../../src/protocol/development-tool/index.ts';
import type { LogEntry, Part } from '../../src/protocol/index.ts';
import { sqliteStore } from '../../src/store/sqlite.ts';
import { mortal } from '../support/runs.ts';
import { done, shell } from './checked-talk.ts';
import { callsIn, check, confirmed, extensions, follow } from './other-process.ts';
import { makePlace } from './support.ts';
import { begin, writes } from './talk.ts';

/** A conversation with a client that follows its tasks. */
async function start(
  t: TestContext,
  script: readonly ScriptedResponse[],
  more: Parameters<typeof begin>[2] = {},
) {
  const { url, requests, place, stop } = await begin(t, script, more);
  const agent = await connect(url, { version: '0.3' });
  t.after(() => agent.close());
  let contextId: string | undefined;
  return {
    agent,
    requests,
    place,
    stop,
    /** Sends a prompt, and follows the task until the condition holds for its log, or until the task ends or waits. */
    say: async (text: string, until: (log: readonly LogEntry[]) => boolean = () => false) => {
      const stream = agent.stream(text, {
        extensions,
        ...(contextId !== undefined && { contextId }),
      });
      const log: LogEntry[] = [];
      for await (const { event } of stream) {
        assert.ok(event.kind !== 'message');
        log.push({ seq: log.length, event });
        if (until(log)) break;
      }
      const { task } = stream;
      assert.ok(task);
      ({ contextId } = task);
      return task.id;
    },
    logOf: async (taskId: string) => {
      const log: LogEntry[] = [];
      await follow(agent, taskId, log);
      return { log, seen: check(log) };
    },
  };
}

/** What a request tells the model, in order: texts, calls and their responses. */
function told(request: ModelRequest | undefined): string[] {
  const lines: string[] = [];
  for (const content of request?.messages ?? []) {
    for (const { name, response } of functionResponses(content)) {
      const text = typeof response === 'string' ? response : JSON.stringify(response);
      lines.push(`${name} -> ${text}`);
    }
    if (contentText(content) !== '') lines.push(`${content.role}: ${contentText(content)}`);
    for (const { name } of functionCalls(content)) lines.push(`call ${name}`);
  }
  return lines;
}

const prints = (text: string) => (log: readonly LogEntry[]) =>
  callsIn(log).some(({ live_content = '' }) => live_content.includes(text));

test('a command that runs when its turn is canceled ends as CANCELLED, and the model hears of it and of its output', async (t) => {
  const script = [[{ text: 'Let me build.' }, ...shell('echo half; sleep 1000')], done];
  const { agent, say, logOf, requests } = await start(t, script, { mode: 'yolo' });
  const taskId = await say('build', prints('half'));
  const task = await agent.cancel(taskId);
  assert.equal(task.status.state, 'canceled');

  const { log, seen } = await logOf(taskId);
  assert.equal(seen.lifeOf('run_shell_command'), 'PENDING EXECUTING CANCELLED');
  assert.deepEqual(seen.ends, ['canceled']);
  const { error } = callsIn(log).at(-1)!;
  assert.deepEqual([error?.type, error?.message.split(':')[0]], ['stopped', 'stopped by the user']);

  await say('go on');
  assert.deepEqual(told(requests.at(-1)), [
    'user: build',
    'model: Let me build.',
    'call run_shell_command',
    'run_shell_command -> stopped by the user: this call did not finish. Its output so far:\nhalf',
    'user: [The user canceled this request.]go on',
  ]);
});

test('calls that wait for approval when their turn is canceled end as CANCELLED, and the model hears that they were not run', async (t) => {
  const script = [[...writes('a.txt', 'a'), ...writes('b.txt', 'b')], done];
  const { agent, say, logOf, requests } = await start(t, script);
  const taskId = await say('write');
  const [first, second] = await Promise.allSettled([agent.cancel(taskId), agent.cancel(taskId)]);
  assert.equal([first, second].filter(({ status }) => status === 'fulfilled').length >= 1, true);

  const { seen } = await logOf(taskId);
  assert.deepEqual(
    [...seen.lives.values()].map((life) => life.join(' ')),
    ['PENDING CANCELLED', 'PENDING CANCELLED'],
  );
  assert.deepEqual(seen.ends, ['canceled']);

  await say('go on');
  assert.deepEqual(told(requests.at(-1)), [
    'user: write',
    'call write_file',
    'call write_file',
    'write_file -> stopped by the user: this call was not run',
    'write_file -> stopped by the user: this call was not run',
    'user: [The user canceled this request.]go on',
  ]);
});

test('a call that waits behind a call that asks ends as CANCELLED when the turn is canceled: it was not run', async (t) => {
  const reads = [{ call: { name: 'read_file', args: { path: 'a.txt' } } }];
  const script = [[...writes('a.txt', 'a'), ...reads], done];
  const { agent, say, logOf, requests } = await start(t, script);
  const taskId = await say('write, then read');
  await agent.cancel(taskId);

  const { seen } = await logOf(taskId);
  assert.equal(seen.lifeOf('read_file'), 'PENDING CANCELLED');
  await say('go on');
  assert.deepEqual(
    told(requests.at(-1)).filter((line) => line.includes('->')),
    [
      'write_file -> stopped by the user: this call was not run',
      'read_file -> stopped by the user: this call was not run',
    ],
  );
});

test('the part of an answer that was told before the turn was canceled is in the next request, and in the log', async (t) => {
  const script: ScriptedResponse[] = [
    [{ text: 'One. Two. ' }, { delayMs: 60_000 }, { text: 'Three.' }],
    done,
  ];
  const { agent, say, logOf, requests } = await start(t, script);
  const taskId = await say('count', (log) => JSON.stringify(log).includes('One. '));
  await agent.cancel(taskId);
  const { log } = await logOf(taskId);
  await say('go on');
  const [, partial = ''] = told(requests.at(-1));
  assert.match(partial, /^model: One\./);
  assert.deepEqual(told(requests.at(-1)).slice(2), [
    'user: [The user canceled this request.]go on',
  ]);
  const shown = log.flatMap(({ event }) =>
    event.kind === 'status-update' && event.status.message?.role === 'agent'
      ? event.status.message.parts.map((part) => (part.kind === 'text' ? part.text : ''))
      : [],
  );
  assert.equal(`model: ${shown.join('')}`, partial, 'the model knows what was shown');
});

test('a turn whose model fails keeps the part of the answer that was told, and its results', async (t) => {
  const script: ScriptedResponse[] = [
    shell('echo built'),
    [{ text: 'It is ' }, { error: { status: 400, message: 'no more' } }],
    done,
  ];
  const { say, logOf, requests } = await start(t, script, { mode: 'yolo' });
  const taskId = await say('build');
  const { seen } = await logOf(taskId);
  assert.deepEqual(seen.ends, ['failed']);
  assert.equal(seen.lifeOf('run_shell_command'), 'PENDING EXECUTING SUCCEEDED');
  await say('go on');
  const lines = told(requests.at(-1));
  assert.match(lines[2]!, /^run_shell_command -> .*built/);
  assert.deepEqual(lines.slice(3), ['model: It is ', 'user: go on']);
});

test('a call that runs when the server shuts down ends, and is not run again after a restart', async (t) => {
  const script = [shell('echo ran >> ran.txt; echo half; sleep 1000'), done];
  const { say, stop, place } = await start(t, script, { mode: 'yolo' });
  const taskId = await say('run', prints('half'));
  await stop();
  const store = sqliteStore(join(place.home, 'tasks.db'));
  const entries = store.read(taskId, 0, 1000);
  store.close();
  assert.equal(check(entries).lifeOf('run_shell_command'), 'PENDING EXECUTING CANCELLED');
  const again = await start(t, [done], { mode: 'yolo', place });
  const { log, seen } = await again.logOf(taskId);
  assert.equal(seen.lifeOf('run_shell_command'), 'PENDING EXECUTING CANCELLED');
  assert.match(
    callsIn(log).at(-1)!.error!.message,
    /^the server is shutting down: this call did not finish/,
  );
  assert.deepEqual(seen.ends, ['completed'], 'the model went on');
  assert.match(told(again.requests.at(-1)).at(-1)!, /shutting down/);
});

test('an answer that comes while its task is being canceled does not run the call', async (t) => {
  const { agent, say, logOf } = await start(t, [shell('echo ran >> ran.txt'), done]);
  const taskId = await say('run');
  const [asked] = (await logOf(taskId)).seen.waiting;
  const configuration = { blocking: false };
  await Promise.allSettled([
    agent.cancel(taskId),
    agent.send(confirmed(asked!), { taskId, extensions, configuration }),
  ]);
  const { seen } = await logOf(taskId);
  assert.equal(seen.ends.length, 1);
  for (const life of seen.lives.values()) assert.match(life.join(' '), /(?:CANCELLED|SUCCEEDED)$/);
});

test('text beside a confirmation reaches the model after the results of the calls, with every option', async (t) => {
  const script = [shell('echo one'), shell('echo two'), done];
  const { agent, say, logOf, requests } = await start(t, script);
  const taskId = await say('run');
  for (const [option, words] of [
    ['proceed_once', 'but quickly'],
    ['cancel', 'use npm instead'],
  ] as const) {
    const [asked] = (await logOf(taskId)).seen.waiting;
    const { tool_call_id } = asked!;
    const parts: Part[] = [
      {
        kind: 'data',
        data: {
          tool_call_id,
          selected_option_id: option,
          ...(option === 'cancel' && { reason: 'too slow' }),
        },
      },
      { kind: 'text', text: words },
    ];
    await agent.send({ parts }, { taskId, extensions });
  }
  const lines = told(requests.at(-1));
  assert.match(lines[2]!, /one/);
  assert.deepEqual(lines.slice(3), [
    'user: but quickly',
    'call run_shell_command',
    'run_shell_command -> this call was declined: too slow',
    'user: use npm instead',
  ]);
});

test('text beside a confirmation that comes while another call runs reaches the model, once', async (t) => {
  const script = [
    [...shell('echo ready; sleep 0.5'), ...shell('echo two'), ...shell('echo three')],
    done,
  ];
  const { agent, say, logOf, requests } = await start(t, script);
  const taskId = await say('run');
  const [first, ...others] = (await logOf(taskId)).seen.waiting;
  const chosen = ({ tool_call_id }: ToolCall): Part => ({
    kind: 'data',
    data: { tool_call_id, selected_option_id: 'proceed_once' },
  });
  const words: Part = { kind: 'text', text: 'both of them' };
  const configuration = { blocking: false };
  await agent.send({ parts: [chosen(first!)] }, { taskId, extensions, configuration });
  await agent.send({ parts: [...others.map(chosen), words] }, { taskId, extensions });
  const lines = told(requests.at(-1));
  assert.deepEqual(lines.slice(-1), ['user: both of them']);
  assert.equal(lines.filter((line) => line.includes('both of them')).length, 1);
  assert.equal(lines.filter((line) => line.includes('->')).length, 3);
});

test('the words of a person who declines a call reach the model, although the turn is canceled at once', async (t) => {
  const script = [[...shell('echo one'), ...shell('echo two')], done];
  const { agent, say, logOf, requests } = await start(t, script);
  const taskId = await say('run');
  const [asked] = (await logOf(taskId)).seen.waiting;
  const { tool_call_id } = asked!;
  const parts: Part[] = [
    { kind: 'data', data: { tool_call_id, selected_option_id: 'cancel', reason: 'too slow' } },
    { kind: 'text', text: 'try make' },
  ];
  const configuration = { blocking: false };
  await agent.send({ parts }, { taskId, extensions, configuration });
  await agent.cancel(taskId);
  const { seen } = await logOf(taskId);
  for (const life of seen.lives.values()) assert.equal(life.join(' '), 'PENDING CANCELLED');
  await say('go on');
  assert.deepEqual(told(requests.at(-1)).slice(-3), [
    'run_shell_command -> this call was declined: too slow',
    'run_shell_command -> stopped by the user: this call was not run',
    'user: try make[The user canceled this request.]go on',
  ]);
});

test('a prompt that is canceled before the model has heard it is in the next request', async (t) => {
  const { agent, say, logOf, requests } = await start(t, [done, done]);
  await say('hello');
  const taskId = await say('never mind', () => true);
  await agent.cancel(taskId).catch(() => undefined);
  const { seen } = await logOf(taskId);
  await say('go on');
  const lines = told(requests.at(-1));
  assert.ok(lines.some((line) => line.includes('never mind')));
  assert.equal(lines.join('').includes('canceled'), seen.ends[0] === 'canceled');
});

test('the calls of a canceled turn end although the session cannot be written', async (t) => {
  const place = makePlace(t);
  const own = sqliteSessions(join(place.home, 'own.db'));
  t.after(() => own.close());
  const { store: sessions, die } = mortal(own);
  const script = [shell('echo half; sleep 1000')];
  const { agent, say, logOf } = await start(t, script, { mode: 'yolo', place, sessions });
  const taskId = await say('run', prints('half'));
  die();
  await agent.cancel(taskId);
  const { seen } = await logOf(taskId);
  assert.equal(seen.lifeOf('run_shell_command'), 'PENDING EXECUTING CANCELLED');
  assert.deepEqual(seen.ends, ['canceled']);
});

test('a turn whose process dies after its run was canceled, and before its task was, ends canceled', async (t) => {
  const script = [shell('echo half; sleep 1000')];
  const { say, stop, place } = await start(t, script, { mode: 'yolo' });
  const taskId = await say('run', prints('half'));
  await stop();
  const sessions = sqliteSessions(join(place.home, 'sessions.db'));
  const owner = { app: 'coder', user: 'anonymous' };
  const [{ id } = { id: '' }] = await sessions.list(owner);
  const error = { code: 'canceled', message: 'the run was canceled' };
  const end = createEvent({ runId: taskId, author: 'user' }, { error });
  await sessions.append({ ...owner, id }, [end]);
  await sessions.close();
  const again = await start(t, [], { mode: 'yolo', place });
  const { seen } = await again.logOf(taskId);
  assert.equal(seen.lifeOf('run_shell_command'), 'PENDING EXECUTING CANCELLED');
  assert.deepEqual(seen.ends, ['canceled']);
  assert.deepEqual(again.requests, []);
});
