/** /clear: the conversation begins anew. Files, the session's mode and model, and what was used stay as they are. */
import { TODO_KEY } from '../tools/todo.ts';
import type { CoderCommand } from './command.ts';

export const clearCommand: CoderCommand = {
  name: 'clear',
  description: 'Begins a new conversation: the model no longer sees what was said before.',
  async *run(_args, { run }) {
    run.state.set(TODO_KEY, null);
    yield {
      content: { role: 'model', parts: [{ kind: 'text', text: 'The conversation begins anew.' }] },
      actions: { rewind: { to: null } },
    };
  },
};
