/**
 * The agent of the fault tests. It resumes from the log. The first word of a message decides what it does:
 *
 *   steps N MS   sends N chunks with a pause of MS milliseconds
 *   tool         asks for approval, runs a tool that must not run twice, and sends its result
 */
import { randomUUID } from 'node:crypto';
import { setTimeout } from 'node:timers/promises';
import type {
  A2AAgent,
  ExecutionContext,
  ExecutorEvent,
  TaskStore,
} from '../../src/tasks/index.ts';
import { textOf, type Message } from '../../src/protocol/index.ts';

const EXECUTING = 'EXECUTING';

/** `runTool` is the tool. It must not be called twice for one task. */
export function faultAgent(store: TaskStore, runTool: (taskId: string) => Promise<void>): A2AAgent {
  /** Returns the name of the execution that executes the tool, according to the log. */
  async function executing(taskId: string): Promise<unknown> {
    const entries = await store.read(taskId, 0, 1000);
    return entries.map(({ event }) => event.metadata?.[EXECUTING]).find(Boolean);
  }

  async function* steps(
    { task, signal }: ExecutionContext,
    first: Message,
  ): AsyncGenerator<ExecutorEvent> {
    const [, count = '1', ms = '0'] = textOf(first.parts).split(' ');
    const done = task.artifacts?.[0]?.parts.length ?? 0;
    for (let at = done; at < Number(count) && !signal.aborted; at++) {
      await setTimeout(Number(ms));
      yield {
        kind: 'artifact-update',
        artifact: { artifactId: 'steps', parts: [{ kind: 'text', text: `step ${at}` }] },
        append: at > 0,
      };
    }
    if (!signal.aborted) yield { kind: 'status-update', state: 'completed' };
  }

  async function* tool({
    task: { id },
    turn,
    signal,
    resumed,
  }: ExecutionContext): AsyncGenerator<ExecutorEvent> {
    if (turn.length < 2) {
      yield { kind: 'status-update', state: 'input-required', message: 'Run the tool?' };
      return;
    }
    // The outcome of a tool that was executed when the process ended is unknown. It must not be executed again.
    if (resumed && (await executing(id)) !== undefined) {
      yield { kind: 'status-update', state: 'failed', message: 'outcome unknown' };
      return;
    }
    const name = randomUUID();
    yield { kind: 'status-update', state: 'working', metadata: { [EXECUTING]: name } };
    let stored: unknown;
    while ((stored = await executing(id)) === undefined) {
      if (signal.aborted) return;
      await setTimeout(5);
    }
    // Another node may have taken over the task while this one was paused.
    if (signal.aborted || stored !== name) return;
    await runTool(id);
    yield { kind: 'status-update', state: 'completed', message: 'the tool has run' };
  }

  return {
    profile: { name: 'Faults', description: 'The agent of the fault tests' },
    rules: { resumes: true },
    async *execute(context) {
      const first = context.turn[0] ?? context.message;
      if (context.task.status.state === 'submitted')
        yield { kind: 'status-update', state: 'working' };
      yield* textOf(first.parts).startsWith('tool') ? tool(context) : steps(context, first);
    },
  };
}
