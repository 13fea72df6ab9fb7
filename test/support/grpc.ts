/** Helpers for tests of gRPC: a server on a port of its own, and a client of @grpc/grpc-js without generated code. */
import * as grpc from '@grpc/grpc-js';
import { fromBinary, fromJson, type JsonValue, toBinary, toJson } from '@bufbuild/protobuf';
import { once } from 'node:events';
import { createServer } from 'node:http2';
import type { AddressInfo } from 'node:net';
import type { TestContext } from 'node:test';
import { serviceSchema } from '../../src/grpc/codec/index.ts';
import { grpcBinding } from '../../src/grpc.ts';
import {
  type A2AAgent,
  type AgentInterface,
  type AgentServer,
  serve,
  type ServeOptions,
  VERSIONS,
} from '../../src/server.ts';

/** A port for gRPC only. */
export interface GrpcPort {
  /** The address in the form that gRPC clients use, `host:port`. */
  readonly address: string;
  /** The interfaces of a card. */
  readonly interfaces: AgentInterface[];
  /** Starts to answer requests. */
  serve(agent: AgentServer): void;
  close(): void;
}

/** Opens a port for gRPC. It is closed after the test, if one is given. */
export async function grpcPort(t?: TestContext): Promise<GrpcPort> {
  let agent: AgentServer | undefined;
  const server = createServer((request, response) => agent?.grpc?.(request, response));
  const sessions = new Set<{ destroy(): void }>();
  server.on('session', (session) => sessions.add(session));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  const close = () => {
    for (const session of sessions) session.destroy();
    server.close();
  };
  t?.after(close);
  return {
    address,
    interfaces: VERSIONS.toReversed().map((protocolVersion) => ({
      url: address,
      protocolBinding: 'GRPC',
      protocolVersion,
    })),
    serve: (served) => void (agent = served),
    close,
  };
}

export interface GrpcServer extends AsyncDisposable {
  readonly address: string;
  readonly agent: AgentServer;
}

/** Serves an agent over gRPC only. */
export async function serveGrpc(agent: A2AAgent, options: ServeOptions = {}): Promise<GrpcServer> {
  const port = await grpcPort();
  const served = serve(agent, { grpc: grpcBinding(), ...options });
  port.serve(served);
  return {
    address: port.address,
    agent: served,
    async [Symbol.asyncDispose]() {
      port.close();
      await served.close();
    },
  };
}

export type Json = Record<string, JsonValue>;

/** Calls methods by name, with JSON. */
export interface GenericClient extends Disposable {
  call(method: string, request: Json, options?: CallOptions): Promise<Answer>;
  stream(method: string, request: Json, options?: CallOptions): grpc.ClientReadableStream<Json>;
  duplex(method: string): grpc.ClientDuplexStream<Json, Json>;
}

export interface CallOptions {
  readonly metadata?: Readonly<Record<string, string>>;
  readonly deadline?: number;
}

export interface Answer {
  readonly message: Json;
  readonly headers: grpc.Metadata;
}

/** Makes a client of a service, for example `lf.a2a.v1.A2AService`. */
export function genericClient(
  address: string,
  service: string,
  credentials: grpc.ChannelCredentials = grpc.credentials.createInsecure(),
): GenericClient {
  const schema = serviceSchema(service);
  const client = new grpc.Client(address, credentials);

  function method(name: string) {
    const found = schema.methods.find((each) => each.name === name);
    if (!found) throw new Error(`no method ${name}`);
    const { input, output } = found;
    return {
      path: `/${service}/${name}`,
      serialize: (json: Json) =>
        Buffer.from(toBinary(input, fromJson(input, json, { ignoreUnknownFields: true }))),
      deserialize: (bytes: Buffer) => toJson(output, fromBinary(output, bytes)) as Json,
    };
  }

  const metadataOf = ({ metadata = {} }: CallOptions = {}) => {
    const out = new grpc.Metadata();
    for (const [name, value] of Object.entries(metadata)) out.set(name, value);
    return out;
  };
  const optionsOf = ({ deadline }: CallOptions = {}) =>
    deadline === undefined ? {} : { deadline };

  return {
    call(name, request, options) {
      const { path, serialize, deserialize } = method(name);
      return new Promise((resolve, reject) => {
        let headers = new grpc.Metadata();
        client
          .makeUnaryRequest(
            path,
            serialize,
            deserialize,
            request,
            metadataOf(options),
            optionsOf(options),
            (error, message) => (error ? reject(error) : resolve({ message: message!, headers })),
          )
          .on('metadata', (received) => (headers = received));
      });
    },
    stream(name, request, options) {
      const { path, serialize, deserialize } = method(name);
      return client.makeServerStreamRequest(
        path,
        serialize,
        deserialize,
        request,
        metadataOf(options),
        optionsOf(options),
      );
    },
    duplex(name) {
      const { path, serialize, deserialize } = method(name);
      return client.makeBidiStreamRequest(path, serialize, deserialize);
    },
    [Symbol.dispose]: () => client.close(),
  };
}
