// What holds for every page: links lead somewhere, commands have the flags that they show, and JSON is JSON. Tests of
// single pages run their examples: test/guide.test.ts, test/readme.test.ts, test/cli/*-guide.test.ts and others.
import assert from 'node:assert/strict';
import { existsSync, globSync, readFileSync, statSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import type { Command } from '../../src/cli/program/command.ts';
import { Settings } from '../../src/coder/settings/index.ts';
import { parseJsonc } from '../../src/base/jsonc/index.ts';
import { anchorsOf, pages, parleyLines, readPage, root } from './page.ts';

/** Links and images of Markdown, and images in HTML. */
const LINK = /\]\(<?([^)\s>]+)>?(?: "[^"]*")?\)|<img[^>]*\ssrc="([^"]+)"/g;

test('every link and image of every page leads to something', () => {
  const broken: string[] = [];
  for (const page of pages) {
    for (const [, link = '', image = link] of page.prose.matchAll(LINK)) {
      if (/^(https?:|mailto:|\/)/.test(image)) continue;
      const [target = '', anchor] = image.split('#');
      const file = path.join(path.dirname(page.file), target);
      const there = target === '' ? page.file : file;
      if (!existsSync(path.join(root, there))) broken.push(`${page.file}: ${image}`);
      else if (anchor !== undefined && there.endsWith('.md')) {
        if (!anchorsOf(readPage(there)).has(anchor)) broken.push(`${page.file}: ${image}`);
      }
    }
  }
  assert.deepEqual(broken, []);
});

// The site's generator takes an image without `./` for the name of a package.
test('images in HTML on the pages of the site have relative addresses that begin with ./', () => {
  for (const { file, prose } of pages.filter((page) => page.file.startsWith('docs/'))) {
    for (const [, , image = './'] of prose.matchAll(LINK)) {
      assert.match(image, /^(\.\.?\/|https:)/, file);
    }
  }
});

test('links to other sites are complete addresses', () => {
  for (const { file, prose } of pages) {
    for (const [, link = ''] of prose.matchAll(LINK)) {
      if (link.startsWith('http')) assert.ok(URL.canParse(link), `${file}: ${link}`);
    }
  }
});

test('every page is in the navigation of the site', () => {
  const config = readFileSync(path.join(root, 'docs/.vitepress/config.ts'), 'utf8');
  const linked = new Set([...config.matchAll(/link: '\/([^']*)'/g)].map(([, link]) => link));
  const missing = globSync('docs/*.md', { cwd: root })
    .map((file) => path.basename(file, '.md'))
    .filter((name) => name !== 'index' && !linked.has(name));
  assert.deepEqual(missing, []);
  for (const link of linked) {
    if (link?.startsWith('reference/') === true) continue;
    const found = [`docs/${link}.md`, `${link}.md`].some((file) =>
      existsSync(path.join(root, file)),
    );
    assert.ok(found, `the navigation has ${link}`);
  }
});

test('every block of JSON can be read', () => {
  for (const { file, blocks } of pages) {
    for (const { language, text } of blocks) {
      if (language !== 'json' && language !== 'jsonc') continue;
      // A part of an object is shown without its braces.
      const whole = /^\s*"/.test(text) ? `{${text}}` : text;
      // A request and its answer are one block.
      for (const part of whole.split(/^(?=\{)/m)) {
        assert.doesNotThrow(() => parseJsonc(part), `${file}:\n${part}`);
      }
    }
  }
});

test('every block of settings on a page is valid', () => {
  let count = 0;
  for (const { file, blocks } of pages) {
    for (const { language, text } of blocks) {
      if (!/^jsonc?$/.test(language) || !/^\s*\{/.test(text)) continue;
      const { value } = parseJsonc(text.split(/^(?=\{)/m)[0] ?? '');
      const names = Object.keys(value as object);
      if (!names.every((name) => Object.hasOwn(Settings.shape, name))) continue;
      count += 1;
      assert.doesNotThrow(() => Settings.parse(value), `${file}:\n${text}`);
    }
  }
  assert.ok(count >= 4, String(count));
});

/** The module of a command, as src/cli/main.ts chooses it. */
function moduleOf([first = '']: readonly string[]): { name: string; own: boolean } {
  if (existsSync(path.join(root, `src/cli/commands/${first}.ts`)))
    return { name: first, own: true };
  const isPrompt = first === '-p' || first.startsWith('--prompt');
  return { name: isPrompt ? 'prompt' : 'terminal-ui', own: false };
}

test('every command line of every page has only flags that the command knows', async (t) => {
  const lines = pages.flatMap(({ file, blocks }) =>
    blocks
      .filter(({ language }) => language === 'sh' || language === '')
      .flatMap(({ text }) => parleyLines(text).map((words) => ({ file, words }))),
  );
  assert.ok(lines.length > 60);
  const wrong: string[] = [];
  const write = t.mock.method(process.stdout, 'write', () => true);
  for (const { file, words } of lines) {
    const { name, own } = moduleOf(words);
    const { default: run } = (await import(`../../src/cli/commands/${name}.ts`)) as {
      default: Command;
    };
    try {
      // The flags are read before the help is printed.
      await run('parley', [...(own ? words.slice(1) : words), '--help'], {});
    } catch (error) {
      wrong.push(`${file}: parley ${words.join(' ')}: ${String(error)}`);
    }
  }
  write.mock.restore();
  assert.deepEqual(wrong, []);
});

test('the messages that the page of troubleshooting explains are those of the program', () => {
  const sources = globSync(['src/**/*.ts', 'src/**/*.tsx', 'bin/*.js'], { cwd: root })
    .filter((file) => !file.includes('.test.') && statSync(path.join(root, file)).isFile())
    .map((file) => readFileSync(path.join(root, file), 'utf8').replace(/\\'/g, "'"))
    // A long text is written as several strings.
    .map((text) => text.replace(/['"`] \+\s+['"`]/g, ''))
    .join('\n');
  const headings = [...readPage('docs/troubleshooting.md').text.matchAll(/^### `(.*)`$/gm)];
  assert.ok(headings.length > 25);
  const unknown = headings
    .flatMap(([, message = '']) => message.split('…'))
    .map((part) => part.trim().replace(/^[,:;] /, ''))
    .filter((part) => part.length > 8 && !sources.includes(part));
  assert.deepEqual(unknown, []);
});
