/**
 * A client in a session: tells it what happens, and ends its prompts when their turns do.
 *
 * One loop reads the session, and waits for the client to take each update before it goes on. A client that is slow
 * therefore holds nobody up and fills no memory: the session keeps its place.
 */
import {
  methods,
  RequestError,
  type AgentContext,
  type AvailableCommand,
  type ContentBlock,
  type SessionModeState,
  type SessionUpdate,
  type StopReason,
} from '@agentclientprotocol/sdk';
import type { LiveSession, LiveSnapshot } from '../live/client/index.ts';
import type { SlashCommand, ToolCall } from '../protocol/development-tool/index.ts';
import { A2AError, textOf, type TaskStatusUpdateEvent } from '../protocol/index.ts';
import type { Logger } from '../tasks/index.ts';
import { partsFrom } from './content.ts';
import { factOf, type Fact } from './fact.ts';
import { commandFor, isMode, modeIn, modeState } from './modes.ts';
import { OwnPrompts } from './own-prompts.ts';
import { factsIn } from './past.ts';
import { isAskedInWords, Permissions } from './permissions.ts';
import { isOwn, says, Updates } from './updates.ts';

/** For the session to say where it stands. */
const JOIN_MS = 30_000;
const MAX_COMMANDS = 500;

export interface JoinedOptions {
  readonly session: LiveSession;
  readonly client: AgentContext;
  /** Whether the client is told what was before it came. */
  readonly history: boolean;
  readonly logger: Logger;
  /** Aborted when the client is gone. */
  readonly signal: AbortSignal;
}

export class Joined {
  readonly session: LiveSession;
  readonly sessionId: string;
  readonly #options: JoinedOptions;
  readonly #snapshot: LiveSnapshot;
  readonly #leaving = new AbortController();
  readonly #updates: Updates;
  readonly #permissions: Permissions;
  readonly #prompts: OwnPrompts;
  /** Calls that wait for an answer. */
  readonly #pending = new Map<string, ToolCall>();
  readonly #current = Promise.withResolvers<void>();
  /** What is told until the present is reached is history. */
  #history: boolean;
  #started = false;
  #mode: string;
  /** The mode that the turn is to set. */
  #wanted: string | undefined;

  static async open(options: JoinedOptions): Promise<Joined> {
    const { session, signal } = options;
    const limited = AbortSignal.any([signal, AbortSignal.timeout(JOIN_MS)]);
    for await (const item of session.items({ signal: limited })) {
      if (item.kind === 'snapshot') return new Joined(options, item.snapshot);
    }
    throw over();
  }

  private constructor(options: JoinedOptions, snapshot: LiveSnapshot) {
    const { session, client, logger, signal } = options;
    const { contextId: sessionId, workspace, approval } = snapshot;
    this.#options = options;
    this.#snapshot = snapshot;
    this.session = session;
    this.sessionId = sessionId;
    this.#history = options.history;
    this.#mode = approval;
    this.#updates = new Updates(session.self, workspace);
    this.#permissions = new Permissions({ client, session, sessionId, workspace, logger, signal });
    this.#prompts = new OwnPrompts(session);
    this.#current.promise.catch(() => {});
  }

  get modes(): SessionModeState {
    return modeState(this.#mode);
  }

  /** Begins to tell, once. Resolves when what was before is told. */
  async start(onOver: () => void): Promise<void> {
    if (this.#started) return this.#current.promise;
    this.#started = true;
    this.#run().then(
      () => this.#end(onOver),
      (error: unknown) => {
        const { logger, signal } = this.#options;
        if (!signal.aborted) logger.warn({ err: error }, 'an ACP client lost the session');
        this.#end(onOver);
      },
    );
    return this.#current.promise;
  }

  async prompt(blocks: readonly ContentBlock[]): Promise<StopReason> {
    const { done } = await this.#prompts.send(partsFrom(blocks));
    return done;
  }

  cancel(): Promise<void> {
    return this.#prompts.cancel();
  }

  /** Sets the mode for everybody. While a turn runs, it is set after that. */
  async setMode(mode: string): Promise<void> {
    if (!isMode(mode)) throw RequestError.invalidParams({}, `modeId: there is no mode ${mode}`);
    const { queued, done } = await this.#prompts.send(commandFor(mode), { quiet: true });
    if (queued) return;
    await done;
    if (this.#mode !== mode) {
      throw RequestError.invalidParams({}, `modeId: ${mode} is not allowed here`);
    }
  }

  /** Tells no more. The client may still be in the session. */
  stop(): void {
    this.#leaving.abort();
    this.#permissions.withdrawAll();
    this.#prompts.close(over());
    this.#current.reject(over());
  }

  #end(onOver: () => void): void {
    this.stop();
    onOver();
  }

  async #run(): Promise<void> {
    const signal = AbortSignal.any([this.#leaving.signal, this.#options.signal]);
    // Who takes a session up again begins at a snapshot, everybody else at the first event.
    let resuming = !this.#history;
    void this.#sendCommands();
    if (this.#history) await this.#tellEarlier();
    for (let missed = true; missed;) {
      missed = false;
      const from = resuming ? {} : { after: 0 };
      for await (const item of this.session.items({ signal, ...from })) {
        if (item.kind === 'snapshot') {
          await this.#enter(item.snapshot);
          // The conversation goes on in another task, and has done so before this was heard: its events say how.
          missed = !resuming && hasBegun(item.snapshot);
          resuming = false;
          if (missed) break;
        } else if (item.kind === 'event') {
          if (item.event.kind === 'status-update') await this.#take(item.event);
          const { taskId, seq } = this.#snapshot;
          if (item.taskId !== taskId || item.seq >= seq) this.#reachPresent();
        }
      }
    }
  }

  /** What was said before the conversation came to the present task. */
  async #tellEarlier(): Promise<void> {
    for (const task of this.#snapshot.earlier ?? []) {
      for (const fact of factsIn(task)) await this.#tell(fact);
      await this.#send(this.#updates.abandoned());
    }
  }

  /** The session as it stands: at the start, or when the conversation goes on in another task. */
  async #enter({ approval, pending }: LiveSnapshot): Promise<void> {
    this.#reachPresent();
    this.#permissions.withdrawAll();
    this.#pending.clear();
    this.#prompts.end('cancelled');
    await this.#send(this.#updates.abandoned());
    await this.#setMode(approval);
    for (const call of pending) {
      await this.#tell({ kind: 'call', call });
      this.#note({ kind: 'call', call });
    }
  }

  /** From here on it is news: what waits is asked. */
  #reachPresent(): void {
    if (!this.#history) return this.#current.resolve();
    this.#history = false;
    this.#current.resolve();
    for (const call of this.#pending.values()) this.#permissions.ask(call);
  }

  async #take(event: TaskStatusUpdateEvent): Promise<void> {
    const fact = factOf(event);
    await this.#tell(fact);
    this.#note(fact);
    await this.#conclude(event.status.state, fact);
  }

  async #tell(fact: Fact): Promise<void> {
    // What /approval answers is for those who typed it: this client has chosen from a menu.
    if (fact.kind === 'text' && this.#prompts.quiet) return;
    await this.#send(this.#updates.of(fact, { history: this.#history }));
  }

  #note(fact: Fact): void {
    if (fact.kind === 'prompt') {
      this.#wanted = modeIn(textOf(fact.message.parts));
      if (!this.#history) this.#prompts.began({ own: isOwn(this.session.self, fact.source) });
    } else if (fact.kind === 'answers') {
      for (const { tool_call_id: id } of fact.answers) this.#settled(id);
    } else if (fact.kind === 'call') {
      const { call } = fact;
      if (!call.confirmation_request) return this.#settled(call.tool_call_id);
      this.#pending.set(call.tool_call_id, call);
      if (!this.#history) this.#permissions.ask(call);
    }
  }

  #settled(callId: string): void {
    this.#pending.delete(callId);
    this.#permissions.withdraw(callId);
  }

  /** How the turn stands. */
  async #conclude(state: TaskStatusUpdateEvent['status']['state'], fact: Fact): Promise<void> {
    const { text = '', problem, code } = fact.kind === 'state' ? fact : {};
    switch (state) {
      case 'completed':
        if (this.#wanted !== undefined && problem === undefined) await this.#setMode(this.#wanted);
        return this.#over('end_turn');
      case 'rejected':
        return this.#over('refusal');
      case 'canceled':
        await this.#abandon();
        return this.#over('cancelled');
      case 'failed':
        await this.#send(says(text));
        await this.#abandon();
        return this.#over(failure(text, code));
      case 'input-required':
      case 'auth-required':
        return this.#waits();
      default:
        return;
    }
  }

  /** A question that is answered in words ends the client's turn: its next prompt is the answer. */
  async #waits(): Promise<void> {
    const calls = [...this.#pending.values()];
    if (!calls.every(isAskedInWords)) return;
    for (const { confirmation_request: request } of calls) {
      await this.#send(says(request?.generic_details?.description ?? ''));
    }
    this.#over('end_turn');
  }

  async #abandon(): Promise<void> {
    this.#pending.clear();
    this.#permissions.withdrawAll();
    await this.#send(this.#updates.abandoned());
  }

  #over(outcome: StopReason | RequestError): void {
    this.#wanted = undefined;
    if (!this.#history) this.#prompts.end(outcome);
  }

  async #setMode(mode: string): Promise<void> {
    // The one that history leads to is known.
    if (this.#history || mode === this.#mode) return;
    this.#mode = mode;
    await this.#send([{ sessionUpdate: 'current_mode_update', currentModeId: mode }]);
  }

  async #sendCommands(): Promise<void> {
    try {
      const commands = await this.session.commands();
      const availableCommands = commands.slice(0, MAX_COMMANDS).map(commandOf);
      await this.#send([{ sessionUpdate: 'available_commands_update', availableCommands }]);
    } catch (error) {
      const { signal, logger } = this.#options;
      if (!signal.aborted) logger.warn({ err: error }, 'the commands could not be listed');
    }
  }

  async #send(updates: readonly SessionUpdate[]): Promise<void> {
    const { sessionId } = this;
    for (const update of updates) {
      await this.#options.client.notify(methods.client.session.update, { sessionId, update });
    }
  }
}

function hasBegun({ task: { history = [], status } }: LiveSnapshot): boolean {
  return history.length > 0 || status.message !== undefined;
}

function over(): A2AError {
  return new A2AError('unavailable', 'The session is over');
}

/** The sentence is meant for people, and has an id that leads to the cause in our log. */
function failure(text: string, code: string | undefined): StopReason | RequestError {
  if (code === 'step-limit') return 'max_turn_requests';
  return RequestError.internalError({}, text === '' ? 'The turn failed' : text);
}

function commandOf({ name, description, arguments: args, sub_commands }: SlashCommand) {
  const words = args.map((each) => (each.is_required ? each.name : `[${each.name}]`));
  const below = sub_commands.map((each) => each.name).join(' | ');
  const hint = [below, ...words].filter((word) => word !== '').join(' ');
  const command: AvailableCommand = { name, description, ...(hint !== '' && { input: { hint } }) };
  return command;
}
