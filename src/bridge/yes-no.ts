/** Reads yes and no from what a person writes. */
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

/** No phrase above is longer. The limit keeps the time bounded that a text of any length can take. */
const MAX_LENGTH = 100;

/** Undefined if the text is neither a clear yes nor a clear no. */
export function yesOrNo(text: string): boolean | undefined {
  const said = text.trim();
  if (said.length > MAX_LENGTH) return undefined;
  const phrase = said
    .toLowerCase()
    .replaceAll('’', "'")
    .replace(/[.!]+$/, '')
    .replace(/,? (?:please|thanks|thank you)$/, '');
  if (YES.has(phrase)) return true;
  return NO.has(phrase) ? false : undefined;
}

function words(text: string): string[] {
  return text.split(' ');
}
