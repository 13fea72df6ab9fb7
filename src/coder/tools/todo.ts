/** todo: the list of what is to be done, kept in the session's state and shown to people. */
import * as z from 'zod';
import { RichResponse } from '../../agent/index.ts';
import type { CoderTool, Display } from './tool.ts';
import { defineTool } from './define-tool.ts';

/** Where the list is in the session's state. */
export const TODO_KEY = 'todo';

const MAX_ITEMS = 100;

const Item = z.strictObject({
  text: z.string().min(1).max(500),
  status: z.enum(['pending', 'in_progress', 'completed']),
});

const Arguments = z.strictObject({
  items: z.array(Item).max(MAX_ITEMS).describe('The whole list; it replaces the one before.'),
});

const MARKS = { pending: '[ ]', in_progress: '[>]', completed: '[x]' } as const;

const DESCRIPTION = `Keeps the list of what is to be done for the user's request. Use it for work of three steps or \
more: write the steps down first, mark the one that you are at as in_progress, and what is done as completed at once. \
Always send the whole list.`;

export function todoTool(): CoderTool {
  return defineTool({
    name: 'todo',
    description: DESCRIPTION,
    input: Arguments,
    effect: 'talk',
    describe: ({ items }) => (items.length === 1 ? 'Note 1 step' : `Note ${items.length} steps`),
    run({ items }, context) {
      context.state.set(TODO_KEY, items);
      const open = items.filter((item) => item.status !== 'completed').length;
      const display: Display = {
        text: items.map(({ text, status }) => `${MARKS[status]} ${text}`).join('\n'),
      };
      return new RichResponse({ open, completed: items.length - open }, { display });
    },
  });
}
