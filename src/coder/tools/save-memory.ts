/** save_memory: adds a line to the user's memory file, which all later sessions read. */
import * as z from 'zod';
import { addMemory, foldSpace } from '../files/memory.ts';
import type { CoderTool } from './tool.ts';
import { defineTool } from './define-tool.ts';

const MAX_TEXT = 1000;

const Arguments = z.strictObject({
  text: z
    .string()
    .max(MAX_TEXT)
    .refine((text) => foldSpace(text) !== '', 'the text is empty')
    .describe('One fact, in a sentence that can be understood without this conversation.'),
});

const DESCRIPTION = `Remembers a fact about the user or a preference of the user for all later sessions. Use it when \
the user asks for it or states a lasting preference. Do not use it for facts that concern only the current task, and never \
for passwords or keys.`;

export function saveMemoryTool(configFolder: string): CoderTool {
  return defineTool({
    name: 'save_memory',
    description: DESCRIPTION,
    input: Arguments,
    effect: 'memory',
    files: () => [],
    describe: ({ text }) => `Remember: ${foldSpace(text)}`,
    async run({ text }) {
      const saved = (await addMemory(configFolder, foldSpace(text), { once: true })) !== undefined;
      return { saved, note: saved ? 'The fact was saved.' : 'The fact was already saved earlier.' };
    },
  });
}
