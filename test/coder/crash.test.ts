/** A server that is killed, at bad moments too: what was asked is still asked, and nothing is done twice. */
import assert from 'node:assert/strict';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { setTimeout as wait } from 'node:timers/promises';
import type { ScriptedResponse } from '../../src/agent/models/scripted.ts';
import { ConnectionError, connect, type RemoteAgentClient } from '../../src/client/index.ts';
import { EXTENSION_URI, type ToolCall } from '../../src/protocol/development-tool.ts';
import { A2AError, fold, isTerminal, type LogEntry } from '../../src/protocol/index.ts';
import { folder as home, startProgram } from '../cli/support.ts';
import { calls, done, shell } from './checked-talk.ts';
import { callIn } from './support.ts';
import { writes } from './talk.ts';
import { Transcript } from './transcript.ts';

const LONG = process.env['PARLEY_TEST_LONG'] === '1';
const SEEDS = LONG ? 20 : 3;
const PATIENCE = { attempts: 200, delayMs: 20, maxDelayMs: 100 };

/** A coding agent that is started again, on the same port, as often as it is killed. */
async function makeServer(script: readonly ScriptedResponse[]) {
  const folder = realpathSync(mkdtempSync(join(home, 'crash-')));
  const workspace = join(folder, 'work');
  mkdirSync(workspace);
  writeFileSync(join(folder, 'script.json'), JSON.stringify(script));
  let port = '0';
  const begin = async () => {
    const program = join(import.meta.dirname, 'coder-process.ts');
    const running = startProgram(program, [folder, port]);
    const [url] = await running.saying(/^http.*$/m);
    port = new URL(url).port;
    return { ...running, url };
  };
  let running = await begin();
  const { url } = running;
  const agent = await connect(url, { version: '0.3', retry: PATIENCE });
  return {
    url,
    agent,
    at: (name: string): string => join(workspace, name),
    kill: async () => {
      running.child.kill('SIGKILL');
      await running.ended;
    },
    restart: async () => {
      running = await begin();
    },
    close: () => {
      agent.close();
      running.child.kill('SIGKILL');
    },
  };
}

const extensions = [EXTENSION_URI];

function confirmed(call: ToolCall): { kind: 'data'; data: Record<string, unknown> }[] {
  const { tool_call_id, correlationId } = call;
  return [
    { kind: 'data', data: { tool_call_id, correlationId, selected_option_id: 'proceed_once' } },
  ];
}

/** Follows the task from the entry on, to its end or its next question. */
async function follow(
  agent: RemoteAgentClient,
  taskId: string,
  log: LogEntry[],
  onEvent: () => void = () => {},
): Promise<void> {
  const stream = agent.resubscribe(taskId, {
    after: log.at(-1)?.seq ?? 0,
    retry: PATIENCE,
    extensions,
  });
  for await (const { event, seq } of stream) {
    assert.ok(seq !== undefined && event.kind !== 'message');
    log.push({ seq, event });
    onEvent();
  }
}

/** Every event held against the specification, in one go. */
function check(log: readonly LogEntry[]): Transcript {
  const seen = new Transcript();
  for (const { event } of log) if (event.kind === 'status-update') seen.status(event);
  return seen;
}

const callsIn = (log: readonly LogEntry[]): ToolCall[] =>
  log.map(({ event }) => callIn(event)).filter((call) => call !== undefined);

test('a request that waits when the server is killed still waits after the restart', async (t) => {
  const server = await makeServer([shell('echo ran >> ran.txt'), done]);
  t.after(server.close);
  const { agent, at } = server;
  const task = await agent.send('run', { extensions });
  assert.ok(task.kind === 'task' && task.status.state === 'input-required');
  const before: LogEntry[] = [];
  await follow(agent, task.id, before);
  const [asked] = check(before).waiting;

  await server.kill();
  await server.restart();
  const log: LogEntry[] = [];
  await follow(agent, task.id, log);
  assert.deepEqual(log, before);
  const [again] = check(log).waiting;
  assert.deepEqual(again, asked);
  assert.equal(existsSync(at('ran.txt')), false);

  const last = await agent.send(confirmed(again!), { taskId: task.id, extensions });
  assert.ok(last.kind === 'task' && last.status.state === 'completed');
  assert.equal(readFileSync(at('ran.txt'), 'utf8'), 'ran\n');
  await follow(agent, task.id, log);
  const seen = check(log);
  assert.equal(seen.lifeOf('run_shell_command'), 'PENDING EXECUTING SUCCEEDED');
  assert.deepEqual(seen.ends, ['completed']);
});

test('a command that runs when the server is killed is not run again, and its outcome is unknown', async (t) => {
  const server = await makeServer([shell('echo ran >> ran.txt; sleep 1000'), done]);
  t.after(server.close);
  const { agent, at } = server;
  const task = await agent.send('run', { extensions });
  assert.ok(task.kind === 'task');
  const log: LogEntry[] = [];
  await follow(agent, task.id, log);
  const [asked] = check(log).waiting;
  const configuration = { blocking: false };
  await agent.send(confirmed(asked!), { taskId: task.id, extensions, configuration });
  while (!existsSync(at('ran.txt'))) await wait(10);
  await server.kill();
  await server.restart();

  await follow(agent, task.id, log);
  const seen = check(log);
  assert.equal(seen.lifeOf('run_shell_command'), 'PENDING EXECUTING FAILED');
  const failed = callsIn(log).at(-1);
  assert.match(failed?.error?.message ?? '', /^outcome unknown/);
  assert.deepEqual(seen.ends, ['completed'], 'the model went on');
  assert.equal(readFileSync(at('ran.txt'), 'utf8'), 'ran\n');
});

/** A small generator of numbers below 1, the same for the same seed. */
function randomFrom(seed: number): () => number {
  let state = seed * 2654435761;
  return () => {
    state = (Math.imul(state ^ (state >>> 15), 2246822519) + 0x9e3779b9) | 0;
    return ((state ^ (state >>> 13)) >>> 0) / 2 ** 32;
  };
}

const line = (name: number): ScriptedResponse => shell(`echo ${name} >> ran.txt`);
const TEN_CALLS: readonly ScriptedResponse[] = [
  [{ thought: { subject: 'Begin', description: 'Ten calls.' } }, ...line(0)],
  writes('1.txt', '1'),
  [...line(2), ...line(3)],
  calls('list_directory', {}),
  [...line(5), ...writes('6.txt', '6')],
  line(7),
  [...line(8), ...line(9)],
  done,
];

for (let seed = 1; seed <= SEEDS; seed++) {
  test(`ten calls with a server that is killed at any moment (seed ${seed})`, async (t) => {
    const server = await makeServer(TEN_CALLS);
    t.after(server.close);
    const { agent, url, at } = server;
    const random = randomFrom(seed);
    const message = {
      messageId: `ten-calls-${seed}`,
      parts: [{ kind: 'text' as const, text: 'go' }],
    };
    const configuration = { blocking: false };
    const task = await agent.send(message, { extensions, configuration });
    assert.ok(task.kind === 'task');

    let kills = 0;
    let patience = 1 + Math.floor(random() * 8);
    let killing = Promise.resolve();
    const killSometimes = (): void => {
      if (--patience > 0) return;
      patience = 2 + Math.floor(random() * 10);
      const later = Math.floor(random() * 25);
      kills++;
      killing = killing.then(async () => {
        await wait(later);
        await server.kill();
        await server.restart();
      });
    };

    const log: LogEntry[] = [];
    const answered = new Set<string>();
    for (;;) {
      await follow(agent, task.id, log, killSometimes);
      const { waiting, ends } = check(log);
      if (ends.length > 0) break;
      for (const call of waiting) {
        if (!answered.has(call.correlationId!) && (await allow(agent, task.id, call))) {
          answered.add(call.correlationId!);
        }
      }
    }
    await killing;
    assert.ok(kills > 0);

    const seen = check(log);
    assert.deepEqual(seen.ends, ['completed']);
    assert.equal(seen.calls.size, 10);
    const ran = existsSync(at('ran.txt'))
      ? readFileSync(at('ran.txt'), 'utf8').trim().split('\n')
      : [];
    assert.equal(new Set(ran).size, ran.length, `nothing ran twice: ${ran.join(' ')}`);
    for (const call of seen.calls.values()) {
      if (call.status === 'FAILED') assert.match(call.error!.message, /^outcome unknown/);
      else assert.equal(call.status, 'SUCCEEDED');
    }
    const succeeded = [...seen.calls.values()].filter(
      ({ status, tool_name }) => status === 'SUCCEEDED' && tool_name === 'run_shell_command',
    );
    assert.ok(succeeded.length <= ran.length);

    const expected = fold(log.map(({ event }) => event));
    assert.ok(isTerminal(expected!.status.state));
    for (let reader = 0; reader < 2; reader++) {
      const other = await connect(url, { version: '0.3', retry: PATIENCE });
      assert.deepEqual(await other.get(task.id), expected);
      const theirs: LogEntry[] = [];
      await follow(other, task.id, theirs);
      assert.deepEqual(theirs, log, 'every reader sees the same');
      other.close();
      await server.kill();
      await server.restart();
    }
  });
}

/** Allows the call, through restarts. False: the server does not take it just now. */
async function allow(agent: RemoteAgentClient, taskId: string, call: ToolCall): Promise<boolean> {
  const messageId = `allow-${call.correlationId}`;
  const configuration = { blocking: false };
  for (;;) {
    try {
      const message = { messageId, parts: confirmed(call) };
      await agent.send(message, { taskId, extensions, configuration });
      return true;
    } catch (error) {
      if (error instanceof ConnectionError) await wait(20);
      else if (error instanceof A2AError && error.code === -32004) return false;
      else throw error;
    }
  }
}
