/**
 * Converts an HTML page to readable text with headings, lists, links and preformatted blocks, but without scripts and
 * styles. The text is meant for models and does not reproduce the layout of the page.
 *
 * Uses the tokenizer of htmlparser2 and not its parser. The parser keeps a stack of open elements, and takes quadratic
 * time on deeply nested pages.
 */
import { Tokenizer } from 'htmlparser2';

/** Elements whose content is left out. */
const SKIPPED = new Set(['script', 'style', 'noscript', 'template', 'svg', 'iframe', 'object']);
const BLOCKS = new Set(
  (
    'address article aside blockquote body dd div dl dt fieldset figcaption figure footer form ' +
    'header hr main nav ol p section table tbody tfoot thead tr ul h1 h2 h3 h4 h5 h6 pre li br title'
  ).split(' '),
);
/** The Markdown prefix of the text of each element. */
const PREFIXES: Readonly<Record<string, string>> = {
  title: '# ',
  h1: '# ',
  h2: '## ',
  h3: '### ',
  h4: '#### ',
  h5: '##### ',
  h6: '###### ',
  li: '- ',
};
/** Maximum length of a URL in the text. Longer URLs are left out. */
const MAX_LINK = 500;
/**
 * A tag with an unclosed quote hides the rest of the page, so the rest is read again in a new pass. After this number
 * of passes, all quotes in tags are removed, because more passes would take quadratic time.
 */
const MAX_PASSES = 8;
const NO_BREAK_SPACE = 0xa0;

/**
 * Converts a page to text. Relative links are resolved against `base`.
 *
 *     readableText('<h1>Menu</h1><a href="/x">here</a>', new URL('https://a.example'))
 *     // '# Menu\nhere (https://a.example/x)'
 */
export function readableText(html: string, base: URL): string {
  const writer = createWriter();
  // The tokenizer would drop a `<` at the end of the page, although it is text.
  let rest = html.replace(/<$/, '&lt;');
  for (let passes = 1; ; passes++) {
    const unfinished = tokenize(rest, base, writer);
    // If a quote in a tag is never closed, the rest of the page counts as part of the tag. So continue after the next
    // `>`.
    const end = unfinished === undefined ? -1 : rest.indexOf('>', unfinished);
    if (end < 0) return writer.done();
    rest = rest.slice(end + 1);
    if (passes === MAX_PASSES) rest = withoutQuotes(rest);
  }
}

/** Removes the quotes in tags, so that every tag ends at its first `>`. */
function withoutQuotes(html: string): string {
  return html.replaceAll(/<[^>]*/g, (tag) => tag.replaceAll(/["']/g, ' '));
}

/** Writes the text of a page. Returns the offset of a tag that does not end, or undefined if all tags end. */
function tokenize(html: string, base: URL, writer: Writer): number | undefined {
  /** The link of each open `a` element, or an empty string if it has no link. */
  const links: string[] = [];
  let skipped = '';
  let skippedDepth = 0;
  let tag: { readonly start: number; readonly name: string; link: string; alt: string } | undefined;
  let attribute = '';
  let value = '';

  function text(words: string): void {
    if (skipped === '') writer.text(words);
  }

  function opened(closesItself: boolean): void {
    const { name, link, alt } = tag!;
    tag = undefined;
    // In HTML `<script/>` is a start tag. Of the skipped elements only svg can close itself.
    const isEmpty = closesItself && name === 'svg';
    if (skipped !== '') {
      if (name === skipped && !isEmpty) skippedDepth += 1;
    } else if (SKIPPED.has(name)) {
      if (!isEmpty) [skipped, skippedDepth] = [name, 1];
    } else if (name === 'a') links.push(link);
    else if (name === 'img') writer.text(alt);
    else if (BLOCKS.has(name)) {
      if (name === 'pre') writer.preformatted(true);
      writer.block(PREFIXES[name] ?? '');
    }
  }

  function closed(name: string): void {
    if (skipped !== '') {
      if (name === skipped && --skippedDepth === 0) skipped = '';
    } else if (name === 'a') {
      const link = links.pop();
      if (link) writer.text(` (${link})`);
    } else if (name === 'td' || name === 'th') writer.text(' | ');
    else if (BLOCKS.has(name)) {
      if (name === 'pre') writer.preformatted(false);
      writer.block('');
    }
  }

  const tokenizer = new Tokenizer(
    { decodeEntities: true },
    {
      // In svg, `<style/>` does close itself, and the text after `<style>` can contain tags.
      isInForeignContext: () => skipped === 'svg',
      ontext: (start, end) => text(html.slice(start, end)),
      ontextentity: (codepoint) => text(characterOf(codepoint)),
      onopentagname(start, end) {
        tag = { start, name: html.slice(start, end).toLowerCase(), link: '', alt: '' };
      },
      onopentagend: () => opened(false),
      onselfclosingtag: () => opened(true),
      onclosetag: (start, end) => closed(html.slice(start, end).toLowerCase()),
      onattribname(start, end) {
        attribute = html.slice(start, end).toLowerCase();
        value = '';
      },
      onattribdata: (start, end) => (value += html.slice(start, end)),
      onattribentity: (codepoint) => (value += characterOf(codepoint)),
      onattribend() {
        if (!tag) return;
        if (attribute === 'href') tag.link ||= linkOf(value, base);
        else if (attribute === 'alt') tag.alt ||= value;
      },
      oncdata() {},
      oncomment() {},
      ondeclaration() {},
      onprocessinginstruction() {},
      onend() {},
    },
  );
  tokenizer.write(html);
  tokenizer.end();
  return tag?.start;
}

type Writer = ReturnType<typeof createWriter>;

/**
 * Collects text. Replaces white space with single spaces, except in preformatted text. Starts each block on a new line.
 */
function createWriter() {
  const lines: string[] = [];
  let line: string[] = [];
  let prefix = '';
  let verbatim = false;

  function finish(): void {
    const text = line.join('');
    const folded = verbatim ? text.trimEnd() : text.replaceAll(/\s+/g, ' ').trim();
    line = [];
    if (folded === '') return;
    lines.push(prefix + folded);
    prefix = '';
  }

  return {
    text(text: string): void {
      if (text !== '') line.push(text);
    },
    block(next: string): void {
      finish();
      if (next !== '') prefix = next;
    },
    preformatted(on: boolean): void {
      finish();
      verbatim = on;
    },
    done(): string {
      finish();
      return lines.join('\n');
    },
  };
}

function characterOf(codepoint: number): string {
  return codepoint === NO_BREAK_SPACE ? ' ' : String.fromCodePoint(codepoint).toWellFormed();
}

function linkOf(value: string, base: URL): string {
  const href = value.trim();
  if (href === '' || href.startsWith('#')) return '';
  const url = URL.parse(href, base.href);
  if (!url || (url.protocol !== 'http:' && url.protocol !== 'https:')) return '';
  return url.href.length > MAX_LINK ? '' : url.href;
}
