/** What the SDKs' gRPC clients have in common: they are clients of @grpc/grpc-js. */
import * as grpc from '@grpc/grpc-js';
import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import type { TestContext } from 'node:test';
import { ERRORS, kindOfReason } from '../../src/protocol/index.ts';
import type { PeerOptions } from './seen.ts';
import type { Hosted } from './support.ts';

/** Adds the token to every call, and keeps the extensions that the last answer named. */
export function watchedCalls({ token }: PeerOptions): {
  readonly options: Partial<grpc.CallOptions>;
  readonly activated: () => string;
} {
  let last: grpc.Metadata | undefined;
  const watch: grpc.Interceptor = (options, nextCall) =>
    new grpc.InterceptingCall(nextCall({ ...options, deadline: Date.now() + 5000 }), {
      start(metadata, listener, next) {
        last = undefined;
        if (token !== undefined) metadata.set('authorization', `Bearer ${token}`);
        next(metadata, {
          ...listener,
          onReceiveMetadata(received, pass) {
            last = received;
            pass(received);
          },
        });
      },
    });
  const named = (name: string) => last?.get(name)[0]?.toString();
  return {
    options: { interceptors: [watch] },
    activated: () => named('a2a-extensions') ?? named('x-a2a-extensions') ?? '',
  };
}

export const BINDING_NAMES = { JSONRPC: 'JSON-RPC', 'HTTP+JSON': 'REST', GRPC: 'gRPC' } as const;

/** The JSON-RPC code of the error whose reason is in the details of a gRPC status. */
export function codeInDetails(error: unknown): number | undefined {
  for (let inner = error; inner instanceof Error; inner = inner.cause) {
    if (!('metadata' in inner) || !(inner.metadata instanceof grpc.Metadata)) continue;
    const details = String(inner.metadata.get('grpc-status-details-bin')[0] ?? '');
    const reason = /[A-Z]+(?:_[A-Z]+)+|UNAUTHENTICATED/.exec(details)?.[0] ?? '';
    const kind = kindOfReason(reason);
    return kind && ERRORS[kind].code;
  }
  return undefined;
}

/** A gRPC server of @grpc/grpc-js. */
export interface GrpcHost {
  readonly address: string;
  readonly server: grpc.Server;
  /** Breaks all connections. */
  cut(): void;
}

/** Opens a port for gRPC, which demands the token, if there is one. */
export async function openGrpc(t: TestContext, token: string | undefined): Promise<GrpcHost> {
  const server = new grpc.Server({ interceptors: token === undefined ? [] : [demanding(token)] });
  const credentials = grpc.ServerCredentials.createInsecure();
  // Connections go through a proxy, because the server cannot break them.
  const port = await new Promise<number>((resolve, reject) => {
    server.bindAsync('127.0.0.1:0', credentials, (error, bound) =>
      error ? reject(error) : resolve(bound),
    );
  });
  const sockets = new Set<Socket>();
  const proxy = createServer((socket) => {
    const inner = connect(port, '127.0.0.1');
    for (const each of [socket, inner]) {
      sockets.add(each);
      each.once('close', () => {
        sockets.delete(each);
        (each === socket ? inner : socket).destroy();
      });
      each.on('error', () => each.destroy());
    }
    socket.pipe(inner).pipe(socket);
  });
  proxy.listen(0, '127.0.0.1');
  await once(proxy, 'listening');
  const cut = () => {
    for (const socket of sockets) socket.destroy();
  };
  t.after(() => {
    proxy.close();
    cut();
    server.forceShutdown();
  });
  return { address: `127.0.0.1:${(proxy.address() as AddressInfo).port}`, server, cut };
}

/** Refuses calls without the token. */
function demanding(token: string): grpc.ServerInterceptor {
  return (_method, call) =>
    new grpc.ServerInterceptingCall(call, {
      start: (next) =>
        next({
          onReceiveMetadata(metadata, pass) {
            if (metadata.get('authorization')[0] === `Bearer ${token}`) pass(metadata);
            else call.sendStatus({ code: grpc.status.UNAUTHENTICATED, details: 'who are you?' });
          },
        }),
    });
}

/** Returns the host with its port for gRPC. */
export function withGrpc(http: Hosted, port: GrpcHost): Hosted {
  return {
    ...http,
    grpc: port.address,
    cut() {
      http.cut();
      port.cut();
    },
  };
}
