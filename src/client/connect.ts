/** Makes a client from an agent's address. */
import { codecOf, type AgentCard } from '../protocol/index.ts';
import { createClient, type AgentClient } from './client.ts';
import { choose, discover, type ChosenEndpoint, type Preference } from './connection/discover.ts';
import { httpService, type HttpOptions } from './connection/http.ts';
import type { RetryOptions } from './follow/retry.ts';

/** The options of `connect`. */
export interface ConnectOptions extends HttpOptions, Preference {
  /** The agent's card. If it is undefined, the card is fetched. */
  readonly card?: AgentCard | undefined;
  /** The options for the reconnection of streams. */
  readonly retry?: RetryOptions | undefined;
}

/** A client of a remote agent, with its endpoint. */
export interface RemoteAgentClient extends AgentClient {
  readonly endpoint: ChosenEndpoint;
}

/**
 * Fetches the agent's card, chooses the best interface that both sides support, and returns a client for it.
 *
 *   const agent = await connect('https://agent.example', { headers: { Authorization: `Bearer ${token}` } });
 */
export async function connect(
  url: string | URL,
  options: ConnectOptions = {},
): Promise<RemoteAgentClient> {
  const address = String(url);
  const found = options.card
    ? { card: options.card, url: address }
    : await discover(address, options);
  const endpoint = choose(found, options);
  const service = httpService(endpoint, codecOf(endpoint.version, endpoint.binding), options);
  const { retry, signal } = options;
  return Object.assign(createClient(service, { card: found.card, retry, signal }), { endpoint });
}
