/** Parses untrusted Markdown with the package `marked`. The HTML that `marked` can produce is never used. */
import { lexer, type Token } from 'marked';
import { clean } from './clean.ts';

/**
 * Parses a text, which may be untrusted. A text that would take the parser too long is returned as plain text. All text
 * in the result is cleaned.
 */
export function markdownTokens(
  source: string,
): { readonly tokens: readonly Token[] } | { readonly text: string } {
  const text = clean(source);
  return isTooComplex(text) ? { text: text.trim() } : { tokens: lexer(text) };
}

/**
 * Limits of a paragraph: its length, and the number of its marks. The parser compares each mark with many later marks,
 * so parsing a paragraph above these limits would take too long.
 */
const MAX_PARAGRAPH = 50_000;
const MAX_MARKS = 1000;
const MARKS = /[*_~!<[`:@]/g;
/** A line that starts or ends a block of code. Marks inside a block of code are not counted. */
const FENCE = /^ {0,3}(`{3,}|~{3,})([^`]*)$/;
/** A line that cannot continue a paragraph, because it is blank or starts a list item. */
const NEW_PARAGRAPH = /^\s*$|^ {0,3}[-*+] /;
/** Quotes and lists that are nested too deeply. The parser reads the inner levels again at every outer level. */
const TOO_DEEP =
  /^(?:[ \t]*(?:>|[-*+][ \t]|\d{1,9}[.)][ \t])){30}|^[ \t]{60,}(?:[-*+]|\d{1,9}[.)])[ \t]/m;

function isTooComplex(text: string): boolean {
  let marks = 0;
  let length = 0;
  let fence: string | undefined;
  for (const each of text.split('\n')) {
    const [, sign = '', after = ''] = FENCE.exec(each) ?? [];
    if (fence !== undefined) {
      if (sign.startsWith(fence) && after.trim() === '') fence = undefined;
      continue;
    }
    if (sign !== '') fence = sign;
    if (sign !== '' || NEW_PARAGRAPH.test(each)) [marks, length] = [0, 0];
    marks += each.match(MARKS)?.length ?? 0;
    length += each.length;
    if (marks > MAX_MARKS || length > MAX_PARAGRAPH) return true;
  }
  return TOO_DEEP.test(text);
}

const ENTITIES: Readonly<Record<string, string>> = {
  '&lt;': '<',
  '&gt;': '>',
  '&amp;': '&',
  '&quot;': '"',
  '&#39;': "'",
};

/** Decodes the entities that the parser leaves in text. */
export function decodedEntities(text: string): string {
  return text.replaceAll(/&(?:lt|gt|amp|quot|#39);/g, (entity) => ENTITIES[entity] ?? entity);
}
