/** A command that prints more than anybody wants to read, through the whole server. */
import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { test } from 'node:test';
import type { LogEntry } from '../../src/protocol/index.ts';
import { done, shell } from './checked-talk.ts';
import { callsIn, check, confirmed, extensions, follow, makeServer } from './other-process.ts';

const LONG = process.env['PARLEY_TEST_LONG'] === '1';
const MB = 1024 * 1024;
const SIZE = (LONG ? 1024 : 100) * MB;
const LINE = '0123456789'.repeat(10);

/** The most memory that the process has had since `peak` was last forgotten, in bytes. */
function peakOf(pid: number): number {
  const [, kilobytes] = /^VmHWM:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))!;
  return Number(kilobytes) * 1024;
}

test(`a command that prints ${SIZE / MB} MB`, { skip: process.platform !== 'linux' }, async (t) => {
  const command = `echo begin; yes ${LINE} | head -c ${SIZE}; echo; echo end`;
  const server = await makeServer([shell('echo warm'), shell(command), done]);
  t.after(server.close);
  const { agent } = server;
  const configuration = { blocking: false };
  const task = await agent.send('print', { extensions, configuration });
  assert.ok(task.kind === 'task');
  const log: LogEntry[] = [];
  const allow = async (): Promise<void> => {
    const [call] = check(log).waiting;
    await agent.send(confirmed(call!), { taskId: task.id, extensions, configuration });
    await follow(agent, task.id, log);
  };
  await follow(agent, task.id, log);
  await allow();
  // From here on the peak is counted anew.
  writeFileSync(`/proc/${server.pid()}/clear_refs`, '5');
  const before = peakOf(server.pid());
  const began = performance.now();
  await allow();
  const seconds = (performance.now() - began) / 1000;
  const grown = peakOf(server.pid()) - before;
  // The output is not kept. How much is collected late depends on how busy the machine is.
  assert.ok(grown < 75 * MB, `memory has grown by ${Math.round(grown / MB)} MB`);

  assert.deepEqual(check(log).ends, ['completed']);
  const calls = callsIn(log);
  const last = calls.at(-1)!;
  const live = calls.filter((call) => call.tool_call_id === last.tool_call_id && call.live_content);
  assert.ok(live.length > 0 && live.length < 10 * seconds, `${live.length} in ${seconds} s`);
  for (const { live_content } of live) assert.ok(Buffer.byteLength(live_content!) <= 8192);
  const output = last.output?.text ?? '';
  const begins = `begin\n${LINE}\n${LINE}\n`;
  assert.ok(output.startsWith(begins) && output.endsWith('\nend\n'));
  assert.match(output, /\n\[… [\d,]+ characters were cut here …\]\n/);
  assert.ok(output.length < 100_000);
  const logged = log.reduce((sum, { event }) => sum + JSON.stringify(event).length, 0);
  assert.ok(logged < live.length * 10_000 + 200_000, `the log has ${logged} characters`);
});
