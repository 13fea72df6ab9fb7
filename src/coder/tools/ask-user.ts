/** ask_user: a question of the model to the person, with answers to choose from where there are some. */
import * as z from 'zod';
import { RichResponse } from '../../agent/index.ts';
import type { CoderTool, Display } from './tool.ts';
import { defineTool } from './define-tool.ts';

const MAX_OPTIONS = 10;

const Arguments = z.strictObject({
  question: z.string().min(1).max(4000),
  options: z
    .array(z.string().min(1).max(200))
    .max(MAX_OPTIONS)
    .optional()
    .describe('Answers to choose from. The person may also say something else.'),
});

const DESCRIPTION = `Asks the user and waits for the answer. Use it when you cannot go on without a decision that is \
theirs; not for what you can find out yourself, and not for permissions, which are asked for when needed.`;

export function askUserTool(): CoderTool {
  return defineTool({
    name: 'ask_user',
    description: DESCRIPTION,
    input: Arguments,
    effect: 'talk',
    describe: ({ question }) => `Ask: ${question}`,
    run({ question, options }, context) {
      const { answer } = context;
      if (answer === undefined) {
        return context.ask({ text: question, ...(options && { options }) });
      }
      const value = answer.value ?? null;
      if (value === null || value === '')
        return { answered: false, note: 'The user did not answer.' };
      const display: Display = { text: typeof value === 'string' ? value : JSON.stringify(value) };
      return new RichResponse({ answer: value }, { display });
    },
  });
}
