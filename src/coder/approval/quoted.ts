/**
 * Quoted text parts: text that the sender of a message did not write, such as the content of a pipe. Such a part is
 * only text for the model. It has no mentions, is not a command, and never answers a question.
 */
import { textOf, type Part, type TextPart } from '../../protocol/index.ts';

/** The metadata key of quoted text parts. Any client may set it, because it can only reduce what a text does. */
const QUOTED_KEY = 'parley.quoted';

/** Returns a part with text that the sender did not write, such as the content of a pipe. */
export function quotedText(text: string): TextPart {
  return { kind: 'text', text, metadata: { [QUOTED_KEY]: true } };
}

/** Returns whether a part is marked as quoted text. */
export function isQuoted({ metadata }: Part): boolean {
  return metadata?.[QUOTED_KEY] === true;
}

/** Returns the text that the sender wrote, without quoted parts. */
export function ownText(parts: readonly Part[]): string {
  return textOf(parts.filter((part) => !isQuoted(part)));
}
