import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { readableText } from './readable.ts';

const BASE = new URL('https://example.com/docs/');

function read(html: string): string {
  return readableText(html, BASE);
}

test('a page becomes its words, with headings, lists, links and code', () => {
  const html = `<!doctype html><html><head><title>The  page</title><style>p { color: red }</style></head>
    <body><!-- not <b>this</b> --><h2>Part &amp; whole</h2>
    <p>Some <b>bold</b>&nbsp;text &#8212; see <a href="../a?b=1&amp;c=2">the other</a>.<br>Next line</p>
    <script>if (a < b) document.write("<p>no</p>")</script>
    <ul><li>one<li>two</ul><pre>  code {
    more
}</pre><table><tr><td>a</td><td>b</td></tr></table><img alt="A cat" src=x></body></html>`;
  assert.equal(
    read(html),
    [
      '# The page',
      '## Part & whole',
      'Some bold text — see the other (https://example.com/a?b=1&c=2).',
      'Next line',
      '- one',
      '- two',
      '  code {\n    more\n}',
      'a | b |',
      'A cat',
    ].join('\n'),
  );
});

test('links without a usable target become plain text', () => {
  assert.equal(read('<a href="javascript:x()">a</a> <a href="#top">b</a> <a>c</a>'), 'a b c');
});

test('broken markup loses no text', () => {
  assert.equal(read('a < b and <p class="x>y">c</p> &unknown; <'), 'a < b and\nc\n&unknown; <');
  assert.equal(read('<a title="open>text</a>'), 'text');
});

test('an element that is not shown ends where its own end tag is', () => {
  assert.equal(
    read('a<svg><svg><text>no</text></svg>no</svg>b<svg/>c<script>"<p>"</script>d'),
    'abcd',
  );
});

test('a slash ends an svg, and inside one any element, but no other element that is not shown', () => {
  for (const name of ['script', 'style', 'noscript', 'template', 'iframe', 'object']) {
    assert.equal(read(`a<${name}/>no</${name}>b`), 'ab', name);
  }
  assert.equal(read('a<svg/>b<svg><style/><title/>no</svg>c<svg><svg/>no</svg>d'), 'abcd');
});

test('anything can be read', () => {
  const piece = fc.constantFrom(
    '<',
    '>',
    '</',
    '<a href="',
    '"',
    "'",
    '<script>',
    '</script',
    '<!--',
    '&#',
    ';',
    'x',
    '<pre>',
  );
  fc.assert(
    fc.property(fc.array(piece), (pieces) => assert.equal(typeof read(pieces.join('')), 'string')),
  );
});

test('hostile pages take no more than linear time', () => {
  const nested = '<svg>'.repeat(60_000) + '</svg'.repeat(60_000);
  const unmatched = '<div>'.repeat(100_000) + '</b>'.repeat(100_000);
  for (const page of [`<svg>${'</svg'.repeat(60_000)}`, nested, unmatched]) {
    const began = process.cpuUsage();
    read(page);
    assert.ok(process.cpuUsage(began).user < 3_000_000, page.slice(0, 20));
  }
  for (const unit of [
    '<',
    '<a "',
    '<img src="x" alt="y\n<p>',
    '<p a="b>',
    '<!--',
    '<script>',
    '&',
    '<a href=',
    '</a',
    '<a \'"',
    ' \n',
  ]) {
    const began = process.cpuUsage();
    read(unit.repeat(1_000_000 / unit.length));
    assert.ok(process.cpuUsage(began).user < 3_000_000, unit);
  }
});
