/** An agent that repeats the message, for trying out clients. */
import { createAgent } from '../../tasks/index.ts';

/** Maximum number of pieces of one text. A text with more words is sent back in pieces of several words. */
const MAX_PIECES = 1000;

export const echo = createAgent(
  {
    name: 'Echo',
    description: 'Repeats your message, word by word.',
    skills: [
      {
        id: 'echo',
        name: 'Echo',
        description: 'Streams your text back word by word. Files and data are returned unchanged.',
        tags: ['echo', 'test'],
        examples: ['hello there'],
      },
    ],
  },
  async function* ({ message }) {
    for (const part of message.parts) {
      if (part.kind === 'text') yield* pieces(part.text);
      else yield part;
    }
  },
);

/**
 * Splits a text into pieces of one or more words, including the white space around them. Joined together, the pieces
 * are the whole text.
 */
function* pieces(text: string): Generator<string> {
  const words = text.match(/\s*\S+\s*|\s+/g) ?? [];
  const size = Math.ceil(words.length / MAX_PIECES);
  for (let at = 0; at < words.length; at += size) yield words.slice(at, at + size).join('');
}
