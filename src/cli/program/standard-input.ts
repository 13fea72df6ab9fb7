/** What comes in by a pipe. */
import { usageError } from './exit.ts';
import { note } from './terminal.ts';

const MAX_BYTES = 4 * 1024 * 1024;
/** Somebody may have left the other end open by mistake: after so long we say what is waited for. */
const SAY_AFTER_MS = 3000;

/** All of standard input as text, without its last line's end; empty at a terminal. */
export async function readStandardInput(): Promise<string> {
  const { stdin } = process;
  if (stdin.isTTY) return '';
  const patience = setTimeout(
    () => note('Waiting for the end of standard input; < /dev/null gives none.'),
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
          `standard input is over ${MAX_BYTES} bytes: put it into a file of the workspace and name that, as in "@FILE"`,
        );
      }
      chunks.push(bytes);
    }
  } finally {
    clearTimeout(patience);
  }
  try {
    const text = new TextDecoder('utf-8', { fatal: true }).decode(Buffer.concat(chunks));
    return text.replace(/\r?\n$/, '');
  } catch (error) {
    throw usageError('standard input is no text in UTF-8: name the file instead, as in "@FILE"', {
      cause: error,
    });
  }
}
