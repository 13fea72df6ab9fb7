/** todo: the model's task list, stored in the session's state and shown to people. */
import * as z from 'zod';
import type { CoderTool } from './tool.ts';
import { defineTool, respond } from './define-tool.ts';

/** The key of the list in the session's state. */
export const TODO_KEY = 'todo';

const MAX_ITEMS = 100;

const Item = z.strictObject({
  text: z.string().min(1).max(500),
  status: z.enum(['pending', 'in_progress', 'completed']),
});

const Arguments = z.strictObject({
  items: z.array(Item).max(MAX_ITEMS).describe('The whole list, which replaces the old list.'),
});

const MARKS = { pending: '[ ]', in_progress: '[>]', completed: '[x]' } as const;

const DESCRIPTION = `Keeps a task list for the user's request. Use it for work with three or more steps: write down the \
steps first, mark the current step as in_progress, and mark finished steps as completed at once. Always send the whole list.`;

export function todoTool(): CoderTool {
  return defineTool({
    name: 'todo',
    description: DESCRIPTION,
    input: Arguments,
    effect: 'talk',
    files: () => [],
    describe: ({ items }) => (items.length === 1 ? 'Note 1 step' : `Note ${items.length} steps`),
    run({ items }, context) {
      context.state.set(TODO_KEY, items);
      const open = items.filter((item) => item.status !== 'completed').length;
      const shown = items.map(({ text, status }) => `${MARKS[status]} ${text}`).join('\n');
      return respond({ open, completed: items.length - open }, shown);
    },
  });
}
