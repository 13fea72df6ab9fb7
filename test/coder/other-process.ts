/** A coding agent in another process, and a client that follows its tasks through whatever happens to it. */
import assert from 'node:assert/strict';
import { existsSync, mkdirSync, mkdtempSync, realpathSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import type { ScriptedResponse } from '../../src/agent/models/scripted.ts';
import { connect, type RemoteAgentClient } from '../../src/client/index.ts';
import { EXTENSION_URI, type ToolCall } from '../../src/protocol/development-tool/index.ts';
import type { LogEntry } from '../../src/protocol/index.ts';
import { folder as home, startProgram } from '../cli/support.ts';
import { callIn } from './support.ts';
import { Transcript } from './transcript.ts';

export const PATIENCE = { attempts: 200, delayMs: 20, maxDelayMs: 100 };

/** It is started again, on the same port, as often as it is told to. */
export async function makeServer(
  script: readonly ScriptedResponse[],
  helperScript: readonly ScriptedResponse[] = [],
) {
  const folder = realpathSync(mkdtempSync(join(home, 'crash-')));
  const workspace = join(folder, 'work');
  mkdirSync(workspace);
  writeFileSync(join(folder, 'script.json'), JSON.stringify(script));
  writeFileSync(join(folder, 'helper.json'), JSON.stringify(helperScript));
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
    pid: () => running.child.pid!,
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

export const extensions = [EXTENSION_URI];

export function confirmed(call: ToolCall): { kind: 'data'; data: Record<string, unknown> }[] {
  const { tool_call_id, correlationId } = call;
  return [
    { kind: 'data', data: { tool_call_id, correlationId, selected_option_id: 'proceed_once' } },
  ];
}

/** Follows the task from the entry on, to its end or its next question. */
export async function follow(
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
export function check(log: readonly LogEntry[]): Transcript {
  const seen = new Transcript();
  for (const { event } of log) if (event.kind === 'status-update') seen.status(event);
  return seen;
}

export const callsIn = (log: readonly LogEntry[]): ToolCall[] =>
  log.map(({ event }) => callIn(event)).filter((call) => call !== undefined);

/**
 * Sends a prompt, approves its first call, kills the server when the call has made `ran.txt`, and starts it again.
 * Returns the whole log.
 */
export async function killedWhileItRuns(
  server: Awaited<ReturnType<typeof makeServer>>,
  prompt: string,
): Promise<LogEntry[]> {
  const { agent, at } = server;
  const task = await agent.send(prompt, { extensions });
  assert.ok(task.kind === 'task');
  const log: LogEntry[] = [];
  await follow(agent, task.id, log);
  const [asked] = check(log).waiting;
  const configuration = { blocking: false };
  await agent.send(confirmed(asked!), { taskId: task.id, extensions, configuration });
  while (!existsSync(at('ran.txt'))) await wait(10);
  // The command may be faster than the log.
  const logged = async () => JSON.stringify(await agent.get(task.id, { extensions }));
  while (!(await logged()).includes('"EXECUTING"')) await wait(10);
  await server.kill();
  await server.restart();
  await follow(agent, task.id, log);
  return log;
}
