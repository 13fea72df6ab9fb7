/**
 * The server of this page, for a person who is signed in. The page is a client like any other: it uses A2A and the
 * other documented endpoints of the server.
 */
import * as z from 'zod';
import { isObject } from '../../../base/index.ts';
import { connect, errorOfStatus, type RemoteAgentClient } from '../../../client/index.ts';
import { EXTENSION_URI } from '../../../protocol/development-tool/index.ts';
import { A2AError, type AgentCard } from '../../../protocol/index.ts';
import { jsonIn } from './json.ts';
import { BASE, SERVER_KIND } from './access.ts';

/** The extensions that the page understands. */
export const EXTENSIONS = [EXTENSION_URI];

/** The same extensions as headers of both protocol versions, for requests that the client library does not send. */
export const EXTENSION_HEADERS = {
  'a2a-extensions': EXTENSION_URI,
  'x-a2a-extensions': EXTENSION_URI,
};

const SignedInCaller = z.object({
  workspaceId: z.string(),
  keyId: z.string().optional(),
  keyName: z.string().optional(),
  subject: z.string().optional(),
  scopes: z.array(z.string()),
  /** Whether the key may read data of all workspaces, such as metrics. */
  allWorkspaces: z.boolean(),
});
export type SignedInCaller = z.infer<typeof SignedInCaller>;

const AgentNames = z.object({ agents: z.array(z.object({ name: z.string() })) });

export interface PageRequest {
  readonly method?: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE' | undefined;
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
  readonly signal?: AbortSignal | undefined;
}

export class Server {
  readonly kind = SERVER_KIND;
  readonly url = BASE;
  readonly key: string | undefined;
  /** The card of the agent or the gateway. */
  readonly card: AgentCard;
  /** The owner of the key, and its scopes. Undefined if the server has no keys with scopes. */
  readonly caller: SignedInCaller | undefined;
  readonly #clients = new Map<string, Promise<RemoteAgentClient>>();

  constructor(key: string | undefined, client: RemoteAgentClient, caller?: SignedInCaller) {
    this.key = key;
    this.card = client.card;
    this.caller = caller;
    this.#clients.set('', Promise.resolve(client));
  }

  /** Returns whether the key has the scope. Returns true if the server has no keys with scopes. */
  may(scope: string): boolean {
    return this.caller === undefined || this.caller.scopes.includes(scope);
  }

  /** Returns the path of the agent behind the gateway, or of the server itself if the name is empty. */
  pathOf(agent: string): string {
    return agent === '' ? '' : `/agents/${encodeURIComponent(agent)}`;
  }

  /** Returns the client of an agent behind the gateway, or of the server itself. */
  client(agent = ''): Promise<RemoteAgentClient> {
    const known = this.#clients.get(agent);
    if (known) return known;
    const headers = headersOf(this.key);
    const opened = connect(`${this.url}${this.pathOf(agent)}/`, { headers });
    this.#clients.set(agent, opened);
    opened.catch(() => this.#clients.delete(agent));
    return opened;
  }

  /**
   * Sends a request to a path of the server. Throws an A2AError with the server's message if the server answers with an
   * error, and a TypeError if the server does not answer.
   */
  async ask(path: string, options: PageRequest = {}): Promise<Response> {
    const { method = 'GET', body, headers, signal } = options;
    const response = await fetch(this.url + path, {
      method,
      headers: {
        ...headersOf(this.key),
        ...(body !== undefined && { 'content-type': 'application/json' }),
        ...headers,
      },
      credentials: 'omit',
      ...(body !== undefined && { body: JSON.stringify(body) }),
      ...(signal && { signal }),
    });
    if (response.ok) return response;
    const { kind, detail } = errorOfStatus(response);
    throw new A2AError(kind, await reasonIn(response), detail);
  }

  /** Sends a request and reads the JSON of its response. */
  async json<T>(schema: z.ZodType<T>, path: string, options?: PageRequest): Promise<T> {
    const response = await this.ask(path, options);
    return schema.parse(await response.json());
  }

  /** Returns the names of the agents behind the gateway that this key may use. */
  async agentNames(signal: AbortSignal): Promise<string[]> {
    if (!this.may('agents:use')) return [];
    const { agents } = await this.json(AgentNames, '/a2a/agents', { signal });
    return agents.map(({ name }) => name);
  }
}

/** The props that the frame passes to each page. */
export interface PageProps {
  readonly server: Server;
  /** The segments of the address after the name of the page. */
  readonly path: readonly string[];
}

/** Returns the server for this key. Throws A2AError `unauthenticated` if the server requires another key. */
export async function signIn(key: string | undefined): Promise<Server> {
  const client = await connect(`${BASE}/`, { headers: headersOf(key) });
  if (SERVER_KIND === 'gateway') {
    const caller = await new Server(key, client).json(SignedInCaller, '/a2a/caller');
    return new Server(key, client, caller);
  }
  // These requests only check that the server accepts the token.
  if (SERVER_KIND === 'inspector') await new Server(key, client).ask('/inspector');
  else await client.list({ pageSize: 1 }, { extensions: EXTENSIONS });
  return new Server(key, client);
}

/** Returns whether the error means that the server requires another key or token. */
export function isRefused(error: unknown): boolean {
  return error instanceof A2AError && error.kind === 'unauthenticated';
}

export function headersOf(key: string | undefined): Record<string, string> {
  return key === undefined ? {} : { authorization: `Bearer ${key}` };
}

/** Returns the message of an error response: the text `error` or `message`, or the `message` of an `error` object. */
async function reasonIn(response: Response): Promise<string> {
  // The response may not be JSON: an error page of a proxy, for example.
  const body = jsonIn(await response.text().catch(() => ''));
  const error = isObject(body) ? (body['error'] ?? body['message']) : undefined;
  if (typeof error === 'string') return error;
  if (isObject(error) && typeof error['message'] === 'string') return error['message'];
  return `The server answered HTTP ${response.status}`;
}
