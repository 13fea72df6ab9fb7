/** save_memory: a line in the user's memory file, which every later session reads. */
import { systemCode } from '../../base/index.ts';
import * as z from 'zod';
import { inTurn } from '../files/queue.ts';
import { readBounded } from '../files/read-bounded.ts';
import { addMemory, userMemoryFile } from '../files/memory.ts';
import type { CoderTool } from './tool.ts';
import { defineTool } from './define-tool.ts';

const MAX_TEXT = 1000;
const MAX_FILE_BYTES = 64 * 1024;

const Arguments = z.strictObject({
  text: z
    .string()
    .max(MAX_TEXT)
    .refine((text) => folded(text) !== '', 'there is nothing to remember in it')
    .describe('One fact, in a sentence that can be understood without this conversation.'),
});

const DESCRIPTION = `Remembers a fact about the user or how they want things done, for all later sessions. Use it when \
the user asks for it, or states a lasting preference; not for what is only about the task at hand, and never for \
passwords or keys.`;

export function saveMemoryTool(configFolder: string): CoderTool {
  const file = userMemoryFile(configFolder);
  return defineTool({
    name: 'save_memory',
    description: DESCRIPTION,
    input: Arguments,
    effect: 'memory',
    describe: ({ text }) => `Remember: ${folded(text)}`,
    // Two calls at once with the same text shall not both find it missing.
    run: ({ text }) =>
      inTurn([`save_memory ${file}`], async () => {
        const line = folded(text);
        if (await isThere(file, line)) return { saved: false, note: 'It was remembered already.' };
        await addMemory(configFolder, line);
        return { saved: true, note: 'It is remembered.' };
      }),
  });
}

async function isThere(file: string, line: string): Promise<boolean> {
  try {
    const { bytes } = await readBounded(file, MAX_FILE_BYTES);
    const wanted = line.toLowerCase();
    return bytes
      .toString()
      .split('\n')
      .some(
        (one) =>
          folded(one)
            .replace(/^[-*] /, '')
            .toLowerCase() === wanted,
      );
  } catch (error) {
    if (systemCode(error) === 'ENOENT') return false;
    throw error;
  }
}

/** On one line, so that nothing that is remembered can look like something else. */
function folded(text: string): string {
  // oxlint-disable-next-line no-control-regex -- control characters are no words
  return text.replaceAll(/[\s\0-\x1f\x7f-\x9f]+/g, ' ').trim();
}
