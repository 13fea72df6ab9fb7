/** What reaches the model: words, files, pictures, mentions, instructions. */
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { pathToFileURL } from 'node:url';
import type { Part } from '../../src/protocol/index.ts';
import { done, talk } from './checked-talk.ts';
import { stream, userMessage } from './support.ts';
import { heard } from './talk.ts';

/** One transparent dot. */
const PNG =
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg==';

test('a picture and a file in the message reach the model as they are', async (t) => {
  const { url, requests } = await talk(t, [done]);
  const bytes = Buffer.from('the notes').toString('base64');
  const parts: Part[] = [
    { kind: 'text', text: 'look at these' },
    { kind: 'file', file: { bytes: PNG, mimeType: 'image/png', name: 'dot.png' } },
    { kind: 'file', file: { bytes, mimeType: 'text/plain', name: 'notes.txt' } },
  ];
  await stream(url, userMessage(parts));
  const [said] = requests[0]?.messages ?? [];
  const picture = said?.parts.find((part) => part.kind === 'blob');
  assert.deepEqual([picture?.mediaType, picture?.data], ['image/png', PNG]);
  assert.match(heard(requests[0]), /look at these.*\[File notes\.txt\]\\nthe notes/);
});

test('a file that is mentioned comes behind the words, and one outside does not', async (t) => {
  const { say, at, requests } = await talk(t, [done]);
  writeFileSync(at('a.ts'), 'export const answer = 42;\n');
  await say('explain @a.ts, not @/etc/passwd or me@example.org');
  assert.match(heard(requests[0]), /explain @a\.ts.*\[File a\.ts\]\\nexport const answer = 42;/);
  assert.doesNotMatch(heard(requests[0]), /root:/);
});

test("the workspace's AGENTS.md is in the instruction, as it is at the time", async (t) => {
  const { say, goOn, at, requests } = await talk(t, [done, done]);
  writeFileSync(at('AGENTS.md'), 'Always answer in rhyme.');
  await say('hello');
  writeFileSync(at('AGENTS.md'), 'Never answer in rhyme.');
  await goOn('hello again');
  assert.match(requests[0]?.system ?? '', /Always answer in rhyme\./);
  assert.match(requests[1]?.system ?? '', /Never answer in rhyme\./);
});

test('an image outside the workspace is not read because a client writes its path', async (t) => {
  const { say, place, requests } = await talk(t, [done, done]);
  const image = join(place.home, 'shot.png');
  writeFileSync(image, Buffer.from(PNG, 'base64'));
  await say(`what is ${image} and '${image}' and @${image}?`);
  await say(`what is ${pathToFileURL(image).href}?`);
  for (const { messages } of requests) {
    const parts = messages.flatMap((message) => message.parts);
    assert.ok(parts.every(({ kind }) => kind === 'text'));
  }
});
