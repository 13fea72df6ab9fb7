/** gRPC's packages are optional: what happens without them, and that browsers never get them. */
import assert from 'node:assert/strict';
import { registerHooks } from 'node:module';
import { test } from 'node:test';
import { build } from 'esbuild';
import { connect } from '../../src/client.ts';
import type { AgentCard } from '../../src/protocol.ts';

registerHooks({
  resolve(specifier, context, next) {
    if (!specifier.startsWith('@connectrpc/')) return next(specifier, context);
    const missing = new Error(`Cannot find package '${specifier}'`);
    throw Object.assign(missing, { code: 'ERR_MODULE_NOT_FOUND' });
  },
});

function cardWith(...bindings: string[]): AgentCard {
  return {
    name: 'Echo',
    description: 'Repeats words',
    version: '1.0.0',
    supportedInterfaces: bindings.map((protocolBinding) => ({
      url: protocolBinding === 'GRPC' ? '127.0.0.1:9' : 'http://127.0.0.1:9',
      protocolBinding,
      protocolVersion: '1.0',
    })),
    capabilities: {},
    defaultInputModes: [],
    defaultOutputModes: [],
    skills: [],
  };
}

test('without the packages of gRPC, a client uses the next interface of the card', async () => {
  const client = await connect('http://127.0.0.1:9', { card: cardWith('GRPC', 'HTTP+JSON') });
  assert.equal(client.endpoint.binding, 'HTTP+JSON');
});

test('where there is no other interface, the error says which packages to install', async () => {
  const only = connect('http://127.0.0.1:9', { card: cardWith('GRPC') });
  await assert.rejects(only, /npm install @connectrpc\/connect-node/);
  const card = cardWith('JSONRPC', 'GRPC');
  const asked = connect('http://127.0.0.1:9', { card, binding: 'GRPC' });
  await assert.rejects(asked, { reason: 'interface' });
});

test('a bundle of the client for browsers has nothing of gRPC', async () => {
  const { metafile } = await build({
    entryPoints: ['src/client.ts'],
    bundle: true,
    write: false,
    metafile: true,
    platform: 'browser',
    format: 'esm',
    logLevel: 'error',
  });
  const inputs = Object.keys(metafile.inputs).filter((name) => !name.startsWith('(disabled):'));
  assert.deepEqual(
    inputs.filter((name) => /grpc|connectrpc|bufbuild/.test(name)),
    [],
  );
});
