/** How the models that ship with Parley stream: small pieces, and an estimate where a vendor would count tokens. */
import { setImmediate } from 'node:timers/promises';
import type { Usage } from '../event.ts';
import type { ModelRequest } from '../model.ts';

const PIECE_CHARS = 16;
/** However long a text is. */
const MAX_PIECES = 1024;
const CHARS_PER_TOKEN = 4;

/** The text in small pieces that make it up again; no character is cut in two. */
export function* pieces(text: string): Generator<string> {
  const size = Math.max(PIECE_CHARS, Math.ceil(text.length / MAX_PIECES));
  let from = 0;
  while (from < text.length) {
    let to = from + size;
    if ((text.codePointAt(to - 1) ?? 0) > 0xffff) to++;
    yield text.slice(from, to);
    from = to;
  }
}

/** The text as chunks, with a turn of the event loop between them: readers see it grow, and an abort gets in. */
export async function* streamed<Kind extends 'text' | 'thought'>(
  kind: Kind,
  text: string,
  signal: AbortSignal,
): AsyncGenerator<{ readonly kind: Kind; readonly text: string }> {
  for (const piece of pieces(text)) {
    yield { kind, text: piece };
    await setImmediate();
    signal.throwIfAborted();
  }
}

/** What a vendor might have counted, the same for the same request and answer. */
export function estimateUsage(request: ModelRequest, answerChars: number): Usage {
  let chars = (request.system ?? '').length;
  for (const { parts } of request.messages) {
    for (const part of parts) {
      chars +=
        part.kind === 'text' || part.kind === 'thought'
          ? part.text.length
          : JSON.stringify(part).length;
    }
  }
  return { inputTokens: tokens(chars), outputTokens: tokens(answerChars) };
}

function tokens(chars: number): number {
  return Math.ceil(chars / CHARS_PER_TOKEN);
}
