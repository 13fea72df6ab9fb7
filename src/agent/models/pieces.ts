/** Streaming of the built-in models: small pieces of text, and estimated token counts. */
import { setImmediate } from 'node:timers/promises';
import type { Usage } from '../event.ts';
import type { ModelRequest } from '../model.ts';

const PIECE_CHARS = 16;
/** Of one text, however long it is. */
const MAX_PIECES = 1024;
const CHARS_PER_TOKEN = 4;

/** Splits a text into small pieces. Never cuts a surrogate pair in two. */
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

/** The text as chunks. Yields to the event loop after each one, so that readers see it grow and an abort takes effect. */
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

/** A deterministic estimate of the token counts. */
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
