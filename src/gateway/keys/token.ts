/**
 * What a key looks like: `parley_PREFIX_SECRET`. The prefix is found by an index and may be shown; the secret is 256
 * random bits, in a text of which every letter counts.
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

/** The prefix in a text that looks like a key. */
export function prefixOf(text: string): string | undefined {
  return SHAPE.exec(text)?.[1];
}

/** Meant as a key, whether it is one or not. */
export function looksLikeKey(text: string): boolean {
  return text.startsWith(START);
}

/** How a key of this prefix begins, for people. */
export function shownPrefix(prefix: string): string {
  return START + prefix;
}
