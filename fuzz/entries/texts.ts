/** Functions of the coding agent, the gateway and the terminal that read text from others. */
import { splitRequests, parseForm } from '../../src/agent/models/offline-request.ts';
import { reveal } from '../../src/base/index.ts';
import { JsoncError, parseJsonc } from '../../src/base/jsonc/index.ts';
import { decide, problemOf, rulesFrom } from '../../src/coder/approval/policy.ts';
import { grantFrom } from '../../src/coder/approval/options.ts';
import { applyHunks } from '../../src/coder/files/apply-hunks.ts';
import { FileError } from '../../src/coder/files/file-error.ts';
import { compileGlob, literalGlob } from '../../src/coder/files/glob-pattern.ts';
import { parsePatch } from '../../src/coder/files/parse-patch.ts';
import { findPassage, replaceMatches } from '../../src/coder/files/replace.ts';
import { explainMissing } from '../../src/coder/files/explain-missing.ts';
import { mentionsIn } from '../../src/coder/session/context.ts';
import { cleaned } from '../../src/coder/shell/clean-output.ts';
import { parseCommandLine } from '../../src/coder/shell/parse.ts';
import { parseSettings, SettingsError } from '../../src/coder/settings/settings.ts';
import { checkTemplate, fillTemplate } from '../../src/coder/commands/template.ts';
import { readableText } from '../../src/coder/web/readable.ts';
import { ConfigError, parseConfig } from '../../src/gateway/config.ts';
import { slugOf } from '../../src/gateway/cards/slug.ts';
import { diffLines } from '../../src/tui/text/diff-lines.ts';
import { highlight } from '../../src/display/text/index.ts';
import { markdown } from '../../src/tui/text/markdown.ts';
import { lineWidth, wrapText } from '../../src/tui/text/styled-line.ts';
import { textOfLine, clean } from '../../src/display/index.ts';
import { blocks, DOCUMENTS } from '../corpus.ts';
import { check, type Entry, pure, refusing } from '../entry.ts';
import { mutateJson, mutateText } from '../mutate.ts';
import type { Random } from '../random.ts';
import { jsonText, text, type Json } from '../values.ts';

/** Joins pieces that mean something to the reader, with some that do not. */
function pieces(random: Random, known: readonly string[], max = 12): string {
  return random
    .list(max, () => (random.once(5) ? text(random) : random.pick(known)))
    .join(random.once(3) ? ' ' : '');
}

/** One of three: pieces, a mutated example, or both. */
function from(random: Random, known: readonly string[], examples: readonly string[]): string {
  switch (random.int(3)) {
    case 0:
      return pieces(random, known);
    case 1:
      return mutateText(random, random.pick(examples), examples);
    default:
      return mutateText(random, pieces(random, known, 24), known);
  }
}

const SHELL = [
  ['git', 'rm', '-rf', 'ls', 'env', 'A=1', 'time', 'sudo', 'eval', 'xargs', 'sh', '-c', '.'],
  [' ', ';', '&&', '||', '|', '&', '\n', '(', ')', '{', '}', '$(', '`', '${', '$((', '))', '!'],
  ['"', "'", '\\', '<', '>', '>>', '<<EOF\n', 'EOF\n', '<<<', '<(', '2>&1', '*', '?', '[', ']'],
  ['if', 'then', 'fi', 'for', 'in', 'do', 'done', 'while', 'case', 'esac', 'function', ';;', '#'],
].flat();
const SHELL_LINES = [
  'git status && npm test',
  "find . -name '*.ts' -exec rm {} \\;",
  'A=1 env B=2 sh -c "rm -rf \\"$X\\""',
  'cat <<EOF | tee a\n$(date)\nEOF\n',
  'for f in *.ts; do echo "${f%.ts}"; done',
  'x[$(rm f)]=1; time -p rm f',
  ...blocks('sh', 'bash').map((block) => block.slice(0, 300)),
];
const RULES = rulesFrom([
  { tool: 'run_shell_command', pattern: 'rm', decision: 'deny' },
  { tool: 'run_shell_command', pattern: 'git status', decision: 'allow' },
  { tool: 'run_shell_command', pattern: 'git * push', decision: 'ask' },
]);
const POLICIES = (['ask', 'auto-edit', 'yolo', 'plan'] as const).map((mode) => ({
  mode,
  root: '/',
  rules: RULES.rules,
  grants: RULES.grants,
}));

const SHELL_TOOL = { name: 'run_shell_command', effect: 'execute' as const };

function shell(command: string): void {
  parseCommandLine(command);
  for (const policy of POLICIES) decide(policy, SHELL_TOOL, { command }, undefined);
  problemOf({ tool: SHELL_TOOL.name, pattern: command, decision: 'allow' });
  const preview = { kind: 'execute' as const, command, workingDirectory: '/' };
  const call = { tool: SHELL_TOOL, args: { command }, preview, root: '/' };
  const granted = grantFrom('proceed_always_and_save', call);
  for (const rule of granted)
    check(problemOf(rule) === undefined, 'a saved rule is not valid', rule.pattern);
  if (granted.length === 0) return;
  const policy = { mode: 'ask' as const, root: '/', ...rulesFrom([], granted) };
  const { decision, reason } = decide(policy, SHELL_TOOL, { command }, undefined);
  check(decision === 'allow', '"Always allow" does not allow the same command', reason);
}

const FILE = 'one\ntwo\r\nthree\n\nfive\n  six\n';
const PATCH = [
  ['*** Begin Patch\n', '*** End Patch\n', '*** Update File: a.txt\n', '*** Add File: b\n'],
  ['*** Delete File: c\n', '*** Move to: d\n', '*** End of File\n', '@@\n', '@@ one\n'],
  ['diff --git a/a.txt b/a.txt\n', '--- a/a.txt\n', '+++ b/a.txt\n', '@@ -1,2 +1,2 @@\n'],
  [' one\n', '-two\n', '+2\n', ' three\n', '\n', '+\n', '-\n', '\\ No newline at end of file\n'],
  ['rename from a\n', 'rename to b\n', 'new file mode 100755\n', '```\n', 'index 1..2\n', '\r\n'],
].flat();
const PATCHES = [
  '--- a/a.txt\n+++ b/a.txt\n@@ -1,3 +1,3 @@\n one\n-two\n+2\n three\n',
  '*** Begin Patch\n*** Update File: a.txt\n@@ one\n-two\n+2\n*** End Patch\n',
  'diff --git a/a.txt b/b.txt\nsimilarity index 90%\nrename from a.txt\nrename to b.txt\n',
];

function patch(source: string): void {
  refusing(() => {
    for (const { hunks } of parsePatch(source)) applyHunks(FILE, hunks, 'a.txt');
  }, FileError);
  if (source === '') return;
  const matches = findPassage(FILE + source, source);
  check(matches.length > 0, 'a passage is not found in a text that ends with it');
  replaceMatches(FILE + source, matches, source);
  explainMissing(FILE, source);
}

const HTML = [
  ['<p>', '</p>', '<a href="', '">', '</a>', '<!--', '-->', '<script>', '</script>', '<svg>'],
  ['<table>', '<tr>', '<td>', '<pre>', '<ul>', '<li>', '<h1>', '<![CDATA[', ']]>', '<!DOCTYPE'],
  ['&amp;', '&#0;', '&#x110000;', '&', '<', '>', '=', '"', "'", '/', '<base href="//x">', 'text'],
].flat();
const GLOB = [
  '*',
  '**',
  '?',
  '/',
  '{',
  '}',
  ',',
  '[',
  ']',
  '!',
  '^',
  '-',
  '\\',
  'a',
  'b',
  '.',
  '..',
];

function glob(pattern: string): void {
  const matches = refusing(() => compileGlob(pattern), FileError);
  for (const path of ['', 'a', 'a/b', 'b/a/b.a', '.a/..b', pattern.slice(0, 300)]) matches?.(path);
  const own = refusing(() => compileGlob(literalGlob(pattern), { anchored: true }), FileError);
  const isPath = /^[^/\0]+$/.test(pattern) && pattern.isWellFormed() && !/^\.+$/.test(pattern);
  if (own && isPath) check(own(pattern), 'a literal pattern does not match its own path');
}

const MARKDOWN = [
  ['# ', '- ', '1. ', '> ', '```ts\n', '```\n', '**', '*', '_', '~~', '`', '[', '](', ')', '!['],
  ['|', '|-|', '\n', '\n\n', '  ', '<b>', '&lt;', '\\', '---\n', '- [ ] ', 'const a = `x${', '/*'],
].flat();
const FORBIDDEN = /(?!\n)[\p{Cc}\u202a-\u202e\u2066-\u2069]/u;

/** Drawing takes about 1 s for 2 MB, whatever the text is. */
const MAX_DRAWN = 500_000;

function terminal(source: string): void {
  const width = 40;
  const drawn = [
    ...markdown(source, width),
    ...wrapText(clean(source), width),
    ...highlight(clean(source), 'ts'),
  ];
  for (const line of drawn) {
    const shownText = textOfLine(line);
    check(!FORBIDDEN.test(shownText), 'a control character reaches the terminal', shownText);
    check(shownText.isWellFormed(), 'a lone surrogate reaches the terminal', shownText);
  }
  for (const line of wrapText(clean(source), width)) {
    check(lineWidth(line) <= width, 'a wrapped line is too wide', textOfLine(line));
  }
  check(!FORBIDDEN.test(reveal(source).replaceAll('\t', '')), 'reveal keeps a control character');
  const names = { file_name: 'a', file_path: 'a' };
  diffLines({ ...names, old_content: 'a\nb', new_content: source, formatted_diff: source }, width);
  cleaned(source);
}

const SETTINGS: Json = {
  model: 'offline',
  approval: 'ask',
  policy: [{ tool: 'run_shell_command', pattern: 'git status', decision: 'allow' }],
  mcpServers: {
    files: { command: 'x', args: ['-y'], env: { A: '${B}' } },
    web: { url: 'https://x' },
  },
  theme: 'dark',
  limits: { turns: 5 },
};
const GATEWAY: Json = {
  providers: {
    east: { type: 'openai-compatible', baseUrl: 'https://x/v1', apiKey: '${KEY}', models: ['m'] },
  },
  models: {
    house: { provider: 'east', model: 'm' },
    two: { routes: [{ provider: 'east', model: 'm' }] },
  },
  defaultModel: 'house',
  budgets: { default: { tokensPerDay: 5 } },
  agents: { echo: { url: 'https://agent.example' } },
  tasks: { expireSeconds: 5 },
  limits: { maxBodyBytes: 2048 },
  keys: { jwt: { issuer: 'https://i', audience: 'a' } },
  cors: ['https://app.example'],
};
const CONFIG_FILES = [
  JSON.stringify(SETTINGS, null, 2),
  JSON.stringify(GATEWAY, null, 2),
  ...blocks('json', 'jsonc', 'json5'),
];
const CONFIG_KEYS = [...Object.keys(GATEWAY), ...Object.keys(SETTINGS), 'url', 'type', 'file'];

function configuration(random: Random): string {
  const value = random.once(2) ? SETTINGS : GATEWAY;
  if (random.once(3)) return mutateText(random, random.pick(CONFIG_FILES), CONFIG_FILES);
  return jsonText(random, mutateJson(random, value, CONFIG_KEYS));
}

function readConfiguration(source: string): void {
  const json = refusing(() => parseJsonc(source), JsoncError);
  json?.lineOf(['providers', 'east', 0]);
  refusing(() => parseSettings('settings.json', source), SettingsError);
  refusing(() => parseConfig('gateway.json', source, { KEY: 'k' }), ConfigError);
}

const REQUESTS = [
  ['list src', 'read a.txt', 'search "x" in src', 'create a.txt with hello', 'run ls -l'],
  ['replace a with b in c', 'fetch https://x', 'remember x', ' then ', 'please ', '“', '”', '"'],
  ['@src/a.ts', '@"my file"', '\\@', '$ARGUMENTS', '$1', '!`ls`', '@{a}', '\n'],
].flat();

function words(source: string): void {
  splitRequests(source, (said) => parseForm(said) !== undefined);
  mentionsIn(source);
  refusing(() => checkTemplate('x.md', source), FileError);
  fillTemplate(source, source);
  check(/^[a-z0-9.-]*$/.test(slugOf(source)), 'a slug has other characters');
}

export const TEXTS: readonly Entry[] = [
  pure('shell', 160, (random) => from(random, SHELL, SHELL_LINES), shell),
  pure('patch', 100, (random) => from(random, PATCH, PATCHES), patch),
  pure(
    'html',
    60,
    (random) =>
      from(
        random,
        HTML,
        DOCUMENTS.map((each) => each.slice(0, 400)),
      ),
    (html) => readableText(html, new URL('https://page.example')),
  ),
  pure(
    'glob',
    60,
    (random) => from(random, GLOB, ['src/**/*.{ts,tsx}', '!a/[a-z]?', '**/.git/**']),
    glob,
  ),
  pure(
    'terminal',
    40,
    (random) =>
      from(
        random,
        MARKDOWN,
        DOCUMENTS.map((each) => each.slice(0, 400)),
      ).slice(0, MAX_DRAWN),
    terminal,
  ),
  pure('configuration', 60, configuration, readConfiguration),
  pure('words', 40, (random) => from(random, REQUESTS, REQUESTS), words),
];
