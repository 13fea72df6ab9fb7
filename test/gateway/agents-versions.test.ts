// Clients of one version, agents of another, and the gateway between them: with the peer SDKs on both sides.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { interopAgent } from '../interop/agent.ts';
import { sdk03 } from '../interop/sdk-03-client.ts';
import { startSdk03 } from '../interop/sdk-03-server.ts';
import { sdk1 } from '../interop/sdk-1-client.ts';
import { startSdk1 } from '../interop/sdk-1-server.ts';
import { artifactText, short, taskOf } from '../interop/seen.ts';
import { collect, createGates, within } from '../interop/support.ts';
import { startGateway } from '../support/gateway.ts';
import { remote } from './agents-support.ts';

const PEERS = [sdk1('JSONRPC'), sdk1('HTTP+JSON'), sdk03('JSONRPC'), sdk03('HTTP+JSON')];

for (const peer of PEERS) {
  test(`${peer.name}: agents of both SDKs and of ours stream, ask and get their answers`, async (t) => {
    const gates = createGates();
    const ours = (only: '0.3' | '1.0') => remote(t, interopAgent(gates), { only });
    const config = {
      agents: {
        'sdk-03': { url: (await startSdk03(t, gates)).url },
        'sdk-1': { url: (await startSdk1(t, gates)).url },
        'ours-03': { url: (await ours('0.3')).url },
        'ours-1': { url: (await ours('1.0')).url },
      },
    };
    await using gateway = await startGateway({ config });
    const token = gateway.key();
    for (const name of Object.keys(config.agents)) {
      const client = await within(
        `the card of ${name}`,
        peer.connect(`${gateway.url}/agents/${name}/`, { token }),
      );
      assert.ok(client.endpoint.includes(`/agents/${name}`), client.endpoint);
      const events = (await collect(client.stream({ text: 'count 3' }))).map(short);
      assert.equal(events[0], 'task submitted', name);
      assert.deepEqual(
        events.filter((event) => event.startsWith('"')),
        ['"1 "', '"2 "', '"3 "'],
      );
      assert.match(events.at(-1) ?? '', /^completed/);

      const asked = taskOf(await client.send({ text: 'ask' }));
      assert.deepEqual([asked.state, asked.says], ['input-required', 'Which city?']);
      let told = await collect(client.stream({ text: 'Rome', taskId: asked.id }));
      if (name.startsWith('ours')) {
        assert.match(short(told.at(-1)!), /^input-required: Which day\?/);
        told = await collect(client.stream({ text: 'Monday', taskId: asked.id }));
      }
      assert.match(short(told.at(-1)!), /^completed/, name);
      const whole = await client.get(asked.id);
      assert.match(artifactText(whole), /^Sunny in Rome/);
      const rejected = taskOf(
        await client.send({ text: name.startsWith('ours') ? 'raw reject' : 'reject' }),
      );
      assert.deepEqual([rejected.state, rejected.says], ['rejected', 'not today']);
    }
  });
}
