/**
 * Connects one ACP client to one live session. Sends the session's updates to the client, and responds to the client's
 * prompts when their turns end.
 *
 * One loop reads the session. It reads the next event only after the updates for the previous event have been sent. So
 * a slow client does not delay other clients, and unsent updates do not fill the memory.
 */
import {
  methods,
  RequestError,
  type AgentContext,
  type AvailableCommand,
  type ContentBlock,
  type SessionUpdate,
  type StopReason,
} from '@agentclientprotocol/sdk';
import type { LiveSession, LiveSnapshot } from '../live/client/index.ts';
import {
  confirmationOf,
  isOpenQuestion,
  mayBeCommand,
  OPTION,
  readStatus,
  readTask,
  requestId,
  WaitingCalls,
  type DevelopmentToolEvent,
  type Fact,
  type SlashCommand,
  type ToolCall,
} from '../protocol/development-tool/index.ts';
import {
  A2AError,
  isInterrupted,
  isTerminal,
  textOf,
  type TaskState,
  type TaskStatusUpdateEvent,
} from '../protocol/index.ts';
import type { Logger } from '../tasks/index.ts';
import type { ClientEditor } from './client-editor.ts';
import { partsFrom } from './content.ts';
import {
  choiceId,
  choiceState,
  commandFor,
  configOptions,
  type ChoiceId,
  type ChoiceState,
  type Choices,
} from './config-options.ts';
import { OwnPrompts } from './own-prompts.ts';
import { Permissions } from './permissions.ts';
import { isOwn, messageChunk, Updates } from './updates.ts';

/** Timeout for the session's first snapshot. */
const JOIN_TIMEOUT_MS = 30_000;
const MAX_COMMANDS = 500;

export interface AcpSessionOptions {
  readonly session: LiveSession;
  readonly client: AgentContext;
  /**
   * The client's editor. Commands may run in its terminals. `retry` is called when the client sends a prompt while no
   * earlier turn may still be running.
   */
  readonly editor: Pick<ClientEditor, 'terminalOf' | 'retry'>;
  /** Whether to send the earlier conversation to the client. */
  readonly history: boolean;
  readonly logger: Logger;
  /** Aborted when the client disconnects. */
  readonly signal: AbortSignal;
}

export class AcpSession {
  readonly session: LiveSession;
  readonly sessionId: string;
  readonly #options: AcpSessionOptions;
  readonly #snapshot: LiveSnapshot;
  readonly #leaving = new AbortController();
  readonly #updates: Updates;
  readonly #permissions: Permissions;
  readonly #prompts: OwnPrompts;
  readonly #waiting = new WaitingCalls();
  readonly #current = Promise.withResolvers<void>();
  /** True while the client gets updates from before it joined. */
  #history: boolean;
  /** The last value of `commands` in a presence. When it changes, the client gets the list of commands again. */
  #commands = 0;
  #started = false;
  #choices: Choices;
  /** The state of the session's task. */
  #state: TaskState;
  /** The reply of the running turn, if it is hidden from the client. */
  #reply = '';
  /** The question that the client's next prompt answers. */
  #toAnswer: ToolCall | undefined;

  static async open(options: AcpSessionOptions): Promise<AcpSession> {
    const { session, signal } = options;
    const limited = AbortSignal.any([signal, AbortSignal.timeout(JOIN_TIMEOUT_MS)]);
    for await (const item of session.items({ signal: limited })) {
      if (item.kind !== 'snapshot') continue;
      const models = (await session.models?.()) ?? [];
      return new AcpSession(options, item.snapshot, models);
    }
    throw sessionEnded();
  }

  private constructor(
    options: AcpSessionOptions,
    snapshot: LiveSnapshot,
    models: readonly string[],
  ) {
    const { session, client, logger, signal } = options;
    const { contextId: sessionId, workspace, approval: mode, model } = snapshot;
    this.#options = options;
    this.#snapshot = snapshot;
    this.session = session;
    this.sessionId = sessionId;
    this.#history = options.history;
    this.#choices = { mode, model, models };
    this.#state = snapshot.task.status.state;
    this.#updates = new Updates(session.self, workspace, options.editor);
    this.#permissions = new Permissions({
      client,
      session,
      sessionId,
      workspace,
      logger,
      signal,
      onWords: (call) => this.#answerNext(call),
    });
    this.#prompts = new OwnPrompts(session);
    this.#current.promise.catch(() => {});
  }

  /** Whether a turn runs, or waits for an answer. */
  get isBusy(): boolean {
    return this.#prompts.isPending || !(isTerminal(this.#state) || this.#state === 'submitted');
  }

  /** The current mode and model, and the other possible choices. */
  get choices(): ChoiceState {
    return choiceState(this.#choices);
  }

  /**
   * Starts sending updates. Resolves when the history has been sent. Calls `onEnd` when the updates end. A later call
   * only waits for the history, and its `onEnd` is not called.
   */
  async start(onEnd: () => void): Promise<void> {
    if (this.#started) return this.#current.promise;
    this.#started = true;
    void this.#run()
      .catch((error: unknown) => {
        const { logger, signal } = this.#options;
        if (!signal.aborted)
          logger.warn({ err: error }, 'failed to send session updates to an ACP client');
      })
      .then(() => {
        this.stop();
        onEnd();
      });
    return this.#current.promise;
  }

  async prompt(blocks: readonly ContentBlock[]): Promise<StopReason> {
    const parts = partsFrom(blocks);
    const call = this.#toAnswer;
    this.#toAnswer = undefined;
    const answer = textOf(parts);
    const isText = answer !== '' && !mayBeCommand(answer);
    const isOpen = (id: string) => this.#waiting.calls.some((each) => requestId(each) === id);
    if (call && isText && isOpen(requestId(call))) {
      return this.#prompts.answer(confirmationOf(call, OPTION.words, { answer }));
    }
    // After a timeout, the editor is not used until that turn has ended. While a prompt of the client is pending, or
    // the task waits for an answer, that turn may still be running.
    if (!this.#prompts.isPending && !isInterrupted(this.#state)) this.#options.editor.retry();
    const { done } = await this.#prompts.send(parts);
    return done;
  }

  /** Sends the question as a message, and ends the client's turn. The client's next prompt is the answer. */
  async #answerNext(call: ToolCall): Promise<void> {
    this.#toAnswer = call;
    const question = call.confirmation_request?.generic_details?.description ?? '';
    await this.#send(messageChunk(question));
    this.#endTurn('end_turn');
  }

  cancel(): Promise<void> {
    return this.#prompts.cancel();
  }

  /**
   * Sets the mode or the model for all clients. If a turn is running, the change takes effect after this turn. `field`
   * is the name of the value in the client's request.
   */
  async choose(configId: string, value: string, field: string): Promise<void> {
    const id = choiceId(configId);
    const command = commandFor(id, value, field, this.#choices);
    const { queued, done } = await this.#prompts.send(command, { quiet: true });
    if (queued) return;
    await done;
    if (this.#choices[id] === value) return;
    throw RequestError.invalidParams({}, `${field}: ${value} is not allowed here: ${this.#reply}`);
  }

  /** Ends the client's pending prompts with this outcome. */
  endPrompts(outcome: StopReason): void {
    this.#prompts.endAll(outcome);
  }

  /** Stops sending updates. Does not close the live session. */
  stop(): void {
    this.#leaving.abort();
    this.#permissions.withdrawAll();
    this.#prompts.endAll(sessionEnded());
    this.#current.reject(sessionEnded());
  }

  async #run(): Promise<void> {
    const signal = AbortSignal.any([this.#leaving.signal, this.#options.signal]);
    // Without history, reading starts at a snapshot. With history, it starts at the first event.
    let resuming = !this.#history;
    void this.#sendCommands();
    if (this.#history) await this.#sendEarlier();
    for (let missed = true; missed;) {
      missed = false;
      const from = resuming ? {} : { after: 0 };
      for await (const item of this.session.items({ signal, ...from })) {
        if (item.kind === 'snapshot') {
          await this.#enter(item.snapshot);
          // The conversation has moved to another task, which already has events. Read them from the start.
          missed = !resuming && hasBegun(item.snapshot);
          resuming = false;
          if (missed) break;
        } else if (item.kind === 'event') {
          if (item.event.kind === 'status-update') await this.#take(item.event);
          const { taskId, seq } = this.#snapshot;
          if (item.taskId !== taskId || item.seq >= seq) this.#reachPresent();
        } else if ((item.commands ?? 0) !== this.#commands) {
          this.#commands = item.commands ?? 0;
          await this.#sendCommands();
        }
      }
    }
  }

  /** Sends the earlier tasks of this conversation. */
  async #sendEarlier(): Promise<void> {
    for (const task of this.#snapshot.earlier ?? []) {
      let answer = '';
      for (const fact of readTask(task)) {
        await this.#show(fact);
        if (fact.kind === 'text') answer += fact.text;
        if (fact.kind === 'prompt' || fact.kind === 'call') answer = '';
        // The text of `completed` usually repeats the answer. In this case, it is not sent.
        if (fact.kind !== 'state' || fact.text.trim() === answer.trim()) continue;
        await this.#send(messageChunk(fact.text));
      }
      await this.#send(this.#updates.abandoned());
    }
  }

  /** Handles the first snapshot, and each snapshot that is received when the conversation continues in another task. */
  async #enter({ approval, model, pending, task }: LiveSnapshot): Promise<void> {
    this.#state = task.status.state;
    this.#reachPresent();
    this.#permissions.withdrawAll();
    this.#waiting.clear();
    this.#prompts.end('cancelled');
    await this.#send(this.#updates.abandoned());
    await this.#setChoice('mode', approval);
    await this.#setChoice('model', model);
    for (const call of pending) {
      const fact = { kind: 'call', call } as const;
      await this.#show(fact);
      this.#note(fact);
    }
  }

  /**
   * Ends the history, and asks the client for the permissions that are still open. Called when the history has been
   * sent. Later calls have no effect.
   */
  #reachPresent(): void {
    const asks = this.#history;
    this.#history = false;
    this.#current.resolve();
    if (asks) for (const call of this.#waiting.calls) this.#permissions.ask(call);
  }

  async #take(event: TaskStatusUpdateEvent): Promise<void> {
    const { about, facts } = readStatus(event);
    this.#state = event.status.state;
    if (about?.approval !== undefined) await this.#setChoice('mode', about.approval);
    // The model in an event of a helper is the helper's model, not the session's.
    if (about && about.agent === undefined) await this.#setChoice('model', about.model);
    for (const fact of facts) {
      await this.#show(fact);
      if (fact.kind === 'state') await this.#enterState(fact.state, fact.text, about);
      else this.#note(fact);
    }
  }

  async #show(fact: Fact): Promise<void> {
    // A quiet prompt is a command that sets a value from the client's menu. Nobody typed it, so its reply is not shown.
    if (fact.kind === 'text' && this.#prompts.quiet) {
      this.#reply += fact.text;
      return;
    }
    await this.#send(this.#updates.of(fact, { history: this.#history }));
  }

  #note(fact: Fact): void {
    this.#waiting.take(fact);
    if (fact.kind === 'prompt') {
      if (fact.besideAnswer) return;
      this.#reply = '';
      if (!this.#history) this.#prompts.began({ own: isOwn(this.session.self, fact.source) });
    } else if (fact.kind === 'answer') {
      this.#permissions.withdraw(fact.confirmation.tool_call_id);
    } else if (fact.kind === 'call') {
      const { call } = fact;
      if (!call.confirmation_request) this.#permissions.withdraw(call.tool_call_id);
      else if (!this.#history) this.#permissions.ask(call);
    }
  }

  async #enterState(
    state: TaskState,
    text: string,
    about: DevelopmentToolEvent | undefined,
  ): Promise<void> {
    switch (state) {
      case 'completed':
        return this.#endTurn('end_turn');
      case 'rejected':
        return this.#endTurn('refusal');
      case 'canceled':
        await this.#abandon();
        return this.#endTurn('cancelled');
      case 'failed':
        await this.#send(messageChunk(text));
        await this.#abandon();
        return this.#endTurn(failure(text, about?.errorCode));
      case 'input-required':
      case 'auth-required':
        return this.#wait();
      default:
        return;
    }
  }

  /**
   * If all open questions can be answered only with text, sends them as messages and ends the client's turn. The
   * client's next prompt is then the answer.
   */
  async #wait(): Promise<void> {
    const { calls } = this.#waiting;
    if (!calls.every(isOpenQuestion)) return;
    for (const { confirmation_request: request } of calls) {
      await this.#send(messageChunk(request?.generic_details?.description ?? ''));
    }
    this.#endTurn('end_turn');
  }

  async #abandon(): Promise<void> {
    this.#waiting.clear();
    this.#permissions.withdrawAll();
    await this.#send(this.#updates.abandoned());
  }

  #endTurn(outcome: StopReason | RequestError): void {
    if (!this.#history) this.#prompts.end(outcome);
  }

  async #setChoice(id: ChoiceId, value: string): Promise<void> {
    // The client already has the current value, from the response to session/new, session/load or session/resume.
    if (this.#history || value === '' || value === this.#choices[id]) return;
    this.#choices = { ...this.#choices, [id]: value };
    await this.#send([
      ...(id === 'mode'
        ? [{ sessionUpdate: 'current_mode_update' as const, currentModeId: value }]
        : []),
      { sessionUpdate: 'config_option_update', configOptions: configOptions(this.#choices) },
    ]);
  }

  async #sendCommands(): Promise<void> {
    try {
      const commands = await this.session.commands();
      const availableCommands = commands.slice(0, MAX_COMMANDS).map(commandOf);
      await this.#send([{ sessionUpdate: 'available_commands_update', availableCommands }]);
    } catch (error) {
      const { signal, logger } = this.#options;
      if (!signal.aborted) logger.warn({ err: error }, 'failed to list the commands');
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

function sessionEnded(): A2AError {
  return new A2AError('unavailable', 'The session has ended');
}

/** Returns the result of a failed turn. The correlation id in `text` identifies the cause in the server's log. */
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
