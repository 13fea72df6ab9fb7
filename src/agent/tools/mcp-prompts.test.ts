import assert from 'node:assert/strict';
import { test } from 'node:test';
import { promptContent } from './mcp-prompts.ts';

test('the texts of a prompt have a total limit', async () => {
  const message = (text: string) => ({ role: 'user', content: { type: 'text', text } }) as const;
  const messages = Array.from({ length: 5 }, () => message('x'.repeat(150_000)));
  const parts = await promptContent({ messages });
  const length = parts.reduce(
    (sum, part) => sum + (part.kind === 'text' ? part.text.length : 0),
    0,
  );
  assert.ok(length < 201_000, `${length} characters`);
});
