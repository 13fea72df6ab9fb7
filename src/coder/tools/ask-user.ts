/** ask_user: the model asks the person a question, optionally with answers to choose from. */
import * as z from 'zod';
import type { CoderTool } from './tool.ts';
import { defineTool, respond } from './define-tool.ts';

const MAX_OPTIONS = 10;

const Arguments = z.strictObject({
  question: z.string().min(1).max(4000),
  options: z
    .array(z.string().min(1).max(200))
    .max(MAX_OPTIONS)
    .optional()
    .describe('Answers to choose from. The user may also give another answer.'),
});

const DESCRIPTION = `Asks the user and waits for the answer. Use it when you need a decision from the user to \
continue. Do not use it for facts that you can find out yourself, or for permissions, which are requested automatically.`;

export function askUserTool(): CoderTool {
  return defineTool({
    name: 'ask_user',
    description: DESCRIPTION,
    input: Arguments,
    effect: 'talk',
    // Several questions can be open at once. Later calls wait for the answer only if their tools are sequential, for
    // example if they change files.
    sequential: false,
    asks: true,
    describe: ({ question }) => `Ask: ${question}`,
    run({ question, options }, context) {
      const { answer } = context;
      if (answer === undefined) {
        return context.ask({ text: question, ...(options && { options }) });
      }
      const value = answer.value ?? null;
      if (value === null || value === '')
        return { answered: false, note: 'The user did not answer.' };
      return respond({ answer: value }, typeof value === 'string' ? value : JSON.stringify(value));
    },
  });
}
