/** The SDKs' clients against the coding agent: each gets the same text once, and can answer an approval. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import type { ScriptedResponse } from '../../src/agent/models/scripted.ts';
import { makePlace, startCoder } from '../coder/support.ts';
import { tries } from '../support/interop-table.ts';
import { sdkName } from './operations.ts';
import { sdk03 } from './sdk-03-client.ts';
import { sdk1, sdk1Speaking03 } from './sdk-1-client.ts';
import { artifactText, partsText, taskOf, type Peer } from './seen.ts';
import { collect, within } from './support.ts';

const PEERS: readonly Peer[] = [
  sdk1('JSONRPC'),
  sdk1('HTTP+JSON'),
  sdk03('JSONRPC'),
  sdk03('HTTP+JSON'),
  sdk1Speaking03('JSONRPC'),
  sdk1Speaking03('HTTP+JSON'),
];

const TEXT = 'Two files are here: the first is long, the second is short. Nothing else was found.';
const SAYS: ScriptedResponse = [
  { thought: { subject: 'Looking', description: 'I look at the folder.' } },
  { text: TEXT },
];
const WRITES: readonly ScriptedResponse[] = [
  [{ call: { name: 'write_file', args: { path: 'note.txt', content: 'by hand' } } }],
  [{ text: 'It is written.' }],
];

async function start(t: TestContext, peer: Peer, script: readonly ScriptedResponse[]) {
  const { name, version, reluctant } = peer;
  const operation = script === WRITES ? 'approve' : 'same text once';
  tries(t, { protocol: 'A2A', peer: sdkName(name), role: 'client', operation });
  const place = makePlace(t);
  const server = reluctant ? { versions: [version] } : {};
  const { url } = await startCoder(t, place, { script, server });
  const client = await within('connecting', peer.connect(url));
  return { client, at: (file: string) => join(place.workspace, file) };
}

for (const peer of PEERS) {
  test(`${peer.name} gets the text of the coding agent once, by send and by stream`, async (t) => {
    const { client } = await start(t, peer, [SAYS, SAYS]);
    const sent = taskOf(await client.send({ text: 'What is here?' }));
    assert.deepEqual([sent.state, artifactText(sent), sent.says], ['completed', TEXT, '']);
    const events = await within('a stream', collect(client.stream({ text: 'What is here?' })));
    const texts = events.map((each) => {
      if (each.kind === 'artifact') return partsText(each.parts);
      return each.kind === 'status' ? each.says : artifactText(each);
    });
    assert.equal(texts.join(''), TEXT);
  });

  test(`${peer.name} answers an approval of the coding agent with the name of an option`, async (t) => {
    const { client, at } = await start(t, peer, WRITES);
    const { id, state, says } = taskOf(await client.send({ text: 'write it' }));
    assert.equal(state, 'input-required');
    assert.match(says, /note\.txt[^]*- Allow once\n[^]*- Reject/);
    const done = taskOf(await client.send({ text: 'Allow once', taskId: id }));
    assert.deepEqual([done.state, artifactText(done)], ['completed', 'It is written.']);
    assert.equal(readFileSync(at('note.txt'), 'utf8'), 'by hand');
  });
}
