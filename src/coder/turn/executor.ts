/**
 * The coding agent behind the A2A server, with the development-tool extension.
 *
 * The bridge runs the turns (bridge/turn.ts). presenter.ts decides which events of a turn a peer receives,
 * approval/answers.ts interprets answers, and call-states.ts decides which answers are accepted.
 *
 * - A message to a completed task starts the next turn in three cases: the task belongs to a live session, the client
 *   uses the extension, or the client uses gemini-cli's dialect. In all other cases, a completed task accepts no more
 *   messages.
 * - A confirmation is accepted while the task waits, and also while it works, because other calls of the turn may be
 *   running. The first answer to a call counts. A later answer is refused, with the name of the client that answered
 *   first.
 * - If a call needs approval, a text answer can be the name or id of an option, or a plain yes or no. Any other text
 *   rejects the call, and the model gets the text as the reason.
 * - A message may name only the context and not the task. It answers the waiting calls in two cases (`answersCalls`):
 *   the text is the name or id of an option of every waiting call, or the only waiting call is a question that needs no
 *   approval.
 * - After a crash, the turn continues. With `onlyLive`, only the turns of live sessions continue. Calls that were
 *   running are not repeated. Calls that waited for an answer still wait.
 */
import { endRun, type OpenRun } from '../../agent/index.ts';
import { raceAbort, type MaybePromise } from '../../base/index.ts';
import { openTurn, present, runTurn } from '../../bridge/index.ts';
import {
  extensionMetadata,
  messagesOf,
  refuseIncompatible,
  refuseRequestSettings,
  settingsIn,
  speaksCoderAgent,
  type DevelopmentToolEvent,
  type EventSource,
} from '../../protocol/development-tool/index.ts';
import { A2AError, isInterrupted, type Message, type Task } from '../../protocol/index.ts';
import type {
  A2AAgent,
  AgentProfile,
  CancelContext,
  ConcludeContext,
  ExecutionContext,
  ExecutorEvent,
  Logger,
  Reception,
  RequestContext,
  StatusEvent,
} from '../../tasks/index.ts';
import { answerIn, confirmationsIn } from '../approval/answers.ts';
import { decisionEvents } from '../approval/approvals.ts';
import { rolesOf } from '../approval/roles.ts';
import { runsAsFunction } from '../commands/registry.ts';
import { BESIDE, type Commands } from '../commands/service.ts';
import { editorState } from '../session/editors.ts';
import { coderAgentView } from '../gemini/view.ts';
import { openingState } from '../session/opening-calls.ts';
import { ownText } from '../approval/quoted.ts';
import { sessionKey, type SessionOwner } from '../session/session-owner.ts';
import { modelNameIn } from '../session/session-status.ts';
import { APP, type WorkspaceAgent } from '../session/workspace-agent.ts';
import { hasBegun, type AcquiredAgent, type WorkspaceAgents } from '../session/workspace-agents.ts';
import { answersCalls, callsAwaitingAnswer, CallStates, checkWords } from './call-states.ts';
import { clientName } from './client-name.ts';
import { Inbox } from './inbox.ts';
import { requireMessageRoles, type MessageRules } from './message-roles.ts';
import { DevelopmentToolPresenter } from './presenter.ts';
import { developmentToolView, isActive, namedExtensions, plainView } from '../views/views.ts';

/** The error of a run whose turn was ended by the server. */
const INTERRUPTED = { code: 'interrupted', message: 'the server ended the turn' };
/** The error of a call that was stopped by the user. */
const STOPPED = { message: 'stopped by the user', type: 'stopped' };
const NO_RUN = { events: [], questions: [], delegated: async () => [] };

export interface CoderExecutorOptions extends MessageRules {
  readonly workspaces: WorkspaceAgents;
  readonly commands: Commands;
  readonly profile: AgentProfile;
  readonly logger: Logger;
  /** Returns whether the task is the current task of a live session. */
  isLive(taskId: string): boolean;
  /**
   * Whether the agent serves a live session. If so, only tasks of live sessions are resumed after a crash, and error
   * messages suggest /model instead of --model.
   */
  readonly onlyLive: boolean;
}

export function coderExecutor(options: CoderExecutorOptions): A2AAgent {
  const { workspaces, commands, profile, logger } = options;
  const inboxes = new Map<string, Inbox>();
  /** The ids of tasks that are being ended. They accept no more answers. */
  const concluding = new Set<string>();

  /**
   * Returns whether the client gets the calls of a task as data, either with the extension or in gemini-cli's dialect.
   * Outside live sessions, the dialect of the task's first message counts too. In a live session, another client may
   * have sent that message.
   */
  function knowsCalls(context: RequestContext, task: Task): boolean {
    const first = options.isLive(task.id) ? undefined : task.history?.[0];
    return isActive(context) || speaksCoderAgent({ ...context, first });
  }

  function receive(context: RequestContext, task?: Task): MaybePromise<Reception | undefined> {
    const { message, user } = context;
    // If the task waits for an answer, a text message is an answer, unless it is a built-in command.
    const isWaiting = task !== undefined && isInterrupted(task.status.state);
    requireMessageRoles(message, user, options, isWaiting);
    refuseIncompatible(namedExtensions(context));
    refuseRequestSettings(context.metadata);
    const confirmations = confirmationsIn(message);
    if (!task) {
      if (confirmations.length > 0) {
        throw new A2AError('invalidParams', 'message.taskId: required for a ToolCallConfirmation');
      }
      return workspaces.check(message.metadata, context).then(() => undefined);
    }
    const admit = (model: string): Reception => {
      // The task may have changed while the model's name was read.
      const waits = isInterrupted(task.status.state);
      if (confirmations.length > 0) {
        const states = new CallStates(task);
        const beside = ownText(message.parts);
        for (const confirmation of confirmations) states.check(confirmation, beside);
      } else if (waits) {
        checkWords(ownText(message.parts), task, knowsCalls(context, task));
      }
      let inbox = concluding.has(task.id) ? undefined : inboxes.get(task.id);
      if (waits && !concluding.has(task.id)) {
        // The inbox is created now, so that other clients can answer before the turn starts again. It is always a new
        // inbox, so that it has no answers of an earlier message that was accepted but could not be stored.
        inbox = new Inbox();
        inboxes.set(task.id, inbox);
      }
      const kind = confirmations.length > 0 ? 'TOOL_CALL_CONFIRMATION' : 'TEXT_CONTENT';
      const { kind: senderKind, ...source } = sourceOf(context);
      const event: DevelopmentToolEvent = { kind, model, source };
      return {
        source: { ...source, kind: senderKind, at: new Date().toISOString() },
        metadata: extensionMetadata(event),
        brief: knowsCalls(context, task),
        // A live session continues for every client, even if the client does not support the extension.
        continues: knowsCalls(context, task) || options.isLive(task.id),
        // This is a getter, because the turn may close its inbox after this function returns and before the message is
        // appended.
        get deliver() {
          return confirmations.length > 0 && inbox?.open
            ? (received: Message, stored: Promise<void>) => {
                inbox.put(received, stored);
                const { message: _, ...status } = task.status;
                const history = [...messagesOf(task), received];
                const decided = { ...task, status, history };
                stored.then(
                  () => record(context, decided, [received]),
                  () => undefined,
                );
              }
            : undefined;
        },
      };
    };
    const model = workspaces.modelNames.of(context);
    const settled = hasBegun(task) && settingsIn(message.metadata) === undefined;
    if (settled && typeof model === 'string') return admit(model);
    const place = { task, isOwn: options.isLive(task.id) };
    const checked = settled ? undefined : workspaces.check(message.metadata, context, place);
    return Promise.all([model, checked]).then(([name]) => admit(name));
  }

  /** Copies the decisions in these messages to the session, for the list of approvals. */
  async function record(
    place: SessionOwner,
    task: Task,
    messages: readonly Message[],
  ): Promise<void> {
    try {
      const events = decisionEvents(new CallStates(task).decisions, messages);
      if (events.length > 0) await workspaces.sessions.append(sessionKey(place), events);
    } catch (error) {
      logger.error({ err: error, taskId: task.id }, 'failed to store an approval in the session');
    }
  }

  async function* execute(context: ExecutionContext): AsyncGenerator<ExecutorEvent> {
    const { id } = context.task;
    const waiting = inboxes.get(id);
    const inbox = waiting?.open ? waiting : new Inbox();
    inbox.begun = true;
    inboxes.set(id, inbox);
    try {
      const { turn: messages, resumed, task } = context;
      // The first message of a turn contains no answers.
      if (messages.length > 1) {
        await record(context, task, resumed ? messages.slice(1) : messages.slice(-1));
      }
      const ranCommand = yield* runOrAsk(context, inbox, true);
      // The command may have changed the session, so the session is read again.
      if (ranCommand) yield* runOrAsk(context, inbox, false);
    } finally {
      workspaces.release(context);
      inbox.close();
      if (inboxes.get(id) === inbox) inboxes.delete(id);
    }
  }

  /** Removes the inbox of a turn that was accepted but will not start. */
  function cancel(taskId: string): void {
    if (inboxes.get(taskId)?.begun === false) inboxes.delete(taskId);
  }

  /**
   * Ends the run of a task when the server ends the task. Returns the last updates of the task's calls, and the task's
   * last status.
   */
  async function conclude(context: ConcludeContext, last: StatusEvent): Promise<StatusEvent[]> {
    const { task, signal } = context;
    const failed = (error: unknown): void =>
      logger.error({ err: error, taskId: task.id }, 'failed to end a run');
    concluding.add(task.id);
    try {
      const create = context.turn.length === 1;
      using run = await openTurn(workspaces.sessions, APP, context, { create });
      const acquiring = workspaces.acquire(context, run.session?.state ?? {});
      const acquired = await raceAbort(acquiring, signal).catch(failed);
      const begin =
        acquired && create && run.events.length === 0
          ? await unheard(context, acquired)
          : undefined;
      const states = new CallStates(task);
      const answers = run.questions.flatMap((question) => states.answerTo(question) ?? []);
      const error = last.state === 'canceled' ? undefined : INTERRUPTED;
      const how = { error, answers, begin };
      await (acquired ? acquired.agent.runner.end(run, how) : endRun([], run, how));
      return await lastUpdates(context, last, run, acquired?.agent);
    } catch (error) {
      failed(error);
      return await lastUpdates(context, last);
    } finally {
      // This callback runs after the last status has been appended to the log.
      setImmediate(() => concluding.delete(task.id));
    }
  }

  /**
   * Returns the message and the state of a turn that was stopped before its run began. Returns undefined for a command
   * that is not part of the conversation.
   */
  async function unheard({ turn, signal }: ConcludeContext, { agent, state }: AcquiredAgent) {
    const { aside, parts } = await commands.read(turn[0]!, agent);
    if (aside) return undefined;
    return { message: await parts(signal, { state, mayApprove: false }), state };
  }

  /** Returns the updates that end a task. If `run` is missing, the open calls are known only from the task's log. */
  async function lastUpdates(
    context: CancelContext,
    last: StatusEvent,
    run?: OpenRun,
    agent?: WorkspaceAgent,
  ): Promise<StatusEvent[]> {
    const presenter = new DevelopmentToolPresenter({
      context: { ...context, resumed: false },
      isActive: false,
      isLive: options.onlyLive,
      agent,
      run,
      model: await workspaces.modelNames.of(context),
      logger,
    });
    const updates: StatusEvent[] = [];
    for await (const missing of presenter.recall(run ?? NO_RUN)) updates.push(missing);
    updates.push(...presenter.close(last.state === 'canceled' ? STOPPED : undefined));
    return [...updates, presenter.ended(last)];
  }

  /**
   * Runs the turn, or runs a command and then asks the open questions again. Returns true if the message was a command
   * and answers arrived while the command ran.
   */
  async function* runOrAsk(
    context: ExecutionContext,
    inbox: Inbox,
    mayBeCommand: boolean,
  ): AsyncGenerator<ExecutorEvent, boolean> {
    using run = await openTurn(workspaces.sessions, APP, context);
    let acquired: AcquiredAgent;
    try {
      acquired = await workspaces.acquire(context, run.session?.state ?? {});
    } catch (error) {
      // The settings were valid when the message arrived, but the folder may have been removed since then.
      if (!(error instanceof A2AError)) throw error;
      const { message } = error;
      yield* await lastUpdates(context, { kind: 'status-update', state: 'failed', message });
      return false;
    }
    using _held = acquired.hold();
    const first = await commands.read(context.turn[0] ?? context.message, acquired.agent);
    const { agent, aside } = first;
    const onModel = (name: string): void => workspaces.modelNames.set(context, name);
    const state = { ...run.session?.state, ...acquired.state };
    const model = modelNameIn(state, agent.model);
    onModel(model);
    const presenter = new DevelopmentToolPresenter({
      context,
      isActive: knowsCalls(context, context.task),
      isLive: options.onlyLive,
      agent,
      run,
      model,
      onModel,
      logger,
    });
    if (mayBeCommand && (yield* runCommand(acquired.agent, run, context, presenter))) {
      if (context.signal.aborted || !inbox.empty) return !context.signal.aborted;
      inbox.close();
      presenter.changed(await workspaces.sessions.get(run.key));
      yield presenter.ask(run.questions);
      return false;
    }
    // The answers are in the inbox and in the turn's last message. If this message was a command that has just run, it
    // contains no answer. If the turn is resumed after a crash, all answers of the turn are in the task's log.
    const states = context.resumed ? new CallStates(context.task) : undefined;
    yield* runTurn({
      context,
      run,
      runner: agent.runner,
      presenter,
      reader: {
        inbox,
        read: (questions) => ({
          answers: questions.flatMap((question) => {
            if (states) return states.answerTo(question) ?? [];
            // A confirmation that was accepted in the meantime takes precedence over text.
            const accepted = inbox.take(question);
            return (
              accepted ?? (mayBeCommand ? answerIn(context.message, question) : undefined) ?? []
            );
          }),
        }),
      },
      async begin() {
        const opening = openingState(run.runId, first.opening);
        const editor = editorState(context.user, run.session?.state);
        const files = agent.viewOf({ state: { get: (key) => editor[key] } });
        const sender = { state, mayApprove: mayApprove(context), files };
        const message = await first.parts(context.signal, sender);
        return { message, aside, state: { ...acquired.state, ...opening, ...editor } };
      },
    });
    return false;
  }

  /**
   * Runs a slash command that was sent while the turn waits for an answer. The turn still waits afterwards. Returns
   * false if the message is not such a command.
   */
  async function* runCommand(
    waiting: WorkspaceAgent,
    run: OpenRun,
    context: ExecutionContext,
    presenter: DevelopmentToolPresenter,
  ): AsyncGenerator<ExecutorEvent, boolean> {
    const { message, turn, resumed, signal } = context;
    if (turn.length < 2 || resumed || run.questions.length === 0) return false;
    if (confirmationsIn(message).length > 0 || !runsAsFunction(message)) return false;
    const { agent, aside, parts } = await commands.read(message, waiting);
    presenter.beside();
    const events = agent.runner.run({
      user: run.key.user,
      session: run.key.id,
      runId: `${run.runId}/${turn.length}`,
      message: await parts(signal, { state: {}, mayApprove: false }),
      aside,
      state: BESIDE,
      signal,
    });
    const failure = yield* present(events, presenter);
    if (failure) yield presenter.commandFailed(failure);
    return true;
  }

  return {
    profile,
    receive,
    answersByContext: ({ message, user }, task) =>
      rolesOf(user).includes('approve') && answersCalls(message, callsAwaitingAnswer(task)),
    execute,
    cancel,
    conclude,
    rules: {
      resumes: options.onlyLive ? (taskId) => options.isLive(taskId) : true,
      isSession: (taskId) => options.isLive(taskId),
    },
    views: {
      byFirstMessage: true,
      all: [plainView, developmentToolView, coderAgentView],
      choose(request) {
        if (isActive(request)) return developmentToolView;
        return speaksCoderAgent(request) ? coderAgentView : plainView;
      },
    },
  };
}

/**
 * Returns whether the sender of the turn's first message may approve calls. Returns false if the turn was resumed after
 * a restart, or has further messages, because the sender is then unknown.
 */
function mayApprove({ user, turn, resumed }: ExecutionContext): boolean {
  return !resumed && turn.length === 1 && rolesOf(user).includes('approve');
}

/**
 * Returns the client that sent the message. A client of a live session has the name under which it joined. Other
 * clients may give a name in the metadata.
 */
function sourceOf({ user, message }: RequestContext): EventSource {
  const client = user?.['client'] ?? user?.id;
  const name = clientName(user, message);
  const kind = user?.['kind'];
  return {
    client: typeof client === 'string' && client !== '' ? client : 'a2a',
    ...(name !== '' && { name }),
    kind: typeof kind === 'string' ? kind : 'http',
  };
}
