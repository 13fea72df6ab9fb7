/**
 * Calls at the start of a turn: shell commands from the file of a custom slash command (commands/file-commands.ts), and
 * resources of MCP servers that the message mentions.
 *
 * They are ordinary tool calls, made before the first request to the model. The policy applies to them, people see and
 * approve them, and the model gets their output after the prompt.
 */
import { randomUUIDv7 } from 'node:crypto';
import * as z from 'zod';
import type { Callbacks, State } from '../../agent/index.ts';

const KEY = 'coder.opening';
const Call = z.object({ name: z.string(), args: z.record(z.string(), z.json()) });
const Opening = z.object({ runId: z.string(), calls: z.array(Call).min(1) });

/** A call that is made at the start of a turn. */
export type ToolCallRequest = z.infer<typeof Call>;

/** Returns the session state for a run that starts with these calls. */
export function openingState(runId: string, calls: readonly ToolCallRequest[]): State {
  return calls.length === 0 ? {} : { [KEY]: { runId, calls } };
}

export const openingCalls: Callbacks = {
  beforeModel(_request, { runId, state }) {
    const opening = Opening.safeParse(state.get(KEY)).data;
    // Ignore the calls of an earlier run that ended before these calls were made.
    if (opening?.runId !== runId) return undefined;
    state.set(KEY, null);
    const parts = opening.calls.map(({ name, args }) => ({
      kind: 'function-call' as const,
      id: `call_${randomUUIDv7()}`,
      name,
      args,
    }));
    return { answer: { content: { role: 'model', parts } } };
  },
};
