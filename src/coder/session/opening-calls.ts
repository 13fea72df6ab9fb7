/**
 * Commands that a turn begins with: those that a person's own slash command has in its file (commands/file-commands.ts).
 *
 * They are calls of the shell like any other, made before the model is asked for the first time: the policy decides
 * about them, people see and allow them, and the model finds what they printed behind the prompt.
 */
import { randomUUIDv7 } from 'node:crypto';
import * as z from 'zod';
import type { Callbacks, State } from '../../agent/index.ts';
import { SHELL_TOOL } from '../approval/policy.ts';

const KEY = 'coder.opening';
const Opening = z.object({ runId: z.string(), commands: z.array(z.string()).min(1) });

/** What the session is to know for a run that begins with these commands. */
export function openingState(runId: string, commands: readonly string[]): State {
  return commands.length === 0 ? {} : { [KEY]: { runId, commands: [...commands] } };
}

export const openingCalls: Callbacks = {
  beforeModel(_request, { runId, state }) {
    const opening = Opening.safeParse(state.get(KEY)).data;
    // Of a run that never came to it, nothing is left to do.
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
