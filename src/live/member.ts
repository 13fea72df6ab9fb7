/** The API of one client of a live session. Checks the client's roles. */
import { randomUUIDv7 } from 'node:crypto';
import type {
  LiveClient,
  LiveItem,
  LiveRole,
  LiveSession,
  QueuedPrompt,
  TakenPrompt,
} from './client/session.ts';
import { LiveFeed } from './client/feed.ts';
import {
  EXTENSION_URI,
  type ExecuteSlashCommandRequest,
  type ExecuteSlashCommandResponse,
  type SlashCommand,
  type ToolCallConfirmation,
} from '../protocol/development-tool/index.ts';
import { A2AError, textOf, type Call, type Message, type Part } from '../protocol/index.ts';
import {
  type CommandService,
  confirmationsIn,
  requireRole,
  type LiveUser,
} from '../coder/index.ts';
import type { Conversation } from './conversation.ts';
import { Follower, type Followed, type LiveSink, type Resume } from './follower.ts';

/** Maximum number of buffered items per iterator. */
const BUFFER = 64;
/** Maximum number of characters of a queued prompt that other clients see. */
const SHOWN_CHARS = 500;

export interface MemberOptions {
  readonly followed: Followed;
  readonly conversation: Conversation;
  readonly commands: CommandService;
  readonly clients: () => readonly LiveClient[];
  /** Called once, when the client leaves. */
  readonly onLeave: (member: Member) => void;
}

export class Member implements LiveSession {
  readonly self: LiveClient;
  readonly #options: MemberOptions;
  readonly #followers = new Set<Follower>();
  /** The call context of this client's requests. */
  readonly call: Call;
  #left = false;

  constructor(self: LiveClient, options: MemberOptions) {
    this.self = self;
    this.#options = options;
    // All clients of the session have the same, empty user id.
    const { id: client, name, kind, roles } = self;
    const user: LiveUser = { id: '', client, name, kind, roles };
    this.call = { user, extensions: [EXTENSION_URI] };
  }

  /** Throws if the client has left or lacks the role. */
  require(role: LiveRole): void {
    if (this.#left) throw new A2AError('unavailable', 'This client has left the live session');
    requireRole(this.call.user, role);
  }

  /** Sends the items of the session to a sink until the follower is closed. */
  follow(sink: LiveSink, resume?: Resume): Follower {
    this.require('view');
    const follower = new Follower(this.#options.followed, sink, resume);
    this.#followers.add(follower);
    return follower;
  }

  unfollow(follower: Follower): void {
    follower.close();
    this.#followers.delete(follower);
  }

  /** Passes the presence to the followers of this client. */
  announce(presence: Parameters<Follower['presence']>[0]): void {
    for (const follower of this.#followers) follower.presence(presence);
  }

  items(options: { after?: number; signal?: AbortSignal } = {}): AsyncIterable<LiveItem> {
    const { after, signal } = options;
    return { [Symbol.asyncIterator]: () => this.#iterate(after, signal) };
  }

  #iterate(after: number | undefined, signal: AbortSignal | undefined): LiveFeed {
    const feed = new LiveFeed({
      limit: BUFFER,
      onEmpty: () => follower.resume(),
      onLeave: () => this.unfollow(follower),
    });
    const leave = () => void feed.return();
    const follower = this.follow(
      {
        snapshot: (snapshot) => feed.give({ kind: 'snapshot', snapshot }),
        event: (taskId, { event, seq = 0 }) => feed.give({ kind: 'event', taskId, seq, event }),
        presence: (presence) => void feed.give({ kind: 'presence', ...presence }),
        end() {
          signal?.removeEventListener('abort', leave);
          feed.end();
        },
      },
      after === undefined ? undefined : { after },
    );
    signal?.addEventListener('abort', leave, { once: true });
    if (signal?.aborted) leave();
    return feed;
  }

  prompt(content: string | readonly Part[]): Promise<TakenPrompt> {
    const parts: Part[] =
      typeof content === 'string' ? [{ kind: 'text', text: content }] : [...content];
    return this.send({ kind: 'message', messageId: randomUUIDv7(), role: 'user', parts });
  }

  /** Sends a message, which is either a prompt or contains answers to questions. */
  async send(message: Message): Promise<TakenPrompt> {
    const { conversation } = this.#options;
    if (confirmationsIn(message).length > 0) {
      this.require('approve');
      await conversation.answer(message, this.call);
      return { queued: false, taskId: conversation.task.id };
    }
    this.require('prompt');
    const text = textOf(message.parts).slice(0, SHOWN_CHARS);
    const shown: QueuedPrompt = { text, from: this.self.name };
    const mayAnswer = this.self.roles.includes('approve');
    return conversation.prompt(message, this.call, shown, mayAnswer);
  }

  async confirm(confirmation: ToolCallConfirmation): Promise<void> {
    const data = { ...confirmation };
    await this.send({
      kind: 'message',
      messageId: randomUUIDv7(),
      role: 'user',
      parts: [{ kind: 'data', data }],
    });
  }

  async cancel(): Promise<void> {
    await this.stop();
  }

  /** Does the same as `cancel`, and returns whether a turn was running. */
  async stop(): Promise<boolean> {
    this.require('prompt');
    return this.#options.conversation.cancel(this.call);
  }

  async commands(): Promise<readonly SlashCommand[]> {
    this.require('view');
    return this.#options.commands.list();
  }

  /** Runs a command as a turn of the session, so that all clients see its result. */
  async execute(request: ExecuteSlashCommandRequest): Promise<ExecuteSlashCommandResponse> {
    this.require('prompt');
    const { conversation, commands } = this.#options;
    const { command_path: path, args, contextId } = request;
    if (contextId !== undefined && contextId !== conversation.task.contextId) {
      throw new A2AError('invalidParams', 'contextId: must be the context of this live session');
    }
    let below = await commands.list();
    for (const word of path) {
      const found = below.find(({ name }) => name === word);
      if (!found) {
        const message = `Unknown command /${path.join(' ').slice(0, 200)}`;
        return { execution_id: '', status: 'FAILED_TO_START', message };
      }
      below = found.sub_commands;
    }
    const { taskId } = await this.prompt(`/${[...path, args].join(' ').trim()}`);
    return { execution_id: taskId, status: 'STARTED' };
  }

  async clients(): Promise<readonly LiveClient[]> {
    this.require('view');
    return this.#options.clients();
  }

  async close(): Promise<void> {
    if (this.#left) return;
    this.#left = true;
    for (const follower of this.#followers) follower.close();
    this.#followers.clear();
    this.#options.onLeave(this);
  }
}
