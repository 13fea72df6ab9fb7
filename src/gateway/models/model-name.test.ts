import assert from 'node:assert/strict';
import { test } from 'node:test';
import { calledName, comparedName } from './model-name.ts';

test('Google is called with one form of a name, and never with a name that changes the URL', () => {
  const names = ['gemini-3-pro', 'models/gemini-3-pro', 'models/models/gemini-3-pro'];
  for (const name of names) assert.equal(calledName('google', name), 'gemini-3-pro');
  const others = ['tunedModels/mine-1', 'publishers/google/models/gemini-3-pro@001', 'a..b'];
  for (const name of others) assert.equal(calledName('google', name), name);
  const wrong = [
    '',
    '.',
    '..',
    '...',
    'models/',
    'models//x',
    '/x',
    'x/',
    'x/../models/y',
    'x/./y',
  ];
  wrong.push(
    'x?y',
    'x#y',
    'x:generateContent',
    'x:generateContent?y=',
    'x%2Fy',
    'x\\y',
    'x y',
    'x ',
  );
  for (const name of wrong) assert.equal(calledName('google', name), undefined, name);
  assert.equal(calledName('openai-compatible', 'library/llama-4:8b'), 'library/llama-4:8b');
});

test('names that a vendor may treat as the same have the same price', () => {
  const same = (type: string, ...names: string[]) =>
    assert.equal(new Set(names.map((name) => comparedName(type, name))).size, 1, names.join());
  same('openai', 'gpt-6', 'GPT-6', ' gpt-6 ');
  same('openai-compatible', 'llama-4', 'llama-4:latest', 'Llama-4');
  same('google', 'gemini-3', 'models/gemini-3', 'publishers/google/models/gemini-3');
  assert.notEqual(comparedName('openai', 'gpt-6'), comparedName('openai', 'gpt-6-mini'));
  assert.notEqual(comparedName('openai', 'a:latest'), comparedName('openai', 'a'));
});
