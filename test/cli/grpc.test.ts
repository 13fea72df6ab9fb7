// gRPC of `parley serve` and `parley gateway` as real processes.
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { describe, test } from 'node:test';
import { genericClient } from '../support/grpc.ts';
import { assertRefused, folder, parley, serving, start } from './support.ts';

const SERVICE = 'lf.a2a.v1.A2AService';

interface Offer {
  readonly url: string;
  readonly protocolBinding: string;
  readonly tenant?: string;
}

async function grpcOffers(url: string, headers = {}): Promise<Offer[]> {
  const response = await fetch(`${url}/.well-known/agent-card.json`, { headers });
  const { supportedInterfaces } = (await response.json()) as { supportedInterfaces: Offer[] };
  return supportedInterfaces.filter(({ protocolBinding }) => protocolBinding === 'GRPC');
}

const message = (text: string) => ({
  message: { messageId: crypto.randomUUID(), role: 'ROLE_USER', parts: [{ text }] },
});

describe('gRPC of the server commands', { concurrency: 2 }, () => {
  test('parley serve has gRPC on its port, and its ready line and its card say so', async () => {
    const server = await serving(['--agent', 'echo']);
    const address = `127.0.0.1:${server.port}`;
    assert.equal(server.grpc, address);
    assert.equal((await grpcOffers(server.url))[0]?.url, address);
    using client = genericClient(address, SERVICE);
    const { message: sent } = await client.call('SendMessage', message('hello there'));
    assert.match(JSON.stringify(sent), /hello there/);
    // `parley card --verify` tries this interface too.
    const { out, code } = await parley(['card', server.url, '--verify', '--json']);
    assert.match(out, new RegExp(`GRPC[^}]*${address} responds`));
    assert.equal(code, 0);
    await server.stop();
  });

  test('parley serve --grpc-port has gRPC on a port of its own', async () => {
    const server = await serving(['--agent', 'echo', '--grpc-port', '0']);
    const { grpc = '' } = server;
    assert.match(grpc, /^127\.0\.0\.1:\d+$/);
    assert.notEqual(grpc, `127.0.0.1:${server.port}`);
    assert.equal((await grpcOffers(server.url))[0]?.url, grpc);
    using client = genericClient(grpc, SERVICE);
    const { message: sent } = await client.call('SendMessage', message('hello there'));
    assert.match(JSON.stringify(sent), /hello there/);
    await server.stop();
  });

  test('parley serve --no-grpc does not serve or declare gRPC, and contradicts --grpc-port', async () => {
    const server = await serving(['--agent', 'echo', '--no-grpc']);
    assert.equal(server.grpc, undefined);
    assert.deepEqual(await grpcOffers(server.url), []);
    using client = genericClient(`127.0.0.1:${server.port}`, SERVICE);
    await assert.rejects(client.call('SendMessage', message('hello')));
    await server.stop();
    const both = await parley(['serve', '--no-grpc', '--grpc-port', '0']);
    assertRefused(both, 2, /--grpc-port and --no-grpc contradict each other/);
  });

  test('parley gateway serves an agent over gRPC with a key', async () => {
    const agent = await serving(['--agent', 'echo']);
    const config = path.join(folder, 'gateway-grpc.json');
    const settings = { agents: { echo: { url: agent.url } } };
    writeFileSync(config, JSON.stringify(settings), { mode: 0o600 });
    const env = { PARLEY_HOME: path.join(folder, 'gateway-grpc') };
    const gateway = start(['gateway', '--port', '0', '--json', '--config', config], { env });
    const [line] = await gateway.saying(/.*\n/);
    const { url, grpc, key } = JSON.parse(line) as Record<'url' | 'grpc' | 'key', string>;
    assert.equal(grpc, new URL(url).host);
    const metadata = { authorization: `Bearer ${key}` };
    const [offer] = await grpcOffers(`${url}/agents/echo`, metadata);
    assert.deepEqual([offer?.url, offer?.tenant], [grpc, 'agents/echo']);
    using client = genericClient(grpc, SERVICE);
    const request = { tenant: 'agents/echo', ...message('hello there') };
    const { message: sent } = await client.call('SendMessage', request, { metadata });
    assert.match(JSON.stringify(sent), /hello there/);
    await assert.rejects(client.call('SendMessage', request), /UNAUTHENTICATED/);
    gateway.child.kill('SIGTERM');
    assert.equal((await gateway.ended).code, 0);
    await agent.stop();
  });
});
