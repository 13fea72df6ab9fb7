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
import { permissionRequests } from './permissions.ts';
import { isOwn, messageChunk, Updates } from './updates.ts';

/** Timeout for the session's first snapshot. */
const JOIN_TIMEOUT_MS = 30_000;
const MAX_COMMANDS = 500;

export interface AcpSessionOptions {
  readonly session: LiveSession;
  readonly client: AgentContext;
  /**
   * The client's editor. Commands may run in its terminals. `retry` is called when the client sends a prompt, unless an
   * earlier prompt of the client is pending or the task waits for an answer.
   */
  readonly editor: Pick<ClientEditor, 'terminalOf' | 'retry'>;
  /** Whether to send the earlier conversation to the client. */
  readonly history: boolean;
  readonly logger: Logger;
  /** Aborted when the client disconnects. */
  readonly signal: AbortSignal;
}

/** Connects a client to a session. The client gets no updates before `start`. */
export async function openAcpSession(options: AcpSessionOptions): Promise<AcpSession> {
  const { session, signal } = options;
  const limited = AbortSignal.any([signal, AbortSignal.timeout(JOIN_TIMEOUT_MS)]);
  for await (const item of session.items({ signal: limited })) {
    if (item.kind !== 'snapshot') continue;
    return acpSession(options, item.snapshot, (await session.models?.()) ?? []);
  }
  throw sessionEnded();
}

export type AcpSession = ReturnType<typeof acpSession>;

function acpSession(
  { session, client, editor, logger, signal, ...rest }: AcpSessionOptions,
  snapshot: LiveSnapshot,
  models: readonly string[],
) {
  const { contextId: sessionId, workspace } = snapshot;
  const leaving = new AbortController();
  const updates = new Updates(session.self, workspace, editor);
  const permissions = permissionRequests({
    client,
    session,
    sessionId,
    workspace,
    logger,
    signal,
    onWords: answerNext,
  });
  const prompts = new OwnPrompts(session);
  const waiting = new WaitingCalls();
  const current = Promise.withResolvers<void>();
  current.promise.catch(() => {});
  /** True while the client gets the events from before it joined. */
  let { history } = rest;
  /** The last known version of the session's commands. If it changes, the client gets the list of commands again. */
  let edition = 0;
  let started = false;
  let choices: Choices = { mode: snapshot.approval, model: snapshot.model, models };
  /** The state of the session's task. */
  let taskState: TaskState = snapshot.task.status.state;
  /** The reply of the running turn, if it is hidden from the client. */
  let reply = '';
  /** The question that the client's next prompt answers. */
  let toAnswer: ToolCall | undefined;

  /** Sends the question as a message, and ends the client's turn. The client's next prompt is the answer. */
  async function answerNext(call: ToolCall): Promise<void> {
    toAnswer = call;
    await askInWords([call]);
  }

  async function run(): Promise<void> {
    const until = AbortSignal.any([leaving.signal, signal]);
    // Without history, reading starts at a snapshot. With history, it starts at the first event.
    let resuming = !history;
    void sendCommands();
    if (history) await sendEarlier();
    for (let missed = true; missed;) {
      missed = false;
      const from = resuming ? {} : { after: 0 };
      for await (const item of session.items({ signal: until, ...from })) {
        if (item.kind === 'snapshot') {
          await enter(item.snapshot);
          // If the conversation has moved to another task that already has events, they are read from the start.
          missed = !resuming && hasBegun(item.snapshot);
          resuming = false;
          if (missed) break;
        } else if (item.kind === 'event') {
          if (item.event.kind === 'status-update') await take(item.event);
          const { taskId, seq } = snapshot;
          if (item.taskId !== taskId || item.seq >= seq) reachPresent();
        } else if ((item.commands ?? 0) !== edition) {
          edition = item.commands ?? 0;
          await sendCommands();
        }
      }
    }
  }

  /** Sends the earlier tasks of this conversation. */
  async function sendEarlier(): Promise<void> {
    for (const task of snapshot.earlier ?? []) {
      let answer = '';
      for (const fact of readTask(task)) {
        await show(fact);
        if (fact.kind === 'text') answer += fact.text;
        if (fact.kind === 'prompt' || fact.kind === 'call') answer = '';
        // The text of a state such as `completed` is not sent if it repeats the answer.
        if (fact.kind !== 'state' || fact.text.trim() === answer.trim()) continue;
        await send(messageChunk(fact.text));
      }
      await send(updates.abandoned());
    }
  }

  /** Handles a snapshot: the first item without `history`, or the start of another task of the conversation. */
  async function enter({ approval, model, pending, task }: LiveSnapshot): Promise<void> {
    taskState = task.status.state;
    reachPresent();
    permissions.withdrawAll();
    waiting.clear();
    prompts.end('cancelled');
    await send(updates.abandoned());
    await setChoice('mode', approval);
    await setChoice('model', model);
    for (const call of pending) {
      const fact = { kind: 'call', call } as const;
      await show(fact);
      note(fact);
    }
  }

  /**
   * Ends the history, and asks the client for the permissions that are still open. Called when the history has been
   * sent. Later calls have no effect.
   */
  function reachPresent(): void {
    const asks = history;
    history = false;
    current.resolve();
    if (asks) for (const call of waiting.calls) permissions.ask(call);
  }

  async function take(event: TaskStatusUpdateEvent): Promise<void> {
    const { about, facts } = readStatus(event);
    taskState = event.status.state;
    if (about?.approval !== undefined) await setChoice('mode', about.approval);
    // The model in an event of a helper is the helper's model, not the session's.
    if (about && about.agent === undefined) await setChoice('model', about.model);
    for (const fact of facts) {
      await show(fact);
      if (fact.kind === 'state') await enterState(fact.state, fact.text, about);
      else note(fact);
    }
  }

  async function show(fact: Fact): Promise<void> {
    // A quiet prompt is a command that `choose` sends when a person selects a value in the client's menu. The person
    // has not typed this command, so its reply is not shown.
    if (fact.kind === 'text' && prompts.quiet) {
      reply += fact.text;
      return;
    }
    await send(updates.of(fact, { history }));
  }

  function note(fact: Fact): void {
    waiting.take(fact);
    if (fact.kind === 'prompt') {
      if (fact.besideAnswer) return;
      reply = '';
      if (!history) prompts.began({ own: isOwn(session.self, fact.source) });
    } else if (fact.kind === 'answer') {
      permissions.withdraw(fact.confirmation.tool_call_id);
    } else if (fact.kind === 'call') {
      const { call } = fact;
      if (!call.confirmation_request) permissions.withdraw(call.tool_call_id);
      else if (!history) permissions.ask(call);
    }
  }

  async function enterState(
    state: TaskState,
    text: string,
    about: DevelopmentToolEvent | undefined,
  ): Promise<void> {
    switch (state) {
      case 'completed':
        return endTurn('end_turn');
      case 'rejected':
        return endTurn('refusal');
      case 'canceled':
        await abandon();
        return endTurn('cancelled');
      case 'failed':
        await send(messageChunk(text));
        await abandon();
        return endTurn(failure(text, about?.errorCode));
      case 'input-required':
      case 'auth-required':
        return wait();
      default:
        return;
    }
  }

  /**
   * If all open questions can be answered only with text, sends them as messages and ends the client's turn. The
   * client's next prompt is then the answer.
   */
  async function wait(): Promise<void> {
    const { calls } = waiting;
    if (!calls.every(isOpenQuestion)) return;
    await askInWords(calls);
  }

  async function askInWords(calls: readonly ToolCall[]): Promise<void> {
    for (const { confirmation_request: request } of calls) {
      await send(messageChunk(request?.generic_details?.description ?? ''));
    }
    endTurn('end_turn');
  }

  async function abandon(): Promise<void> {
    waiting.clear();
    permissions.withdrawAll();
    await send(updates.abandoned());
  }

  function endTurn(outcome: StopReason | RequestError): void {
    if (!history) prompts.end(outcome);
  }

  async function setChoice(id: ChoiceId, value: string): Promise<void> {
    // The client got the current values in the response to session/new, session/load or session/resume. The values in
    // the history are older.
    if (history || value === '' || value === choices[id]) return;
    choices = { ...choices, [id]: value };
    await send([
      ...(id === 'mode'
        ? [{ sessionUpdate: 'current_mode_update' as const, currentModeId: value }]
        : []),
      { sessionUpdate: 'config_option_update', configOptions: configOptions(choices) },
    ]);
  }

  async function sendCommands(): Promise<void> {
    try {
      const commands = await session.commands();
      const availableCommands = commands.slice(0, MAX_COMMANDS).map(commandOf);
      await send([{ sessionUpdate: 'available_commands_update', availableCommands }]);
    } catch (error) {
      if (!signal.aborted) logger.warn({ err: error }, 'failed to list the commands');
    }
  }

  async function send(list: readonly SessionUpdate[]): Promise<void> {
    for (const update of list) {
      await client.notify(methods.client.session.update, { sessionId, update });
    }
  }

  /** Stops sending updates. Does not close the live session. */
  function stop(): void {
    leaving.abort();
    permissions.withdrawAll();
    prompts.endAll(sessionEnded());
    current.reject(sessionEnded());
  }

  return {
    session,
    sessionId,
    /** Whether a turn runs, or waits for an answer. */
    get isBusy(): boolean {
      return prompts.isPending || !(isTerminal(taskState) || taskState === 'submitted');
    },
    /** The current mode and model, and the other possible choices. */
    get choices(): ChoiceState {
      return choiceState(choices);
    },
    /**
     * Starts sending updates. Resolves when the history has been sent. Calls `onEnd` when the updates end. A later call
     * only waits for the history, and its `onEnd` is not called.
     */
    async start(onEnd: () => void): Promise<void> {
      if (started) return current.promise;
      started = true;
      void run()
        .catch((error: unknown) => {
          if (!signal.aborted)
            logger.warn({ err: error }, 'failed to send session updates to an ACP client');
        })
        .then(() => {
          stop();
          onEnd();
        });
      return current.promise;
    },
    async prompt(blocks: readonly ContentBlock[]): Promise<StopReason> {
      const parts = partsFrom(blocks);
      const call = toAnswer;
      toAnswer = undefined;
      const answer = textOf(parts);
      const isText = answer !== '' && !mayBeCommand(answer);
      const isOpen = (id: string) => waiting.calls.some((each) => requestId(each) === id);
      if (call && isText && isOpen(requestId(call))) {
        return prompts.answer(confirmationOf(call, OPTION.words, { answer }));
      }
      // After a timeout, the editor is not used for the rest of the turn. If no prompt of the client is pending, and
      // the task does not wait for an answer, that turn has ended, so the editor may be used again.
      if (!prompts.isPending && !isInterrupted(taskState)) editor.retry();
      const { done } = await prompts.send(parts);
      return done;
    },
    cancel: () => prompts.cancel(),
    /**
     * Sets the mode or the model for all clients. If a turn is running, the change takes effect after this turn.
     * `field` is the name of the value in the client's request.
     */
    async choose(configId: string, value: string, field: string): Promise<void> {
      const id = choiceId(configId);
      const command = commandFor(id, value, field, choices);
      const { queued, done } = await prompts.send(command, { quiet: true });
      if (queued) return;
      await done;
      if (choices[id] === value) return;
      throw RequestError.invalidParams({}, `${field}: ${value} is not allowed here: ${reply}`);
    },
    /** Ends the client's pending prompts with this outcome. */
    endPrompts: (outcome: StopReason) => prompts.endAll(outcome),
    stop,
  };
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
