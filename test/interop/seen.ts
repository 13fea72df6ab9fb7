/** What an SDK made of our bytes, in one shape for all of them, so that each scenario is written once. */

export type SeenPart =
  | { readonly text: string }
  | { readonly data: unknown }
  | { readonly bytes: string; readonly type: string }
  | { readonly uri: string; readonly type: string };

export interface SeenMessage {
  readonly kind: 'message';
  readonly role: string;
  readonly text: string;
}

export interface SeenTask {
  readonly kind: 'task';
  readonly id: string;
  readonly contextId: string;
  readonly state: string;
  /** The text of the status' message. */
  readonly says: string;
  /** `user: hello` */
  readonly history: readonly string[];
  readonly artifacts: readonly (readonly SeenPart[])[];
}

export interface SeenStatus {
  readonly kind: 'status';
  readonly taskId: string;
  readonly state: string;
  readonly says: string;
}

export interface SeenArtifact {
  readonly kind: 'artifact';
  readonly taskId: string;
  readonly parts: readonly SeenPart[];
}

export type Seen = SeenMessage | SeenTask | SeenStatus | SeenArtifact;

export interface SeenPush {
  readonly taskId: string;
  readonly id: string;
  readonly url: string;
  readonly token: string;
}

/** A push configuration to be set; `credentials` are a bearer's. */
export interface PushConfig extends SeenPush {
  readonly credentials?: string;
}

export interface SeenPage {
  readonly tasks: readonly SeenTask[];
  readonly next: string;
  readonly total: number;
}

export interface SeenCard {
  readonly name: string;
  readonly description: string;
  readonly streaming: boolean;
  readonly push: boolean;
  readonly extensions: readonly string[];
  readonly skills: readonly string[];
}

/** What is sent: text, or parts, to nobody in particular or to a task. */
export interface Said {
  readonly text?: string;
  readonly parts?: readonly SeenPart[];
  readonly messageId?: string;
  readonly taskId?: string;
  readonly contextId?: string;
  readonly blocking?: boolean;
  readonly historyLength?: number;
  readonly push?: Omit<PushConfig, 'taskId'>;
}

export interface PeerOptions {
  readonly token?: string;
  readonly extensions?: readonly string[];
  readonly signal?: AbortSignal;
  /** Instead of the network. */
  readonly fetch?: typeof globalThis.fetch;
}

/** An SDK's client, once it has found our card. */
export interface PeerClient {
  readonly card: SeenCard;
  /** Where the card led it, and by what. */
  readonly endpoint: string;
  /** The extensions that our last answer named. */
  readonly activated: string;
  send(said: Said): Promise<SeenTask | SeenMessage>;
  stream(said: Said): AsyncIterable<Seen>;
  get(id: string, historyLength?: number): Promise<SeenTask>;
  /** Absent in SDKs that have no such operation. */
  list?(params: {
    readonly contextId?: string;
    readonly state?: string;
    readonly pageSize?: number;
    readonly pageToken?: string;
    readonly artifacts?: boolean;
  }): Promise<SeenPage>;
  cancel(id: string): Promise<SeenTask>;
  resubscribe(id: string): AsyncIterable<Seen>;
  setPush(config: PushConfig): Promise<SeenPush>;
  getPush(taskId: string, id: string): Promise<SeenPush>;
  listPush(taskId: string): Promise<readonly SeenPush[]>;
  deletePush(taskId: string, id: string): Promise<void>;
  extendedCard(): Promise<SeenCard>;
}

export interface Peer {
  readonly name: string;
  readonly version: '0.3' | '1.0';
  /** It speaks this version only to servers that offer nothing newer. */
  readonly reluctant?: boolean;
  readonly binding: 'JSONRPC' | 'HTTP+JSON' | 'GRPC';
  readonly connect: (url: string, options?: PeerOptions) => Promise<PeerClient>;
  /** The JSON-RPC code of an error, or what stands for it in REST; undefined where the SDK hides it. */
  readonly codeOf: (error: unknown) => number | undefined;
}

/** The text in all artifacts, in order. */
export function artifactText(task: SeenTask | SeenMessage): string {
  return task.kind === 'task' ? task.artifacts.map(partsText).join('') : '';
}

export function partsText(parts: readonly SeenPart[]): string {
  return parts.map((part) => ('text' in part ? part.text : '')).join('');
}

/** What came in a stream, in short: `task submitted`, `working`, `"1 "`, `completed: 1 2`. */
export function short(seen: Seen): string {
  switch (seen.kind) {
    case 'message':
      return `message ${seen.text}`;
    case 'task':
      return `task ${seen.state}`;
    case 'status':
      return seen.says === '' ? seen.state : `${seen.state}: ${seen.says}`;
    default:
      return JSON.stringify(partsText(seen.parts));
  }
}

/** The task that an answer has to be. */
export function taskOf(seen: Seen): SeenTask {
  if (seen.kind !== 'task') throw new Error(`a task was expected, not ${JSON.stringify(seen)}`);
  return seen;
}

/** A fetch that sends a token along, keeps the last answer's headers, and does not wait for ever. */
export function watchedFetch({ token, fetch = globalThis.fetch }: PeerOptions): {
  readonly fetch: typeof globalThis.fetch;
  readonly activated: () => string;
} {
  let last: Headers | undefined;
  return {
    async fetch(input, init) {
      const headers = new Headers(init?.headers);
      if (token !== undefined) headers.set('authorization', `Bearer ${token}`);
      const signals = [AbortSignal.timeout(5000), ...(init?.signal ? [init.signal] : [])];
      const signal = AbortSignal.any(signals);
      const response = await fetch(input, { ...init, headers, signal });
      last = response.headers;
      return response;
    },
    activated: () => last?.get('a2a-extensions') ?? last?.get('x-a2a-extensions') ?? '',
  };
}
