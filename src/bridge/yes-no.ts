/** Recognizes yes and no in a person's text. */
import { trimEndOf } from '../base/index.ts';

const YES = new Set([
  ...words('yes y yep yeah ok okay sure confirm confirmed approve approved allow accept proceed'),
  'true',
  'go ahead',
  'do it',
]);
const NO = new Set([
  ...words('no n nope deny denied reject rejected refuse refused disallow cancel stop false'),
  "don't",
]);

/**
 * Maximum length of a text that is checked, in characters. A longer text is neither yes nor no. All phrases above are
 * shorter. Checking a very long text could take too much time.
 */
const MAX_LENGTH = 100;

/** Returns true for a clear yes, false for a clear no, and otherwise undefined. */
export function yesOrNo(text: string): boolean | undefined {
  const said = text.trim();
  if (said.length > MAX_LENGTH) return undefined;
  const phrase = trimEndOf(said.toLowerCase().replaceAll('’', "'"), '.!').replace(
    /,? (?:please|thanks|thank you)$/,
    '',
  );
  if (YES.has(phrase)) return true;
  return NO.has(phrase) ? false : undefined;
}

function words(text: string): string[] {
  return text.split(' ');
}
