/**
 * Joins a live session over WebSocket.
 *
 *   const session = await joinLive('http://localhost:1234', { name: 'phone' });
 *   for await (const item of session.items()) …
 *
 * After a lost connection, the client reconnects and continues after the last event. If the connection is lost before a
 * request has its response, the request is rejected, because it may or may not have arrived.
 */
import { trimEndOf } from '../../base/index.ts';
import {
  ExecuteSlashCommandResponse,
  GetAllSlashCommandsResponse,
  type ExecuteSlashCommandRequest,
  type SlashCommand,
  type ToolCallConfirmation,
} from '../../protocol/development-tool/index.ts';
import { A2AError, v03, type Part } from '../../protocol/index.ts';
import {
  ConnectionError,
  DEFAULT_ATTEMPTS,
  retryDelay,
  type RetryOptions,
} from '../../client/index.ts';
import {
  LIVE_TOKEN,
  type LiveClient,
  type LiveItem,
  type LiveSession,
  type TakenPrompt,
} from './session.ts';
import { LiveFeed } from './feed.ts';
import { userMessage } from './user-message.ts';
import { decodeClients, decodeFiles, decodeFrame, decodeTask } from './frames.ts';

/** The options of `joinLive`. */
export interface JoinOptions {
  /**
   * The access token. It is sent as a WebSocket subprotocol, so it may contain only letters, digits and
   * !#$%&'*+-.^_`|~.
   */
  readonly token?: string | undefined;
  /** The name that other clients see. If the token has a name, that name is used instead. */
  readonly name?: string | undefined;
  /** When this signal is aborted, the client leaves the session. */
  readonly signal?: AbortSignal | undefined;
  /** The number of attempts to reconnect, and the time between them. */
  readonly retry?: RetryOptions | undefined;
  /**
   * Maximum number of messages in a snapshot. Earlier messages are left out. Servers other than Parley may ignore this
   * limit. Default: no limit.
   */
  readonly history?: number | undefined;
  /**
   * Called with false when an attempt to connect fails or the connection is lost, and with true when a connection is
   * open again. Not called before the session is joined. Must not throw.
   */
  readonly onConnection?: ((connected: boolean) => void) | undefined;
}

/** Maximum time for the response to a request, and for opening a connection. */
const ANSWER_MS = 60_000;
const CONNECT_MS = 20_000;
/**
 * Maximum number of unread items. When it is reached, the connection is closed until the items have been read, or until
 * the reader stops. If nothing reads the items yet, they are dropped instead, and the connection stays open.
 */
const MAX_WAITING = 4096;
const NOT_AUTHORIZED = 4001;
const GOING_AWAY = 1001;

/**
 * Joins a live session. Resolves after the first snapshot. Rejects if there is no session, if the session refuses the
 * client, or if the signal is aborted. Rejects with a TypeError if the URL or the token is invalid.
 */
export async function joinLive(url: string, options: JoinOptions = {}): Promise<LiveSession> {
  options.signal?.throwIfAborted();
  const session = new RemoteSession(addressOf(url, options), options);
  await session.joined;
  return session;
}

function addressOf(url: string, { name, token, history }: JoinOptions): URL {
  const address = URL.parse(url);
  if (!address || !/^(?:https?|wss?):$/.test(address.protocol)) {
    throw new TypeError(
      `"${url}" is not a valid URL of a live session: write it as http://localhost:1234`,
    );
  }
  if (token !== undefined && !LIVE_TOKEN.test(token)) {
    throw new TypeError('the token contains invalid characters: use letters and digits');
  }
  address.protocol = address.protocol.replace('http', 'ws');
  if (!address.pathname.endsWith('/ws')) {
    address.pathname = `${trimEndOf(address.pathname, '/')}/ws`;
  }
  address.hash = '';
  address.searchParams.set('presence', '1');
  if (name !== undefined) address.searchParams.set('name', name);
  if (history !== undefined) address.searchParams.set('history', String(history));
  return address;
}

type Asked = Pick<PromiseWithResolvers<unknown>, 'resolve' | 'reject'>;

class RemoteSession implements LiveSession {
  readonly joined: Promise<void>;
  readonly #address: URL;
  readonly #options: JoinOptions;
  readonly #asked = new Map<number, Asked>();
  #socket: WebSocket | undefined;
  /** Resolved and replaced whenever a connection opens, is closed or is lost. */
  #changed = Promise.withResolvers<void>();
  readonly #first = Promise.withResolvers<void>();
  #feed: LiveFeed;
  /**
   * `none`: nothing reads the items yet. `late`: nothing reads them yet, and some were dropped. `one`: an iterator
   * reads them.
   */
  #reader: 'none' | 'late' | 'one' = 'none';
  #self: LiveClient | undefined;
  #taskId: string | undefined;
  #seq: number | undefined;
  #lastId = 0;
  /** The number of lost connections and failed attempts since the last received item. */
  #failures = 0;
  #timer: ReturnType<typeof setTimeout> | undefined;
  /** True while this client keeps the connection closed until the queued items have been read. */
  #held = false;
  #over = false;

  constructor(address: URL, options: JoinOptions) {
    this.#address = address;
    this.#options = options;
    this.#feed = this.#makeFeed();
    this.joined = this.#first.promise;
    options.signal?.addEventListener('abort', this.#onAbort, { once: true });
    this.#connect();
  }

  get self(): LiveClient {
    if (!this.#self) throw new ConnectionError('closed', 'the session has not been joined yet');
    return this.#self;
  }

  items(options: { after?: number; signal?: AbortSignal } = {}): AsyncIterable<LiveItem> {
    const { after, signal } = options;
    if (this.#reader !== 'none' || after !== undefined) this.#restart(after);
    this.#reader = 'one';
    const feed = this.#feed;
    feed.closeOn(signal);
    return feed;
  }

  async prompt(content: string | readonly Part[]): Promise<TakenPrompt> {
    const message = userMessage(content);
    // The server must not use the prompt as an answer, because it may have been typed before the question appeared.
    // Answers are sent with `confirm`.
    const metadata = { 'parley.prompt': true };
    const params = v03.encodeParams('sendMessage', { message, metadata });
    const task = decodeTask(await this.#ask('message/send', params));
    return { queued: task.metadata?.['parley.queued'] === true, taskId: task.id };
  }

  async confirm(confirmation: ToolCallConfirmation): Promise<void> {
    await this.#ask('session/confirm', confirmation);
  }

  async cancel({ keepQueue = false } = {}): Promise<void> {
    const metadata = keepQueue && { metadata: { 'parley.keepQueue': true } };
    try {
      await this.#ask('tasks/cancel', { id: this.#taskId, ...metadata });
    } catch (error) {
      // No turn was running.
      if (!(error instanceof A2AError) || error.kind !== 'taskNotCancelable') throw error;
    }
  }

  async commands(): Promise<readonly SlashCommand[]> {
    return GetAllSlashCommandsResponse.parse(await this.#ask('commands/get', {})).commands;
  }

  async execute(request: ExecuteSlashCommandRequest): Promise<ExecuteSlashCommandResponse> {
    return ExecuteSlashCommandResponse.parse(await this.#ask('command/execute', request));
  }

  async files(prefix: string): Promise<readonly string[]> {
    return decodeFiles(await this.#ask('session/files', { prefix }));
  }

  async clients(): Promise<readonly LiveClient[]> {
    return decodeClients(await this.#ask('session/clients', {})).clients;
  }

  async revoke(client: string): Promise<void> {
    await this.#ask('session/revoke', { client });
  }

  async close(): Promise<void> {
    this.#finish();
  }

  readonly #onAbort = (): void => this.#finish();

  #makeFeed(): LiveFeed {
    /** Reopens the connection if it was closed because the queue was full. */
    const goOn = () => {
      if (!this.#held || this.#over || this.#feed !== feed) return;
      this.#held = false;
      this.#connect();
    };
    const feed = new LiveFeed({ limit: MAX_WAITING, onEmpty: goOn, onLeave: goOn });
    return feed;
  }

  /** Starts a new iteration, which replaces the previous one. */
  #restart(after: number | undefined): void {
    this.#feed.end();
    this.#feed = this.#makeFeed();
    if (this.#over) return this.#feed.end();
    this.#seq = after;
    if (after === undefined) this.#taskId = undefined;
    this.#held = false;
    this.#drop();
    this.#connect();
  }

  #connect(): void {
    clearTimeout(this.#timer);
    const address = new URL(this.#address);
    if (this.#seq !== undefined) {
      address.searchParams.set('after', String(this.#seq));
      if (this.#taskId !== undefined) address.searchParams.set('task', this.#taskId);
    }
    const { token } = this.#options;
    const socket = new WebSocket(
      address,
      token === undefined ? ['a2a'] : ['a2a', `token.${token}`],
    );
    this.#socket = socket;
    this.#timer = setTimeout(() => socket.close(), CONNECT_MS);
    socket.addEventListener('open', () => {
      if (this.#socket !== socket) return;
      clearTimeout(this.#timer);
      this.#change();
      if (this.#self) this.#options.onConnection?.(true);
      // A resumed connection gets no snapshot. So the client must request `self`, which the snapshot would contain.
      if (address.searchParams.has('after')) void this.#whoAmI();
    });
    socket.addEventListener('message', ({ data }) => {
      if (this.#socket === socket && typeof data === 'string') this.#take(data);
    });
    socket.addEventListener('close', ({ code, reason }) => {
      if (this.#socket === socket) this.#lost(code, reason);
    });
    // A `close` event follows every error, and its listener handles the loss.
    socket.addEventListener('error', () => undefined);
  }

  async #whoAmI(): Promise<void> {
    try {
      const { self } = decodeClients(await this.#ask('session/clients', {}));
      if (!self) return;
      this.#self = self;
      this.#first.resolve();
    } catch {
      // If the connection was lost, the next connection sends the request again. After any other error, `self` stays as
      // it was.
    }
  }

  #take(text: string): void {
    try {
      const frame = decodeFrame(text);
      switch (frame.kind) {
        case 'item':
          return this.#see(frame.item, frame.self);
        case 'response':
          return this.#asked.get(frame.id)?.resolve(frame.result);
        case 'error':
          if (frame.id !== undefined) this.#asked.get(frame.id)?.reject(frame.error);
          return;
        default:
      }
    } catch (error) {
      this.#finish(error instanceof Error ? error : new ConnectionError('broken', String(error)));
    }
  }

  #see(item: LiveItem, self: LiveClient | undefined): void {
    if (item.kind === 'snapshot') {
      this.#taskId = item.snapshot.taskId;
      this.#seq = item.snapshot.seq;
      if (self) this.#self = self;
      this.#first.resolve();
    } else if (item.kind === 'event') {
      // Events that are repeated after a resumption are skipped.
      if (item.taskId === this.#taskId && item.seq <= (this.#seq ?? -1)) return;
      this.#taskId = item.taskId;
      this.#seq = item.seq;
    }
    this.#failures = 0;
    if (this.#feed.give(item)) return;
    if (this.#reader === 'one') {
      this.#held = true;
      this.#drop();
    } else {
      this.#feed = this.#makeFeed();
      this.#reader = 'late';
    }
  }

  /** Closes the connection without a reconnect, and rejects the pending requests. */
  #drop(): void {
    const socket = this.#socket;
    this.#socket = undefined;
    this.#unready('the connection was closed before the response: the request may have arrived');
    socket?.close();
  }

  #unready(why: string): void {
    clearTimeout(this.#timer);
    this.#change();
    const error = new ConnectionError('broken', why);
    for (const { reject } of this.#asked.values()) reject(error);
    this.#asked.clear();
  }

  #change(): void {
    this.#changed.resolve();
    this.#changed = Promise.withResolvers();
  }

  #lost(code: number, reason: string): void {
    this.#socket = undefined;
    this.#unready('the connection was lost before the response: the request may have arrived');
    if (code === NOT_AUTHORIZED) return this.#finish(new A2AError('unauthenticated'));
    // The session has ended normally.
    if (code === GOING_AWAY && this.#self) return this.#finish();
    const why = reason === '' ? `${code}` : `${code}, ${reason}`;
    if (!this.#self) {
      const text = `no live session at ${this.#address.origin} (${why})`;
      return this.#finish(new ConnectionError('unreachable', text));
    }
    this.#options.onConnection?.(false);
    const failure = ++this.#failures;
    const { retry } = this.#options;
    if (failure > (retry?.attempts ?? DEFAULT_ATTEMPTS)) {
      const text = `lost the connection to the live session (${why}) and could not reconnect`;
      return this.#finish(new ConnectionError('broken', text));
    }
    const wait = retryDelay(failure, retry);
    retry?.onRetry?.(failure, wait);
    this.#timer = setTimeout(() => this.#connect(), wait);
  }

  #finish(error?: Error): void {
    if (this.#over) return;
    this.#over = true;
    const { signal } = this.#options;
    signal?.removeEventListener('abort', this.#onAbort);
    this.#drop();
    this.#first.reject(signal?.aborted ? signal.reason : (error ?? closed()));
    this.#first.promise.catch(() => undefined);
    this.#feed.end(error);
  }

  async #ask(method: string, params: unknown): Promise<unknown> {
    while (this.#socket?.readyState !== WebSocket.OPEN) {
      if (this.#over) throw closed();
      await this.#changed.promise;
    }
    const id = ++this.#lastId;
    const { promise, resolve, reject } = Promise.withResolvers<unknown>();
    this.#asked.set(id, { resolve, reject });
    const timer = setTimeout(() => {
      reject(new ConnectionError('timeout', `no response to ${method}`));
    }, ANSWER_MS);
    try {
      this.#socket.send(JSON.stringify({ jsonrpc: '2.0', id, method, params }));
      return await promise;
    } finally {
      clearTimeout(timer);
      this.#asked.delete(id);
    }
  }
}

function closed(): ConnectionError {
  return new ConnectionError(
    'closed',
    'this client has left the live session, or the session has ended',
  );
}
