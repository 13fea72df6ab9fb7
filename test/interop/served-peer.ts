/** Our server with the test's agent on it, for a client of an SDK. */
import type { TestContext } from 'node:test';
import { grpcBinding } from '../../src/grpc.ts';
import { serve, type ServeOptions } from '../../src/server.ts';
import { grpcPort } from '../support/grpc.ts';
import { interopAgent } from './agent.ts';
import type { Peer, PeerOptions } from './seen.ts';
import { createGates, quiet, within } from './support.ts';

interface WorldOptions extends ServeOptions {
  /** The agent's extension is one that every request must name. */
  readonly required?: boolean;
}

/** Starts the server, and returns a peer that knows its address. */
export async function start(t: TestContext, peer: Peer, options: WorldOptions = {}) {
  const { required, ...serving } = options;
  const gates = createGates();
  const port = peer.binding === 'GRPC' ? await grpcPort(t) : undefined;
  const server = serve(interopAgent(gates, required), {
    logger: quiet,
    push: { allowNetworks: ['127.0.0.0/8', '::1/128'] },
    ...(peer.reluctant && { versions: [peer.version] }),
    ...serving,
    ...(port && {
      grpc: grpcBinding(),
      card: { ...serving.card, supportedInterfaces: port.interfaces },
    }),
  });
  port?.serve(server);
  const listening = await server.listen(0);
  t.after(() => listening.close(0));
  const { url } = listening;
  const connect = (own?: PeerOptions) => within('connecting', peer.connect(url, own));
  return { url: port?.address ?? url, gates, connect, peer, handler: server.handler };
}
