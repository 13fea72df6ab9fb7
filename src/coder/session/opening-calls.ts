/**
 * Shell commands at the start of a turn. They come from the file of a custom slash command (commands/file-commands.ts).
 *
 * They run as ordinary shell calls before the first model call. The policy applies to them, people see and approve
 * them, and the model gets their output after the prompt.
 */
import { randomUUIDv7 } from 'node:crypto';
import * as z from 'zod';
import type { Callbacks, State } from '../../agent/index.ts';
import { SHELL_TOOL } from '../approval/policy.ts';

const KEY = 'coder.opening';
const Opening = z.object({ runId: z.string(), commands: z.array(z.string()).min(1) });

/** Returns the session state for a run that starts with these commands. */
export function openingState(runId: string, commands: readonly string[]): State {
  return commands.length === 0 ? {} : { [KEY]: { runId, commands: [...commands] } };
}

export const openingCalls: Callbacks = {
  beforeModel(_request, { runId, state }) {
    const opening = Opening.safeParse(state.get(KEY)).data;
    // Ignore commands of an earlier run that ended before it ran them.
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
