/**
 * The addresses on which a server listens: the first one and those that are added later. Each may have a second port,
 * for gRPC.
 */
import { hostsOf } from '../admission.ts';
import type { GrpcHandler } from './grpc.ts';
import { type Listener, type ListenerOptions, openListener, type TlsPair } from './listener.ts';
import type { HttpHandler } from './messages.ts';

export interface AddressOptions extends Omit<ListenerOptions, 'grpc'> {
  readonly grpc: GrpcHandler | undefined;
  /** The port of gRPC. With 0, the system chooses one. Default: the port of the server. */
  readonly grpcPort: number | undefined;
}

/** One address of a server. */
export interface Address {
  readonly url: string;
  /** The Host headers of requests to this address, including its separate port for gRPC if there is one. */
  readonly hosts: readonly string[];
  /** Stops listening on this address, waits up to `ms` until all responses are sent, and closes the connections. */
  close(ms: number): Promise<void>;
}

export class Addresses {
  readonly #options: AddressOptions;
  readonly #listeners = new Set<Listener>();
  /** The certificate for addresses that are added later and have no certificate of their own. */
  #tls: TlsPair | undefined;
  #grpcPort: number | undefined;
  readonly main: Listener;

  private constructor(options: AddressOptions, main: Listener) {
    this.#options = options;
    this.#tls = options.tls;
    this.#grpcPort = options.grpcPort;
    this.main = main;
    this.#listeners.add(main);
  }

  static async open(port: number, host: string, options: AddressOptions): Promise<Addresses> {
    const addresses = new Addresses(options, await openMain(port, host, options));
    try {
      const grpc = await addresses.#openGrpc(host, options.tls);
      addresses.#grpcPort = grpc?.port;
    } catch (error) {
      addresses.stop();
      await addresses.end(0);
      throw error;
    }
    return addresses;
  }

  /** The port of gRPC, if it is not the port of the server. */
  get grpcPort(): number | undefined {
    return this.#grpcPort;
  }

  /** Listens on another address too, with the same ports. */
  async add(host: string, tls: TlsPair | undefined = this.#tls): Promise<Address> {
    const main = await openMain(this.main.port, host, { ...this.#options, tls });
    this.#listeners.add(main);
    const close = async (listeners: readonly Listener[], ms: number) => {
      for (const each of listeners) {
        this.#listeners.delete(each);
        each.stop();
      }
      await Promise.all(listeners.map((each) => each.end(ms)));
    };
    try {
      const grpc = await this.#openGrpc(host, tls);
      const all = grpc ? [main, grpc] : [main];
      return {
        url: main.url,
        hosts: all.flatMap(({ url }) => hostsOf(new URL(url))),
        close: (ms) => close(all, ms),
      };
    } catch (error) {
      await close([main], 0);
      throw error;
    }
  }

  /** Replaces the certificate of all addresses. */
  setTls(pair: TlsPair): void {
    for (const each of this.#listeners) each.setTls(pair);
    this.#tls = pair;
  }

  stop(): void {
    for (const each of this.#listeners) each.stop();
  }

  async end(ms: number): Promise<void> {
    await Promise.all([...this.#listeners].map((each) => each.end(ms)));
  }

  async #openGrpc(host: string, tls: TlsPair | undefined): Promise<Listener | undefined> {
    const { grpc, requestTimeoutMs } = this.#options;
    if (this.#grpcPort === undefined || !grpc) return undefined;
    const own = { node: onlyGrpc, grpc, upgrades: undefined, requestTimeoutMs, tls };
    const listener = await openListener(this.#grpcPort, host, own);
    this.#listeners.add(listener);
    return listener;
  }
}

function openMain(port: number, host: string, options: AddressOptions): Promise<Listener> {
  const { grpc, grpcPort } = options;
  return openListener(port, host, { ...options, grpc: grpcPort === undefined ? grpc : undefined });
}

/** Answers requests to the gRPC port that are not gRPC requests. */
const onlyGrpc: HttpHandler = (_request, response) => {
  response.writeHead(415, ['content-type', 'text/plain; charset=utf-8']);
  const text =
    'This port serves only gRPC. For other requests, use the port that serves the agent card.\n';
  response.end(text, 'latin1');
};
