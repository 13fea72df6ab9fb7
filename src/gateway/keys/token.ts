/**
 * The format of a secret: `parley_PREFIX_RANDOM`. The prefix identifies the secret in the register and may be shown.
 * The rest is 256 random bits.
 */
import { randomBytes } from 'node:crypto';

const PREFIX_BYTES = 6;
const SECRET_BYTES = 32;
const SHAPE = /^parley_([0-9a-f]{12})_[A-Za-z0-9_-]{43}$/;
const START = 'parley_';

export type RandomBytes = (bytes: number) => Buffer;

export interface Token {
  readonly prefix: string;
  readonly text: string;
}

export function makeToken(random: RandomBytes = randomBytes): Token {
  const prefix = random(PREFIX_BYTES).toString('hex');
  return { prefix, text: `${START}${prefix}_${random(SECRET_BYTES).toString('base64url')}` };
}

/** Returns the prefix of a secret, or undefined if the secret is not well-formed. */
export function prefixOf(text: string): string | undefined {
  return SHAPE.exec(text)?.[1];
}

/** Returns whether the text starts like a key. The text does not have to be well-formed. */
export function looksLikeKey(text: string): boolean {
  return text.startsWith(START);
}

/** Returns the start of a secret with this prefix, to show to users. */
export function shownPrefix(prefix: string): string {
  return START + prefix;
}
