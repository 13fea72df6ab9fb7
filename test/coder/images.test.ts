// Images in answers and results, for clients of A2A.
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import type { Model } from '../../src/agent/model.ts';
import { connect } from '../../src/client/index.ts';
import { EXTENSION_URI, readTask } from '../../src/protocol/development-tool/index.ts';
import { makePlace, startCoder } from './support.ts';

const PNG =
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';

const painter: Model = {
  name: 'painter',
  async *generate() {
    yield { kind: 'text', text: 'Here: ' };
    yield { kind: 'blob', mediaType: 'image/png', data: PNG, name: 'dot.png' };
    yield { kind: 'text', text: 'a dot.' };
    yield { kind: 'finish', reason: 'stop' };
  },
};

test('a plain client gets an image that the model makes as a part of the artifact', async (t) => {
  const { url } = await startCoder(t, makePlace(t), { model: painter });
  const agent = await connect(url);
  const task = await agent.send('paint a dot');
  assert.ok(task.kind === 'task');
  const parts = task.artifacts?.flatMap((artifact) => artifact.parts) ?? [];
  const file = { bytes: PNG, mimeType: 'image/png', name: 'dot.png' };
  assert.deepEqual(
    parts.filter(({ kind }) => kind === 'file'),
    [{ kind: 'file', file }],
  );
  assert.equal(task.artifacts?.length, 1);
});

test('an image that a tool reads is beside its call, and a plain client gets none of both', async (t) => {
  const place = makePlace(t);
  writeFileSync(join(place.workspace, 'dot.png'), Buffer.from(PNG, 'base64'));
  const call = { name: 'read_file', args: { path: 'dot.png' } };
  const script = [[{ call }], [{ text: 'A dot.' }]];
  const { url } = await startCoder(t, place, { script });
  const agent = await connect(url);
  const plain = await agent.send('look');
  assert.ok(plain.kind === 'task');
  assert.doesNotMatch(JSON.stringify(plain), new RegExp(PNG.slice(0, 20)));
  const full = await agent.get(plain.id, { extensions: [EXTENSION_URI] });
  const files = readTask(full).flatMap((fact) => (fact.kind === 'call' ? (fact.files ?? []) : []));
  assert.deepEqual(
    files.map(({ bytes, mimeType }) => [bytes, mimeType]),
    [[PNG, 'image/png']],
  );
});
