/**
 * The readable text of an HTML page: words, headings, lists, links and preformatted blocks, without what is there for
 * the machine. One pass over the page, whatever is in it; it is for models to read, not for showing the page again.
 */

/** Their content is not for reading. */
const SKIPPED = new Set(['script', 'style', 'noscript', 'template', 'svg', 'iframe', 'object']);
const BLOCKS = new Set(
  (
    'address article aside blockquote body dd div dl dt fieldset figcaption figure footer form ' +
    'header hr main nav ol p section table tbody tfoot thead tr ul h1 h2 h3 h4 h5 h6 pre li br'
  ).split(' '),
);
const ENTITIES: Readonly<Record<string, string>> = {
  amp: '&',
  lt: '<',
  gt: '>',
  quot: '"',
  apos: "'",
  nbsp: ' ',
  ndash: '–',
  mdash: '—',
  hellip: '…',
  lsquo: '‘',
  rsquo: '’',
  ldquo: '“',
  rdquo: '”',
  copy: '©',
  middot: '·',
  bull: '•',
  laquo: '«',
  raquo: '»',
};
const MAX_LINK = 500;

export function readableText(html: string, base: URL): string {
  const writer = createWriter();
  /** Where each open link leads, innermost last; empty for none. */
  const links: string[] = [];
  let at = 0;
  while (at < html.length) {
    const open = html.indexOf('<', at);
    if (open < 0) {
      writer.text(decoded(html.slice(at)));
      break;
    }
    writer.text(decoded(html.slice(at, open)));
    if (html.startsWith('<!--', open)) {
      const end = html.indexOf('-->', open + 4);
      at = end < 0 ? html.length : end + 3;
      continue;
    }
    const tag = /<(\/?)([a-zA-Z][a-zA-Z0-9-]*)/y;
    tag.lastIndex = open;
    const match = tag.exec(html);
    if (!match) {
      const isDeclaration = html[open + 1] === '!' || html[open + 1] === '?';
      const end = isDeclaration ? html.indexOf('>', open) : open;
      if (!isDeclaration) writer.text('<');
      at = end < 0 ? html.length : end + 1;
      continue;
    }
    const closes = match[1] === '/';
    const name = match[2]!.toLowerCase();
    const end = endOfTag(html, tag.lastIndex);
    const attributes = html.slice(tag.lastIndex, end);
    at = end + 1;
    if (!closes && SKIPPED.has(name)) at = afterElement(html, name, at);
    else if (name === 'a') {
      if (!closes) links.push(linkOf(attributes, base));
      else {
        const link = links.pop();
        if (link) writer.text(` (${link})`);
      }
    } else if (name === 'title') {
      if (closes) writer.block('');
      else writer.block('# ');
    } else if (name === 'img' && !closes) writer.text(attribute(attributes, 'alt'));
    else if (name === 'td' || name === 'th') writer.text(closes ? ' | ' : '');
    else if (BLOCKS.has(name)) {
      if (name === 'pre') writer.preformatted(!closes);
      const level = /^h([1-6])$/.exec(name)?.[1];
      if (closes) writer.block('');
      else if (level !== undefined) writer.block(`${'#'.repeat(Number(level))} `);
      else writer.block(name === 'li' ? '- ' : '');
    }
  }
  return writer.done();
}

/** Gathers text: white space is folded, blocks begin on a line of their own. */
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
      if (next !== '' || line.length > 0) prefix = next;
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

/** The position of the tag's `>`; quotes may have one in them. */
function endOfTag(html: string, from: number): number {
  const part = /[^"'>]*(?:"[^"]*"|'[^']*')?/y;
  let at = from;
  while (at < html.length && html[at] !== '>') {
    part.lastIndex = at;
    const length = part.exec(html)?.[0].length ?? 0;
    // A quote that does not end is no quote.
    if (length === 0) {
      const end = html.indexOf('>', at);
      return end < 0 ? html.length : end;
    }
    at += length;
  }
  return at;
}

/** Behind the end tag of an element whose content is not read. */
function afterElement(html: string, name: string, from: number): number {
  const end = new RegExp(`</${name}[^>]*>`, 'gi');
  end.lastIndex = from;
  return end.exec(html) ? end.lastIndex : html.length;
}

function attribute(attributes: string, name: string): string {
  const match = new RegExp(`\\s${name}\\s*=\\s*(?:"([^"]*)"|'([^']*)'|([^\\s>]+))`, 'i').exec(
    attributes,
  );
  return decoded(match?.[1] ?? match?.[2] ?? match?.[3] ?? '');
}

function linkOf(attributes: string, base: URL): string {
  const href = attribute(attributes, 'href').trim();
  if (href === '' || href.startsWith('#')) return '';
  const url = URL.parse(href, base.href);
  if (!url || (url.protocol !== 'http:' && url.protocol !== 'https:')) return '';
  return url.href.length > MAX_LINK ? '' : url.href;
}

function decoded(text: string): string {
  if (!text.includes('&')) return text;
  return text.replaceAll(
    /&(?:#x([0-9a-f]{1,6})|#(\d{1,7})|([a-z]{2,10}));/gi,
    (whole: string, hex?: string, decimal?: string, name?: string) => {
      if (name !== undefined) return ENTITIES[name.toLowerCase()] ?? whole;
      const code = hex === undefined ? Number(decimal) : Number.parseInt(hex, 16);
      return code > 0 && code <= 0x10ffff ? String.fromCodePoint(code).toWellFormed() : '\uFFFD';
    },
  );
}
