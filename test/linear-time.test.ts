/**
 * Functions that read text from strangers: models, web pages, repositories, clients, remote agents. Each gets a hostile
 * text and one of twice the size. Linear functions need twice the time, quadratic ones four times.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { matchTool } from '../src/agent/models/offline-tool.ts';
import { parseForm, splitRequests } from '../src/agent/models/offline-request.ts';
import { nearestNames, reasonOf, reveal, TextCollector } from '../src/base/index.ts';
import { parseJsonc } from '../src/base/jsonc/index.ts';
import { yesOrNo } from '../src/bridge/yes-no.ts';
import { createSseParser } from '../src/client/connection/sse.ts';
import { applyHunks } from '../src/coder/files/apply-hunks.ts';
import { explainMissing } from '../src/coder/files/explain-missing.ts';
import { compileGlob } from '../src/coder/files/glob-pattern.ts';
import { parsePatch } from '../src/coder/files/parse-patch.ts';
import { protectedName } from '../src/coder/files/path-rules.ts';
import { findPassage, replaceMatches } from '../src/coder/files/replace.ts';
import { mentionsIn } from '../src/coder/session/context.ts';
import { pricesWith } from '../src/coder/session/prices.ts';
import { cleaned } from '../src/coder/shell/clean-output.ts';
import { parseCommandLine } from '../src/coder/shell/parse.ts';
import { readableText } from '../src/coder/web/readable.ts';
import { slugOf } from '../src/gateway/cards/slug.ts';
import { tokenCounter } from '../src/gateway/models/token-count.ts';
import { ifNoneMatch } from '../src/http/etag.ts';
import { matchRest } from '../src/http/rest.ts';
import { base64At } from '../src/protocol/wire/read.ts';
import { diffLines } from '../src/tui/text/diff-lines.ts';
import { highlight } from '../src/display/text/index.ts';
import { markdown } from '../src/tui/text/markdown.ts';
import { wrapText } from '../src/tui/text/styled-line.ts';
import { clean } from '../src/display/index.ts';

/** A doubled size may take this many times as long. */
const MAX_GROWTH = 3;
/** Shorter times say nothing. */
const MEASURABLE_MS = 15;
const ATTEMPTS = 6;

type Row = readonly [
  name: string,
  size: number,
  make: (size: number) => string,
  run: (text: string) => unknown,
];

const repeated = (unit: string, before = '', after = '') => {
  return (size: number) => before + unit.repeat(size / unit.length) + after;
};

const page = new URL('https://page.example');
const readPage = (html: string) => readableText(html, page);
const draw = (text: string) => markdown(text, 80);
const script = (text: string) => highlight(text, 'ts');
const requests = (text: string) => splitRequests(text, (said) => parseForm(said) !== undefined);
const weather = {
  name: 'get_weather',
  description: 'Weather',
  parameters: { properties: { city: { type: 'string' } }, required: ['city'] },
};
const toolOf = (said: string) => matchTool(said, [weather]);
const tokens = tokenCounter([]);

/** Runs something that may refuse the text. */
function tried(run: (text: string) => unknown): (text: string) => unknown {
  return (text) => {
    try {
      return run(text);
    } catch (error) {
      return error;
    }
  };
}

/** Applies a patch to a file of `lines` lines that are all `a`. */
const patched = (lines: (patch: string) => number) =>
  tried((patch) => {
    const [file] = parsePatch(patch);
    return applyHunks('a\n'.repeat(lines(patch)), file?.hunks ?? [], 'a.txt');
  });

function inChunks(text: string): unknown {
  const parse = createSseParser();
  return Array.from(text, (char) => parse(char));
}

const ROWS: readonly Row[] = [
  ['the offline model: quotes that do not end', 20_000, repeated('“'), requests],
  ['the offline model: requests', 20_000, repeated(' then list a'), requests],
  ['the offline model: polite words', 20_000, repeated(' today', 'get_weather R', 'N'), toolOf],
  ['web page: closing tags', 300_000, repeated('</svg', '<svg>'), readPage],
  ['web page: quotes in tags', 100_000, repeated('<a b=">'), readPage],
  ['web page: comments', 100_000, repeated('<!--'), readPage],
  ['web page: skipped elements', 100_000, repeated('<svg></svg'), readPage],
  [
    'patch: a hunk that does not fit',
    30_000,
    repeated(' a\n', '--- a.txt\n+++ a.txt\n@@ -1 +1 @@\n', '-b\n'),
    patched((patch) => patch.length),
  ],
  [
    'patch: anchors',
    60_000,
    repeated('@@ a\n', '*** Begin Patch\n*** Update File: a.txt\n', '-b\n*** End Patch\n'),
    patched((patch) => patch.length / 5),
  ],
  [
    'patch: empty lines',
    20_000,
    repeated('\n', '--- a\n+++ b\n@@ -1 +1 @@\n-x\n', ' x\n'),
    tried(parsePatch),
  ],
  [
    'patch: many files',
    200_000,
    repeated('*** Delete File: a\n', '*** Begin Patch\n', '*** End Patch'),
    tried(parsePatch),
  ],
  ['patch: names', 60_000, repeated(' b/x', 'diff --git a/x', '\n'), tried(parsePatch)],
  ['edit: a missing passage', 40_000, repeated('ab\n'), (text) => explainMissing(text, `${text}c`)],
  ['edit: line feeds', 60_000, repeated('\n', 'a', 'a'), (text) => explainMissing('b', text)],
  [
    'edit: many matches in one line',
    60_000,
    repeated('ab'),
    (text) => replaceMatches(text, findPassage(text, 'a'), 'c'),
  ],
  ['glob: stars', 4000, repeated('a'), compileGlob(`${'*a'.repeat(300)}b`)],
  ['glob: folders', 2000, repeated('a/'), compileGlob(`${'**/a/'.repeat(100)}b`)],
  ['glob: braces', 500, repeated('a'), compileGlob(`${'{*a,*b}'.repeat(7)}c`)],
  ['shell: brackets', 15_000, repeated('[', 'test '), parseCommandLine],
  ['shell: substitutions', 15_000, repeated('$('), parseCommandLine],
  ['shell: here-documents', 15_000, repeated('<<a\n'), parseCommandLine],
  ['shell: scripts in scripts', 15_000, repeated('eval "'), parseCommandLine],
  ['output of commands: escape sequences', 60_000, repeated('\x1b]a'), cleaned],
  ['terminal: escape sequences', 60_000, repeated('\x1b]'), clean],
  ['terminal: one long word', 60_000, repeated('x'), (text) => wrapText(text, 80)],
  ['terminal: spaces', 60_000, repeated(' ', '', 'x'), (text) => wrapText(text, 80)],
  ['terminal: a changed file', 6000, repeated('a\n'), (text) => changed(text)],
  ['markdown: emphasis', 6000, repeated('*a **b'), draw],
  ['markdown: marks of images', 24_000, repeated('!'), draw],
  ['markdown: nested quotes', 12_000, repeated('>', '', ' a'), draw],
  ['markdown: nested lists', 12_000, repeated('1. '), draw],
  ['code: comments', 50_000, repeated('/*'), script],
  ['code: quotes', 50_000, repeated('"\\'), script],
  ['events of a stream, byte by byte', 60_000, repeated('x', 'data: ', '\n\n'), inChunks],
  ['events of a stream, many lines', 100_000, repeated('data:x\n'), inChunks],
  ['text in pieces', 100_000, repeated('x'), collect],
  ['tokens of an answer', 100_000, repeated('"text":"'), (text) => tokens.raw(text)],
  [
    'price of a model',
    400,
    repeated('p-preview-0000-ex', 'google:gemini-2.5-pro-ex'),
    pricesWith(),
  ],
  ['mentions of files', 50_000, repeated('@"a'), mentionsIn],
  ['names of files', 50_000, repeated(' ', '', 'x'), protectedName],
  ['commented JSON', 50_000, repeated('/*'), tried(parseJsonc)],
  ['similar names', 10_000, repeated('a'), (text) => nearestNames(text, ['gemini-2.5-pro'])],
  ['messages of errors', 60_000, repeated('\t', '', 'x'), (text) => reasonOf(new Error(text))],
  ['invisible characters', 60_000, repeated('\u200b'), reveal],
  ['yes or no', 60_000, repeated('!', '', 'x'), yesOrNo],
  ['slugs', 60_000, repeated('-', 'a', 'b'), slugOf],
  ['base64', 200_000, repeated('=', '', 'a'), tried((text) => base64At(text, 'bytes'))],
  ['entity tags', 60_000, repeated('W/,'), (text) => ifNoneMatch(text, '"a"')],
  ['paths of requests', 60_000, repeated('/a:'), tried((path) => matchRest('POST', path))],
];

function changed(text: string): unknown {
  const diff = { file_name: 'a', file_path: 'a', old_content: text };
  return diffLines({ ...diff, new_content: text.replaceAll('a', 'b') }, 80);
}

function collect(text: string): string {
  const collector = new TextCollector();
  for (const char of text) collector.add(char);
  return collector.take();
}

/** Returns the time that this thread computes, in milliseconds. */
function cost(run: () => unknown): number {
  const before = process.threadCpuUsage();
  run();
  const { user, system } = process.threadCpuUsage(before);
  return (user + system) / 1000;
}

for (const [name, size, make, run] of ROWS) {
  test(`twice the text takes about twice the time: ${name}`, () => {
    const [small, large] = [make(size), make(2 * size)];
    let [once, twice] = [Infinity, Infinity];
    for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
      once = Math.min(
        once,
        cost(() => run(small)),
      );
      twice = Math.min(
        twice,
        cost(() => run(large)),
      );
      if (twice < MEASURABLE_MS || twice < MAX_GROWTH * once) return;
    }
    assert.fail(`${size}: ${once.toFixed()} ms, ${2 * size}: ${twice.toFixed()} ms`);
  });
}
