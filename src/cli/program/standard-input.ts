/** Reads standard input. */
import { usageError } from './exit.ts';
import { note } from './terminal.ts';

const MAX_BYTES = 4 * 1024 * 1024;
/** Time after which a note informs the user that the program waits for input. The pipe may be open by mistake. */
const SAY_AFTER_MS = 3000;

/**
 * Returns all of standard input as text, without the final line break. Returns an empty text if standard input is a
 * terminal.
 */
export async function readStandardInput(): Promise<string> {
  const { stdin } = process;
  if (stdin.isTTY) return '';
  const timer = setTimeout(
    () => note('Waiting for the end of standard input. To send no input, add < /dev/null.'),
    SAY_AFTER_MS,
  );
  const chunks: Buffer[] = [];
  let size = 0;
  try {
    for await (const chunk of stdin) {
      const bytes = Buffer.from(chunk);
      size += bytes.length;
      if (size > MAX_BYTES) {
        throw usageError(
          `standard input is larger than ${MAX_BYTES} bytes: put it into a file in the workspace and mention the file in the prompt, as @FILE`,
        );
      }
      chunks.push(bytes);
    }
  } finally {
    clearTimeout(timer);
  }
  try {
    const text = new TextDecoder('utf-8', { fatal: true }).decode(Buffer.concat(chunks));
    return text.replace(/\r?\n$/, '');
  } catch (error) {
    throw usageError(
      'standard input is not UTF-8 text: mention the file in the prompt instead, as @FILE',
      {
        cause: error,
      },
    );
  }
}
