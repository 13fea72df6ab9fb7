/** A server that is killed, at bad moments too: what was asked is still asked, and nothing is done twice. */
import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { test } from 'node:test';
import { setTimeout as wait } from 'node:timers/promises';
import type { ScriptedResponse } from '../../src/agent/models/scripted.ts';
import { ConnectionError, connect, type RemoteAgentClient } from '../../src/client/index.ts';
import type { ToolCall } from '../../src/protocol/development-tool/index.ts';
import { A2AError, fold, isTerminal, type LogEntry } from '../../src/protocol/index.ts';
import { calls, done, shell } from './checked-talk.ts';
import {
  callsIn,
  check,
  confirmed,
  extensions,
  follow,
  killedWhileItRuns,
  makeServer,
  PATIENCE,
} from './other-process.ts';
import { writes } from './talk.ts';

const { PARLEY_TEST_LONG: LONG, PARLEY_TEST_SCALE: SCALE } = process.env;
const SEEDS = LONG === '1' ? 20 : SCALE === '1' ? 3 : 1;

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
  const log = await killedWhileItRuns(server, 'run');
  const seen = check(log);
  assert.equal(seen.lifeOf('run_shell_command'), 'PENDING EXECUTING FAILED');
  const failed = callsIn(log).at(-1);
  assert.match(failed?.error?.message ?? '', /^outcome unknown/);
  assert.deepEqual(seen.ends, ['completed'], 'the model went on');
  assert.equal(readFileSync(server.at('ran.txt'), 'utf8'), 'ran\n');
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
      assert.deepEqual(await other.get(task.id, { extensions }), expected);
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
