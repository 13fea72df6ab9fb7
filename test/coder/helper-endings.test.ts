/** Helpers that are stopped in the middle: each of their calls ends once, and the agent's model hears what was done. */
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { test } from 'node:test';
import type { ScriptedResponse } from '../../src/agent/models/scripted.ts';
import { connect } from '../../src/client/index.ts';
import type { LogEntry } from '../../src/protocol/index.ts';
import { calls, done, shell } from './checked-talk.ts';
import {
  callsIn,
  check,
  extensions,
  follow,
  killedWhileItRuns,
  makeServer,
} from './other-process.ts';
import { begin, heard, settings, writes } from './talk.ts';
import { makePlace, type Place } from './support.ts';

const job = calls('task', { prompt: 'Make files.', name: 'files' });

/** The lives of the calls, by the name of the helper and the tool. */
function lives(log: readonly LogEntry[]): Record<string, string> {
  const seen = check(log);
  return Object.fromEntries(
    [...seen.calls.values()].map(({ tool_call_id, tool_name, agent = 'agent' }) => [
      `${agent}: ${tool_name}`,
      seen.lives.get(tool_call_id)!.join(' '),
    ]),
  );
}

function sessionsIn({ home }: Place): unknown {
  using sessions = new DatabaseSync(join(home, 'sessions.db'), { readOnly: true });
  return sessions.prepare('SELECT count(*) AS n FROM sessions').get()?.['n'];
}

const WORK = /What it had done by then:\\nwrite_file {\\"path\\":\\"a\.txt\\".*}: done/;

for (const waits of [false, true]) {
  const when = waits ? 'asks' : 'runs a command';
  test(`a helper that ${when} when the turn is canceled ends with its calls`, async (t) => {
    const place = makePlace(t);
    const policy = [{ tool: 'write_file', decision: 'allow' }];
    const more = waits ? [] : [{ tool: 'run_shell_command', decision: 'allow' }];
    settings(place, { policy: [...policy, ...more] });
    const script: ScriptedResponse[] = [
      job,
      writes('a.txt', 'a'),
      shell('echo half; sleep 1000'),
      done,
    ];
    const { url, requests, say } = await begin(t, script, { place });
    const agent = await connect(url, { version: '0.3' });
    t.after(() => agent.close());
    const stream = agent.stream('delegate', { extensions });
    for await (const { event } of stream) {
      assert.ok(event.kind !== 'message');
      const [call] = callsIn([{ seq: 0, event }]);
      if (call?.live_content?.includes('half')) break;
    }
    const { id, contextId } = stream.task!;
    assert.equal((await agent.cancel(id)).status.state, 'canceled');

    const log: LogEntry[] = [];
    await follow(agent, id, log);
    assert.deepEqual(lives(log), {
      'agent: task': 'PENDING EXECUTING CANCELLED',
      'files: write_file': 'PENDING EXECUTING SUCCEEDED',
      'files: run_shell_command': waits ? 'PENDING CANCELLED' : 'PENDING EXECUTING CANCELLED',
    });
    assert.deepEqual(check(log).ends, ['canceled']);
    await say('go on', { contextId });
    assert.match(heard(requests.at(-1)), /stopped by the user: this call did not finish/);
    assert.match(heard(requests.at(-1)), WORK);
    assert.equal(sessionsIn(place), 1, "the helper's session is gone");
  });
}

test('a helper whose server is killed is not run again, and each of its calls ends once', async (t) => {
  const work = [calls('list_directory', {}), shell('echo ran >> ran.txt; sleep 1000')];
  const server = await makeServer([job, done], work);
  t.after(server.close);
  const log = await killedWhileItRuns(server, 'delegate');
  assert.deepEqual(lives(log), {
    'agent: task': 'PENDING EXECUTING FAILED',
    'files: list_directory': 'PENDING EXECUTING SUCCEEDED',
    'files: run_shell_command': 'PENDING EXECUTING FAILED',
  });
  assert.deepEqual(check(log).ends, ['completed'], 'the model went on');
  const failed = callsIn(log).filter(({ status }) => status === 'FAILED');
  for (const { error } of failed) assert.equal(error?.type, 'outcome_unknown');
  const { error } = failed.find(({ tool_name }) => tool_name === 'task')!;
  assert.match(error!.message, /What it had done by then:\nlist_directory {}: done/);
});
