/**
 * The search terms of model cards. Every term contains the workspace's number and a flag for deleted cards, so that a
 * search never reads the entries of another workspace. Terms consist only of ASCII letters and digits, so that a
 * caller's text is never read as query syntax.
 *
 * The text of a card has a term for each piece of one, two or three characters. A search word is looked up by its
 * trigrams (`tur urb rbo` for `turbo`). A word of one or two characters is looked up as a whole.
 */
import type { CardQuery, ModelCard } from './schema.ts';

const TRIGRAM = 3;
/** Maximum number of words in a search. Further words are ignored. */
const MAX_WORDS = 16;

/** The kind of a term: a piece of text, a provider or a capability. */
type Kind = 't' | 'p' | 'c';

/**
 * Returns a term. The full-text index changes terms to lower case and splits them at special characters, so the value
 * is encoded in hexadecimal.
 */
function term(number: number, deleted: boolean, kind: Kind, points: readonly number[]): string {
  const value = points.map((point) => point.toString(16)).join('x');
  return `${number}${deleted ? 'd' : 'l'}${kind}${value}`;
}

function pointsOf(text: string): number[] {
  return Array.from(text, (character) => character.codePointAt(0) ?? 0);
}

function pieces(points: readonly number[], size: number): number[][] {
  const count = Math.max(0, points.length - size + 1);
  return Array.from({ length: count }, (_, at) => points.slice(at, at + size));
}

export type Findable = Pick<ModelCard, 'name' | 'slug' | 'description' | 'card'>;

/**
 * Returns the text that is searched: the fields in lower case, with a line break between them. Search words contain no
 * white space, so a word cannot match across two fields.
 */
export function searchedText({ name, slug, description }: Findable): string {
  return `${name}\n${slug}\n${description}`.toLowerCase();
}

/**
 * Returns the terms of a card, separated by spaces. `letters` has the trigrams of its text, in their order. `marks` has
 * the shorter pieces, the providers and the enabled capabilities.
 */
export function termsOf(number: number, findable: Findable, deleted: boolean) {
  const { card } = findable;
  const text = pointsOf(searchedText(findable));
  const letters = pieces(text, TRIGRAM).map((piece) => term(number, deleted, 't', piece));
  const short = [...pieces(text, 1), ...pieces(text, 2)];
  const marks = new Set(short.map((piece) => term(number, deleted, 't', piece)));
  for (const { provider } of [card, ...(card.routes ?? [])]) {
    if (provider !== undefined) marks.add(term(number, deleted, 'p', pointsOf(provider)));
  }
  for (const { type, enabled } of card.capabilities) {
    if (enabled) marks.add(term(number, deleted, 'c', pointsOf(type)));
  }
  return { letters: letters.join(' '), marks: [...marks].join(' ') };
}

/** Returns the words of a search, in lower case. */
export function wordsOf({ q = '' }: CardQuery): string[] {
  return q.toLowerCase().split(/\s+/).filter(Boolean).slice(0, MAX_WORDS);
}

/**
 * Returns the terms of each word, provider and capability of a search. The terms of a word are in the order of its
 * letters.
 */
export function phrasesOf(number: number, deleted: boolean, query: CardQuery): string[][] {
  const { provider, capability } = query;
  const phrases = wordsOf(query).map((word) => {
    const points = pointsOf(word);
    const size = Math.min(TRIGRAM, points.length);
    return pieces(points, size).map((piece) => term(number, deleted, 't', piece));
  });
  if (provider !== undefined) phrases.push([term(number, deleted, 'p', pointsOf(provider))]);
  if (capability !== undefined) phrases.push([term(number, deleted, 'c', pointsOf(capability))]);
  return phrases;
}
