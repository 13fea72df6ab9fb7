/** Streams a text in small chunks, and estimates token counts, for the built-in models. Also checks token counts. */
import { setImmediate } from 'node:timers/promises';
import { cutText } from '../../base/index.ts';
import type { Usage } from '../event.ts';
import type { ModelRequest } from '../model.ts';

const PIECE_CHARS = 16;
/** Maximum number of chunks of one text. The chunks of a long text are larger. */
const MAX_PIECES = 1024;
export const CHARS_PER_TOKEN = 4;

/** Splits a text into small chunks. Never splits a surrogate pair. */
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

/**
 * Yields the text in chunks. The event loop runs after each chunk, so that readers see the text grow and an abort
 * takes effect.
 */
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

/** Cuts a text in the same way as a vendor: before a stop sequence, or at the maximum number of tokens. */
export function limited(
  text: string,
  { maxOutputTokens = Infinity, stop = [] }: ModelRequest,
): { readonly text: string; readonly reason: 'stop' | 'length' } {
  const ends = stop.map((sequence) => text.indexOf(sequence)).filter((at) => at >= 0);
  const stopped = text.slice(0, Math.min(text.length, ...ends));
  const most = maxOutputTokens * CHARS_PER_TOKEN;
  if (stopped.length <= most) return { text: stopped, reason: 'stop' };
  return { text: cutText(stopped, most), reason: 'length' };
}

/** Returns a deterministic estimate of the token counts. */
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

/** Returns whether a vendor's token count is valid. The check is needed, because budgets depend on the count. */
export function isCount(value: number | undefined): value is number {
  return Number.isSafeInteger(value) && Number(value) >= 0;
}
