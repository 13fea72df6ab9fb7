/**
 * The connection to a remote agent. The agent's card is fetched when it is first needed, and then reused. Each run
 * has its own client, with the run's credentials and limits.
 *
 * Requests are sent only to the origin of the address and to `trustedOrigins`. Redirects and cards cannot change
 * this.
 */
import type { CanceledRun, SessionKey } from '../../agent/index.ts';
import type { MaybePromise } from '../../base/index.ts';
import {
  ByteBudget,
  checkTrust,
  connect,
  discover,
  restrictToOrigins,
  type AgentClient,
  type CardTrust,
  type FoundCard,
  type Preference,
  type RemoteAgentClient,
  type RemoteLimits,
  type RetryOptions,
} from '../../client/index.ts';
import type { AgentCard } from '../../protocol/index.ts';

/** The request for which the `headers` function is called. */
export interface RemoteRequest {
  readonly url: string;
  readonly method: string;
  readonly session: SessionKey;
  readonly runId: string;
}

/** Headers by name. */
export type RemoteHeaders = Readonly<Record<string, string>>;

/** The address of a remote agent, and the settings for requests to it. */
export interface RemoteConnectionOptions extends Preference {
  /** The address of the agent or of its card. */
  readonly url: string | URL;
  /** Headers for every request, usually credentials. A function is called for each request and may be async. */
  readonly headers?: RemoteHeaders | ((request: RemoteRequest) => MaybePromise<RemoteHeaders>);
  /** Further origins to which the URLs on the card may point, for example `https://api.example`. */
  readonly trustedOrigins?: readonly string[];
  /** The accepted signers of the agent's card. Default: the signature is not verified. */
  readonly verify?: CardTrust;
  /** The URIs of the extensions that every request activates. */
  readonly extensions?: readonly string[];
  readonly retry?: RetryOptions;
  readonly fetch?: typeof globalThis.fetch;
}

/** A client, with its endpoint if that is known. */
export type RemoteClient = AgentClient & Partial<Pick<RemoteAgentClient, 'endpoint'>>;

export interface RemoteConnection {
  /** The card that was fetched last, or undefined if none was fetched yet. */
  readonly card: AgentCard | undefined;
  /** Returns a client for one run. The signal aborts only the request for the card. */
  open(run: Pick<CanceledRun, 'runId' | 'session'>, signal: AbortSignal): Promise<RemoteClient>;
  /** Marks the card as outdated, so that the next `open` fetches it again. */
  forget(): void;
}

export function remoteConnection(
  options: RemoteConnectionOptions,
  limits: Required<RemoteLimits>,
): RemoteConnection {
  const { version, binding, extensions, retry, headers, fetch, verify } = options;
  if (verify !== undefined) checkTrust(verify);
  const address = new URL(options.url).href;
  const trusted = [address, ...(options.trustedOrigins ?? []).map((url) => new URL(url).href)];
  let found: FoundCard | undefined;
  let stale = false;

  return {
    get card() {
      return found?.card;
    },
    async open({ session, runId }, signal) {
      const http = {
        version,
        binding,
        extensions,
        headers:
          typeof headers === 'function'
            ? (request: { url: string; method: string }) => headers({ ...request, session, runId })
            : headers,
        fetch,
        // No timeout is set here, because `remoteCall` limits the time until a response.
        timeoutMs: 0,
        idleTimeoutMs: limits.idleMs,
        maxEventBytes: limits.maxEventBytes,
        maxResponseBytes: limits.maxEventBytes,
        budget: new ByteBudget(limits.maxBytes),
      };
      if (!found || stale) {
        found = restrictToOrigins(trusted, await discover(address, { ...http, signal, verify }));
        stale = false;
      }
      return connect(found.url, { ...http, card: found.card, trustedOrigins: trusted, retry });
    },
    forget() {
      stale = true;
    },
  };
}
