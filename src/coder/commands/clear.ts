/** /clear: starts a new conversation. Files, the session's mode and model, and its usage stay unchanged. */
import { TODO_KEY } from '../tools/todo.ts';
import type { CoderCommand } from './command.ts';

export const clearCommand: CoderCommand = {
  name: 'clear',
  description: 'Starts a new conversation: the model no longer sees the earlier messages.',
  async *run(_args, { run }) {
    run.state.set(TODO_KEY, null);
    yield {
      content: {
        role: 'model',
        parts: [{ kind: 'text', text: 'A new conversation starts here.' }],
      },
      actions: { rewind: { to: null } },
    };
  },
};
