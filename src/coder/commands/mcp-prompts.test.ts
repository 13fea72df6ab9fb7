import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { McpPrompt } from '../../agent/index.ts';
import { promptArguments, promptCommands } from './mcp-prompts.ts';
import { parseTyped } from './parse.ts';

const declared = [
  { name: 'language', description: '', required: true },
  { name: 'text', description: 'What to say', required: false },
];

test('arguments of a prompt are given by name or by position, and the last takes the rest', () => {
  const cases: [typed: string, given: Record<string, string>][] = [
    ['', {}],
    ['German', { language: 'German' }],
    ['German good morning', { language: 'German', text: 'good morning' }],
    ['text="good morning" German', { text: 'good morning', language: 'German' }],
    ['--language=German --text="a b"', { language: 'German', text: 'a b' }],
    ['"Low German" x=y', { language: 'Low German', text: 'x=y' }],
    ["language='' text", { language: '', text: 'text' }],
  ];
  for (const [typed, given] of cases) {
    assert.deepEqual(promptArguments(declared, typed), given, typed);
  }
});

test('a prompt is a command of its server, and a missing argument is named', async () => {
  const asked: unknown[] = [];
  const prompt: McpPrompt = {
    name: 'say it',
    description: 'Says it',
    arguments: declared,
    get(args) {
      asked.push(args);
      return Promise.reject(new Error('the server is down'));
    },
  };
  const commands = promptCommands({ prompts: () => [{ server: 'words', prompt }] });
  const problem = parseTyped('/words:say-it text="x"', commands);
  assert.deepEqual(problem, { kind: 'problem', problem: '/words:say-it needs language=…' });
  const typed = parseTyped('/words:say-it German x', commands);
  assert.ok(typed.kind === 'command');
  const content = await typed.command.content?.(typed.args, new AbortController().signal);
  assert.deepEqual(asked, [{ language: 'German', text: 'x' }]);
  assert.match(JSON.stringify(content), /could not be read: the server is down/);
});
