/**
 * Shell commands that a turn begins with: those in the file of a custom slash command (commands/file-commands.ts).
 *
 * They are ordinary shell calls, made before the first model call. The policy decides about them, people see and approve
 * them, and the model gets their output after the prompt.
 */
import { randomUUIDv7 } from 'node:crypto';
import * as z from 'zod';
import type { Callbacks, State } from '../../agent/index.ts';
import { SHELL_TOOL } from '../approval/policy.ts';

const KEY = 'coder.opening';
const Opening = z.object({ runId: z.string(), commands: z.array(z.string()).min(1) });

/** The session state for a run that begins with these commands. */
export function openingState(runId: string, commands: readonly string[]): State {
  return commands.length === 0 ? {} : { [KEY]: { runId, commands: [...commands] } };
}

export const openingCalls: Callbacks = {
  beforeModel(_request, { runId, state }) {
    const opening = Opening.safeParse(state.get(KEY)).data;
    // Commands of another run, which ended before it could run them, are ignored.
    if (opening?.runId !== runId) return undefined;
    state.set(KEY, null);
    const parts = opening.commands.map((command) => ({
      kind: 'function-call' as const,
      id: `call_${randomUUIDv7()}`,
      name: SHELL_TOOL,
      args: { command },
    }));
    return { answer: { content: { role: 'model', parts } } };
  },
};
